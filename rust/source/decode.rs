//! Bytes of a text file -> text.

/// The text in `bytes`: UTF-8, or UTF-16, or else Windows-1252. A byte order mark goes, line ends stay as they are.
///
/// Without a mark, UTF-16 is told by its zero bytes: Markdown is full of ASCII, and plain text has no zeros. Bytes that are not
/// UTF-8 are read as Windows-1252 when all of them look like letters of it and none like UTF-8: a file is written in one
/// encoding. In a file of UTF-8 with damage in it the damage becomes U+FFFD, and so does what has no meaning in the others.
pub fn text(mut bytes: Vec<u8>) -> String {
    match bytes.as_slice() {
        [0xef, 0xbb, 0xbf, ..] => {
            bytes.drain(..3);
        }
        [0xff, 0xfe, rest @ ..] => return utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return utf16(rest, u16::from_be_bytes),
        _ => {}
    }
    if let Some(unit) = unmarked_utf16(&bytes) {
        return utf16(&bytes, unit);
    }
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let bytes = error.as_bytes();
        windows_1252(bytes).unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned())
    })
}

type Unit = fn([u8; 2]) -> u16;

/// The byte order of UTF-16 without a mark: of the first bytes, at least half of every other one are zero, and none between
/// them.
fn unmarked_utf16(bytes: &[u8]) -> Option<Unit> {
    let head = &bytes[..bytes.len().min(1024)];
    if head.len() < 8 || !head.contains(&0) {
        return None;
    }
    let zeros = |from: usize| head.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    match (zeros(0), zeros(1)) {
        (0, odd) if odd >= head.len() / 4 => Some(u16::from_le_bytes),
        (even, 0) if even >= head.len() / 4 => Some(u16::from_be_bytes),
        _ => None,
    }
}

/// Windows-1252 from 0x80 to 0x9f; from 0xa0 on it is Unicode's own order. U+FFFD where it has nothing.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{fffd}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{fffd}', 'Ž', '\u{fffd}', //
    '\u{fffd}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{fffd}', 'ž', 'Ÿ',
];

/// `bytes`, which are not UTF-8, as Windows-1252; None when they are more likely damaged UTF-8 or no text at all.
fn windows_1252(bytes: &[u8]) -> Option<String> {
    let mut letters = 0;
    for chunk in bytes.utf8_chunks() {
        if !chunk.valid().is_ascii() || chunk.valid().contains('\0') {
            return None;
        }
        letters += chunk.invalid().len();
    }
    let decoded: String = bytes
        .iter()
        .map(|&byte| match byte {
            0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
            _ => char::from(byte),
        })
        .collect();
    let likely =
        decoded.chars().filter(|c| !c.is_ascii()).filter(|c| c.is_alphabetic() || "‘’“”„‚…–—«»°§€".contains(*c));
    (letters > 0 && likely.count() == letters && !has_a_run_of_three(&decoded)).then_some(decoded)
}

/// Whether letters beyond ASCII come three in a row, as they do when something else is read as Windows-1252.
fn has_a_run_of_three(text: &str) -> bool {
    let mut run = 0;
    text.chars().any(|c| {
        run = if c.is_ascii() { 0 } else { run + 1 };
        run >= 3
    })
}

fn utf16(bytes: &[u8], unit: Unit) -> String {
    let pairs = bytes.chunks_exact(2);
    let is_cut_off = !pairs.remainder().is_empty();
    let units = pairs.map(|pair| unit([pair[0], pair[1]]));
    let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    text.chain(is_cut_off.then_some(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_8_loses_its_byte_order_mark_and_nothing_else() {
        assert_eq!(text(b"\xEF\xBB\xBFa\r\n\0b\n".to_vec()), "a\r\n\0b\n");
        assert_eq!(text(Vec::new()), "");
    }

    #[test]
    fn utf_16_is_read_in_both_byte_orders() {
        let expected = "a🐻\r\n";
        let units: Vec<u16> = std::iter::once(0xfeff).chain(expected.encode_utf16()).collect();
        assert_eq!(text(units.iter().flat_map(|unit| unit.to_le_bytes()).collect()), expected);
        assert_eq!(text(units.iter().flat_map(|unit| unit.to_be_bytes()).collect()), expected);
    }

    #[test]
    fn utf_16_without_a_mark_is_told_by_its_zeros() {
        let expected = "# Plan\n\nGrüße 中文 🐻\n";
        assert_eq!(text(expected.encode_utf16().flat_map(u16::to_le_bytes).collect()), expected);
        assert_eq!(text(expected.encode_utf16().flat_map(u16::to_be_bytes).collect()), expected);
        assert_eq!(text(b"one zero \0 is no proof".to_vec()), "one zero \0 is no proof");
    }

    #[test]
    fn what_is_no_utf_8_is_windows_1252_when_it_reads_like_it() {
        assert_eq!(text(b"Gr\xfc\xdfe, \x93caf\xe9\x94 \x96 5 \x80".to_vec()), "Grüße, “café” – 5 €");
    }

    #[test]
    fn bytes_without_meaning_are_marked() {
        assert_eq!(text("\u{e9}".bytes().chain(*b"a\xFFb\xC3").collect()), "\u{e9}a\u{fffd}b\u{fffd}");
        assert_eq!(text(b"a \x81 b".to_vec()), "a \u{fffd} b");
        assert_eq!(text(b"\xc2\xe5\xf1\xed\xe0".to_vec()), "\u{fffd}".repeat(5)); // another code page's word
        assert_eq!(text(b"\xFF\xFEa\0\x00\xD8b".to_vec()), "a\u{fffd}\u{fffd}");
    }
}
