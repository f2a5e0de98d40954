//! What is shown of a note: its best passage with heading and lines, its neighbours, and where the query's words stand in it.

use rusqlite::{Connection, OptionalExtension};

use super::{Hit, Passage, Request, legs::Found, near_duplicates::Sketch, ranking::Ranked};
use crate::{
    error::Result,
    lexical::{self, ChunkHit},
    library,
    query::{self, Query},
    snippet::{self, Terms},
    store::Store,
};

/// Hits that are compared with each other; who asks for more wants a list and no page.
const MAX_COMPARED: usize = 200;

/// The notes of a page as they are shown, and where the next page begins; None when nothing comes behind.
///
/// A note that left the index since the legs ran is left out. One that says nearly the same as a note above it is named there.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn page(
    conn: &Connection,
    store: &Store,
    request: &Request,
    queries: &[Query],
    found: &[Found],
    ranked: &[Ranked],
) -> Result<(Vec<Hit>, Option<usize>)> {
    let terms = highlighted(conn, store, queries, found);
    let mut hits: Vec<Hit> = Vec::new();
    let mut sketches: Vec<(usize, Sketch)> = Vec::new();
    let mut place = request.offset.min(ranked.len());
    while let Some(next) = ranked.get(place).filter(|_| hits.len() < request.limit) {
        place += 1;
        let Some((mut shown, body)) = hit(conn, request, next, found, &terms)? else { continue };
        let sketch = if hits.len() < MAX_COMPARED { Sketch::of(&body) } else { None };
        if let Some(sketch) = sketch {
            if let Some((original, _)) = sketches.iter().find(|(_, known)| known.is_near(&sketch)) {
                hits[*original].duplicates.push(shown.document.external_id);
                continue;
            }
            sketches.push((hits.len(), sketch));
        }
        shown.place = place;
        hits.push(shown);
    }
    Ok((hits, (place < ranked.len()).then_some(place)))
}

/// What to highlight: the forms that the words have in the index, or the words as typed where those cannot be had.
fn highlighted(conn: &Connection, store: &Store, queries: &[Query], found: &[Found]) -> Terms {
    let mut terms = Vec::new();
    for (query, found) in queries.iter().zip(found) {
        if let Some(words) = found.words() {
            terms.extend(words.shown());
        } else if let Ok(wanted) = store.lexicon().at(conn).and_then(|index| lexical::wanted(conn, &index, query)) {
            terms.extend(wanted.into_iter().flat_map(|want| want.shown));
        } else {
            return Terms::of_text(&query::plain_words(query).join(" "));
        }
    }
    Terms::new(terms)
}

/// One hit and the text of its note.
fn hit(
    conn: &Connection,
    request: &Request,
    ranked: &Ranked,
    found: &[Found],
    terms: &Terms,
) -> Result<Option<(Hit, String)>> {
    let document_id = ranked.document_id;
    let best = |list: fn(&Found) -> Option<&super::LegRanking>| {
        found.iter().filter_map(|found| list(found)?.place(document_id)).min_by_key(|(rank, _)| *rank)
    };
    let (text, vector) = (best(Found::words_found), best(|found| found.vector.as_ref()));
    let like = best(|found| found.like.as_ref());
    let first = [text, vector, like].into_iter().flatten().min_by_key(|(rank, _)| *rank);
    let shown = match ranked.chunk_id {
        Some(chunk_id) => Some(chunk_id),
        None if ranked.vector_share.is_some() => vector.or(first).map(|(_, hit)| hit.chunk_id),
        None => first.map(|(_, hit)| hit.chunk_id),
    };
    let Some(shown) = shown else { return Ok(None) };
    let Some((mut hit, body)) = plain(conn, document_id, shown, terms)? else { return Ok(None) };
    for word in found.iter().filter_map(Found::words).flat_map(|words| words.held_by(document_id, shown)) {
        if !hit.words.iter().any(|known| known == word) {
            hit.words.push(word.to_owned());
        }
    }
    hit.score = ranked.score;
    hit.confidence = ranked.confidence;
    hit.text_rank = text.map(|(rank, _)| rank);
    hit.vector_rank = vector.map(|(rank, _)| rank);
    hit.bm25 = text.map(|(_, hit)| hit.score);
    hit.cosine = vector.map(|(_, hit)| hit.score);
    hit.text_share = ranked.text_share;
    hit.vector_share = ranked.vector_share;
    if request.passages {
        hit.passage = passages(conn, document_id, shown, 0, &body)?.pop().map(|(_, passage)| passage.text);
    }
    if request.context > 0 {
        let around = passages(conn, document_id, shown, request.context, &body)?;
        hit.context = around.into_iter().filter(|(id, _)| *id != shown).map(|(_, passage)| passage).collect();
    }
    Ok(Some((hit, body)))
}

/// A note that is near another one, at its place in the list.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn near(conn: &Connection, rank: usize, chunk: ChunkHit) -> Result<Option<Hit>> {
    let found = plain(conn, chunk.document_id, chunk.chunk_id, &Terms::default())?;
    Ok(found.map(|(hit, _)| Hit {
        place: rank,
        score: chunk.score,
        vector_rank: Some(rank),
        cosine: Some(chunk.score),
        ..hit
    }))
}

/// A note by one of its chunks, without what the legs say of it; and its text. None when it left the index.
fn plain(conn: &Connection, document_id: i64, chunk_id: i64, terms: &Terms) -> Result<Option<(Hit, String)>> {
    let Some(document) = library::document(conn, document_id)? else { return Ok(None) };
    let place = conn
        .prepare_cached("SELECT heading, start_byte, end_byte, start_line, end_line FROM chunks WHERE id = ?1")?
        .query_row([chunk_id], |row| {
            Ok((row.get::<_, String>(0)?, row.get(1)?..row.get(2)?, (row.get(3)?, row.get(4)?)))
        })
        .optional()?;
    let Some((heading, range, lines)) = place else { return Ok(None) };
    let body = library::text(conn, document_id)?;
    let hit = Hit {
        document,
        place: 0,
        score: 0.0,
        confidence: None,
        text_rank: None,
        vector_rank: None,
        bm25: None,
        cosine: None,
        text_share: None,
        vector_share: None,
        words: Vec::new(),
        heading,
        lines,
        excerpt: snippet::excerpt(&body, range, terms),
        passage: None,
        context: Vec::new(),
        duplicates: Vec::new(),
    };
    Ok(Some((hit, body)))
}

/// A chunk and so many before and behind it in its note, in the note's order, by their row ids.
fn passages(
    conn: &Connection,
    document_id: i64,
    chunk_id: i64,
    around: usize,
    body: &str,
) -> Result<Vec<(i64, Passage)>> {
    let around = i64::try_from(around).unwrap_or(i64::MAX);
    let mut statement = conn.prepare_cached(
        "SELECT id, heading, start_byte, end_byte, start_line, end_line FROM chunks
         WHERE document_id = ?1 AND id BETWEEN ?2 AND ?3 ORDER BY ordinal",
    )?;
    let bounds = rusqlite::params![document_id, chunk_id.saturating_sub(around), chunk_id.saturating_add(around)];
    let rows = statement.query_map(bounds, |row| {
        let text = body.get(row.get(2)?..row.get(3)?).unwrap_or_default().to_owned();
        Ok((row.get(0)?, Passage { heading: row.get(1)?, lines: (row.get(4)?, row.get(5)?), text }))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
