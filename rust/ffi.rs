//! The only room that calls C: the vector extension's registration on a connection, and the file layer that keeps
//! sources unwritten (`read_only_vfs`). Everything `unsafe` lives here, each use with the reason why it is sound.

pub mod read_only_vfs;

use std::{
    ffi::{c_char, c_int},
    ptr,
};

use rusqlite::{Connection, ffi};

use crate::error::Result;

unsafe extern "C" {
    fn sqlite3_vector_init(
        db: *mut ffi::sqlite3,
        error: *mut *mut c_char,
        api: *const ffi::sqlite3_api_routines,
    ) -> c_int;
}

/// Registers the vector functions on `conn`, and on that connection alone.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite) when SQLite refuses a registration.
pub fn register_vector(conn: &Connection) -> Result<()> {
    // SAFETY: `conn` is borrowed, so its handle stays open for the whole call. The extension is built with
    // SQLITE_CORE and never reads the third argument; a null second argument means that no message is wanted.
    let rc = unsafe { sqlite3_vector_init(conn.handle(), ptr::null_mut(), ptr::null()) };
    if rc == ffi::SQLITE_OK { Ok(()) } else { Err(rusqlite::Error::SqliteFailure(ffi::Error::new(rc), None).into()) }
}
