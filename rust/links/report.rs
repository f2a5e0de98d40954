//! What stands out in the graph: notes without links, links without notes, notes with most links.

use rusqlite::{Connection, params_from_iter, types::Value};

use super::word_of;
use crate::error::Result;
use crate::scope::Scope;

/// A link that leads to no note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Row id of the note that holds it.
    pub from_id: i64,
    /// What it names, as written.
    pub target: String,
    /// The text that stands for it.
    pub text: String,
    /// Heading or `^block`; empty for none.
    pub heading: String,
    /// Line, from 1.
    pub line: usize,
    /// How it is written: wiki, embed, path, bear or obsidian.
    pub form: &'static str,
}

/// A note with the number of its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hub {
    /// Row id of the note.
    pub id: i64,
    /// Notes that link to it.
    pub incoming: usize,
    /// Notes that it links to.
    pub outgoing: usize,
}

/// Notes in scope that neither link to another note nor are linked to, newest first, and how many there are in all.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn orphans(conn: &Connection, scope: &Scope, limit: usize) -> Result<(Vec<i64>, usize)> {
    let sql = format!(
        "SELECT d.id FROM documents d WHERE {}
         AND NOT EXISTS (SELECT 1 FROM edges WHERE from_id = d.id AND to_id <> d.id)
         AND NOT EXISTS (SELECT 1 FROM edges WHERE to_id = d.id AND from_id <> d.id)
         ORDER BY d.updated_at_ms DESC, d.id",
        scope.condition()
    );
    counted(conn, &sql, scope.parameters(), limit, |row| row.get(0))
}

/// Links in notes in scope that lead to no note, or only those of one note; in the order of notes and lines, and how many
/// there are in all.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn broken(conn: &Connection, scope: &Scope, of: Option<i64>, limit: usize) -> Result<(Vec<Broken>, usize)> {
    let only = if of.is_some() { "AND l.document_id = ?" } else { "" };
    let sql = format!(
        "SELECT l.document_id, l.target, l.text, l.heading, l.line, l.kind, l.embedded
         FROM documents d JOIN links l ON l.document_id = d.id
         WHERE {} {only} AND NOT EXISTS (SELECT 1 FROM edges e WHERE e.from_id = l.document_id AND e.ordinal = l.ordinal)
         ORDER BY d.folded_title, d.id, l.ordinal",
        scope.condition()
    );
    let parameters: Vec<Value> = scope.parameters().iter().cloned().chain(of.map(Value::Integer)).collect();
    counted(conn, &sql, &parameters, limit, |row| {
        Ok(Broken {
            from_id: row.get(0)?,
            target: row.get(1)?,
            text: row.get(2)?,
            heading: row.get(3)?,
            line: row.get(4)?,
            form: word_of(row.get(5)?, row.get(6)?),
        })
    })
}

/// Notes in scope with links, those with most neighbours first, and how many there are in all.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn hubs(conn: &Connection, scope: &Scope, limit: usize) -> Result<(Vec<Hub>, usize)> {
    let sql = format!(
        "WITH incoming AS (SELECT to_id AS id, count(DISTINCT from_id) AS n FROM edges WHERE from_id <> to_id GROUP BY to_id),
              outgoing AS (SELECT from_id AS id, count(DISTINCT to_id) AS n FROM edges WHERE from_id <> to_id GROUP BY from_id)
         SELECT d.id, coalesce(i.n, 0), coalesce(o.n, 0)
         FROM documents d LEFT JOIN incoming i ON i.id = d.id LEFT JOIN outgoing o ON o.id = d.id
         WHERE {} AND coalesce(i.n, o.n) IS NOT NULL
         ORDER BY coalesce(i.n, 0) + coalesce(o.n, 0) DESC, coalesce(i.n, 0) DESC, d.folded_title, d.id",
        scope.condition()
    );
    counted(conn, &sql, scope.parameters(), limit, |row| {
        Ok(Hub { id: row.get(0)?, incoming: row.get(1)?, outgoing: row.get(2)? })
    })
}

/// The first `limit` rows, and the number of all.
fn counted<T>(
    conn: &Connection,
    sql: &str,
    parameters: &[Value],
    limit: usize,
    read: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Result<(Vec<T>, usize)> {
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query(params_from_iter(parameters))?;
    let (mut found, mut total) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        if total < limit {
            found.push(read(row)?);
        }
        total += 1;
    }
    Ok((found, total))
}
