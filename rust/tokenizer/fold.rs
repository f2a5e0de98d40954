//! What one character becomes in a token, and what it does to the word it stands in.
//!
//! Folding makes equal what people type in different ways: case (full folding: `ß` and `ss`, the two sigmas), accents
//! (composed or not; also `ø`, `ł`, `æ`), width and other compatibility forms, digits of other scripts, the spellings
//! of Arabic. Vowel signs of Indic scripts and the voicing marks of kana are letters, not accents, and stay.
//! Properties come from the standard library and `unicode-normalization`, blocks from the Unicode Standard 16.0.

use std::sync::OnceLock;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::script::{is_hangul, is_ignorable, is_unspaced, is_word_char};

/// What a character does to the word it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Ends it.
    Separator,
    /// Ends it too, but the words on both sides belong together: `-`, `_`, `.` and their likes.
    Joiner,
    /// A letter that is not upper case.
    Lower,
    /// An upper case letter.
    Upper,
    /// A digit or another number.
    Digit,
    /// A mark that is kept with the letter before it.
    Mark,
    /// Nothing: an accent, or an invisible character.
    Ignored,
    /// A character of a script without blanks in which two characters make a word: Han, kana, Hangul.
    Ideographic,
    /// A character of a script without blanks that is an alphabet: Thai, Lao, Khmer, Myanmar.
    Alphabetic,
    /// A pictograph or a flag's letter.
    Emoji,
}

/// The folded forms of 256 neighbouring characters.
struct Block {
    kinds: [Kind; 256],
    ends: [u16; 256],
    text: String,
}

/// Blocks are made when a text first needs them: most libraries need very few.
static BLOCKS: [OnceLock<Block>; 0x1100] = [const { OnceLock::new() }; 0x1100];

/// The character's kind, and what it adds to a token.
#[inline]
pub(super) fn fold(c: char) -> (Kind, &'static str) {
    let (number, index) = (c as usize >> 8, c as usize & 0xFF);
    let block = BLOCKS[number].get_or_init(|| Block::new(number));
    let start = if index == 0 { 0 } else { usize::from(block.ends[index - 1]) };
    (block.kinds[index], &block.text[start..usize::from(block.ends[index])])
}

impl Block {
    fn new(number: usize) -> Self {
        let mut block = Self { kinds: [Kind::Separator; 256], ends: [0; 256], text: String::new() };
        for index in 0..256 {
            if let Some(c) = char::from_u32((number << 8 | index) as u32) {
                block.kinds[index] = kind(c);
                match block.kinds[index] {
                    Kind::Separator | Kind::Ignored => (),
                    Kind::Ideographic | Kind::Alphabetic => block.text.extend(std::iter::once(c).nfkc()),
                    Kind::Mark => block.text.extend(std::iter::once(c).nfkd()),
                    Kind::Joiner | Kind::Emoji => block.text.push(c),
                    Kind::Lower | Kind::Upper | Kind::Digit => {
                        let before = block.text.len();
                        push_folded(c, &mut block.text);
                        if block.text.len() == before {
                            block.kinds[index] = Kind::Ignored;
                        }
                    }
                }
            }
            block.ends[index] = block.text.len() as u16;
        }
        block
    }
}

fn kind(c: char) -> Kind {
    match c {
        '-' | '_' | '.' | '\u{2010}' | '\u{2011}' | '\u{B7}' => Kind::Joiner,
        // A zero width space is a place to break; tatweel only stretches a word; modifier apostrophes come and go.
        '\u{200B}' => Kind::Separator,
        '\u{640}' | '\u{2B9}'..='\u{2BF}' => Kind::Ignored,
        _ if is_ignorable(c) || is_accent(c) || is_skin_tone(c) => Kind::Ignored,
        _ if is_emoji(c) => Kind::Emoji,
        // The voicing marks of half-width kana are letters by name only.
        '\u{FF9E}' | '\u{FF9F}' => Kind::Mark,
        _ if is_combining_mark(c) => Kind::Mark,
        _ if !is_word_char(c) => Kind::Separator,
        _ if decimal_digit(c).is_some() => Kind::Digit,
        _ if is_alphabetic_without_blanks(c) => Kind::Alphabetic,
        _ if is_unspaced(c) || is_hangul(c) => Kind::Ideographic,
        _ if c.is_numeric() => Kind::Digit,
        _ if c.is_uppercase() => Kind::Upper,
        _ => Kind::Lower,
    }
}

/// Lower, upper and lower case again make the folding full: `ẞ`, `ß`, `SS`, `ss`.
fn push_folded(c: char, text: &mut String) {
    if let Some(digit) = decimal_digit(c) {
        text.push(digit);
        return;
    }
    let start = text.len();
    let cased = |c: char| c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    // Accents go first: the Greek iota below a letter would become a letter of its own in upper case.
    for part in std::iter::once(c).nfkd().filter(|part| !is_accent(*part)).flat_map(cased).nfkd() {
        match part {
            // A fraction is not the number that its digits make.
            '\u{2044}' => {
                text.truncate(start);
                text.push(c);
                return;
            }
            'ø' => text.push('o'),
            'ł' => text.push('l'),
            'đ' | 'ð' => text.push('d'),
            'ħ' => text.push('h'),
            'ŧ' => text.push('t'),
            'ŋ' => text.push('n'),
            'ı' => text.push('i'),
            'þ' => text.push_str("th"),
            'æ' => text.push_str("ae"),
            'œ' => text.push_str("oe"),
            // Arabic and Persian spellings of one letter; hamza above and below it are accents.
            'ٱ' => text.push('ا'),
            'ى' | 'ی' => text.push('ي'),
            'ة' | 'ہ' | 'ھ' => text.push('ه'),
            'ک' => text.push('ك'),
            // Hebrew forms at the end of a word.
            'ך' => text.push('כ'),
            'ם' => text.push('מ'),
            'ן' => text.push('נ'),
            'ף' => text.push('פ'),
            'ץ' => text.push('צ'),
            _ if matches!(kind(part), Kind::Ignored | Kind::Separator | Kind::Joiner) => (),
            _ => text.push(part),
        }
    }
}

/// Marks that people leave out: accents, the points of Hebrew and Arabic, nukta.
fn is_accent(c: char) -> bool {
    matches!(c as u32,
        0x300..=0x36F | 0x483..=0x487 | 0x591..=0x5BD | 0x5BF | 0x5C1..=0x5C2 | 0x5C4..=0x5C5 | 0x5C7 | 0x610..=0x61A
        | 0x64B..=0x65F | 0x670 | 0x6D6..=0x6DC | 0x6DF..=0x6E4 | 0x6E7..=0x6E8 | 0x6EA..=0x6ED | 0x8D3..=0x8FF | 0x93C
        | 0x9BC | 0xA3C | 0xABC | 0xB3C | 0xCBC | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF | 0xFE20..=0xFE2F)
}

/// Scripts without blanks whose characters are letters, so that a word has several.
fn is_alphabetic_without_blanks(c: char) -> bool {
    matches!(c as u32,
        0xE00..=0xEFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x1950..=0x19FF | 0x1A20..=0x1AAF | 0xA9E0..=0xA9FF
        | 0xAA60..=0xAADF)
}

/// The ASCII digit of the same value, for the decimal digits of scripts in use.
fn decimal_digit(c: char) -> Option<char> {
    const ZEROS: [u32; 20] = [
        0x30, 0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0xF20,
        0x1040, 0x17E0, 0x1810, 0xFF10,
    ];
    let value = ZEROS.iter().map(|zero| (c as u32).wrapping_sub(*zero)).find(|value| *value < 10)?;
    char::from_digit(value, 10)
}

fn is_emoji(c: char) -> bool {
    matches!(c as u32,
        0x231A..=0x231B | 0x2328 | 0x23CF | 0x23E9..=0x23F3 | 0x23F8..=0x23FA | 0x25AA..=0x25AB | 0x25B6 | 0x25C0
        | 0x25FB..=0x25FE | 0x2600..=0x27BF | 0x2B1B..=0x2B1C | 0x2B50 | 0x2B55 | 0x3030 | 0x303D | 0x3297 | 0x3299
        | 0x1F000..=0x1F0FF | 0x1F170..=0x1F1FF | 0x1F200..=0x1FAFF)
}

fn is_skin_tone(c: char) -> bool {
    matches!(c as u32, 0x1F3FB..=0x1F3FF)
}

/// Whether `c` is half of a flag.
pub(super) fn is_regional_indicator(c: char) -> bool {
    matches!(c as u32, 0x1F1E6..=0x1F1FF)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        text.chars().map(|c| fold(c).1).collect()
    }

    #[test]
    fn case_accents_width_and_spelling_fold_to_one_form() {
        for (written, expected) in [
            ("Straße STRASSE ẞ", "strassestrassess"),
            ("ΟΔΟΣ οδός", "οδοσοδοσ"),
            ("İstanbul IĞDIR ığdır", "istanbuligdirigdir"),
            ("Ærøskøbing Łódź Þór Œuvre", "aeroskobinglodzthoroeuvre"),
            ("cafe\u{301} CAFÉ", "cafecafe"),
            ("ＡＢＣ１２ ﬁ m²", "abc12fim2"),
            ("ёлка Ёлка", "елкаелка"),
            ("٣٤ ३४ ๓", "34343"),
            ("أحمد مُحَمَّد مدرسة کتاب", "احمدمحمدمدرسهكتاب"),
            ("שלום שָׁלוֹם", "שלומשלומ"),
            ("½", "½"),
            ("Hawaiʻi", "hawaii"),
        ] {
            assert_eq!(folded(written), expected, "{written}");
        }
    }

    #[test]
    fn vowel_signs_and_voicing_marks_are_kept() {
        assert_eq!(folded("हिन्दी"), "हिन्दी");
        assert_eq!(folded("がｶﾞ"), "がカ\u{3099}");
        assert_eq!(folded("กําลัง"), folded("กำลัง"));
        assert_eq!(folded("ลัง"), "ลัง");
        assert_eq!(folded("ज़"), "ज");
    }

    #[test]
    fn folding_twice_changes_nothing() {
        for c in ('\0'..=char::MAX).filter(|c| !matches!(fold(*c).0, Kind::Separator | Kind::Joiner)) {
            let once = fold(c).1;
            assert_eq!(folded(once), once, "{c:?} {:x}", c as u32);
        }
    }

    #[test]
    fn every_character_that_counts_leaves_something() {
        for c in '\0'..=char::MAX {
            let (kind, text) = fold(c);
            assert_eq!(text.is_empty(), matches!(kind, Kind::Separator | Kind::Ignored), "{c:?}");
        }
    }
}
