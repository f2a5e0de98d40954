//! Opening the index file: making it, bringing it to the newest layout, and reading it where it may not be written.
//!
//! What is done with a connection afterwards is `store`'s business; the layout is `schema`'s.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::trouble::{is_refusal, refusal};
use crate::{
    documents,
    error::{Error, Result},
    ffi::{self, VectorCache, checked_vfs},
    folder_lock::FolderLock,
    page_sum, private, schema,
    source::{percent, stamp::Stamp},
};

/// How long a reader waits where SQLite makes it wait: while a WAL is put in order after a crash.
const READER_PATIENCE: Duration = Duration::from_secs(10);
/// How often a waiting writer asks again. SQLite's own handler rests up to 100 ms, which is longer than a busy writer's pauses.
pub const ASK_AGAIN: Duration = Duration::from_millis(1);
/// Statements that a connection keeps prepared; a sync uses about thirty different ones.
const STATEMENT_CACHE: usize = 64;
/// What the WAL file is cut to after a large transaction.
const WAL_LIMIT_BYTES: i64 = 32 << 20;

/// Which file a path named at one moment: another inode is another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Number of the device.
    pub device: u64,
    /// Number on that device.
    pub inode: u64,
}

impl Identity {
    /// The file that `path` names now, by `stat` alone: opening it would end the locks of this process.
    ///
    /// # Errors
    /// The system's.
    #[cfg(unix)]
    pub fn of(path: &Path) -> std::io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).map(|found| Self { device: found.dev(), inode: found.ino() })
    }

    /// Where open files cannot be renamed or removed, only their absence has to be noticed.
    ///
    /// # Errors
    /// The system's.
    #[cfg(not(unix))]
    pub fn of(path: &Path) -> std::io::Result<Self> {
        fs::metadata(path).map(|_| Self { device: 0, inode: 0 })
    }
}

/// What may be done with the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Everything.
    Full,
    /// Reading, for this reason.
    ReadOnly(String),
    /// Reading without locks, because not even those can be kept there, for this reason. Good until the file changes.
    Frozen(Stamp, String),
}

/// A file that was opened, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Which file it was.
    pub file: Identity,
    /// What may be done with it.
    pub access: Access,
}

impl Opened {
    /// Whether `path` still names the same file in the same state of access.
    pub fn still_holds(&self, path: &Path) -> bool {
        let same = Identity::of(path).is_ok_and(|file| file == self.file);
        same && match &self.access {
            Access::Frozen(stamp, _) => frozen_stamp(path).is_some_and(|now| now == *stamp),
            Access::Full | Access::ReadOnly(_) => true,
        }
    }
}

/// A connection, and the file it is connected to.
pub struct Link {
    /// The connection.
    pub conn: Connection,
    /// Its file.
    pub opened: Opened,
}

/// Opens the file at `path` for the best access there is, making it or bringing it up to date as needed.
///
/// # Errors
/// [`Error::IndexUnusable`], [`Error::IndexTooNew`], [`Error::IndexBusy`], and SQLite's own.
pub fn open(path: &Path, vectors: &VectorCache) -> Result<Link> {
    create_private(path)?;
    let error = match open_for_writing(path, vectors) {
        Err(Error::Sqlite(error)) if is_refusal(&error) => error,
        other => return other,
    };
    open_for_reading(path, vectors, refusal(&error))
}

/// Another connection to a file that was opened before, for reading or, if `writing`, for both.
///
/// # Errors
/// SQLite's; [`Error::IndexBusy`] when the path leads to another file by now.
pub fn reopen(path: &Path, vectors: &VectorCache, opened: &Opened, writing: bool) -> Result<Link> {
    let flags = if writing { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
    let conn = match opened.access {
        Access::Frozen(..) => connect_frozen(path, vectors)?,
        _ => connect(path, flags, vectors)?,
    };
    // As in `connect_known`.
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    if opened.still_holds(path) {
        Ok(Link { conn, opened: opened.clone() })
    } else {
        Err(Error::IndexBusy { path: path.to_owned() })
    }
}

fn open_for_writing(path: &Path, vectors: &VectorCache) -> Result<Link> {
    // Reading first: a process that only asks must not wait for one that writes.
    let (conn, file, layout) = connect_known(path, || connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, vectors))?;
    let deadline = Instant::now() + READER_PATIENCE;
    layout.check(path)?;
    if conn.is_readonly("main")? {
        return Err(ffi::refused(rusqlite::ffi::SQLITE_READONLY));
    }
    if !layout.is_newest() {
        bring_up_to_date(&conn, path, deadline)?;
    }
    Ok(Link { conn, opened: Opened { file, access: Access::Full } })
}

/// Opens a file that may not be written, for `reason`.
fn open_for_reading(path: &Path, vectors: &VectorCache, reason: String) -> Result<Link> {
    let unusable = |reason: String| Error::IndexUnusable { path: path.to_owned(), reason };
    let locked = connect_known(path, || connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, vectors));
    let (conn, file, layout, access) = match locked {
        Ok((conn, file, layout)) => (conn, file, layout, Access::ReadOnly(reason.clone())),
        Err(Error::Sqlite(error)) if is_refusal(&error) => {
            // Without its shared memory a WAL cannot be read, and without its WAL the file may be half of two states.
            let stamp = frozen_stamp(path).ok_or_else(|| {
                unusable(format!("{reason}, and what its last writer left in '{}-wal' needs that", path.display()))
            })?;
            let (conn, file, layout) = connect_known(path, || connect_frozen(path, vectors))?;
            (conn, file, layout, Access::Frozen(stamp, reason.clone()))
        }
        Err(error) => return Err(error),
    };
    layout.check(path)?;
    if layout.tables == 0 {
        return Err(unusable(format!("{reason}, and it is still empty")));
    }
    if layout.version < schema::READABLE_SINCE {
        return Err(unusable(format!("{reason}, and its layout is too old to be read as it is")));
    }
    Ok(Link { conn, opened: Opened { file, access } })
}

/// A connection, the file that it is sure to be connected to, and what that file says of itself.
///
/// SQLite opens WAL and shared memory by name, at the first reading. Only when the path still leads to the same file after
/// that do the three belong together.
fn connect_known(path: &Path, connect: impl Fn() -> Result<Connection>) -> Result<(Connection, Identity, Layout)> {
    let unusable = |error: std::io::Error| Error::IndexUnusable { path: path.to_owned(), reason: error.to_string() };
    loop {
        let before = Identity::of(path).map_err(unusable)?;
        let conn = connect()?;
        let layout = Layout::of(&conn);
        if Identity::of(path).map_err(unusable)? == before {
            return Ok((conn, before, layout?));
        }
    }
}

/// What the first page and the list of tables say.
struct Layout {
    tables: i64,
    application: i32,
    version: i64,
    wal: bool,
}

impl Layout {
    fn of(conn: &Connection) -> Result<Self> {
        Ok(Self {
            tables: conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
            application: conn.query_row("PRAGMA application_id", [], |row| row.get(0))?,
            version: conn.query_row("PRAGMA user_version", [], |row| row.get(0))?,
            wal: conn.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0))? == "wal",
        })
    }

    fn is_newest(&self) -> bool {
        self.tables > 0 && self.version == schema::SCHEMA_VERSION && self.wal
    }

    /// Refuses what is not an index of ours, or a newer one.
    fn check(&self, path: &Path) -> Result<()> {
        if self.tables > 0 && self.application != schema::APPLICATION_ID {
            if page_sum::is_nearly_ours(self.application) {
                let detail = "its application id is wrong".to_owned();
                return Err(Error::IndexCorrupt { path: path.to_owned(), detail });
            }
            let reason = "it is another program's database".to_owned();
            return Err(Error::IndexUnusable { path: path.to_owned(), reason });
        }
        check_version(path, self.version)
    }
}

/// Refuses a file of a newer layout.
pub fn check_version(path: &Path, found: i64) -> Result<()> {
    let supported = schema::SCHEMA_VERSION;
    if found > supported { Err(Error::IndexTooNew { path: path.to_owned(), found, supported }) } else { Ok(()) }
}

/// Creates the tables, or migrates them. Several processes may try at once: each step looks again under the write lock.
fn bring_up_to_date(conn: &Connection, path: &Path, deadline: Instant) -> Result<()> {
    let layout = Layout::of(conn)?;
    if layout.tables == 0 {
        conn.pragma_update(None, "page_size", schema::PAGE_SIZE_BYTES)?;
    }
    let has_sums = checked_vfs::reserve_sums(conn)?;
    retry(deadline, || Ok(conn.pragma_update(None, "journal_mode", "WAL")?))?;
    if layout.tables > 0 && layout.version < schema::CHECKED_SINCE && !has_sums {
        // The only way to make room in the pages. Needs as much space again, and leaves everything as it was if it fails.
        retry(deadline, || Ok(conn.execute_batch("VACUUM")?))?;
    }
    let tx = retry(deadline, || Ok(rusqlite::Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?))?;
    let layout = Layout::of(&tx)?;
    layout.check(path)?;
    if layout.tables == 0 {
        schema::create(&tx)?;
    } else if layout.version < schema::SCHEMA_VERSION && schema::upgrade(&tx, layout.version)? {
        documents::refill(&tx)?;
    }
    Ok(tx.commit()?)
}

/// Repeats `attempt` while another process is in its way.
pub fn retry<T>(deadline: Instant, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    loop {
        match attempt() {
            Err(Error::Sqlite(error))
                if matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
                    && Instant::now() < deadline =>
            {
                thread::sleep(ASK_AGAIN);
            }
            other => return other,
        }
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
        private::create_folder(folder).map_err(|error| unusable(format!("its folder cannot be made ({error})")))?;
    }
    // Another process may be moving a damaged index aside, and is done with the file but not with those beside it.
    let _lock = FolderLock::take(path);
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    // What lies beside a file that is gone belongs to nothing; shared memory that still says otherwise would be believed.
    for suffix in ["-wal", "-shm", "-journal"] {
        match fs::remove_file(beside(path, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(unusable(error.to_string())),
            _ => {}
        }
    }
    private::create(path).map(drop).map_err(|error| unusable(error.to_string()))
}

fn connect(path: &Path, access: OpenFlags, vectors: &VectorCache) -> Result<Connection> {
    // Each connection is used by one thread at a time, so SQLite's own mutexes would be paid for nothing.
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    set_up(Connection::open_with_flags_and_vfs(path, flags, checked_vfs::register()?)?, vectors)
}

/// A connection that takes no locks and expects no WAL.
fn connect_frozen(path: &Path, vectors: &VectorCache) -> Result<Connection> {
    let absolute = std::path::absolute(path).map_err(|error| Error::io(path, error))?;
    let uri = format!("file:{}?immutable=1", percent::path(&absolute));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    set_up(Connection::open_with_flags_and_vfs(uri, flags, checked_vfs::register()?)?, vectors)
}

fn set_up(conn: Connection, vectors: &VectorCache) -> Result<Connection> {
    conn.busy_timeout(READER_PATIENCE)?;
    conn.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "cache_size", -16_384)?;
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    conn.pragma_update(None, "secure_delete", "ON")?;
    conn.pragma_update(None, "trusted_schema", "OFF")?;
    conn.pragma_update_and_check(None, "journal_size_limit", WAL_LIMIT_BYTES, |_| Ok(()))?;
    ffi::register_vector(&conn, vectors)?;
    ffi::fts5::register(&conn)?;
    Ok(conn)
}

/// The state of a file that holds everything, its WAL being empty or absent; None when it does not.
fn frozen_stamp(path: &Path) -> Option<Stamp> {
    let wal = fs::metadata(beside(path, "-wal"));
    let settled = match wal {
        Ok(wal) => wal.len() == 0,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    fs::metadata(path).ok().filter(|_| settled).map(|found| Stamp::of(&found))
}

/// The file beside `path` whose name goes on with `suffix`.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
