//! Which files below a folder are notes.
//!
//! Left out without a word: hidden files and folders (`.obsidian`, `.trash`, `.git`), what `.gitignore`, `.ignore` and
//! `.obsidianignore` files in the folder name, and what the user excludes. Files whose text is only in a cloud are counted. Symbolic links are never followed: what they
//! show inside the folder is listed where it lies, and nothing outside is ours.

use std::fs;
use std::path::{MAIN_SEPARATOR, Path};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder};

use super::{evicted, file};
use crate::error::{Error, Result};
use crate::source::bundle;
use crate::source::stamp::Stamp;
use crate::source::{Entry, Listing, Skipped};

/// Endings of file names, compared without case.
const EXTENSIONS: [&str; 5] = ["md", "markdown", "mdown", "mkd", "mdx"];

/// The user's own exclusions below `root`.
///
/// # Errors
/// [`Error::Usage`] for a glob that cannot be read.
pub fn exclusions(root: &Path, globs: &[String]) -> Result<Gitignore> {
    let unreadable = |glob: &str, error: ignore::Error| {
        Error::Usage(format!("'{glob}' is not a pattern in gitignore syntax ({error}); change it under `exclude`"))
    };
    let mut builder = GitignoreBuilder::new(root);
    // A pattern that hides nothing because of a typing error would be found out too late.
    builder.allow_unclosed_class(false);
    for glob in globs {
        builder.add_line(None, glob).map_err(|error| unreadable(glob, error))?;
    }
    builder.build().map_err(|error| unreadable(&globs.join(", "), error))
}

/// Lists the notes below `root`, which is absolute and without symbolic links.
///
/// # Errors
/// The system's, when `root` itself cannot be listed. Walked all the same, it would look like an empty folder.
pub fn list(root: &Path, excluded: &Gitignore) -> std::io::Result<Listing> {
    fs::read_dir(root)?;
    let mut listing = Listing::default();
    let excluded = excluded.clone();
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false).hidden(false).ignore(true).git_ignore(true).require_git(false).follow_links(false);
    walk.add_custom_ignore_filename(".obsidianignore");
    walk.filter_entry(move |entry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let is_shown = !is_hidden || (!is_folder && evicted::placeholder_of(entry.path()).is_some());
        entry.depth() == 0 || (is_shown && !excluded.matched(entry.path(), is_folder).is_ignore())
    });
    for entry in walk.build() {
        match entry {
            Ok(entry) => add(root, &entry, &mut listing),
            Err(error) if is_about_the_root(&error) => {
                return Err(error.into_io_error().unwrap_or_else(|| std::io::ErrorKind::Other.into()));
            }
            Err(error) => {
                let (path, cause) = blamed(&error);
                let id = path.map(|path| shown(root, path)).unwrap_or_default();
                listing.skipped.push(Skipped { id, reason: format!("cannot be read: {cause}") });
            }
        }
    }
    Ok(listing)
}

fn add(root: &Path, entry: &DirEntry, listing: &mut Listing) {
    // An unreadable line in an ignore file: the others count, and what the line meant to hide now shows.
    if let Some(error) = entry.error() {
        listing
            .warnings
            .push(format!("an ignore file in '{}' is read only in part: {error}", shown(root, entry.path())));
    }
    let Some(kind) = entry.file_type() else { return };
    if let Some(evicted) = evicted::placeholder_of(entry.path()).filter(|path| kind.is_file() && is_note(path)) {
        return keep(root, &evicted, listing);
    }
    if let Some(folder) = bundle_around(root, entry.path()) {
        // Whatever else is in a bundle belongs to its text.
        let is_text = entry.path().file_name().and_then(|name| name.to_str()).is_some_and(bundle::is_text);
        if is_text && kind.is_file() && bundle::text_of(folder).is_ok_and(|text| text.as_deref() == Some(entry.path()))
        {
            match bundle_entry(root, folder, entry) {
                Ok(entry) => listing.entries.push(entry),
                Err(reason) => listing.skipped.push(Skipped { id: shown(root, folder), reason }),
            }
        }
        return;
    }
    let outcome = if kind.is_symlink() {
        match leads_to_notes_elsewhere(root, entry.path()) {
            true => Err("is a symbolic link that leads out of the folder".to_owned()),
            false => return,
        }
    } else if kind.is_file() && is_note(entry.path()) {
        match entry.metadata() {
            Ok(metadata) if evicted::is_elsewhere(&metadata) => return keep(root, entry.path(), listing),
            Ok(metadata) => entry_of(root, entry.path(), &metadata),
            Err(error) => Err(format!("cannot be read: {}", blamed(&error).1)),
        }
    } else {
        return;
    };
    match outcome {
        Ok(entry) => listing.entries.push(entry),
        Err(reason) => listing.skipped.push(Skipped { id: shown(root, entry.path()), reason }),
    }
}

/// Counts a note whose text is only in a cloud: reading it would fetch it, and it may not be missed either.
fn keep(root: &Path, path: &Path, listing: &mut Listing) {
    listing.skipped.push(Skipped { id: shown(root, path), reason: evicted::REASON.to_owned() });
    listing.kept.extend(id_of(root, path));
}

/// The entry for a note's file, or why it cannot be one.
fn entry_of(root: &Path, path: &Path, metadata: &fs::Metadata) -> std::result::Result<Entry, String> {
    let id = id_of(root, path).ok_or("its name is not valid UTF-8; rename it")?;
    if metadata.len() > file::MAX_BYTES {
        return Err(format!("has {} MiB, more than {} are not read", metadata.len() >> 20, file::MAX_BYTES >> 20));
    }
    Ok(Entry { id, mark: file::mark(Stamp::of(metadata)) })
}

/// The outermost TextBundle that `path` lies in, below the root.
fn bundle_around<'p>(root: &Path, path: &'p Path) -> Option<&'p Path> {
    let is_bundle = |folder: &&Path| folder.file_name().and_then(|name| name.to_str()).is_some_and(bundle::is_bundle);
    path.ancestors().skip(1).take_while(|folder| *folder != root).filter(is_bundle).last()
}

/// The entry for the bundle in `folder` whose text is `entry`.
fn bundle_entry(root: &Path, folder: &Path, entry: &DirEntry) -> std::result::Result<Entry, String> {
    let metadata = entry.metadata().map_err(|error| format!("cannot be read: {}", blamed(&error).1))?;
    let text = entry_of(root, entry.path(), &metadata)?;
    let id = id_of(root, folder).ok_or("its name is not valid UTF-8; rename it")?;
    Ok(Entry { id, mark: file::with_info(text.mark, folder) })
}

/// Whether a link, which is never followed, hides notes that are listed nowhere else.
fn leads_to_notes_elsewhere(root: &Path, link: &Path) -> bool {
    let Ok(target) = fs::canonicalize(link) else { return false };
    !target.starts_with(root) && (target.is_dir() || is_note(&target))
}

fn is_note(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// `path` below `root`, with `/` between its parts, if it is valid UTF-8.
fn id_of(root: &Path, path: &Path) -> Option<String> {
    let relative = path.strip_prefix(root).unwrap_or(path).to_str()?;
    Some(if MAIN_SEPARATOR == '/' { relative.to_owned() } else { relative.replace(MAIN_SEPARATOR, "/") })
}

fn shown(root: &Path, path: &Path) -> String {
    id_of(root, path).unwrap_or_else(|| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned())
}

fn is_about_the_root(error: &ignore::Error) -> bool {
    error.depth() == Some(0)
}

/// The path that `error` is about, and the error without the path.
fn blamed(error: &ignore::Error) -> (Option<&Path>, String) {
    match error {
        ignore::Error::WithPath { path, err } => (Some(path), blamed(err).1),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => blamed(err),
        ignore::Error::Io(error) => (None, innermost(error).to_string()),
        other => (None, other.to_string()),
    }
}

/// The system's own error: the walk wraps it in one that repeats the absolute path.
fn innermost(error: &std::io::Error) -> &dyn std::error::Error {
    let mut found: &dyn std::error::Error = error;
    while let Some(source) = found.source() {
        found = source;
    }
    found
}
