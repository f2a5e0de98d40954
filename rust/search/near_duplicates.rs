//! Notes that say nearly the same as one above them: copies, exports, versions of one text. Numbers and text only.
//!
//! Two texts are compared by their shingles, runs of three words, of which a sketch keeps the smallest hashes (Broder,
//! SEQUENCES 1997). What is done with a duplicate is decided in `evidence`.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes of a note that are compared: a copy shows at its beginning.
const COMPARED_BYTES: usize = 4096;
/// Words of a shingle.
const SHINGLE: usize = 3;
/// Smallest hashes that stand for a text; the estimate of its likeness to another is then right within 0.06.
const SKETCH: usize = 64;
/// Share of shingles that two texts must have in common.
const NEAR: f64 = 0.9;
/// How far their lengths may differ.
const LENGTHS: f64 = 0.9;

/// What is remembered of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketch {
    length: usize,
    smallest: Vec<u64>,
}

impl Sketch {
    /// Reads the beginning of a note; None when it has too few words to be a copy of anything.
    pub fn of(text: &str) -> Option<Self> {
        let end = (0..=text.len().min(COMPARED_BYTES)).rev().find(|&end| text.is_char_boundary(end));
        let beginning = &text[..end.unwrap_or(0)];
        let words: Vec<&str> =
            beginning.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let mut smallest: Vec<u64> = words
            .windows(SHINGLE)
            .map(|shingle| {
                let mut hasher = DefaultHasher::new();
                shingle.hash(&mut hasher);
                hasher.finish()
            })
            .collect();
        smallest.sort_unstable();
        smallest.dedup();
        smallest.truncate(SKETCH);
        (smallest.len() >= SHINGLE).then_some(Self { length: text.len(), smallest })
    }

    /// Whether the two texts say nearly the same.
    pub fn is_near(&self, other: &Self) -> bool {
        let (short, long) = (self.length.min(other.length), self.length.max(other.length));
        (short as f64) >= LENGTHS * long as f64 && self.likeness(other) >= NEAR
    }

    /// The share of shingles in common, estimated from the smallest hashes of both texts together.
    fn likeness(&self, other: &Self) -> f64 {
        let (mut mine, mut theirs) = (self.smallest.iter().peekable(), other.smallest.iter().peekable());
        let (mut seen, mut common) = (0u32, 0u32);
        while seen < SKETCH as u32 {
            match (mine.peek(), theirs.peek()) {
                (Some(a), Some(b)) if a == b => {
                    common += 1;
                    mine.next();
                    theirs.next();
                }
                (Some(a), Some(b)) if a < b => {
                    mine.next();
                }
                (Some(_), None) => {
                    mine.next();
                }
                (_, Some(_)) => {
                    theirs.next();
                }
                (None, None) => break,
            }
            seen += 1;
        }
        f64::from(common) / f64::from(seen.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: std::ops::Range<usize>) -> String {
        words.map(|number| format!("word{number} ")).collect()
    }

    fn is_near(a: &str, b: &str) -> bool {
        Sketch::of(a).unwrap().is_near(&Sketch::of(b).unwrap())
    }

    #[test]
    fn a_copy_with_a_changed_word_is_near_and_another_text_is_not() {
        let original = text(0..200);
        assert!(is_near(&original, &original));
        assert!(is_near(&original, &original.replace("word77 ", "other ")));
        assert!(!is_near(&original, &text(1000..1200)));
        assert!(!is_near(&original, &text(100..300)));
    }

    #[test]
    fn a_text_and_a_longer_one_that_begins_with_it_are_two() {
        assert!(!is_near(&text(0..400), &text(0..2000)));
    }

    #[test]
    fn a_text_of_a_few_words_is_no_copy_of_anything() {
        assert_eq!(Sketch::of("buy milk"), None);
        assert_eq!(Sketch::of(""), None);
        assert!(Sketch::of("日本語 の 文章 です ね").is_some());
    }
}
