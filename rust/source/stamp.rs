//! What `stat` says of a file: enough to notice every write to it, nothing about its content.
//!
//! Files are never opened here. That matters for databases: closing any descriptor of a file drops all POSIX locks that
//! the process holds on it.

use std::fs::Metadata;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Coarsest step of a file clock that keeps fractions of a second: 10 ms at a kernel tick of 100 Hz, doubled.
const FINE_TICK: Duration = Duration::from_millis(20);
/// The same for file systems that keep whole seconds (HFS+) or every other one (FAT).
const COARSE_TICK: Duration = Duration::from_secs(2);
const NS_PER_SECOND: i64 = 1_000_000_000;

/// Size, times and identity of a file at one moment. Only equality has a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// Last write of the content, nanoseconds since 1970 UTC.
    pub modified_ns: i64,
    /// Last write of content or inode, nanoseconds since 1970 UTC; cannot be set back by a program. Where the system
    /// keeps no such time, that of the last write.
    pub changed_ns: i64,
    /// Inode number, 0 where there is none.
    pub inode: u64,
}

impl Stamp {
    /// The stamp in `metadata`.
    #[cfg(unix)]
    pub fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let ns = |seconds: i64, fraction: i64| seconds.saturating_mul(NS_PER_SECOND).saturating_add(fraction);
        Self {
            size: metadata.len(),
            modified_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }

    /// The stamp in `metadata`.
    #[cfg(not(unix))]
    pub fn of(metadata: &Metadata) -> Self {
        let modified_ns = metadata.modified().map_or(0, unix_ns);
        Self { size: metadata.len(), modified_ns, changed_ns: modified_ns, inode: 0 }
    }

    /// The stamp as 32 bytes, for a change mark.
    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (at, part) in
            [self.size, self.modified_ns as u64, self.changed_ns as u64, self.inode].into_iter().enumerate()
        {
            bytes[at * 8..at * 8 + 8].copy_from_slice(&part.to_le_bytes());
        }
        bytes
    }

    /// How long, from `now` on, a write might still leave this very stamp behind.
    ///
    /// File clocks tick: of two writes within one tick, the second one changes no time. After this wait a write is sure
    /// to show. Zero when it already is, and for times in the future, which say nothing about ticks.
    pub fn unsettled_for(self, now: SystemTime) -> Duration {
        let Ok(age) = u64::try_from(unix_ns(now).saturating_sub(self.changed_ns)) else { return Duration::ZERO };
        let tick = if self.changed_ns % NS_PER_SECOND == 0 { COARSE_TICK } else { FINE_TICK };
        tick.saturating_sub(Duration::from_nanos(age))
    }
}

/// `time` in nanoseconds since 1970 UTC; the ends of the range for times before 1677 or after 2262.
pub fn unix_ns(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed_at(changed_ns: i64) -> Stamp {
        Stamp { size: 1, modified_ns: 0, changed_ns, inode: 7 }
    }

    #[test]
    fn a_write_settles_after_one_tick_of_the_file_clock() {
        let now = UNIX_EPOCH + Duration::new(1_000, 5_000_000);
        assert_eq!(changed_at(1_000_000_000_001).unsettled_for(now), Duration::from_nanos(15_000_001));
        assert_eq!(changed_at(999_900_000_000).unsettled_for(now), Duration::ZERO);
    }

    #[test]
    fn whole_seconds_are_taken_for_a_coarse_clock() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        assert_eq!(changed_at(999_000_000_000).unsettled_for(now), Duration::from_secs(1));
        assert_eq!(changed_at(997_000_000_000).unsettled_for(now), Duration::ZERO);
    }

    #[test]
    fn a_time_in_the_future_is_not_waited_for() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        assert_eq!(changed_at(2_000_000_000_001).unsettled_for(now), Duration::ZERO);
    }

    #[test]
    fn every_part_of_a_stamp_shows_in_its_bytes() {
        let base = Stamp { size: 1, modified_ns: 2, changed_ns: 3, inode: 4 };
        let others = [
            Stamp { size: 9, ..base },
            Stamp { modified_ns: 9, ..base },
            Stamp { changed_ns: 9, ..base },
            Stamp { inode: 9, ..base },
        ];
        assert!(others.iter().all(|other| other.to_bytes() != base.to_bytes()));
    }
}
