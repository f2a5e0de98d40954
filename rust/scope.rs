//! Which documents a query may find: sources, tags, ids, dates, flags and excluded words, as one SQL condition that every leg
//! applies before it cuts its list.

use rusqlite::{Connection, types::Value};

use crate::{error::Result, names::fold};

/// What the caller asked for beside words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    /// Row ids of the sources to search; empty finds nothing.
    pub sources: Vec<i64>,
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
        scope.and(&format!("d.source_id IN ({sources})"), []);
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
                let condition = format!(
                    "d.id {word} (SELECT x.document_id FROM words JOIN chunks x ON x.id = words.rowid WHERE words MATCH ?)"
                );
                scope.and(&condition, [Value::Text(expression.clone())]);
                scope.selective |= word == "IN";
            }
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

    /// Text ids of all chunks of the documents in scope, ascending.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn text_ids(&self, conn: &Connection) -> Result<Vec<i64>> {
        let sql = format!(
            "SELECT DISTINCT c.text_id FROM documents d JOIN chunks c ON c.document_id = d.id WHERE {} ORDER BY 1",
            self.condition
        );
        let mut statement = conn.prepare(&sql)?;
        let rows = statement.query_map(rusqlite::params_from_iter(&self.parameters), |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn and(&mut self, condition: &str, parameters: impl IntoIterator<Item = Value>) {
        self.condition.push_str(" AND ");
        self.condition.push_str(condition);
        self.parameters.extend(parameters);
    }

    /// Tags are matched whole or as a parent: `work` finds `work/jp` and not `workshop`. The tag `work/` has its children in
    /// the range from `work/` to `work0`, because `0` follows `/`.
    fn and_tagged(&mut self, word: &str, tags: &[String]) {
        let each = vec!["t.folded = ? OR (t.folded >= ? AND t.folded < ?)"; tags.len()].join(" OR ");
        let condition = format!(
            "{word} (SELECT dt.document_id FROM tags t JOIN document_tags dt ON dt.tag_id = t.id WHERE {each})"
        );
        let parameters = tags.iter().flat_map(|tag| {
            let tag = fold(tag.trim_matches('#').trim_end_matches('/'));
            let (from, until) = (format!("{tag}/"), format!("{tag}0"));
            [tag, from, until].map(Value::Text)
        });
        self.and(&condition, parameters);
        self.selective = true;
    }
}
