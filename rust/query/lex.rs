//! Characters -> tokens: where words, phrases and brackets begin and end. Filters are read by `fields`; what operators join
//! is `tree`'s.
//!
//! Every character is looked at a bounded number of times: searches for a closing mark either move past it, are limited,
//! or are not repeated.

use jiff::civil::Date;

use super::{
    Filter, Term,
    marks::{
        beginning, closing_quotes, core, is_close_bracket, is_hash, is_minus, is_open_bracket, is_punctuation,
        is_sentence_mark, is_separator, is_wide_mark, single_spaced,
    },
};

/// Brackets deeper than this are ignored, so that the tree's depth, and with it recursion, stays bounded.
const MAX_DEPTH: usize = 32;

/// The smallest parts that mean something.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Term(Term),
    Filter(Filter),
    /// A `-` directly before what it negates.
    Minus,
    Operator(Operator),
    Open,
    Close,
}

/// `lex` writes these as terms; `tree` decides which of them are operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
    Not,
}

/// What the characters say.
pub(super) struct Lexed {
    /// Every `Open` has its `Close` and something in between.
    pub tokens: Vec<Token>,
    /// Sentences about text that looks like a filter and is none.
    pub misread: Vec<String>,
}

/// Reads `text`; `today` is what relative dates count from.
pub(super) fn lex(text: &str, today: Date) -> Lexed {
    let mut lexer = Lexer { text, today, ..Lexer::default() };
    lexer.run();
    let unclosed = std::mem::take(&mut lexer.open);
    lexer.forget_brackets(&unclosed);
    Lexed { tokens: lexer.tokens, misread: lexer.misread }
}

/// A walk over the text.
#[derive(Default)]
pub(super) struct Lexer<'a> {
    pub text: &'a str,
    pub today: Date,
    /// Byte offset of what comes next.
    pub at: usize,
    /// No separator since the last token: `-`, `#` and names of filters begin nothing here.
    pub glued: bool,
    pub tokens: Vec<Token>,
    /// Indices of the `Open` tokens that still wait for their partner.
    open: Vec<usize>,
    /// Brackets beyond `MAX_DEPTH` that still wait for theirs.
    ignored_open: usize,
    /// Quotes that nothing closes from here on.
    unclosed: Vec<char>,
    /// Sentences about text that looks like a filter and is none.
    pub misread: Vec<String>,
}

impl<'a> Lexer<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn run(&mut self) {
        while let Some(c) = self.rest().chars().next() {
            if is_separator(c) {
                self.at += c.len_utf8();
                self.glued = false;
            } else if is_open_bracket(c) {
                self.at += c.len_utf8();
                self.open_bracket();
            } else if is_close_bracket(c) && self.is_bracketed() {
                self.at += c.len_utf8();
                self.close_bracket();
            } else if !self.glued && is_minus(c) && negates(&self.rest()[c.len_utf8()..]) {
                self.at += c.len_utf8();
                self.tokens.push(Token::Minus);
            } else {
                self.operand();
            }
        }
    }

    fn operand(&mut self) {
        if let Some((inner, end)) = self.quoted(self.at, usize::MAX) {
            let (prefix, end) = self.star(inner, end);
            self.push_phrase(inner, prefix, false);
            self.at = end;
            self.skip_sentence_marks();
            self.glued = true;
        } else if self.glued || !(self.hash_tag() || self.field()) {
            self.word();
        }
    }

    // ---------------------------------------------------------------- brackets

    fn is_bracketed(&self) -> bool {
        !self.open.is_empty() || self.ignored_open > 0
    }

    fn open_bracket(&mut self) {
        self.glued = false;
        if self.open.len() < MAX_DEPTH {
            self.open.push(self.tokens.len());
            self.tokens.push(Token::Open);
        } else {
            self.ignored_open += 1;
        }
    }

    fn close_bracket(&mut self) {
        self.glued = true;
        if self.ignored_open > 0 {
            self.ignored_open -= 1;
        } else if let Some(opened) = self.open.pop() {
            if opened + 1 == self.tokens.len() {
                self.forget_brackets(&[opened]);
            } else {
                self.tokens.push(Token::Close);
            }
        }
    }

    /// Takes back brackets that group nothing, each with the minus that stood before it.
    fn forget_brackets(&mut self, opened: &[usize]) {
        for &index in opened.iter().rev() {
            self.tokens.remove(index);
            if index > 0 && self.tokens[index - 1] == Token::Minus {
                self.tokens.remove(index - 1);
            }
        }
    }

    // ---------------------------------------------------------------- words

    fn word(&mut self) {
        let end = self.word_end(self.at);
        let written = &self.text[self.at..end];
        self.glued = !written.ends_with(is_sentence_mark);
        self.push_word(written, false);
        self.at = end;
    }

    pub(super) fn push_word(&mut self, written: &str, in_title: bool) {
        let (text, prefix) = core(written);
        let written = if prefix { text } else { written };
        let (text, written) = (text.to_owned(), written.to_owned());
        self.tokens.push(Token::Term(Term { text, written, quoted: false, prefix, in_title }));
    }

    /// Where the word that begins at `start` ends: at a separator, at a bracket that closes a group, or behind a mark that
    /// separates words without a space.
    pub(super) fn word_end(&self, start: usize) -> usize {
        let mut depth = 0usize;
        let mut marks = false;
        let mut previous = None;
        let mut characters = self.text[start..].char_indices().peekable();
        while let Some((offset, c)) = characters.next() {
            if is_separator(c) || (marks && !is_sentence_mark(c)) {
                return start + offset;
            }
            if is_open_bracket(c) {
                depth += 1;
            } else if is_close_bracket(c) {
                if depth == 0 && self.is_bracketed() {
                    return start + offset;
                }
                depth = depth.saturating_sub(1);
            }
            // `apples,pears` are two words; `1,000` and `f(a,b)` are one.
            let next = characters.peek().map(|(_, next)| *next);
            let listed = matches!(c, ',' | ';')
                && depth == 0
                && previous.is_some_and(char::is_alphabetic)
                && next.is_some_and(char::is_alphabetic);
            marks = previous.is_some() && (is_wide_mark(c) || matches!(c, '…' | '—') || listed);
            previous = Some(c);
        }
        self.text.len()
    }

    pub(super) fn skip_sentence_marks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(is_sentence_mark).len();
    }

    // ---------------------------------------------------------------- phrases

    /// The text between the quote at `at` and the one that closes it, and the offset behind that.
    pub(super) fn quoted(&mut self, at: usize, max_bytes: usize) -> Option<(&'a str, usize)> {
        let rest = &self.text[at..];
        let open = rest.chars().next()?;
        let closing = closing_quotes(open);
        if closing.is_empty() || self.unclosed.contains(&open) {
            return None;
        }
        let inside = &rest[open.len_utf8()..];
        let near = beginning(inside, max_bytes);
        let Some(length) = near.find(closing) else {
            if near.len() == inside.len() {
                self.unclosed.push(open);
            }
            return None;
        };
        let close = inside[length..].chars().next()?;
        let inner = &inside[..length];
        let is_blank = inner.chars().all(is_separator);
        (!is_blank).then_some((inner, at + open.len_utf8() + length + close.len_utf8()))
    }

    /// Whether a `*` follows the phrase `inner` that ends at `end`, and where the two end.
    pub(super) fn star(&self, inner: &str, end: usize) -> (bool, usize) {
        let ends_in_word = inner.chars().next_back().is_some_and(char::is_alphanumeric);
        if self.text[end..].starts_with('*') { (ends_in_word, end + 1) } else { (false, end) }
    }

    pub(super) fn push_phrase(&mut self, inner: &str, prefix: bool, in_title: bool) {
        let text = single_spaced(inner);
        let written = text.clone();
        self.tokens.push(Token::Term(Term { text, written, quoted: true, prefix, in_title }));
    }
}

/// Whether a `-` before `rest` negates: before a word, phrase, tag or bracket, but not in `->`, `--flag`, `-5` and `-m`.
fn negates(rest: &str) -> bool {
    let mut characters = rest.chars();
    let Some(first) = characters.next() else { return false };
    if first.is_ascii_alphanumeric() {
        return characters.next().is_some_and(|c| !is_separator(c) && !is_close_bracket(c));
    }
    let begins_something =
        first == '_' || is_open_bracket(first) || is_hash(first) || !closing_quotes(first).is_empty();
    begins_something || !(is_minus(first) || is_punctuation(first))
}
