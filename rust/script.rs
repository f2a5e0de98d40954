//! What the engine has to know about writing systems: which characters build words, and which scripts put no blanks
//! between their words.
//!
//! Shared by the chunker, which counts words, and the tokenizer, which finds them. Ranges are blocks of the Unicode
//! Standard 16.0; letters, digits and marks are asked of the standard library and of `unicode-normalization`.

use unicode_normalization::char::is_combining_mark;

/// Whether `c` belongs to a script that writes words without blanks between them, so that only n-grams find words in it:
/// Han, Hiragana, Katakana, Bopomofo, Yi, Thai, Lao, Khmer, Myanmar and their smaller neighbours.
///
/// Hangul is not among them: Korean puts blanks between phrases.
#[inline]
pub fn is_unspaced(c: char) -> bool {
    let c = c as u32;
    if c < 0x0E00 {
        return false;
    }
    matches!(c,
        0x0E00..=0x0EFF          // Thai, Lao
        | 0x1000..=0x109F        // Myanmar
        | 0x1780..=0x17FF        // Khmer
        | 0x1950..=0x19FF        // Tai Le, New Tai Lue, Khmer symbols
        | 0x1A20..=0x1AAF        // Tai Tham
        | 0x3005..=0x3007        // ideographic iteration mark, closing mark and zero
        | 0x3021..=0x3029        // Hangzhou numerals
        | 0x3031..=0x3035        // kana repeat marks
        | 0x303B..=0x303C
        | 0x3041..=0x3096        // Hiragana
        | 0x3099..=0x309A        // voicing marks, which belong to the kana before them
        | 0x309D..=0x309F
        | 0x30A1..=0x30FA        // Katakana
        | 0x30FC..=0x30FF        // prolonged sound and iteration marks
        | 0x3105..=0x312F        // Bopomofo
        | 0x31A0..=0x31BF
        | 0x31F0..=0x31FF        // Katakana phonetic extensions
        | 0x3400..=0x4DBF        // Han
        | 0x4E00..=0x9FFF
        | 0xA000..=0xA48C        // Yi
        | 0xA9E0..=0xA9FF        // Myanmar extensions
        | 0xAA60..=0xAADF        // Myanmar extended, Tai Viet
        | 0xF900..=0xFAFF        // Han, compatibility
        | 0xFF66..=0xFF9F        // Katakana, half width
        | 0x1AFF0..=0x1B16F      // kana supplements
        | 0x20000..=0x3FFFD) // Han, supplementary planes
}

/// Whether `c` is a Han ideograph of the two large blocks, which hold nearly all of a Chinese or Japanese text.
#[inline]
pub fn is_han(c: char) -> bool {
    matches!(c as u32, 0x3400..=0x4DBF | 0x4E00..=0x9FFF)
}

/// Whether `c` is a Hangul syllable or letter.
#[inline]
pub fn is_hangul(c: char) -> bool {
    matches!(c as u32,
        0x1100..=0x11FF | 0x3131..=0x318E | 0xA960..=0xA97C | 0xAC00..=0xD7FB | 0xFFA0..=0xFFDC)
}

/// Whether each such character counts as one word where words are counted: unspaced scripts and Hangul.
#[inline]
pub fn counts_by_character(c: char) -> bool {
    is_unspaced(c) || is_hangul(c)
}

/// Whether `c` is a letter, digit or mark: what words are made of. The underscore is none of these.
#[inline]
pub fn is_word_char(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { c.is_alphanumeric() || is_combining_mark(c) }
}

/// Whether `c` is invisible and may stand inside a word without ending it: soft hyphen, joiners, direction marks,
/// byte order mark, variation selectors.
#[inline]
pub fn is_ignorable(c: char) -> bool {
    matches!(c as u32,
        0xAD | 0x34F | 0x61C | 0x180B..=0x180F | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x2064
        | 0x2066..=0x206F | 0xFE00..=0xFE0F | 0xFEFF | 0xE0001..=0xE01EF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_without_blanks_are_told_from_those_with_blanks() {
        for c in "漢字かなカナーｱ々ไทยລາວខ្មែរမြန်မာ𠮷".chars().filter(|c| !is_combining_mark(*c))
        {
            assert!(is_unspaced(c), "{c:?}");
        }
        for c in "aß1яאبहि한。、・「」 -_".chars() {
            assert!(!is_unspaced(c), "{c:?}");
        }
        assert!(is_hangul('한') && is_hangul('ㄱ') && !is_hangul('漢'));
    }

    #[test]
    fn marks_are_part_of_words_and_punctuation_is_not() {
        for c in "aÉ9٣\u{301}\u{93f}ह".chars() {
            assert!(is_word_char(c), "{c:?}");
        }
        for c in "_-.' \u{a0}·。→€".chars() {
            assert!(!is_word_char(c), "{c:?}");
        }
    }
}
