//! The index file: opening, the pool of reading connections, and every write transaction.
//!
//! One writing connection behind a lock, any number of reading ones; SQLite's WAL mode lets them work side by side.
//! What is written is decided in `sync` and `embeddings`; the layout is `schema`'s.

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, types::FromSql};

use crate::{
    documents,
    error::{Error, Result},
    ffi::{self, VectorCache},
    lexicon::Lexicon,
    links, schema,
};

/// How long a writer waits for another process before it gives up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Statements that a connection keeps prepared; a sync uses about thirty different ones.
const STATEMENT_CACHE: usize = 64;

/// An open index. Cheap to share between threads: all methods take `&self`.
pub struct Store {
    path: PathBuf,
    // Closed in this order: the last connection to close writes the WAL back, and a reading one cannot.
    readers: Mutex<Vec<Connection>>,
    writer: Mutex<Connection>,
    vectors: VectorCache,
    lexicon: Lexicon,
}

impl Store {
    /// Opens the index at `path`, creating it (file 0600, missing folders 0700) or migrating it as needed.
    ///
    /// # Errors
    /// [`Error::IndexUnusable`], [`Error::IndexCorrupt`], [`Error::IndexTooNew`] or [`Error::IndexBusy`].
    pub fn open(path: &Path) -> Result<Self> {
        create_private(path)?;
        let vectors = VectorCache::new()?;
        let writer = classify(path, connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, &vectors))?;
        let store = Self {
            path: path.to_owned(),
            writer: Mutex::new(writer),
            readers: Mutex::default(),
            vectors,
            lexicon: Lexicon::default(),
        };
        store.prepare()?;
        Ok(store)
    }

    /// Path of the index file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` on a reading connection inside one transaction, so that all its statements see one moment.
    ///
    /// # Errors
    /// What `work` returns, and the index errors.
    pub fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let pooled = lock(&self.readers).pop();
        let result = (|| {
            let conn = match pooled {
                Some(conn) => conn,
                None => connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY, &self.vectors)?,
            };
            conn.execute_batch("BEGIN")?;
            let value = work(&conn);
            // A failed COMMIT of a read changes nothing; the connection is dropped then instead of pooled.
            if conn.execute_batch("COMMIT").is_ok() {
                lock(&self.readers).push(conn);
            }
            value
        })();
        classify(&self.path, result)
    }

    /// Runs `work` in one write transaction: all of it is stored, or nothing.
    ///
    /// # Errors
    /// What `work` returns, and the index errors; [`Error::IndexBusy`] after ten seconds of another writer.
    pub fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut conn = lock(&self.writer);
        let result = (|| {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&tx)?;
            links::settle(&tx)?;
            tx.commit()?;
            Ok(value)
        })();
        classify(&self.path, result)
    }

    /// Writes the WAL back into the file and empties it, so that removed text is gone from both.
    ///
    /// # Errors
    /// The index errors. A reader that still needs the WAL is not an error; the next call tries again.
    pub fn checkpoint(&self) -> Result<()> {
        let conn = lock(&self.writer);
        let result = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(Error::from);
        match classify(&self.path, result) {
            Err(Error::IndexBusy { .. }) => Ok(()),
            other => other,
        }
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
        let mut wal = self.path.as_os_str().to_owned();
        wal.push("-wal");
        [self.path.as_os_str(), &wal].iter().filter_map(|p| fs::metadata(p).ok()).map(|m| m.len()).sum()
    }

    fn prepare(&self) -> Result<()> {
        let path = self.path.clone();
        let mut conn = lock(&self.writer);
        let result = (|| {
            let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            let application: i32 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
            let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
            if tables > 0 && application != schema::APPLICATION_ID {
                let reason = "it is another program's database".to_owned();
                return Err(Error::IndexUnusable { path: path.clone(), reason });
            }
            if version > schema::SCHEMA_VERSION {
                let (found, supported) = (version, schema::SCHEMA_VERSION);
                return Err(Error::IndexTooNew { path: path.clone(), found, supported });
            }
            if tables == 0 {
                conn.pragma_update(None, "page_size", schema::PAGE_SIZE_BYTES)?;
            }
            conn.pragma_update(None, "journal_mode", "WAL")?;
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Another process may have created it since the check above.
            let tables: i64 = tx.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
            let version: i64 = tx.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            if tables == 0 {
                schema::create(&tx)?;
            } else if version < schema::SCHEMA_VERSION && schema::upgrade(&tx, version)? {
                documents::refill(&tx)?;
            }
            tx.commit()?;
            Ok(())
        })();
        classify(&path, result)
    }
}

/// Creates the index file 0600 before SQLite opens it: `-wal` and `-shm` inherit the mode.
fn create_private(path: &Path) -> Result<()> {
    let unusable = |reason: String| Error::IndexUnusable { path: path.to_owned(), reason };
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(unusable("it is a folder".to_owned())),
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(unusable(error.to_string())),
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(|error| unusable(format!("its folder cannot be made ({error})")))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(unusable(error.to_string())),
    }
}

fn connect(path: &Path, access: OpenFlags, vectors: &VectorCache) -> Result<Connection> {
    // Each connection is used by one thread at a time, so SQLite's own mutexes would be paid for nothing.
    let conn = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "cache_size", -16_384)?;
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    conn.pragma_update(None, "secure_delete", "ON")?;
    conn.pragma_update(None, "trusted_schema", "OFF")?;
    ffi::register_vector(&conn, vectors)?;
    register_tokenizer(&conn)?;
    Ok(conn)
}

/// Teaches a connection the tokenizer that the index's tables name; without it they cannot be queried or checked.
///
/// # Errors
/// [`Error::Sqlite`] when SQLite refuses a registration.
pub fn register_tokenizer(conn: &Connection) -> Result<()> {
    ffi::fts5::register(conn)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while the lock was held left at most an open transaction, which its own drop rolls back.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Turns SQLite's words into the error that names the remedy.
pub(crate) fn classify<T>(path: &Path, result: Result<T>) -> Result<T> {
    result.map_err(|error| match error {
        Error::Sqlite(error) => classify_sqlite(path, error),
        other => other,
    })
}

fn classify_sqlite(path: &Path, error: rusqlite::Error) -> Error {
    let path = path.to_owned();
    let detail = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::IndexCorrupt { path, detail },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::IndexBusy { path },
        Some(ErrorCode::DiskFull) => Error::IndexUnusable { path, reason: "the disk is full".to_owned() },
        Some(ErrorCode::ReadOnly) => Error::IndexUnusable { path, reason: "it may not be written".to_owned() },
        Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::PermissionDenied) => {
            Error::IndexUnusable { path, reason: detail }
        }
        _ => Error::Sqlite(error),
    }
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
