//! The legs of one query, side by side, and the lists that they come back with.

use std::{collections::HashMap, time::Instant};

use rusqlite::Connection;

use super::{MIN_CANDIDATES, Request, add_elapsed};
use crate::{
    despite::Correction,
    embeddings::ModelRow,
    error::{Error, Result},
    fusion::{self, Fusion, Ranking},
    lexical::{ChunkHit, Words},
    query::{self, Query},
    scope::Scope,
    store::Store,
    vector,
};

/// With at least this share of the query in the best note, unknown words are left alone.
const GOOD_EVIDENCE: f64 = 0.5;

/// A leg's list by document: its best chunk and that chunk's score, best document first.
#[derive(Debug, Clone, Default)]
pub struct LegRanking {
    documents: Vec<i64>,
    best: HashMap<i64, (usize, ChunkHit)>,
}

impl LegRanking {
    /// Documents in the order of their best chunks.
    pub fn new(hits: Vec<ChunkHit>) -> Self {
        let mut ranking = Self::default();
        for hit in hits {
            ranking.best.entry(hit.document_id).or_insert_with(|| {
                ranking.documents.push(hit.document_id);
                (ranking.documents.len(), hit)
            });
        }
        ranking
    }

    /// The documents, best first.
    pub fn documents(&self) -> &[i64] {
        &self.documents
    }

    /// The document's place in the list, from 1, and its best chunk.
    pub fn place(&self, document_id: i64) -> Option<(usize, ChunkHit)> {
        self.best.get(&document_id).copied()
    }

    /// The list as fusion by ranks wants it.
    pub fn votes(&self) -> Ranking {
        let entry = |id: &i64| self.best.get(id).map(|(_, hit)| (*id, hit.score));
        Ranking { weight: 1.0, entries: self.documents.iter().filter_map(entry).collect() }
    }
}

/// What the text leg found for one query.
#[derive(Debug, Default)]
pub struct TextFound {
    /// Its list.
    pub ranking: LegRanking,
    /// The words; None when only filters were given.
    pub words: Option<Words>,
    /// Whether something was found before any word was corrected.
    pub is_known: bool,
}

/// What all legs found for one query; a leg that was not asked is None.
pub struct Found {
    /// Which documents may be found.
    pub scope: Scope,
    /// Words.
    pub text: Option<Result<TextFound>>,
    /// Meaning.
    pub vector: Option<LegRanking>,
    /// The plain scan.
    pub like: Option<LegRanking>,
}

impl Found {
    /// The text leg's list.
    pub fn words_found(&self) -> Option<&LegRanking> {
        Some(&self.text.as_ref()?.as_ref().ok()?.ranking)
    }

    /// The words of the query, where the text leg read them.
    pub fn words(&self) -> Option<&Words> {
        self.text.as_ref()?.as_ref().ok()?.words.as_ref()
    }

    /// Whether a word of the query itself, or its filters, found something.
    pub fn is_known(&self) -> bool {
        matches!(&self.text, Some(Ok(found)) if found.is_known)
    }

    /// What was searched in place of unknown words.
    pub fn corrections(&self) -> impl Iterator<Item = &Correction> {
        self.words().into_iter().flat_map(|words| &words.corrections)
    }

    /// Why words could not be searched.
    pub fn text_error(&self) -> Option<&Error> {
        self.text.as_ref()?.as_ref().err()
    }
}

/// Documents that each leg looks for.
struct Depth {
    /// The text leg.
    words: usize,
    /// The vector leg: each costs an exact distance or several.
    meaning: usize,
    /// With fewer than these the vector leg looks further: all that it found comes from a few long notes.
    enough: usize,
}

impl Depth {
    /// Where shares are weighed, what one leg does not list is looked up, so that the lists may be short: with 30 documents of
    /// either leg no collection's nDCG@10 moves by more than .001 (docs/adr/0010).
    fn of_both(limit: usize) -> Self {
        let twice = limit.saturating_mul(2);
        Self { words: twice.max(100), meaning: twice.max(50), enough: limit.max(30) }
    }

    fn of_one(limit: usize) -> Self {
        let wanted = limit.max(MIN_CANDIDATES);
        Self { words: wanted, meaning: wanted, enough: wanted }
    }
}

/// Both legs for one query, side by side where both are asked: each has a connection of its own, so the slower one decides
/// how long the answer takes.
///
/// # Errors
/// The index errors. What stops the text leg is in [`Found::text`].
pub fn run(
    store: &Store,
    request: &Request,
    query: &Query,
    embedding: Option<&[f32]>,
    model: Option<&ModelRow>,
    elapsed_ms: &mut Vec<(&'static str, f64)>,
) -> Result<Found> {
    let both = request.mode.reads_words() && model.is_some() && embedding.is_some();
    let depth = if both && request.fusion == Fusion::Share {
        Depth::of_both(request.limit)
    } else {
        Depth::of_one(request.limit)
    };
    let scope = Scope::new(&query::filters(query, &request.filters));
    let started = Instant::now();
    let words = || {
        let found = store.read(|conn| text_leg(conn, store, query, &scope, depth.words));
        (found, started.elapsed())
    };
    let meaning = |model: &ModelRow, embedding: &[f32]| {
        let found = store.read(|conn| {
            Ok(LegRanking::new(vector::nearest(conn, model, embedding, &scope, depth.enough, depth.meaning)?))
        });
        (found, started.elapsed())
    };
    let (text, vector) = match (request.mode.reads_words(), model.zip(embedding)) {
        (true, Some((model, embedding))) => std::thread::scope(|threads| {
            let vector = threads.spawn(|| meaning(model, embedding));
            let text = words();
            (Some(text), Some(vector.join().unwrap_or((Err(Error::Interrupted), started.elapsed()))))
        }),
        (true, None) => (Some(words()), None),
        (false, Some((model, embedding))) => (None, Some(meaning(model, embedding))),
        (false, None) => (None, None),
    };
    for (leg, elapsed) in [("text", text.as_ref().map(|t| t.1)), ("vector", vector.as_ref().map(|v| v.1))] {
        if let Some(elapsed) = elapsed {
            add_elapsed(elapsed_ms, leg, Instant::now() - elapsed);
        }
    }
    Ok(Found { text: text.map(|t| t.0), vector: vector.map(|v| v.0).transpose()?, like: None, scope })
}

/// Whole words, and what unknown ones may mean when the others find little.
fn text_leg(conn: &Connection, store: &Store, query: &Query, scope: &Scope, wanted: usize) -> Result<TextFound> {
    let index = store.lexicon().at(conn)?;
    let Some(mut words) = Words::read(conn, &index, query)? else {
        let ranking = LegRanking::new(all_in_scope(conn, query, scope, wanted)?);
        let is_known = !ranking.documents().is_empty();
        return Ok(TextFound { ranking, words: None, is_known });
    };
    let mut hits = words.best(conn, scope, wanted)?;
    let is_known = !hits.is_empty();
    if !has_good_evidence(&words, &hits) && words.read_despite(conn)? {
        hits = words.best(conn, scope, wanted)?;
    }
    Ok(TextFound { ranking: LegRanking::new(hits), words: Some(words), is_known })
}

fn has_good_evidence(words: &Words, hits: &[ChunkHit]) -> bool {
    let scorer = words.scorer();
    let share = |hit: &ChunkHit| fusion::text_share(&words.scored(&scorer, hit.document_id));
    hits.iter().take(3).any(|hit| share(hit) >= GOOD_EVIDENCE)
}

/// A query of filters alone lists what they leave, newest first.
fn all_in_scope(conn: &Connection, query: &Query, scope: &Scope, wanted: usize) -> Result<Vec<ChunkHit>> {
    if !query::has_filters(query) {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT d.id, (SELECT min(id) FROM chunks WHERE document_id = d.id) FROM documents d
         WHERE {} ORDER BY d.updated_at_ms DESC, d.id LIMIT ?",
        scope.condition()
    );
    let limit = rusqlite::types::Value::Integer(i64::try_from(wanted).unwrap_or(i64::MAX));
    let parameters = scope.parameters().iter().cloned().chain([limit]);
    let mut statement = conn.prepare(&sql)?;
    let rows = statement.query_map(rusqlite::params_from_iter(parameters), |row| {
        Ok(row.get::<_, Option<i64>>(1)?.map(|chunk_id| (row.get::<_, i64>(0), chunk_id)))
    })?;
    let mut hits = Vec::new();
    for row in rows {
        if let Some((document_id, chunk_id)) = row? {
            hits.push(ChunkHit { document_id: document_id?, chunk_id, score: 0.0 });
        }
    }
    Ok(hits)
}
