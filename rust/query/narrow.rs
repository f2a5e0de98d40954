//! A query's filters -> [`Filters`]: which notes may be found at all, whatever leg finds them.

use super::{Filter, Node, Query, Term, fts};
use crate::{
    names::fold,
    scope::{Condition, Filters, Period},
};

/// Conditions of one query that are kept. SQLite nests expressions at most 1000 deep; nobody types as many as this.
const MAX_CONDITIONS: usize = 100;

/// Something that a note must be, or must not be when `negated`.
pub(super) struct Constraint<'a> {
    pub negated: bool,
    pub node: &'a Node,
}

/// What narrows the search: filters, negations, words in titles, and words joined by AND. Words that stand side by side and
/// their alternatives only help, so they are not among them.
pub(super) fn constraints(query: &Query) -> Vec<Constraint<'_>> {
    let mut found = Vec::new();
    query.nodes.iter().for_each(|node| collect(node, false, false, &mut found));
    found
}

fn collect<'a>(node: &'a Node, negated: bool, needed: bool, found: &mut Vec<Constraint<'a>>) {
    match node {
        Node::Not(inner) => collect(inner, !negated, true, found),
        Node::Loose(nodes) if !negated => nodes.iter().for_each(|node| collect(node, false, needed, found)),
        Node::All(nodes) if !negated => nodes.iter().for_each(|node| collect(node, false, true, found)),
        Node::Any(nodes) if negated => nodes.iter().for_each(|node| collect(node, true, true, found)),
        // A tokenizer may find no word in it; demanding it would find nothing.
        Node::Term(term) if !negated && !term.is_worded() => {}
        _ if needed || narrows(node) => found.push(Constraint { negated, node }),
        _ => {}
    }
}

fn narrows(node: &Node) -> bool {
    match node {
        Node::Term(term) => term.in_title,
        Node::Filter(_) | Node::Not(_) => true,
        Node::Loose(nodes) | Node::All(nodes) | Node::Any(nodes) => nodes.iter().any(narrows),
    }
}

/// Whether the query says which notes may be found, beside what to look for.
pub fn has_filters(query: &Query) -> bool {
    !constraints(query).is_empty()
}

/// `base` and what the query says; both hold.
///
/// Several `in:` stand for any of these sources, for no note comes from two.
pub fn filters(query: &Query, base: &Filters) -> Filters {
    let mut narrowed = Narrowing { filters: base.clone(), sources: Vec::new(), left: MAX_CONDITIONS };
    let mut excluded = Vec::new();
    for Constraint { negated, node } in constraints(query) {
        match (node, negated) {
            (Node::Term(term), true) => excluded.push(term),
            (Node::Term(term), false) => {
                let expression = narrowed.take().and_then(|()| fts::one_of([term]));
                narrowed.filters.required.extend(expression);
            }
            (Node::Filter(filter), _) => narrowed.filter(filter, negated),
            (node, _) => {
                let condition = narrowed.condition(node, negated).map(|condition| negated_if(negated, condition));
                narrowed.filters.conditions.extend(condition);
            }
        }
    }
    narrowed.filters.excluded.extend(fts::one_of(excluded));
    narrowed.restrict_sources();
    narrowed.filters
}

/// The sources that the query names, wherever in it.
pub fn source_names(query: &Query) -> Vec<&str> {
    fn collect<'a>(node: &'a Node, names: &mut Vec<&'a str>) {
        match node {
            Node::Filter(Filter::Source(name)) => names.push(name),
            Node::Filter(_) | Node::Term(_) => {}
            Node::Not(inner) => collect(inner, names),
            Node::Loose(nodes) | Node::All(nodes) | Node::Any(nodes) => {
                nodes.iter().for_each(|node| collect(node, names))
            }
        }
    }
    let mut names = Vec::new();
    query.nodes.iter().for_each(|node| collect(node, &mut names));
    names
}

struct Narrowing {
    filters: Filters,
    /// Names after `in:`.
    sources: Vec<String>,
    /// Conditions that may still be added.
    left: usize,
}

impl Narrowing {
    /// Counts one condition; None when there is no room for it.
    fn take(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        Some(())
    }

    fn filter(&mut self, filter: &Filter, negated: bool) {
        if self.take().is_none() {
            return;
        }
        let filters = &mut self.filters;
        match (filter, negated) {
            (Filter::Tag(tag), false) => filters.tags_all.push(tag.clone()),
            (Filter::Tag(tag), true) => filters.tags_none.push(tag.clone()),
            (Filter::Source(name), false) => self.sources.push(name.clone()),
            (Filter::Source(name), true) => filters.source_names_none.push(name.clone()),
            (Filter::Updated(period), false) => {
                narrow(&mut filters.updated_from_ms, &mut filters.updated_until_ms, period);
            }
            (Filter::Created(period), false) => {
                narrow(&mut filters.created_from_ms, &mut filters.created_until_ms, period);
            }
            (Filter::Pinned, _) if filters.pinned.is_none() => filters.pinned = Some(!negated),
            (Filter::Locked, _) if filters.locked.is_none() => filters.locked = Some(!negated),
            _ => {
                filters.archived |= !negated && *filter == Filter::Archived;
                filters.conditions.push(negated_if(negated, condition(filter)));
            }
        }
    }

    /// What a group of nodes demands; None when there is no room for all of it, for a part would say something else.
    ///
    /// `negated` says whether the condition stands under a negation: what cannot be asked must leave no note out, so it is
    /// met where it is demanded and not met where it is forbidden.
    fn condition(&mut self, node: &Node, negated: bool) -> Option<Condition> {
        let open = if negated { Condition::NEVER } else { Condition::ALWAYS };
        Some(match node {
            Node::Term(term) => self.words(&[term])?.unwrap_or(open),
            Node::Filter(filter) => {
                self.take()?;
                self.filters.archived |= !negated && *filter == Filter::Archived;
                condition(filter)
            }
            Node::Not(inner) => Condition::Not(Box::new(self.condition(inner, !negated)?)),
            Node::Loose(nodes) | Node::All(nodes) => {
                Condition::All(nodes.iter().map(|node| self.condition(node, negated)).collect::<Option<_>>()?)
            }
            Node::Any(nodes) => {
                // One expression for all words: a note holds one of them when one of its passages does.
                let terms: Vec<&Term> = nodes.iter().filter_map(Node::as_term).collect();
                let mut alternatives: Vec<Condition> = self.words(&terms)?.into_iter().collect();
                for node in nodes.iter().filter(|node| node.as_term().is_none()) {
                    alternatives.push(self.condition(node, negated)?);
                }
                match alternatives.len() {
                    0 | 1 => alternatives.pop().unwrap_or(open),
                    _ => Condition::Any(alternatives),
                }
            }
        })
    }

    /// Holds one of these words; nothing inside when a tokenizer may find no word in any.
    fn words(&mut self, terms: &[&Term]) -> Option<Option<Condition>> {
        self.take()?;
        Some(fts::one_of(terms.iter().copied().filter(|term| term.is_worded())).map(Condition::Matches))
    }

    /// What the caller names and what the query names must both hold.
    fn restrict_sources(&mut self) {
        if self.sources.is_empty() {
            return;
        }
        let names = std::mem::take(&mut self.sources);
        let given = std::mem::replace(&mut self.filters.source_names, names);
        if !given.is_empty() {
            let given: Vec<String> = given.iter().map(|name| fold(name)).collect();
            self.filters.source_names.retain(|name| given.contains(&fold(name)));
            if self.filters.source_names.is_empty() {
                self.filters.conditions.push(Condition::NEVER);
            }
        }
    }
}

fn negated_if(negated: bool, condition: Condition) -> Condition {
    if negated { Condition::Not(Box::new(condition)) } else { condition }
}

fn condition(filter: &Filter) -> Condition {
    match filter {
        Filter::Tag(tag) => Condition::Tag(tag.clone()),
        Filter::Source(name) => Condition::Source(name.clone()),
        Filter::Updated(period) => Condition::Updated(*period),
        Filter::Created(period) => Condition::Created(*period),
        Filter::Archived => Condition::Archived,
        Filter::Pinned => Condition::Pinned,
        Filter::Locked => Condition::Locked,
        Filter::Todo => Condition::Todo,
        Filter::Done => Condition::Done,
        Filter::Property { key, value } => Condition::Property { key: key.clone(), value: value.clone() },
    }
}

fn narrow(from_ms: &mut Option<i64>, until_ms: &mut Option<i64>, period: &Period) {
    *from_ms = (*from_ms).max(period.from_ms);
    *until_ms = match (*until_ms, period.until_ms) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
}
