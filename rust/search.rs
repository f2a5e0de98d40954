//! One query end to end: which legs run, side by side, how their lists become one, and the passage that each note shows.
//!
//! The legs themselves are `lexical` and `vector`; the arithmetic of lists is `fusion`; reading a person's words is
//! `query`. No model is known here: an embedding comes with the request, or a reason why there is none.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use crate::{
    embeddings::{self, ModelRow},
    error::{Error, Result},
    fusion::{self, Ranking},
    lexical::{self, ChunkHit},
    library::{self, DocumentRow},
    query::{self, Match, Query},
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
    best: HashMap<i64, ChunkHit>,
}

impl LegRanking {
    /// Documents in the order of their best chunks.
    fn new(hits: &[ChunkHit]) -> Self {
        let mut ranking = Self::default();
        for hit in hits {
            ranking.best.entry(hit.document_id).or_insert_with(|| {
                ranking.documents.push(hit.document_id);
                *hit
            });
        }
        ranking
    }

    fn rank(&self, document_id: i64) -> Option<usize> {
        self.documents.iter().position(|&id| id == document_id).map(|index| index + 1)
    }
}

/// What all legs found for one query.
struct Found {
    text: Result<Option<LegRanking>>,
    typo: Option<LegRanking>,
    vector: Option<LegRanking>,
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
    let parsed: Vec<Query> = request.queries.iter().map(|input| query::parse(&input.text, today)).collect();
    if parsed.iter().all(|query| query.is_empty()) {
        return Err(Error::Usage("the query is empty; give at least one word or a filter such as tag:NAME".to_owned()));
    }
    let wanted = request.limit.max(MIN_CANDIDATES);
    let model = store.read(embeddings::live_model)?;
    let (vector_allowed, vector_reason) = vector_leg(request, model.as_ref());
    let text_allowed = matches!(request.mode, Mode::Auto | Mode::Hybrid | Mode::Fts);

    let mut found = Vec::new();
    for (input, query) in request.queries.iter().zip(&parsed) {
        let scope = Scope::new(&query::filters(query, &request.filters));
        let text = || -> Result<(Option<LegRanking>, Option<LegRanking>)> {
            if text_allowed { store.read(|conn| text_leg(conn, query, &scope, wanted)) } else { Ok((None, None)) }
        };
        let meaning = || -> Result<Option<LegRanking>> {
            match (&model, &input.embedding) {
                (Some(model), Some(embedding)) if vector_allowed => store
                    .read(|conn| Ok(Some(LegRanking::new(&vector::nearest(conn, model, embedding, &scope, wanted)?)))),
                _ => Ok(None),
            }
        };
        // Both legs read; each has a connection of its own, so the slower one decides how long the answer takes.
        let (words, vector) = if text_allowed && vector_allowed && input.embedding.is_some() {
            std::thread::scope(|scope| {
                let vector = scope.spawn(meaning);
                let words = text();
                (words, vector.join().unwrap_or_else(|_| Err(Error::Usage("the vector scan stopped".to_owned()))))
            })
        } else {
            (text(), meaning())
        };
        let (text, typo) = match words {
            Ok((text, typo)) => (Ok(text), typo),
            Err(error) => (Err(error), None),
        };
        found.push((scope, Found { text, typo, vector: vector? }));
    }

    let text_error = found.iter().find_map(|(_, found)| found.text.as_ref().err().map(Error::to_string));
    let nothing_ran = found.iter().all(|(_, found)| !matches!(found.text, Ok(Some(_))) && found.vector.is_none());
    let like_runs =
        request.mode == Mode::Like || (request.mode != Mode::Vector && (text_error.is_some() || nothing_ran));
    let mut like = Vec::new();
    if like_runs {
        for ((scope, _), query) in found.iter().zip(&parsed) {
            let words = query::plain_words(query);
            like.push(LegRanking::new(&store.read(|conn| lexical::like(conn, &words, scope, wanted))?));
        }
    }

    let count = |rankings: &[&LegRanking]| {
        rankings.iter().flat_map(|ranking| &ranking.documents).collect::<std::collections::HashSet<_>>().len()
    };
    let texts: Vec<&LegRanking> = found.iter().filter_map(|(_, f)| f.text.as_ref().ok()?.as_ref()).collect();
    let typos: Vec<&LegRanking> = found.iter().filter_map(|(_, f)| f.typo.as_ref()).collect();
    let vectors: Vec<&LegRanking> = found.iter().filter_map(|(_, f)| f.vector.as_ref()).collect();
    let likes: Vec<&LegRanking> = like.iter().collect();

    let rankings: Vec<Ranking> = [(&texts, 1.0), (&vectors, 1.0), (&typos, 0.5), (&likes, 1.0)]
        .into_iter()
        .flat_map(|(lists, weight)| lists.iter().map(move |list| ranking(list, weight)))
        .collect();
    let fused = fusion::reciprocal_rank(&rankings, fusion::RRF_K);

    let (documents, chunks, pending) = store.read(|conn| counts(conn, model.as_ref()))?;
    let text_report = match (&text_error, text_allowed) {
        (Some(error), _) => LegReport::skipped(error.clone()),
        (None, true) => LegReport::ran(count(&texts)),
        (None, false) => LegReport::skipped(format!("mode is {}", request.mode.as_str())),
    };
    let mode = match (text_report.ran, !vectors.is_empty(), like_runs) {
        (true, true, _) => Mode::Hybrid,
        (true, false, _) => Mode::Fts,
        (false, true, false) => Mode::Vector,
        (false, true, true) => Mode::Hybrid,
        (false, false, _) if request.mode == Mode::Vector => Mode::Vector,
        (false, false, _) => Mode::Like,
    };
    let mut response = Response {
        mode,
        good_match: !fused.is_empty(),
        text: text_report,
        vector: match vector_reason {
            None => LegReport::ran(count(&vectors)),
            Some(reason) => LegReport::skipped(reason),
        },
        typo: if typos.is_empty() { LegReport::skipped("words found enough") } else { LegReport::ran(count(&typos)) },
        like: if like_runs { LegReport::ran(count(&likes)) } else { LegReport::skipped("other legs ran") },
        documents,
        chunks,
        pending,
        total: fused.len(),
        hits: Vec::new(),
    };
    let words: Vec<String> = parsed.iter().flat_map(query::plain_words).collect();
    let terms = Terms::new(words.iter().map(String::as_str));
    response.hits = store.read(|conn| {
        let mut hits = Vec::new();
        for (document_id, score) in fused.iter().take(request.limit).copied() {
            let best = |lists: &[&LegRanking]| {
                lists
                    .iter()
                    .filter_map(|list| Some((list.rank(document_id)?, list.best[&document_id])))
                    .min_by_key(|(rank, _)| *rank)
            };
            let (text, vector) = (best(&texts), best(&vectors));
            let shown = [text, vector, best(&typos), best(&likes)].into_iter().flatten().min_by_key(|(rank, _)| *rank);
            let Some((_, shown)) = shown else { continue };
            hits.extend(hit(conn, document_id, score, text, vector, shown, &terms)?);
        }
        Ok(hits)
    })?;
    Ok(response)
}

/// Whether vectors can be searched, and why not.
fn vector_leg(request: &Request, model: Option<&ModelRow>) -> (bool, Option<String>) {
    let reason = if !matches!(request.mode, Mode::Auto | Mode::Hybrid | Mode::Vector) {
        Some(format!("mode is {}", request.mode.as_str()))
    } else if let Some(reason) = &request.no_embedding {
        Some(reason.clone())
    } else if request.queries.iter().all(|input| input.embedding.is_none()) {
        Some("the query has no words to embed".to_owned())
    } else {
        match (model, &request.fingerprint) {
            (None, _) => Some("the index holds no embeddings yet; run `bearsearch index`".to_owned()),
            (Some(model), Some(fingerprint)) if model.fingerprint == *fingerprint => None,
            (Some(model), _) => Some(format!(
                "the index's embeddings come from another model (\"{}\"); run `bearsearch index` to embed the notes anew",
                model.name
            )),
        }
    };
    (reason.is_none(), reason)
}

/// Whole words, and parts of words when those find little.
fn text_leg(
    conn: &Connection,
    query: &Query,
    scope: &Scope,
    wanted: usize,
) -> Result<(Option<LegRanking>, Option<LegRanking>)> {
    let limit = wanted.saturating_mul(CHUNKS_PER_DOCUMENT);
    let Some(expression) = query::fts_match(query, Match::Any) else {
        return Ok((Some(LegRanking::new(&all_in_scope(conn, query, scope, wanted)?)), None));
    };
    let words = LegRanking::new(&lexical::words(conn, &expression, scope, limit)?);
    if words.documents.len() >= FEW_HITS {
        return Ok((Some(words), None));
    }
    let parts: Vec<String> = query::plain_words(query)
        .iter()
        .filter(|word| word.chars().count() >= TRIGRAM_CHARS)
        .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
        .collect();
    if parts.is_empty() {
        return Ok((Some(words), None));
    }
    let mut typo = LegRanking::new(&lexical::trigrams(conn, &parts.join(" OR "), scope, limit)?);
    typo.documents.retain(|id| !words.best.contains_key(id));
    Ok((Some(words), Some(typo)))
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

fn ranking(list: &LegRanking, weight: f64) -> Ranking {
    Ranking { weight, entries: list.documents.iter().map(|id| (*id, list.best[id].score)).collect() }
}

fn counts(conn: &Connection, model: Option<&ModelRow>) -> Result<(usize, usize, usize)> {
    let pending = match model {
        Some(model) => embeddings::coverage(conn, model.id)?.pending,
        None => 0,
    };
    Ok((meta(conn, "documents")?.unwrap_or(0), meta(conn, "chunks")?.unwrap_or(0), pending))
}

/// The note as it is shown; None when it left the index since the legs ran.
fn hit(
    conn: &Connection,
    document_id: i64,
    score: f64,
    text: Option<(usize, ChunkHit)>,
    vector: Option<(usize, ChunkHit)>,
    shown: ChunkHit,
    terms: &Terms,
) -> Result<Option<Hit>> {
    let Some(document) = library::document(conn, document_id)? else { return Ok(None) };
    let place = conn
        .prepare_cached("SELECT heading, start_byte, end_byte, start_line, end_line FROM chunks WHERE id = ?1")?
        .query_row([shown.chunk_id], |row| {
            Ok((row.get::<_, String>(0)?, row.get(1)?..row.get(2)?, (row.get(3)?, row.get(4)?)))
        })
        .optional()?;
    let Some((heading, range, lines)) = place else { return Ok(None) };
    let body = library::text(conn, document_id)?;
    let excerpt = snippet::excerpt(&body, range, terms);
    Ok(Some(Hit {
        document,
        score,
        text_rank: text.map(|(rank, _)| rank),
        vector_rank: vector.map(|(rank, _)| rank),
        bm25: text.map(|(_, hit)| hit.score),
        cosine: vector.map(|(_, hit)| hit.score),
        heading,
        lines,
        excerpt,
    }))
}
