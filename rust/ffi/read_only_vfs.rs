//! A file layer for SQLite that cannot create, write or delete a named file.
//!
//! `mode=ro` is not enough to leave another program's folder alone: on a database in WAL mode SQLite still creates the
//! `-wal` file when it is missing, and deletes a journal that it takes for a remnant. Through this layer every file
//! with a name is opened as it is and for reading, or not at all; temporary files without a name are left to SQLite.
//! The shared-memory file is opened elsewhere in SQLite: pass `readonly_shm=1` in the file's URI as well. (What remains:
//! a process of root then still sets that file's owner to the database's.)

use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

use rusqlite::ffi;

const NAME: &CStr = c"bearsearch-read-only";

/// Registers the layer, once per process and never as the default, and returns the name to open connections with.
///
/// # Errors
/// The SQLite error code of a refused registration, for instance for want of memory.
pub fn register() -> Result<&'static CStr, c_int> {
    static OUTCOME: OnceLock<c_int> = OnceLock::new();
    // SAFETY: `open` and `delete` below are as `sqlite3_vfs` wants them, and files are the default layer's.
    unsafe {
        super::register_layer(NAME, &OUTCOME, |layer| {
            layer.xOpen = Some(open);
            layer.xDelete = Some(delete);
        })
    }
}

/// Opens `name` for reading if it exists. Never creates it.
///
/// # Safety
/// Called by SQLite only, with the layer registered above and the arguments of `sqlite3_vfs.xOpen`.
unsafe extern "C" fn open(
    layer: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    opened: *mut c_int,
) -> c_int {
    // SAFETY: `layer` is the struct that `register_layer` leaked, whose `pAppData` is the original layer. The other
    // arguments are passed on as they came; only bits of `flags` change.
    unsafe {
        let original: *mut ffi::sqlite3_vfs = (*layer).pAppData.cast();
        let Some(original_open) = (*original).xOpen else { return ffi::SQLITE_CANTOPEN };
        let changing = ffi::SQLITE_OPEN_READWRITE
            | ffi::SQLITE_OPEN_CREATE
            | ffi::SQLITE_OPEN_EXCLUSIVE
            | ffi::SQLITE_OPEN_DELETEONCLOSE;
        if name.is_null() {
            return original_open(original, name, file, flags, opened);
        }
        let mut flags = flags & !changing | ffi::SQLITE_OPEN_READONLY;
        // A process of root would give journals and WALs to the database's owner. To other kinds of file SQLite does
        // not do that, and nothing else depends on the kind.
        let owned = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_WAL;
        if flags & owned != 0 {
            flags = flags & !owned | ffi::SQLITE_OPEN_SUBJOURNAL;
        }
        original_open(original, name, file, flags, opened)
    }
}

/// Deletes nothing.
///
/// # Safety
/// Called by SQLite only; the arguments are not looked at.
unsafe extern "C" fn delete(_layer: *mut ffi::sqlite3_vfs, _name: *const c_char, _sync_folder: c_int) -> c_int {
    ffi::SQLITE_IOERR_DELETE
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, OpenFlags};

    use super::*;

    fn names(folder: &std::path::Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_wal_database_without_its_wal_is_refused_rather_than_given_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sqlite");
        Connection::open(&path).unwrap().execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)").unwrap();
        assert_eq!(names(folder.path()), ["a.sqlite"]);

        let read = |vfs: &CStr| {
            let conn = Connection::open_with_flags_and_vfs(&path, OpenFlags::SQLITE_OPEN_READ_ONLY, vfs)?;
            conn.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0))
        };
        let error = read(register().unwrap()).unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::CannotOpen));
        assert_eq!(names(folder.path()), ["a.sqlite"]);
    }

    #[test]
    fn writing_and_creating_fail_and_reading_works() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sqlite");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (7)").unwrap();

        let vfs = register().unwrap();
        let conn = Connection::open_with_flags_and_vfs(&path, OpenFlags::SQLITE_OPEN_READ_WRITE, vfs).unwrap();
        assert_eq!(conn.query_row("SELECT x FROM t", [], |row| row.get::<_, i64>(0)), Ok(7));
        assert!(conn.execute_batch("INSERT INTO t VALUES (8)").is_err());
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        assert!(Connection::open_with_flags_and_vfs(folder.path().join("b.sqlite"), flags, vfs).is_err());
        assert_eq!(names(folder.path()), ["a.sqlite"]);
    }

    #[test]
    fn sorting_more_than_fits_in_memory_still_finds_a_place_for_its_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sqlite");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let conn = Connection::open_with_flags_and_vfs(&path, flags, register().unwrap()).unwrap();
        conn.execute_batch("PRAGMA temp_store = FILE; PRAGMA cache_size = 10").unwrap();
        let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                   SELECT count(*) FROM (SELECT i, randomblob(200) AS b FROM n ORDER BY b LIMIT -1 OFFSET 1)";
        assert_eq!(conn.query_row(sql, [], |row| row.get::<_, i64>(0)), Ok(19_999));
    }
}
