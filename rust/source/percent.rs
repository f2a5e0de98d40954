//! Percent-encoding for the links that open a document, and for SQLite's `file:` names.

/// `value` as one component of a URL: everything but unreserved characters is escaped, a space as `%20`, never `+`.
pub fn component(value: &str) -> String {
    encode(value.as_bytes(), |_| false)
}

/// `path` as the path of a URL: as [`component`], but `/` stays.
pub fn path(path: &[u8]) -> String {
    encode(path, |byte| byte == b'/')
}

fn encode(bytes: &[u8], keep: impl Fn(u8) -> bool) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(bytes.len() + bytes.len() / 4);
    for &byte in bytes {
        // The unreserved characters of RFC 3986, section 2.3.
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') || keep(byte) {
            out.push(byte as char);
        } else {
            out.push('%');
            out.push(HEX[usize::from(byte >> 4)] as char);
            out.push(HEX[usize::from(byte & 15)] as char);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_escapes_everything_that_could_end_or_split_it() {
        assert_eq!(component("a b+c/d?e=f&g#h%é"), "a%20b%2Bc%2Fd%3Fe%3Df%26g%23h%25%C3%A9");
    }

    #[test]
    fn a_path_keeps_its_slashes_and_any_bytes() {
        assert_eq!(path(b"/a b/\xFF?.md"), "/a%20b/%FF%3F.md");
    }
}
