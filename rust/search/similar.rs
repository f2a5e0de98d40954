//! Notes near a note, by the vectors that it already has: nothing is embedded.

use rusqlite::Connection;

use super::{Hit, evidence};
use crate::{
    embeddings::{self, ModelRow},
    error::Result,
    scope::{Filters, Scope},
    store::Store,
    vector,
};

/// Passages of a note that speak for it; of a longer one those that stand evenly apart.
const MAX_PASSAGES: usize = 16;
/// What the first passage counts beside the mean of all: it says what the note is about.
const FIRST: f32 = 0.5;
/// Notes that are found before the best are chosen.
const MIN_CANDIDATES: usize = 50;

/// What is near a note.
#[derive(Debug, Default)]
pub struct Similar {
    /// Notes, nearest first, the note itself not among them.
    pub hits: Vec<Hit>,
    /// Why there are none, where that has a reason.
    pub reason: Option<String>,
}

/// The `limit` notes in scope that are nearest to a note, each with its nearest passage.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn similar(store: &Store, document_id: i64, filters: &Filters, limit: usize) -> Result<Similar> {
    store.read(|conn| {
        let Some(model) = embeddings::live_model(conn)? else {
            let reason = "the index holds no embeddings yet; run `bearsearch index`".to_owned();
            return Ok(Similar { hits: Vec::new(), reason: Some(reason) });
        };
        let Some(meaning) = meaning(conn, &model, document_id)? else {
            let reason = "the note has no embedding yet; run `bearsearch index`".to_owned();
            return Ok(Similar { hits: Vec::new(), reason: Some(reason) });
        };
        // One more than wanted, because the note itself is found, too.
        let wanted = limit.max(MIN_CANDIDATES).saturating_add(1);
        let found = vector::nearest(conn, &model, &meaning, &Scope::new(filters), wanted, wanted)?;
        let mut seen = std::collections::HashSet::from([document_id]);
        let nearest = found.into_iter().filter(|hit| seen.insert(hit.document_id)).take(limit);
        let hits = nearest.enumerate().map(|(place, hit)| evidence::near(conn, place + 1, hit).transpose());
        Ok(Similar { hits: hits.flatten().collect::<Result<_>>()?, reason: None })
    })
}

/// One unit vector for a note; None when none of its passages has one.
fn meaning(conn: &Connection, model: &ModelRow, document_id: i64) -> Result<Option<Vec<f32>>> {
    let mut statement = conn.prepare_cached("SELECT id FROM chunks WHERE document_id = ?1 ORDER BY ordinal")?;
    let chunks: Vec<i64> = statement.query_map([document_id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let step = chunks.len().div_ceil(MAX_PASSAGES).max(1);
    let chosen: Vec<i64> = chunks.into_iter().step_by(step).collect();
    let vectors: Vec<Vec<f32>> =
        vector::of_chunks(conn, model, &chosen)?.into_iter().filter(|vector| !vector.is_empty()).collect();
    let Some(first) = vectors.first() else { return Ok(None) };
    let part = (1.0 - FIRST) / vectors.len() as f32;
    let mut sum: Vec<f32> = first.iter().map(|value| FIRST * value).collect();
    for vector in &vectors {
        sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += part * value);
    }
    let length = vector::dot(&sum, &sum).sqrt() as f32;
    if length > 0.0 {
        sum.iter_mut().for_each(|value| *value /= length);
    }
    Ok(Some(sum))
}
