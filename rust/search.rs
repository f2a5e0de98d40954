//! One query end to end: which legs run, how their lists become one, and the passage that each note shows.
//!
//! Running the legs is `legs`, weighing what they found `ranking`, what is shown of a note `evidence`. The legs themselves are
//! `lexical` and `vector`; the arithmetic of lists is `fusion`; reading a person's words is `query`. No model is known here: an
//! embedding comes with the request, or a reason why there is none.

mod attachments;
mod evidence;
mod legs;
mod near_duplicates;
mod ranking;
mod similar;

use std::{collections::HashSet, time::Instant};

use rusqlite::Connection;

use crate::{
    despite::Correction,
    embeddings::{self, ModelRow},
    error::{Error, Result},
    fusion::Fusion,
    lexical,
    library::DocumentRow,
    names::fold,
    query::{self, Query},
    registry,
    scope::Filters,
    snippet::Excerpt,
    store::{Store, meta},
};
use attachments::Attached;
use legs::{Found, LegRanking};
pub use similar::{Similar, similar};

/// Documents that each leg hands to fusion when the caller wants fewer.
const MIN_CANDIDATES: usize = 200;

/// How a query is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
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

    fn reads_words(self) -> bool {
        matches!(self, Self::Auto | Self::Hybrid | Self::Fts)
    }

    fn reads_meaning(self) -> bool {
        matches!(self, Self::Auto | Self::Hybrid | Self::Vector)
    }
}

/// One of the queries of a request.
#[derive(Debug, Clone, Default)]
pub struct QueryInput {
    /// What the person typed.
    pub text: String,
    /// Its embedding: float32, unit length, of the model in [`Request::fingerprint`].
    pub embedding: Option<Vec<f32>>,
    /// How well the model's vocabulary covers the text, in [0, 1].
    pub fluency: f64,
}

/// A search as the caller wants it.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// One query, or several that are answered as one.
    pub queries: Vec<QueryInput>,
    /// How to answer.
    pub mode: Mode,
    /// How lists become one.
    pub fusion: Fusion,
    /// Notes to return, at least 1.
    pub limit: usize,
    /// Places of the list that were seen before and are left out.
    pub offset: usize,
    /// Passages of the same note to show before and behind the best one.
    pub context: usize,
    /// Whether to return whole passages beside their excerpts.
    pub passages: bool,
    /// Whether the queries are expressions in FTS5's own syntax.
    pub fts5: bool,
    /// What to search in; what the queries say themselves is added.
    pub filters: Filters,
    /// Fingerprint of the model that the embeddings come from.
    pub fingerprint: Option<String>,
    /// Why there is no embedding, as a clause.
    pub no_embedding: Option<String>,
    /// Cosine that the model gives to texts which have nothing to do with each other.
    pub floor: f64,
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
    /// Its place in the whole list, from 1; where copies were left out, places are missing.
    pub place: usize,
    /// What the notes are ordered by.
    pub score: f64,
    /// How likely it is an answer, in [0, 1]; None when nothing calibrated says so.
    pub confidence: Option<f64>,
    /// Place in the text leg's list, from 1.
    pub text_rank: Option<usize>,
    /// Place in the vector leg's list, from 1.
    pub vector_rank: Option<usize>,
    /// BM25 of the note, higher is better.
    pub bm25: Option<f64>,
    /// Cosine of the best chunk.
    pub cosine: Option<f64>,
    /// What the text leg saw of what is possible, in [0, 1].
    pub text_share: Option<f64>,
    /// The same of the vector leg.
    pub vector_share: Option<f64>,
    /// Words of the query that the passage holds.
    pub words: Vec<String>,
    /// Heading path of the best chunk.
    pub heading: String,
    /// First and last line of the best chunk, from 1.
    pub lines: (usize, usize),
    /// The passage to show, and all lines with words of the query.
    pub excerpt: Excerpt,
    /// The whole best chunk, where it was asked for.
    pub passage: Option<String>,
    /// Its neighbours in the note, in the note's order.
    pub context: Vec<Passage>,
    /// Ids of notes further down that say nearly the same and are not shown.
    pub duplicates: Vec<String>,
}

/// A chunk as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Heading path.
    pub heading: String,
    /// First and last line, from 1.
    pub lines: (usize, usize),
    /// What stands there.
    pub text: String,
}

/// A word of a query, and how common it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryWord {
    /// The word, folded.
    pub word: String,
    /// Documents that hold it or one of its forms.
    pub documents: usize,
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
    /// Other words in place of unknown ones.
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
    /// Places of the list up to the last hit; None when nothing comes behind.
    pub next: Option<usize>,
    /// What was understood, a sentence or two for each query.
    pub understood: Vec<String>,
    /// The words that were looked for.
    pub words: Vec<QueryWord>,
    /// What was searched in place of unknown words.
    pub corrections: Vec<Correction>,
    /// Names after `in:` that no source has.
    pub unknown_sources: Vec<String>,
    /// How long each step took, in milliseconds.
    pub elapsed_ms: Vec<(&'static str, f64)>,
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
    let queries: Vec<Query> =
        store.read(|conn| request.queries.iter().map(|input| read(conn, request, &input.text)).collect())?;
    if queries.iter().all(Query::is_empty) {
        return Err(Error::Usage("the query is empty; give at least one word or a filter such as tag:NAME".to_owned()));
    }
    let model = store.read(embeddings::live_model)?;
    let no_vector = why_no_vector(request, model.as_ref());
    let model = model.filter(|_| no_vector.is_none());

    let mut elapsed_ms = Vec::new();
    let mut found = Vec::with_capacity(queries.len());
    for (input, query) in request.queries.iter().zip(&queries) {
        found.push(legs::run(store, request, query, input.embedding.as_deref(), model.as_ref(), &mut elapsed_ms)?);
    }
    if like_is_needed(request.mode, &found) {
        let wanted = request.limit.max(MIN_CANDIDATES);
        for (found, query) in found.iter_mut().zip(&queries) {
            let words = query::plain_words(query);
            let hits = store.read(|conn| lexical::like(conn, &words, &found.scope, wanted))?;
            found.like = Some(LegRanking::new(hits));
        }
    }
    let started = Instant::now();
    let mut ranked = store.read(|conn| ranking::rank(conn, store, request, &queries, model.as_ref(), &found))?;
    let mut attached = store.read(|conn| Attached::find(conn, &queries, &found))?;
    store.read(|conn| attached.add_to(conn, &mut ranked))?;
    add_elapsed(&mut elapsed_ms, "fusion", started);

    let started = Instant::now();
    let mut response = report(store, request, &found, no_vector)?;
    response.good_match = ranked.is_evident && !ranked.notes.is_empty();
    let ranked = if response.good_match { ranked.notes } else { Vec::new() };
    response.total = ranked.len();
    response.understood = queries.iter().map(query::explain).collect();
    response.unknown_sources = unknown_sources(store, &queries)?;
    let (hits, next) = store.read(|conn| evidence::page(conn, store, request, &queries, &found, &ranked))?;
    (response.hits, response.next) = (hits, next);
    store.read(|conn| attached.label(conn, &queries, &mut response.hits))?;
    add_elapsed(&mut elapsed_ms, "evidence", started);
    response.elapsed_ms = elapsed_ms;
    Ok(response)
}

/// What a query means. A dash that every reading would take for an exclusion is text when the query has nothing else, or
/// when a note holds it as it stands: `set -euo pipefail`.
fn read(conn: &Connection, request: &Request, text: &str) -> Result<Query> {
    if request.fts5 {
        let query = query::fts5_syntax(text);
        query.fts5().map_or(Ok(()), |expression| lexical::check_fts5(conn, expression))?;
        return Ok(query);
    }
    let query = query::parse(text, jiff::ZonedDateTime::now().date());
    if query.excluded().is_empty() {
        return Ok(query);
    }
    // A damaged full-text table is met again, and dealt with, by the leg that needs it.
    let is_text = query.is_only_exclusions() || lexical::is_written_somewhere(conn, text).unwrap_or(false);
    Ok(if is_text { query.with_exclusions_as_text() } else { query })
}

/// Adds a step's time; several queries of one request add up.
fn add_elapsed(elapsed_ms: &mut Vec<(&'static str, f64)>, step: &'static str, started: Instant) {
    let ms = started.elapsed().as_secs_f64() * 1000.0;
    match elapsed_ms.iter_mut().find(|(known, _)| *known == step) {
        Some((_, sum)) => *sum += ms,
        None => elapsed_ms.push((step, ms)),
    }
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
        |lists: Vec<&LegRanking>| lists.into_iter().flat_map(|list| list.documents()).collect::<HashSet<_>>().len();
    let leg = |lists: Vec<&LegRanking>, reason: String| match lists.is_empty() {
        true => LegReport::skipped(reason),
        false => LegReport::ran(count(lists)),
    };
    let other_mode = || format!("mode is {}", request.mode.as_str());
    let text = match found.iter().find_map(Found::text_error) {
        Some(error) => LegReport::skipped(error.to_string()),
        None => leg(found.iter().filter_map(Found::words_found).collect(), other_mode()),
    };
    let vectors: Vec<&LegRanking> = found.iter().filter_map(|found| found.vector.as_ref()).collect();
    let vector = leg(vectors, no_vector.unwrap_or_else(|| "the query has no words to embed".to_owned()));
    let corrections: Vec<Correction> = found.iter().flat_map(Found::corrections).cloned().collect();
    let typo = match corrections.is_empty() {
        true => LegReport::skipped("words found enough"),
        false => LegReport::ran(text.hits),
    };
    let like = leg(found.iter().filter_map(|found| found.like.as_ref()).collect(), "other legs ran".to_owned());
    let mode = match (text.ran, vector.ran, like.ran) {
        (true, true, _) | (false, true, true) => Mode::Hybrid,
        (true, false, _) => Mode::Fts,
        (false, true, false) => Mode::Vector,
        (false, false, _) if request.mode == Mode::Vector => Mode::Vector,
        (false, false, _) => Mode::Like,
    };
    let (documents, chunks, pending) = store.read(|conn| counts(conn, &request.filters))?;
    Ok(Response {
        mode,
        good_match: false,
        text,
        vector,
        typo,
        like,
        documents,
        chunks,
        pending,
        total: 0,
        hits: Vec::new(),
        next: None,
        understood: Vec::new(),
        words: words(found),
        corrections,
        unknown_sources: Vec::new(),
        elapsed_ms: Vec::new(),
    })
}

/// The words of all queries, each once.
fn words(found: &[Found]) -> Vec<QueryWord> {
    let mut words: Vec<QueryWord> = Vec::new();
    for (word, documents) in found.iter().filter_map(Found::words).flat_map(|words| words.typed()) {
        if !words.iter().any(|known| known.word == word) {
            words.push(QueryWord { word: word.to_owned(), documents });
        }
    }
    words
}

/// Names of sources in the queries that nothing is called by: such a filter finds nothing, and a person should hear why.
fn unknown_sources(store: &Store, queries: &[Query]) -> Result<Vec<String>> {
    let mut names: Vec<&str> = queries.iter().flat_map(query::source_names).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let known: HashSet<String> = store.read(registry::sources)?.iter().map(|row| fold(&row.name)).collect();
    names.retain(|name| !known.contains(&fold(name.trim())));
    names.dedup();
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// Why vectors cannot be searched, if they cannot.
fn why_no_vector(request: &Request, model: Option<&ModelRow>) -> Option<String> {
    if !request.mode.reads_meaning() {
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
