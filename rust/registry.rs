//! The sources that the index knows: their names, where they are, and how they were at the last sync.

use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::{
    documents,
    error::{Error, Result},
    source::{self, SourceKind},
    store::Store,
};

/// A source as the caller names it.
#[derive(Debug, Clone)]
pub struct SourceSpec {
    /// Bear or Markdown.
    pub kind: SourceKind,
    /// Canonical path of the database or folder.
    pub path: PathBuf,
    /// The name people use in `in:NAME`; None takes one from the path.
    pub name: Option<String>,
    /// Registered sources belong to every call; others only to the calls that name them.
    pub register: bool,
}

/// A registered source, as stored.
#[derive(Debug, Clone)]
pub struct SourceRow {
    /// Row id.
    pub id: i64,
    /// Kind of the source.
    pub kind: SourceKind,
    /// Path of the source.
    pub path: PathBuf,
    /// Name of the source.
    pub name: String,
    /// Whether every call reads it.
    pub registered: bool,
    /// Milliseconds since 1970 UTC of the last successful sync.
    pub last_sync_at_ms: Option<i64>,
    /// Why the last sync failed.
    pub error: Option<String>,
    /// What `stat` said of it before the last sync; see [`source::Gate`](crate::source::Gate).
    pub gate: Option<Vec<u8>>,
    /// Hash of what its owner wanted left out at the last sync.
    pub wishes: Option<Vec<u8>>,
    /// Patterns that this source alone leaves out, in gitignore syntax.
    pub exclude: Vec<String>,
    /// Documents that a query can reach.
    pub documents: usize,
    /// Documents that are archived; counted in `documents`, too.
    pub archived: usize,
    /// Documents held by title only; counted in `documents`, too.
    pub locked: usize,
    /// Documents that vanished with most others and wait to be purged.
    pub hidden: usize,
}

/// All sources that the index has rows of.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn sources(conn: &Connection) -> Result<Vec<SourceRow>> {
    let mut statement = conn.prepare_cached(
        "SELECT id, kind, path, name, registered, last_sync_at_ms, error, gate, wishes, documents, archived, locked, hidden,
                exclude
         FROM sources ORDER BY id",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(SourceRow {
            id: row.get(0)?,
            kind: SourceKind::from_word(&row.get::<_, String>(1)?).unwrap_or(SourceKind::Markdown),
            path: PathBuf::from(row.get::<_, String>(2)?),
            name: row.get(3)?,
            registered: row.get(4)?,
            last_sync_at_ms: row.get(5)?,
            error: row.get(6)?,
            gate: row.get(7)?,
            wishes: row.get(8)?,
            documents: row.get(9)?,
            archived: row.get(10)?,
            locked: row.get(11)?,
            hidden: row.get(12)?,
            exclude: row.get::<_, String>(13)?.lines().map(str::to_owned).collect(),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The stored row of the source that `spec` names.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn find(conn: &Connection, spec: &SourceSpec) -> Result<Option<SourceRow>> {
    Ok(sources(conn)?.into_iter().find(|row| row.kind == spec.kind && row.path == spec.path))
}

/// The name that a new source gets, unless another one has it.
pub fn proposed_name(spec: &SourceSpec) -> String {
    let from_path = || match spec.kind {
        SourceKind::Bear | SourceKind::Given => spec.kind.as_str().to_owned(),
        SourceKind::Backup => {
            spec.path.file_stem().map_or_else(|| "backup".to_owned(), |name| name.to_string_lossy().into_owned())
        }
        SourceKind::Markdown => {
            spec.path.file_name().map_or_else(|| "notes".to_owned(), |name| name.to_string_lossy().into_owned())
        }
    };
    spec.name.clone().unwrap_or_else(from_path)
}

/// Makes sure that the index has a row for the source; returns its id and name.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn register(tx: &Transaction<'_>, spec: &SourceSpec) -> Result<(i64, String)> {
    let path = spec.path.to_string_lossy();
    if let Some(row) = find(tx, spec)? {
        tx.execute("UPDATE sources SET registered = registered OR ?2 WHERE id = ?1", params![row.id, spec.register])?;
        return Ok((row.id, row.name));
    }
    // Names are what `in:NAME` and `NAME:ID` use, so they are unique: notes, notes-2, notes-3.
    let wanted = proposed_name(spec);
    let mut name = wanted.clone();
    let mut number = 1;
    while tx.query_row("SELECT 1 FROM sources WHERE name = ?1", [&name], |_| Ok(())).optional()?.is_some() {
        number += 1;
        name = format!("{wanted}-{number}");
    }
    tx.execute(
        "INSERT INTO sources (kind, path, name, registered) VALUES (?1, ?2, ?3, ?4)",
        params![spec.kind.as_str(), path, name, spec.register],
    )?;
    Ok((tx.last_insert_rowid(), name))
}

/// Makes a source belong to every call, before anything is read of it; returns its name.
///
/// A source that is known already keeps its documents: it is renamed when `spec` has a name, and takes over `exclude` when there
/// is one.
///
/// # Errors
/// [`Error::Usage`] when another source has the name, or a pattern cannot be read; the index errors.
pub fn add(store: &Store, spec: &SourceSpec, exclude: Option<&[String]>) -> Result<String> {
    if let Some(patterns) = exclude {
        source::check_patterns(&spec.path, patterns)?;
    }
    store.write(|tx| {
        if let Some(wanted) = &spec.name {
            let other = sources(tx)?.into_iter().find(|row| row.name == *wanted);
            if let Some(other) = other.filter(|row| row.kind != spec.kind || row.path != spec.path) {
                return Err(Error::Usage(format!(
                    "'{}' is called \"{wanted}\" already; choose another name with --name",
                    other.path.display()
                )));
            }
        }
        let registered = SourceSpec { register: true, ..spec.clone() };
        let (id, name) = register(tx, &registered)?;
        let name = spec.name.clone().unwrap_or(name);
        tx.execute("UPDATE sources SET name = ?2 WHERE id = ?1", params![id, name])?;
        if let Some(patterns) = exclude {
            tx.execute("UPDATE sources SET exclude = ?2 WHERE id = ?1", params![id, patterns.join("\n")])?;
        }
        Ok(name)
    })
}

/// Forgets a source and everything that came from it.
///
/// # Errors
/// [`Error::Usage`] when no source has this name; the index errors.
pub fn remove(store: &Store, name: &str) -> Result<()> {
    store.write(|tx| {
        let row = sources(tx)?.into_iter().find(|row| row.name == name).ok_or_else(|| {
            Error::Usage(format!("there is no source named \"{name}\"; `bearsearch source list` names them"))
        })?;
        let ids: Vec<i64> = tx
            .prepare_cached("SELECT id FROM documents WHERE source_id = ?1")?
            .query_map([row.id], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        documents::purge(tx, &ids)?;
        tx.execute("DELETE FROM left_out WHERE source_id = ?1", [row.id])?;
        tx.execute("DELETE FROM sources WHERE id = ?1", [row.id])?;
        Ok(())
    })
}
