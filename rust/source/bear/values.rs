//! Bear's values as they really come: any column may hold NULL, another type, or bytes that are not UTF-8.
//!
//! Nothing here fails. What cannot be understood counts as absent, except flags: an odd flag counts as set, because a
//! trashed or encrypted note shown by mistake is worse than a plain one hidden.

use std::borrow::Cow;

use rusqlite::types::ValueRef;

/// 2001-01-01 00:00 UTC, where Core Data counts from, in Unix seconds.
const CORE_DATA_EPOCH_S: f64 = 978_307_200.0;
/// Unix milliseconds of the years 1000 and 3000. Outside lie Core Data's own "never" dates (years 1 and 4001) and damage.
const SANE_MS: std::ops::Range<i64> = -30_610_224_000_000..32_503_680_000_000;

/// Marks of another layout of these bytes must differ, so that documents are read again after an update.
const MARK_VERSION: u8 = 2;

/// Whether a 0/1 column is set. NULL is 0.
pub fn flag(value: ValueRef<'_>) -> bool {
    !matches!(value, ValueRef::Null | ValueRef::Integer(0)) && value != ValueRef::Real(0.0)
}

/// A text column: bytes that are not UTF-8 become U+FFFD, a BLOB is read as text, numbers as their digits.
pub fn text(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(Cow::Owned(number.to_string())),
        ValueRef::Real(number) => Some(Cow::Owned(number.to_string())),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes)),
    }
}

/// A note's unique identifier, if it can serve as an id: clean text, not empty, and not of our own form `pk:N`.
pub fn identifier(value: ValueRef<'_>) -> Option<&str> {
    let ValueRef::Text(bytes) = value else { return None };
    let id = std::str::from_utf8(bytes).ok()?;
    let has_control = id.bytes().any(|byte| byte.is_ascii_control());
    (!id.trim().is_empty() && !has_control && !super::identity::is_key(id)).then_some(id)
}

/// A date column, stored as INTEGER or REAL seconds since 2001, in milliseconds since 1970 UTC.
pub fn unix_ms(value: ValueRef<'_>) -> Option<i64> {
    let seconds = match value {
        ValueRef::Integer(seconds) => seconds as f64,
        ValueRef::Real(seconds) => seconds,
        _ => return None,
    };
    let ms = ((seconds + CORE_DATA_EPOCH_S) * 1000.0).round();
    // `as` saturates, and NaN becomes 0: exclude it before it looks like 1970.
    (!ms.is_nan()).then_some(ms as i64).filter(|ms| SANE_MS.contains(ms))
}

/// Collects what a change mark covers. One buffer serves all rows of a listing.
pub struct MarkBuilder(Vec<u8>);

impl MarkBuilder {
    /// An empty builder.
    pub fn new() -> Self {
        Self(Vec::with_capacity(256))
    }

    /// Starts the next document's mark.
    pub fn start(&mut self) {
        self.0.clear();
        self.0.push(MARK_VERSION);
    }

    /// Adds one value, with its type, so that `1`, `1.0` and `'1'` differ.
    pub fn add(&mut self, value: ValueRef<'_>) {
        // Flags take one byte each, as in SQLite's records: a usual note then fits in two blocks of BLAKE3.
        let (kind, bytes): (u8, &[u8]) = match value {
            ValueRef::Null => (0, &[]),
            ValueRef::Integer(0) => (1, &[]),
            ValueRef::Integer(1) => (2, &[]),
            ValueRef::Integer(number) => (3, &number.to_le_bytes()),
            ValueRef::Real(number) => (4, &number.to_bits().to_le_bytes()),
            ValueRef::Text(bytes) => (5, bytes),
            ValueRef::Blob(bytes) => (6, bytes),
        };
        self.0.push(kind);
        if kind >= 5 {
            self.0.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        }
        self.0.extend_from_slice(bytes);
    }

    /// The mark: 16 bytes of BLAKE3 over the values added since [`start`](Self::start) and over the set of tags.
    pub fn finish(&mut self, tags: TagSum) -> crate::source::ChangeMark {
        self.0.extend_from_slice(&tags.0.to_le_bytes());
        crate::source::ChangeMark(blake3::hash(&self.0).as_bytes()[..16].into())
    }
}

/// A count: a whole number that is not negative.
pub fn count(value: ValueRef<'_>) -> Option<usize> {
    let ValueRef::Integer(number) = value else { return None };
    usize::try_from(number).ok()
}

/// A hash of a set of tag names that does not depend on their order: the wrapping sum of the names' hashes. Attachments are
/// summed in the same way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TagSum(u128);

impl TagSum {
    /// The sum of the one name.
    pub fn of(name: &str) -> Self {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&blake3::hash(name.as_bytes()).as_bytes()[..16]);
        Self(u128::from_le_bytes(bytes))
    }

    /// Adds another set.
    pub fn add(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_null_and_zero_leave_a_flag_unset() {
        assert!(![ValueRef::Null, ValueRef::Integer(0), ValueRef::Real(0.0)].map(flag).contains(&true));
        let set = [ValueRef::Integer(1), ValueRef::Integer(-1), ValueRef::Real(0.5), ValueRef::Text(b"no")];
        assert!(!set.map(flag).contains(&false));
    }

    #[test]
    fn dates_of_both_storage_types_count_from_2001_utc() {
        assert_eq!(unix_ms(ValueRef::Integer(0)), Some(978_307_200_000));
        assert_eq!(unix_ms(ValueRef::Real(786_240_000.123_6)), Some(1_764_547_200_124));
        assert_eq!(unix_ms(ValueRef::Real(-86_400.5)), Some(978_220_799_500));
    }

    #[test]
    fn impossible_dates_are_no_dates() {
        let impossible = [
            ValueRef::Null,
            ValueRef::Text(b"2024-01-01 00:00:00"),
            ValueRef::Real(9e18),
            ValueRef::Real(f64::NAN),
            ValueRef::Real(f64::NEG_INFINITY),
            ValueRef::Integer(i64::MIN),
            ValueRef::Integer(-63_114_076_800), // year 1, Core Data's distant past
            ValueRef::Integer(63_113_904_000),  // year 4001, its distant future
        ];
        assert_eq!(impossible.map(unix_ms), [None; 8]);
    }

    #[test]
    fn identifiers_that_cannot_serve_as_ids_are_absent() {
        assert_eq!(identifier(ValueRef::Text(b"SFNote2Intro0")), Some("SFNote2Intro0"));
        let odd: [&[u8]; 6] = [b"", b"  ", b"a\0b", b"a\nb", b"pk:7", b"\xFF"];
        assert!(odd.iter().all(|bytes| identifier(ValueRef::Text(bytes)).is_none()));
        assert_eq!(identifier(ValueRef::Integer(7)), None);
    }

    #[test]
    fn a_mark_tells_types_lengths_and_tags_apart() {
        let mut builder = MarkBuilder::new();
        let mut mark = |values: &[ValueRef<'_>], tags: &[&str]| {
            builder.start();
            values.iter().for_each(|value| builder.add(*value));
            let mut sum = TagSum::default();
            tags.iter().for_each(|tag| sum.add(TagSum::of(tag)));
            builder.finish(sum)
        };
        let marks = [
            mark(&[ValueRef::Integer(1)], &[]),
            mark(&[ValueRef::Real(1.0)], &[]),
            mark(&[ValueRef::Text(b"1")], &[]),
            mark(&[ValueRef::Text(b"a"), ValueRef::Text(b"bc")], &[]),
            mark(&[ValueRef::Text(b"ab"), ValueRef::Text(b"c")], &[]),
            mark(&[ValueRef::Integer(1)], &["a"]),
            mark(&[ValueRef::Integer(1)], &["a", "b"]),
        ];
        let distinct: std::collections::HashSet<_> = marks.iter().collect();
        assert_eq!(distinct.len(), marks.len());
        assert_eq!(mark(&[], &["a", "b"]), mark(&[], &["b", "a"]));
    }
}
