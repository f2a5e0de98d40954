//! The index file: the pool of reading connections, and every write transaction.
//!
//! One writing connection behind a lock, any number of reading ones; SQLite's WAL mode lets them work side by side. How the
//! file is opened is `opening`'s work, what SQLite's errors mean `trouble`'s. What is written is decided in `sync` and
//! `embeddings`; the layout is `schema`'s; a damaged file is `recover`'s.

mod opening;
mod trouble;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, types::FromSql};

pub use self::opening::Access;
pub(crate) use self::opening::beside;
use self::{
    opening::{Identity, Link, Opened, retry},
    trouble::{Doing, classify},
};
use crate::{
    error::{Error, Result},
    ffi::{self, VectorCache},
    lexicon::Lexicon,
    links,
};

/// How long a writer waits for another process before it gives up, unless the caller says otherwise.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the WAL's readers are waited for when removed text must leave it.
const ERASING_PATIENCE: Duration = Duration::from_millis(200);
/// After a transaction that took longer than this, a process that writes on at once lets others in first.
const LONG_WRITE: Duration = Duration::from_millis(20);
/// For this long; several times what a waiting writer rests between two looks.
const COURTESY: Duration = Duration::from_millis(4);

/// Key in `meta`: text was removed, and the WAL or the file may still hold it.
const OWES_CHECKPOINT: &str = "owes_checkpoint";

/// An open index. Cheap to share between threads: all methods take `&self`.
pub struct Store {
    path: PathBuf,
    // Fields are dropped in this order. Readers go first: the last connection to a database in WAL mode writes the WAL back
    // and removes it, and one that only reads may not.
    readers: Mutex<Vec<Link>>,
    /// What the path leads to, and a connection to it that nobody uses yet.
    current: Mutex<Option<(Opened, Option<Link>)>>,
    writer: Mutex<Writer>,
    vectors: VectorCache,
    lexicon: Lexicon,
}

#[derive(Default)]
struct Writer {
    link: Option<Link>,
    /// When a long transaction ended, for the courtesy towards others.
    busy_until: Option<Instant>,
}

impl Store {
    /// Opens the index at `path`, creating it (file 0600, missing folders 0700) or migrating it as needed.
    ///
    /// Takes no lock when there is nothing to create or migrate, so it never waits for a writer. A file that may be read
    /// and not written is opened for reading; writing then fails with [`Error::IndexUnwritable`].
    ///
    /// # Errors
    /// [`Error::IndexUnusable`], [`Error::IndexCorrupt`], [`Error::IndexTooNew`] or [`Error::IndexBusy`].
    pub fn open(path: &Path) -> Result<Self> {
        let store = Self {
            path: resolved(path),
            readers: Mutex::default(),
            current: Mutex::default(),
            writer: Mutex::default(),
            vectors: VectorCache::new()?,
            lexicon: Lexicon::default(),
        };
        store.opened()?;
        store.settle_debts()?;
        Ok(store)
    }

    /// Path of the index file; where a link was opened, of what it leads to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What may be done with the file at the moment.
    ///
    /// # Errors
    /// As [`Store::open`], when the file was replaced since.
    pub fn access(&self) -> Result<Access> {
        Ok(self.opened()?.access)
    }

    /// Runs `work` on a reading connection inside one transaction, so that all its statements see one moment.
    ///
    /// # Errors
    /// What `work` returns, and the index errors.
    pub fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let link = self.reader()?;
        let result = (|| {
            execute(&link.conn, "BEGIN")?;
            opening::check_version(&self.path, version(&link.conn)?)?;
            let value = work(&link.conn);
            // A failed COMMIT of a read changes nothing; the connection is dropped then instead of pooled.
            let done = execute(&link.conn, "COMMIT").is_ok();
            if matches!(link.opened.access, Access::Frozen(..)) && !link.opened.still_holds(&self.path) {
                // Read without locks while somebody wrote: it may be half of two states.
                return Err(Error::IndexBusy { path: self.path.clone() });
            }
            value.map(|value| (value, done))
        })();
        let result = self.noticed(&link.opened, classify(&self.path, Doing::Reading, result));
        result.map(|(value, done)| {
            if done {
                lock(&self.readers).push(link);
            }
            value
        })
    }

    /// Runs `work` in one write transaction: all of it is stored, or nothing.
    ///
    /// # Errors
    /// What `work` returns, and the index errors; [`Error::IndexBusy`] after ten seconds of another writer.
    pub fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.write_within(PATIENCE, work)
    }

    /// As [`Store::write`], waiting at most `patience` for another writer.
    ///
    /// # Errors
    /// What `work` returns, and the index errors; [`Error::IndexBusy`] when the patience is over.
    pub fn write_within<T>(&self, patience: Duration, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut writer = lock(&self.writer);
        let deadline = Instant::now() + patience;
        if writer.busy_until.take().is_some_and(|ended| ended.elapsed() < COURTESY) {
            thread::sleep(COURTESY);
        }
        let began = Instant::now();
        let result = loop {
            let link = self.writing(&mut writer)?;
            let opened = link.opened.clone();
            let conn = &link.conn;
            let tx = retry(deadline, || Ok(Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?));
            // Another process may have moved the file aside while this one waited; what is written there is lost.
            if tx.is_ok() && !opened.still_holds(&self.path) {
                drop(tx);
                writer.link = None;
                continue;
            }
            let result = tx.and_then(|tx| {
                opening::check_version(&self.path, version(&tx)?)?;
                let value = work(&tx)?;
                links::settle(&tx)?;
                let owes = meta::<bool>(&tx, OWES_CHECKPOINT)?.unwrap_or(false);
                tx.commit()?;
                Ok((value, owes))
            });
            break self.noticed(&opened, classify(&self.path, Doing::Writing, result));
        };
        if began.elapsed() > LONG_WRITE {
            writer.busy_until = Some(Instant::now());
        }
        match result {
            Ok((value, owes)) => {
                if owes {
                    self.erase_wal(&mut writer)?;
                }
                Ok(value)
            }
            Err(error) => {
                // What SQLite makes of a connection after an error of the system is its own affair.
                if !matches!(error, Error::IndexBusy { .. }) {
                    writer.link = None;
                }
                Err(error)
            }
        }
    }

    /// Writes the WAL back into the file and empties it, so that removed text is gone from both.
    ///
    /// # Errors
    /// The index errors. A reader that still needs the WAL is not an error; the next call tries again.
    pub fn checkpoint(&self) -> Result<()> {
        let mut writer = lock(&self.writer);
        self.erase_wal(&mut writer)
    }

    /// What the text leg keeps in memory.
    pub fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// Bytes of quantized vectors that are in memory.
    pub fn vector_cache_bytes(&self) -> u64 {
        self.vectors.size_bytes()
    }

    /// Size of the index file and its WAL, in bytes.
    pub fn size_bytes(&self) -> u64 {
        let wal = beside(&self.path, "-wal");
        [self.path.as_path(), &wal].iter().filter_map(|p| fs::metadata(p).ok()).map(|m| m.len()).sum()
    }

    /// Refuses an index in which damage was found, by this process or another, since it was made.
    ///
    /// Damage shows only where something is read. Who is going to mend the index must not miss what others have met.
    ///
    /// # Errors
    /// [`Error::IndexCorrupt`]; and as [`Store::open`], when the file was replaced since.
    pub fn refuse_damaged(&self) -> Result<()> {
        let file = self.opened()?.file;
        match fs::read_to_string(suspicion(&self.path)) {
            Ok(found) if found == word_for(file) => {
                Err(Error::IndexCorrupt { path: self.path.clone(), detail: "damage was found earlier".to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Reads every row and index of the file and compares them: seconds for a large index.
    ///
    /// # Errors
    /// [`Error::IndexCorrupt`] with the first finding; the index errors.
    pub fn check(&self) -> Result<()> {
        self.read(|conn| {
            let found: String = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
            if found == "ok" { Ok(()) } else { Err(Error::IndexCorrupt { path: self.path.clone(), detail: found }) }
        })
    }

    /// The file that the path leads to now, opened if it was not yet.
    fn opened(&self) -> Result<Opened> {
        let mut current = lock(&self.current);
        if let Some((opened, _)) = current.as_ref()
            && opened.still_holds(&self.path)
        {
            return Ok(opened.clone());
        }
        *current = None;
        // Not yet the file that was damaged, if it is: that is noted only for a file which could be opened before.
        let link = classify(&self.path, Doing::Reading, opening::open(&self.path, &self.vectors))?;
        let opened = link.opened.clone();
        *current = Some((opened.clone(), Some(link)));
        Ok(opened)
    }

    fn reader(&self) -> Result<Link> {
        let opened = self.opened()?;
        let mut readers = lock(&self.readers);
        readers.retain(|link| link.opened == opened);
        match readers.pop() {
            Some(link) => Ok(link),
            None => {
                drop(readers);
                classify(&self.path, Doing::Reading, opening::reopen(&self.path, &self.vectors, &opened, false))
            }
        }
    }

    /// The writing connection to the file that the path leads to now.
    fn writing<'a>(&self, writer: &'a mut Writer) -> Result<&'a Link> {
        let mut opened = self.opened()?;
        if opened.access != Access::Full {
            // What stood in the way may be gone: a full disk, a folder's mode.
            *lock(&self.current) = None;
            opened = self.opened()?;
        }
        if let Access::ReadOnly(reason) | Access::Frozen(_, reason) = opened.access {
            return Err(Error::IndexUnwritable { path: self.path.clone(), reason });
        }
        let link = match writer.link.take().filter(|link| link.opened == opened) {
            Some(link) => link,
            None => {
                let spare = lock(&self.current).as_mut().and_then(|(_, spare)| spare.take());
                let link = match spare.filter(|link| link.opened == opened) {
                    Some(link) => link,
                    None => {
                        classify(&self.path, Doing::Writing, opening::reopen(&self.path, &self.vectors, &opened, true))?
                    }
                };
                // Waiting is done by `retry`.
                link.conn.busy_timeout(Duration::ZERO)?;
                link
            }
        };
        Ok(writer.link.insert(link))
    }

    /// Removes what an interrupted process left of removed text. That it cannot be done now is no error.
    fn settle_debts(&self) -> Result<()> {
        if self.access()? != Access::Full || !self.read(|conn| Ok(meta(conn, OWES_CHECKPOINT)?.unwrap_or(false)))? {
            return Ok(());
        }
        match self.checkpoint() {
            Err(Error::IndexBusy { .. } | Error::IndexUnwritable { .. }) => Ok(()),
            other => other,
        }
    }

    /// Works off the WAL and empties it. Readers that need it are waited for a little; then the debt stays.
    fn erase_wal(&self, writer: &mut Writer) -> Result<()> {
        let link = self.writing(writer)?;
        let deadline = Instant::now() + ERASING_PATIENCE;
        let result = (|| {
            loop {
                let busy: bool = link.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
                if !busy {
                    break;
                }
                if Instant::now() >= deadline {
                    return Ok(());
                }
                thread::sleep(opening::ASK_AGAIN);
            }
            if meta::<bool>(&link.conn, OWES_CHECKPOINT)?.is_some() {
                link.conn.execute("DELETE FROM meta WHERE key = ?1", [OWES_CHECKPOINT])?;
            }
            Ok(())
        })();
        match self.noticed(&link.opened, classify(&self.path, Doing::Writing, result)) {
            Err(Error::IndexBusy { .. }) => Ok(()),
            other => other,
        }
    }

    /// Passes a result on; of damage it leaves a mark beside the file, for whoever mends it.
    fn noticed<T>(&self, opened: &Opened, result: Result<T>) -> Result<T> {
        if let Err(Error::IndexCorrupt { .. }) = &result {
            // Where the mark cannot be left the file cannot be mended either.
            let _ = crate::private::write(&suspicion(&self.path), word_for(opened.file).as_bytes());
        }
        result
    }
}

/// Notes that text is removed in this transaction: when it is committed, the WAL is emptied, by this process or the next.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn owe_checkpoint(tx: &Transaction<'_>) -> Result<()> {
    set_meta(tx, OWES_CHECKPOINT, true)
}

/// Where damage that was met is noted.
pub(crate) fn suspicion(path: &Path) -> PathBuf {
    beside(path, ".suspect")
}

fn word_for(file: Identity) -> String {
    format!("{} {}\n", file.device, file.inode)
}

/// What a link leads to: SQLite puts its own files beside that, and moving the link aside would not move the index.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if is_link { fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() }
}

/// Teaches a connection the tokenizer that the index's tables name; without it they cannot be queried or checked.
///
/// # Errors
/// [`Error::Sqlite`] when SQLite refuses a registration.
pub fn register_tokenizer(conn: &Connection) -> Result<()> {
    ffi::fts5::register(conn)
}

fn execute(conn: &Connection, sql: &str) -> Result<()> {
    conn.prepare_cached(sql)?.execute([])?;
    Ok(())
}

fn version(conn: &Connection) -> Result<i64> {
    Ok(conn.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))?)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while the lock was held left at most an open transaction, which its own drop rolls back.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads one value of `meta`.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn meta<T: FromSql>(conn: &Connection, key: &str) -> Result<Option<T>> {
    let mut statement = conn.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    Ok(statement.query_row([key], |row| row.get(0)).optional()?)
}

/// Stores one value of `meta`.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn set_meta(tx: &Transaction<'_>, key: &str, value: impl rusqlite::ToSql) -> Result<()> {
    tx.prepare_cached("INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value")?
        .execute(rusqlite::params![key, value])?;
    Ok(())
}
