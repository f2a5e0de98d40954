//! How notes hang together: their links stored and resolved, the graph walked, and what stands out in it.
//!
//! A link is kept as it was written, and what it leads to beside it. When a note gets or loses a name, the links that may mean
//! it are resolved again in the same transaction: the writers of rows (`documents`) only say what changed, and `Store::write`
//! calls [`settle`] before it commits. Which names a note has: `names`. What a link means: `resolve`. Walks: `walk`. Reports:
//! `report`. How links are written is `source::markup`'s.

mod names;
mod report;
mod resolve;
mod walk;

use std::collections::HashMap;

use rusqlite::{OptionalExtension, Transaction, params};

pub use report::{Broken, Hub, broken, hubs, orphans};
pub use walk::{Direction, Hop, Walk, walk};

use self::names::{Name, NameKind};
use self::resolve::{Candidate, Place, resolve};
use crate::error::Result;
use crate::source::{Document, LinkKind, SourceKind};

/// Stores a document's names and links, replacing what was there; they are resolved before the transaction ends.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn store(tx: &Transaction<'_>, document_id: i64, source_id: i64, document: &Document) -> Result<()> {
    store_names(tx, document_id, &names::of(document, kind_of_source(tx, source_id)?))?;
    let had_links = tx.prepare_cached("DELETE FROM links WHERE document_id = ?1")?.execute([document_id])? > 0;
    if had_links {
        tx.prepare_cached("DELETE FROM edges WHERE from_id = ?1")?.execute([document_id])?;
    }
    if document.links.is_empty() {
        return Ok(());
    }
    let mut insert = tx.prepare_cached(
        "INSERT INTO links (document_id, ordinal, kind, embedded, key, target, heading, text, line)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for (ordinal, link) in document.links.iter().enumerate() {
        insert.execute(params![
            document_id,
            ordinal,
            number_of(link.kind),
            link.embedded,
            names::key_of_link(link.kind, &link.target),
            link.target,
            link.heading,
            link.text,
            link.line
        ])?;
    }
    tx.prepare_cached("INSERT OR IGNORE INTO changed_links (document_id) VALUES (?1)")?.execute([document_id])?;
    Ok(())
}

/// Removes a document's names and links; links to it are resolved anew before the transaction ends.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn forget(tx: &Transaction<'_>, document_id: i64) -> Result<()> {
    store_names(tx, document_id, &[])?;
    for sql in [
        "DELETE FROM links WHERE document_id = ?1",
        "DELETE FROM edges WHERE from_id = ?1",
        "DELETE FROM edges WHERE to_id = ?1",
        "DELETE FROM changed_links WHERE document_id = ?1",
    ] {
        tx.prepare_cached(sql)?.execute([document_id])?;
    }
    Ok(())
}

fn kind_of_source(tx: &Transaction<'_>, source_id: i64) -> Result<SourceKind> {
    let word: Option<String> = tx
        .prepare_cached("SELECT kind FROM sources WHERE id = ?1")?
        .query_row([source_id], |row| row.get(0))
        .optional()?;
    Ok(word.and_then(|word| SourceKind::from_word(&word)).unwrap_or(SourceKind::Markdown))
}

/// Replaces a document's names, and notes the keys of those that came or went.
fn store_names(tx: &Transaction<'_>, document_id: i64, names: &[Name]) -> Result<()> {
    let stored: Vec<Name> = tx
        .prepare_cached("SELECT key, kind, name FROM names WHERE document_id = ?1")?
        .query_map([document_id], |row| {
            Ok(Name { key: row.get(0)?, kind: NameKind::from_number(row.get(1)?), name: row.get(2)? })
        })?
        .collect::<rusqlite::Result<_>>()?;
    for gone in stored.iter().filter(|name| !names.contains(name)) {
        tx.prepare_cached("DELETE FROM names WHERE key = ?1 AND document_id = ?2 AND kind = ?3 AND name = ?4")?
            .execute(params![gone.key, document_id, gone.kind as i64, gone.name])?;
        note_changed_name(tx, &gone.key)?;
    }
    for new in names.iter().filter(|name| !stored.contains(name)) {
        tx.prepare_cached("INSERT OR IGNORE INTO names (key, document_id, kind, name) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![new.key, document_id, new.kind as i64, new.name])?;
        note_changed_name(tx, &new.key)?;
    }
    Ok(())
}

fn note_changed_name(tx: &Transaction<'_>, key: &str) -> Result<()> {
    tx.prepare_cached("INSERT OR IGNORE INTO changed_names (key) VALUES (?1)")?.execute([key])?;
    Ok(())
}

/// Resolves what this transaction changed: the links of documents that were stored, and all links that may mean a name that
/// came or went.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn settle(tx: &Transaction<'_>) -> Result<()> {
    let documents: Vec<i64> = column(tx, "SELECT document_id FROM changed_links")?;
    let keys: Vec<String> = column(tx, "SELECT key FROM changed_names")?;
    if documents.is_empty() && keys.is_empty() {
        return Ok(());
    }
    let mut settling = Settling::new(tx);
    for id in &documents {
        settling.resolve_of_document(*id)?;
    }
    let fresh: std::collections::HashSet<i64> = documents.iter().copied().collect();
    for key in &keys {
        settling.resolve_with_key(key, &fresh)?;
    }
    if !documents.is_empty() {
        tx.prepare_cached("DELETE FROM changed_links")?.execute([])?;
    }
    if !keys.is_empty() {
        tx.prepare_cached("DELETE FROM changed_names")?.execute([])?;
    }
    Ok(())
}

fn column<T: rusqlite::types::FromSql>(tx: &Transaction<'_>, sql: &str) -> Result<Vec<T>> {
    let mut statement = tx.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A link as stored, as far as resolving needs it.
struct Stored {
    document_id: i64,
    ordinal: i64,
    kind: LinkKind,
    key: String,
    target: String,
    heading: String,
}

/// One call of [`settle`], with what it has looked up so far.
struct Settling<'t> {
    tx: &'t Transaction<'t>,
    /// Notes that may be meant, by key.
    candidates: HashMap<String, Vec<Candidate>>,
    /// Where the documents with links are.
    places: HashMap<i64, Place>,
    /// Folded names that an Obsidian address may give a source: its own, and its folder's.
    vaults: Option<Vec<(i64, String)>>,
}

/// Keys whose candidates are kept during one [`settle`]; beyond it they are looked up again.
const MAX_CACHED: usize = 100_000;

const LINK_COLUMNS: &str = "document_id, ordinal, kind, key, target, heading";

impl<'t> Settling<'t> {
    fn new(tx: &'t Transaction<'t>) -> Self {
        Self { tx, candidates: HashMap::new(), places: HashMap::new(), vaults: None }
    }

    /// Resolves all links of one document, which have no edges yet.
    fn resolve_of_document(&mut self, document_id: i64) -> Result<()> {
        let sql = format!("SELECT {LINK_COLUMNS} FROM links WHERE document_id = ?1");
        for link in self.links(&sql, document_id)? {
            self.connect(&link)?;
        }
        Ok(())
    }

    /// Resolves all links that may mean `key` anew, but for those of the documents `done`.
    fn resolve_with_key(&mut self, key: &str, done: &std::collections::HashSet<i64>) -> Result<()> {
        let sql = format!("SELECT {LINK_COLUMNS} FROM links WHERE key = ?1");
        for link in self.links(&sql, key)? {
            if !done.contains(&link.document_id) {
                self.tx
                    .prepare_cached("DELETE FROM edges WHERE from_id = ?1 AND ordinal = ?2")?
                    .execute([link.document_id, link.ordinal])?;
                self.connect(&link)?;
            }
        }
        Ok(())
    }

    fn links(&self, sql: &str, parameter: impl rusqlite::ToSql) -> Result<Vec<Stored>> {
        let mut statement = self.tx.prepare_cached(sql)?;
        let rows = statement.query_map([parameter], |row| {
            Ok(Stored {
                document_id: row.get(0)?,
                ordinal: row.get(1)?,
                kind: kind_of(row.get(2)?),
                key: row.get(3)?,
                target: row.get(4)?,
                heading: row.get(5)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Adds the edges of a link that has none.
    fn connect(&mut self, link: &Stored) -> Result<()> {
        self.load(link)?;
        let Some(candidates) = self.candidates.get(&link.key).filter(|found| !found.is_empty()) else { return Ok(()) };
        let Some(place) = self.places.get(&link.document_id) else { return Ok(()) };
        let vaults = self.vaults.as_deref().unwrap_or_default();
        let mut insert =
            self.tx.prepare_cached("INSERT OR IGNORE INTO edges (from_id, ordinal, to_id) VALUES (?1, ?2, ?3)")?;
        for to_id in resolve(link.kind, &link.target, &link.heading, place, candidates, vaults) {
            insert.execute([link.document_id, link.ordinal, to_id])?;
        }
        Ok(())
    }

    /// Where a document is, `None` when it is gone.
    fn place(&mut self, document_id: i64) -> Result<Option<&Place>> {
        if !self.places.contains_key(&document_id) {
            let place = self
                .tx
                .prepare_cached("SELECT source_id, external_id FROM documents WHERE id = ?1")?
                .query_row([document_id], |row| Ok(Place::new(row.get(0)?, row.get::<_, String>(1)?)))
                .optional()?;
            if self.places.len() >= MAX_CACHED {
                self.places.clear();
            }
            self.places.extend(place.map(|place| (document_id, place)));
        }
        Ok(self.places.get(&document_id))
    }

    /// Looks up what resolving `link` needs, unless it is known.
    fn load(&mut self, link: &Stored) -> Result<()> {
        if !self.candidates.contains_key(&link.key) {
            let mut statement = self.tx.prepare_cached("SELECT document_id, kind, name FROM names WHERE key = ?1")?;
            let rows = statement.query_map([&link.key], |row| {
                Ok((row.get::<_, i64>(0)?, NameKind::from_number(row.get(1)?), row.get::<_, String>(2)?))
            })?;
            let mut found = Vec::new();
            for row in rows {
                let (document_id, kind, name) = row?;
                let source_id = self.place(document_id)?.map(Place::source_id);
                found.extend(source_id.map(|source_id| Candidate::new(document_id, source_id, kind, name)));
            }
            if self.candidates.len() >= MAX_CACHED {
                self.candidates.clear();
            }
            self.candidates.insert(link.key.clone(), found);
        }
        self.place(link.document_id)?;
        if link.kind == LinkKind::Vault && self.vaults.is_none() {
            let mut statement = self.tx.prepare_cached("SELECT id, name, path FROM sources WHERE kind = 'markdown'")?;
            let rows =
                statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?)))?;
            let mut vaults = Vec::new();
            for row in rows {
                let (id, name, path): (i64, String, String) = row?;
                let folder = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
                vaults.push((id, crate::names::fold(&name)));
                vaults.push((id, crate::names::fold(folder)));
            }
            self.vaults = Some(vaults);
        }
        Ok(())
    }
}

/// How a kind of link is stored.
fn number_of(kind: LinkKind) -> i64 {
    match kind {
        LinkKind::Name => 0,
        LinkKind::Title => 1,
        LinkKind::Path => 2,
        LinkKind::Id => 3,
        LinkKind::Vault => 4,
    }
}

/// The kind that is stored as `number`.
fn kind_of(number: i64) -> LinkKind {
    match number {
        1 => LinkKind::Title,
        2 => LinkKind::Path,
        3 => LinkKind::Id,
        4 => LinkKind::Vault,
        _ => LinkKind::Name,
    }
}

/// The word for how a link is written, as people see it.
fn word_of(number: i64, embedded: bool) -> &'static str {
    match (kind_of(number), embedded) {
        (_, true) => "embed",
        (LinkKind::Name | LinkKind::Title, _) => "wiki",
        (LinkKind::Path, _) => "path",
        (LinkKind::Id, _) => "bear",
        (LinkKind::Vault, _) => "obsidian",
    }
}
