//! The legs that read words: BM25 over whole words and their forms, and a plain scan as the last resort.
//!
//! Which leg runs is decided in `search`; what is kept in memory between queries is `lexicon`'s; words that the index does
//! not hold are `despite`'s.

use std::{collections::HashSet, sync::Arc};

use rusqlite::{Connection, OptionalExtension, params_from_iter};

use crate::{
    bm25::{self, Group, Scored, Scorer},
    despite::{self, Correction},
    error::{Error, Result},
    lexicon::{Form, Generation},
    names::fold,
    query::{self, Query},
    scope::Scope,
    script::counts_by_character,
    tokenizer::{EXACT, Mode, tokenize},
};

/// Notes that are read to learn whether one holds a query literally.
const MAX_READ: i64 = 20;

/// Among fewer notes it says nothing that half of them hold a word.
const LIBRARY: usize = 100;

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
    /// The word as the tokenizer makes it, or the phrase as it was typed.
    pub word: String,
    /// The terms that stand for it; empty for phrases and beginnings.
    pub forms: Arc<[Form]>,
    /// FTS5 expressions that stand for it, with their weights: phrases, beginnings, what a misspelt word may mean.
    pub expressions: Vec<(String, f32)>,
    /// Multiplies what it adds to a score.
    pub boost: f32,
    /// Whether a person asked for it, so that a note without it lacks something.
    pub is_needed: bool,
    /// The terms to highlight, and whether longer ones that begin so are meant.
    pub shown: Vec<(String, bool)>,
}

/// What `query` looks for, with the forms that its words have in the index.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite); a damaged full-text table is one.
pub fn wanted(conn: &Connection, index: &Generation, query: &Query) -> Result<Vec<Wanted>> {
    if let Some(expression) = query.fts5() {
        let mut shown = Vec::new();
        tokenize(expression, Mode::Query, |token| shown.push((token.text.to_owned(), token.prefix)));
        return Ok(vec![Wanted {
            word: expression.to_owned(),
            forms: Arc::new([]),
            expressions: vec![(expression.to_owned(), 1.0)],
            boost: 1.0,
            is_needed: true,
            shown,
        }]);
    }
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
            wanted.push(Wanted {
                expressions: vec![(query::expression(&term), 1.0)],
                word: term.text,
                forms: Arc::new([]),
                boost: 1.0,
                is_needed: true,
                shown,
            });
            continue;
        }
        for (token, colocated, prefix) in tokens {
            if !seen.insert(token.clone()) {
                continue;
            }
            let expressions = if prefix { vec![(format!("{} *", exact(&token)), 1.0)] } else { Vec::new() };
            let forms = if prefix { Arc::new([]) } else { index.forms(conn, &token)? };
            let shown = match prefix {
                true => vec![(token.clone(), true)],
                false => forms.iter().map(|form| (form.term.clone(), false)).collect(),
            };
            wanted.push(Wanted {
                forms,
                expressions,
                boost: if colocated { WIDER_BOOST } else { 1.0 },
                // Cutting a run of such a script makes grams that no writer had in mind.
                is_needed: !colocated && !token.chars().any(counts_by_character),
                shown,
                word: token,
            });
        }
    }
    Ok(wanted)
}

/// What the text leg knows of one query: enough to score any document.
#[derive(Debug)]
pub struct Words {
    index: Arc<Generation>,
    wanted: Vec<Wanted>,
    groups: Vec<Group>,
    /// What was looked for instead of words that the index does not hold.
    pub corrections: Vec<Correction>,
}

impl Words {
    /// Reads where the words of a query stand; `None` when it looks for none.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite); a damaged full-text table is one.
    pub fn read(conn: &Connection, index: &Arc<Generation>, query: &Query) -> Result<Option<Self>> {
        let wanted = wanted(conn, index, query)?;
        if wanted.is_empty() {
            return Ok(None);
        }
        let groups = wanted.iter().map(|want| group(conn, index, want)).collect::<Result<_>>()?;
        Ok(Some(Self { index: Arc::clone(index), wanted, groups, corrections: Vec::new() }))
    }

    /// Looks also for what unknown words may mean, if the best document holds too little of the query without them.
    /// Returns whether anything was looked for.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite); a damaged full-text table is one.
    pub fn read_despite(&mut self, conn: &Connection) -> Result<bool> {
        let unknown: Vec<usize> = (0..self.groups.len()).filter(|place| self.groups[*place].is_unknown()).collect();
        let mut found = false;
        for place in unknown {
            let Some(correction) = despite::correct(conn, &self.index, &self.wanted[place])? else { continue };
            let want = &mut self.wanted[place];
            (want.expressions, want.shown) = (correction.expressions, correction.shown);
            want.boost *= correction.boost;
            self.groups[place] = group(conn, &self.index, want)?;
            self.corrections.push(correction.said);
            found = true;
        }
        Ok(found)
    }

    /// The best `limit` documents in scope by BM25 over whole documents, each with its best chunk, best first.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn best(&self, conn: &Connection, scope: &Scope, limit: usize) -> Result<Vec<ChunkHit>> {
        let scorer = self.scorer();
        let mut members = scope.members(conn)?;
        let best = scorer.top(limit, |place| match self.index.ids(place, 0) {
            Some((id, _)) => members.hold(id),
            None => Ok(false),
        })?;
        let documents: Vec<u32> = best.iter().map(|entry| entry.0).collect();
        let chunks = bm25::best_chunks(&self.groups, scorer.idf(), &documents);
        let hit = |((document, score), chunk): ((u32, f32), u32)| {
            let (document_id, chunk_id) = self.index.ids(document, chunk)?;
            Some(ChunkHit { document_id, chunk_id, score: f64::from(score) })
        };
        Ok(best.into_iter().zip(chunks).filter_map(hit).collect())
    }

    /// What one document holds of the query.
    pub fn scored(&self, scorer: &Scorer<'_>, document_id: i64) -> Scored {
        self.index.place(document_id).map_or_else(Scored::default, |place| scorer.scored(place))
    }

    /// Scores documents by what the query's words are worth.
    pub fn scorer(&self) -> Scorer<'_> {
        Scorer::new(&self.groups, self.index.lengths())
    }

    /// The terms to highlight: without words that half of a library holds, unless there are no others.
    pub fn shown(&self) -> Vec<(String, bool)> {
        let scorer = self.scorer();
        let is_library = self.index.lengths().words.len() >= LIBRARY;
        let is_telling = |idf: f32| !is_library || idf > std::f32::consts::LN_2;
        let all_common = !scorer.idf().iter().any(|idf| is_telling(*idf));
        let told = self.wanted.iter().zip(scorer.idf()).filter(|(_, idf)| all_common || is_telling(**idf));
        told.flat_map(|(want, _)| want.shown.iter().cloned()).collect()
    }

    /// The words that a person typed, each with the number of documents that hold it or one of its forms.
    pub fn typed(&self) -> impl Iterator<Item = (&str, usize)> {
        let typed = self.wanted.iter().zip(&self.groups).filter(|(want, _)| want.boost > WIDER_BOOST);
        typed.map(|(want, group)| (want.word.as_str(), group.documents()))
    }

    /// Those of the typed words that a chunk holds in its heading or body.
    pub fn held_by(&self, document_id: i64, chunk_id: i64) -> Vec<&str> {
        let Some(place) = self.index.place(document_id) else { return Vec::new() };
        let Some((_, first)) = self.index.ids(place, 0) else { return Vec::new() };
        let chunk = u32::try_from(chunk_id - first).unwrap_or(u32::MAX);
        let typed = self.wanted.iter().zip(&self.groups).filter(|(want, _)| want.boost > WIDER_BOOST);
        typed.filter(|(_, group)| group.stands_in(place, chunk)).map(|(want, _)| want.word.as_str()).collect()
    }
}

fn group(conn: &Connection, index: &Generation, want: &Wanted) -> Result<Group> {
    let mut terms = Vec::with_capacity(want.forms.len() + want.expressions.len());
    for form in want.forms.iter() {
        terms.push((index.postings(conn, &exact(&form.term))?, form.weight));
    }
    for (expression, weight) in &want.expressions {
        terms.push((index.postings(conn, expression)?, *weight));
    }
    Ok(Group { terms, boost: want.boost, is_needed: want.is_needed })
}

/// Whether FTS5 understands an expression in its own syntax.
///
/// # Errors
/// [`Error::Usage`] with what FTS5 says of it.
pub fn check_fts5(conn: &Connection, expression: &str) -> Result<()> {
    let mut statement = conn.prepare_cached("SELECT 1 FROM words WHERE words MATCH ?1 LIMIT 1")?;
    match statement.query_row([expression], |_| Ok(())).optional() {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::Usage(format!(
            "the query is not in FTS5's syntax ({error}); mend it, or leave out --fts-syntax to search for it as text"
        ))),
    }
}

/// Whether a note holds a query as it was typed, with its dashes; looks at no more than [`MAX_READ`] notes.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn is_written_somewhere(conn: &Connection, typed: &str) -> Result<bool> {
    let squeezed = |text: &str| fold(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let typed = squeezed(typed);
    let mut statement = conn.prepare_cached(
        "SELECT t.text FROM words JOIN chunks c ON c.id = words.rowid
         JOIN document_texts t ON t.document_id = c.document_id WHERE words MATCH ?1 LIMIT ?2",
    )?;
    // The tokenizer finds no word in dashes and quotes, so the whole is a phrase of its words.
    let phrase = format!("\"{}\"", typed.replace('"', " "));
    let mut rows = statement.query(rusqlite::params![phrase, MAX_READ])?;
    while let Some(row) = rows.next()? {
        if squeezed(row.get_ref(0)?.as_str().unwrap_or_default()).contains(&typed) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The FTS5 expression for one term of the index, as it stands.
pub fn exact(term: &str) -> String {
    format!("\"{EXACT}{}\"", term.replace('"', "\"\""))
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
