//! A damaged index: moved aside, its vectors saved where they can still be read, then removed.
//!
//! Only vectors and the list of sources are saved (`carve` finds them). Everything else follows from the sources and is
//! built again by the next sync. A process may die at any step: what was moved aside stays until its vectors are saved and the new index is
//! complete, and whoever comes next goes on.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, params};

use crate::{
    carve::Carving,
    embeddings,
    error::{Error, Result},
    ffi::checked_vfs,
    folder_lock::FolderLock,
    page_sum, private, schema,
    source::SourceKind,
    store::{self, Store, beside, meta, set_meta},
};

/// Vectors stored in one transaction: a few megabytes.
const BATCH: usize = 2048;
/// How many damaged files are kept beside each other, when the index is damaged again before it was complete.
const MOST_ASIDE: usize = 8;
/// How long damaged files wait for sources that cannot be read.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// What a database file and those beside it end with.
const SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-journal"];
/// Key in `meta`: the vectors of what was moved aside have been saved.
const SALVAGED: &str = "salvaged";

/// Moves the damaged index at `path` aside and makes a new one with the vectors that could be saved; returns their number.
///
/// None is returned, and nothing done, when nothing is wrong with the file that is there by now: another process was faster.
///
/// # Errors
/// [`Error::IndexUnusable`] when the file is not a bearsearch index, unless `ours` says that nobody else can have put it
/// there, or cannot be moved; the errors of the new index.
pub fn replace(path: &Path, ours: bool) -> Result<Option<usize>> {
    let path = store::resolved(path);
    // Makes the file if it is missing, which takes the lock.
    let store = Store::open(&path);
    let lock = FolderLock::take(&path);
    match store.and_then(|store| store.refuse_damaged()) {
        Ok(()) => return Ok(None),
        Err(Error::IndexCorrupt { .. }) => {}
        Err(error) => return Err(error),
    }
    set_aside(&path, ours)?;
    private::create(&path).map_err(|error| Error::io(&path, error))?;
    drop(lock);
    let store = Store::open(&path)?;
    let _lock = FolderLock::take(&path);
    salvage_all(&store).map(Some)
}

/// Goes on where an interrupted [`replace`] stopped: what was moved aside may still hold vectors and the list of sources.
///
/// # Errors
/// The index errors.
pub fn resume(store: &Store) -> Result<()> {
    if all_aside(store.path()).is_empty() {
        return Ok(());
    }
    let _lock = FolderLock::take(store.path());
    salvage_all(store).map(drop)
}

/// Ends a recovery, if there is one and every registered source has been read again, or has not for a week: drops the vectors that no text needs,
/// and removes what was moved aside.
///
/// # Errors
/// The index errors; [`Error::Io`] when a file cannot be removed.
pub fn finish(store: &Store) -> Result<()> {
    if all_aside(store.path()).is_empty() {
        return Ok(());
    }
    let _lock = FolderLock::take(store.path());
    salvage_all(store)?;
    let complete = |conn: &Connection| {
        // Documents that a program hands over come when it likes.
        let waiting = "SELECT EXISTS (SELECT 1 FROM sources WHERE registered AND kind <> ?1
                                                             AND (last_sync_at_ms IS NULL OR error IS NOT NULL))";
        Ok(!conn.query_row(waiting, [SourceKind::Given.as_str()], |row| row.get::<_, bool>(0))?)
    };
    let old = |aside: &PathBuf| {
        let changed = fs::metadata(aside).and_then(|found| found.modified());
        changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > KEPT_FOR))
    };
    if !store.read(complete)? && !all_aside(store.path()).iter().all(old) {
        return Ok(());
    }
    embeddings::prune_all(store)?;
    for aside in all_aside(store.path()) {
        remove(&aside)?;
    }
    store.write(|tx| {
        tx.execute("DELETE FROM meta WHERE key = ?1", [SALVAGED])?;
        Ok(())
    })
}

/// The files that were moved aside for the index at `path` and are still there.
pub fn all_aside(path: &Path) -> Vec<PathBuf> {
    aside_names(path).filter(|aside| fs::symlink_metadata(aside).is_ok()).collect()
}

fn aside_names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let names =
        (1..=MOST_ASIDE).map(|number| if number == 1 { ".damaged".into() } else { format!(".damaged-{number}") });
    names.map(|suffix| beside(path, &suffix))
}

/// Moves the index file at `path` and what belongs to it to `PATH.damaged`, readable by their owner only.
///
/// The file goes first: a database without its WAL is no longer there to be opened by then, and an empty one ignores what
/// lies beside it.
///
/// # Errors
/// [`Error::IndexUnusable`] when the file is not ours or cannot be moved.
fn set_aside(path: &Path, ours: bool) -> Result<PathBuf> {
    let unusable = |reason: String| Error::IndexUnusable { path: path.to_owned(), reason };
    if !ours && !is_ours(path) {
        return Err(unusable("it is not a bearsearch index, so it was left as it is".to_owned()));
    }
    let aside = aside_names(path)
        .find(|aside| fs::symlink_metadata(aside).is_err())
        .ok_or_else(|| unusable(format!("it is damaged, and {MOST_ASIDE} damaged ones lie beside it already")))?;
    for suffix in SUFFIXES {
        let (from, to) = (beside(path, suffix), beside(&aside, suffix));
        match fs::rename(&from, &to) {
            Ok(()) => private::restrict(&to),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !suffix.is_empty() => {}
            Err(error) => return Err(unusable(format!("it is damaged and cannot be moved aside ({error})"))),
        }
    }
    let _ = fs::remove_file(store::suspicion(path));
    Ok(aside)
}

/// Saves what can be saved of everything that was moved aside, once.
fn salvage_all(store: &Store) -> Result<usize> {
    if store.read(|conn| meta::<bool>(conn, SALVAGED))?.unwrap_or(false) {
        return Ok(0);
    }
    let mut saved = 0;
    for aside in all_aside(store.path()) {
        saved += salvage(&aside, store)?;
    }
    store.write(|tx| set_meta(tx, SALVAGED, true))?;
    Ok(saved)
}

/// Copies into `store` the list of sources and all vectors that can be read from the damaged index at `aside`; returns the
/// number of vectors.
///
/// They belong to texts that no chunk may hold yet: the sync that follows finds them by their hash, and
/// [`embeddings::prune_all`] removes the rest.
///
/// # Errors
/// The errors of `store`; a damaged place of the old index only makes the count smaller.
pub fn salvage(aside: &Path, store: &Store) -> Result<usize> {
    work_off_wal(aside);
    // Closing this ends the locks that this process may hold on the file; whoever writes there has lost it already.
    let Ok(mut carving) = File::open(aside).and_then(Carving::new) else { return Ok(0) };
    store.write(|tx| {
        let mut insert =
            tx.prepare("INSERT OR IGNORE INTO sources (kind, path, name, registered) VALUES (?1, ?2, ?3, ?4)")?;
        carving.sources().iter().try_for_each(|source| {
            insert.execute(params![source.kind, source.path, source.name, source.registered])?;
            Ok(())
        })
    })?;
    let models = carving.models();
    let live = store.read(embeddings::live_model)?;
    if live.is_some_and(|live| models.iter().all(|(_, model)| model.fingerprint != live.fingerprint)) {
        // Embedded anew with another model since: these vectors would only wait beside it.
        return Ok(0);
    }
    let mut saved = 0;
    for (old, model) in models {
        let new = embeddings::use_model(store, &model.name, &model.fingerprint, model.dim)?;
        let mut batch: Vec<([u8; 16], Vec<u8>)> = Vec::new();
        carving.vectors(old, |hash, vector| {
            batch.push((hash, vector.to_vec()));
            if batch.len() < BATCH {
                return Ok(());
            }
            saved += batch.len();
            keep(store, new.id, &mut batch)
        })?;
        saved += batch.len();
        keep(store, new.id, &mut batch)?;
    }
    Ok(saved)
}

fn keep(store: &Store, model_id: i64, batch: &mut Vec<([u8; 16], Vec<u8>)>) -> Result<()> {
    let table = schema::embeddings_table(model_id);
    store.write(|tx| {
        for (hash, vector) in batch.drain(..) {
            let text_id = embeddings::text_id(tx, &hash)?;
            tx.prepare_cached("DELETE FROM pending WHERE model_id = ?1 AND text_id = ?2")?
                .execute([model_id, text_id])?;
            tx.prepare_cached("DELETE FROM embedding_failures WHERE model_id = ?1 AND text_id = ?2")?
                .execute([model_id, text_id])?;
            tx.prepare_cached(&format!("INSERT OR REPLACE INTO {table} (id, embedding) VALUES (?1, ?2)"))?
                .execute(params![text_id, vector])?;
        }
        Ok(())
    })
}

/// Brings what the WAL holds into the file. A WAL that cannot be read holds less than what was worked off before it.
fn work_off_wal(aside: &Path) {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let Ok(layer) = checked_vfs::register() else { return };
    if let Ok(conn) = Connection::open_with_flags_and_vfs(aside, flags, layer) {
        let _ = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}

fn remove(aside: &Path) -> Result<()> {
    // The file goes last: while it is there, the others are known to belong to it.
    for suffix in SUFFIXES.iter().rev() {
        let path = beside(aside, suffix);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(path, error)),
            _ => {}
        }
    }
    Ok(())
}

/// Whether the file is an index of ours, as far as can be told: by its id, or because it ends before there was one.
fn is_ours(path: &Path) -> bool {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut header = Vec::new();
    let read = File::open(path).and_then(|file| file.take(page_sum::HEADER_BYTES as u64).read_to_end(&mut header));
    read.is_ok()
        && (page_sum::is_ours(&header)
            || (header.len() < page_sum::HEADER_BYTES
                && !header.is_empty()
                && header.starts_with(&MAGIC[..header.len().min(16)])))
}
