//! All DDL of the index, its version, and the steps from older versions. `docs/storage.md` explains every table.
//!
//! What lives elsewhere: who may write (`store`), and what is written (`sync`).

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, Transaction};

use crate::{counts, error::Result};

/// Version of the layout below, kept in `PRAGMA user_version`.
pub const SCHEMA_VERSION: i64 = 6;

/// The first version whose tables are those of the newest: what cannot be written can be read from here on.
pub const READABLE_SINCE: i64 = 4;

/// The first version with a checksum in every page (`page_sum`).
pub const CHECKED_SINCE: i64 = 5;

/// Kept in `PRAGMA application_id`, so that no other program's database is ever mistaken for an index: "bsix".
pub const APPLICATION_ID: i32 = 0x6273_6978;

/// Vectors of 384 float32 fill 4 KiB pages to three quarters only; 8 KiB pages hold five of them with little waste.
pub const PAGE_SIZE_BYTES: u32 = 8192;

const TABLES: &str = r"
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    name TEXT NOT NULL UNIQUE,
    registered INTEGER NOT NULL,
    last_sync_at_ms INTEGER,
    error TEXT,
    -- What `stat` said before the last complete sync, if that was long enough after the last write to be trusted.
    gate BLOB,
    -- Hash of what its owner wanted left out at the last sync.
    wishes BLOB,
    -- Counts of its documents (`counts`), because every answer quotes them.
    documents INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0,
    locked INTEGER NOT NULL DEFAULT 0,
    hidden INTEGER NOT NULL DEFAULT 0,
    UNIQUE (kind, path)
);

-- Small rows; the text lives beside, in document_texts.
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    source_id INTEGER NOT NULL REFERENCES sources (id),
    external_id TEXT NOT NULL,
    mark BLOB NOT NULL,
    content_hash BLOB NOT NULL,
    title TEXT NOT NULL,
    folded_title TEXT NOT NULL,
    created_at_ms INTEGER,
    updated_at_ms INTEGER,
    archived INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    locked INTEGER NOT NULL,
    url TEXT,
    -- The row id of the document's first chunk; its other chunks follow. NULL while it has none.
    first_chunk INTEGER,
    -- Length of title and text, in words.
    words INTEGER NOT NULL DEFAULT 0,
    -- When it vanished together with most others of its source; such a document is not found, and not yet purged.
    hidden_at_ms INTEGER,
    UNIQUE (source_id, external_id)
);
CREATE INDEX documents_by_external_id ON documents (external_id);
CREATE INDEX documents_by_title ON documents (folded_title);
CREATE INDEX documents_by_date ON documents (updated_at_ms);
CREATE INDEX documents_by_chunk ON documents (first_chunk, words);

CREATE TABLE document_texts (document_id INTEGER PRIMARY KEY REFERENCES documents (id), text TEXT NOT NULL, tags TEXT NOT NULL);

-- What a source lists and the index holds no document of: unreadable (with id and reason), or excluded (neither is kept).
-- The mark saves reading it again at every sync.
CREATE TABLE left_out (
    source_id INTEGER NOT NULL REFERENCES sources (id),
    id_hash BLOB NOT NULL,
    mark BLOB NOT NULL,
    external_id TEXT,
    reason TEXT,
    PRIMARY KEY (source_id, id_hash)
) WITHOUT ROWID;

CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT NOT NULL, folded TEXT NOT NULL UNIQUE);
CREATE TABLE document_tags (
    document_id INTEGER NOT NULL REFERENCES documents (id),
    tag_id INTEGER NOT NULL REFERENCES tags (id),
    PRIMARY KEY (document_id, tag_id)
) WITHOUT ROWID;
CREATE INDEX document_tags_by_tag ON document_tags (tag_id, document_id);

-- One row per distinct embedded string, addressed by its hash. Its id is the row id in every embeddings_<n>.
CREATE TABLE texts (id INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE);

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    ordinal INTEGER NOT NULL,
    heading TEXT NOT NULL,
    start_byte INTEGER NOT NULL,
    end_byte INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    text_id INTEGER NOT NULL REFERENCES texts (id)
);
CREATE INDEX chunks_by_document ON chunks (document_id, ordinal);
CREATE INDEX chunks_by_text ON chunks (text_id);

CREATE TABLE models (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL UNIQUE,
    dim INTEGER NOT NULL,
    live INTEGER NOT NULL
);
-- What still waits for a vector of a model; kept by sync and by whoever adds vectors, so that counting costs nothing.
CREATE TABLE pending (
    model_id INTEGER NOT NULL REFERENCES models (id),
    text_id INTEGER NOT NULL REFERENCES texts (id),
    PRIMARY KEY (model_id, text_id)
) WITHOUT ROWID;
CREATE TABLE embedding_failures (
    model_id INTEGER NOT NULL REFERENCES models (id),
    text_id INTEGER NOT NULL REFERENCES texts (id),
    reason TEXT NOT NULL,
    PRIMARY KEY (model_id, text_id)
) WITHOUT ROWID;

-- The columns that full text indexes, one row per chunk. FTS5 reads it for a rebuild only: sync hands it
-- the same values directly, because cutting a chunk out of a long text in SQL copies the whole text each time.
CREATE VIEW chunk_rows AS
SELECT c.id AS id, d.title AS title, c.heading AS heading,
       CAST(substr(CAST(t.text AS BLOB), c.start_byte + 1, c.end_byte - c.start_byte) AS TEXT) AS body,
       t.tags AS tags
FROM chunks c JOIN documents d ON d.id = c.document_id JOIN document_texts t ON t.document_id = d.id;
";

/// Whole words by our own tokenizer (`tokenizer`), and its vocabulary.
const WORDS: &str = r"
CREATE VIRTUAL TABLE words USING fts5 (
    title, heading, body, tags, content = 'chunk_rows', content_rowid = 'id', tokenize = 'bearsearch'
);
CREATE VIRTUAL TABLE words_vocabulary USING fts5vocab (words, row);
";

/// What notes say beside their words (`properties`, `attachments`), and how they hang together (`links`). New in version 4.
const GRAPH: &str = r"
-- Patterns that this source alone leaves out, in gitignore syntax, one per line.
ALTER TABLE sources ADD COLUMN exclude TEXT NOT NULL DEFAULT '';

ALTER TABLE documents ADD COLUMN tasks_open INTEGER NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN tasks_done INTEGER NOT NULL DEFAULT 0;

-- From front matter and `key:: value` lines; both folded.
CREATE TABLE properties (
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    PRIMARY KEY (key, value, document_id)
) WITHOUT ROWID;
CREATE INDEX properties_by_document ON properties (document_id);

-- Files of notes, with the text that Bear read in them.
CREATE TABLE attachments (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    name TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX attachments_by_document ON attachments (document_id);
CREATE VIRTUAL TABLE attachment_words USING fts5 (
    name, text, content = 'attachments', content_rowid = 'id', tokenize = 'bearsearch'
);
INSERT INTO attachment_words (attachment_words, rank) VALUES ('secure-delete', 1);

-- What links may call a note. The key is the part of the name that every way of writing it shares.
CREATE TABLE names (
    key TEXT NOT NULL,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (key, document_id, kind, name)
) WITHOUT ROWID;
CREATE INDEX names_by_document ON names (document_id);

CREATE TABLE links (
    document_id INTEGER NOT NULL REFERENCES documents (id),
    ordinal INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    embedded INTEGER NOT NULL,
    key TEXT NOT NULL,
    target TEXT NOT NULL,
    heading TEXT NOT NULL,
    text TEXT NOT NULL,
    line INTEGER NOT NULL,
    PRIMARY KEY (document_id, ordinal)
) WITHOUT ROWID;
CREATE INDEX links_by_key ON links (key);

-- What links lead to: none where no note has the name, several where it is not clear which one is meant.
CREATE TABLE edges (
    from_id INTEGER NOT NULL REFERENCES documents (id),
    ordinal INTEGER NOT NULL,
    to_id INTEGER NOT NULL REFERENCES documents (id),
    PRIMARY KEY (from_id, ordinal, to_id)
) WITHOUT ROWID;
CREATE INDEX edges_by_target ON edges (to_id, from_id, ordinal);

-- What a write transaction has still to resolve; empty between two transactions.
CREATE TABLE changed_names (key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE changed_links (document_id INTEGER PRIMARY KEY);
";

/// From version 3: every source is read again, because what the new tables hold was not looked for. Parts of words are found
/// in the vocabulary (docs/adr/0011), so nothing reads trigrams any more.
const FROM_3: &str = r"
UPDATE sources SET gate = NULL;
DROP TABLE IF EXISTS trigrams;
";

/// From version 4: pages get room for their checksums, which is not SQL's work. Some of that version still have trigrams.
const FROM_4: &str = "DROP TABLE IF EXISTS trigrams;";

/// What the comparison with a source reads of every document. New in version 6: without it each document was looked up.
const MARKS: &str = "CREATE INDEX documents_by_mark ON documents (source_id, external_id, mark, hidden_at_ms);";

/// How much FTS5 gathers in memory before it writes a segment, in bytes. The default of one megabyte makes a first index write
/// and merge dozens of segments.
const GATHER: &str = "INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);";

/// From version 1: the words table had `porter unicode61`, and documents no length.
const FROM_1: &str = r"
DROP TABLE words;
ALTER TABLE documents ADD COLUMN first_chunk INTEGER;
ALTER TABLE documents ADD COLUMN words INTEGER NOT NULL DEFAULT 0;
CREATE INDEX documents_by_chunk ON documents (first_chunk, words);
";

/// From version 2: no gate, no counts (taken at the end of every upgrade that lacks them), nothing hidden.
const FROM_2: &str = r"
ALTER TABLE sources ADD COLUMN gate BLOB;
ALTER TABLE sources ADD COLUMN wishes BLOB;
ALTER TABLE sources ADD COLUMN documents INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sources ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sources ADD COLUMN locked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sources ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN hidden_at_ms INTEGER;
DELETE FROM meta WHERE key = 'documents';
";

/// Creates the newest layout in an empty database.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite) when SQLite refuses a statement.
pub fn create(tx: &Transaction<'_>) -> Result<()> {
    tx.execute_batch(TABLES)?;
    tx.execute_batch(WORDS)?;
    tx.execute_batch(GRAPH)?;
    tx.execute_batch(MARKS)?;
    tx.execute_batch(GATHER)?;
    // Above every number of an index that was at this path before: what programs remember of it by number is then not mistaken
    // for this one's.
    let now_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros());
    tx.execute("INSERT INTO meta VALUES ('generation', ?1)", [i64::try_from(now_us).unwrap_or(0)])?;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    Ok(())
}

/// Brings the layout from an older version to the newest. Returns whether the full-text table was made anew: whoever
/// calls this fills it again.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite) when SQLite refuses a statement.
pub fn upgrade(tx: &Transaction<'_>, from: i64) -> Result<bool> {
    if from < 2 {
        tx.execute_batch(FROM_1)?;
        tx.execute_batch(WORDS)?;
    }
    if from < 3 {
        tx.execute_batch(FROM_2)?;
        tx.execute_batch(GATHER)?;
    }
    if from < 4 {
        tx.execute_batch(GRAPH)?;
        tx.execute_batch(FROM_3)?;
    }
    if from < 5 {
        tx.execute_batch(FROM_4)?;
    }
    if from < 6 {
        tx.execute_batch(MARKS)?;
        // Until then a sync counted at its end, and one that was interrupted did not.
        tx.execute_batch(counts::RECOUNT)?;
    }
    tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    Ok(from < 2)
}

/// What the names of all tables of vectors begin with.
pub const EMBEDDINGS_PREFIX: &str = "embeddings_";

/// Name of the table that holds the vectors of model `model_id`.
pub fn embeddings_table(model_id: i64) -> String {
    format!("{EMBEDDINGS_PREFIX}{model_id}")
}

/// Creates the vector table of a model: row id = `texts.id`, float32 little-endian, unit length.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite) when SQLite refuses a statement.
pub fn create_embeddings_table(conn: &Connection, model_id: i64) -> Result<()> {
    let table = embeddings_table(model_id);
    conn.execute_batch(&format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, embedding BLOB NOT NULL)"))?;
    Ok(())
}
