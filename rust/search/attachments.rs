//! Words that stand in a note's files and not in the note: file names, and the text that Bear read in pictures and PDFs.
//!
//! That text is a guess with noise in it, so it is weak evidence: it never changes what is shown of a note that the words
//! themselves found, and a note that only a file speaks for is labelled with that file.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params_from_iter, types::Value};

use super::{Hit, legs::Found, ranking::Ranked, ranking::Ranking};
use crate::{
    error::Result,
    query::{self, Query},
    snippet::{self, Terms},
};

/// What a file with all words of a query counts beside the best note of the list.
const WEIGHT: f64 = 0.3;
/// The same where no note holds half as much of the query in its own words: then the file is what was looked for, and what is
/// above it is only near in meaning.
const WEIGHT_ALONE: f64 = 0.9;
/// Notes whose own words are looked at for that.
const COMPARED: usize = 10;
/// Share of a query's words that a file must hold to speak for its note: questions have words that no picture has.
const MIN_SHARE: f64 = 0.6;
/// Words of a query that are looked for.
const MAX_WORDS: usize = 32;

/// The file that speaks for a note.
struct Evidence {
    /// Row id of the file.
    attachment_id: i64,
    /// Share of the query's words that it holds.
    share: f64,
    /// What that counts.
    weight: f64,
    /// Place of the query among the request's.
    query: usize,
}

/// By document, the files that speak for notes which their words do not find.
#[derive(Default)]
pub struct Attached(HashMap<i64, Evidence>);

impl Attached {
    /// Looks for the words of all queries in the files of notes in scope. Nothing where no note has a file.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn find(conn: &Connection, queries: &[Query], found: &[Found]) -> Result<Self> {
        let mut attached = Self::default();
        let any: bool = conn.query_row("SELECT EXISTS (SELECT 1 FROM attachments)", [], |row| row.get(0))?;
        if !any {
            return Ok(attached);
        }
        for (place, (query, found)) in queries.iter().zip(found).enumerate() {
            if found.words_found().is_none() {
                continue;
            }
            let holders = holders(conn, query, found)?;
            let own = if holders.is_empty() { 0.0 } else { own_share(found) };
            for (document_id, attachment_id, share) in holders {
                let best = attached.0.get(&document_id).map_or(0.0, |known| known.share);
                if share > best {
                    let weight = if own < share / 2.0 { WEIGHT_ALONE } else { WEIGHT };
                    attached.0.insert(document_id, Evidence { attachment_id, share, weight, query: place });
                }
            }
        }
        Ok(attached)
    }

    /// Puts the notes into the list, below those whose own words say as much, and forgets those that stand higher without.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn add_to(&mut self, conn: &Connection, ranking: &mut Ranking) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let top = ranking.notes.first().map_or(1.0, |note| note.score).max(f64::MIN_POSITIVE);
        let listed: HashMap<i64, usize> =
            ranking.notes.iter().enumerate().map(|(place, note)| (note.document_id, place)).collect();
        self.0.retain(|document_id, evidence| {
            let own = listed.get(document_id).map_or(f64::MIN, |place| ranking.notes[*place].score);
            own < evidence.weight * evidence.share * top
        });
        for (document_id, evidence) in &self.0 {
            let score = evidence.weight * evidence.share * top;
            match listed.get(document_id) {
                Some(place) => ranking.notes[*place].score = score,
                None => {
                    let first: Option<Option<i64>> = conn
                        .prepare_cached("SELECT first_chunk FROM documents WHERE id = ?1")?
                        .query_row([document_id], |row| row.get(0))
                        .optional()?;
                    let chunk_id = first.flatten();
                    ranking.notes.extend(chunk_id.map(|_| Ranked { chunk_id, ..Ranked::plain(*document_id, score) }));
                }
            }
        }
        ranking.notes.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.document_id.cmp(&b.document_id)));
        ranking.is_evident |= !self.0.is_empty();
        Ok(())
    }

    /// Shows, of the notes that only a file speaks for, the file's name and the place in its text.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn label(&self, conn: &Connection, queries: &[Query], hits: &mut [Hit]) -> Result<()> {
        for hit in hits {
            let Some(evidence) = self.0.get(&hit.document.id) else { continue };
            let file: Option<(String, String)> = conn
                .prepare_cached("SELECT name, text FROM attachments WHERE id = ?1")?
                .query_row([evidence.attachment_id], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let Some((name, text)) = file else { continue };
            let words = queries.get(evidence.query).map(query::plain_words).unwrap_or_default();
            let excerpt = snippet::excerpt(&text, 0..text.len(), &Terms::of_text(&words.join(" ")));
            hit.heading = format!("attachment {name}");
            // The lines of that text are nobody's: the note has others.
            hit.excerpt = snippet::Excerpt { line_hits: Vec::new(), total_hits: 0, ..excerpt };
        }
        Ok(())
    }
}

/// The largest share of the query's words, by their worth, that one note holds itself.
fn own_share(found: &Found) -> f64 {
    let (Some(words), Some(list)) = (found.words(), found.words_found()) else { return 0.0 };
    let scorer = words.scorer();
    let shares = list.documents().iter().take(COMPARED).map(|id| f64::from(words.scored(&scorer, *id).coverage));
    shares.fold(0.0, f64::max)
}

/// Files in scope with enough of a query's words: document, file, and the share of the words.
fn holders(conn: &Connection, query: &Query, found: &Found) -> Result<Vec<(i64, i64, f64)>> {
    let terms: Vec<_> = query::search_terms(query).into_iter().filter(|term| !term.in_title).take(MAX_WORDS).collect();
    let mut held: HashMap<i64, usize> = HashMap::new();
    let mut statement = conn.prepare_cached("SELECT rowid FROM attachment_words WHERE attachment_words MATCH ?1")?;
    for term in &terms {
        let rows = statement.query_map([query::expression(term)], |row| row.get::<_, i64>(0))?;
        for row in rows {
            *held.entry(row?).or_default() += 1;
        }
    }
    let sql = format!(
        "SELECT a.document_id FROM attachments a JOIN documents d ON d.id = a.document_id WHERE {} AND a.id = ?",
        found.scope.condition()
    );
    let mut in_scope = conn.prepare_cached(&sql)?;
    let mut holders = Vec::new();
    for (attachment_id, count) in held {
        let share = count as f64 / terms.len() as f64;
        if share < MIN_SHARE {
            continue;
        }
        let parameters = found.scope.parameters().iter().cloned().chain([Value::Integer(attachment_id)]);
        let document: Option<i64> = in_scope.query_row(params_from_iter(parameters), |row| row.get(0)).optional()?;
        holders.extend(document.map(|document_id| (document_id, attachment_id, share)));
    }
    // Of a note's files with equal shares, the first one.
    holders.sort_by_key(|&(document_id, attachment_id, _)| (document_id, attachment_id));
    Ok(holders)
}
