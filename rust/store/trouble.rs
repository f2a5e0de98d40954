//! SQLite's words about the index file -> the error that names the remedy.

use std::path::Path;

use rusqlite::{
    ErrorCode,
    ffi::{SQLITE_IOERR_FSYNC, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_WRITE},
};

use crate::{
    error::{Error, Result},
    ffi::checked_vfs::PAGE_DAMAGED,
};

/// What was done to the index when SQLite refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Opening or reading it.
    Reading,
    /// Writing to it; it can still be read.
    Writing,
}

/// Turns SQLite's words into the error that names the remedy.
///
/// # Errors
/// `result`'s error, in the engine's own words where there are some.
pub fn classify<T>(path: &Path, doing: Doing, result: Result<T>) -> Result<T> {
    result.map_err(|error| match error {
        Error::Sqlite(error) => classify_sqlite(path, doing, error),
        other => other,
    })
}

fn classify_sqlite(path: &Path, doing: Doing, error: rusqlite::Error) -> Error {
    let path = path.to_owned();
    if is_damage(&error) {
        return Error::IndexCorrupt { path, detail: damage(&error) };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            Error::IndexBusy { path }
        }
        Some(_) if is_refusal(&error) => {
            let reason = refusal(&error);
            match doing {
                Doing::Reading => Error::IndexUnusable { path, reason },
                Doing::Writing => Error::IndexUnwritable { path, reason },
            }
        }
        _ => Error::Sqlite(error),
    }
}

/// Whether the file is not what was written to it.
fn is_damage(error: &rusqlite::Error) -> bool {
    // A value of a type that we never store, or text that is not UTF-8.
    let odd_value = matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
    );
    let code = error.sqlite_error_code();
    let odd_file = matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase));
    odd_value || odd_file || extended_code(error) == Some(PAGE_DAMAGED)
}

fn damage(error: &rusqlite::Error) -> String {
    match extended_code(error) {
        Some(PAGE_DAMAGED) => "a page does not match its checksum".to_owned(),
        Some(_) => error.to_string(),
        None => "a stored value is of a kind that is never stored there".to_owned(),
    }
}

/// Whether the system, and not the file, stands in the way.
pub fn is_refusal(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DiskFull
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::SystemIoFailure
                | ErrorCode::PermissionDenied
                | ErrorCode::AuthorizationForStatementDenied
        )
    )
}

/// What stands in the way, as a clause.
pub fn refusal(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk is full".to_owned(),
        Some(ErrorCode::ReadOnly) => "it may not be written".to_owned(),
        Some(ErrorCode::CannotOpen) => "it, or a file beside it, may not be opened".to_owned(),
        Some(ErrorCode::SystemIoFailure) => match extended_code(error) {
            // Where memory is shared through a file, that is where a full disk shows first.
            Some(SQLITE_IOERR_WRITE | SQLITE_IOERR_SHMSIZE | SQLITE_IOERR_SHMMAP | SQLITE_IOERR_FSYNC) => {
                format!("the disk is full or fails ({error})")
            }
            _ => format!("the system refuses ({error})"),
        },
        _ => format!("the system refuses ({error})"),
    }
}

fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}
