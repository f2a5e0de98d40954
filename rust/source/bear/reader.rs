//! Reading another program's SQLite database without a trace: no write, no new file, no lock kept between calls.
//!
//! Which way of opening fits which state of the files is decided in `files`; what the database means, in `layout`.

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};
use std::{io, thread};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};

use super::KIND;
use super::files::{Files, PrivateCopy, State, Way};
use super::layout::LayoutError;
use crate::error::{Error, Result};
use crate::ffi::read_only_vfs;
use crate::source::percent;

/// Closing any descriptor of a file drops all POSIX locks that the process holds on it, those of other threads'
/// connections too. SQLite knows that of its own descriptors; ours are opened and closed under the write half of this
/// lock, while connections live under the read half.
static DESCRIPTORS: RwLock<()> = RwLock::new(());

/// Pause before looking again at files that were just being written.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// Reads one database, each time from a fresh connection.
pub struct Reader {
    /// As the user wrote it, for messages.
    asked: PathBuf,
    files: Files,
    busy_timeout: Duration,
    /// Kept while the original does not change, because copying is the costly part.
    copy: Option<PrivateCopy>,
}

impl Reader {
    /// Looks for the database at `path`. Reads nothing of it yet.
    ///
    /// # Errors
    /// [`Error::SourceMissing`] and [`Error::SourceDenied`].
    pub fn open(path: &Path, busy_timeout: Duration) -> Result<Self> {
        let files = Files::at(path).map_err(|error| refusal(path, error))?;
        Ok(Self { asked: path.to_owned(), files, busy_timeout, copy: None })
    }

    /// Runs `work` within one read transaction.
    ///
    /// `work` may run more than once: its result counts only if the files held still meanwhile.
    ///
    /// # Errors
    /// The source errors of [`Error`]; [`Error::SourceBusy`] when the database was locked, or its files kept changing,
    /// for longer than the busy timeout.
    pub fn read<T>(&mut self, work: &dyn Fn(&Connection) -> std::result::Result<T, LayoutError>) -> Result<T> {
        let deadline = Instant::now() + self.busy_timeout;
        loop {
            let state = self.state()?;
            if state.database.size == 0 {
                return Err(self.malformed(state.damage().unwrap_or_default()));
            }
            let outcome = match state.way() {
                Way::InPlace => match self.work_there(false, work) {
                    Err(LayoutError::Sqlite(error)) if needs_copy(&error) => self.work_on_copy(&state, work)?,
                    outcome => {
                        self.copy = None;
                        Some(outcome)
                    }
                },
                Way::Immutable => {
                    self.copy = None;
                    let outcome = self.work_there(true, work);
                    (self.state()? == state).then_some(outcome)
                }
                Way::Copy => self.work_on_copy(&state, work)?,
            };
            // SQLite reads a last page that is cut off as if zeros followed: rows would be missing without a word.
            let outcome = match (outcome, state.damage()) {
                (Some(Ok(_)), Some(damage)) if state.stands_alone() => {
                    (self.state()? == state).then_some(Err(LayoutError::NotBear(damage)))
                }
                (outcome, _) => outcome,
            };
            match outcome {
                Some(outcome) => return outcome.map_err(|error| self.explain(error, &state)),
                None if Instant::now() < deadline => thread::sleep(RETRY_PAUSE),
                None => return Err(Error::SourceBusy { path: self.asked.clone() }),
            }
        }
    }

    fn state(&self) -> Result<State> {
        let _nothing_open = DESCRIPTORS.write().unwrap_or_else(PoisonError::into_inner);
        self.files.state().map_err(|error| refusal(&self.asked, error))
    }

    /// Reads the database where it lies.
    fn work_there<T>(
        &self,
        immutable: bool,
        work: &dyn Fn(&Connection) -> std::result::Result<T, LayoutError>,
    ) -> std::result::Result<T, LayoutError> {
        let _connection_open = DESCRIPTORS.read().unwrap_or_else(PoisonError::into_inner);
        let connection = open_there(&self.files.database, immutable, self.busy_timeout)?;
        connection.execute_batch("BEGIN")?;
        work(&connection)
    }

    /// Reads a private copy, the last one if the files are still the same. `None` when they are being written.
    fn work_on_copy<T>(
        &mut self,
        state: &State,
        work: &dyn Fn(&Connection) -> std::result::Result<T, LayoutError>,
    ) -> Result<Option<std::result::Result<T, LayoutError>>> {
        if self.copy.as_ref().is_none_or(|copy| copy.state != *state) {
            self.copy = None;
            let _nothing_open = DESCRIPTORS.write().unwrap_or_else(PoisonError::into_inner);
            self.copy = PrivateCopy::make(&self.files, state).map_err(|error| match error {
                Error::Sqlite(error) => self.explain(error.into(), state),
                other => other,
            })?;
        }
        Ok(self.copy.as_ref().map(|copy| work(&copy.connection)))
    }

    /// Puts SQLite's refusal into terms of the source.
    fn explain(&self, error: LayoutError, state: &State) -> Error {
        let error = match error {
            LayoutError::NotBear(detail) => return self.malformed(detail),
            LayoutError::Sqlite(error) => error,
        };
        let code = extended_code(&error);
        match code & 0xff {
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL => {
                Error::SourceBusy { path: self.asked.clone() }
            }
            ffi::SQLITE_AUTH | ffi::SQLITE_PERM => refusal(&self.asked, io::ErrorKind::PermissionDenied.into()),
            _ if code == ffi::SQLITE_IOERR_AUTH => refusal(&self.asked, io::ErrorKind::PermissionDenied.into()),
            _ => self.malformed(state.damage().unwrap_or_else(|| format!("SQLite cannot read it ({error})"))),
        }
    }

    fn malformed(&self, detail: String) -> Error {
        Error::SourceMalformed { kind: KIND, path: self.asked.clone(), detail }
    }
}

/// Opens a connection that can change nothing: see [`read_only_vfs`].
fn open_there(path: &Path, immutable: bool, busy_timeout: Duration) -> rusqlite::Result<Connection> {
    let layer =
        read_only_vfs::register().map_err(|code| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))?;
    let suffix = if immutable { "&immutable=1" } else { "" };
    let uri = format!("file:{}?mode=ro&readonly_shm=1{suffix}", percent::path(path));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags_and_vfs(uri, flags, layer)?;
    connection.busy_timeout(busy_timeout)?;
    // The file may come from anywhere: nothing that its schema defines gets to run with more rights than data.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY")?;
    Ok(connection)
}

/// Whether SQLite would have to write to read this: a journal to roll back, a shared-memory file to create or recover.
fn needs_copy(error: &rusqlite::Error) -> bool {
    matches!(extended_code(error) & 0xff, ffi::SQLITE_READONLY | ffi::SQLITE_CANTOPEN)
}

fn extended_code(error: &rusqlite::Error) -> i32 {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => failure.extended_code,
        rusqlite::Error::SqlInputError { error, .. } => error.extended_code,
        _ => 0,
    }
}

/// Puts the system's refusal to open `path` into terms of the source.
fn refusal(path: &Path, error: io::Error) -> Error {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::SourceMissing {
            kind: KIND,
            path,
            advice: "start Bear once, or name a database with --db or BEARSEARCH_BEAR_DB".to_owned(),
        },
        io::ErrorKind::PermissionDenied => Error::SourceDenied { path, advice: permission_advice().to_owned() },
        io::ErrorKind::IsADirectory => Error::SourceMalformed {
            kind: KIND,
            path,
            detail: "it is a folder; name the file database.sqlite in it".to_owned(),
        },
        io::ErrorKind::InvalidInput => {
            Error::SourceMalformed { kind: KIND, path, detail: "it is not a regular file".to_owned() }
        }
        _ => Error::io(path, error),
    }
}

/// What to do about a refused permission: macOS guards the data of other programs by program, other systems by file.
fn permission_advice() -> &'static str {
    if cfg!(target_os = "macos") {
        "open System Settings, Privacy & Security, Full Disk Access, switch on the program that started this one \
         (Terminal, iTerm, VS Code, Claude Desktop), then quit and reopen that program"
    } else {
        "check the permissions of the file and of the folders above it, or name another database with --db"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_descriptor_is_opened_or_closed_while_a_connection_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sqlite");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        let mut reader = Reader::open(&path, Duration::ZERO).unwrap();
        let looks_forbidden = reader.read(&|conn| {
            conn.query_row("SELECT count(*) FROM t", [], |_| Ok(()))?;
            Ok(DESCRIPTORS.try_write().is_err())
        });
        assert!(looks_forbidden.unwrap());
    }

    #[test]
    fn a_reading_without_locks_is_done_again_when_a_writer_came_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sqlite");
        Connection::open(&path).unwrap().execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)").unwrap();
        let mut reader = Reader::open(&path, Duration::from_secs(60)).unwrap();
        let writer = std::cell::OnceCell::new();
        let counted = reader.read(&|conn| {
            let count: i64 = conn.query_row("SELECT count(*) FROM t", [], |row| row.get(0))?;
            // Only in the first of the readings; stays open, and so does its WAL.
            writer.get_or_init(|| {
                let writer = Connection::open(&path).unwrap();
                writer.execute_batch("INSERT INTO t VALUES (1)").unwrap();
                writer
            });
            Ok(count)
        });
        assert_eq!(counted.unwrap(), 1);
    }

    #[test]
    fn a_denial_by_sqlite_itself_counts_as_a_denial() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sqlite");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        let mut reader = Reader::open(&path, Duration::ZERO).unwrap();
        for code in [ffi::SQLITE_AUTH, ffi::SQLITE_PERM, ffi::SQLITE_IOERR_AUTH] {
            let refused = || rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let error = reader.read::<()>(&|_| Err(refused().into())).unwrap_err();
            assert!(matches!(error, Error::SourceDenied { .. }), "{code}: {error}");
        }
    }
}
