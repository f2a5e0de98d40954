//! A query in sentences, so that a person sees what was understood.

use jiff::{Timestamp, tz::TimeZone};

use super::{
    Filter, Node, Query, Term,
    narrow::{Constraint, constraints},
};
use crate::scope::Period;

/// Parts of one list that are shown; a pasted page has thousands.
const MAX_SHOWN: usize = 20;
/// Characters of one word or phrase that are shown.
const MAX_CHARS: usize = 60;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What was understood, in one line: what is looked for, which notes may be found, and what was not taken as a filter.
pub fn explain(query: &Query) -> String {
    if let Some(expression) = query.fts5() {
        return format!("Looks for what FTS5 reads in {}.", shortened(expression));
    }
    let mut sentences = Vec::new();
    let punctuation = query.is_punctuation();
    let is_shown = |node: &&Node| punctuation || !node.as_term().is_some_and(Term::is_punctuation);
    let wanted: Vec<&Node> = query.nodes.iter().filter(|node| has_words(node)).filter(is_shown).collect();
    if !wanted.is_empty() {
        sentences.push(format!("Looks for {}.", list(&wanted, ", ", |node| words(node))));
    }
    let constraints = constraints(query);
    if !constraints.is_empty() {
        let properties = list(&constraints, "; ", |Constraint { node, negated }| property(node, *negated));
        sentences.push(format!("Only notes that {properties}."));
    }
    sentences.extend(query.misread.iter().cloned());
    if sentences.is_empty() {
        sentences.push("Nothing is asked for.".to_owned());
    }
    sentences.join(" ")
}

fn has_words(node: &Node) -> bool {
    match node {
        Node::Term(_) => true,
        Node::Filter(_) | Node::Not(_) => false,
        Node::Loose(nodes) | Node::All(nodes) | Node::Any(nodes) => nodes.iter().any(has_words),
    }
}

/// The words of a node that has some, with their operators.
fn words(node: &Node) -> String {
    let (nodes, joint) = match node {
        Node::Term(term) => return word(term),
        Node::Filter(_) | Node::Not(_) => return String::new(),
        Node::Loose(nodes) => (nodes, ", "),
        Node::All(nodes) => (nodes, " and "),
        Node::Any(nodes) => (nodes, " or "),
    };
    let nodes: Vec<&Node> = nodes.iter().filter(|node| has_words(node)).collect();
    match nodes.as_slice() {
        [node] => words(node),
        nodes => format!("({})", list(nodes, joint, |node| words(node))),
    }
}

fn word(term: &Term) -> String {
    let text = shortened(&term.text);
    let text = if term.quoted { format!("\"{text}\"") } else { text };
    let star = if term.prefix { "*" } else { "" };
    let place = if term.in_title { " in the title" } else { "" };
    format!("{text}{star}{place}")
}

/// `node` as what a note does or is.
fn property(node: &Node, negated: bool) -> String {
    let verb = |yes: &str, no: &str, object: &str| format!("{}{object}", if negated { no } else { yes });
    match node {
        Node::Term(term) => verb("hold ", "do not hold ", &word(term)),
        Node::Not(inner) => property(inner, !negated),
        Node::Loose(nodes) | Node::All(nodes) | Node::Any(nodes) => {
            let joint = if matches!(node, Node::Any(_)) { " or " } else { " and " };
            verb("(", "do not (", &format!("{})", list(nodes, joint, |node| property(node, false))))
        }
        Node::Filter(filter) => match filter {
            Filter::Tag(tag) => verb("are tagged ", "are not tagged ", &shortened(tag)),
            Filter::Source(name) => verb("come from ", "do not come from ", &format!("\"{}\"", shortened(name))),
            Filter::Updated(period) => verb("were changed ", "were not changed ", &time(period)),
            Filter::Created(period) => verb("were created ", "were not created ", &time(period)),
            Filter::Archived => verb("are archived", "are not archived", ""),
            Filter::Pinned => verb("are pinned", "are not pinned", ""),
            Filter::Locked => verb("are locked", "are not locked", ""),
            Filter::Todo => verb("have something to do", "have nothing to do", ""),
            Filter::Done => verb("have something done", "have nothing done", ""),
            Filter::Property { key, value } => {
                let property = match value.as_str() {
                    "*" => shortened(key),
                    value => format!("{} = \"{}\"", shortened(key), shortened(value)),
                };
                verb("have the property ", "do not have the property ", &property)
            }
        },
    }
}

fn time(period: &Period) -> String {
    match (period.from_ms, period.until_ms) {
        (Some(from), Some(until)) if from % DAY_MS == 0 && until % DAY_MS == 0 => {
            let (first, last) = (moment(from), moment(until - DAY_MS));
            if first == last { format!("on {first}") } else { format!("from {first} to {last}") }
        }
        (Some(from), Some(until)) => format!("from {} to before {}", moment(from), moment(until)),
        (Some(from), None) => format!("on or after {}", moment(from)),
        (None, Some(until)) => format!("before {}", moment(until)),
        (None, None) => "at any time".to_owned(),
    }
}

/// A day when it is the beginning of one.
fn moment(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(moment) if ms % DAY_MS == 0 => TimeZone::UTC.to_datetime(moment).date().to_string(),
        Ok(moment) => moment.to_string(),
        Err(_) => format!("{ms} ms after 1970"),
    }
}

fn list<T>(parts: &[T], joint: &str, show: impl Fn(&T) -> String) -> String {
    let shown: Vec<String> = parts.iter().take(MAX_SHOWN).map(show).collect();
    let shown = shown.join(joint);
    let more = parts.len().saturating_sub(MAX_SHOWN);
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
