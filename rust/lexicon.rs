//! What the text leg keeps in memory between queries: the length of each document, the forms of words, and where terms
//! stand. All of it belongs to one state of the index, its generation, and goes when the index changes.
//!
//! Reading only; deciding what to look for is `lexical`'s work.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::{
    bm25::{Lengths, MIN_WORDS, Postings},
    embeddings::ModelRow,
    error::Result,
    ffi::fts5::RECORD_BYTES,
    forms::Word,
    store::{meta, set_meta},
    typo::Vocabulary,
    vector,
};

/// Most bytes of postings that are kept; beyond it those used longest ago go, down to half. A word that stands in most of
/// 100,000 passages takes 2 MB, so the hundred commonest fit.
const MAX_POSTINGS_BYTES: usize = 256 << 20;
/// Most forms that one word is looked for in, the heaviest first.
const MAX_FORMS: usize = 32;
/// How much an occurrence in the title, the heading path, the body and the tags counts. The title and the headings
/// usually stand in the body, too. A title that counts twice is worth .014 on a collection whose texts do not repeat it, and
/// changes the others by at most .003.
const FIELD_WEIGHTS: [f32; 4] = [2.0, 0.5, 1.0, 1.0];

/// The memory of one open index. Cheap to make; filled by queries.
#[derive(Debug, Default)]
pub struct Lexicon {
    current: Mutex<Option<Arc<Generation>>>,
}

impl Lexicon {
    /// What is known of the index's state in the transaction that `conn` is in.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn at(&self, conn: &Connection) -> Result<Arc<Generation>> {
        let number = generation(conn)?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = current.as_ref().filter(|known| known.number == number) {
            return Ok(Arc::clone(known));
        }
        let fresh = Arc::new(Generation::load(conn, number)?);
        // A reader that began before the last change must not push out what newer readers use.
        if current.as_ref().is_none_or(|known| known.number < number) {
            *current = Some(Arc::clone(&fresh));
        }
        Ok(fresh)
    }
}

/// The number of the index's state: it grows with every change of a document.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn generation(conn: &Connection) -> Result<i64> {
    Ok(meta(conn, "generation")?.unwrap_or(0))
}

/// Marks that documents change in this transaction.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn advance(tx: &Transaction<'_>) -> Result<()> {
    set_meta(tx, "generation", generation(tx)? + 1)
}

/// One state of the index.
#[derive(Debug)]
pub struct Generation {
    number: i64,
    /// Row ids of the documents, in the order of their first chunks.
    documents: Vec<i64>,
    /// The same with their places, by row id.
    places: Vec<(i64, u32)>,
    /// Row ids of their first chunks, ascending; the chunks of a document follow each other.
    first_chunks: Vec<i64>,
    words: Vec<u32>,
    mean_words: f32,
    forms: Mutex<HashMap<String, Arc<[Form]>>>,
    postings: Mutex<PostingsCache>,
    vocabulary: Mutex<Option<Arc<Vocabulary>>>,
    mean_vector: Mutex<Option<MeanVector>>,
}

/// A mean with the model and the last row that it was made of.
type MeanVector = ((i64, i64), Arc<[f32]>);

/// A term of the index that stands for a word of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The term, as the tokenizer makes it.
    pub term: String,
    /// How much one occurrence counts; 1 for the word itself.
    pub weight: f32,
}

#[derive(Debug, Default)]
struct PostingsCache {
    /// Postings with the time of their last use.
    by_expression: HashMap<String, (Arc<Postings>, u64)>,
    bytes: usize,
    /// Counts uses.
    time: u64,
}

impl PostingsCache {
    fn get(&mut self, expression: &str) -> Option<Arc<Postings>> {
        self.time += 1;
        let (postings, used) = self.by_expression.get_mut(expression)?;
        *used = self.time;
        Some(Arc::clone(postings))
    }

    fn insert(&mut self, expression: &str, postings: &Arc<Postings>) {
        self.bytes += postings.size_bytes() + expression.len();
        self.by_expression.insert(expression.to_owned(), (Arc::clone(postings), self.time));
        if self.bytes > MAX_POSTINGS_BYTES {
            self.shrink(MAX_POSTINGS_BYTES / 2);
        }
    }

    /// Lets go of what was used longest ago until no more than `bytes` are left.
    fn shrink(&mut self, bytes: usize) {
        let mut by_use: Vec<(u64, String)> =
            self.by_expression.iter().map(|(expression, (_, used))| (*used, expression.clone())).collect();
        by_use.sort_unstable();
        for (_, expression) in by_use {
            if self.bytes <= bytes {
                break;
            }
            if let Some((postings, _)) = self.by_expression.remove(&expression) {
                self.bytes = self.bytes.saturating_sub(postings.size_bytes() + expression.len());
            }
        }
    }
}

impl Generation {
    fn load(conn: &Connection, number: i64) -> Result<Self> {
        let mut statement = conn.prepare_cached(
            "SELECT id, first_chunk, words FROM documents WHERE first_chunk IS NOT NULL ORDER BY first_chunk",
        )?;
        let mut rows = statement.query([])?;
        let (mut documents, mut first_chunks, mut words): (Vec<i64>, Vec<i64>, Vec<u32>) = Default::default();
        while let Some(row) = rows.next()? {
            documents.push(row.get(0)?);
            first_chunks.push(row.get(1)?);
            words.push(row.get::<_, u32>(2)?.max(MIN_WORDS));
        }
        let total: u64 = words.iter().map(|&words| u64::from(words)).sum();
        let mean_words = (total as f32 / words.len().max(1) as f32).max(1.0);
        let mut places: Vec<(i64, u32)> = documents.iter().copied().zip(0..).collect();
        places.sort_unstable();
        Ok(Self {
            number,
            documents,
            places,
            first_chunks,
            words,
            mean_words,
            forms: Mutex::default(),
            postings: Mutex::default(),
            vocabulary: Mutex::default(),
            mean_vector: Mutex::default(),
        })
    }

    /// Documents of the index.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Lengths of all documents.
    pub fn lengths(&self) -> Lengths<'_> {
        Lengths { words: &self.words, mean: self.mean_words }
    }

    /// Place of the document with this row id, if it has chunks.
    pub fn place(&self, document_id: i64) -> Option<u32> {
        let found = self.places.binary_search_by_key(&document_id, |entry| entry.0);
        found.ok().map(|at| self.places[at].1)
    }

    /// Row ids of a document and of one of its chunks, by their places.
    pub fn ids(&self, document: u32, chunk: u32) -> Option<(i64, i64)> {
        let place = document as usize;
        Some((*self.documents.get(place)?, self.first_chunks.get(place)? + i64::from(chunk)))
    }

    /// The terms of the index that stand for `term`, itself first; empty when there is none.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn forms(&self, conn: &Connection, term: &str) -> Result<Arc<[Form]>> {
        let known = self.forms.lock().unwrap_or_else(PoisonError::into_inner).get(term).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let forms: Arc<[Form]> = find_forms(conn, term)?.into();
        self.forms.lock().unwrap_or_else(PoisonError::into_inner).insert(term.to_owned(), Arc::clone(&forms));
        Ok(forms)
    }

    /// Whether a term of the index begins with `beginning` and is longer.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn begins_a_term(&self, conn: &Connection, beginning: &str) -> Result<bool> {
        let mut statement = conn.prepare_cached("SELECT term FROM words_vocabulary WHERE term > ?1 LIMIT 1")?;
        let next: Option<String> = statement.query_row([beginning], |row| row.get(0)).optional()?;
        Ok(next.is_some_and(|term| term.starts_with(beginning)))
    }

    /// The words of the index, for finding what a misspelt one may mean.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn vocabulary(&self, conn: &Connection) -> Result<Arc<Vocabulary>> {
        let mut known = self.vocabulary.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref() {
            return Ok(Arc::clone(known));
        }
        let mut statement = conn.prepare_cached("SELECT term, doc FROM words_vocabulary")?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, u64>(1)?)))?;
        let vocabulary = Arc::new(Vocabulary::new(rows.collect::<rusqlite::Result<Vec<_>>>()?));
        *known = Some(Arc::clone(&vocabulary));
        Ok(vocabulary)
    }

    /// The mean of the model's vectors, kept as long as none is added; empty when there are none.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn mean_vector(&self, conn: &Connection, model: &ModelRow) -> Result<Arc<[f32]>> {
        let key = (model.id, vector::last_id(conn, model)?);
        let mut known = self.mean_vector.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, mean)) = known.as_ref().filter(|(of, _)| *of == key) {
            return Ok(Arc::clone(mean));
        }
        let mean: Arc<[f32]> = vector::mean(conn, model, key.1)?.into();
        *known = Some((key, Arc::clone(&mean)));
        Ok(mean)
    }

    /// Where the matches of an FTS5 expression stand.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn postings(&self, conn: &Connection, expression: &str) -> Result<Arc<Postings>> {
        let lock = || self.postings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(expression) {
            return Ok(known);
        }
        let postings = Arc::new(self.read_postings(conn, expression)?);
        lock().insert(expression, &postings);
        Ok(postings)
    }

    fn read_postings(&self, conn: &Connection, expression: &str) -> Result<Postings> {
        let mut statement =
            conn.prepare_cached("SELECT rowid, term_counts(words) FROM words WHERE words MATCH ?1 ORDER BY rowid")?;
        let mut rows = statement.query([expression])?;
        let mut postings = Postings::default();
        let (mut place, mut fields) = (0, [0f32; 4]);
        let mut open = None;
        let close = |document: Option<u32>, fields: &mut [f32; 4], postings: &mut Postings| {
            if let Some(document) = document {
                let weighted = fields.iter().zip(FIELD_WEIGHTS).map(|(count, weight)| count * weight).sum();
                postings.documents.push((document, weighted));
            }
            *fields = [0.0; 4];
        };
        while let Some(row) = rows.next()? {
            let chunk: i64 = row.get(0)?;
            // Both lists ascend, so the document of the next row is never behind that of the last.
            place += self.first_chunks[place..].partition_point(|first| *first <= chunk).saturating_sub(1);
            let Some(first) = self.first_chunks.get(place).filter(|first| **first <= chunk) else { continue };
            let document = u32::try_from(place).unwrap_or(u32::MAX);
            let number = u32::try_from(chunk - first).unwrap_or(u32::MAX);
            if open != Some(document) {
                close(open, &mut fields, &mut postings);
                open = Some(document);
            }
            let mut counts = [0f32; 4];
            for record in row.get_ref(1)?.as_blob().unwrap_or_default().chunks_exact(RECORD_BYTES) {
                counts.iter_mut().zip(&record[2..]).for_each(|(sum, count)| *sum += f32::from(*count));
            }
            // Title, heading path and tags are repeated in each chunk and counted once.
            for column in [0, 1, 3] {
                fields[column] = fields[column].max(counts[column]);
            }
            fields[2] += counts[2];
            let here = counts[1] * FIELD_WEIGHTS[1] + counts[2] * FIELD_WEIGHTS[2];
            if here > 0.0 {
                postings.chunks.push((document, number, here));
            }
        }
        close(open, &mut fields, &mut postings);
        Ok(postings)
    }
}

fn find_forms(conn: &Connection, term: &str) -> Result<Vec<Form>> {
    let Some(word) = Word::new(term) else {
        let mut statement = conn.prepare_cached("SELECT 1 FROM words_vocabulary WHERE term = ?1 LIMIT 1")?;
        let known = statement.query_row([term], |_| Ok(())).optional()?.is_some();
        return Ok(if known { vec![Form { term: term.to_owned(), weight: 1.0 }] } else { Vec::new() });
    };
    let prefix = word.shared_prefix();
    let mut statement = conn.prepare_cached("SELECT term FROM words_vocabulary WHERE term >= ?1")?;
    let mut rows = statement.query([prefix])?;
    let mut forms = Vec::new();
    while let Some(row) = rows.next()? {
        let candidate = row.get_ref(0)?.as_str().unwrap_or_default();
        if !candidate.starts_with(prefix) {
            break;
        }
        let weight = word.weight(candidate);
        if weight > 0.0 {
            forms.push(Form { term: candidate.to_owned(), weight: weight as f32 });
        }
    }
    forms.sort_by(|a, b| {
        b.weight.total_cmp(&a.weight).then((b.term == term).cmp(&(a.term == term))).then(a.term.cmp(&b.term))
    });
    forms.truncate(MAX_FORMS);
    Ok(forms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_postings_used_longest_ago_go_first() {
        let postings = Arc::new(Postings { documents: vec![(0, 1.0); 100], chunks: Vec::new() });
        let mut cache = PostingsCache::default();
        for expression in ["a", "b", "c", "d"] {
            assert!(cache.get(expression).is_none());
            cache.insert(expression, &postings);
        }
        assert!(cache.get("a").is_some());
        cache.shrink(cache.bytes / 2);
        let mut kept: Vec<&str> = cache.by_expression.keys().map(String::as_str).collect();
        kept.sort_unstable();
        assert_eq!(kept, ["a", "d"]);
        assert_eq!(cache.bytes, 2 * (postings.size_bytes() + 1));
    }
}
