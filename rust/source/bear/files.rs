//! The files of a database that belongs to another program: what state they are in, and a private copy of them.
//!
//! No SQL here but what turns a copied journal or WAL into a readable copy.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};
use crate::source::stamp::Stamp;

/// "SQLite format 3\0", the first 16 bytes of a database. (SQLite's file format page, section 1.3.)
const DATABASE_MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The last 8 bytes of a rollback journal that names a super-journal. (The same page, section 3.)
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// A database and the files that SQLite keeps beside it.
#[derive(Debug, Clone)]
pub struct Files {
    /// The database itself, with symbolic links resolved, as SQLite resolves them before it looks for the others.
    pub database: PathBuf,
    wal: PathBuf,
    shm: PathBuf,
    journal: PathBuf,
}

/// What the files looked like at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The database.
    pub database: Stamp,
    /// `-wal`, if it exists.
    pub wal: Option<Stamp>,
    /// `-journal`, if it exists.
    pub journal: Option<Stamp>,
    has_shm: bool,
    header: Header,
}

/// The first 100 bytes of the file, as far as they matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Header {
    /// They are not those of a SQLite database.
    Foreign,
    Database {
        is_wal_format: bool,
        /// Size that the header claims, 0 when it makes no valid claim.
        claimed_bytes: u64,
    },
}

/// How to read without writing, creating or deleting any file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Where it lies, under SQLite's own locks.
    InPlace,
    /// Where it lies, without any lock: in WAL format with neither `-wal` nor `-journal`, everything is in the database
    /// file and nobody can write to it without first creating one of them.
    Immutable,
    /// From a private copy: SQLite would have to create or write a file to read these.
    Copy,
}

impl Files {
    /// The files around the database at `path`, which must exist.
    ///
    /// # Errors
    /// The system's, when the path cannot be resolved.
    pub fn at(path: &Path) -> io::Result<Self> {
        let database = fs::canonicalize(path)?;
        let beside = |suffix: &str| {
            let mut name = database.clone().into_os_string();
            name.push(suffix);
            PathBuf::from(name)
        };
        Ok(Self { wal: beside("-wal"), shm: beside("-shm"), journal: beside("-journal"), database })
    }

    /// The stamps of the database, its `-wal` and its `-journal`, without opening a file.
    ///
    /// # Errors
    /// As for [`state`](Self::state).
    pub fn stamps(&self) -> io::Result<[Option<Stamp>; 3]> {
        let database = Stamp::of(&self.metadata()?);
        Ok([Some(database), stamp_if_there(&self.wal)?, stamp_if_there(&self.journal)?])
    }

    fn metadata(&self) -> io::Result<fs::Metadata> {
        let metadata = fs::metadata(&self.database)?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if metadata.is_file() { Ok(metadata) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    /// Looks at the files. Opens and closes the database: the caller sees to it that no connection of this process has
    /// it open, because closing drops that connection's locks.
    ///
    /// # Errors
    /// The system's, about the database. [`io::ErrorKind::IsADirectory`] for a folder, and
    /// [`io::ErrorKind::InvalidInput`] for anything else that is not a file (opening a pipe would wait for ever).
    pub fn state(&self) -> io::Result<State> {
        let metadata = self.metadata()?;
        let header = Header::read(&mut File::open(&self.database)?)?;
        Ok(State {
            database: Stamp::of(&metadata),
            wal: stamp_if_there(&self.wal)?,
            journal: stamp_if_there(&self.journal)?,
            has_shm: stamp_if_there(&self.shm)?.is_some(),
            header,
        })
    }
}

fn stamp_if_there(path: &Path) -> io::Result<Option<Stamp>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(Stamp::of(&metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl State {
    /// How to read files in this state.
    pub fn way(&self) -> Way {
        let is_wal_format = matches!(self.header, Header::Database { is_wal_format: true, .. });
        match (&self.wal, &self.journal) {
            (Some(_), _) if self.has_shm => Way::InPlace,
            (Some(_), _) => Way::Copy,
            (None, Some(_)) if is_wal_format => Way::Copy,
            (None, None) if is_wal_format => Way::Immutable,
            (None, _) => Way::InPlace,
        }
    }

    /// What is visibly wrong with the file, as a clause, if anything is.
    pub fn damage(&self) -> Option<String> {
        let size = self.database.size;
        match self.header {
            _ if size == 0 => Some("the file is empty".to_owned()),
            Header::Foreign => Some("it does not begin like a SQLite database".to_owned()),
            Header::Database { claimed_bytes, .. } if size < claimed_bytes => {
                Some(format!("it is cut off: its header speaks of {claimed_bytes} bytes, the file has {size}"))
            }
            Header::Database { .. } => None,
        }
    }

    /// Whether the database must be whole by itself: nothing beside it holds pages that it still lacks.
    pub fn stands_alone(&self) -> bool {
        self.wal.is_none() && self.journal.is_none()
    }

    /// Whether all stamps are old enough that a later write would change them.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now();
        let stamps = [Some(self.database), self.wal, self.journal];
        stamps.into_iter().flatten().all(|stamp| stamp.unsettled_for(now).is_zero())
    }
}

impl Header {
    /// Reads the header's fields (file format page, section 1.3).
    fn read(file: &mut File) -> io::Result<Self> {
        let mut bytes = Vec::with_capacity(100);
        file.take(100).read_to_end(&mut bytes)?;
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if bytes.len() < 100 || bytes[..16] != *DATABASE_MAGIC {
            return Ok(Self::Foreign);
        }
        let page_size = match u16::from_be_bytes([bytes[16], bytes[17]]) {
            1 => 65_536,
            size => u64::from(size),
        };
        // The page count holds only if its writer also left the change counter (24) in the version-valid-for field (92).
        let claimed_bytes = if number(24) == number(92) { u64::from(number(28)) * page_size } else { 0 };
        Ok(Self::Database { is_wal_format: bytes[19] == 2, claimed_bytes })
    }
}

/// A copy of a database with its journal or WAL, readable by this process alone, gone when dropped.
pub struct PrivateCopy {
    /// Open on the copy, in a read transaction that is never ended: nobody else can write there.
    pub connection: Connection,
    /// The state of the original that was copied.
    pub state: State,
    // Declared after the connection, so that the files are closed before the folder is removed.
    _folder: tempfile::TempDir,
}

impl PrivateCopy {
    /// Copies `files`, or gives `None` when they were being written meanwhile: then try again. As
    /// [`Files::state`], to be called while no connection of this process has the original open.
    ///
    /// # Errors
    /// [`Error::Io`] when reading or writing fails, [`Error::Sqlite`] and [`Error::SourceMalformed`] when the copied
    /// journal cannot be rolled back.
    pub fn make(files: &Files, state: &State) -> Result<Option<Self>> {
        if !state.is_settled() {
            return Ok(None);
        }
        if state.journal.is_some() {
            refuse_super_journal(files)?;
        }
        let folder = private_folder()?;
        let copy = folder.path().join("copy.sqlite");
        let pieces = [
            (&files.database, "copy.sqlite"),
            (&files.wal, "copy.sqlite-wal"),
            (&files.journal, "copy.sqlite-journal"),
        ];
        let present = [true, state.wal.is_some(), state.journal.is_some()];
        for ((from, name), _) in pieces.iter().zip(present).filter(|(_, present)| *present) {
            match copy_file(from, &folder.path().join(name)) {
                Err(Error::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                other => other?,
            }
        }
        let after = files.state().map_err(|error| Error::io(&files.database, error))?;
        if after != *state {
            return Ok(None);
        }
        let connection = open_copy(&copy)?;
        // SQLite has all files open by now. Without their names nothing of the notes is left behind, whatever ends this
        // process. Where open files cannot be removed, dropping the folder does it later.
        for (_, name) in pieces {
            let _ = fs::remove_file(folder.path().join(name));
        }
        Ok(Some(Self { connection, state: state.clone(), _folder: folder }))
    }
}

/// Opens a copy and lets SQLite roll back its journal or read its WAL.
fn open_copy(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Exclusive: the WAL's index then lives in memory, not in another file. The copy needs to survive nothing.
    connection
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY")?;
    connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema; PRAGMA query_only = ON")?;
    Ok(connection)
}

/// SQLite deletes a super-journal once the databases it names need it no more. A copied journal still names the
/// original's, and nothing beside a source may be deleted.
fn refuse_super_journal(files: &Files) -> Result<()> {
    let mut tail = [0; 8];
    let read_tail = || -> io::Result<()> {
        let mut journal = File::open(&files.journal)?;
        if journal.metadata()?.len() >= 8 {
            journal.seek(SeekFrom::End(-8))?;
            journal.read_exact(&mut tail)?;
        }
        Ok(())
    };
    match { read_tail }() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(&files.journal, error)),
        _ if tail == JOURNAL_MAGIC => Err(Error::SourceMalformed {
            kind: super::KIND,
            path: files.database.clone(),
            detail: "a transaction over several databases was cut off here; open it once in its own program".to_owned(),
        }),
        _ => Ok(()),
    }
}

fn private_folder() -> Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("bearsearch-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir().map_err(|error| Error::io(std::env::temp_dir(), error))
}

fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut source = File::open(from).map_err(|error| Error::io(from, error))?;
    let mut target = options.open(to).map_err(|error| Error::io(to, error))?;
    io::copy(&mut source, &mut target).map_err(|error| Error::io(to, error))?;
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A database in WAL mode with a row that is only in its WAL, copied before the WAL was taken in.
    fn database_with_wal(folder: &Path) -> Files {
        let (original, path) = (folder.join("original"), folder.join("database"));
        let conn = Connection::open(&original).unwrap();
        conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (7)").unwrap();
        fs::copy(&original, &path).unwrap();
        fs::copy(folder.join("original-wal"), folder.join("database-wal")).unwrap();
        Files::at(&path).unwrap()
    }

    /// Copies files that hold still.
    fn copy_of(files: &Files) -> PrivateCopy {
        loop {
            if let Some(copy) = PrivateCopy::make(files, &files.state().unwrap()).unwrap() {
                return copy;
            }
        }
    }

    #[test]
    fn a_private_copy_is_complete_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let files = database_with_wal(folder.path());
        assert_eq!(files.state().unwrap().way(), Way::Copy);
        let copy = copy_of(&files);
        assert_eq!(copy.connection.query_row("SELECT x FROM t", [], |row| row.get::<_, i64>(0)), Ok(7));
        let place = copy._folder.path().to_owned();
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "the names of the copies are gone while they are read");
        drop(copy);
        assert!(!place.exists());
    }

    #[test]
    fn nobody_else_may_read_a_copied_file() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, b"text").unwrap();
        fs::set_permissions(&from, fs::Permissions::from_mode(0o644)).unwrap();
        copy_file(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"text");
        assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn files_that_changed_since_they_were_looked_at_are_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let files = database_with_wal(folder.path());
        let state = copy_of(&files).state;
        let mut wal = OpenOptions::new().append(true).open(&files.wal).unwrap();
        io::Write::write_all(&mut wal, b"more").unwrap();
        assert!(PrivateCopy::make(&files, &state).unwrap().is_none());
    }

    #[test]
    fn the_way_to_read_follows_from_the_files_beside_the_database() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("database");
        for format in ["DELETE", "WAL"] {
            let _ = fs::remove_file(&path);
            let sql = format!("PRAGMA journal_mode = {format}; CREATE TABLE t (x)");
            Connection::open(&path).unwrap().execute_batch(&sql).unwrap();
            let files = Files::at(&path).unwrap();
            let at_rest = if format == "WAL" { Way::Immutable } else { Way::InPlace };
            let journal_alone = if format == "WAL" { Way::Copy } else { Way::InPlace };
            for (beside, expected) in [
                (&[][..], at_rest),
                (&["-journal"], journal_alone),
                (&["-shm"], at_rest),
                (&["-wal"], Way::Copy),
                (&["-wal", "-journal"], Way::Copy),
                (&["-wal", "-shm"], Way::InPlace),
            ] {
                let names = beside.iter().map(|suffix| folder.path().join(format!("database{suffix}")));
                names.clone().for_each(|name| fs::write(name, b"").unwrap());
                assert_eq!(files.state().unwrap().way(), expected, "{format} with {beside:?}");
                names.for_each(|name| fs::remove_file(name).unwrap());
            }
        }
    }
}
