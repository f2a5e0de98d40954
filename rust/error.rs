//! The engine's errors: one variant per remedy, each with the fields that its sentence needs.
//!
//! A message says what was expected, what came, and what to do next. Paths and ids are quoted; note text is not.

use std::path::PathBuf;

/// What every fallible function of the engine returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Why the engine could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller asked for something that has no meaning, such as an empty query or a limit of 0.
    #[error("{0}")]
    Usage(String),

    /// The index cannot be opened or written where it was asked for.
    #[error("the index at '{path}' cannot be used: {reason}; choose another place with --index or BEARSEARCH_INDEX")]
    IndexUnusable {
        /// Path of the index file.
        path: PathBuf,
        /// What stands in the way, as a clause without a full stop.
        reason: String,
    },

    /// The index can be read, and nothing can be written to it: a full disk, a folder or file that may not be written.
    #[error(
        "the index at '{path}' cannot be brought up to date: {reason}; what it holds can still be searched, make room or give write access, or choose another place with --index"
    )]
    IndexUnwritable {
        /// Path of the index file.
        path: PathBuf,
        /// What stands in the way, as a clause without a full stop.
        reason: String,
    },

    /// The index file is damaged: SQLite or our own layout checks refuse it.
    #[error("the index at '{path}' is damaged ({detail}); `bearsearch index` moves it aside and builds it again")]
    IndexCorrupt {
        /// Path of the index file.
        path: PathBuf,
        /// What was found, as SQLite or the layout check words it.
        detail: String,
    },

    /// The index was written by a newer bearsearch, whose layout this one does not know.
    #[error(
        "the index at '{path}' has schema version {found}, this bearsearch knows versions up to {supported}; update bearsearch, or choose another index with --index"
    )]
    IndexTooNew {
        /// Path of the index file.
        path: PathBuf,
        /// Schema version stored in the file.
        found: i64,
        /// Highest schema version this build can read.
        supported: i64,
    },

    /// Another process held the index's write lock for longer than the busy timeout.
    #[error("the index at '{path}' is being written by another process; try again in a moment")]
    IndexBusy {
        /// Path of the index file.
        path: PathBuf,
    },

    /// No database or folder at the source's path.
    #[error("there is no {kind} at '{path}'; {advice}")]
    SourceMissing {
        /// What was looked for: "Bear database" or "Markdown folder".
        kind: &'static str,
        /// Where it was looked for.
        path: PathBuf,
        /// What the user can do, as a clause without a full stop.
        advice: String,
    },

    /// The system refuses to let this process read the source.
    #[error("'{path}' may not be read by this program; {advice}")]
    SourceDenied {
        /// Path of the source.
        path: PathBuf,
        /// What the user can do, as a clause without a full stop.
        advice: String,
    },

    /// The source's own program kept it locked for longer than the busy timeout.
    #[error("'{path}' is locked by its own program at the moment; try again in a few seconds")]
    SourceBusy {
        /// Path of the source.
        path: PathBuf,
    },

    /// The file is there and readable, but is not what it should be.
    #[error("'{path}' is not a usable {kind}: {detail}")]
    SourceMalformed {
        /// What was expected: "Bear database" or "Markdown folder".
        kind: &'static str,
        /// Path of the source.
        path: PathBuf,
        /// What was found instead.
        detail: String,
    },

    /// Vectors of another width than the model's table holds.
    #[error(
        "embedding has {found} dimensions, the index expects {expected}; run `bearsearch index` with the index's model"
    )]
    Dimension {
        /// Dimension of the model's table.
        expected: usize,
        /// Dimension that came.
        found: usize,
    },

    /// Any other refusal of SQLite on the index; the file itself is believed to be sound.
    #[error("SQLite refused a statement on the index: {0}")]
    Sqlite(#[from] rusqlite::Error),

    /// The caller's progress function asked to stop; what was committed before stays.
    #[error("stopped before the end; what was done so far is kept, and the next run goes on from there")]
    Interrupted,

    /// A file operation failed.
    #[error("'{path}': {error}")]
    Io {
        /// File or folder the operation was about.
        path: PathBuf,
        /// The system's own words.
        error: std::io::Error,
    },
}

impl Error {
    /// Attaches a path to a system error, which does not name one.
    pub fn io(path: impl Into<PathBuf>, error: std::io::Error) -> Self {
        Self::Io { path: path.into(), error }
    }
}
