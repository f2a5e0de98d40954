//! Reading the index as a library of notes: one note, notes by id or title, lists, tags. No ranking.

use rusqlite::{Connection, OptionalExtension, Row, params_from_iter, types::Value};

use crate::{error::Result, names::fold, scope::Scope};

/// What the index knows of a note, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRow {
    /// Row id.
    pub id: i64,
    /// The source's own id.
    pub external_id: String,
    /// Name of the source.
    pub source: String,
    /// As the source gives it; may be empty.
    pub title: String,
    /// Whole tag paths, in the order of their names.
    pub tags: Vec<String>,
    /// Milliseconds since 1970 UTC.
    pub created_at_ms: Option<i64>,
    /// Milliseconds since 1970 UTC.
    pub updated_at_ms: Option<i64>,
    /// Put away by its owner.
    pub archived: bool,
    /// Pinned by its owner.
    pub pinned: bool,
    /// Encrypted; the index holds no text of it.
    pub locked: bool,
    /// Opens it in its own program.
    pub url: Option<String>,
}

const COLUMNS: &str =
    "d.id, d.external_id, s.name, d.title, d.created_at_ms, d.updated_at_ms, d.archived, d.pinned, d.locked, d.url";

fn from_row(row: &Row<'_>) -> rusqlite::Result<DocumentRow> {
    Ok(DocumentRow {
        id: row.get(0)?,
        external_id: row.get(1)?,
        source: row.get(2)?,
        title: row.get(3)?,
        tags: Vec::new(),
        created_at_ms: row.get(4)?,
        updated_at_ms: row.get(5)?,
        archived: row.get(6)?,
        pinned: row.get(7)?,
        locked: row.get(8)?,
        url: row.get(9)?,
    })
}

fn with_tags(conn: &Connection, mut document: DocumentRow) -> Result<DocumentRow> {
    let mut statement = conn.prepare_cached(
        "SELECT t.name FROM document_tags dt JOIN tags t ON t.id = dt.tag_id WHERE dt.document_id = ?1 ORDER BY t.folded",
    )?;
    document.tags = statement.query_map([document.id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(document)
}

/// The note with this row id.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn document(conn: &Connection, id: i64) -> Result<Option<DocumentRow>> {
    let sql = format!("SELECT {COLUMNS} FROM documents d JOIN sources s ON s.id = d.source_id WHERE d.id = ?1");
    let found = conn.prepare_cached(&sql)?.query_row([id], from_row).optional()?;
    found.map(|document| with_tags(conn, document)).transpose()
}

/// The text of the note with this row id; empty when there is none.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn text(conn: &Connection, id: i64) -> Result<String> {
    let mut statement = conn.prepare_cached("SELECT text FROM document_texts WHERE document_id = ?1")?;
    Ok(statement.query_row([id], |row| row.get(0)).optional()?.unwrap_or_default())
}

/// Notes in scope that `reference` names: by id, by `NAME:ID`, or else by title, case-folded, newest first.
///
/// More than one when an id stands in several sources or a title is not unique.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn find(conn: &Connection, reference: &str, scope: &Scope) -> Result<Vec<DocumentRow>> {
    let (source, id) = reference.split_once(':').unwrap_or(("", ""));
    let by_id = |condition: &str, values: Vec<Value>| -> Result<Vec<DocumentRow>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM documents d JOIN sources s ON s.id = d.source_id
             WHERE {condition} AND {} ORDER BY d.updated_at_ms DESC, d.id",
            scope.condition()
        );
        let mut statement = conn.prepare_cached(&sql)?;
        let parameters = values.into_iter().chain(scope.parameters().iter().cloned());
        let rows =
            statement.query_map(params_from_iter(parameters), from_row)?.collect::<rusqlite::Result<Vec<_>>>()?;
        rows.into_iter().map(|row| with_tags(conn, row)).collect()
    };
    let word = |word: &str| Value::Text(word.to_owned());
    let found = by_id("d.external_id = ?", vec![word(reference)])?;
    if !found.is_empty() {
        return Ok(found);
    }
    let found = by_id("d.external_id = ? AND s.name = ?", vec![word(id), word(source)])?;
    if !found.is_empty() {
        return Ok(found);
    }
    // Bear's ids are upper-case UUIDs; links and people write them in any case.
    let found = by_id("d.external_id = ? AND s.kind = 'bear'", vec![word(&reference.to_ascii_uppercase())])?;
    if !found.is_empty() {
        return Ok(found);
    }
    by_id("d.folded_title = ?", vec![Value::Text(fold(reference))])
}

/// Notes in scope, newest first, and how many there are in all.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn list(conn: &Connection, scope: &Scope, limit: usize, offset: usize) -> Result<(Vec<DocumentRow>, usize)> {
    let total = conn
        .prepare_cached(&format!("SELECT count(*) FROM documents d WHERE {}", scope.condition()))?
        .query_row(params_from_iter(scope.parameters()), |row| row.get(0))?;
    let sql = format!(
        "SELECT {COLUMNS} FROM documents d JOIN sources s ON s.id = d.source_id WHERE {}
         ORDER BY d.updated_at_ms DESC, d.id LIMIT ? OFFSET ?",
        scope.condition()
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let bound = |count: usize| Value::Integer(i64::try_from(count).unwrap_or(i64::MAX));
    let parameters = scope.parameters().iter().cloned().chain([bound(limit), bound(offset)]);
    let rows = statement.query_map(params_from_iter(parameters), from_row)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let notes = rows.into_iter().map(|row| with_tags(conn, row)).collect::<Result<_>>()?;
    Ok((notes, total))
}

/// Tags of notes in scope with the number of those notes, by name.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn tags(conn: &Connection, scope: &Scope) -> Result<Vec<(String, usize)>> {
    let sql = format!(
        "SELECT t.name, count(*) FROM tags t JOIN document_tags dt ON dt.tag_id = t.id
         JOIN documents d ON d.id = dt.document_id WHERE {} GROUP BY t.id ORDER BY t.folded",
        scope.condition()
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(scope.parameters()), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
