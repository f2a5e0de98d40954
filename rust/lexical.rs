//! The legs that read words: BM25 over whole words and their forms, trigrams for parts of words, and a plain scan as the last
//! resort.
//!
//! Which leg runs is decided in `search`; what is kept in memory between queries is `lexicon`'s.

use std::{collections::HashSet, sync::Arc};

use rusqlite::{Connection, params_from_iter, types::Value};

use crate::{
    bm25::{self, Group},
    error::Result,
    lexicon::{Form, Generation},
    names::fold,
    query::{self, Query},
    scope::Scope,
    tokenizer::{EXACT, Mode, tokenize},
};

/// What a wider reading of an identifier counts beside the word as typed: the parts of `HTTPServer`, the whole of `foo-bar`.
const WIDER_BOOST: f32 = 0.5;

/// One chunk that a leg found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChunkHit {
    /// Row id of the document.
    pub document_id: i64,
    /// Row id of the chunk.
    pub chunk_id: i64,
    /// The leg's own score; higher is better.
    pub score: f64,
}

/// One word, phrase or beginning that a query looks for, in terms of the index.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The terms that stand for it; empty for phrases and beginnings.
    pub forms: Arc<[Form]>,
    /// The FTS5 expression of a phrase or a beginning.
    pub expression: Option<String>,
    /// Multiplies what it adds to a score.
    pub boost: f32,
    /// The terms to highlight, and whether longer ones that begin so are meant.
    pub shown: Vec<(String, bool)>,
}

/// What `query` looks for, with the forms that its words have in the index.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite); a damaged full-text table is one.
pub fn wanted(conn: &Connection, index: &Generation, query: &Query) -> Result<Vec<Wanted>> {
    let mut wanted = Vec::new();
    let mut seen = HashSet::new();
    for term in query::search_terms(query) {
        let mut tokens = Vec::new();
        tokenize(&term.text, Mode::Query, |token| tokens.push((token.text.to_owned(), token.colocated, token.prefix)));
        let words = tokens.iter().filter(|token| !token.1).count();
        if (term.quoted && words > 1) || term.prefix || term.in_title {
            let last = tokens.len().saturating_sub(1);
            let shown =
                tokens.into_iter().enumerate().map(|(place, token)| (token.0, term.prefix && place == last)).collect();
            wanted.push(Wanted { forms: Arc::new([]), expression: Some(query::expression(&term)), boost: 1.0, shown });
            continue;
        }
        for (token, colocated, prefix) in tokens {
            if !seen.insert(token.clone()) {
                continue;
            }
            let boost = if colocated { WIDER_BOOST } else { 1.0 };
            let expression = prefix.then(|| format!("{} *", exact(&token)));
            let forms = if prefix { Arc::new([]) } else { index.forms(conn, &token)? };
            let shown = match prefix {
                true => vec![(token, true)],
                false => forms.iter().map(|form| (form.term.clone(), false)).collect(),
            };
            wanted.push(Wanted { forms, expression, boost, shown });
        }
    }
    Ok(wanted)
}

/// What the text leg found.
#[derive(Debug, Default)]
pub struct WordHits {
    /// The best chunk of each document, best document first; the score is the document's.
    pub hits: Vec<ChunkHit>,
    /// The score that a document could have at most.
    pub bound: f64,
}

/// The best `limit` documents in scope by BM25 over whole documents.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite); a damaged full-text table is one.
pub fn words(
    conn: &Connection,
    index: &Generation,
    wanted: &[Wanted],
    scope: &Scope,
    limit: usize,
) -> Result<WordHits> {
    let mut groups = Vec::with_capacity(wanted.len());
    for want in wanted {
        let mut terms = Vec::with_capacity(want.forms.len());
        for form in want.forms.iter() {
            terms.push((index.postings(conn, &exact(&form.term))?, form.weight));
        }
        if let Some(expression) = &want.expression {
            terms.push((index.postings(conn, expression)?, 1.0));
        }
        groups.push(Group { terms, boost: want.boost });
    }
    let scored = bm25::score(&groups, &index.lengths());
    let mut members = scope.members(conn)?;
    let mut best = Vec::new();
    for (document, score) in scored.documents {
        if best.len() >= limit {
            break;
        }
        if let Some((id, _)) = index.ids(document, 0)
            && members.hold(id)?
        {
            best.push((document, score));
        }
    }
    let documents: Vec<u32> = best.iter().map(|entry| entry.0).collect();
    let chunks = bm25::best_chunks(&groups, &scored.idf, &documents);
    let hit = |((document, score), chunk): ((u32, f32), u32)| {
        let (document_id, chunk_id) = index.ids(document, chunk)?;
        Some(ChunkHit { document_id, chunk_id, score: f64::from(score) })
    };
    let hits = best.into_iter().zip(chunks).filter_map(hit).collect();
    Ok(WordHits { hits, bound: f64::from(scored.bound) })
}

/// The FTS5 expression for one term of the index, as it stands.
fn exact(term: &str) -> String {
    format!("\"{EXACT}{}\"", term.replace('"', "\"\""))
}

/// The best `limit` chunks in scope for an FTS5 expression over parts of words of three letters or more, best first.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite); a damaged full-text table is one.
pub fn trigrams(conn: &Connection, expression: &str, scope: &Scope, limit: usize) -> Result<Vec<ChunkHit>> {
    // FTS5's bm25() is negative, best lowest. The row id breaks ties, so that equal scores keep their order.
    let sql = format!(
        "SELECT c.document_id, c.id, bm25(trigrams, 4.0, 1.0) AS cost FROM trigrams
         CROSS JOIN chunks c ON c.id = trigrams.rowid CROSS JOIN documents d ON d.id = c.document_id
         WHERE trigrams MATCH ? AND {} ORDER BY cost, c.id LIMIT ?",
        scope.condition()
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let parameters = std::iter::once(Value::Text(expression.to_owned()))
        .chain(scope.parameters().iter().cloned())
        .chain(std::iter::once(Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX))));
    let rows = statement.query_map(params_from_iter(parameters), |row| {
        Ok(ChunkHit { document_id: row.get(0)?, chunk_id: row.get(1)?, score: -row.get::<_, f64>(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Chunks in scope that hold words as parts of their title or text, case-folded; those with more of the words first.
///
/// Reads every text in scope and no full-text table, so it works when those are damaged.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn like(conn: &Connection, words: &[String], scope: &Scope, limit: usize) -> Result<Vec<ChunkHit>> {
    let needles: Vec<String> = words.iter().map(|word| fold(word)).filter(|word| !word.is_empty()).collect();
    if needles.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT d.id, d.folded_title, t.text FROM documents d JOIN document_texts t ON t.document_id = d.id WHERE {} ORDER BY d.id",
        scope.condition()
    );
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(scope.parameters()))?;
    let mut chunks =
        conn.prepare_cached("SELECT id, start_byte, end_byte FROM chunks WHERE document_id = ?1 ORDER BY ordinal")?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (document_id, title): (i64, String) = (row.get(0)?, row.get(1)?);
        let text = row.get_ref(2)?.as_str().unwrap_or_default();
        let held = |body: &str| {
            let body = fold(body);
            needles.iter().filter(|needle| title.contains(*needle) || body.contains(*needle)).count()
        };
        if held(text) == 0 {
            continue;
        }
        let ranges = chunks.query_map([document_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let ranges: Vec<(i64, usize, usize)> = ranges.collect::<rusqlite::Result<_>>()?;
        let best = ranges.into_iter().map(|(id, start, end)| (held(text.get(start..end).unwrap_or_default()), id));
        // The first of the chunks with most words: `max_by_key` would give the last.
        if let Some((count, chunk_id)) = best.max_by_key(|&(count, id)| (count, std::cmp::Reverse(id))) {
            found.push(ChunkHit { document_id, chunk_id, score: count as f64 });
        }
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk_id.cmp(&b.chunk_id)));
    found.truncate(limit);
    Ok(found)
}
