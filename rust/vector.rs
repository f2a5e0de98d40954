//! The leg that reads meaning: the nearest vectors of a query's embedding, as chunks of documents in scope.
//!
//! Scanning is the C extension's work; this file asks it and turns text ids into chunks.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::{
    embeddings::ModelRow,
    error::{Error, Result},
    lexical::ChunkHit,
    schema,
    scope::{Members, Scope},
};

/// Vectors that a scan measures one by one in about 0.1 ms (384 dimensions).
const UNQUANTIZED: i64 = 1024;

/// Vectors that stand for all where a mean is asked for: its error is then a hundredth of a typical cosine's spread.
const SAMPLE: i64 = 512;

/// What a scan reads in place of the vectors themselves (docs/adr/0003).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Codec {
    /// One bit per dimension after a random rotation, the best rescored exactly.
    #[default]
    Rabitq,
    /// Four bits of the same kind.
    Rabitq4,
    /// Eight bits, the best of four times as many as are wanted rescored exactly.
    Int8,
    /// The vectors.
    Exact,
}

impl Codec {
    /// The codec of a word: `auto`, `rabitq`, `rabitq4`, `int8` or `none`.
    ///
    /// # Errors
    /// [`Error::Usage`] for any other word.
    pub fn from_word(word: &str) -> Result<Self> {
        match word {
            "auto" | "rabitq" => Ok(Self::Rabitq),
            "rabitq4" => Ok(Self::Rabitq4),
            "int8" => Ok(Self::Int8),
            "none" => Ok(Self::Exact),
            _ => Err(Error::Usage(format!("there is no codec \"{word}\"; use auto, rabitq, rabitq4, int8 or none"))),
        }
    }

    /// What the extension is told; None when nothing is to be coded.
    fn options(self) -> Option<&'static str> {
        match self {
            Self::Rabitq => Some("qtype=RABITQ"),
            Self::Rabitq4 => Some("qtype=RABITQ4"),
            Self::Int8 => Some("qtype=INT8,rescore=4"),
            Self::Exact => None,
        }
    }

    /// The codec that the extension's metadata speak of.
    fn from_metadata(qtype: i64) -> Option<Self> {
        match qtype {
            101 => Some(Self::Rabitq),
            104 => Some(Self::Rabitq4),
            2 => Some(Self::Int8),
            _ => None,
        }
    }
}

/// Chunks to ask for, for each document that is wanted: notes have several.
const CHUNKS_PER_DOCUMENT: usize = 2;

/// The chunks in scope nearest to `query`, best first, from at most `limit` documents, and from at least `enough` if there
/// are so many: a scan that found fewer goes on further.
///
/// `query` is float32 of the model's dimension and unit length; the score of a hit is its cosine.
///
/// # Errors
/// [`Error::Dimension`] when `query` has another width; [`Error::Sqlite`].
pub fn nearest(
    conn: &Connection,
    model: &ModelRow,
    query: &[f32],
    scope: &Scope,
    enough: usize,
    limit: usize,
) -> Result<Vec<ChunkHit>> {
    if query.len() != model.dim {
        return Err(Error::Dimension { expected: model.dim, found: query.len() });
    }
    let mut members = scope.members(conn)?;
    let filter: Option<Vec<u8>> =
        members.text_ids(conn)?.map(|ids| ids.iter().flat_map(|id| id.to_le_bytes()).collect());
    let mut asked = limit.saturating_mul(CHUNKS_PER_DOCUMENT);
    loop {
        let scanned = scan(conn, model, query, asked, filter.as_deref())?;
        let hits = in_scope(conn, &scanned, &mut members, limit)?;
        if scanned.len() < asked || distinct_documents(&hits) >= enough {
            return Ok(hits);
        }
        asked = asked.saturating_mul(4);
    }
}

/// Text ids and cosines of the `limit` vectors nearest to `query`, best first; of those in `filter` (rowids as packed
/// int64), if there is one.
fn scan(
    conn: &Connection,
    model: &ModelRow,
    query: &[f32],
    limit: usize,
    filter: Option<&[u8]>,
) -> Result<Vec<(i64, f64)>> {
    let table = schema::embeddings_table(model.id);
    prepare(conn, model)?;
    let module = if stored_codec(conn, &table)?.is_some() { "vector_quantize_scan" } else { "vector_full_scan" };
    let condition = if filter.is_some() { "WHERE filter = ?4" } else { "" };
    let sql = format!("SELECT id, distance FROM {module}(?1, 'embedding', ?2, ?3) {condition}");
    let bytes: Vec<u8> = query.iter().flat_map(|value| value.to_le_bytes()).collect();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = conn.prepare_cached(&sql)?;
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, 1.0 - row.get::<_, f64>(1)?));
    let rows = match filter {
        Some(filter) => statement.query_map(params![table, bytes, limit, filter], row)?,
        None => statement.query_map(params![table, bytes, limit], row)?,
    };
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Tells the extension what the vectors of `model` are; it asks once for each connection.
fn prepare(conn: &Connection, model: &ModelRow) -> Result<()> {
    let options = format!("dimension={},type=FLOAT32,distance=COSINE", model.dim);
    let mut statement = conn.prepare_cached("SELECT vector_init(?1, 'embedding', ?2)")?;
    Ok(statement.query_row(params![schema::embeddings_table(model.id), options], |_| Ok(()))?)
}

/// How the vectors of `model` are coded; None when they are not.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn codec(conn: &Connection, model: &ModelRow) -> Result<Option<Codec>> {
    stored_codec(conn, &schema::embeddings_table(model.id))
}

fn stored_codec(conn: &Connection, table: &str) -> Result<Option<Codec>> {
    let mut any = conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqliteai_vector')")?;
    if !any.query_row([], |row| row.get::<_, bool>(0))? {
        return Ok(None);
    }
    // The published keys outlive the codes, the stamp does not.
    let mut qtype = conn.prepare_cached(
        "SELECT CAST(q.value AS INTEGER) FROM _sqliteai_vector q JOIN _sqliteai_vector s USING (tblname, colname)
         WHERE q.tblname = ?1 AND q.colname = 'embedding' AND q.key = 'qtype' AND s.key = 'stamp'",
    )?;
    let found: Option<i64> = qtype.query_row([table], |row| row.get(0)).optional()?;
    Ok(found.and_then(Codec::from_metadata))
}

/// Whether [`quantize`] has something to do: another codec is wanted, or so many vectors of `model` changed since they were
/// last quantized that scans get slower, because changed ones are measured one by one.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn is_due(conn: &Connection, model: &ModelRow, codec: Codec) -> Result<bool> {
    let table = schema::embeddings_table(model.id);
    let changed = match stored_codec(conn, &table)? {
        Some(stored) if stored != codec => return Ok(true),
        Some(_) => format!("vectorlog_{table}_embedding"),
        None if codec == Codec::Exact => return Ok(false),
        None => table,
    };
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {changed} LIMIT ?1)");
    let counted: i64 = conn.prepare_cached(&sql)?.query_row([UNQUANTIZED], |row| row.get(0))?;
    Ok(counted >= UNQUANTIZED)
}

/// Drops what the extension keeps of a model, before its table goes.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn forget(tx: &Transaction<'_>, model_id: i64) -> Result<()> {
    let table = schema::embeddings_table(model_id);
    Ok(tx.query_row("SELECT vector_quantize_cleanup(?1, 'embedding')", [table], |_| Ok(()))?)
}

/// Codes the vectors of `model` that changed since the last time, so that scans need not measure each exactly; all of them when
/// they were coded in another way.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn quantize(tx: &Transaction<'_>, model: &ModelRow, codec: Codec) -> Result<()> {
    let Some(options) = codec.options() else { return forget(tx, model.id) };
    prepare(tx, model)?;
    let mut statement = tx.prepare_cached("SELECT vector_quantize(?1, 'embedding', ?2)")?;
    Ok(statement.query_row(params![schema::embeddings_table(model.id), options], |_| Ok(()))?)
}

/// The chunks of the scanned texts that are in scope, in the same order, until they come from `limit` documents.
fn in_scope(
    conn: &Connection,
    scanned: &[(i64, f64)],
    members: &mut Members<'_>,
    limit: usize,
) -> Result<Vec<ChunkHit>> {
    let mut statement = conn.prepare_cached("SELECT id, document_id FROM chunks WHERE text_id = ?1 ORDER BY id")?;
    let mut hits = Vec::new();
    let mut documents = HashSet::new();
    for &(text_id, score) in scanned {
        let rows = statement.query_map([text_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for row in rows {
            let (chunk_id, document_id) = row?;
            if members.hold(document_id)? {
                documents.insert(document_id);
                hits.push(ChunkHit { document_id, chunk_id, score });
            }
        }
        if documents.len() >= limit {
            break;
        }
    }
    Ok(hits)
}

/// Embeddings of the texts of chunks, in the order of `chunk_ids`; empty for one that has none yet.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn of_chunks(conn: &Connection, model: &ModelRow, chunk_ids: &[i64]) -> Result<Vec<Vec<f32>>> {
    let sql = format!(
        "SELECT e.embedding FROM chunks c JOIN {} e ON e.id = c.text_id WHERE c.id = ?1",
        schema::embeddings_table(model.id)
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut embedding = |id: &i64| {
        let found = statement.query_row([id], |row| Ok(floats(row.get_ref(0)?.as_blob()?).collect())).optional()?;
        Ok(found.unwrap_or_default())
    };
    chunk_ids.iter().map(&mut embedding).collect()
}

/// The mean of vectors of the model, of a sample where there are many; empty when there are none.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn mean(conn: &Connection, model: &ModelRow, last_id: i64) -> Result<Vec<f32>> {
    let table = schema::embeddings_table(model.id);
    let mut statement =
        conn.prepare_cached(&format!("SELECT id, embedding FROM {table} WHERE id >= ?1 ORDER BY id LIMIT 1"))?;
    let mut sum = vec![0f32; model.dim];
    let (mut count, mut next) = (0u32, 1i64);
    while next <= last_id {
        let row = statement.query_row([next], |row| {
            Ok((row.get::<_, i64>(0)?, floats(row.get_ref(1)?.as_blob()?).collect::<Vec<_>>()))
        });
        let Some((id, vector)) = row.optional()? else { break };
        sum.iter_mut().zip(&vector).for_each(|(sum, value)| *sum += value);
        count += 1;
        next = (id + 1).max(next + last_id / SAMPLE);
    }
    sum.iter_mut().for_each(|value| *value /= count.max(1) as f32);
    Ok(if count == 0 { Vec::new() } else { sum })
}

/// The largest row id among the model's vectors, 0 when there are none: it grows when vectors are added.
///
/// # Errors
/// [`Error::Sqlite`].
pub fn last_id(conn: &Connection, model: &ModelRow) -> Result<i64> {
    let sql = format!("SELECT coalesce(max(id), 0) FROM {}", schema::embeddings_table(model.id));
    Ok(conn.prepare_cached(&sql)?.query_row([], |row| row.get(0))?)
}

/// The inner product: the cosine of unit vectors.
pub fn dot(left: &[f32], right: &[f32]) -> f64 {
    // Eight sums side by side: the compiler may not reorder one sum of floats, and so could not use wide registers.
    let mut sums = [0f32; 8];
    let (left, right) = (left.chunks_exact(8), right.chunks_exact(8));
    let rest: f32 = left.remainder().iter().zip(right.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in left.zip(right) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    f64::from(sums.iter().sum::<f32>() + rest)
}

/// The elements of a stored vector.
pub(crate) fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four))
}

fn distinct_documents(hits: &[ChunkHit]) -> usize {
    hits.iter().map(|hit| hit.document_id).collect::<HashSet<_>>().len()
}
