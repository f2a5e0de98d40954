//! What FTS5 is taught on a connection to the index: the tokenizer `bearsearch`, and the function `term_counts`, which hands
//! out how often the phrases of a query stand in each column of a row. Cutting a text into words is `tokenizer`'s work,
//! ranking `bm25`'s.

use std::{
    ffi::{c_char, c_int, c_void},
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice,
};

use rusqlite::{Connection, ffi};

use crate::{
    error::Result,
    tokenizer::{Mode, try_tokenize},
};

/// Bytes of one record that `term_counts` returns: the phrase's number as two little-endian bytes, then one count for each
/// column of the table, at most 255.
pub const RECORD_BYTES: usize = 2 + COLUMNS;
/// Columns of the table that `term_counts` is used on.
pub const COLUMNS: usize = 4;

/// Registers on `conn` the tokenizer `bearsearch`, and `term_counts(table)`: a BLOB of one record for each phrase of the
/// query that the row holds.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite) when this SQLite has no FTS5 or refuses a registration.
pub fn register(conn: &Connection) -> Result<()> {
    let api = api(conn)?;
    let mut tokenizer = ffi::fts5_tokenizer {
        xCreate: Some(create_tokenizer),
        xDelete: Some(delete_tokenizer),
        xTokenize: Some(tokenize),
    };
    // SAFETY: `api` is FTS5's own table of this open connection. The names are C strings, the functions have the types
    // that FTS5 asks for and need no user data; FTS5 copies the tokenizer's table.
    let rc = unsafe {
        let function = match (*api).xCreateFunction {
            Some(create) => create(api, c"term_counts".as_ptr(), ptr::null_mut(), Some(term_counts), None),
            None => ffi::SQLITE_ERROR,
        };
        match (*api).xCreateTokenizer {
            Some(create) if function == ffi::SQLITE_OK => {
                create(api, c"bearsearch".as_ptr(), ptr::null_mut(), &mut tokenizer, None)
            }
            _ => ffi::SQLITE_ERROR,
        }
    };
    if rc == ffi::SQLITE_OK { Ok(()) } else { Err(super::refused(rc)) }
}

/// The tokenizer has no state, and FTS5 wants an object: it gets the address of this.
static STATELESS: u8 = 0;

unsafe extern "C" fn create_tokenizer(
    _user: *mut c_void,
    _arguments: *mut *const c_char,
    _count: c_int,
    tokenizer: *mut *mut ffi::Fts5Tokenizer,
) -> c_int {
    // SAFETY: FTS5 passes a place for the object. It never looks behind the pointer, and neither do we.
    unsafe { *tokenizer = ptr::addr_of!(STATELESS).cast_mut().cast() };
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete_tokenizer(_tokenizer: *mut ffi::Fts5Tokenizer) {}

unsafe extern "C" fn tokenize(
    _tokenizer: *mut ffi::Fts5Tokenizer,
    context: *mut c_void,
    flags: c_int,
    text: *const c_char,
    length: c_int,
    emit: Option<unsafe extern "C" fn(*mut c_void, c_int, *const c_char, c_int, c_int, c_int) -> c_int>,
) -> c_int {
    let (Some(emit), Ok(length)) = (emit, usize::try_from(length)) else { return ffi::SQLITE_OK };
    if text.is_null() || length == 0 {
        return ffi::SQLITE_OK;
    }
    // SAFETY: FTS5 passes `length` readable bytes.
    let bytes = unsafe { slice::from_raw_parts(text.cast::<u8>(), length) };
    let mode = if flags & ffi::FTS5_TOKENIZE_QUERY != 0 { Mode::Query } else { Mode::Document };
    // A panic must not cross into C; it becomes an error of the statement.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let text = String::from_utf8_lossy(bytes);
        try_tokenize(&text, mode, |token| {
            // Other tokens at a query's position would be alternatives to FTS5, and wider ones than what was asked.
            if mode == Mode::Query && token.colocated {
                return ControlFlow::Continue(());
            }
            let flags = if token.colocated { ffi::FTS5_TOKEN_COLOCATED } else { 0 };
            let place = |at: usize| c_int::try_from(at).unwrap_or(c_int::MAX);
            let bytes = token.text.as_bytes();
            // SAFETY: `context` and `emit` belong together and to this call; the token's bytes outlive it.
            let rc = unsafe {
                emit(context, flags, bytes.as_ptr().cast(), place(bytes.len()), place(token.start), place(token.end))
            };
            if rc == ffi::SQLITE_OK { ControlFlow::Continue(()) } else { ControlFlow::Break(rc) }
        })
    }));
    match outcome {
        Ok(ControlFlow::Continue(())) => ffi::SQLITE_OK,
        Ok(ControlFlow::Break(rc)) => rc,
        Err(_) => ffi::SQLITE_ERROR,
    }
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
unsafe fn records(api: &ffi::Fts5ExtensionApi, fts: *mut ffi::Fts5Context) -> std::result::Result<Vec<u8>, c_int> {
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
