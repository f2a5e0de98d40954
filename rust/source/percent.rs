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
    #[cfg(unix)]
    fn a_path_keeps_its_slashes_and_any_bytes() {
        use std::os::unix::ffi::OsStrExt;
        let odd = std::ffi::OsStr::from_bytes(b"/a b/\xFF50%?x#y&z.md");
        assert_eq!(path(Path::new(odd)), "/a%20b/%FF50%25%3Fx%23y%26z.md");
    }
}
