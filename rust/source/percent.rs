//! Percent-encoding for the links that open a document, and for SQLite's `file:` names.

use std::path::Path;

/// `value` as one component of a URL: everything but unreserved characters is escaped, a space as `%20`, never `+`.
pub fn component(value: &str) -> String {
    encode(value.as_bytes(), |_| false)
}

/// An absolute path as the path of a URL, beginning with `/`: `file://` before it makes a link of it.
#[cfg(unix)]
pub fn path(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    encode(path.as_os_str().as_bytes(), |byte| byte == b'/')
}

/// An absolute path as the path of a URL, beginning with `/` and without the verbatim prefix that resolving a path puts
/// before it: `/C:/...`.
#[cfg(not(unix))]
pub fn path(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "/");
    let path = path.strip_prefix("//?/").unwrap_or(&path);
    format!("/{}", encode(path.as_bytes(), |byte| matches!(byte, b'/' | b':')))
}

/// `value` with its percent signs resolved; bytes that are not UTF-8 then become U+FFFD. A sign that no two digits follow
/// stays as it is, because people write addresses by hand.
pub fn decode(value: &str) -> String {
    if !value.contains('%') {
        return value.to_owned();
    }
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let bytes = value.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
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
    fn decoding_undoes_encoding_and_leaves_stray_signs_alone() {
        for value in ["a b+c/d?e=f&g#h%é", "100%", "%zz", ""] {
            assert_eq!(decode(&component(value)), value);
        }
        assert_eq!(decode("50%25 of %é, %4"), "50% of %é, %4");
        assert_eq!(decode("%FF"), "\u{fffd}");
    }

    #[test]
    #[cfg(unix)]
    fn a_path_keeps_its_slashes_and_any_bytes() {
        use std::os::unix::ffi::OsStrExt;
        let odd = std::ffi::OsStr::from_bytes(b"/a b/\xFF50%?x#y&z.md");
        assert_eq!(path(Path::new(odd)), "/a%20b/%FF50%25%3Fx%23y%26z.md");
    }
}
