//! From the legs' lists to one list of notes, best first.
//!
//! The arithmetic is `fusion`'s; here is what it is done with: which notes are weighed, and where the numbers come from.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::{Mode, Request, legs::Found};
use crate::{
    confidence::{self, Evidence},
    embeddings::ModelRow,
    error::Result,
    fusion::{self, Fusion, Meaning, NEIGHBOURHOOD},
    lexical::{self, ChunkHit, Words},
    query::{self, Query},
    store::{Store, meta},
    vector,
};

/// Notes that are weighed by more than their best chunk, when the caller wants fewer.
const MIN_WEIGHED: usize = 100;
/// What the first chunk counts beside the best one: it says what the whole note is about.
const FIRST_CHUNK: f64 = 0.3;

/// One note of the list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// Row id of the note.
    pub document_id: i64,
    /// What the list is ordered by.
    pub score: f64,
    /// What the text leg saw of what is possible.
    pub text_share: Option<f64>,
    /// The same of the vector leg.
    pub vector_share: Option<f64>,
    /// How likely it is an answer; None where the list is ordered by ranks.
    pub confidence: Option<f64>,
    /// Row id of the chunk to show; None where the leg's own best one will do.
    pub chunk_id: Option<i64>,
}

/// The list, and whether anything in it deserves to be called a hit.
#[derive(Debug, Default)]
pub struct Ranking {
    /// Best first; each note once.
    pub notes: Vec<Ranked>,
    /// False when all that was found is what any query finds.
    pub is_evident: bool,
}

impl Ranked {
    pub(super) fn plain(document_id: i64, score: f64) -> Self {
        Self { document_id, score, text_share: None, vector_share: None, confidence: None, chunk_id: None }
    }
}

/// Makes one list of what the legs found for all queries; each note stands in it once, with its best evidence.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn rank(
    conn: &Connection,
    store: &Store,
    request: &Request,
    queries: &[Query],
    model: Option<&ModelRow>,
    found: &[Found],
) -> Result<Ranking> {
    let mut is_evident =
        found.iter().any(Found::is_known) || (request.mode == Mode::Vector && asks_known(conn, store, queries)?);
    if request.fusion == Fusion::Rrf || found.iter().any(|found| found.like.is_some()) {
        return Ok(Ranking { notes: by_ranks(found), is_evident: true });
    }
    let chunks = meta(conn, "chunks")?.unwrap_or(0);
    let mut best: HashMap<i64, Ranked> = HashMap::new();
    for ((input, query), found) in request.queries.iter().zip(queries).zip(found) {
        let list = match (model, &input.embedding, &found.vector) {
            (Some(model), Some(embedding), Some(_)) => {
                let mean = store.lexicon().at(conn)?.mean_vector(conn, model)?;
                let background = vector::dot(embedding, &mean);
                let wording = query::wording(query);
                let meaning = Meaning { floor: request.floor, background, fluency: input.fluency, wording };
                let list = by_shares(conn, request, model, embedding, &meaning, found, chunks)?;
                let share = list.iter().filter_map(|note| note.vector_share).fold(0.0, f64::max);
                is_evident |= confidence::is_evident(share, chunks, meaning.trust());
                list
            }
            _ => by_words(found),
        };
        is_evident |= list.iter().filter_map(|note| note.text_share).any(confidence::is_plausible);
        for ranked in list {
            best.entry(ranked.document_id)
                .and_modify(|known| {
                    if ranked.score > known.score {
                        *known = ranked;
                    }
                })
                .or_insert(ranked);
        }
    }
    let mut list: Vec<Ranked> = best.into_values().collect();
    sort(&mut list);
    Ok(Ranking { notes: list, is_evident })
}

/// Whether the index holds a word of the queries, which no leg looked for: a query of real words is not nonsense, even
/// where its model does not know them.
fn asks_known(conn: &Connection, store: &Store, queries: &[Query]) -> Result<bool> {
    let index = store.lexicon().at(conn)?;
    for query in queries {
        if lexical::wanted(conn, &index, query)?.iter().any(|want| !want.forms.is_empty()) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn sort(list: &mut [Ranked]) {
    list.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.document_id.cmp(&b.document_id)));
}

fn by_ranks(found: &[Found]) -> Vec<Ranked> {
    let lists = found
        .iter()
        .flat_map(|found| [found.words_found(), found.vector.as_ref(), found.like.as_ref()].into_iter().flatten());
    let votes: Vec<_> = lists.map(super::LegRanking::votes).collect();
    let fused = fusion::reciprocal_rank(&votes, fusion::RRF_K);
    fused.into_iter().map(|(document_id, score)| Ranked::plain(document_id, score)).collect()
}

/// The text leg's own order; by date where only filters were given.
fn by_words(found: &Found) -> Vec<Ranked> {
    let Some(list) = found.words_found() else { return Vec::new() };
    let scorer = found.words().map(Words::scorer);
    let ranked = |(place, document_id): (usize, &i64)| {
        let score = list.place(*document_id).map_or(0.0, |(_, hit)| hit.score);
        let share = found.words().zip(scorer.as_ref());
        Ranked {
            text_share: share.map(|(words, scorer)| fusion::text_share(&words.scored(scorer, *document_id))),
            // Equal scores keep the order in which the leg gave them.
            ..Ranked::plain(*document_id, if score == 0.0 { -(place as f64) } else { score })
        }
    };
    let mut notes: Vec<Ranked> = list.documents().iter().enumerate().map(ranked).collect();
    if found.words().is_some() {
        let seen = |note: &Ranked| Evidence { score: note.score, text: note.text_share, vector: None };
        let confidences = confidence::confidences(&notes.iter().map(seen).collect::<Vec<_>>());
        notes.iter_mut().zip(confidences).for_each(|(note, value)| note.confidence = Some(value));
    }
    notes
}

/// A note while it is weighed.
struct Weighed {
    document_id: i64,
    text_share: f64,
    chunk: Option<ChunkHit>,
    cosine: Option<f64>,
    score: f64,
}

fn by_shares(
    conn: &Connection,
    request: &Request,
    model: &ModelRow,
    embedding: &[f32],
    meaning: &Meaning,
    found: &Found,
    chunks: usize,
) -> Result<Vec<Ranked>> {
    let mut notes = candidates(conn, model, embedding, found)?;
    let meaning = meaning.with_best_words(notes.iter().map(|note| note.text_share).fold(0.0, f64::max));
    let weights = meaning.weights();
    let common = fusion::shared_by_many(notes.iter().map(|note| note.text_share).collect(), meaning.description());
    let score = |note: &Weighed| {
        let vector = note.cosine.map(|cosine| meaning.share(cosine));
        match found.words() {
            Some(_) => weights.mean((note.text_share - common).max(0.0), vector),
            None => vector.unwrap_or(0.0),
        }
    };
    notes.iter_mut().for_each(|note| note.score = score(note));
    let order = |notes: &mut [Weighed]| {
        notes.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.document_id.cmp(&b.document_id)));
    };
    order(&mut notes);
    let weighed = notes.len().min(request.limit.max(MIN_WEIGHED));
    let firsts: Vec<i64> = first_chunks(conn, &notes[..weighed])?;
    let vectors = vector::of_chunks(conn, model, &firsts)?;
    let mut vectors: HashMap<i64, Vec<f32>> = notes.iter().map(|note| note.document_id).zip(vectors).collect();
    for note in &mut notes[..weighed] {
        if let Some(cosine) = &mut note.cosine
            && let Some(first) = vectors.get(&note.document_id).filter(|vector| !vector.is_empty())
        {
            *cosine = (1.0 - FIRST_CHUNK) * *cosine + FIRST_CHUNK * vector::dot(embedding, first);
        }
        note.score = score(note);
    }
    order(&mut notes[..weighed]);
    // Asked for meaning alone, notes come in the order of their cosines, which anyone can check.
    if found.words().is_some() {
        let near = weighed.min(NEIGHBOURHOOD);
        let scores: Vec<f64> = notes[..near].iter().map(|note| note.score).collect();
        let around: Vec<Vec<f32>> =
            notes[..near].iter().map(|note| vectors.remove(&note.document_id).unwrap_or_default()).collect();
        for (note, score) in notes.iter_mut().zip(fusion::with_neighbours(&scores, &around)) {
            note.score = score;
        }
    }
    let trust = meaning.trust();
    let seen = |note: &Weighed| Evidence {
        score: note.score,
        text: found.words().map(|_| note.text_share),
        vector: Some(confidence::excess(note.cosine.map_or(0.0, |cosine| meaning.share(cosine)), chunks, trust)),
    };
    order(&mut notes);
    let confidences = confidence::confidences(&notes.iter().map(seen).collect::<Vec<_>>());
    let ranked = |(note, confidence): (Weighed, f64)| {
        let vector_share = note.cosine.map(|cosine| meaning.share(cosine));
        let by_word = weights.text * note.text_share > weights.vector * vector_share.unwrap_or(0.0);
        Ranked {
            document_id: note.document_id,
            score: note.score,
            text_share: found.words().map(|_| note.text_share),
            vector_share,
            confidence: Some(confidence),
            chunk_id: note.chunk.filter(|_| by_word).map(|chunk| chunk.chunk_id),
        }
    };
    Ok(notes.into_iter().zip(confidences).map(ranked).collect())
}

/// The notes that either leg found. What one leg does not list is looked up: a note's words are known for every note, and its
/// cosine is measured where its words stand.
fn candidates(conn: &Connection, model: &ModelRow, embedding: &[f32], found: &Found) -> Result<Vec<Weighed>> {
    let (words, vectors) = (found.words_found(), found.vector.as_ref());
    let mut seen = HashSet::new();
    let listed = words.into_iter().chain(vectors).flat_map(|list| list.documents());
    let documents: Vec<i64> = listed.copied().filter(|document| seen.insert(*document)).collect();
    let scorer = found.words().map(Words::scorer);
    let mut notes = Vec::with_capacity(documents.len());
    let mut unmeasured = Vec::new();
    for document_id in documents {
        let shared = found.words().zip(scorer.as_ref());
        let chunk = words.and_then(|list| list.place(document_id)).map(|(_, hit)| hit);
        let cosine = vectors.and_then(|list| list.place(document_id)).map(|(_, hit)| hit.score);
        if let (None, Some(chunk)) = (cosine, chunk) {
            unmeasured.push((notes.len(), chunk.chunk_id));
        }
        notes.push(Weighed {
            document_id,
            text_share: shared.map_or(0.0, |(words, scorer)| fusion::text_share(&words.scored(scorer, document_id))),
            chunk,
            cosine,
            score: 0.0,
        });
    }
    let chunks: Vec<i64> = unmeasured.iter().map(|(_, chunk)| *chunk).collect();
    for ((place, _), vector) in unmeasured.iter().zip(vector::of_chunks(conn, model, &chunks)?) {
        notes[*place].cosine = (!vector.is_empty()).then(|| vector::dot(embedding, &vector));
    }
    Ok(notes)
}

fn first_chunks(conn: &Connection, notes: &[Weighed]) -> Result<Vec<i64>> {
    let mut statement = conn.prepare_cached("SELECT coalesce(first_chunk, 0) FROM documents WHERE id = ?1")?;
    let first = |note: &Weighed| Ok(statement.query_row([note.document_id], |row| row.get(0))?);
    notes.iter().map(first).collect()
}
