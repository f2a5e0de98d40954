//! A file layer for SQLite that seals every page of an index file when it is written and checks it when it is read.
//!
//! Only the database file itself is looked at; the WAL has sums of its own, which SQLite checks after a crash. Pages are
//! checked where SQLite reads them whole, so the layer does not offer to read parts of pages. What the sums are and which
//! files have them is `page_sum`'s business; other files pass through as they are.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::{ptr, slice};

use rusqlite::{Connection, ffi};

use crate::{
    error::Result,
    page_sum::{self, HEADER_BYTES, PAGE_BYTES, SUM_BYTES},
};

const NAME: &CStr = c"bearsearch-checked";
/// The smallest page of any SQLite database; shorter reads are of the header.
const LEAST_PAGE: usize = 512;

/// What SQLite's own layer returns for a page whose sum does not hold.
pub const PAGE_DAMAGED: c_int = ffi::SQLITE_IOERR_DATA;

/// Registers the layer, once per process and never as the default, and returns the name to open connections with.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite) for a refused registration, for instance for want of memory.
pub fn register() -> Result<&'static CStr> {
    static OUTCOME: OnceLock<c_int> = OnceLock::new();
    // SAFETY: `open` below is as `sqlite3_vfs` wants it, its files have `METHODS`, and they take that much more room.
    let registered = unsafe {
        super::register_layer(NAME, &OUTCOME, |layer| {
            layer.szOsFile += size_of::<CheckedFile>() as c_int;
            layer.xOpen = Some(open);
        })
    };
    registered.map_err(super::refused)
}

/// Asks SQLite to leave room for the sums at the end of each page, from the first write to an empty database or from the
/// next VACUUM on. Returns whether the room is there already.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn reserve_sums(conn: &Connection) -> Result<bool> {
    let mut bytes = SUM_BYTES as c_int;
    // SAFETY: the handle is open while `conn` is borrowed, the name is a C string, and this operation reads the wish from the
    // int behind the pointer and writes the former value to it, during the call only.
    let rc = unsafe {
        let bytes: *mut c_int = &mut bytes;
        ffi::sqlite3_file_control(conn.handle(), c"main".as_ptr(), ffi::SQLITE_FCNTL_RESERVE_BYTES, bytes.cast())
    };
    if rc == ffi::SQLITE_OK { Ok(bytes == SUM_BYTES as c_int) } else { Err(super::refused(rc)) }
}

/// What SQLite takes for its file. The original layer's file follows in the same allocation.
#[repr(C, align(8))]
struct CheckedFile {
    base: ffi::sqlite3_file,
    /// Whether the pages are known to carry sums.
    checked: bool,
}

/// The methods of a [`CheckedFile`]. Version 2: without memory mapping, which would bypass the checks.
static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Opens a file with the original layer, and puts the checks before it if it is a database.
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
    // SAFETY: `layer` is the struct that `register_layer` leaked, whose `pAppData` is the original layer. SQLite allocates
    // `szOsFile` bytes at `file`, aligned to eight, which is room for a `CheckedFile` and the original's file behind it. The
    // other arguments are passed on as they came.
    unsafe {
        let original: *mut ffi::sqlite3_vfs = (*layer).pAppData.cast();
        let Some(original_open) = (*original).xOpen else { return ffi::SQLITE_CANTOPEN };
        if flags & ffi::SQLITE_OPEN_MAIN_DB == 0 {
            return original_open(original, name, file, flags, opened);
        }
        let real = real(file);
        // The original need not set this when it fails, and whether it is set says whether there is something to close.
        (*real).pMethods = ptr::null();
        let rc = original_open(original, name, real, flags, opened);
        let methods: *const ffi::sqlite3_io_methods = if (*real).pMethods.is_null() { ptr::null() } else { &METHODS };
        file.cast::<CheckedFile>().write(CheckedFile { base: ffi::sqlite3_file { pMethods: methods }, checked: false });
        rc
    }
}

/// The original layer's file behind ours.
///
/// # Safety
/// `file` is the allocation of a [`CheckedFile`].
unsafe fn real(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: the allocation goes on behind the `CheckedFile`, see `open`.
    unsafe { file.cast::<CheckedFile>().add(1).cast() }
}

/// Reads, and checks whole pages.
///
/// # Safety
/// Called by SQLite only, with a file of `open` and the arguments of `sqlite3_io_methods.xRead`.
unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, to: *mut c_void, amount: c_int, offset: i64) -> c_int {
    // SAFETY: the file and its methods are as `open` left them; SQLite passes `amount` writable bytes at `to`, which the
    // original has filled when it returns one of the two codes.
    unsafe {
        let Some(original_read) = methods(file).xRead else { return ffi::SQLITE_IOERR_READ };
        let rc = original_read(real(file), to, amount, offset);
        // A page that ends too early is filled up with zeros.
        if rc != ffi::SQLITE_OK && rc != ffi::SQLITE_IOERR_SHORT_READ {
            return rc;
        }
        let amount = usize::try_from(amount).unwrap_or(0);
        if amount < LEAST_PAGE || !is_checked(file) {
            return rc;
        }
        // A read of another length means that the header names a wrong page size.
        let bytes = slice::from_raw_parts_mut(to.cast::<u8>(), amount);
        match (<&mut [u8; PAGE_BYTES]>::try_from(bytes), page_number(offset)) {
            (Ok(page), Some(number)) if rc == ffi::SQLITE_OK && page_sum::holds(page, number) => {
                page_sum::unseal(page);
                rc
            }
            _ => PAGE_DAMAGED,
        }
    }
}

/// Writes, and seals whole pages.
///
/// # Safety
/// Called by SQLite only, with a file of `open` and the arguments of `sqlite3_io_methods.xWrite`.
unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, from: *const c_void, amount: c_int, offset: i64) -> c_int {
    // SAFETY: the file and its methods are as `open` left them; SQLite passes `amount` readable bytes at `from`.
    unsafe {
        let Some(original_write) = methods(file).xWrite else { return ffi::SQLITE_IOERR_WRITE };
        let bytes = slice::from_raw_parts(from.cast::<u8>(), usize::try_from(amount).unwrap_or(0));
        if offset == 0 && page_sum::is_checked(bytes) {
            (*file.cast::<CheckedFile>()).checked = true;
        }
        match (<[u8; PAGE_BYTES]>::try_from(bytes), page_number(offset)) {
            // A copy, because the bytes are SQLite's.
            (Ok(mut page), Some(number)) if is_checked(file) => {
                page_sum::seal(&mut page, number);
                original_write(real(file), page.as_ptr().cast(), amount, offset)
            }
            _ => original_write(real(file), from, amount, offset),
        }
    }
}

/// Whether the file's pages carry sums. Once they do, they always will; until then the header is asked each time, because
/// another connection may have begun with it.
///
/// # Safety
/// `file` was opened by `open`, successfully.
unsafe fn is_checked(file: *mut ffi::sqlite3_file) -> bool {
    // SAFETY: the file and its methods are as `open` left them; the original reads into `header` no more than its length.
    unsafe {
        let known = &mut (*file.cast::<CheckedFile>()).checked;
        if !*known && let Some(original_read) = methods(file).xRead {
            let mut header = [0_u8; HEADER_BYTES];
            let rc = original_read(real(file), header.as_mut_ptr().cast(), HEADER_BYTES as c_int, 0);
            *known = rc == ffi::SQLITE_OK && page_sum::is_checked(&header);
        }
        *known
    }
}

/// The number of the page that begins at `offset`, from 0; None when none begins there.
fn page_number(offset: i64) -> Option<u64> {
    let offset = u64::try_from(offset).ok()?;
    (offset % PAGE_BYTES as u64 == 0).then_some(offset / PAGE_BYTES as u64)
}

/// The original layer's methods for the file behind ours.
///
/// # Safety
/// `file` was opened by `open`, successfully.
unsafe fn methods<'a>(file: *mut ffi::sqlite3_file) -> &'a ffi::sqlite3_io_methods {
    // SAFETY: ours has methods only if the original's has; they are static data of the original layer.
    unsafe { &*(*real(file)).pMethods }
}

/// Never parts of pages.
///
/// # Safety
/// Called by SQLite only, with a file of `open`.
unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: the file and its methods are as `open` left them.
    let offered = unsafe { methods(file).xDeviceCharacteristics.map_or(0, |method| method(real(file))) };
    offered & !ffi::SQLITE_IOCAP_SUBPAGE_READ
}

/// # Safety
/// Called by SQLite only, with a file of `open`.
unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    // SAFETY: the file and its methods are as `open` left them.
    unsafe {
        if let Some(method) = methods(file).xShmBarrier {
            method(real(file));
        }
    }
}

/// Functions that hand a call on to the original layer, and return `$missing` where it has no such method.
macro_rules! forward {
    ($($name:ident => $method:ident($($argument:ident: $kind:ty),*) else $missing:expr;)*) => {$(
        /// # Safety
        /// Called by SQLite only, with a file of `open` and the arguments of the method.
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file, $($argument: $kind),*) -> c_int {
            // SAFETY: the file and its methods are as `open` left them; the arguments are passed on as they came.
            unsafe { methods(file).$method.map_or($missing, |method| method(real(file), $($argument),*)) }
        }
    )*};
}

forward! {
    close => xClose() else ffi::SQLITE_OK;
    truncate => xTruncate(size: i64) else ffi::SQLITE_IOERR_TRUNCATE;
    sync => xSync(flags: c_int) else ffi::SQLITE_IOERR_FSYNC;
    file_size => xFileSize(size: *mut i64) else ffi::SQLITE_IOERR_FSTAT;
    lock => xLock(level: c_int) else ffi::SQLITE_IOERR_LOCK;
    unlock => xUnlock(level: c_int) else ffi::SQLITE_IOERR_UNLOCK;
    check_reserved_lock => xCheckReservedLock(reserved: *mut c_int) else ffi::SQLITE_IOERR_CHECKRESERVEDLOCK;
    file_control => xFileControl(operation: c_int, argument: *mut c_void) else ffi::SQLITE_NOTFOUND;
    sector_size => xSectorSize() else 0;
    shm_map => xShmMap(region: c_int, size: c_int, extend: c_int, memory: *mut *mut c_void) else ffi::SQLITE_IOERR_SHMMAP;
    shm_lock => xShmLock(offset: c_int, count: c_int, flags: c_int) else ffi::SQLITE_IOERR_SHMLOCK;
    shm_unmap => xShmUnmap(delete: c_int) else ffi::SQLITE_OK;
}
