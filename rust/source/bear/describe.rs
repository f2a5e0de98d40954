//! What a Bear database looks like to us, for a person who reports a problem: names of tables, journal mode, counts. Never a
//! word of a note, a title or a tag.

use std::{path::Path, time::Duration};

use rusqlite::Connection;

use super::layout::{Layout, LayoutError};
use super::reader::Reader;
use crate::error::Result;

/// A database, described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// SQLite's word, such as `wal` or `delete`.
    pub journal_mode: String,
    /// Names of all tables, in order.
    pub tables: Vec<String>,
    /// The table that joins notes and tags; None when it was not found.
    pub junction: Option<String>,
    /// How many notes are in the database, and how many of them are archived, locked, trashed or waiting for their deletion.
    pub counts: Counts,
    /// What is missing, as sentences.
    pub warnings: Vec<String>,
}

/// Numbers of notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All rows.
    pub notes: i64,
    /// Put away by their owner.
    pub archived: i64,
    /// Encrypted.
    pub locked: i64,
    /// In the trash, or deleted and not yet gone.
    pub trashed: i64,
}

/// Describes the database at `path`.
///
/// # Errors
/// The source errors of [`Error`](crate::error::Error).
pub fn describe(path: &Path, busy_timeout: Duration) -> Result<Description> {
    Reader::open(path, busy_timeout)?.read(&look)
}

fn look(conn: &Connection) -> std::result::Result<Description, LayoutError> {
    let layout = Layout::discover(conn)?;
    let mut statement = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    let tables = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let flag = |column| format!("coalesce(sum(coalesce({}, 0) <> 0), 0)", layout.note_column(column));
    let sql = format!(
        "SELECT count(*), {}, {}, coalesce(sum(NOT ({})), 0) FROM ZSFNOTE",
        flag("ZARCHIVED"),
        flag("ZENCRYPTED"),
        layout.live_condition()
    );
    let counts = conn.query_row(&sql, [], |row| {
        Ok(Counts { notes: row.get(0)?, archived: row.get(1)?, locked: row.get(2)?, trashed: row.get(3)? })
    })?;
    Ok(Description {
        journal_mode: conn.query_row("PRAGMA journal_mode", [], |row| row.get(0))?,
        tables,
        junction: layout.tags.map(|tags| tags.junction),
        counts,
        warnings: layout.warnings,
    })
}
