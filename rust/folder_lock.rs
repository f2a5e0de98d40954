//! One process at a time makes, moves or mends the index of a folder.
//!
//! A lock on the folder itself: it leaves no file behind, and the system takes it back from a process that dies. Everything
//! else is left to SQLite's own locks, which belong to the file and go with it when it is moved.

use std::{
    fs::{File, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// Longer than a large index takes to be mended. Whoever waited so long goes on without the lock rather than never.
const PATIENCE: Duration = Duration::from_secs(120);
const ASK_AGAIN: Duration = Duration::from_millis(5);

/// Held until it is dropped.
pub struct FolderLock {
    _folder: Option<File>,
}

impl FolderLock {
    /// Waits for the lock on the folder of the index at `path`.
    ///
    /// Where folders cannot be locked (Windows, some network file systems) nothing is locked: the order of steps alone then
    /// keeps an index that is used by one process at a time safe.
    pub fn take(path: &Path) -> Self {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        Self { _folder: File::open(folder).ok().filter(wait_for) }
    }
}

fn wait_for(folder: &File) -> bool {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match folder.try_lock() {
            Ok(()) => return true,
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(ASK_AGAIN),
            Err(_) => return false,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn whoever_comes_second_waits_until_the_first_is_done_and_no_file_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.sqlite");
        let first = FolderLock::take(&path);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let _lock = FolderLock::take(&path);
                done.load(Ordering::SeqCst)
            });
            // Tells nothing if the second thread has not started, but never fails by chance.
            std::thread::yield_now();
            done.store(true, Ordering::SeqCst);
            drop(first);
            assert!(second.join().unwrap());
        });
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
