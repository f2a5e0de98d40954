//! What is looked for in place of a word that the index does not hold: words that begin with it, words that hold it somewhere,
//! or words that it may be a misspelling of.
//!
//! Whether a query needs this is decided in `search`; likely misspellings are `typo`'s.

use rusqlite::Connection;

use crate::{
    error::Result,
    lexical::{Wanted, exact},
    lexicon::Generation,
    typo::allowed_distance,
};

/// A correction counts less than the word itself would.
const BOOST: f32 = 0.8;
/// Fewer characters begin too many words.
const MIN_PREFIX_CHARS: usize = 3;
/// Fewer characters stand inside too many words.
const MIN_PART_CHARS: usize = 4;
/// Words that hold a part, the commonest first.
const MAX_WHOLE: usize = 8;
/// Words that a misspelt one may mean, the likeliest first.
const MAX_MEANT: usize = 3;
/// A guess that is less likely than this part of the likeliest is none.
const MIN_LIKELIHOOD: f64 = 0.1;

/// What is said of a corrected word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// The word as typed, folded.
    pub typed: String,
    /// What was searched instead: words, or `typed*`.
    pub searched: Vec<String>,
}

/// What to look for in place of an unknown word.
#[derive(Debug)]
pub struct Corrected {
    /// FTS5 expressions with their weights.
    pub expressions: Vec<(String, f32)>,
    /// Multiplies what the word adds to a score.
    pub boost: f32,
    /// Terms to highlight, and whether longer ones that begin so are meant.
    pub shown: Vec<(String, bool)>,
    /// The same for people.
    pub said: Correction,
}

/// What may be meant by `want`, a word that no document holds; None when nothing comes near, or when it is a phrase or was
/// not typed.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn correct(conn: &Connection, index: &Generation, want: &Wanted) -> Result<Option<Corrected>> {
    if !want.is_needed || !want.expressions.is_empty() {
        return Ok(None);
    }
    let word = want.word.as_str();
    let chars = word.chars().count();
    let corrected = |expressions, shown, searched| {
        let said = Correction { typed: word.to_owned(), searched };
        Some(Corrected { expressions, boost: BOOST, shown, said })
    };
    if chars >= MIN_PREFIX_CHARS && index.begins_a_term(conn, word)? {
        let expression = format!("{} *", exact(word));
        return Ok(corrected(vec![(expression, 1.0)], vec![(word.to_owned(), true)], vec![format!("{word}*")]));
    }
    let vocabulary = index.vocabulary(conn)?;
    if chars >= MIN_PART_CHARS {
        let whole: Vec<String> = vocabulary.containing(word, MAX_WHOLE).into_iter().map(str::to_owned).collect();
        if !whole.is_empty() {
            let expressions = whole.iter().map(|term| (exact(term), 1.0)).collect();
            let shown = whole.iter().map(|term| (term.clone(), false)).collect();
            return Ok(corrected(expressions, shown, whole));
        }
    }
    let meant = vocabulary.suggest(word, allowed_distance(chars));
    let Some(likeliest) = meant.first().map(|suggestion| suggestion.weight) else { return Ok(None) };
    let (mut expressions, mut shown, mut searched) = (Vec::new(), Vec::new(), Vec::new());
    for suggestion in meant.iter().take(MAX_MEANT).filter(|meant| meant.weight >= MIN_LIKELIHOOD * likeliest) {
        let weight = (suggestion.weight / likeliest) as f32;
        searched.push(suggestion.term.to_owned());
        for form in index.forms(conn, suggestion.term)?.iter() {
            expressions.push((exact(&form.term), form.weight * weight));
            shown.push((form.term.clone(), false));
        }
    }
    Ok(corrected(expressions, shown, searched))
}
