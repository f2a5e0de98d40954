//! The legs that read words: BM25 over whole words, trigrams for parts of words, and a plain scan as the last resort.
//!
//! Which leg runs, and with which expression, is decided in `search`.

use rusqlite::{Connection, params_from_iter, types::Value};

use crate::{error::Result, names::fold, scope::Scope};

/// How much a word counts in title, heading, body and tags: a word of the title says most about a note.
const COLUMN_WEIGHTS: &str = "4.0, 2.0, 1.0, 2.0";

/// One chunk that a leg found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChunkHit {
    /// Row id of the document.
    pub document_id: i64,
    /// Row id of the chunk.
    pub chunk_id: i64,
    /// The leg's own score; higher is better.
    pub score: f64,
}

/// The best `limit` chunks in scope for an FTS5 expression over whole words, best first.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite); a damaged full-text table is one.
pub fn words(conn: &Connection, expression: &str, scope: &Scope, limit: usize) -> Result<Vec<ChunkHit>> {
    ranked(conn, "words", &format!("bm25(words, {COLUMN_WEIGHTS})"), expression, scope, limit)
}

/// The best `limit` chunks in scope for an FTS5 expression over parts of words of three letters or more, best first.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite); a damaged full-text table is one.
pub fn trigrams(conn: &Connection, expression: &str, scope: &Scope, limit: usize) -> Result<Vec<ChunkHit>> {
    ranked(conn, "trigrams", "bm25(trigrams, 4.0, 1.0)", expression, scope, limit)
}

fn ranked(
    conn: &Connection,
    table: &str,
    bm25: &str,
    expression: &str,
    scope: &Scope,
    limit: usize,
) -> Result<Vec<ChunkHit>> {
    // FTS5's bm25() is negative, best lowest. The row id breaks ties, so that equal scores keep their order.
    let sql = format!(
        "SELECT c.document_id, c.id, {bm25} AS cost FROM {table}
         CROSS JOIN chunks c ON c.id = {table}.rowid CROSS JOIN documents d ON d.id = c.document_id
         WHERE {table} MATCH ? AND {} ORDER BY cost, c.id LIMIT ?",
        scope.condition()
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let parameters = std::iter::once(Value::Text(expression.to_owned()))
        .chain(scope.parameters().iter().cloned())
        .chain(std::iter::once(Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX))));
    let rows = statement.query_map(params_from_iter(parameters), |row| {
        Ok(ChunkHit { document_id: row.get(0)?, chunk_id: row.get(1)?, score: -row.get::<_, f64>(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Chunks in scope that hold words as parts of their title or text, case-folded; those with more of the words first.
///
/// Reads every text in scope and no full-text table, so it works when those are damaged.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn like(conn: &Connection, words: &[String], scope: &Scope, limit: usize) -> Result<Vec<ChunkHit>> {
    let needles: Vec<String> = words.iter().map(|word| fold(word)).filter(|word| !word.is_empty()).collect();
    if needles.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT d.id, d.folded_title, t.text FROM documents d JOIN document_texts t ON t.document_id = d.id WHERE {} ORDER BY d.id",
        scope.condition()
    );
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(scope.parameters()))?;
    let mut chunks =
        conn.prepare_cached("SELECT id, start_byte, end_byte FROM chunks WHERE document_id = ?1 ORDER BY ordinal")?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (document_id, title): (i64, String) = (row.get(0)?, row.get(1)?);
        let text = row.get_ref(2)?.as_str().unwrap_or_default();
        let held = |body: &str| {
            let body = fold(body);
            needles.iter().filter(|needle| title.contains(*needle) || body.contains(*needle)).count()
        };
        if held(text) == 0 {
            continue;
        }
        let ranges = chunks.query_map([document_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let ranges: Vec<(i64, usize, usize)> = ranges.collect::<rusqlite::Result<_>>()?;
        let best = ranges.into_iter().map(|(id, start, end)| (held(text.get(start..end).unwrap_or_default()), id));
        // The first of the chunks with most words: `max_by_key` would give the last.
        if let Some((count, chunk_id)) = best.max_by_key(|&(count, id)| (count, std::cmp::Reverse(id))) {
            found.push(ChunkHit { document_id, chunk_id, score: count as f64 });
        }
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk_id.cmp(&b.chunk_id)));
    found.truncate(limit);
    Ok(found)
}
