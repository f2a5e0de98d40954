//! From sources to the index: what changed, what vanished, and in which order it is written.
//!
//! Text only: embeddings are added later by whoever has a model (`embeddings`). Sources are never written. A document's rows are
//! `documents`' work, the sources' own rows `registry`'s, what differs is found in `difference`.

mod difference;

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::mpsc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Transaction, params};

use self::difference::{Difference, Stored};
use crate::{
    chunk::ChunkPolicy,
    documents::{self, CHUNK_POLICY, Prepared},
    error::{Error, Result},
    left_out::{self, LeftOut},
    registry::{self, SourceRow, SourceSpec},
    source::{self, Entry, Listing, Skipped, Source, SourceKind, SourceOptions},
    store::{Store, meta, set_meta},
};

/// Documents read from a source at once.
const READ_BATCH: usize = 64;
/// Text that one transaction takes before it is committed: bounds memory and how long other writers wait.
const COMMIT_BYTES: usize = 8 << 20;
/// The same for a sync that has a budget, so that it can stop in time.
const COMMIT_BYTES_IN_A_HURRY: usize = 1 << 20;
/// When at least this many documents vanish at once, and they are more than half, they are hidden and not purged.
const MASS_LOSS: usize = 20;
/// How long hidden documents wait for their return.
const HIDDEN_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How to sync.
#[derive(Debug, Clone, Default)]
pub struct SyncOptions {
    /// Compare and count, write nothing.
    pub dry_run: bool,
    /// Store every document anew; vectors stay, because they belong to texts.
    pub rebuild: bool,
    /// Purge at once what vanished with most others.
    pub accept_loss: bool,
    /// Stop reading when this time is over; what is left is counted in [`SourceReport::remaining`].
    pub budget: Option<Duration>,
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
    /// Documents that vanished with most others and wait to be purged.
    pub hidden: usize,
    /// Documents that differ and were not read, because the budget was over.
    pub remaining: usize,
    /// What could not be read.
    pub skipped: Vec<Skipped>,
    /// Sentences for a person.
    pub warnings: Vec<String>,
    /// Why the source could not be read; nothing of it changed then.
    pub error: Option<String>,
}

/// Called with the documents done and their total; an error ends the sync between two transactions.
pub type Progress<'a> = &'a mut (dyn FnMut(usize, usize) -> Result<()> + Send);

/// Brings the index up to date with one source and says what it did.
///
/// A source that cannot be read is not an error of the sync: it is reported, and its rows stay as they were.
///
/// # Errors
/// The index errors, and whatever `progress` returns.
pub fn sync(store: &Store, spec: &SourceSpec, options: &SyncOptions, progress: Progress<'_>) -> Result<SourceReport> {
    sync_with(store, spec, |wanted| source::open(spec.kind, &spec.path, wanted), options, progress)
}

/// As [`sync`], from a source that `open` opens with the options it is given; `spec` is what the index knows it by.
///
/// # Errors
/// As for [`sync`].
pub fn sync_with(
    store: &Store,
    spec: &SourceSpec,
    open: impl FnOnce(SourceOptions) -> Result<Box<dyn Source>>,
    options: &SyncOptions,
    progress: Progress<'_>,
) -> Result<SourceReport> {
    let deadline = options.budget.map(|budget| Instant::now() + budget);
    if options.budget.is_none() && !options.dry_run {
        store.refuse_damaged()?;
    }
    let known = store.read(|conn| registry::find(conn, spec))?;
    let mut report = new_report(spec, known.as_ref());
    let (policy, policy_word, policy_differs) = chunk_policy(store, options)?;
    let settled = known.as_ref().filter(|row| row.error.is_none() && (row.registered || !spec.register));

    // Taken before the source is read: what is written during the reading changes it.
    let gate = source::gate(spec.kind, &spec.path);
    // The source's own patterns come last, so that they may take back what a general one leaves out.
    let own = known.as_ref().map(|row| row.exclude.as_slice()).unwrap_or_default();
    let exclude_globs = options.source.exclude_globs.iter().chain(own).cloned().collect();
    let source_options = SourceOptions { exclude_globs, ..options.source.clone() };
    let wishes = wishes(&source_options);
    let same_wishes = known.as_ref().is_some_and(|row| row.wishes.as_ref() == Some(&wishes));
    let whole = !same_wishes || options.rebuild || options.dry_run || options.accept_loss || policy_differs;
    if let (false, Some(row), Some(gate)) = (whole, settled, &gate)
        && row.gate.as_deref() == Some(gate.to_bytes().as_slice())
    {
        return Ok(report);
    }
    // Side by side: one reads the source, the other the index.
    let (listed, stored) = std::thread::scope(|scope| {
        let compared = known.as_ref().filter(|_| !options.rebuild);
        let stored = scope.spawn(move || compared.map(|row| store.read(|conn| Stored::load(conn, row.id))).transpose());
        let listed = open(source_options).and_then(list);
        (listed, stored.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let (mut source, listing) = match listed {
        Ok(listed) => listed,
        Err(error) => return failed(store, known.as_ref(), report, &error, options),
    };
    let difference = Difference::between(&listing, &stored?.unwrap_or_default());
    report.skipped = listing.skipped;
    report.warnings = listing.warnings;
    report.changed = difference.changed;
    report.added = difference.wanted.len() - difference.changed;
    report.removed = difference.gone.len();
    if options.dry_run {
        report.documents = listing.entries.len();
        return Ok(report);
    }
    let gate = gate.filter(|gate| gate.may_be_kept(SystemTime::now())).map(|gate| gate.to_bytes());
    if !whole && difference.is_empty() && settled.is_some_and(|row| gate.is_none() || row.gate == gate) {
        report.skipped.extend(store.read(|conn| left_out::unreadable(conn, settled.map_or(0, |row| row.id)))?);
        return Ok(report);
    }
    // What is gone because its owner wants it left out must be gone at once, however much it is.
    let loss = same_wishes && !options.accept_loss && is_mass_loss(&difference, listing.entries.len());
    let source_id = store.write(|tx| {
        let (source_id, name) = registry::register(tx, spec)?;
        report.name = name;
        if options.rebuild {
            documents::clear_source(tx, source_id)?;
        }
        if policy_differs {
            set_meta(tx, CHUNK_POLICY, &policy_word)?;
            documents::rechunk_all(tx, &policy)?;
        }
        tx.execute("UPDATE sources SET wishes = ?2 WHERE id = ?1", params![source_id, wishes])?;
        documents::set_hidden(tx, &difference.back, None)?;
        if loss {
            documents::set_hidden(tx, &difference.gone, Some(now_ms()))?;
        } else {
            documents::purge(tx, &difference.gone)?;
        }
        purge_hidden(tx, source_id, options.accept_loss)?;
        left_out::forget(tx, source_id, listing.entries.iter().map(|entry| entry.id.as_str()))?;
        if difference.wanted.is_empty() {
            finish(tx, source_id, gate.as_deref(), true)?;
        }
        Ok(source_id)
    })?;
    if !difference.wanted.is_empty() {
        let job = Job { source_id, wanted: &difference.wanted, policy: &policy, deadline, gate: gate.as_deref() };
        match write_documents(store, source.as_mut(), &job, progress) {
            Ok(written) => {
                report.added = report.added.saturating_sub(written.left_out);
                report.remaining = written.remaining;
            }
            Err(Stopped::Index(error)) => return Err(error),
            // What was committed before stays; the rest is read next time.
            Err(Stopped::Source(error)) => {
                let known = store.read(|conn| registry::find(conn, spec))?;
                return failed(store, known.as_ref(), report, &error, options);
            }
        }
    }
    store.read(|conn| {
        let Some(row) = registry::find(conn, spec)? else { return Ok(()) };
        (report.documents, report.locked, report.hidden) = (row.documents, row.locked, row.hidden);
        report.skipped.extend(left_out::unreadable(conn, row.id)?);
        Ok(())
    })?;
    Ok(report)
}

/// Hash of what the caller wants left out.
fn wishes(options: &SourceOptions) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[u8::from(options.index_locked_titles)]);
    for list in [&options.exclude_tags, &options.exclude_globs] {
        hasher.update(list.join("\n").as_bytes()).update(b"\0");
    }
    hasher.finalize().as_bytes().to_vec()
}

fn new_report(spec: &SourceSpec, known: Option<&SourceRow>) -> SourceReport {
    SourceReport {
        name: known.map_or_else(|| registry::proposed_name(spec), |row| row.name.clone()),
        kind: spec.kind,
        path: spec.path.clone(),
        documents: known.map_or(0, |row| row.documents),
        added: 0,
        changed: 0,
        removed: 0,
        locked: known.map_or(0, |row| row.locked),
        hidden: known.map_or(0, |row| row.hidden),
        remaining: 0,
        skipped: Vec::new(),
        warnings: Vec::new(),
        error: None,
    }
}

fn list(mut source: Box<dyn Source>) -> Result<(Box<dyn Source>, Listing)> {
    let listing = source.list()?;
    Ok((source, listing))
}

/// The report of a source that could not be read; its row remembers why.
fn failed(
    store: &Store,
    known: Option<&SourceRow>,
    mut report: SourceReport,
    error: &Error,
    options: &SyncOptions,
) -> Result<SourceReport> {
    report.error = Some(error.to_string());
    if let Some(row) = known.filter(|row| row.error != report.error && !options.dry_run) {
        store.write(|tx| {
            tx.execute("UPDATE sources SET error = ?2 WHERE id = ?1", params![row.id, report.error])?;
            Ok(())
        })?;
    }
    Ok(report)
}

/// Whether so much vanished that a mishap is more likely than a wish: a library that was moved, a disk that is not there.
fn is_mass_loss(difference: &Difference, listed: usize) -> bool {
    let gone = difference.gone.len();
    gone >= MASS_LOSS && gone > (listed - difference.wanted.len() + difference.changed + gone) / 2
}

/// Purges what has been hidden for long enough, or all of it.
fn purge_hidden(tx: &Transaction<'_>, source_id: i64, all: bool) -> Result<()> {
    let waited = i64::try_from(HIDDEN_FOR.as_millis()).unwrap_or(i64::MAX);
    let before = if all { i64::MAX } else { now_ms().saturating_sub(waited) };
    let ids: Vec<i64> = tx
        .prepare_cached("SELECT id FROM documents WHERE source_id = ?1 AND hidden_at_ms < ?2")?
        .query_map([source_id, before], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    documents::purge(tx, &ids)
}

/// What `write_documents` is to do.
struct Job<'a> {
    source_id: i64,
    wanted: &'a [Entry],
    policy: &'a ChunkPolicy,
    deadline: Option<Instant>,
    gate: Option<&'a [u8]>,
}

/// What `write_documents` did.
struct Written {
    /// Wanted documents that have no place in the index or cannot be read.
    left_out: usize,
    /// Wanted documents that were not read in time.
    remaining: usize,
}

/// Why `write_documents` could not go on.
enum Stopped {
    Index(Error),
    Source(Error),
}

/// Reads, chunks and hashes on one thread while another writes; each transaction takes a few megabytes of text.
fn write_documents(
    store: &Store,
    source: &mut dyn Source,
    job: &Job<'_>,
    progress: Progress<'_>,
) -> std::result::Result<Written, Stopped> {
    let (sender, receiver) = mpsc::sync_channel::<Result<(Vec<Prepared>, Vec<LeftOut>)>>(2);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for entries in job.wanted.chunks(READ_BATCH) {
                let batch = read_batch(source, entries, job.policy);
                let failed = batch.is_err();
                if sender.send(batch).is_err() || failed {
                    break;
                }
            }
        });
        let total = job.wanted.len();
        let commit_bytes = if job.deadline.is_some() { COMMIT_BYTES_IN_A_HURRY } else { COMMIT_BYTES };
        let (mut done, mut bytes) = (0, 0);
        let mut written = Written { left_out: 0, remaining: 0 };
        let (mut prepared, mut left_out) = (Vec::new(), Vec::new());
        progress(0, total).map_err(Stopped::Index)?;
        for batch in receiver {
            let (read, left) = batch.map_err(Stopped::Source)?;
            done = (done + READ_BATCH).min(total);
            bytes += read.iter().map(|prepared| prepared.document.text.len()).sum::<usize>();
            written.left_out += left.len();
            prepared.extend(read);
            left_out.extend(left);
            let late = job.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if bytes >= commit_bytes || late {
                let batch = |tx: &Transaction<'_>| write_batch(tx, job.source_id, &mut prepared, &mut left_out);
                store.write(batch).map_err(Stopped::Index)?;
                bytes = 0;
                progress(done, total).map_err(Stopped::Index)?;
            }
            if late {
                written.remaining = total - done;
                break;
            }
        }
        let last = |tx: &Transaction<'_>| {
            write_batch(tx, job.source_id, &mut prepared, &mut left_out)?;
            finish(tx, job.source_id, job.gate, written.remaining == 0)
        };
        store.write(last).map_err(Stopped::Index)?;
        progress(total - written.remaining, total).map_err(Stopped::Index)?;
        Ok(written)
    })
}

fn write_batch(
    tx: &Transaction<'_>,
    source_id: i64,
    prepared: &mut Vec<Prepared>,
    left_out: &mut Vec<LeftOut>,
) -> Result<()> {
    prepared.drain(..).try_for_each(|document| documents::store(tx, source_id, document))?;
    left_out.drain(..).try_for_each(|left| left_out::leave_out(tx, source_id, &left))
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

/// The policy to use, the word under which `meta` knows it, and whether what is stored was cut by another one.
///
/// Cutting everything anew takes its time, so a sync in a hurry leaves it to one that is not.
fn chunk_policy(store: &Store, options: &SyncOptions) -> Result<(ChunkPolicy, String, bool)> {
    let stored: Option<String> = store.read(|conn| meta(conn, CHUNK_POLICY))?;
    let wished = options.max_tokens.filter(|_| options.budget.is_none() || stored.is_none());
    let (policy, word) = documents::policy_from_word(stored.as_deref(), wished);
    let differs = stored.as_ref() != Some(&word);
    Ok((policy, word, differs))
}

/// Notes that a source was read, and what it looked like if that was to its end.
fn finish(tx: &Transaction<'_>, source_id: i64, gate: Option<&[u8]>, complete: bool) -> Result<()> {
    let read_at_ms = complete.then(now_ms);
    tx.execute(
        "UPDATE sources SET error = NULL, gate = ?2, last_sync_at_ms = coalesce(?3, last_sync_at_ms) WHERE id = ?1",
        params![source_id, gate.filter(|_| complete), read_at_ms],
    )?;
    read_at_ms.map_or(Ok(()), |at_ms| set_meta(tx, "last_full_index_at_ms", at_ms))
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| i64::try_from(elapsed.as_millis()).unwrap_or(0))
}
