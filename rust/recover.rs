//! A damaged index: moved aside, its vectors saved where they can still be read, then removed.
//!
//! Only vectors are saved. Everything else follows from the sources and is built again by the next sync.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags, params};

use crate::{
    embeddings,
    error::{Error, Result},
    schema,
    store::Store,
};

/// Byte offset of the application id in SQLite's file header (file format documentation, section 1.3).
const APPLICATION_ID_OFFSET: usize = 68;
/// Failed reads at different places after which a table is given up.
const MAX_FAILURES: u32 = 10_000;

/// Moves the damaged index at `path` aside and makes a new one with the vectors that could be saved; returns their number.
///
/// # Errors
/// As [`set_aside`] and [`salvage`].
pub fn replace(path: &Path, ours: bool) -> Result<usize> {
    let aside = set_aside(path, ours)?;
    salvage(&aside, &Store::open(path)?)
}

/// Where the damaged index of `path` is kept.
pub fn aside(path: &Path) -> PathBuf {
    with_suffix(path, ".damaged")
}

/// Moves the damaged index at `path` to `PATH.damaged`, with its WAL, both readable by their owner only.
///
/// A file that does not carry our application id is left alone unless `ours` says that nobody else can have put it there.
///
/// # Errors
/// [`Error::IndexUnusable`] when the file is not a bearsearch index or cannot be moved.
pub fn set_aside(path: &Path, ours: bool) -> Result<PathBuf> {
    let unusable = |reason: String| Error::IndexUnusable { path: path.to_owned(), reason };
    if !ours && !carries_our_id(path) {
        return Err(unusable("it is not a bearsearch index, so it was left as it is".to_owned()));
    }
    let aside = aside(path);
    for suffix in ["", "-wal", "-shm"] {
        let (from, to) = (with_suffix(path, suffix), with_suffix(&aside, suffix));
        let _ = fs::remove_file(&to);
        match fs::rename(&from, &to) {
            Ok(()) => restrict(&to),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !suffix.is_empty() => {}
            Err(error) => return Err(unusable(format!("it is damaged and cannot be moved aside ({error})"))),
        }
    }
    Ok(aside)
}

/// Copies into `store` all vectors that can be read from the damaged index at `aside`; returns how many.
///
/// They belong to texts that no chunk holds yet: the sync that follows finds them by their hash, and
/// [`embeddings::prune_all`] removes the rest.
///
/// # Errors
/// The errors of `store`; a damaged place of the old index only makes the count smaller.
pub fn salvage(aside: &Path, store: &Store) -> Result<usize> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let Ok(old) = Connection::open_with_flags(aside, flags) else { return Ok(0) };
    let _ = old.pragma_update(None, "cell_size_check", "ON");
    let Ok(models) = embeddings::models(&old) else { return Ok(0) };
    let mut saved = 0;
    for model in models {
        let table = schema::embeddings_table(model.id);
        let mut hashes = std::collections::HashMap::new();
        for (id, hash) in readable_rows(&old, "SELECT id, hash FROM texts WHERE id > ?1 ORDER BY id") {
            hashes.insert(id, hash);
        }
        let vectors = readable_rows(&old, &format!("SELECT id, embedding FROM {table} WHERE id > ?1 ORDER BY id"));
        let new = embeddings::use_model(store, &model.name, &model.fingerprint, model.dim)?;
        let table = schema::embeddings_table(new.id);
        saved += store.write(|tx| {
            let mut saved = 0;
            for (id, vector) in vectors {
                let hash: Option<[u8; 16]> = hashes.get(&id).and_then(|hash| hash.as_slice().try_into().ok());
                let Some(hash) = hash.filter(|_| is_unit(&vector, new.dim)) else { continue };
                let text_id = embeddings::text_id(tx, &hash)?;
                tx.prepare_cached("DELETE FROM pending WHERE model_id = ?1 AND text_id = ?2")?
                    .execute([new.id, text_id])?;
                tx.prepare_cached(&format!("INSERT OR REPLACE INTO {table} (id, embedding) VALUES (?1, ?2)"))?
                    .execute(params![text_id, vector])?;
                saved += 1;
            }
            Ok(saved)
        })?;
    }
    Ok(saved)
}

/// Removes an index that was set aside, once its successor is complete.
///
/// # Errors
/// [`Error::Io`] when the file cannot be removed.
pub fn discard(aside: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let path = with_suffix(aside, suffix);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(path, error)),
            _ => {}
        }
    }
    Ok(())
}

/// All rows (id, blob) that `sql` can still read. After a damaged place it tries again behind it, at growing distances.
fn readable_rows(conn: &Connection, sql: &str) -> Vec<(i64, Vec<u8>)> {
    let mut rows = Vec::new();
    let (mut after, mut step) = (i64::MIN, 1);
    for _ in 0..MAX_FAILURES {
        let Ok(mut statement) = conn.prepare(sql) else { return rows };
        let Ok(mut cursor) = statement.query([after]) else { return rows };
        loop {
            match cursor.next() {
                Ok(Some(row)) => {
                    if let (Ok(id), Ok(blob)) = (row.get::<_, i64>(0), row.get::<_, Vec<u8>>(1)) {
                        rows.push((id, blob));
                        (after, step) = (id, 1);
                    }
                }
                Ok(None) => return rows,
                Err(_) => break,
            }
        }
        after = if after == i64::MIN { 0 } else { after.saturating_add(step) };
        step = (step * 2).min(1 << 20);
    }
    rows
}

/// A vector that was torn has another length; one that was overwritten is hardly ever a unit vector.
fn is_unit(bytes: &[u8], dim: usize) -> bool {
    let (values, rest) = bytes.as_chunks::<4>();
    let square = |value: &[u8; 4]| f64::from(f32::from_le_bytes(*value)).powi(2);
    values.len() == dim && rest.is_empty() && (values.iter().map(square).sum::<f64>() - 1.0).abs() < 1e-3
}

fn carries_our_id(path: &Path) -> bool {
    let mut header = [0; 100];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    let id = &header[APPLICATION_ID_OFFSET..APPLICATION_ID_OFFSET + 4];
    read.is_ok() && id == schema::APPLICATION_ID.to_be_bytes()
}

fn restrict(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // It was created 0600 by us; this only mends what someone loosened, so a refusal is no reason to stop.
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o600));
    }
    #[cfg(not(unix))]
    let _ = path;
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(suffix);
    PathBuf::from(name)
}
