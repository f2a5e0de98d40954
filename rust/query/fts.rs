//! A query's words -> FTS5 expressions that no tokenizer and no text can make invalid.
//!
//! Every term is quoted, so that the tokenizer alone decides what its words are: `foo-bar` becomes two words side by side.
//! Terms in which it finds none are dropped by FTS5 where they stand in a list without operators, and would match nothing
//! beside an explicit AND: that is why lists come first here, and groups behind them.

use std::collections::HashSet;

use super::{
    Filter, Node, Query, Term,
    marks::{beginning, is_punctuation},
};

/// Distinct terms that one expression holds: FTS5's time to read one grows with the square of their number.
const MAX_TERMS: usize = 512;
/// Bytes of terms that one expression holds: the tokenizer reads each of them.
const MAX_BYTES: usize = 16 * 1024;
/// A longer term is cut: what holds the whole holds its beginning.
const MAX_TERM_BYTES: usize = 1024;

/// How the words that stand side by side count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// One of them suffices.
    Any,
    /// All are needed in the same passage.
    All,
}

/// The FTS5 expression of what a query looks for, over the columns `title` and `tags` and any others; None when it looks
/// for no word. Of very long queries it holds the first words.
pub fn fts_match(query: &Query, how: Match) -> Option<String> {
    let all = match how {
        Match::All => Builder::new(query).all_of(&query.nodes),
        Match::Any => None,
    };
    all.or_else(|| Builder::new(query).any(&query.nodes))
}

/// The words and phrases that a query looks for, without punctuation around them; each once, and of very long queries the
/// first ones.
pub fn search_terms(query: &Query) -> Vec<Term> {
    let mut builder = Builder::new(query);
    let mut seen = HashSet::new();
    let mut terms = Vec::new();
    for term in query.terms() {
        let (text, prefix) = clipped(term);
        if builder.is_full() {
            break;
        }
        let key = (text, term.quoted, term.prefix, term.in_title);
        if builder.wants(term) && !seen.contains(&key) && builder.affords(text) {
            seen.insert(key);
            terms.push(Term { text: text.to_owned(), prefix, ..term.clone() });
        }
    }
    terms
}

/// The texts of [`search_terms`], each once.
pub fn plain_words(query: &Query) -> Vec<String> {
    let mut seen = HashSet::new();
    let texts = search_terms(query).into_iter().map(|term| term.text);
    texts.filter(|text| seen.insert(text.clone())).collect()
}

/// The expression for one of `terms`, or None when there is none to look for.
pub(super) fn one_of<'a>(terms: impl IntoIterator<Item = &'a Term>) -> Option<String> {
    let mut builder = Builder { punctuation: false, ..Builder::default() };
    let mut expressions = Vec::new();
    terms.into_iter().for_each(|term| builder.add(term, &mut expressions));
    (!expressions.is_empty()).then(|| expressions.join(" OR "))
}

/// The FTS5 expression for one term.
pub fn expression(term: &Term) -> String {
    let (text, prefix) = clipped(term);
    let column = if term.in_title { "title : " } else { "" };
    let star = if prefix { " *" } else { "" };
    format!("{column}{}{star}", quoted(text))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A term's text up to the last word that fits, and whether longer words are meant.
fn clipped(term: &Term) -> (&str, bool) {
    let text = term.text.as_str();
    if text.len() <= MAX_TERM_BYTES {
        return (text, term.prefix);
    }
    let start = beginning(text, MAX_TERM_BYTES);
    match start.rfind(is_punctuation) {
        Some(end) if end > 0 => (&start[..end], false),
        _ => (start, true),
    }
}

/// Collects terms into one expression while there is room.
#[derive(Default)]
struct Builder {
    terms: usize,
    bytes: usize,
    seen: HashSet<String>,
    /// The query has nothing but punctuation, so punctuation is what it looks for.
    punctuation: bool,
}

impl Builder {
    fn new(query: &Query) -> Self {
        Self { punctuation: query.is_punctuation(), ..Self::default() }
    }

    fn wants(&self, term: &Term) -> bool {
        self.punctuation || !term.is_punctuation()
    }

    fn is_full(&self) -> bool {
        self.terms >= MAX_TERMS || self.bytes >= MAX_BYTES
    }

    fn affords(&mut self, text: &str) -> bool {
        self.terms += 1;
        self.bytes += text.len();
        self.terms <= MAX_TERMS && self.bytes <= MAX_BYTES
    }

    /// Adds an expression that is not there yet.
    fn add(&mut self, term: &Term, expressions: &mut Vec<String>) {
        if !self.is_full() && self.wants(term) {
            self.add_expression(expression(term), expressions);
        }
    }

    fn add_expression(&mut self, expression: String, expressions: &mut Vec<String>) {
        let key = expression.to_lowercase();
        if !self.seen.contains(&key) && self.affords(&expression) {
            self.seen.insert(key);
            expressions.push(expression);
        }
    }

    fn any(&mut self, nodes: &[Node]) -> Option<String> {
        let mut expressions = Vec::new();
        nodes.iter().for_each(|node| self.any_of(node, &mut expressions));
        (!expressions.is_empty()).then(|| expressions.join(" OR "))
    }

    fn any_of(&mut self, node: &Node, expressions: &mut Vec<String>) {
        match node {
            Node::Term(term) => self.add(term, expressions),
            Node::Filter(_) | Node::Not(_) => {}
            Node::Loose(nodes) | Node::All(nodes) => nodes.iter().for_each(|node| self.any_of(node, expressions)),
            Node::Any(nodes) => {
                nodes.iter().for_each(|node| self.any_of(node, expressions));
                for tag in alternative_tags(nodes) {
                    self.add_expression(tag, expressions);
                }
            }
        }
    }

    fn all(&mut self, node: &Node) -> Option<String> {
        match node {
            Node::Term(term) => (self.wants(term) && self.affords(&term.text)).then(|| expression(term)),
            Node::Filter(_) | Node::Not(_) => None,
            Node::Loose(nodes) | Node::All(nodes) => self.all_of(nodes),
            Node::Any(nodes) => self.one_of_groups(nodes),
        }
    }

    fn all_of(&mut self, nodes: &[Node]) -> Option<String> {
        if let [node] = nodes {
            return self.all(node);
        }
        let (mut list, mut groups, mut worded) = (Vec::new(), Vec::new(), false);
        for node in nodes {
            let Some(expression) = self.all(node) else { continue };
            match node {
                Node::Term(term) => {
                    worded |= term.is_worded();
                    list.push(expression);
                }
                _ => groups.push(format!("({expression})")),
            }
        }
        if !list.is_empty() && (worded || groups.is_empty()) {
            groups.insert(0, list.join(" "));
        }
        (!groups.is_empty()).then(|| groups.join(" AND "))
    }

    fn one_of_groups(&mut self, nodes: &[Node]) -> Option<String> {
        let mut alternatives = Vec::new();
        for node in nodes {
            match node {
                // A tokenizer that finds no word in any alternative would make the whole query match nothing.
                Node::Term(term) if !term.is_worded() => {}
                Node::Term(_) => alternatives.extend(self.all(node)),
                _ => alternatives.extend(self.all(node).map(|expression| format!("({expression})"))),
            }
        }
        alternatives.extend(alternative_tags(nodes));
        (!alternatives.is_empty()).then(|| alternatives.join(" OR "))
    }
}

/// In `tag:recipe OR pasta` the tag is another way to be found, so notes that have it must match; a group of tags alone
/// is a filter and nothing to look for.
fn alternative_tags(nodes: &[Node]) -> Vec<String> {
    if !nodes.iter().any(|node| matches!(node, Node::Term(_))) {
        return Vec::new();
    }
    let tag = |node: &Node| match node {
        Node::Filter(Filter::Tag(tag)) if !tag.chars().all(is_punctuation) => Some(format!("tags : {}", quoted(tag))),
        _ => None,
    };
    nodes.iter().filter_map(tag).collect()
}
