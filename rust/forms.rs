//! Which words of an index are forms of a word in a query: its inflections and close derivations, each with a weight.
//!
//! The index stores whole words; their forms are looked for in its vocabulary when a query is asked. Two words are forms
//! of one when a stemmer says so, or when they begin alike and differ in their endings only, which holds in every
//! language that inflects by endings and needs no guess at the language. Pure functions: whoever has the vocabulary asks
//! for the range of terms to look through and for each term's weight. `docs/adr/0006-tokenizer.md` has the measurements.

use rust_stemmers::{Algorithm, Stemmer};

use crate::script::{counts_by_character, is_word_char};

/// A word that is looked for, and what is needed to recognise its forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    term: String,
    stem: String,
    /// Beginning that words of the same stem share, in bytes.
    stem_shared: usize,
    /// Beginning that every form shares with the word, in bytes.
    shared: usize,
    chars: usize,
}

/// Terms with fewer characters have no forms but themselves.
const MIN_CHARS: usize = 2;
/// Words that begin alike must share this many characters, and this part of the query's word.
const MIN_SHARED_CHARS: usize = 4;
const MIN_SHARED_PART: f64 = 0.6;
/// Longest ending, in characters, that may tell two forms apart.
const MAX_ENDING_CHARS: usize = 6;
/// Forms that weigh less are none.
pub const MIN_WEIGHT: f64 = 0.1;

impl Word {
    /// A term as the tokenizer makes it. `None` when it has no other forms: numbers, codes, emoji, very short words, and
    /// terms of scripts without blanks, which are n-grams.
    pub fn new(term: &str) -> Option<Self> {
        let chars = term.chars().count();
        if chars < MIN_CHARS || !term.chars().all(inflects) {
            return None;
        }
        let stem = stem(term);
        // A stem may end in another letter than its words do: happy and happiness are happi, hope and hoping hope.
        let first_two = term.char_indices().nth(MIN_CHARS).map_or(term.len(), |(at, _)| at);
        let stem_shared = term[..shared_bytes(term, &stem)].trim_end_matches(['e', 'i', 'y']).len().max(first_two);
        let similar_chars = MIN_SHARED_CHARS.max((chars as f64 * MIN_SHARED_PART).ceil() as usize);
        let similar_shared = term.char_indices().nth(similar_chars).map_or(term.len(), |(at, _)| at);
        Some(Self { stem_shared, shared: stem_shared.min(similar_shared), stem, chars, term: term.to_owned() })
    }

    /// The beginning that all forms have: the vocabulary's terms from this one on, as long as they begin with it.
    pub fn shared_prefix(&self) -> &str {
        &self.term[..self.shared]
    }

    /// How much one occurrence of `candidate` counts compared with one of the word itself: 1 for the word and for words
    /// of the same stem, less the more the endings differ, 0 when it is no form of the word.
    pub fn weight(&self, candidate: &str) -> f64 {
        if candidate == self.term {
            return 1.0;
        }
        if !candidate.starts_with(self.shared_prefix()) || candidate.len() > self.term.len() + 4 * MAX_ENDING_CHARS {
            return 0.0;
        }
        if !candidate.chars().all(inflects) {
            return 0.0;
        }
        if candidate.starts_with(&self.term[..self.stem_shared]) && stem(candidate) == self.stem {
            return 1.0;
        }
        let shared = shared_chars(&self.term, candidate);
        let chars = candidate.chars().count();
        let alike = shared >= MIN_SHARED_CHARS && shared as f64 >= self.chars as f64 * MIN_SHARED_PART;
        if !alike || chars.max(self.chars) - shared > MAX_ENDING_CHARS {
            return 0.0;
        }
        let likeness = 2.0 * shared as f64 / (self.chars + chars) as f64;
        let weight = likeness.powi(4);
        if weight < MIN_WEIGHT { 0.0 } else { weight }
    }
}

/// Letters of scripts that write words apart.
fn inflects(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_lowercase() } else { is_word_char(c) && !c.is_numeric() && !counts_by_character(c) }
}

/// The stem of a folded word: Porter's second algorithm for Latin script, the Russian one for Cyrillic.
///
/// Other languages in these scripts are hardly touched by them; other scripts are left alone.
fn stem(term: &str) -> String {
    let algorithm = match term.chars().next() {
        Some('a'..='z') if term.is_ascii() => Algorithm::English,
        Some('\u{400}'..='\u{4FF}') => Algorithm::Russian,
        _ => return term.to_owned(),
    };
    let stemmer = Stemmer::create(algorithm);
    match term.strip_suffix('и').filter(|rest| rest.ends_with(FOLDED_BEFORE)) {
        Some(rest) => stemmer.stem(&format!("{rest}й")).into_owned(),
        None => stemmer.stem(term).into_owned(),
    }
}

/// Behind these letters a final `и` is nearly always a `й` that lost its breve when the word was folded, and the stemmer knows
/// the endings only with it: `новый`, `страной`. Behind `е` and `и` it knows both.
const FOLDED_BEFORE: [char; 5] = ['о', 'ы', 'а', 'у', 'я'];

/// Length of the common beginning, in bytes and between characters.
fn shared_bytes(left: &str, right: &str) -> usize {
    left.chars().zip(right.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum()
}

fn shared_chars(left: &str, right: &str) -> usize {
    left.chars().zip(right.chars()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(word: &str, candidate: &str) -> f64 {
        Word::new(word).map_or(0.0, |word| word.weight(candidate))
    }

    #[test]
    fn inflections_of_one_stem_count_like_the_word() {
        for (word, form) in [
            ("run", "runs"),
            ("run", "running"),
            ("happy", "happiness"),
            ("happiness", "happy"),
            ("hope", "hoping"),
            ("flies", "fly"),
            ("fly", "flies"),
            ("connection", "connected"),
            ("книга", "книги"),
            ("работать", "работает"),
            ("странои", "страна"),
            ("новыи", "нового"),
            ("историеи", "истории"),
        ] {
            assert_eq!(weight(word, form), 1.0, "{word} {form}");
        }
    }

    #[test]
    fn words_that_differ_in_their_endings_count_less_the_more_they_differ() {
        let close = weight("regierung", "regierungen");
        let far = weight("regierung", "regierender");
        assert!(1.0 > close && close > far && far > 0.0, "{close} {far}");
        assert!(weight("evlerimizde", "evlerimizden") > 0.8);
        assert!(weight("θαλασσα", "θαλασσες") > 0.3);
        assert!(weight("विद्यार्थी", "विद्यार्थियों") > 0.3);
        assert_eq!(weight("organ", "organizational"), 0.0);
        assert_eq!(weight("house", "horse"), 0.0);
        assert_eq!(weight("cat", "category"), 0.0);
    }

    #[test]
    fn numbers_codes_and_ngrams_have_no_forms() {
        for term in ["2026", "mp3", "東京", "ไทย", "학교", "🚀", "c++", "o", ""] {
            assert_eq!(Word::new(term), None, "{term}");
        }
    }

    #[test]
    fn every_form_begins_with_the_shared_prefix() {
        let vocabulary = ["fly", "flies", "flying", "hope", "hoping", "hopes", "happily", "happier", "happy", "study"];
        for word in vocabulary {
            let form = Word::new(word).unwrap();
            for candidate in vocabulary {
                assert!(form.weight(candidate) == 0.0 || candidate.starts_with(form.shared_prefix()));
            }
            assert_eq!(form.weight(word), 1.0);
        }
        assert_eq!(Word::new("flies").unwrap().shared_prefix(), "fl");
    }
}
