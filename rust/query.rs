//! The language that people search in: what was typed becomes a [`Query`], and from that what each leg needs.
//!
//! Nothing typed is an error: what is not understood is searched as text. `docs/query.md` describes the language. Reading
//! is done by `lex` and `fields` (characters to tokens), `dates`, and `tree` (tokens to nodes); meaning is given by `fts` (FTS5
//! expressions), `narrow` (filters), `wording` (names or a description) and `explain` (sentences). No SQL runs here, and no index is looked at.

mod dates;
mod explain;
mod fields;
mod fts;
mod lex;
mod marks;
mod narrow;
mod tree;
mod wording;

use std::ops::ControlFlow;

use jiff::civil::Date;

use crate::{
    scope::Period,
    tokenizer::{Mode, try_tokenize},
};

pub use explain::explain;
pub use fts::{Match, expression, fts_match, plain_words, search_terms};
pub use narrow::{filters, has_filters, source_names};
pub use wording::{Wording, wording};

/// A query as it was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// What was asked for, side by side.
    nodes: Vec<Node>,
    /// What looks like a filter and is none, as sentences; such text is searched as words.
    misread: Vec<String>,
    /// An expression in FTS5's own syntax, which stands for all of the query.
    fts5: Option<String>,
}

/// A part of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// A word or phrase.
    Term(Term),
    /// A property of notes.
    Filter(Filter),
    /// What a note must not be.
    Not(Box<Node>),
    /// Side by side: each filter counts, each word helps and none is needed.
    Loose(Vec<Node>),
    /// Joined by AND: all are needed, words too.
    All(Vec<Node>),
    /// Joined by OR.
    Any(Vec<Node>),
}

/// A word or phrase to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// What is looked for, without quotes and the punctuation around it.
    pub text: String,
    /// The same with its punctuation, as a reader of natural language wants it.
    pub written: String,
    /// It stood in quotes.
    pub quoted: bool,
    /// Longer words that begin with it are meant too.
    pub prefix: bool,
    /// Only in titles.
    pub in_title: bool,
}

impl Term {
    /// Whether the tokenizer finds a word in it; in `---` it finds none.
    fn is_worded(&self) -> bool {
        let found = try_tokenize(&self.text, Mode::Query, |_| ControlFlow::Break(()));
        found.is_break()
    }

    /// Whether it is punctuation alone, which means something only when there is nothing else.
    fn is_punctuation(&self) -> bool {
        self.text.chars().all(marks::is_punctuation)
    }
}

/// A property of notes to search by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// Has this tag or a child of it; without `#`.
    Tag(String),
    /// Comes from the source of this name.
    Source(String),
    /// Changed in this time.
    Updated(Period),
    /// Created in this time.
    Created(Period),
    /// Put away by its owner.
    Archived,
    /// Pinned by its owner.
    Pinned,
    /// Encrypted by its owner.
    Locked,
    /// Holds a task that is still to be done.
    Todo,
    /// Holds a task that is done.
    Done,
    /// Has a property with this value, as front matter and `key:: value` lines give them.
    Property {
        /// Name of the property.
        key: String,
        /// Its value; one that ends with `*` stands for all that begin so, `*` alone for any.
        value: String,
    },
}

/// Reads what a person typed, in time linear in its length; any text has a meaning.
///
/// `today` is what relative dates count from.
pub fn parse(text: &str, today: Date) -> Query {
    let lex::Lexed { tokens, misread } = lex::lex(text, today);
    let mut nodes = tree::build(tokens);
    if nodes.is_empty() {
        // Quotes and brackets around nothing: a person who typed only those looks for them.
        let text = marks::single_spaced(text);
        if !text.is_empty() {
            let written = text.clone();
            nodes.push(Node::Term(Term { text, written, quoted: true, prefix: false, in_title: false }));
        }
    }
    Query { nodes, misread, fts5: None }
}

/// Takes what was typed as an expression in FTS5's own syntax.
pub fn fts5_syntax(text: &str) -> Query {
    let text = text.trim();
    Query { nodes: Vec::new(), misread: Vec::new(), fts5: (!text.is_empty()).then(|| text.to_owned()) }
}

impl Query {
    /// Whether there is neither a word nor a filter: only spaces and control characters were typed.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.fts5.is_none()
    }

    /// The expression in FTS5's own syntax, where the query is one.
    pub fn fts5(&self) -> Option<&str> {
        self.fts5.as_deref()
    }

    /// The words and phrases that a note must not hold.
    pub fn excluded(&self) -> Vec<&Term> {
        let mut terms = Vec::new();
        for node in &self.nodes {
            if let Node::Not(inner) = node {
                inner.collect_terms(&mut terms);
            }
        }
        terms
    }

    /// Whether words to exclude are all that it says.
    pub fn is_only_exclusions(&self) -> bool {
        let excludes = |node: &Node| matches!(node, Node::Not(inner) if inner.as_term().is_some());
        !self.nodes.is_empty() && self.nodes.iter().all(excludes)
    }

    /// The same query with its exclusions read as words: `set -euo pipefail` as a line of a script.
    pub fn with_exclusions_as_text(mut self) -> Self {
        let excluded: Vec<String> = self.excluded().iter().map(|term| format!("-{}", term.text)).collect();
        for node in &mut self.nodes {
            if let Node::Not(inner) = node
                && inner.as_term().is_some()
            {
                *node = std::mem::replace(inner, Node::Loose(Vec::new()));
            }
        }
        self.misread.push(format!("{} is searched as text.", excluded.join(" ")));
        self
    }

    /// Whether nothing but punctuation is looked for. Elsewhere punctuation is no word, here it is all there is.
    fn is_punctuation(&self) -> bool {
        self.terms().into_iter().all(Term::is_punctuation)
    }

    /// The words and phrases to look for, in their order; not those that are to be absent.
    pub fn terms(&self) -> Vec<&Term> {
        let mut terms = Vec::new();
        self.nodes.iter().for_each(|node| node.collect_terms(&mut terms));
        terms
    }
}

impl Node {
    fn as_term(&self) -> Option<&Term> {
        if let Self::Term(term) = self { Some(term) } else { None }
    }

    fn collect_terms<'a>(&'a self, terms: &mut Vec<&'a Term>) {
        match self {
            Self::Term(term) => terms.push(term),
            Self::Filter(_) | Self::Not(_) => {}
            Self::Loose(nodes) | Self::All(nodes) | Self::Any(nodes) => {
                nodes.iter().for_each(|node| node.collect_terms(terms));
            }
        }
    }
}

/// The text to embed: words and phrases in their order and spelling, without operators and filters. Empty when there are
/// none.
pub fn embedding_text(query: &Query) -> String {
    let written: Vec<&str> = query.terms().into_iter().map(|term| term.written.as_str()).collect();
    written.join(" ")
}
