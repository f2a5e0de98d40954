//! How many pieces the uncased WordPiece vocabulary of BERT makes of a word: exact for words the vocabulary can spell,
//! never fewer otherwise.
//!
//! The English embedding models share this vocabulary of 30,522 pieces, so it measures how much of a text one of them
//! takes. It is kept as a table of 24-bit fingerprints (`wordpiece.bin`, 192 KiB), which knows a piece when it sees one
//! but cannot list them; a chance hit has probability 1e-7. `examples/wordpiece_table.rs` writes the file from a
//! `tokenizer.json`. Turning text into token ids is the embedding library's business, not done here.

/// Longest piece that opens a word and longest that goes on with one, in bytes.
const MAX_OPENING_BYTES: usize = 18;
const MAX_CONTINUING_BYTES: usize = 10;
const SLOTS: usize = 1 << 16;
const SLOT_BYTES: usize = 3;
/// Seeds that keep pieces that open a word and pieces that go on with one apart.
const OPENING: u64 = 0xcbf2_9ce4_8422_2325;
const CONTINUING: u64 = 0x8422_2325_cbf2_9ce4;

static TABLE: &[u8; SLOTS * SLOT_BYTES] = include_bytes!("wordpiece.bin");

/// One step of FNV-1a in 64 bits.
#[inline]
fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

/// The slot where a search for this hash begins, and its fingerprint, which is never 0.
#[inline]
fn place(hash: u64) -> (usize, u32) {
    let mixed = (hash ^ (hash >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 48) as usize, ((mixed >> 24) as u32 & 0xFF_FFFF).max(1))
}

#[inline]
fn is_piece(hash: u64) -> bool {
    let (mut slot, fingerprint) = place(hash);
    loop {
        let at = slot * SLOT_BYTES;
        let found = u32::from_le_bytes([TABLE[at], TABLE[at + 1], TABLE[at + 2], 0]);
        if found == fingerprint {
            return true;
        }
        if found == 0 {
            return false;
        }
        slot = (slot + 1) % SLOTS;
    }
}

/// Number of pieces of one word, at least 1.
///
/// `word` is lower case, decomposed and without accents, as BERT's normalizer leaves it; `hash` is [`word_hash`] of it.
/// A character that no piece covers counts one (BERT gives up on the whole word instead: one unknown token).
#[inline]
pub(crate) fn pieces(word: &[u8], hash: u64) -> usize {
    if is_piece(hash) { 1 } else { pieces_of_unknown(word) }
}

/// Hash of a word's bytes, made byte by byte with [`extend_hash`].
pub(crate) const EMPTY_HASH: u64 = OPENING;

/// The hash of a word that is one byte longer.
#[inline]
pub(crate) fn extend_hash(hash: u64, byte: u8) -> u64 {
    step(hash, byte)
}

/// WordPiece itself: the longest piece that fits, again and again.
///
/// Of the pieces that begin beyond ASCII all but 21 are single characters, so there each character counts one unseen.
fn pieces_of_unknown(word: &[u8]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < word.len() {
        if word[at] >= 0x80 {
            at += 1 + word[at + 1..].iter().take_while(|byte| (**byte & 0xC0) == 0x80).count();
            count += 1;
            continue;
        }
        let (mut hash, longest) =
            if at == 0 { (OPENING, MAX_OPENING_BYTES) } else { (CONTINUING, MAX_CONTINUING_BYTES) };
        let mut taken = 0;
        for (length, &byte) in word[at..].iter().take(longest).enumerate() {
            hash = step(hash, byte);
            if is_piece(hash) {
                taken = length + 1;
            }
        }
        at += taken.max(1);
        count += 1;
    }
    count.max(1)
}

/// The bytes of `wordpiece.bin` for these pieces; a piece that goes on with a word is spelled with `##` in front.
///
/// Returns `None` when there are more pieces than the table has room for.
pub fn build_table<'a>(vocabulary: impl IntoIterator<Item = &'a str>) -> Option<Vec<u8>> {
    let mut table = vec![0_u32; SLOTS];
    for (count, piece) in vocabulary.into_iter().enumerate() {
        if count >= SLOTS * 3 / 4 {
            return None;
        }
        let (seed, letters) = match piece.strip_prefix("##") {
            Some(letters) if !letters.is_empty() => (CONTINUING, letters),
            _ => (OPENING, piece),
        };
        let (mut slot, fingerprint) = place(letters.bytes().fold(seed, step));
        while table[slot] != 0 && table[slot] != fingerprint {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = fingerprint;
    }
    Some(table.iter().flat_map(|slot| slot.to_le_bytes().into_iter().take(SLOT_BYTES)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(word: &str) -> usize {
        pieces(word.as_bytes(), word.bytes().fold(EMPTY_HASH, extend_hash))
    }

    #[test]
    fn words_of_the_vocabulary_are_one_piece() {
        for word in ["the", "house", "internationally", "1990", "a", "東", "км"] {
            let expected = if word == "км" { 2 } else { 1 };
            assert_eq!(count(word), expected, "{word}");
        }
    }

    #[test]
    fn other_words_fall_into_the_longest_pieces() {
        // Counts as the tokenizer of all-MiniLM-L6-v2 gives them.
        for (word, expected) in [("tokenizers", 3), ("kubernetes", 4), ("hauptstadt", 3), ("bundesregierung", 6)] {
            assert_eq!(count(word), expected, "{word}");
        }
    }

    #[test]
    fn a_character_that_no_piece_covers_counts_one() {
        assert_eq!(count("\u{1F600}"), 1);
        assert_eq!(count(&"\u{1F600}".repeat(5)), 5);
        assert_eq!(count(""), 1);
    }

    #[test]
    fn the_stored_table_is_no_denser_than_its_false_hits_allow() {
        let used = TABLE.chunks_exact(SLOT_BYTES).filter(|slot| *slot != [0; SLOT_BYTES]).count();
        assert!((29_000..=30_522).contains(&used), "{used}");
    }
}
