//! Files whose text is only in a cloud: reading one would fetch it, which may take minutes or fail, so they are told apart by
//! what the file system says of them.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// Why such a file is not read.
pub const REASON: &str = "its text is only in the cloud; open it once, or keep the folder downloaded";

/// The file that `path` stands for, where it is the placeholder that iCloud leaves of `NAME`: `.NAME.icloud`.
pub fn placeholder_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_prefix('.')?.strip_suffix(".icloud")?;
    (!name.is_empty()).then(|| path.with_file_name(name))
}

/// Whether the file has its name and size here, and its text elsewhere.
#[cfg(target_os = "macos")]
pub fn is_elsewhere(metadata: &Metadata) -> bool {
    use std::os::macos::fs::MetadataExt;
    /// `SF_DATALESS` of macOS's `sys/stat.h`.
    const DATALESS: u32 = 0x4000_0000;
    metadata.st_flags() & DATALESS != 0
}

/// Whether the file has its name and size here, and its text elsewhere.
#[cfg(windows)]
pub fn is_elsewhere(metadata: &Metadata) -> bool {
    use std::os::windows::fs::MetadataExt;
    /// `FILE_ATTRIBUTE_RECALL_ON_OPEN` and `FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS` of Windows' `winnt.h`.
    const RECALLED: u32 = 0x0004_0000 | 0x0040_0000;
    metadata.file_attributes() & RECALLED != 0
}

/// Whether the file has its name and size here, and its text elsewhere: no system but macOS and Windows says so.
#[cfg(not(any(target_os = "macos", windows)))]
pub fn is_elsewhere(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_stands_for_the_file_beside_it() {
        let of = |path: &str| placeholder_of(Path::new(path));
        assert_eq!(of("a/.Note one.md.icloud"), Some(PathBuf::from("a/Note one.md")));
        for other in ["a/Note.md.icloud", "a/.Note.md", "a/..icloud", "a/.icloud"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
