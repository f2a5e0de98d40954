//! What FTS5 is taught on a connection to the index: `term_counts`, which hands out how often each phrase of a query stands
//! in each column of a row. Ranking with these numbers is `bm25`'s work.

use std::{
    ffi::{c_int, c_void},
    ptr,
};

use rusqlite::{Connection, ffi};

use crate::error::Result;

/// Bytes of one record that `term_counts` returns: the phrase's number as two little-endian bytes, then one count for each
/// column of the table, at most 255.
pub const RECORD_BYTES: usize = 2 + COLUMNS;
/// Columns of the table that `term_counts` is used on.
pub const COLUMNS: usize = 4;

/// Registers `term_counts(table)` on `conn`: a BLOB of one record for each phrase of the query that the row holds.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite) when this SQLite has no FTS5 or refuses the registration.
pub fn register(conn: &Connection) -> Result<()> {
    let api = api(conn)?;
    // SAFETY: `api` is FTS5's own table of this open connection. The name is a C string, the function has the type
    // that FTS5 asks for and needs no user data.
    let rc = unsafe {
        match (*api).xCreateFunction {
            Some(create) => create(api, c"term_counts".as_ptr(), ptr::null_mut(), Some(term_counts), None),
            None => ffi::SQLITE_ERROR,
        }
    };
    if rc == ffi::SQLITE_OK { Ok(()) } else { Err(super::refused(rc)) }
}

/// FTS5's table of functions, as its documentation says to ask for it: `SELECT fts5(?1)` with a pointer bound.
fn api(conn: &Connection) -> Result<*mut ffi::fts5_api> {
    let mut api: *mut ffi::fts5_api = ptr::null_mut();
    let mut statement: *mut ffi::sqlite3_stmt = ptr::null_mut();
    // SAFETY: the handle is open while `conn` is borrowed. The statement is finalized before `api`, to which SQLite
    // writes when it is stepped, goes out of scope.
    let rc = unsafe {
        let mut rc =
            ffi::sqlite3_prepare_v2(conn.handle(), c"SELECT fts5(?1)".as_ptr(), -1, &mut statement, ptr::null_mut());
        if rc == ffi::SQLITE_OK {
            let place: *mut *mut ffi::fts5_api = &mut api;
            ffi::sqlite3_bind_pointer(statement, 1, place.cast::<c_void>(), c"fts5_api_ptr".as_ptr(), None);
            ffi::sqlite3_step(statement);
            rc = ffi::sqlite3_finalize(statement);
        }
        rc
    };
    match (rc, api.is_null()) {
        (ffi::SQLITE_OK, false) => Ok(api),
        (ffi::SQLITE_OK, true) => Err(super::refused(ffi::SQLITE_ERROR)),
        (rc, _) => Err(super::refused(rc)),
    }
}

unsafe extern "C" fn term_counts(
    api: *const ffi::Fts5ExtensionApi,
    fts: *mut ffi::Fts5Context,
    context: *mut ffi::sqlite3_context,
    _arguments: c_int,
    _values: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: FTS5 calls with its own table and the contexts of the row at hand, all valid for this call. No function
    // called here panics, so nothing unwinds into C.
    let records = unsafe { records(&*api, fts) };
    // SAFETY: `context` is the result slot of this call; SQLite copies the bytes before it returns (SQLITE_TRANSIENT).
    unsafe {
        match records {
            Ok(bytes) => ffi::sqlite3_result_blob64(
                context,
                bytes.as_ptr().cast::<c_void>(),
                bytes.len() as u64,
                ffi::SQLITE_TRANSIENT(),
            ),
            Err(rc) => ffi::sqlite3_result_error_code(context, rc),
        }
    }
}

/// # Safety
/// `api` and `fts` belong to the FTS5 row at hand.
unsafe fn records(
    api: &ffi::Fts5ExtensionApi,
    fts: *mut ffi::Fts5Context,
) -> std::result::Result<Vec<u8>, c_int> {
    let (Some(phrase_count), Some(first), Some(next)) = (api.xPhraseCount, api.xPhraseFirst, api.xPhraseNext) else {
        return Err(ffi::SQLITE_ERROR);
    };
    let mut bytes = Vec::with_capacity(4 * RECORD_BYTES);
    // SAFETY: as promised by the caller.
    let phrases = unsafe { phrase_count(fts) };
    for phrase in 0..phrases {
        let mut iterator = ffi::Fts5PhraseIter { a: ptr::null(), b: ptr::null() };
        let (mut column, mut offset) = (-1, 0);
        let mut counts = [0u8; COLUMNS];
        // SAFETY: as promised by the caller; the iterator is filled by FTS5 and used for this row only.
        let rc = unsafe { first(fts, phrase, &mut iterator, &mut column, &mut offset) };
        if rc != ffi::SQLITE_OK {
            return Err(rc);
        }
        while let Ok(place) = usize::try_from(column) {
            if let Some(count) = counts.get_mut(place) {
                *count = count.saturating_add(1);
            }
            // SAFETY: as above.
            unsafe { next(fts, &mut iterator, &mut column, &mut offset) };
        }
        if counts.iter().any(|count| *count > 0) {
            bytes.extend_from_slice(&u16::try_from(phrase).unwrap_or(u16::MAX).to_le_bytes());
            bytes.extend_from_slice(&counts);
        }
    }
    Ok(bytes)
}
