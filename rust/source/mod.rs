//! Where notes come from: the `Source` trait and the values that cross it.
//!
//! A source lists what it holds with one change mark per document, and reads documents one batch at a time.
//! Nothing here or below writes to a source, and nothing here knows the index.

pub mod backup;
pub mod bear;
pub mod given;
pub mod markdown;

mod bundle;
mod decode;
mod front_matter;
mod gate;
pub mod markup;
mod parsed;
pub(crate) mod percent;
pub(crate) mod stamp;
pub mod tags;
mod title;

pub use gate::{Gate, gate};
pub use markup::{Link, LinkKind, Tasks};

use crate::error::{Error, Result};

/// The kinds of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// Bear.app's SQLite database.
    Bear,
    /// A backup that Bear wrote: a zip file.
    Backup,
    /// A folder of Markdown files.
    Markdown,
    /// Documents that a program hands over; there is nowhere to read them again.
    Given,
}

impl SourceKind {
    /// The word stored in the index and shown to people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bear => "bear",
            Self::Backup => "backup",
            Self::Markdown => "markdown",
            Self::Given => "given",
        }
    }

    /// The kind that [`as_str`](Self::as_str) spells `word`, if there is one.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "bear" => Some(Self::Bear),
            "backup" => Some(Self::Backup),
            "markdown" => Some(Self::Markdown),
            "given" => Some(Self::Given),
            _ => None,
        }
    }
}

/// What a person decided about a source; the same for every kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceOptions {
    /// List locked notes by title and tags. Their text is never read either way.
    pub index_locked_titles: bool,
    /// Documents with one of these tags, or with a child of one, are left out. Compared case-folded. Where tags are in
    /// the texts (Markdown), such a document is listed, but [`Source::read`] never returns it.
    pub exclude_tags: Vec<String>,
    /// Paths that match one of these globs (gitignore syntax) are not listed. Markdown only.
    pub exclude_globs: Vec<String>,
    /// How long to wait for the source's own program to let go of a lock, in milliseconds.
    pub busy_timeout_ms: u32,
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self { index_locked_titles: true, exclude_tags: Vec::new(), exclude_globs: Vec::new(), busy_timeout_ms: 5_000 }
    }
}

/// Bytes that change whenever anything of a document that the index holds may have changed: text, title, tags, dates
/// or flags. Only equality has a meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ChangeMark(pub Box<[u8]>);

/// One listed document: its id within the source and its change mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Bear: ZUNIQUEIDENTIFIER, or `pk:N` where it is missing, unusable or taken by an older note. Markdown: path under
    /// the root, `/`-separated.
    pub id: String,
    /// What to compare with the mark stored in the index.
    pub mark: ChangeMark,
}

/// One thing that was not listed although it was there, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The document's id, or the path for a file that could not become a document.
    pub id: String,
    /// Why, as a clause: "cannot be read: Permission denied".
    pub reason: String,
}

/// Everything a source holds at one moment.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// All documents that may be indexed, no id twice, in no particular order.
    pub entries: Vec<Entry>,
    /// What was left out because it could not be read. Trashed, deleted and excluded documents do not count.
    pub skipped: Vec<Skipped>,
    /// Ids of documents that are there and cannot be read just now, because their text is elsewhere: the index keeps what it has
    /// of them. They are in `skipped`, too.
    pub kept: Vec<String>,
    /// Sentences a person should see, such as "tags are unavailable: ...".
    pub warnings: Vec<String>,
}

/// One document as the index wants it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// As in [`Entry::id`].
    pub id: String,
    /// The mark that belongs to exactly the text, tags and flags below, read in the same moment.
    pub mark: ChangeMark,
    /// May be empty; then people are shown the first words of the text.
    pub title: String,
    /// The whole text, Markdown, valid UTF-8; empty for locked documents.
    pub text: String,
    /// Whole paths (`work/projects`), as typed, without `#`; no tag twice.
    pub tags: Vec<String>,
    /// Other names under which links may know it, as typed.
    pub aliases: Vec<String>,
    /// Keys and values from front matter and `key:: value` lines, in their order; a list as several with one key.
    pub properties: Vec<(String, String)>,
    /// Links to other notes, in their order.
    pub links: Vec<Link>,
    /// Items that can be ticked.
    pub tasks: Tasks,
    /// Files that belong to it, in their order; none for locked documents.
    pub attachments: Vec<Attachment>,
    /// Milliseconds since 1970-01-01 UTC.
    pub created_at_ms: Option<i64>,
    /// Milliseconds since 1970-01-01 UTC.
    pub updated_at_ms: Option<i64>,
    /// Put away by its owner: left out of search and lists unless asked for.
    pub archived: bool,
    /// Pinned by its owner.
    pub pinned: bool,
    /// Encrypted: `text` is empty and stays so.
    pub locked: bool,
    /// Opens the document in its own program.
    pub url: Option<String>,
}

/// A file that belongs to a document: embedded, handed out, or kept beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// File name, without folders.
    pub name: String,
    /// What its owner's program read in it (in pictures, PDFs): unreliable, never part of the document's text.
    pub text: String,
}

/// What one call of [`Source::read`] found.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The documents, in no particular order, no id twice.
    pub documents: Vec<Document>,
    /// Ids that are still listed but cannot be read. A file's permissions show only when it is opened, so this is where
    /// unreadable files are found, not in [`Listing::skipped`].
    pub skipped: Vec<Skipped>,
}

/// A place that holds documents. Opened for one sync and dropped after it; keeps no lock between calls.
pub trait Source: Send {
    /// Lists all documents with their change marks, without reading texts.
    ///
    /// # Errors
    /// The source errors of [`Error`](crate::error::Error): missing, denied, busy, malformed. An error means that
    /// nothing is known, never that the source is empty.
    fn list(&mut self) -> Result<Listing>;

    /// Reads the documents with these ids, which must come from this object's latest [`list`](Self::list).
    ///
    /// An id that comes back in neither half of the [`Batch`] has no place in the index any more: it vanished since the
    /// listing, was trashed, or its text turned out to carry an excluded tag. One call reads at one moment (Bear: one
    /// short read transaction).
    ///
    /// # Errors
    /// As for [`list`](Self::list).
    fn read(&mut self, ids: &[String]) -> Result<Batch>;
}

/// Reads patterns of paths below `root` for their syntax alone.
///
/// # Errors
/// [`Error::Usage`] for one that cannot be read.
pub fn check_patterns(root: &std::path::Path, patterns: &[String]) -> Result<()> {
    markdown::check_patterns(root, patterns)
}

/// Opens the source of `kind` at `path`.
///
/// # Errors
/// [`Error::SourceMissing`] and its siblings when it is not there, not readable or not what it should be;
/// [`Error::Usage`] for an exclusion that cannot be read, and for [`SourceKind::Given`], which has no place.
pub fn open(kind: SourceKind, path: &std::path::Path, options: SourceOptions) -> Result<Box<dyn Source>> {
    Ok(match kind {
        SourceKind::Bear => Box::new(bear::BearSource::open(path, options)?),
        SourceKind::Backup => Box::new(backup::BackupSource::open(path, options)?),
        SourceKind::Markdown => Box::new(markdown::MarkdownSource::open(path, options)?),
        SourceKind::Given => {
            let name = path.display();
            return Err(Error::Usage(format!(
                "the documents of \"{name}\" were handed over by a program; only it has them"
            )));
        }
    })
}
