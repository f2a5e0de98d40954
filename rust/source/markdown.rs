//! A folder of Markdown files, possibly an Obsidian vault.
//!
//! Which files are notes: `walk`. Reading one of them safely: `file`. Here: how a file becomes a document.

mod evicted;
mod file;
mod graph;
mod walk;

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use ignore::gitignore::Gitignore;

use self::file::{Jail, Patience};
use super::bundle::{self, Info};
use super::markup::Dialect;
use super::parsed::Parsed;
use super::stamp::unix_ns;
use super::tags::Exclusion;
use super::{Batch, Document, Listing, Skipped, Source, SourceOptions, decode, percent, title};
use crate::error::{Error, Result};

/// What errors call this kind of source.
const KIND: &str = "Markdown folder";

/// A folder of Markdown files.
pub struct MarkdownSource {
    /// Absolute, symbolic links resolved.
    root: PathBuf,
    /// As the user wrote it, for messages.
    asked: PathBuf,
    /// Which program's folder it is.
    dialect: Dialect,
    /// Name of the vault, when the folder is one of Obsidian's.
    vault: Option<String>,
    /// Tags are in the texts, so this is applied when a document is read, not when it is listed.
    exclusion: Exclusion,
    excluded_paths: Gitignore,
}

impl MarkdownSource {
    /// Opens the folder at `path`.
    ///
    /// # Errors
    /// [`Error::SourceMissing`], [`Error::SourceDenied`], [`Error::SourceMalformed`] for anything but a folder, and
    /// [`Error::Usage`] for a glob that cannot be read.
    pub fn open(path: &Path, options: SourceOptions) -> Result<Self> {
        let root = fs::canonicalize(path).map_err(|error| refusal(path, error))?;
        fs::read_dir(&root).map_err(|error| refusal(path, error))?;
        let dialect = graph::dialect_of(&root);
        let vault = root.file_name().filter(|_| dialect == Dialect::Obsidian);
        Ok(Self {
            dialect,
            vault: vault.map(|name| name.to_string_lossy().into_owned()),
            excluded_paths: walk::exclusions(&root, &options.exclude_globs)?,
            exclusion: Exclusion::new(&options.exclude_tags),
            asked: path.to_owned(),
            root,
        })
    }

    /// The document in one file, `None` when it is left out or gone.
    fn document(&self, id: &str, patience: &mut Patience) -> io::Result<Option<Document>> {
        let path = self.root.join(id);
        if let Some(name) = id.rsplit('/').next().and_then(bundle::stem)
            && fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir())
        {
            return self.bundle(id, name, &path, patience);
        }
        let (bytes, metadata, mark) = match file::read(&path, patience) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            read => read?,
        };
        let text = decode::text(bytes);
        let mut parsed = Parsed::read(&text, self.dialect);
        if parsed.tags.iter().any(|tag| self.exclusion.covers(tag)) {
            return Ok(None);
        }
        if self.dialect == Dialect::Logseq {
            parsed.aliases.extend(graph::journal_name(id));
        }
        let title = parsed.title.take().unwrap_or_else(|| match self.dialect {
            // A page of Logseq is called as its file; headings are blocks like others.
            Dialect::Logseq => graph::page_name(&stem(&path)),
            _ => title::from_heading(&text).unwrap_or_else(|| stem(&path)),
        });
        let (created_at_ms, updated_at_ms) = dates(&metadata);
        let document = parsed.into_document(id, mark, title, text);
        Ok(Some(Document {
            created_at_ms: document.created_at_ms.or(created_at_ms),
            updated_at_ms: document.updated_at_ms.or(updated_at_ms),
            url: Some(self.url(id, &path)),
            ..document
        }))
    }

    /// The document in a TextBundle, `None` when it is left out or gone.
    fn bundle(&self, id: &str, name: &str, folder: &Path, patience: &mut Patience) -> io::Result<Option<Document>> {
        let Some(text) = bundle::text_of(folder)? else { return Ok(None) };
        let (bytes, metadata, mark) = file::read(&text, patience)?;
        // Taken before the fields are read: a write after it shows in the next mark.
        let mark = file::with_info(mark, folder);
        let info = match file::read(&folder.join(bundle::INFO), patience) {
            Ok((bytes, ..)) => Info::read(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Info::default(),
            Err(error) => return Err(error),
        };
        let found = bundle::document(id, name, mark, decode::text(bytes), &info, &self.exclusion);
        let (created_at_ms, updated_at_ms) = dates(&metadata);
        Ok(found.map(|document| Document {
            created_at_ms: document.created_at_ms.or(created_at_ms),
            updated_at_ms: document.updated_at_ms.or(updated_at_ms),
            url: Some(self.url(id, folder)),
            ..document
        }))
    }

    fn url(&self, id: &str, path: &Path) -> String {
        match &self.vault {
            // Obsidian names notes without `.md`, everything else with its ending.
            Some(vault) => {
                let file = id.strip_suffix(".md").unwrap_or(id);
                format!("obsidian://open?vault={}&file={}", percent::component(vault), percent::component(file))
            }
            None => format!("file://{}", percent::path(path)),
        }
    }
}

impl Source for MarkdownSource {
    fn list(&mut self) -> Result<Listing> {
        walk::list(&self.root, &self.excluded_paths).map_err(|error| refusal(&self.asked, error))
    }

    fn read(&mut self, ids: &[String]) -> Result<Batch> {
        // A folder that went away is an error. Without this check it would look as if every file had been deleted.
        fs::read_dir(&self.root).map_err(|error| refusal(&self.asked, error))?;
        let mut batch = Batch::default();
        let mut patience = Patience::default();
        let mut jail = Jail::new(&self.root);
        let mut seen = HashSet::with_capacity(ids.len());
        for id in ids.iter().filter(|id| seen.insert(id.as_str())) {
            if !jail.holds(id) {
                continue;
            }
            match self.document(id, &mut patience) {
                Ok(document) => batch.documents.extend(document),
                Err(error) => {
                    batch.skipped.push(Skipped { id: id.clone(), reason: format!("cannot be read: {error}") });
                }
            }
        }
        Ok(batch)
    }
}

/// Reads the user's patterns for their syntax alone.
///
/// # Errors
/// [`Error::Usage`] for one that cannot be read.
pub fn check_patterns(root: &Path, patterns: &[String]) -> Result<()> {
    walk::exclusions(root, patterns).map(drop)
}

/// When the file was made and last written. A file that was copied or checked out is born later than its text was last
/// written; then the text was there at the latest when it was written.
fn dates(metadata: &Metadata) -> (Option<i64>, Option<i64>) {
    let ms = |time: io::Result<std::time::SystemTime>| time.ok().map(|time| unix_ns(time).div_euclid(1_000_000));
    let updated = ms(metadata.modified());
    let created = ms(metadata.created()).map(|born| updated.map_or(born, |updated| born.min(updated)));
    (created, updated)
}

fn stem(path: &Path) -> String {
    title::tidy(&path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default())
}

/// Puts the system's refusal to list the root into terms of the source.
fn refusal(path: &Path, error: io::Error) -> Error {
    let kind = error.kind();
    let path = path.to_owned();
    match kind {
        io::ErrorKind::NotADirectory if path.exists() => {
            Error::SourceMalformed { kind: KIND, path, detail: "it is a file; name the folder it is in".to_owned() }
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::SourceMissing {
            kind: KIND,
            path,
            advice: "name an existing folder with --vault, or remove it from the sources".to_owned(),
        },
        io::ErrorKind::PermissionDenied => Error::SourceDenied { path, advice: permission_advice().to_owned() },
        _ => Error::io(path, error),
    }
}

/// What to do about a refused permission: macOS guards some folders by program, other systems all of them by mode.
fn permission_advice() -> &'static str {
    if cfg!(target_os = "macos") {
        "open System Settings, Privacy & Security, Files and Folders, and allow it to the program that started this one, \
         or check the folder's permissions"
    } else {
        "check the permissions of the folder and of the folders above it"
    }
}
