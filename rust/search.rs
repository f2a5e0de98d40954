//! One query end to end: which legs run, side by side, how their lists become one, and the passage that each note shows.
//!
//! The legs themselves are `lexical` and `vector`; the arithmetic of lists is `fusion`; reading a person's words is
//! `query`. No model is known here: an embedding comes with the request, or a reason why there is none.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension};

use crate::{
    embeddings::{self, ModelRow},
    error::{Error, Result},
    fusion::{self, Ranking},
    lexical::{self, ChunkHit},
    library::{self, DocumentRow},
    query::{self, Query},
    registry,
    scope::{Filters, Scope},
    snippet::{self, Excerpt, Terms},
    store::{Store, meta},
    vector,
};

/// Documents that each leg hands to fusion when the caller wants fewer.
const MIN_CANDIDATES: usize = 200;
/// Chunks that a leg may look at for each document that it is asked for: long notes have many.
const CHUNKS_PER_DOCUMENT: usize = 3;
/// Words found fewer notes than this: parts of words are searched too.
const FEW_HITS: usize = 3;
/// FTS5's trigram tokenizer has nothing for shorter words.
const TRIGRAM_CHARS: usize = 3;

/// How a query is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Whatever can run: words and meaning, else words, else a plain scan.
    Auto,
    /// Words and meaning, fused; degrades like `Auto`.
    Hybrid,
    /// Words only.
    Fts,
    /// Meaning only.
    Vector,
    /// A plain scan for parts of words.
    Like,
}

impl Mode {
    /// The word that people use for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Hybrid => "hybrid",
            Self::Fts => "fts",
            Self::Vector => "vector",
            Self::Like => "like",
        }
    }

    /// The mode that [`as_str`](Self::as_str) spells `word`.
    ///
    /// # Errors
    /// [`Error::Usage`] that lists the modes.
    pub fn from_word(word: &str) -> Result<Self> {
        [Self::Auto, Self::Hybrid, Self::Fts, Self::Vector, Self::Like]
            .into_iter()
            .find(|mode| mode.as_str() == word)
            .ok_or_else(|| Error::Usage(format!("there is no mode \"{word}\"; use auto, hybrid, fts, vector or like")))
    }
}

/// One of the queries of a request.
#[derive(Debug, Clone)]
pub struct QueryInput {
    /// What the person typed.
    pub text: String,
    /// Its embedding: float32, unit length, of the model in [`Request::fingerprint`].
    pub embedding: Option<Vec<f32>>,
}

/// A search as the caller wants it.
#[derive(Debug, Clone)]
pub struct Request {
    /// One query, or several that are answered as one.
    pub queries: Vec<QueryInput>,
    /// How to answer.
    pub mode: Mode,
    /// Notes to return, at least 1.
    pub limit: usize,
    /// What to search in; what the queries say themselves is added.
    pub filters: Filters,
    /// Fingerprint of the model that the embeddings come from.
    pub fingerprint: Option<String>,
    /// Why there is no embedding, as a clause.
    pub no_embedding: Option<String>,
}

/// What one leg did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LegReport {
    /// Whether it was asked at all.
    pub ran: bool,
    /// Documents that it found.
    pub hits: usize,
    /// Why it did not run.
    pub reason: Option<String>,
}

impl LegReport {
    fn ran(hits: usize) -> Self {
        Self { ran: true, hits, reason: None }
    }

    fn skipped(reason: impl Into<String>) -> Self {
        Self { ran: false, hits: 0, reason: Some(reason.into()) }
    }
}

/// One note of the answer.
#[derive(Debug, Clone)]
pub struct Hit {
    /// What the index knows of the note.
    pub document: DocumentRow,
    /// What the notes are ordered by.
    pub score: f64,
    /// Place in the text leg's list, from 1.
    pub text_rank: Option<usize>,
    /// Place in the vector leg's list, from 1.
    pub vector_rank: Option<usize>,
    /// BM25 of the best chunk, higher is better.
    pub bm25: Option<f64>,
    /// Cosine of the best chunk.
    pub cosine: Option<f64>,
    /// Heading path of the best chunk.
    pub heading: String,
    /// First and last line of the best chunk, from 1.
    pub lines: (usize, usize),
    /// The passage to show, and all lines with words of the query.
    pub excerpt: Excerpt,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Response {
    /// The mode that ran.
    pub mode: Mode,
    /// False when no note deserves to be called a hit.
    pub good_match: bool,
    /// Whole words and BM25.
    pub text: LegReport,
    /// Embeddings.
    pub vector: LegReport,
    /// Parts of words.
    pub typo: LegReport,
    /// The plain scan.
    pub like: LegReport,
    /// Documents in the index.
    pub documents: usize,
    /// Chunks in the index.
    pub chunks: usize,
    /// Texts that wait for a vector of the live model.
    pub pending: usize,
    /// Notes found before the limit.
    pub total: usize,
    /// Best first.
    pub hits: Vec<Hit>,
}

/// A leg's list by document: its best chunk and that chunk's score, best document first.
#[derive(Debug, Clone, Default)]
struct LegRanking {
    documents: Vec<i64>,
    best: HashMap<i64, (usize, ChunkHit)>,
}

impl LegRanking {
    /// Documents in the order of their best chunks.
    fn new(hits: &[ChunkHit]) -> Self {
        let mut ranking = Self::default();
        for hit in hits {
            ranking.best.entry(hit.document_id).or_insert_with(|| {
                ranking.documents.push(hit.document_id);
                (ranking.documents.len(), *hit)
            });
        }
        ranking
    }

    /// The document's place in the list, from 1, and its best chunk.
    fn place(&self, document_id: i64) -> Option<(usize, ChunkHit)> {
        self.best.get(&document_id).copied()
    }

    fn votes(&self, weight: f64) -> Ranking {
        let entry = |id: &i64| self.best.get(id).map(|(_, hit)| (*id, hit.score));
        Ranking { weight, entries: self.documents.iter().filter_map(entry).collect() }
    }
}

/// What the text leg found for one query.
#[derive(Debug, Default)]
struct TextFound {
    words: LegRanking,
    /// Parts of words; None when whole words found enough.
    typo: Option<LegRanking>,
    terms: Vec<(String, bool)>,
}

/// What all legs found for one query; a leg that was not asked is None.
struct Found {
    scope: Scope,
    text: Option<Result<TextFound>>,
    vector: Option<LegRanking>,
    like: Option<LegRanking>,
}

impl Found {
    fn words(&self) -> Option<&LegRanking> {
        Some(&self.text.as_ref()?.as_ref().ok()?.words)
    }

    fn typo(&self) -> Option<&LegRanking> {
        self.text.as_ref()?.as_ref().ok()?.typo.as_ref()
    }

    fn text_error(&self) -> Option<&Error> {
        self.text.as_ref()?.as_ref().err()
    }
}

/// Answers a request.
///
/// # Errors
/// [`Error::Usage`] for an empty query or a limit of 0; the index errors. A leg that fails is not an error: another one
/// answers, and the report says so.
pub fn search(store: &Store, request: &Request) -> Result<Response> {
    if request.limit == 0 {
        return Err(Error::Usage("limit is 0; ask for at least 1 note".to_owned()));
    }
    let today = jiff::ZonedDateTime::now().date();
    let queries: Vec<Query> = request.queries.iter().map(|input| query::parse(&input.text, today)).collect();
    if queries.iter().all(Query::is_empty) {
        return Err(Error::Usage("the query is empty; give at least one word or a filter such as tag:NAME".to_owned()));
    }
    let model = store.read(embeddings::live_model)?;
    let no_vector = why_no_vector(request, model.as_ref());
    let model = model.filter(|_| no_vector.is_none());

    let mut found = Vec::with_capacity(queries.len());
    for (input, query) in request.queries.iter().zip(&queries) {
        found.push(run_legs(store, request, query, input.embedding.as_deref(), model.as_ref())?);
    }
    if like_is_needed(request.mode, &found) {
        let wanted = request.limit.max(MIN_CANDIDATES);
        for (found, query) in found.iter_mut().zip(&queries) {
            let words = query::plain_words(query);
            let hits = store.read(|conn| lexical::like(conn, &words, &found.scope, wanted))?;
            found.like = Some(LegRanking::new(&hits));
        }
    }
    let votes: Vec<Ranking> = found
        .iter()
        .flat_map(|found| {
            let lists =
                [(found.words(), 1.0), (found.vector.as_ref(), 1.0), (found.typo(), 0.5), (found.like.as_ref(), 1.0)];
            lists.into_iter().filter_map(|(list, weight)| list.map(|list| list.votes(weight)))
        })
        .collect();
    let fused = fusion::reciprocal_rank(&votes, fusion::RRF_K);
    let mut response = report(store, request, &found, no_vector)?;
    response.total = fused.len();
    response.good_match = !fused.is_empty();
    response.hits = store.read(|conn| {
        let terms = highlighted(conn, store, &queries, &found);
        let page = fused.iter().take(request.limit);
        page.filter_map(|&(document_id, score)| hit(conn, document_id, score, &found, &terms).transpose()).collect()
    })?;
    Ok(response)
}

/// Both legs for one query, side by side where both are asked: each has a connection of its own, so the slower one decides
/// how long the answer takes.
fn run_legs(
    store: &Store,
    request: &Request,
    query: &Query,
    embedding: Option<&[f32]>,
    model: Option<&ModelRow>,
) -> Result<Found> {
    let wanted = request.limit.max(MIN_CANDIDATES);
    let scope = Scope::new(&query::filters(query, &request.filters));
    let words = || store.read(|conn| text_leg(conn, store, query, &scope, wanted));
    let meaning = |model: &ModelRow, embedding: &[f32]| {
        store.read(|conn| Ok(LegRanking::new(&vector::nearest(conn, model, embedding, &scope, wanted)?)))
    };
    let text_asked = matches!(request.mode, Mode::Auto | Mode::Hybrid | Mode::Fts);
    let (text, vector) = match (text_asked, model.zip(embedding)) {
        (true, Some((model, embedding))) => std::thread::scope(|threads| {
            let vector = threads.spawn(|| meaning(model, embedding));
            let text = words();
            (Some(text), Some(vector.join().unwrap_or(Err(Error::Interrupted))))
        }),
        (true, None) => (Some(words()), None),
        (false, Some((model, embedding))) => (None, Some(meaning(model, embedding))),
        (false, None) => (None, None),
    };
    Ok(Found { text, vector: vector.transpose()?, like: None, scope })
}

/// The plain scan answers when it is asked for, when words could not be searched, and when no leg could run.
fn like_is_needed(mode: Mode, found: &[Found]) -> bool {
    let failed = found.iter().any(|found| found.text_error().is_some());
    let nothing_ran = found.iter().all(|found| found.text.is_none() && found.vector.is_none());
    mode == Mode::Like || (mode != Mode::Vector && (failed || nothing_ran))
}

/// The answer without its hits: which legs ran, what they found, and how complete the index is.
fn report(store: &Store, request: &Request, found: &[Found], no_vector: Option<String>) -> Result<Response> {
    let count =
        |lists: Vec<&LegRanking>| lists.into_iter().flat_map(|list| &list.documents).collect::<HashSet<_>>().len();
    let leg = |lists: Vec<&LegRanking>, reason: String| match lists.is_empty() {
        true => LegReport::skipped(reason),
        false => LegReport::ran(count(lists)),
    };
    let other_mode = || format!("mode is {}", request.mode.as_str());
    let text = match found.iter().find_map(Found::text_error) {
        Some(error) => LegReport::skipped(error.to_string()),
        None => leg(found.iter().filter_map(Found::words).collect(), other_mode()),
    };
    let vectors: Vec<&LegRanking> = found.iter().filter_map(|found| found.vector.as_ref()).collect();
    let vector = leg(vectors, no_vector.unwrap_or_else(|| "the query has no words to embed".to_owned()));
    let typo = leg(found.iter().filter_map(Found::typo).collect(), "words found enough".to_owned());
    let like = leg(found.iter().filter_map(|found| found.like.as_ref()).collect(), "other legs ran".to_owned());
    let mode = match (text.ran, vector.ran, like.ran) {
        (true, true, _) | (false, true, true) => Mode::Hybrid,
        (true, false, _) => Mode::Fts,
        (false, true, false) => Mode::Vector,
        (false, false, _) if request.mode == Mode::Vector => Mode::Vector,
        (false, false, _) => Mode::Like,
    };
    let (documents, chunks, pending) = store.read(|conn| counts(conn, &request.filters))?;
    let (good_match, total, hits) = (false, 0, Vec::new());
    Ok(Response { mode, good_match, text, vector, typo, like, documents, chunks, pending, total, hits })
}

/// Why vectors cannot be searched, if they cannot.
fn why_no_vector(request: &Request, model: Option<&ModelRow>) -> Option<String> {
    if !matches!(request.mode, Mode::Auto | Mode::Hybrid | Mode::Vector) {
        return Some(format!("mode is {}", request.mode.as_str()));
    }
    if let Some(reason) = &request.no_embedding {
        return Some(reason.clone());
    }
    match (model, &request.fingerprint) {
        (None, _) => Some("the index holds no embeddings yet; run `bearsearch index`".to_owned()),
        (Some(model), Some(fingerprint)) if model.fingerprint == *fingerprint => None,
        (Some(model), _) => Some(format!(
            "the index's embeddings come from another model (\"{}\"); run `bearsearch index` to embed the notes anew",
            model.name
        )),
    }
}

/// Whole words, and parts of words when those find little.
fn text_leg(conn: &Connection, store: &Store, query: &Query, scope: &Scope, wanted: usize) -> Result<TextFound> {
    let index = store.lexicon().at(conn)?;
    let looked_for = lexical::wanted(conn, &index, query)?;
    if looked_for.is_empty() {
        let words = LegRanking::new(&all_in_scope(conn, query, scope, wanted)?);
        return Ok(TextFound { words, ..TextFound::default() });
    }
    let words = LegRanking::new(&lexical::words(conn, &index, &looked_for, scope, wanted)?.hits);
    let terms = looked_for.into_iter().flat_map(|want| want.shown).collect();
    let typo = match words.documents.len() < FEW_HITS {
        true => parts_of_words(conn, query, scope, &words, wanted)?,
        false => None,
    };
    Ok(TextFound { words, typo, terms })
}

/// Documents with parts of the query's words that whole words did not find; None when all words are too short.
fn parts_of_words(
    conn: &Connection,
    query: &Query,
    scope: &Scope,
    words: &LegRanking,
    wanted: usize,
) -> Result<Option<LegRanking>> {
    let parts: Vec<String> = query::plain_words(query)
        .iter()
        .filter(|word| word.chars().count() >= TRIGRAM_CHARS)
        .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
        .collect();
    if parts.is_empty() {
        return Ok(None);
    }
    let limit = wanted.saturating_mul(CHUNKS_PER_DOCUMENT);
    let mut hits = lexical::trigrams(conn, &parts.join(" OR "), scope, limit)?;
    hits.retain(|hit| words.place(hit.document_id).is_none());
    Ok(Some(LegRanking::new(&hits)))
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

/// Documents that the request could reach, chunks of the index, and texts that wait for a vector.
fn counts(conn: &Connection, filters: &Filters) -> Result<(usize, usize, usize)> {
    let pending = match embeddings::live_model(conn)? {
        Some(model) => embeddings::coverage(conn, model.id)?.pending,
        None => 0,
    };
    let searched = registry::sources(conn)?.into_iter().filter(|row| filters.sources.contains(&row.id));
    let documents = searched.map(|row| row.documents - if filters.archived { 0 } else { row.archived }).sum();
    Ok((documents, meta(conn, "chunks")?.unwrap_or(0), pending))
}

/// What to highlight: the forms that the words have in the index, or the words as typed where those cannot be had.
fn highlighted(conn: &Connection, store: &Store, queries: &[Query], found: &[Found]) -> Terms {
    let mut terms = Vec::new();
    for (query, found) in queries.iter().zip(found) {
        if let Some(Ok(text)) = &found.text {
            terms.extend(text.terms.iter().cloned());
        } else if let Ok(wanted) = store.lexicon().at(conn).and_then(|index| lexical::wanted(conn, &index, query)) {
            terms.extend(wanted.into_iter().flat_map(|want| want.shown));
        } else {
            return Terms::of_text(&query::plain_words(query).join(" "));
        }
    }
    Terms::new(terms)
}

/// The note as it is shown; None when it left the index since the legs ran.
fn hit(conn: &Connection, document_id: i64, score: f64, found: &[Found], terms: &Terms) -> Result<Option<Hit>> {
    let best = |list: fn(&Found) -> Option<&LegRanking>| {
        found.iter().filter_map(|found| list(found)?.place(document_id)).min_by_key(|(rank, _)| *rank)
    };
    let (text, vector) = (best(Found::words), best(|found| found.vector.as_ref()));
    let others = [best(Found::typo), best(|found| found.like.as_ref())];
    let shown = [text, vector].into_iter().chain(others).flatten().min_by_key(|(rank, _)| *rank);
    let (Some((_, shown)), Some(document)) = (shown, library::document(conn, document_id)?) else { return Ok(None) };
    let place = conn
        .prepare_cached("SELECT heading, start_byte, end_byte, start_line, end_line FROM chunks WHERE id = ?1")?
        .query_row([shown.chunk_id], |row| {
            Ok((row.get::<_, String>(0)?, row.get(1)?..row.get(2)?, (row.get(3)?, row.get(4)?)))
        })
        .optional()?;
    let Some((heading, range, lines)) = place else { return Ok(None) };
    let body = library::text(conn, document_id)?;
    Ok(Some(Hit {
        document,
        score,
        text_rank: text.map(|(rank, _)| rank),
        vector_rank: vector.map(|(rank, _)| rank),
        bm25: text.map(|(_, hit)| hit.score),
        cosine: vector.map(|(_, hit)| hit.score),
        heading,
        lines,
        excerpt: snippet::excerpt(&body, range, terms),
    }))
}
