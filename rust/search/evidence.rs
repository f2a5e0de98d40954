//! What is shown of a note: its best passage with heading and lines, and where the query's words stand in it.

use rusqlite::{Connection, OptionalExtension};

use super::{Hit, legs::Found, ranking::Ranked};
use crate::{
    error::Result,
    lexical, library,
    query::{self, Query},
    snippet::{self, Terms},
    store::Store,
};

/// The notes of a page as they are shown; one that left the index since the legs ran is left out.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn hits(conn: &Connection, store: &Store, queries: &[Query], found: &[Found], page: &[Ranked]) -> Result<Vec<Hit>> {
    let terms = highlighted(conn, store, queries, found);
    page.iter().filter_map(|ranked| hit(conn, ranked, found, &terms).transpose()).collect()
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

fn hit(conn: &Connection, ranked: &Ranked, found: &[Found], terms: &Terms) -> Result<Option<Hit>> {
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
    let (Some(shown), Some(document)) = (shown, library::document(conn, document_id)?) else { return Ok(None) };
    let place = conn
        .prepare_cached("SELECT heading, start_byte, end_byte, start_line, end_line FROM chunks WHERE id = ?1")?
        .query_row([shown], |row| Ok((row.get::<_, String>(0)?, row.get(1)?..row.get(2)?, (row.get(3)?, row.get(4)?))))
        .optional()?;
    let Some((heading, range, lines)) = place else { return Ok(None) };
    let body = library::text(conn, document_id)?;
    let mut words: Vec<String> = Vec::new();
    for word in found.iter().filter_map(Found::words).flat_map(|words| words.held_by(document_id, shown)) {
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    Ok(Some(Hit {
        document,
        score: ranked.score,
        confidence: ranked.confidence,
        text_rank: text.map(|(rank, _)| rank),
        vector_rank: vector.map(|(rank, _)| rank),
        bm25: text.map(|(_, hit)| hit.score),
        cosine: vector.map(|(_, hit)| hit.score),
        text_share: ranked.text_share,
        vector_share: ranked.vector_share,
        words,
        heading,
        lines,
        excerpt: snippet::excerpt(&body, range, terms),
    }))
}
