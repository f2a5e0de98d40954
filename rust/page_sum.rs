//! The checksum that ends every page of the index file: which files carry it, what it is, and whether it holds.
//!
//! SQLite itself notices damage that breaks a tree's shape, but not a flipped bit in a text, a word list or a vector. With
//! a sum in each page nothing that was damaged on disk is ever taken for an answer. Pure: reading and writing pages is
//! done by `ffi::checked_vfs`.
//!
//! A page is sealed when it reaches the database file, not in the WAL. Another program that works off our WAL, as the
//! `sqlite3` shell does when it is the last to leave, therefore leaves pages without a seal: eight zero bytes. Those are
//! believed, unless nothing else is in them either. Damage does not make a sealed page one without a seal.

use crate::schema::{APPLICATION_ID, CHECKED_SINCE, PAGE_SIZE_BYTES};

/// Bytes of a page, of which the last [`SUM_BYTES`] are its checksum.
pub const PAGE_BYTES: usize = PAGE_SIZE_BYTES as usize;
/// Bytes that SQLite leaves free at the end of each page for the sum.
pub const SUM_BYTES: usize = 8;
/// Bytes of SQLite's file header, at the start of the first page.
pub const HEADER_BYTES: usize = 100;

/// Places in the file header (SQLite's file format, section 1.3).
const RESERVED_AT: usize = 20;
const USER_VERSION_AT: usize = 60;
const APPLICATION_ID_AT: usize = 68;

const LANES: usize = 8;
/// Odd, so that multiplying by it loses nothing; otherwise without a meaning (2^64 divided by the golden ratio).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Whether a file that begins with `header` carries our application id. Damage may have hit the id itself, so three of its
/// four bytes suffice: another program's id is that near to ours once in four million times.
pub fn is_ours(header: &[u8]) -> bool {
    let id = header.get(APPLICATION_ID_AT..APPLICATION_ID_AT + 4).and_then(|id| <[u8; 4]>::try_from(id).ok());
    id.is_some_and(|id| is_nearly_ours(i32::from_be_bytes(id)))
}

/// Whether `application_id` is ours, or was before one of its bytes was damaged.
pub fn is_nearly_ours(application_id: i32) -> bool {
    (application_id ^ APPLICATION_ID).to_be_bytes().into_iter().filter(|difference| *difference == 0).count() >= 3
}

/// Whether the pages of a file that begins with `header` carry sums.
///
/// The reserved bytes and the layout's version both say so, and one of them suffices: a file with damage in one of the two
/// must not pass for one without sums.
pub fn is_checked(header: &[u8]) -> bool {
    if header.len() < HEADER_BYTES || !is_ours(header) {
        return false;
    }
    let version = header[USER_VERSION_AT..USER_VERSION_AT + 4].iter().fold(0, |v, byte| v << 8 | i64::from(*byte));
    usize::from(header[RESERVED_AT]) == SUM_BYTES || version >= CHECKED_SINCE
}

/// Writes the sum of page `number`, counted from 0, to the end of `page`.
pub fn seal(page: &mut [u8; PAGE_BYTES], number: u64) {
    let sum = sum(page, number).to_le_bytes();
    page[PAGE_BYTES - SUM_BYTES..].copy_from_slice(&sum);
}

/// Whether `page` is as it was sealed at place `number`, counted from 0, or was never sealed.
pub fn holds(page: &[u8; PAGE_BYTES], number: u64) -> bool {
    let seal = &page[PAGE_BYTES - SUM_BYTES..];
    // What a file system lost reads as zeros, too, and no page of SQLite's in use does.
    if *seal == [0; SUM_BYTES] { page.iter().any(|byte| *byte != 0) } else { *seal == sum(page, number).to_le_bytes() }
}

/// Takes the seal off again, so that it does not come back with a later content of the page.
pub fn unseal(page: &mut [u8; PAGE_BYTES]) {
    page[PAGE_BYTES - SUM_BYTES..].fill(0);
}

/// The page's number counts, so that a page written to another's place is noticed as well.
///
/// Each step loses nothing of what came before, so a change within eight bytes always changes the sum; any other change
/// goes unnoticed once in 2^64 times. Eight lanes, because one would wait for each multiplication.
fn sum(page: &[u8; PAGE_BYTES], number: u64) -> u64 {
    let mut lanes = [0_u64; LANES];
    for row in page[..PAGE_BYTES - SUM_BYTES].chunks(LANES * 8) {
        let (words, _) = row.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR).rotate_left(29);
        }
    }
    let mixed = |sum: u64, lane: u64| (sum ^ lane).wrapping_mul(FACTOR).rotate_left(31);
    // Never 0, which stands for no seal.
    lanes.into_iter().fold(number, mixed).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(seed: u8) -> [u8; PAGE_BYTES] {
        let mut page = [0; PAGE_BYTES];
        page.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at % 251) as u8 ^ seed);
        page
    }

    #[test]
    fn every_flipped_bit_of_a_page_is_noticed() {
        let mut sealed = page(3);
        seal(&mut sealed, 7);
        assert!(holds(&sealed, 7));
        for bit in 0..PAGE_BYTES * 8 {
            sealed[bit / 8] ^= 1 << (bit % 8);
            assert!(!holds(&sealed, 7), "bit {bit}");
            sealed[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_page_in_another_place_and_a_page_of_zeros_are_noticed() {
        let mut sealed = page(3);
        seal(&mut sealed, 7);
        assert!(!holds(&sealed, 8));
        for number in [0, 1, 1000] {
            assert!(!holds(&[0; PAGE_BYTES], number));
        }
    }

    #[test]
    fn a_page_that_was_never_sealed_is_believed() {
        let mut sealed = page(3);
        seal(&mut sealed, 7);
        unseal(&mut sealed);
        assert!(holds(&sealed, 7) && holds(&sealed, 8));
    }

    proptest! {
        #[test]
        fn overwritten_stretches_are_noticed(start in 0..PAGE_BYTES, length in 1..600_usize, seed: u8, with: u8) {
            let mut sealed = page(seed);
            seal(&mut sealed, 0);
            let mut damaged = sealed;
            damaged[start..(start + length).min(PAGE_BYTES)].fill(with);
            let lost_seal = damaged[PAGE_BYTES - SUM_BYTES..] == [0; SUM_BYTES];
            prop_assert!(holds(&damaged, 0) == (damaged == sealed) || lost_seal);
        }
    }

    #[test]
    fn one_damaged_byte_of_the_header_does_not_make_a_checked_file_an_unchecked_one() {
        let mut header = [0; HEADER_BYTES];
        header[RESERVED_AT] = 8;
        header[USER_VERSION_AT + 3] = u8::try_from(CHECKED_SINCE).unwrap();
        header[APPLICATION_ID_AT..APPLICATION_ID_AT + 4].copy_from_slice(&APPLICATION_ID.to_be_bytes());
        for at in 0..HEADER_BYTES {
            for value in 0..=u8::MAX {
                let mut damaged = header;
                damaged[at] = value;
                assert!(is_checked(&damaged), "byte {at} is {value}");
            }
        }
        header[RESERVED_AT] = 0;
        header[USER_VERSION_AT + 3] = u8::try_from(CHECKED_SINCE - 1).unwrap();
        assert!(!is_checked(&header), "an older index has no sums");
        header[APPLICATION_ID_AT..APPLICATION_ID_AT + 4].copy_from_slice(b"sqli");
        assert!(!is_ours(&header));
    }
}
