//! The only room that calls C: the vector extension on a connection, what FTS5 is taught (`fts5`), the file layer that
//! keeps sources unwritten (`read_only_vfs`), and the one that checks the index's pages (`checked_vfs`). Everything `unsafe`
//! lives here, each use with the reason why it is sound.

pub mod checked_vfs;
pub mod fts5;
pub mod read_only_vfs;

use std::{
    ffi::{CStr, c_int, c_void},
    ptr::{self, NonNull},
    sync::OnceLock,
};

use rusqlite::{Connection, ffi};

use crate::error::Result;

unsafe extern "C" {
    fn bsv_cache_new() -> *mut c_void;
    fn bsv_cache_unref(cache: *mut c_void);
    fn bsv_cache_bytes(cache: *mut c_void) -> i64;
    fn bsv_register(db: *mut ffi::sqlite3, cache: *mut c_void) -> c_int;
}

/// Quantized vectors in memory, shared by all connections that are registered with the same object.
#[derive(Debug)]
pub struct VectorCache(NonNull<c_void>);

// SAFETY: `sqlite-vector.h` promises that every function on a cache may be called from any thread.
unsafe impl Send for VectorCache {}
// SAFETY: as above; the cache guards its own state.
unsafe impl Sync for VectorCache {}

impl VectorCache {
    /// An empty cache.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite) when memory is out.
    pub fn new() -> Result<Self> {
        // SAFETY: takes nothing; returns null or a cache with one reference, which `drop` gives back.
        NonNull::new(unsafe { bsv_cache_new() }).map(Self).ok_or_else(|| refused(ffi::SQLITE_NOMEM))
    }

    /// Bytes that the codes take at this moment.
    pub fn size_bytes(&self) -> u64 {
        // SAFETY: the pointer is valid until `drop`.
        u64::try_from(unsafe { bsv_cache_bytes(self.0.as_ptr()) }).unwrap_or(0)
    }
}

impl Drop for VectorCache {
    fn drop(&mut self) {
        // SAFETY: gives back the one reference taken in `new`; connections hold references of their own.
        unsafe { bsv_cache_unref(self.0.as_ptr()) }
    }
}

/// Registers the vector functions on `conn`, and on that connection alone; its quantized vectors live in `cache`.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite) when SQLite refuses a registration.
pub fn register_vector(conn: &Connection, cache: &VectorCache) -> Result<()> {
    // SAFETY: `conn` is borrowed, so its handle stays open for the whole call; `cache` is valid, and the connection
    // takes a reference of its own.
    let rc = unsafe { bsv_register(conn.handle(), cache.0.as_ptr()) };
    if rc == ffi::SQLITE_OK { Ok(()) } else { Err(refused(rc)) }
}

/// Registers a file layer under `name`, once per process and never as the default: the default one with what `change` puts in
/// its place. The default layer is its `pAppData`.
///
/// # Errors
/// The SQLite error code of a refused registration, for instance for want of memory.
///
/// # Safety
/// The functions that `change` sets keep the contract of `sqlite3_vfs` and of each file that they open. All others are the
/// default layer's, so `szOsFile` may only grow.
unsafe fn register_layer(
    name: &'static CStr,
    outcome: &OnceLock<c_int>,
    change: fn(&mut ffi::sqlite3_vfs),
) -> std::result::Result<&'static CStr, c_int> {
    let rc = *outcome.get_or_init(|| {
        // SAFETY: a null name asks for the default layer. SQLite keeps registered layers for the life of the process, and
        // the default one is static data, so the pointer, if not null, stays valid. Copying the struct copies function
        // pointers that take the layer they are called on as an argument; of these, `xOpen` alone reads `pAppData`, which
        // is why layers forward it with the original one, and `pAppData` of ours is free to hold that. What `change` does
        // is the caller's promise.
        unsafe {
            let original = ffi::sqlite3_vfs_find(ptr::null());
            if original.is_null() {
                return ffi::SQLITE_ERROR;
            }
            let mut layer = *original;
            layer.pNext = ptr::null_mut();
            layer.zName = name.as_ptr();
            layer.pAppData = original.cast();
            change(&mut layer);
            ffi::sqlite3_vfs_register(Box::leak(Box::new(layer)), 0)
        }
    });
    if rc == ffi::SQLITE_OK { Ok(name) } else { Err(rc) }
}

pub(crate) fn refused(rc: c_int) -> crate::error::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(rc), None).into()
}
