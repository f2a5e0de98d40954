//! What a picture of the library needs: notes, one vector for each, and who links to whom. Where they are drawn is not decided here.

use std::collections::HashMap;

use rusqlite::Connection;

use crate::{
    embeddings,
    error::{Error, Result},
    library::{self, DocumentRow},
    schema,
    scope::Scope,
    vector,
};

/// Notes with their vectors.
#[derive(Debug, Clone, Default)]
pub struct MapData {
    /// Newest first, only those with a vector.
    pub notes: Vec<DocumentRow>,
    /// Values of each vector.
    pub dim: usize,
    /// The mean of each note's passages, unit length, one after the other in the order of `notes`.
    pub vectors: Vec<f32>,
    /// Places in `notes` of two notes of which the first links to the second; each pair once.
    pub links: Vec<(usize, usize)>,
    /// Notes in scope that have no vector yet.
    pub without_vector: usize,
    /// Notes in scope, before the limit.
    pub total: usize,
}

/// Reads the newest `limit` notes in scope.
///
/// # Errors
/// [`Error::Usage`] when the index holds no vectors at all; the index errors.
pub fn read(conn: &Connection, scope: &Scope, limit: usize) -> Result<MapData> {
    let model = embeddings::live_model(conn)?.ok_or_else(|| {
        Error::Usage(
            "the index holds no embeddings yet, and notes are placed by them; run `bearsearch index`".to_owned(),
        )
    })?;
    let (notes, total) = library::list(conn, scope, limit, 0)?;
    let mut data = MapData { dim: model.dim, total, ..MapData::default() };
    let table = schema::embeddings_table(model.id);
    let mut of_note = conn.prepare(&format!(
        "SELECT e.embedding FROM chunks c JOIN {table} e ON e.id = c.text_id WHERE c.document_id = ?1"
    ))?;
    for note in notes {
        let mut sum = vec![0.0_f32; model.dim];
        let mut rows = of_note.query([note.id])?;
        while let Some(row) = rows.next()? {
            let values = vector::floats(row.get_ref(0)?.as_blob().unwrap_or_default());
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length == 0.0 {
            data.without_vector += 1;
            continue;
        }
        data.vectors.extend(sum.iter().map(|value| value / length));
        data.notes.push(note);
    }
    let places: HashMap<i64, usize> = data.notes.iter().enumerate().map(|(place, note)| (note.id, place)).collect();
    let mut targets =
        conn.prepare("SELECT DISTINCT to_id FROM edges WHERE from_id = ?1 AND to_id <> ?1 ORDER BY to_id")?;
    for (place, note) in data.notes.iter().enumerate() {
        let mut rows = targets.query([note.id])?;
        while let Some(row) = rows.next()? {
            data.links.extend(places.get(&row.get(0)?).map(|target| (place, *target)));
        }
    }
    Ok(data)
}
