//! From sources to the index: what changed, what vanished, and the rows that follow from a document.
//!
//! Text only: embeddings are added later by whoever has a model (`embeddings`). Sources are never written.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::mpsc,
    time::{SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::{
    chunk::ChunkPolicy,
    documents::{self, CHUNK_POLICY, Prepared, id_hash},
    error::{Error, Result},
    source::{self, Entry, Skipped, Source, SourceKind, SourceOptions},
    store::{Store, meta, set_meta},
};

/// Documents read from a source at once.
const READ_BATCH: usize = 64;
/// Text that one transaction takes before it is committed: bounds memory and how long other writers wait.
const COMMIT_BYTES: usize = 8 << 20;

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

/// How to sync.
#[derive(Debug, Clone, Default)]
pub struct SyncOptions {
    /// Compare and count, write nothing.
    pub dry_run: bool,
    /// Store every document anew; vectors stay, because they belong to texts.
    pub rebuild: bool,
    /// What the embedding model takes of one text; None leaves the index's chunks as they are.
    pub max_tokens: Option<usize>,
    /// Passed on to the sources.
    pub source: SourceOptions,
}

/// What a sync did with one source.
#[derive(Debug, Clone)]
pub struct SourceReport {
    /// Name of the source.
    pub name: String,
    /// Kind of the source.
    pub kind: SourceKind,
    /// Path of the source.
    pub path: PathBuf,
    /// Documents of this source in the index afterwards.
    pub documents: usize,
    /// Documents that were new.
    pub added: usize,
    /// Documents of which something differed.
    pub changed: usize,
    /// Documents that the source no longer lists.
    pub removed: usize,
    /// Documents held by title only.
    pub locked: usize,
    /// What could not be read.
    pub skipped: Vec<Skipped>,
    /// Sentences for a person.
    pub warnings: Vec<String>,
    /// Why the source could not be read; nothing of it changed then.
    pub error: Option<String>,
}

/// Called with the documents done and their total; an error ends the sync between two transactions.
pub type Progress<'a> = &'a mut (dyn FnMut(usize, usize) -> Result<()> + Send);

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
}

/// All sources that the index has rows of.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn sources(conn: &Connection) -> Result<Vec<SourceRow>> {
    let mut statement = conn
        .prepare_cached("SELECT id, kind, path, name, registered, last_sync_at_ms, error FROM sources ORDER BY id")?;
    let rows = statement.query_map([], |row| {
        Ok(SourceRow {
            id: row.get(0)?,
            kind: SourceKind::from_word(&row.get::<_, String>(1)?).unwrap_or(SourceKind::Markdown),
            path: PathBuf::from(row.get::<_, String>(2)?),
            name: row.get(3)?,
            registered: row.get(4)?,
            last_sync_at_ms: row.get(5)?,
            error: row.get(6)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Brings the index up to date with one source and says what it did.
///
/// A source that cannot be read is not an error of the sync: it is reported, and its rows stay as they were.
///
/// # Errors
/// The index errors, and whatever `progress` returns.
pub fn sync(store: &Store, spec: &SourceSpec, options: &SyncOptions, progress: Progress<'_>) -> Result<SourceReport> {
    let opened = source::open(spec.kind, &spec.path, options.source.clone());
    sync_with(store, spec, opened, options, progress)
}

/// As [`sync`], from a source that is open already, or could not be opened; `spec` is what the index knows it by.
///
/// # Errors
/// As for [`sync`].
pub fn sync_with(
    store: &Store,
    spec: &SourceSpec,
    opened: Result<Box<dyn Source>>,
    options: &SyncOptions,
    progress: Progress<'_>,
) -> Result<SourceReport> {
    let known = store.read(|conn| find_source(conn, spec))?;
    let mut report = SourceReport {
        name: known.as_ref().map_or_else(|| proposed_name(spec), |row| row.name.clone()),
        kind: spec.kind,
        path: spec.path.clone(),
        documents: 0,
        added: 0,
        changed: 0,
        removed: 0,
        locked: 0,
        skipped: Vec::new(),
        warnings: Vec::new(),
        error: None,
    };
    let listed = opened.and_then(|mut source| source.list().map(|listing| (source, listing)));
    let (mut source, listing) = match listed {
        Ok(listed) => listed,
        Err(error) => {
            report.error = Some(error.to_string());
            if let Some(row) = &known {
                let stored = store.read(|conn| count_documents(conn, row.id))?;
                (report.documents, report.locked) = stored;
                if row.error != report.error && !options.dry_run {
                    store.write(|tx| mark_source(tx, row.id, row.last_sync_at_ms, report.error.as_deref()))?;
                }
            }
            return Ok(report);
        }
    };
    report.skipped = listing.skipped;
    report.warnings = listing.warnings;

    let (mut stored, left_out) = match (&known, options.rebuild) {
        (Some(row), false) => store.read(|conn| Ok((stored_marks(conn, row.id)?, left_out_marks(conn, row.id)?)))?,
        _ => Default::default(),
    };
    let listed: HashSet<&str> = listing.entries.iter().map(|entry| entry.id.as_str()).collect();
    let mut wanted = Vec::new();
    for entry in &listing.entries {
        let known_mark = |mark: &[u8]| *mark == *entry.mark.0;
        let unchanged = stored.get(&entry.id).is_some_and(|(_, mark)| known_mark(mark))
            || (!left_out.is_empty() && left_out.get(&id_hash(&entry.id)).is_some_and(|mark| known_mark(mark)));
        if !unchanged {
            wanted.push(entry.clone());
        }
    }
    report.changed = wanted.iter().filter(|entry| stored.contains_key(&entry.id)).count();
    report.added = wanted.len() - report.changed;
    stored.retain(|id, _| !listed.contains(id.as_str()));
    report.removed = stored.len();

    let (policy, policy_word) = chunk_policy(store, options)?;
    let policy_differs = store.read(|conn| Ok(meta::<String>(conn, CHUNK_POLICY)?.as_ref() != Some(&policy_word)))?;
    let settled = known.as_ref().filter(|row| row.error.is_none() && (row.registered || !spec.register));
    let differs = !wanted.is_empty() || !stored.is_empty() || policy_differs || options.rebuild || settled.is_none();
    if options.dry_run {
        report.documents = listing.entries.len() - left_out.len().min(listing.entries.len());
        return Ok(report);
    }
    if differs {
        let source_id = store.write(|tx| {
            let source_id = register(tx, spec, &mut report)?;
            if options.rebuild {
                documents::clear_source(tx, source_id)?;
            }
            if policy_differs {
                set_meta(tx, CHUNK_POLICY, &policy_word)?;
                documents::rechunk_all(tx, &policy)?;
            }
            let gone: Vec<i64> = stored.values().map(|(id, _)| *id).collect();
            documents::purge(tx, &gone)?;
            forget_left_out(tx, source_id, &listed)?;
            if wanted.is_empty() {
                finish(tx, source_id)?;
            }
            Ok(source_id)
        })?;
        if !wanted.is_empty() {
            let missed = write_documents(store, source_id, source.as_mut(), &wanted, &policy, progress)?;
            report.added = report.added.saturating_sub(missed);
        }
    }
    store.read(|conn| {
        let Some(row) = find_source(conn, spec)? else { return Ok(()) };
        (report.documents, report.locked) = count_documents(conn, row.id)?;
        report.skipped.extend(unreadable(conn, row.id)?);
        Ok(())
    })?;
    Ok(report)
}

/// Reads, chunks and hashes on one thread while another writes; each transaction takes about eight megabytes of text.
///
/// Returns how many of the wanted documents have no place in the index or cannot be read.
fn write_documents(
    store: &Store,
    source_id: i64,
    source: &mut dyn Source,
    wanted: &[Entry],
    policy: &ChunkPolicy,
    progress: Progress<'_>,
) -> Result<usize> {
    let (sender, receiver) = mpsc::sync_channel::<Result<(Vec<Prepared>, Vec<LeftOut>)>>(2);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for entries in wanted.chunks(READ_BATCH) {
                let batch = read_batch(source, entries, policy);
                let failed = batch.is_err();
                if sender.send(batch).is_err() || failed {
                    break;
                }
            }
        });
        let (mut done, mut missed, mut bytes) = (0, 0, 0);
        let mut prepared = Vec::new();
        let mut left_out = Vec::new();
        let write = |prepared: &mut Vec<Prepared>, left_out: &mut Vec<LeftOut>, last: bool| {
            store.write(|tx| {
                for document in prepared.drain(..) {
                    documents::store(tx, source_id, document)?;
                }
                for left in left_out.drain(..) {
                    leave_out(tx, source_id, &left)?;
                }
                if last { finish(tx, source_id) } else { Ok(()) }
            })
        };
        progress(0, wanted.len())?;
        for batch in receiver {
            let (read, left) = batch?;
            done = (done + READ_BATCH).min(wanted.len());
            bytes += read.iter().map(|prepared| prepared.document.text.len()).sum::<usize>();
            missed += left.len();
            prepared.extend(read);
            left_out.extend(left);
            if bytes >= COMMIT_BYTES {
                write(&mut prepared, &mut left_out, false)?;
                bytes = 0;
                progress(done, wanted.len())?;
            }
        }
        write(&mut prepared, &mut left_out, true)?;
        progress(wanted.len(), wanted.len())?;
        Ok(missed)
    })
}

/// A listed document that does not become one of the index; a reason means that it could not be read.
struct LeftOut {
    entry: Entry,
    reason: Option<String>,
}

fn read_batch(
    source: &mut dyn Source,
    entries: &[Entry],
    policy: &ChunkPolicy,
) -> Result<(Vec<Prepared>, Vec<LeftOut>)> {
    let ids: Vec<String> = entries.iter().map(|entry| entry.id.clone()).collect();
    let batch = source.read(&ids)?;
    let read: HashSet<&str> = batch.documents.iter().map(|document| document.id.as_str()).collect();
    let reasons: HashMap<&str, &str> = batch.skipped.iter().map(|s| (s.id.as_str(), s.reason.as_str())).collect();
    let left_out = entries
        .iter()
        .filter(|entry| !read.contains(entry.id.as_str()))
        .map(|entry| LeftOut {
            entry: entry.clone(),
            reason: reasons.get(entry.id.as_str()).map(|reason| (*reason).to_owned()),
        })
        .collect();
    let prepared = batch.documents.into_iter().map(|document| Prepared::new(document, policy)).collect();
    Ok((prepared, left_out))
}

fn left_out_marks(conn: &Connection, source_id: i64) -> Result<HashMap<[u8; 32], Box<[u8]>>> {
    let mut statement = conn.prepare_cached("SELECT id_hash, mark FROM left_out WHERE source_id = ?1")?;
    let rows =
        statement.query_map([source_id], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?.into_boxed_slice())))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn unreadable(conn: &Connection, source_id: i64) -> Result<Vec<Skipped>> {
    let mut statement = conn.prepare_cached(
        "SELECT external_id, reason FROM left_out WHERE source_id = ?1 AND reason IS NOT NULL ORDER BY external_id",
    )?;
    let rows = statement.query_map([source_id], |row| Ok(Skipped { id: row.get(0)?, reason: row.get(1)? }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Remembers a listed document that has no place in the index, and removes what the index held of it.
fn leave_out(tx: &Transaction<'_>, source_id: i64, left: &LeftOut) -> Result<()> {
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
fn forget_left_out(tx: &Transaction<'_>, source_id: i64, listed: &HashSet<&str>) -> Result<()> {
    let hashes: HashSet<[u8; 32]> = listed.iter().map(|id| id_hash(id)).collect();
    for hash in left_out_marks(tx, source_id)?.into_keys().filter(|hash| !hashes.contains(hash)) {
        tx.execute("DELETE FROM left_out WHERE source_id = ?1 AND id_hash = ?2", params![source_id, hash])?;
    }
    Ok(())
}

/// The policy to use and the word under which `meta` knows it.
fn chunk_policy(store: &Store, options: &SyncOptions) -> Result<(ChunkPolicy, String)> {
    let stored: Option<String> = store.read(|conn| meta(conn, CHUNK_POLICY))?;
    Ok(documents::policy_from_word(stored.as_deref(), options.max_tokens))
}

fn find_source(conn: &Connection, spec: &SourceSpec) -> Result<Option<SourceRow>> {
    Ok(sources(conn)?.into_iter().find(|row| row.kind == spec.kind && row.path == spec.path))
}

fn proposed_name(spec: &SourceSpec) -> String {
    let from_path = || match spec.kind {
        SourceKind::Bear => "bear".to_owned(),
        SourceKind::Markdown | SourceKind::Given => {
            spec.path.file_name().map_or_else(|| "notes".to_owned(), |name| name.to_string_lossy().into_owned())
        }
    };
    spec.name.clone().unwrap_or_else(from_path)
}

fn register(tx: &Transaction<'_>, spec: &SourceSpec, report: &mut SourceReport) -> Result<i64> {
    let path = spec.path.to_string_lossy();
    if let Some(row) = find_source(tx, spec)? {
        tx.execute("UPDATE sources SET registered = registered OR ?2 WHERE id = ?1", params![row.id, spec.register])?;
        report.name = row.name;
        return Ok(row.id);
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
    report.name = name;
    Ok(tx.last_insert_rowid())
}

fn mark_source(tx: &Transaction<'_>, id: i64, last_sync_at_ms: Option<i64>, error: Option<&str>) -> Result<()> {
    tx.execute(
        "UPDATE sources SET last_sync_at_ms = ?2, error = ?3 WHERE id = ?1",
        params![id, last_sync_at_ms, error],
    )?;
    Ok(())
}

/// The last write of a sync: the time of it, and the counts that every answer quotes.
fn finish(tx: &Transaction<'_>, source_id: i64) -> Result<()> {
    mark_source(tx, source_id, Some(now_ms()), None)?;
    let count = |sql: &str| tx.query_row(sql, [], |row| row.get::<_, i64>(0));
    set_meta(tx, "documents", count("SELECT count(*) FROM documents")?)?;
    set_meta(tx, "chunks", count("SELECT count(*) FROM chunks")?)?;
    set_meta(tx, "last_full_index_at_ms", now_ms())
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| i64::try_from(elapsed.as_millis()).unwrap_or(0))
}

fn count_documents(conn: &Connection, source_id: i64) -> Result<(usize, usize)> {
    let mut statement =
        conn.prepare_cached("SELECT count(*), coalesce(sum(locked), 0) FROM documents WHERE source_id = ?1")?;
    Ok(statement.query_row([source_id], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

type Marks = HashMap<String, (i64, Box<[u8]>)>;

fn stored_marks(conn: &Connection, source_id: i64) -> Result<Marks> {
    let mut statement = conn.prepare_cached("SELECT external_id, id, mark FROM documents WHERE source_id = ?1")?;
    let rows = statement.query_map([source_id], |row| {
        Ok((row.get(0)?, (row.get(1)?, row.get_ref(2)?.as_blob()?.to_vec().into_boxed_slice())))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Forgets a source and everything that came from it.
///
/// # Errors
/// [`Error::Usage`] when no source has this name; the index errors.
pub fn remove_source(store: &Store, name: &str) -> Result<()> {
    store.write(|tx| {
        let row = sources(tx)?.into_iter().find(|row| row.name == name).ok_or_else(|| {
            Error::Usage(format!("there is no source named \"{name}\"; `bearsearch status` lists them"))
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
