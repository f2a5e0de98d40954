//! Documents that a source lists and the index holds no row of: unreadable ones, which people are told of, and excluded ones, of
//! which nothing is kept but the hash of the id.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::{
    documents::{self, id_hash},
    error::Result,
    source::{Entry, Skipped},
};

/// A listed document that does not become one of the index; a reason means that it could not be read.
#[derive(Debug, Clone)]
pub struct LeftOut {
    /// What was listed.
    pub entry: Entry,
    /// Why it could not be read.
    pub reason: Option<String>,
}

/// Change marks by the hash of the id: what has not changed since need not be read again.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn marks(conn: &Connection, source_id: i64) -> Result<HashMap<[u8; 32], Box<[u8]>>> {
    let mut statement = conn.prepare_cached("SELECT id_hash, mark FROM left_out WHERE source_id = ?1")?;
    let rows =
        statement.query_map([source_id], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?.into_boxed_slice())))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What could not be read, by id.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn unreadable(conn: &Connection, source_id: i64) -> Result<Vec<Skipped>> {
    let mut statement = conn.prepare_cached(
        "SELECT external_id, reason FROM left_out WHERE source_id = ?1 AND reason IS NOT NULL ORDER BY external_id",
    )?;
    let rows = statement.query_map([source_id], |row| Ok(Skipped { id: row.get(0)?, reason: row.get(1)? }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Remembers a listed document that has no place in the index, and removes what the index held of it.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn leave_out(tx: &Transaction<'_>, source_id: i64, left: &LeftOut) -> Result<()> {
    let stored: Option<i64> = tx
        .prepare_cached("SELECT id FROM documents WHERE source_id = ?1 AND external_id = ?2")?
        .query_row(params![source_id, left.entry.id], |row| row.get(0))
        .optional()?;
    // A document that cannot be read just now keeps its last readable state; an excluded one goes at once.
    if let (Some(id), None) = (stored, &left.reason) {
        documents::purge(tx, &[id])?;
    }
    let external_id = left.reason.as_ref().map(|_| &left.entry.id);
    tx.prepare_cached(
        "INSERT OR REPLACE INTO left_out (source_id, id_hash, mark, external_id, reason) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![source_id, id_hash(&left.entry.id), left.entry.mark.0, external_id, left.reason])?;
    Ok(())
}

/// Forgets what was left out and is not listed any more.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn forget<'a>(tx: &Transaction<'_>, source_id: i64, listed: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut gone = marks(tx, source_id)?;
    if gone.is_empty() {
        return Ok(());
    }
    listed.for_each(|id| drop(gone.remove(&id_hash(id))));
    for hash in gone.into_keys() {
        tx.execute("DELETE FROM left_out WHERE source_id = ?1 AND id_hash = ?2", params![source_id, hash])?;
    }
    Ok(())
}
