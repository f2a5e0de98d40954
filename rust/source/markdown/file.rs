//! Reading one file of a folder that others write to, and the mark that belongs to exactly what was read.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::source::stamp::Stamp;
use crate::source::{ChangeMark, bundle};

/// Larger files are hardly notes, and each is held in memory as a whole.
pub const MAX_BYTES: u64 = 256 << 20;
/// Marks of another layout of these bytes must differ, so that documents are read again after an update.
const MARK_VERSION: u8 = 2;
/// Longest wait for a file's clock to tick, see [`Stamp::unsettled_for`]. Coarser clocks are not waited for.
const MAX_WAIT: Duration = Duration::from_millis(20);

/// The mark of a file with this stamp.
pub fn mark(stamp: Stamp) -> ChangeMark {
    let mut bytes = Vec::with_capacity(33);
    bytes.push(MARK_VERSION);
    bytes.extend_from_slice(&stamp.to_bytes());
    ChangeMark(bytes.into_boxed_slice())
}

/// The mark of a TextBundle: that of its text, and what `stat` says of the file with its fields.
pub fn with_info(text: ChangeMark, folder: &Path) -> ChangeMark {
    let info = fs::symlink_metadata(folder.join(bundle::INFO)).ok();
    let mut bytes = text.0.into_vec();
    bytes.extend(info.map(|metadata| Stamp::of(&metadata).to_bytes()).unwrap_or_default());
    ChangeMark(bytes.into_boxed_slice())
}

/// A mark that no listing will ever give: the document is read again next time.
fn unsettled_mark() -> ChangeMark {
    ChangeMark(Box::new([MARK_VERSION]))
}

/// How long one call still waits for file clocks, all files together.
pub struct Patience(Duration);

impl Default for Patience {
    fn default() -> Self {
        Self(3 * MAX_WAIT)
    }
}

impl Patience {
    /// Waits until a write after this moment would change `stamp`; `false` when that takes too long.
    fn outlast(&mut self, stamp: Stamp) -> bool {
        let wait = stamp.unsettled_for(SystemTime::now());
        if wait > self.0.min(MAX_WAIT) {
            return false;
        }
        self.0 -= wait;
        if !wait.is_zero() {
            std::thread::sleep(wait);
        }
        true
    }
}

/// Reads the file at `path`, which must be no link: its bytes, its metadata and its mark.
///
/// # Errors
/// The system's; [`io::ErrorKind::InvalidInput`] when it is not a regular file, [`io::ErrorKind::FileTooLarge`] beyond
/// [`MAX_BYTES`].
pub fn read(path: &Path, patience: &mut Patience) -> io::Result<(Vec<u8>, Metadata, ChangeMark)> {
    let expected = fs::symlink_metadata(path)?;
    // Asked before opening: opening a pipe would wait for ever.
    if !expected.is_file() {
        return Err(not_a_regular_file());
    }
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || Stamp::of(&metadata).inode != Stamp::of(&expected).inode {
        return Err(not_a_regular_file());
    }
    let before = Stamp::of(&metadata);
    let is_settled = patience.outlast(before);
    let mut bytes = Vec::with_capacity(usize::try_from(before.size.min(MAX_BYTES)).unwrap_or(0));
    file.by_ref().take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it has become too large"));
    }
    // Written while it was read: the text is of no single moment. It is returned as it is, and read again next time.
    let held_still = Stamp::of(&file.metadata()?) == before;
    let mark = if is_settled && held_still { mark(before) } else { unsettled_mark() };
    Ok((bytes, metadata, mark))
}

fn not_a_regular_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

/// Knows which ids name a file under the root.
pub struct Jail<'r> {
    root: &'r Path,
    /// Folders asked about before.
    folders: HashMap<PathBuf, bool>,
}

impl<'r> Jail<'r> {
    /// A jail around `root`, which is absolute and without symbolic links.
    pub fn new(root: &'r Path) -> Self {
        Self { root, folders: HashMap::new() }
    }

    /// Whether `id` is a relative path without `..`, in a folder that is still under the root when links are resolved.
    pub fn holds(&mut self, id: &str) -> bool {
        let relative = Path::new(id);
        if id.is_empty() || !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return false;
        }
        let folder = relative.parent().map(Path::to_path_buf).unwrap_or_default();
        let root = self.root;
        *self.folders.entry(folder).or_insert_with_key(|folder| {
            // A folder that is gone holds nothing either; then the file is found missing by whoever opens it.
            fs::canonicalize(root.join(folder)).map_or(true, |real| real.starts_with(root))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp_changed(ago: Duration) -> Stamp {
        let now = crate::source::stamp::unix_ns(SystemTime::now());
        // Never a whole second: that would be taken for a coarse clock.
        let changed_ns = (now - ago.as_nanos() as i64) / 2 * 2 + 1;
        Stamp { size: 0, modified_ns: 0, changed_ns, inode: 0 }
    }

    #[test]
    fn patience_outlasts_fresh_writes_until_it_is_used_up() {
        let mut patience = Patience::default();
        assert!(patience.outlast(stamp_changed(Duration::from_secs(1))));
        assert_eq!(patience.0, 3 * MAX_WAIT, "an old write costs nothing");
        assert!(patience.outlast(stamp_changed(Duration::ZERO)));
        assert!(patience.0 < 3 * MAX_WAIT);
        patience.0 = Duration::from_millis(1);
        assert!(!patience.outlast(stamp_changed(Duration::ZERO)));
    }

    #[test]
    fn a_clock_of_whole_seconds_is_not_waited_for() {
        let second = crate::source::stamp::unix_ns(SystemTime::now()) / 1_000_000_000 * 1_000_000_000;
        let stamp = Stamp { changed_ns: second, ..stamp_changed(Duration::ZERO) };
        assert!(!Patience::default().outlast(stamp));
    }

    #[test]
    fn a_jail_holds_what_lies_below_its_root() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        let mut jail = Jail::new(&root);
        for id in ["a.md", "sub/a.md", "gone/a.md"] {
            assert!(jail.holds(id), "{id}");
        }
        for id in ["", "..", "../a.md", "sub/../../a.md", "/etc/passwd", "./a.md"] {
            assert!(!jail.holds(id), "{id}");
        }
    }
}
