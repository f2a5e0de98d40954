//! Vectors by content: which texts wait for one, where it is stored, when it goes.
//!
//! A text is one embedded string, known by its hash; a model has one table of vectors whose row ids are text ids. So a
//! vector survives whatever happens to documents, and never meets a vector of another model. Computing vectors and
//! scanning them are elsewhere (the Python package; `vector`).

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::{
    chunk,
    error::{Error, Result},
    schema,
    store::Store,
    vector::{self, Codec},
};

/// A model as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRow {
    /// Row id; names the vector table.
    pub id: i64,
    /// What the caller calls it.
    pub name: String,
    /// Covers everything that changes a vector.
    pub fingerprint: String,
    /// Width of its vectors.
    pub dim: usize,
    /// Whether searches use it.
    pub live: bool,
}

/// A text that waits for its vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingText {
    /// Id to hand back with the vector.
    pub id: i64,
    /// The exact string to embed; the model's prefix is the embedder's business.
    pub text: String,
}

/// How far a model is with the texts of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Texts with a vector.
    pub embedded: usize,
    /// Texts that wait for one.
    pub pending: usize,
    /// Texts that could not be embedded.
    pub failed: usize,
}

/// The model that searches use, if any.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn live_model(conn: &Connection) -> Result<Option<ModelRow>> {
    Ok(models(conn)?.into_iter().find(|model| model.live))
}

/// All models that the index has a vector table for.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn models(conn: &Connection) -> Result<Vec<ModelRow>> {
    let mut statement = conn.prepare_cached("SELECT id, name, fingerprint, dim, live FROM models ORDER BY id")?;
    let rows = statement.query_map([], |row| {
        Ok(ModelRow {
            id: row.get(0)?,
            name: row.get(1)?,
            fingerprint: row.get(2)?,
            dim: row.get(3)?,
            live: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Makes sure that the index has a vector table for this model; all texts wait for it when it is new.
///
/// The first model is live at once. A later one becomes live when it has all vectors ([`add`]), and the old one's table
/// is dropped then.
///
/// # Errors
/// [`Error::Dimension`] when the fingerprint is known with another dimension; the index errors.
pub fn use_model(store: &Store, name: &str, fingerprint: &str, dim: usize) -> Result<ModelRow> {
    let known = |conn: &Connection| Ok(models(conn)?.into_iter().find(|model| model.fingerprint == fingerprint));
    if let Some(model) = store.read(known)? {
        return check_dimension(model, dim);
    }
    store.write(|tx| {
        if let Some(model) = known(tx)? {
            return check_dimension(model, dim);
        }
        // A second model that was begun and given up for a third never becomes live.
        let mut statement = tx.prepare("SELECT id FROM models WHERE NOT live")?;
        let abandoned = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
        for id in abandoned {
            drop_model(tx, id)?;
        }
        let live = models(tx)?.is_empty();
        tx.execute(
            "INSERT INTO models (name, fingerprint, dim, live) VALUES (?1, ?2, ?3, ?4)",
            params![name, fingerprint, dim, live],
        )?;
        let id = tx.last_insert_rowid();
        schema::create_embeddings_table(tx, id)?;
        tx.execute("INSERT INTO pending SELECT ?1, id FROM texts", [id])?;
        Ok(ModelRow { id, name: name.to_owned(), fingerprint: fingerprint.to_owned(), dim, live })
    })
}

fn check_dimension(model: ModelRow, dim: usize) -> Result<ModelRow> {
    if model.dim == dim { Ok(model) } else { Err(Error::Dimension { expected: model.dim, found: dim }) }
}

fn drop_model(tx: &Transaction<'_>, id: i64) -> Result<()> {
    vector::forget(tx, id)?;
    tx.execute_batch(&format!("DROP TABLE IF EXISTS {}", schema::embeddings_table(id)))?;
    tx.execute("DELETE FROM pending WHERE model_id = ?1", [id])?;
    tx.execute("DELETE FROM embedding_failures WHERE model_id = ?1", [id])?;
    tx.execute("DELETE FROM models WHERE id = ?1", [id])?;
    Ok(())
}

/// How many texts have a vector of this model, wait for one, or failed.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn coverage(conn: &Connection, model_id: i64) -> Result<Coverage> {
    let count = |sql: &str| -> Result<usize> {
        Ok(conn.prepare_cached(sql)?.query_row([model_id], |row| row.get::<_, usize>(0))?)
    };
    let pending = count("SELECT count(*) FROM pending WHERE model_id = ?1")?;
    let failed = count("SELECT count(*) FROM embedding_failures WHERE model_id = ?1")?;
    let texts: usize = conn.prepare_cached("SELECT count(*) FROM texts")?.query_row([], |row| row.get(0))?;
    Ok(Coverage { embedded: texts.saturating_sub(pending + failed), pending, failed })
}

/// Up to `limit` texts that wait for a vector of this model, oldest first, after the text with id `after`.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn pending(conn: &Connection, model_id: i64, after: i64, limit: usize) -> Result<Vec<PendingText>> {
    let mut ids = conn
        .prepare_cached("SELECT text_id FROM pending WHERE model_id = ?1 AND text_id > ?2 ORDER BY text_id LIMIT ?3")?;
    let ids: Vec<i64> =
        ids.query_map(params![model_id, after, limit], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    texts_of(conn, &ids)
}

/// Up to `limit` texts that have a vector of this model, with it: for a check that the model still makes the same ones.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn sample(conn: &Connection, model_id: i64, limit: usize) -> Result<Vec<(PendingText, Vec<f32>)>> {
    let table = schema::embeddings_table(model_id);
    let sql =
        format!("SELECT id, embedding FROM {table} WHERE id IN (SELECT text_id FROM chunks) ORDER BY id LIMIT ?1");
    let rows: Vec<(i64, Vec<u8>)> = conn
        .prepare(&sql)?
        .query_map([limit], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let ids: Vec<i64> = rows.iter().map(|(id, _)| *id).collect();
    let vectors = rows.into_iter().map(|(_, bytes)| vector::floats(&bytes).collect());
    Ok(texts_of(conn, &ids)?.into_iter().zip(vectors).collect())
}

/// The strings that are embedded for these texts, as far as a chunk holds them.
fn texts_of(conn: &Connection, ids: &[i64]) -> Result<Vec<PendingText>> {
    let mut place = conn.prepare_cached(
        "SELECT c.document_id, c.heading, c.start_byte, c.end_byte, d.title
         FROM chunks c JOIN documents d ON d.id = c.document_id WHERE c.text_id = ?1 LIMIT 1",
    )?;
    let mut text = conn.prepare_cached("SELECT text FROM document_texts WHERE document_id = ?1")?;
    // Texts of one document follow each other, so its text is loaded once and not once per chunk.
    let mut loaded: (i64, String) = (-1, String::new());
    let mut found = Vec::with_capacity(ids.len());
    for &id in ids {
        let row: Option<(i64, String, usize, usize, String)> = place
            .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
            .optional()?;
        let Some((document_id, heading, start, end, title)) = row else { continue };
        if loaded.0 != document_id {
            loaded = (document_id, text.query_row([document_id], |row| row.get(0))?);
        }
        let body = loaded.1.get(start..end).unwrap_or_default();
        found.push(PendingText { id, text: chunk::embedded_text(&title, &heading, body) });
    }
    Ok(found)
}

/// Stores vectors for texts that still wait for one; the others are dropped, because their text has changed or gone.
///
/// `vectors` is row-major, `ids.len() * dim` float32 of unit length. Returns how many were stored. When the last text
/// of a model that is not live yet gets its vector, that model becomes live and the old one is dropped.
///
/// # Errors
/// [`Error::Dimension`] when the vectors have another width; the index errors.
pub fn add(store: &Store, model_id: i64, ids: &[i64], vectors: &[f32]) -> Result<usize> {
    store.write(|tx| {
        let dim: usize = tx
            .query_row("SELECT dim FROM models WHERE id = ?1", [model_id], |row| row.get(0))
            .optional()?
            .unwrap_or_default();
        if ids.len() * dim != vectors.len() || dim == 0 {
            return Err(Error::Dimension { expected: dim, found: vectors.len() / ids.len().max(1) });
        }
        let table = schema::embeddings_table(model_id);
        let mut waits = tx.prepare_cached("DELETE FROM pending WHERE model_id = ?1 AND text_id = ?2")?;
        let mut insert =
            tx.prepare_cached(&format!("INSERT OR REPLACE INTO {table} (id, embedding) VALUES (?1, ?2)"))?;
        let mut stored = 0;
        let mut bytes = Vec::with_capacity(dim * 4);
        for (id, vector) in ids.iter().zip(vectors.chunks_exact(dim)) {
            if waits.execute([model_id, *id])? == 0 {
                continue;
            }
            bytes.clear();
            vector.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
            insert.execute(params![id, bytes])?;
            stored += 1;
        }
        make_live_when_complete(tx, model_id)?;
        Ok(stored)
    })
}

/// Quantizes what changed among the live model's vectors, once scans would notice it or `codec` is another than before.
/// Returns whether it did.
///
/// # Errors
/// The index errors.
pub fn quantize(store: &Store, codec: Codec) -> Result<bool> {
    let due = |conn: &Connection| match live_model(conn)? {
        Some(model) if vector::is_due(conn, &model, codec)? => Ok(Some(model)),
        _ => Ok(None),
    };
    if store.read(due)?.is_none() {
        return Ok(false);
    }
    store.write(|tx| {
        let model = due(tx)?;
        model.as_ref().map_or(Ok(()), |model| vector::quantize(tx, model, codec)).map(|()| model.is_some())
    })
}

/// Records that texts could not be embedded, so that the others go on without them.
///
/// # Errors
/// The index errors.
pub fn fail(store: &Store, model_id: i64, failures: &[(i64, String)]) -> Result<()> {
    store.write(|tx| {
        for (id, reason) in failures {
            if tx.execute("DELETE FROM pending WHERE model_id = ?1 AND text_id = ?2", [model_id, *id])? > 0 {
                tx.execute(
                    "INSERT OR REPLACE INTO embedding_failures VALUES (?1, ?2, ?3)",
                    params![model_id, id, reason],
                )?;
            }
        }
        make_live_when_complete(tx, model_id)
    })
}

fn make_live_when_complete(tx: &Transaction<'_>, model_id: i64) -> Result<()> {
    let waits: bool =
        tx.query_row("SELECT EXISTS (SELECT 1 FROM pending WHERE model_id = ?1)", [model_id], |row| row.get(0))?;
    if waits {
        return Ok(());
    }
    for model in models(tx)?.into_iter().filter(|model| model.id != model_id && model.live) {
        drop_model(tx, model.id)?;
    }
    tx.execute("UPDATE models SET live = 1 WHERE id = ?1", [model_id])?;
    Ok(())
}

/// Forgets all vectors of all models, so that every text waits again.
///
/// # Errors
/// The index errors.
pub fn forget(store: &Store) -> Result<()> {
    store.write(|tx| {
        for model in models(tx)? {
            tx.execute_batch(&format!("DELETE FROM {}", schema::embeddings_table(model.id)))?;
            tx.execute("DELETE FROM embedding_failures WHERE model_id = ?1", [model.id])?;
            tx.execute("INSERT OR IGNORE INTO pending SELECT ?1, id FROM texts", [model.id])?;
        }
        Ok(())
    })
}

/// The id of the text with this hash; a new text waits for a vector of every model.
pub(crate) fn text_id(tx: &Transaction<'_>, hash: &[u8; 16]) -> Result<i64> {
    let known: Option<i64> = tx
        .prepare_cached("SELECT id FROM texts WHERE hash = ?1")?
        .query_row([hash.as_slice()], |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        return Ok(id);
    }
    tx.prepare_cached("INSERT INTO texts (hash) VALUES (?1)")?.execute([hash.as_slice()])?;
    let id = tx.last_insert_rowid();
    // One row at a time: see `documents::store` on what an `INSERT ... SELECT` would cost here.
    let models: Vec<i64> = tx
        .prepare_cached("SELECT id FROM models")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for model_id in models {
        tx.prepare_cached("INSERT INTO pending (model_id, text_id) VALUES (?1, ?2)")?.execute([model_id, id])?;
    }
    Ok(id)
}

/// Removes those of the texts `ids` that no chunk holds any more, with their vectors.
pub(crate) fn prune_texts(tx: &Transaction<'_>, ids: &[i64]) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let models = models(tx)?;
    for id in ids {
        let held: bool = tx
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM chunks WHERE text_id = ?1)")?
            .query_row([id], |row| row.get(0))?;
        if !held {
            remove_text(tx, &models, *id)?;
        }
    }
    Ok(())
}

/// Takes removed vectors out of the codes, too. No scan returns them, but a code tells much of its vector, and it would lie in the
/// file until so many have changed that all are coded. Costs about 2 ms where few changed (100,000 vectors).
pub(crate) fn erase_codes(tx: &Transaction<'_>) -> Result<()> {
    for model in models(tx)? {
        if let Some(codec) = vector::codec(tx, &model)? {
            vector::quantize(tx, &model, codec)?;
        }
    }
    Ok(())
}

/// Removes all texts that no chunk holds, with their vectors: the end of a rebuild.
///
/// # Errors
/// The index errors.
pub fn prune_all(store: &Store) -> Result<()> {
    store.write(|tx| {
        let models = models(tx)?;
        let unused: Vec<i64> = tx
            .prepare("SELECT id FROM texts WHERE id NOT IN (SELECT text_id FROM chunks)")?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        unused.into_iter().try_for_each(|id| remove_text(tx, &models, id))
    })
}

fn remove_text(tx: &Transaction<'_>, models: &[ModelRow], id: i64) -> Result<()> {
    for model in models {
        let table = schema::embeddings_table(model.id);
        tx.prepare_cached(&format!("DELETE FROM {table} WHERE id = ?1"))?.execute([id])?;
        tx.prepare_cached("DELETE FROM pending WHERE model_id = ?1 AND text_id = ?2")?.execute([model.id, id])?;
        tx.prepare_cached("DELETE FROM embedding_failures WHERE model_id = ?1 AND text_id = ?2")?
            .execute([model.id, id])?;
    }
    tx.prepare_cached("DELETE FROM texts WHERE id = ?1")?.execute([id])?;
    Ok(())
}
