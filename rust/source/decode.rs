//! Bytes of a text file -> text.

/// The text in `bytes`: UTF-8 or, behind its byte order mark, UTF-16. The mark itself goes; bytes that mean nothing
/// become U+FFFD. Line ends stay as they are.
pub fn text(mut bytes: Vec<u8>) -> String {
    match bytes.as_slice() {
        [0xef, 0xbb, 0xbf, ..] => {
            bytes.drain(..3);
        }
        [0xff, 0xfe, rest @ ..] => return utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return utf16(rest, u16::from_be_bytes),
        _ => {}
    }
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
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
    fn bytes_without_meaning_are_marked() {
        assert_eq!(text(b"a\xFFb\xC3".to_vec()), "a\u{fffd}b\u{fffd}");
        assert_eq!(text(b"\xFF\xFEa\0\x00\xD8b".to_vec()), "a\u{fffd}\u{fffd}");
    }
}
