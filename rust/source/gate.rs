//! The gate before a source's own comparison: whether anything can have changed, asked of `stat` alone.
//!
//! Only for sources that are one file with known companions. Whoever keeps a gate (`sync`) compares it for equality and
//! skips the source when nothing differs. What is in the files is not known here.

use std::path::Path;
use std::time::SystemTime;

use super::SourceKind;
use super::bear::database_stamps;
use super::stamp::{Stamp, unix_ns};

/// How old the last write must be before a gate may be believed. Twice the step of the coarsest file clock in use (FAT
/// keeps every other second): of two writes within one step, the second changes no time.
const SETTLED_NS: i64 = 2 * 1_000_000_000;
/// Gates of another layout of these bytes must differ.
const GATE_VERSION: u8 = 1;

/// What `stat` said of a source's files at one moment: inode, size, time of last write and time of last inode change,
/// in nanoseconds, of each file, or that it was not there. Only equality has a meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// In a fixed order; Bear: the database, `-wal`, `-journal`; a backup: the file.
    stamps: Vec<Option<Stamp>>,
}

/// The gate of the source of `kind` at `path`, by `stat` alone: no file is opened, so no lock of this process is lost.
///
/// `None` when there is no gate: the source is a folder, or its files cannot be looked at. Then only opening the source
/// tells what is the matter.
///
/// To be taken before the source is listed: what is written during the listing then shows in the next gate.
pub fn gate(kind: SourceKind, path: &Path) -> Option<Gate> {
    match kind {
        SourceKind::Bear => database_stamps(path).ok().map(|stamps| Gate { stamps: stamps.to_vec() }),
        SourceKind::Backup => {
            let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
            Some(Gate { stamps: vec![Some(Stamp::of(&metadata))] })
        }
        SourceKind::Markdown | SourceKind::Given => None,
    }
}

impl Gate {
    /// The gate as bytes, to be kept and compared.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(1 + self.stamps.len() * 33);
        bytes.push(GATE_VERSION);
        for stamp in &self.stamps {
            bytes.push(u8::from(stamp.is_some()));
            bytes.extend_from_slice(&stamp.map(Stamp::to_bytes).unwrap_or_default());
        }
        bytes
    }

    /// Whether this gate, taken at `now`, may be kept: every write after it is sure to make another one.
    ///
    /// All files were last written more than two seconds before. The inode's own time is asked as well, because a
    /// program that copies a file can set the time of its last write back. Times in the future are never believed.
    pub fn may_be_kept(&self, now: SystemTime) -> bool {
        let latest = unix_ns(now).saturating_sub(SETTLED_NS);
        self.stamps.iter().flatten().all(|stamp| stamp.modified_ns < latest && stamp.changed_ns < latest)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn gate_of(path: &Path) -> Gate {
        gate(SourceKind::Bear, path).unwrap()
    }

    #[test]
    fn every_write_to_the_database_or_a_file_beside_it_makes_another_gate() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("database.sqlite");
        let (wal, journal) = (folder.path().join("database.sqlite-wal"), folder.path().join("database.sqlite-journal"));
        fs::write(&database, b"first").unwrap();
        let mut seen = vec![gate_of(&database).to_bytes()];
        let mut look = |what: &str| {
            let bytes = gate_of(&database).to_bytes();
            assert_eq!(bytes, gate_of(&database).to_bytes(), "nothing happened between two looks");
            assert!(!seen.contains(&bytes), "{what}");
            seen.push(bytes);
        };
        fs::write(&database, b"longer than the first").unwrap();
        look("the database grew");
        fs::write(&wal, b"").unwrap();
        look("an empty WAL appeared");
        fs::write(&wal, b"frame").unwrap();
        look("the WAL grew");
        fs::rename(&wal, &journal).unwrap();
        look("a journal took the WAL's place");
        let other = folder.path().join("other");
        fs::copy(&database, &other).unwrap();
        fs::rename(&other, &database).unwrap();
        look("the database was replaced by one of the same size");
    }

    #[test]
    fn a_gate_is_kept_only_when_the_last_write_is_over_two_seconds_old() {
        let second = |at: u64| UNIX_EPOCH + Duration::from_secs(at);
        let stamp = |modified: i64, changed: i64| {
            let ns = 1_000_000_000;
            Some(Stamp { size: 1, modified_ns: modified * ns, changed_ns: changed * ns, inode: 1 })
        };
        let may_be_kept = |stamps: &[Option<Stamp>]| Gate { stamps: stamps.to_vec() }.may_be_kept(second(1_000));
        assert!(may_be_kept(&[stamp(997, 997), None, None]));
        assert!(may_be_kept(&[stamp(500, 997), stamp(1, 1), None]));
        assert!(!may_be_kept(&[stamp(998, 500), None, None]), "two seconds are not more than two seconds");
        assert!(!may_be_kept(&[stamp(500, 999), None, None]), "the time of the last write was set back");
        assert!(!may_be_kept(&[stamp(500, 500), stamp(999, 999), None]), "the WAL counts as well");
        assert!(!may_be_kept(&[stamp(2_000, 2_000), None, None]), "a time in the future says nothing");
    }

    #[test]
    fn what_cannot_be_looked_at_has_no_gate() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(gate(SourceKind::Bear, &folder.path().join("missing.sqlite")), None);
        assert_eq!(gate(SourceKind::Bear, folder.path()), None, "a folder is no database");
        assert_eq!(gate(SourceKind::Markdown, folder.path()), None);
    }

    #[test]
    #[cfg(unix)]
    fn a_link_to_the_database_has_the_gate_of_what_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let (database, link) = (folder.path().join("database.sqlite"), folder.path().join("link"));
        fs::write(&database, b"x").unwrap();
        fs::write(folder.path().join("database.sqlite-wal"), b"y").unwrap();
        std::os::unix::fs::symlink(&database, &link).unwrap();
        assert_eq!(gate_of(&link), gate_of(&database));
    }
}
