//! Tokens -> tree. `OR` binds what stands beside it, `AND` binds tighter, and everything else stands side by side:
//! `a b AND c OR d` is `a ((b AND c) OR d)`.

use super::{
    Node, Term,
    lex::{Operator, Token},
};

/// The nodes that stand side by side at the top. The tokens' brackets must be balanced and never empty, as `lex` makes them.
pub(super) fn build(tokens: Vec<Token>) -> Vec<Node> {
    Parser { tokens: resolve(tokens).into_iter().peekable() }.list()
}

/// A query in capitals with so many words is a sentence, in which `AND` and `OR` are words like the others.
const SHOUTED: usize = 3;

/// Whether all words are written in capitals, and there are more of them than one operator joins.
fn is_shouted(tokens: &[Token]) -> bool {
    let words = tokens.iter().filter(|token| operator_word(token).is_none()).filter_map(|token| match token {
        Token::Term(term) if !term.quoted && has_case(&term.text) => Some(&term.text),
        _ => None,
    });
    let mut count = 0;
    for word in words {
        if word.chars().any(char::is_lowercase) {
            return false;
        }
        count += 1;
    }
    count >= SHOUTED
}

/// Makes operators of the words `AND`, `OR` and `NOT` where they stand between terms; elsewhere they stay words.
fn resolve(mut tokens: Vec<Token>) -> Vec<Token> {
    let is_shouted = is_shouted(&tokens);
    for index in 0..tokens.len() {
        let Some(operator) = operator_word(&tokens[index]) else { continue };
        let before = index.checked_sub(1).map(|index| &tokens[index]);
        let after = tokens.get(index + 1);
        let is_operator = match operator {
            Operator::And | Operator::Or => {
                !is_shouted
                    && before.is_some_and(ends_operand)
                    && after.is_some_and(|after| match operator_word(after) {
                        Some(Operator::Not) => tokens.get(index + 2).is_some_and(starts_operand),
                        _ => starts_operand(after),
                    })
            }
            Operator::Not => after.is_some_and(starts_operand) && negates(before, after),
        };
        if is_operator {
            tokens[index] = Token::Operator(operator);
        }
    }
    tokens
}

/// `404 NOT FOUND` and `IF NOT EXISTS` are text: among capitals, capitals say nothing. So is a `NOT` that begins the query
/// or a bracket, unless a filter, phrase or bracket follows: `NOT working` is what people write for emphasis.
fn negates(before: Option<&Token>, after: Option<&Token>) -> bool {
    match (before, after) {
        (None | Some(Token::Open), Some(Token::Term(term))) => term.quoted || term.in_title,
        (Some(Token::Term(before)), Some(Token::Term(after))) if !before.quoted && !after.quoted => {
            before.text.chars().any(char::is_lowercase) || !is_capitals(&after.text) || !has_case(&before.text)
        }
        _ => true,
    }
}

fn is_capitals(word: &str) -> bool {
    word.chars().filter(|c| c.is_uppercase()).count() > 1 && !word.chars().any(char::is_lowercase)
}

/// Digits count as capitals (`404`); scripts without case do not.
fn has_case(word: &str) -> bool {
    word.chars().any(|c| c.is_uppercase() || c.is_numeric())
}

fn operator_word(token: &Token) -> Option<Operator> {
    match token {
        Token::Term(Term { written, quoted: false, in_title: false, .. }) => match written.as_str() {
            "AND" => Some(Operator::And),
            "OR" => Some(Operator::Or),
            "NOT" => Some(Operator::Not),
            _ => None,
        },
        _ => None,
    }
}

fn ends_operand(token: &Token) -> bool {
    matches!(token, Token::Term(_) | Token::Filter(_) | Token::Close)
}

fn starts_operand(token: &Token) -> bool {
    matches!(token, Token::Term(_) | Token::Filter(_) | Token::Open | Token::Minus) && operator_word(token).is_none()
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
}

impl Parser {
    /// Nodes side by side, up to the end or the closing bracket. Recursion goes as deep as brackets do, which `lex` bounds.
    fn list(&mut self) -> Vec<Node> {
        let mut nodes = Vec::new();
        while self.tokens.peek().is_some_and(|token| !matches!(token, Token::Close)) {
            nodes.extend(self.alternatives());
        }
        nodes
    }

    fn alternatives(&mut self) -> Option<Node> {
        let mut nodes: Vec<Node> = self.conjunction().into_iter().collect();
        while self.take(Operator::Or) {
            nodes.extend(self.conjunction());
        }
        one_or(nodes, Node::Any)
    }

    fn conjunction(&mut self) -> Option<Node> {
        let mut nodes: Vec<Node> = self.operand().into_iter().collect();
        while self.take(Operator::And) {
            nodes.extend(self.operand());
        }
        one_or(nodes, Node::All)
    }

    fn operand(&mut self) -> Option<Node> {
        let mut negated = false;
        loop {
            if matches!(self.tokens.peek(), Some(Token::Close)) {
                return None;
            }
            let node = match self.tokens.next()? {
                Token::Minus | Token::Operator(Operator::Not) => {
                    negated = !negated;
                    continue;
                }
                Token::Term(term) => Node::Term(term),
                Token::Filter(filter) => Node::Filter(filter),
                Token::Open => {
                    let nodes = self.list();
                    self.tokens.next();
                    one_or(nodes, Node::Loose)?
                }
                // `resolve` leaves no AND or OR without its operands, and `lex` no bracket without its partner.
                Token::Operator(_) | Token::Close => return None,
            };
            return Some(if negated { not(node) } else { node });
        }
    }

    fn take(&mut self, operator: Operator) -> bool {
        self.tokens.next_if(|token| matches!(token, Token::Operator(found) if *found == operator)).is_some()
    }
}

fn one_or(mut nodes: Vec<Node>, many: fn(Vec<Node>) -> Node) -> Option<Node> {
    if nodes.len() > 1 { Some(many(nodes)) } else { nodes.pop() }
}

fn not(node: Node) -> Node {
    match node {
        Node::Not(inner) => *inner,
        other => Node::Not(Box::new(other)),
    }
}
