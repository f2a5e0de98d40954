//! The leg that reads meaning: the nearest vectors of a query's embedding, as chunks of documents in scope.
//!
//! Scanning is the C extension's work; this file asks it and turns text ids into chunks.

use std::collections::HashSet;

use rusqlite::{Connection, params, params_from_iter, types::Value};

use crate::{
    embeddings::{self, ModelRow},
    error::{Error, Result},
    lexical::ChunkHit,
    schema,
    scope::Scope,
};

/// The chunks in scope nearest to `query`, best first, until they come from `limit` documents or none is left.
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
    limit: usize,
) -> Result<Vec<ChunkHit>> {
    if query.len() != model.dim {
        return Err(Error::Dimension { expected: model.dim, found: query.len() });
    }
    if scope.is_selective() { nearest_of_few(conn, model, query, scope, limit) } else { nearest_of_all(conn, model, query, scope, limit) }
}

/// For a scope that leaves out little: scan everything, drop what is out of scope, and ask for more when too few are left.
fn nearest_of_all(conn: &Connection, model: &ModelRow, query: &[f32], scope: &Scope, limit: usize) -> Result<Vec<ChunkHit>> {
    let table = schema::embeddings_table(model.id);
    conn.query_row(
        "SELECT vector_init(?1, 'embedding', ?2)",
        params![table, format!("dimension={},type=FLOAT32,distance=COSINE", model.dim)],
        |_| Ok(()),
    )?;
    let bytes: Vec<u8> = query.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut scan = conn.prepare_cached("SELECT id, distance FROM vector_full_scan(?1, 'embedding', ?2, ?3)")?;
    let mut asked = limit.saturating_mul(3).max(64);
    loop {
        let rows = scan.query_map(params![table, bytes, i64::try_from(asked).unwrap_or(i64::MAX)], |row| {
            Ok((row.get::<_, i64>(0)?, 1.0 - row.get::<_, f64>(1)?))
        })?;
        let scanned: Vec<(i64, f64)> = rows.collect::<rusqlite::Result<_>>()?;
        let exhausted = scanned.len() < asked;
        let hits = in_scope(conn, &scanned, scope, limit)?;
        if exhausted || distinct_documents(&hits) >= limit {
            return Ok(hits);
        }
        asked = asked.saturating_mul(4);
    }
}

/// For a scope that may leave out most: load the vectors in scope and compare each.
fn nearest_of_few(conn: &Connection, model: &ModelRow, query: &[f32], scope: &Scope, limit: usize) -> Result<Vec<ChunkHit>> {
    let ids = scope.text_ids(conn)?;
    let vectors = embeddings::load(conn, model, &ids)?;
    let dot = |vector: &Vec<f32>| vector.iter().zip(query).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    let mut scanned: Vec<(i64, f64)> = vectors.iter().map(|(id, vector)| (*id, dot(vector))).collect();
    scanned.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    in_scope(conn, &scanned, scope, limit)
}

/// The chunks of the scanned texts that are in scope, in the same order, until they come from `limit` documents.
fn in_scope(conn: &Connection, scanned: &[(i64, f64)], scope: &Scope, limit: usize) -> Result<Vec<ChunkHit>> {
    let sql = format!(
        "SELECT c.id, c.document_id FROM chunks c JOIN documents d ON d.id = c.document_id WHERE c.text_id = ? AND {} ORDER BY c.id",
        scope.condition()
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut hits = Vec::new();
    let mut documents = HashSet::new();
    for &(text_id, score) in scanned {
        let parameters = std::iter::once(Value::Integer(text_id)).chain(scope.parameters().iter().cloned());
        let rows = statement.query_map(params_from_iter(parameters), |row| Ok((row.get(0)?, row.get(1)?)))?;
        for row in rows {
            let (chunk_id, document_id) = row?;
            documents.insert(document_id);
            hits.push(ChunkHit { document_id, chunk_id, score });
        }
        if documents.len() >= limit {
            break;
        }
    }
    Ok(hits)
}

fn distinct_documents(hits: &[ChunkHit]) -> usize {
    hits.iter().map(|hit| hit.document_id).collect::<HashSet<_>>().len()
}
