//! Which documents a query may find: sources, tags, ids, dates, flags and excluded words, as one SQL condition that every leg
//! applies before it cuts its list.

use std::collections::HashSet;

use rusqlite::{CachedStatement, Connection, types::Value};
use unicode_normalization::UnicodeNormalization;

use crate::{error::Result, names::fold, said::folded_value};

/// What the caller asked for beside words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    /// Row ids of the sources to search; empty finds nothing.
    pub sources: Vec<i64>,
    /// Of these only the sources with one of these names, in any case; empty asks for none.
    pub source_names: Vec<String>,
    /// None of the sources with these names.
    pub source_names_none: Vec<String>,
    /// Every one of these tags, or a child of it.
    pub tags_all: Vec<String>,
    /// At least one of these tags, or a child of one; empty asks for none.
    pub tags_any: Vec<String>,
    /// None of these tags, nor a child of one.
    pub tags_none: Vec<String>,
    /// Only documents with one of these ids (`ID` or `NAME:ID`); empty asks for none.
    pub ids: Vec<String>,
    /// Updated at or after this moment, in milliseconds since 1970 UTC.
    pub updated_from_ms: Option<i64>,
    /// Updated before this moment.
    pub updated_until_ms: Option<i64>,
    /// Created at or after this moment.
    pub created_from_ms: Option<i64>,
    /// Created before this moment.
    pub created_until_ms: Option<i64>,
    /// Include documents that their owner put away.
    pub archived: bool,
    /// Only pinned documents, or only others.
    pub pinned: Option<bool>,
    /// Only locked documents, or only others.
    pub locked: Option<bool>,
    /// FTS5 expressions; a document with a chunk that matches one of them is left out.
    pub excluded: Vec<String>,
    /// FTS5 expressions; a document without a chunk that matches all of them is left out.
    pub required: Vec<String>,
    /// What the fields above cannot say, alternatives above all; each must hold.
    pub conditions: Vec<Condition>,
}

/// A time from a first moment to before another, in milliseconds since 1970 UTC; None is no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Period {
    /// The first moment.
    pub from_ms: Option<i64>,
    /// The first moment that is too late.
    pub until_ms: Option<i64>,
}

/// What a document must be.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Each of these.
    All(Vec<Condition>),
    /// One of these.
    Any(Vec<Condition>),
    /// Not this. A document without a date is at no time, and so is not in a period.
    Not(Box<Condition>),
    /// Has this tag or a child of it.
    Tag(String),
    /// Comes from the source of this name, in any case.
    Source(String),
    /// Changed in this time.
    Updated(Period),
    /// Created in this time.
    Created(Period),
    /// Put away by its owner; [`Filters::archived`] must let it in.
    Archived,
    /// Pinned by its owner.
    Pinned,
    /// Encrypted by its owner.
    Locked,
    /// Holds a task that is still to be done.
    Todo,
    /// Holds a task that is done.
    Done,
    /// Has this property; a value that ends with `*` stands for all that begin so.
    Property {
        /// Its name, in any case.
        key: String,
        /// Its value, in any case.
        value: String,
    },
    /// Has a chunk that matches this FTS5 expression.
    Matches(String),
}

impl Condition {
    /// Holds for every document.
    pub const ALWAYS: Self = Self::All(Vec::new());
    /// Holds for none.
    pub const NEVER: Self = Self::Any(Vec::new());
}

/// The documents in scope.
pub enum Members<'c> {
    /// All of them, by row id.
    Listed(HashSet<i64>),
    /// A statement that knows one document at a time, and its parameters without the row id.
    Asked(CachedStatement<'c>, Vec<Value>),
}

impl Members<'_> {
    /// Whether the document with this row id is in scope.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn hold(&mut self, document_id: i64) -> Result<bool> {
        match self {
            Self::Listed(ids) => Ok(ids.contains(&document_id)),
            Self::Asked(statement, parameters) => {
                let parameters = parameters.iter().cloned().chain([Value::Integer(document_id)]);
                Ok(statement.exists(rusqlite::params_from_iter(parameters))?)
            }
        }
    }

    /// The text ids of all chunks of the documents, ascending; None where they are too many to name.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn text_ids(&self, conn: &Connection) -> Result<Option<Vec<i64>>> {
        let Self::Listed(ids) = self else { return Ok(None) };
        let mut statement = conn.prepare_cached("SELECT text_id FROM chunks WHERE document_id = ?1")?;
        let mut texts = Vec::new();
        for id in ids {
            let rows = statement.query_map([id], |row| row.get::<_, i64>(0))?;
            rows.into_iter().try_for_each(|text| text.map(|text| texts.push(text)))?;
        }
        texts.sort_unstable();
        texts.dedup();
        Ok(Some(texts))
    }
}

/// A condition over `documents d`, with its parameters.
#[derive(Debug, Clone)]
pub struct Scope {
    condition: String,
    parameters: Vec<Value>,
    selective: bool,
}

impl Scope {
    /// The condition that `filters` mean.
    pub fn new(filters: &Filters) -> Self {
        let mut scope = Self { condition: "1".to_owned(), parameters: Vec::new(), selective: false };
        let sources = filters.sources.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        scope.and(&format!("d.source_id IN ({sources}) AND d.hidden_at_ms IS NULL"), []);
        for (word, names) in [("IN", &filters.source_names), ("NOT IN", &filters.source_names_none)] {
            if !names.is_empty() {
                let (condition, parameters) = named("d.source_id", word, names);
                scope.and(&condition, parameters);
            }
        }
        if !filters.archived {
            scope.and("NOT d.archived", []);
        }
        for tag in &filters.tags_all {
            scope.and_tagged("d.id IN", std::slice::from_ref(tag));
        }
        if !filters.tags_any.is_empty() {
            scope.and_tagged("d.id IN", &filters.tags_any);
        }
        if !filters.tags_none.is_empty() {
            scope.and_tagged("d.id NOT IN", &filters.tags_none);
        }
        if !filters.ids.is_empty() {
            let marks = vec!["?"; filters.ids.len()].join(",");
            let condition = format!(
                "(d.external_id IN ({marks}) OR (SELECT name FROM sources WHERE id = d.source_id) || ':' || d.external_id IN ({marks}))"
            );
            let ids = filters.ids.iter().chain(&filters.ids).cloned().map(Value::Text);
            scope.and(&condition, ids);
            scope.selective = true;
        }
        for (condition, bound) in [
            ("d.updated_at_ms >= ?", filters.updated_from_ms),
            ("d.updated_at_ms < ?", filters.updated_until_ms),
            ("d.created_at_ms >= ?", filters.created_from_ms),
            ("d.created_at_ms < ?", filters.created_until_ms),
            ("d.pinned = ?", filters.pinned.map(i64::from)),
            ("d.locked = ?", filters.locked.map(i64::from)),
        ] {
            if let Some(bound) = bound {
                scope.and(condition, [Value::Integer(bound)]);
                scope.selective = true;
            }
        }
        for (word, expressions) in [("IN", &filters.required), ("NOT IN", &filters.excluded)] {
            for expression in expressions {
                scope.and(&format!("d.id {word} {MATCHING}"), [Value::Text(expression.clone())]);
                scope.selective = true;
            }
        }
        for condition in &filters.conditions {
            let mut parameters = Vec::new();
            let condition = sql(condition, &mut parameters);
            scope.and(&condition, parameters);
            scope.selective = true;
        }
        scope
    }

    /// SQL over the alias `d` of `documents`, with `?` for each of [`parameters`](Self::parameters).
    pub fn condition(&self) -> &str {
        &self.condition
    }

    /// Values of the condition's `?`, in order.
    pub fn parameters(&self) -> &[Value] {
        &self.parameters
    }

    /// Whether the condition asks for a property that most documents may lack, so that scanning all and dropping the rest
    /// could be wasteful.
    pub fn is_selective(&self) -> bool {
        self.selective
    }

    /// A way to ask many documents whether they are in scope.
    ///
    /// A condition that most documents may fail is resolved at once; the usual one, which leaves out little, is asked
    /// document by document.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn members<'c>(&self, conn: &'c Connection) -> Result<Members<'c>> {
        if !self.selective {
            let sql = format!("SELECT 1 FROM documents d WHERE {} AND d.id = ?", self.condition);
            return Ok(Members::Asked(conn.prepare_cached(&sql)?, self.parameters.clone()));
        }
        let mut statement = conn.prepare(&format!("SELECT d.id FROM documents d WHERE {}", self.condition))?;
        let rows = statement.query_map(rusqlite::params_from_iter(&self.parameters), |row| row.get(0))?;
        Ok(Members::Listed(rows.collect::<rusqlite::Result<_>>()?))
    }

    fn and(&mut self, condition: &str, parameters: impl IntoIterator<Item = Value>) {
        self.condition.push_str(" AND ");
        self.condition.push_str(condition);
        self.parameters.extend(parameters);
    }

    fn and_tagged(&mut self, word: &str, tags: &[String]) {
        let (condition, parameters) = tagged(word, tags);
        self.and(&condition, parameters);
        self.selective = true;
    }
}

/// Documents with a chunk that matches the parameter.
const MATCHING: &str = "(SELECT x.document_id FROM words JOIN chunks x ON x.id = words.rowid WHERE words MATCH ?)";

/// Tags are matched whole or as a parent: `work` finds `work/jp` and not `workshop`. The tag `work/` has its children in
/// the range from `work/` to `work0`, because `0` follows `/`.
fn tagged(word: &str, tags: &[String]) -> (String, Vec<Value>) {
    let each = vec!["t.folded = ? OR (t.folded >= ? AND t.folded < ?)"; tags.len()].join(" OR ");
    let condition =
        format!("{word} (SELECT dt.document_id FROM tags t JOIN document_tags dt ON dt.tag_id = t.id WHERE {each})");
    let parameters = tags.iter().flat_map(|tag| {
        let tag = fold(tag.trim_matches('#').trim_end_matches('/'));
        let (from, until) = (format!("{tag}/"), format!("{tag}0"));
        [tag, from, until].map(Value::Text)
    });
    (condition, parameters.collect())
}

/// Sources by name. SQLite compares ASCII without case; a name with other letters is found as it was typed, in small
/// letters, in capitals, or capitalised, composed or not.
fn named(column: &str, word: &str, names: &[String]) -> (String, Vec<Value>) {
    let mut spellings: Vec<String> = Vec::new();
    for name in names {
        let name: String = name.trim().nfc().collect();
        let small = name.to_lowercase();
        let mut letters = small.chars();
        let capitalised = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        for spelling in [name.to_uppercase(), capitalised, small.clone(), name] {
            spellings.push(spelling.nfd().collect());
            spellings.push(spelling);
        }
    }
    spellings.sort_unstable();
    spellings.dedup();
    let marks = vec!["?"; spellings.len()].join(",");
    let condition = format!("{column} {word} (SELECT id FROM sources WHERE name COLLATE NOCASE IN ({marks}))");
    (condition, spellings.into_iter().map(Value::Text).collect())
}

/// SQL of a condition, never NULL; its values are added to `parameters`.
fn sql(condition: &Condition, parameters: &mut Vec<Value>) -> String {
    let mut joined = |conditions: &[Condition], word: &str, empty: &str| {
        let each: Vec<String> = conditions.iter().map(|condition| sql(condition, parameters)).collect();
        if each.is_empty() { empty.to_owned() } else { format!("({})", each.join(word)) }
    };
    match condition {
        Condition::All(conditions) => joined(conditions, " AND ", "1"),
        Condition::Any(conditions) => joined(conditions, " OR ", "0"),
        Condition::Not(condition) => format!("NOT {}", sql(condition, parameters)),
        Condition::Tag(tag) => {
            let (condition, values) = tagged("d.id IN", std::slice::from_ref(tag));
            parameters.extend(values);
            condition
        }
        Condition::Source(name) => {
            let (condition, values) = named("d.source_id", "IN", std::slice::from_ref(name));
            parameters.extend(values);
            condition
        }
        Condition::Updated(period) => within("d.updated_at_ms", period, parameters),
        Condition::Created(period) => within("d.created_at_ms", period, parameters),
        Condition::Archived => "d.archived".to_owned(),
        Condition::Pinned => "d.pinned".to_owned(),
        Condition::Locked => "d.locked".to_owned(),
        Condition::Todo => "d.tasks_open > 0".to_owned(),
        Condition::Done => "d.tasks_done > 0".to_owned(),
        Condition::Property { key, value } => {
            let compared = match value.strip_suffix('*') {
                Some(beginning) => {
                    let from = folded_value(beginning);
                    // Nothing that begins with `from` comes after it and the last character of all.
                    let until = format!("{from}{}", char::MAX);
                    parameters.extend([fold(key), from, until].map(Value::Text));
                    "key = ? AND value >= ? AND value < ?"
                }
                None => {
                    parameters.extend([fold(key), folded_value(value)].map(Value::Text));
                    "key = ? AND value = ?"
                }
            };
            format!("d.id IN (SELECT document_id FROM properties WHERE {compared})")
        }
        Condition::Matches(expression) => {
            parameters.push(Value::Text(expression.clone()));
            format!("d.id IN {MATCHING}")
        }
    }
}

fn within(column: &str, period: &Period, parameters: &mut Vec<Value>) -> String {
    parameters.push(Value::Integer(period.from_ms.unwrap_or(i64::MIN)));
    parameters.push(Value::Integer(period.until_ms.unwrap_or(i64::MAX)));
    format!("ifnull({column} >= ? AND {column} < ?, 0)")
}
