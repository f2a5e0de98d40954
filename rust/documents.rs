//! A document's rows: the document, its tags, its chunks and their full-text rows, always together.
//!
//! Which documents are stored or removed is decided in `sync`; vectors follow texts in `embeddings`.

use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::{
    chunk::{self, Chunk, ChunkPolicy},
    counts::{self, Counted},
    embeddings,
    error::Result,
    fulltext, lexicon, links,
    measure::measure_without_tokens,
    names::fold,
    said,
    source::Document,
    store::{meta, owe_checkpoint},
};

/// A document with everything that can be computed without the index.
pub struct Prepared {
    /// As the source gave it.
    pub document: Document,
    content_hash: [u8; 32],
    chunks: Vec<(Chunk, [u8; 16])>,
}

impl Prepared {
    /// Hashes and cuts a document.
    pub fn new(document: Document, policy: &ChunkPolicy) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut field = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        field(document.title.as_bytes());
        field(document.text.as_bytes());
        document.tags.iter().for_each(|tag| field(tag.as_bytes()));
        let content_hash = hasher.finalize().into();
        let chunks = hashed_chunks(&document.title, &document.text, policy);
        Self { document, content_hash, chunks }
    }
}

fn hashed_chunks(title: &str, text: &str, policy: &ChunkPolicy) -> Vec<(Chunk, [u8; 16])> {
    let hashed = |chunk: Chunk| {
        let embedded = chunk::embedded_text(title, &chunk.heading, &text[chunk.start_byte..chunk.end_byte]);
        let mut hash = [0; 16];
        hash.copy_from_slice(&blake3::hash(embedded.as_bytes()).as_bytes()[..16]);
        (chunk, hash)
    };
    chunk::chunks(title, text, policy).into_iter().map(hashed).collect()
}

/// Stores one document and everything that follows from it, replacing what was there.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn store(tx: &Transaction<'_>, source_id: i64, prepared: Prepared) -> Result<()> {
    lexicon::advance(tx)?;
    let Prepared { document, content_hash, chunks } = prepared;
    let stored: Option<(i64, Vec<u8>, Counted)> = tx
        .prepare_cached(
            "SELECT archived, locked, hidden_at_ms IS NOT NULL, id, content_hash FROM documents
             WHERE source_id = ?1 AND external_id = ?2",
        )?
        .query_row(params![source_id, document.id], |row| Ok((row.get(3)?, row.get(4)?, counted(row)?)))
        .optional()?;
    let folded_title = fold(&document.title);
    let id = match &stored {
        Some((id, ..)) => *id,
        None => {
            tx.prepare_cached(
                "INSERT INTO documents (source_id, external_id, mark, content_hash, title, folded_title, archived, pinned, locked)
                 VALUES (?1, ?2, x'', x'', '', '', 0, 0, 0)",
            )?
            .execute(params![source_id, document.id])?;
            tx.last_insert_rowid()
        }
    };
    tx.prepare_cached("DELETE FROM left_out WHERE source_id = ?1 AND id_hash = ?2")?
        .execute(params![source_id, id_hash(&document.id)])?;
    let same_content = stored.as_ref().is_some_and(|(_, hash, _)| hash.as_slice() == content_hash);
    let mut freed = Vec::new();
    if !same_content && stored.is_some() {
        // An ordinary edit leaves its old words to FTS5's next merge. A text that went away altogether, as when a note is
        // encrypted, must leave nothing behind.
        freed = if document.text.is_empty() {
            owe_checkpoint(tx)?;
            fulltext::erasing(tx, 1, |tx| remove_chunks(tx, id))?
        } else {
            remove_chunks(tx, id)?
        };
    }
    tx.prepare_cached(
        "UPDATE documents SET mark = ?2, content_hash = ?3, title = ?4, folded_title = ?5, created_at_ms = ?6,
         updated_at_ms = ?7, archived = ?8, pinned = ?9, locked = ?10, url = ?11, tasks_open = ?12, tasks_done = ?13,
         hidden_at_ms = NULL WHERE id = ?1",
    )?
    .execute(params![
        id,
        document.mark.0,
        content_hash,
        document.title,
        folded_title,
        document.created_at_ms,
        document.updated_at_ms,
        document.archived,
        document.pinned,
        document.locked,
        document.url,
        document.tasks.open,
        document.tasks.done
    ])?;
    let now = Counted { archived: document.archived, locked: document.locked, hidden: false };
    counts::document(tx, source_id, stored.as_ref().map(|(.., before)| *before), Some(now))?;
    said::store(tx, id, &document)?;
    links::store(tx, id, source_id, &document)?;
    if same_content {
        return Ok(());
    }
    let tags = document.tags.join("\n");
    // Not `INSERT OR REPLACE`, nor `INSERT ... SELECT` below: a statement that SQLite might have to undo in part begins with a
    // savepoint, and at each savepoint FTS5 writes what it has gathered as a segment of its own.
    let sql = match stored {
        Some(_) => "UPDATE document_texts SET text = ?2, tags = ?3 WHERE document_id = ?1",
        None => "INSERT INTO document_texts (document_id, text, tags) VALUES (?1, ?2, ?3)",
    };
    tx.prepare_cached(sql)?.execute(params![id, document.text, tags])?;
    store_tags(tx, id, &document.tags)?;
    store_chunks(tx, id, &Content { title: &document.title, text: &document.text, tags: &tags }, &chunks)?;
    embeddings::prune_texts(tx, &freed)?;
    // Only where something was erased above: a note that was always empty, or locked, has no code.
    if document.text.is_empty() && !freed.is_empty() { embeddings::erase_codes(tx) } else { Ok(()) }
}

fn store_tags(tx: &Transaction<'_>, document_id: i64, tags: &[String]) -> Result<()> {
    tx.prepare_cached("DELETE FROM document_tags WHERE document_id = ?1")?.execute([document_id])?;
    for tag in tags {
        let folded = fold(tag);
        tx.prepare_cached("INSERT INTO tags (name, folded) VALUES (?1, ?2) ON CONFLICT (folded) DO NOTHING")?
            .execute(params![tag, folded])?;
        let tag_id: i64 =
            tx.prepare_cached("SELECT id FROM tags WHERE folded = ?1")?.query_row([folded], |row| row.get(0))?;
        tx.prepare_cached("INSERT OR IGNORE INTO document_tags (document_id, tag_id) VALUES (?1, ?2)")?
            .execute([document_id, tag_id])?;
    }
    Ok(())
}

/// The columns that full text sees of a document; the body of each chunk is cut from `text`.
struct Content<'a> {
    title: &'a str,
    text: &'a str,
    tags: &'a str,
}

fn store_chunks(
    tx: &Transaction<'_>,
    document_id: i64,
    content: &Content<'_>,
    chunks: &[(Chunk, [u8; 16])],
) -> Result<()> {
    let mut first = None;
    for (chunk, hash) in chunks {
        let text_id = embeddings::text_id(tx, hash)?;
        tx.prepare_cached(
            "INSERT INTO chunks (document_id, ordinal, heading, start_byte, end_byte, start_line, end_line, text_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            document_id,
            chunk.ordinal,
            chunk.heading,
            chunk.start_byte,
            chunk.end_byte,
            chunk.start_line,
            chunk.end_line,
            text_id
        ])?;
        let id = tx.last_insert_rowid();
        first.get_or_insert(id);
        let body = &content.text[chunk.start_byte..chunk.end_byte];
        let row = fulltext::Row { id, title: content.title, heading: &chunk.heading, body, tags: content.tags };
        fulltext::insert(tx, &row)?;
    }
    counts::chunks_came(tx, chunks.len())?;
    let words = measure_without_tokens(content.title).words + measure_without_tokens(content.text).words;
    tx.prepare_cached("UPDATE documents SET first_chunk = ?2, words = ?3 WHERE id = ?1")?.execute(params![
        document_id,
        first,
        words
    ])?;
    Ok(())
}

/// Removes a document's chunks from all tables; returns the ids of their texts, which may have lost their last chunk.
fn remove_chunks(tx: &Transaction<'_>, document_id: i64) -> Result<Vec<i64>> {
    struct Row {
        id: i64,
        heading: String,
        start_byte: usize,
        end_byte: usize,
        text_id: i64,
    }
    let (title, text, tags): (String, String, String) = tx
        .prepare_cached(
            "SELECT d.title, t.text, t.tags FROM documents d JOIN document_texts t ON t.document_id = d.id WHERE d.id = ?1",
        )?
        .query_row([document_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let rows: Vec<Row> = tx
        .prepare_cached("SELECT id, heading, start_byte, end_byte, text_id FROM chunks WHERE document_id = ?1")?
        .query_map([document_id], |row| {
            Ok(Row {
                id: row.get(0)?,
                heading: row.get(1)?,
                start_byte: row.get(2)?,
                end_byte: row.get(3)?,
                text_id: row.get(4)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    for row in &rows {
        let body = text.get(row.start_byte..row.end_byte).unwrap_or_default();
        let row = fulltext::Row { id: row.id, title: &title, heading: &row.heading, body, tags: &tags };
        fulltext::remove(tx, &row)?;
    }
    let removed = tx.prepare_cached("DELETE FROM chunks WHERE document_id = ?1")?.execute([document_id])?;
    counts::chunks_went(tx, removed)?;
    Ok(rows.into_iter().map(|row| row.text_id).collect())
}

/// Removes documents with everything that follows from them, so that none of their words stays in the file.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn purge(tx: &Transaction<'_>, ids: &[i64]) -> Result<()> {
    // Another process may have been faster.
    let mut exists = tx.prepare_cached("SELECT EXISTS (SELECT 1 FROM documents WHERE id = ?1)")?;
    let mut held = Vec::with_capacity(ids.len());
    for id in ids {
        if exists.query_row([id], |row| row.get(0))? {
            held.push(*id);
        }
    }
    let ids = held;
    if ids.is_empty() {
        return Ok(());
    }
    owe_checkpoint(tx)?;
    lexicon::advance(tx)?;
    let freed = fulltext::erasing(tx, ids.len(), |tx| {
        ids.iter().try_fold(Vec::new(), |mut freed, id| {
            freed.extend(remove_chunks(tx, *id)?);
            remove_row(tx, *id)?;
            Ok(freed)
        })
    })?;
    tx.execute("DELETE FROM tags WHERE id NOT IN (SELECT tag_id FROM document_tags)", [])?;
    embeddings::prune_texts(tx, &freed)?;
    embeddings::erase_codes(tx)
}

/// For a rebuild: removes all documents of one source and keeps their texts, whose vectors the new rows will find again.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn clear_source(tx: &Transaction<'_>, source_id: i64) -> Result<()> {
    owe_checkpoint(tx)?;
    lexicon::advance(tx)?;
    let ids: Vec<i64> = tx
        .prepare_cached("SELECT id FROM documents WHERE source_id = ?1")?
        .query_map([source_id], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let others: bool =
        tx.query_row("SELECT EXISTS (SELECT 1 FROM documents WHERE source_id <> ?1)", [source_id], |row| row.get(0))?;
    if others {
        fulltext::erasing(tx, ids.len(), |tx| ids.iter().try_for_each(|id| remove_chunks(tx, *id).map(drop)))?;
    } else {
        fulltext::clear(tx)?;
        counts::chunks_went(tx, tx.execute("DELETE FROM chunks", [])?)?;
    }
    ids.iter().try_for_each(|id| remove_row(tx, *id))
}

fn remove_row(tx: &Transaction<'_>, id: i64) -> Result<()> {
    said::forget(tx, id)?;
    links::forget(tx, id)?;
    tx.prepare_cached("DELETE FROM document_tags WHERE document_id = ?1")?.execute([id])?;
    tx.prepare_cached("DELETE FROM document_texts WHERE document_id = ?1")?.execute([id])?;
    let (source_id, before) = source_and_state(tx, id)?;
    counts::document(tx, source_id, Some(before), None)?;
    tx.prepare_cached("DELETE FROM documents WHERE id = ?1")?.execute([id])?;
    Ok(())
}

/// Hides documents since `at_ms`, or with None shows them again.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn set_hidden(tx: &Transaction<'_>, ids: &[i64], at_ms: Option<i64>) -> Result<()> {
    let mut statement = tx.prepare_cached("UPDATE documents SET hidden_at_ms = ?2 WHERE id = ?1")?;
    for id in ids {
        // Another process may have purged it since it was seen.
        let Some((source_id, before)) = source_and_state(tx, *id).optional()? else { continue };
        statement.execute(params![id, at_ms])?;
        counts::document(tx, source_id, Some(before), Some(Counted { hidden: at_ms.is_some(), ..before }))?;
    }
    Ok(())
}

fn source_and_state(tx: &Transaction<'_>, id: i64) -> rusqlite::Result<(i64, Counted)> {
    tx.prepare_cached("SELECT archived, locked, hidden_at_ms IS NOT NULL, source_id FROM documents WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get(3)?, counted(row)?)))
}

/// What counts of a document, from the first three columns.
fn counted(row: &Row<'_>) -> rusqlite::Result<Counted> {
    Ok(Counted { archived: row.get(0)?, locked: row.get(1)?, hidden: row.get(2)? })
}

/// Cuts all stored documents anew, from the stored texts; strings that come out the same keep their vectors.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn rechunk_all(tx: &Transaction<'_>, policy: &ChunkPolicy) -> Result<()> {
    lexicon::advance(tx)?;
    // Only texts that lose their chunks here may go: salvaged ones wait for theirs.
    let held: Vec<i64> = tx
        .prepare("SELECT DISTINCT text_id FROM chunks")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    fulltext::clear(tx)?;
    counts::chunks_went(tx, tx.execute("DELETE FROM chunks", [])?)?;
    let ids: Vec<i64> = tx
        .prepare_cached("SELECT id FROM documents")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for id in ids {
        let (title, text, tags): (String, String, String) = tx
            .prepare_cached(
                "SELECT d.title, t.text, t.tags FROM documents d JOIN document_texts t ON t.document_id = d.id WHERE d.id = ?1",
            )?
            .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let chunks = hashed_chunks(&title, &text, policy);
        store_chunks(tx, id, &Content { title: &title, text: &text, tags: &tags }, &chunks)?;
    }
    embeddings::prune_texts(tx, &held)
}

/// Fills the full-text table again after a change of the layout, with the chunks cut as they were.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn refill(tx: &Transaction<'_>) -> Result<()> {
    let word: Option<String> = meta(tx, CHUNK_POLICY)?;
    rechunk_all(tx, &policy_from_word(word.as_deref(), None).0)
}

/// Key of the chunk policy in `meta`.
pub const CHUNK_POLICY: &str = "chunk_policy";

/// The policy for a model that takes `max_tokens`, or else the one that `stored` names, and the word for it.
pub fn policy_from_word(stored: Option<&str>, max_tokens: Option<usize>) -> (ChunkPolicy, String) {
    let stored = stored.and_then(|word| word.rsplit('/').next()?.parse().ok());
    let policy = ChunkPolicy { max_tokens: max_tokens.or(stored), ..ChunkPolicy::default() };
    let tokens = policy.max_tokens.map_or_else(|| "any".to_owned(), |tokens| tokens.to_string());
    let word = format!("{}/{}/{}/{tokens}", policy.max_words, policy.min_words, policy.overlap_words);
    (policy, word)
}

/// What stands for an id where the id itself must not be kept.
pub(crate) fn id_hash(id: &str) -> [u8; 32] {
    *blake3::hash(id.as_bytes()).as_bytes()
}
