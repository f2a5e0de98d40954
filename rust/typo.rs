//! What a misspelt word may have been meant to be: terms of the index that are a few edits away, likeliest first.
//!
//! A [`Vocabulary`] holds the words of an index compactly and is searched in one pass: lengths and sets of letters rule
//! out nearly all terms, the rest are compared by restricted Damerau-Levenshtein distance (insertion, deletion,
//! substitution, transposition of neighbours; Damerau, CACM 1964). Ranking is a noisy channel: how often a term occurs
//! times how likely the slip is (Kernighan, Church and Gale, COLING 1990). When to correct is decided in `search`.

use std::{cmp::Ordering, ops::Range};

use memchr::memmem;

use crate::{script::counts_by_character, tokenizer::MAX_TOKEN_BYTES};

/// The words of an index with their document frequencies.
#[derive(Debug, Default, Clone)]
pub struct Vocabulary {
    /// All terms one after the other: by number of characters, then in order.
    text: String,
    terms: Vec<Entry>,
    /// For each number of characters, the index of its first term; one more for the end.
    lengths: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u32,
    document_frequency: u32,
    letters: Letters,
}

/// A correction.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion<'a> {
    /// A term of the index.
    pub term: &'a str,
    /// How many edits it is away, at least 1.
    pub distance: usize,
    /// How many rows of the index have it.
    pub document_frequency: u32,
    /// Likelihood that it was meant, of no fixed scale; compares suggestions for one word.
    pub weight: f64,
}

/// Corrections that are kept of one word.
const MAX_SUGGESTIONS: usize = 16;
/// Words with fewer characters are not corrected, and terms with fewer are no corrections.
const MIN_CHARS: usize = 3;

/// Edits that are allowed in a word of so many characters: none below 3, one up to 5, two from 6 on.
///
/// With more, short words become each other: a third of all words of four letters are two edits apart.
pub fn allowed_distance(chars: usize) -> usize {
    match chars {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    }
}

impl Vocabulary {
    /// Takes an index's terms, folded by the tokenizer, with the number of rows that have each.
    ///
    /// Terms that are never corrections are left out: short ones, numbers, n-grams of scripts without blanks, and what
    /// does not fit into 4 GB.
    pub fn new<S: AsRef<str>>(terms: impl IntoIterator<Item = (S, u64)>) -> Self {
        let mut text = String::new();
        let mut by_length: Vec<Vec<(Range<u32>, u32)>> = vec![Vec::new(); MAX_TOKEN_BYTES + 1];
        for (term, document_frequency) in terms {
            let term = term.as_ref();
            let chars = term.chars().count();
            let fits = term.len() <= MAX_TOKEN_BYTES && text.len() + term.len() <= u32::MAX as usize;
            if chars >= MIN_CHARS && fits && is_correctable(term) {
                let start = text.len() as u32;
                text.push_str(term);
                let document_frequency = u32::try_from(document_frequency).unwrap_or(u32::MAX);
                by_length[chars].push((start..text.len() as u32, document_frequency));
            }
        }
        let term = |(range, _): &(Range<u32>, u32)| &text[range.start as usize..range.end as usize];
        let mut vocabulary = Self { text: String::with_capacity(text.len()), ..Self::default() };
        for bucket in &mut by_length {
            // An index lists its terms in order; then there is nothing to sort.
            if !bucket.is_sorted_by_key(term) {
                bucket.sort_unstable_by(|left, right| term(left).cmp(term(right)));
            }
            vocabulary.lengths.push(vocabulary.terms.len() as u32);
            for entry in bucket.iter() {
                let start = vocabulary.text.len() as u32;
                let letters = Letters::of(term(entry).chars());
                vocabulary.text.push_str(term(entry));
                vocabulary.terms.push(Entry { start, document_frequency: entry.1, letters });
            }
        }
        vocabulary.lengths.push(vocabulary.terms.len() as u32);
        vocabulary
    }

    /// Number of terms that can be corrections.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether nothing can be a correction.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// How many rows of the index have this term; `None` when it is no term that corrections are made of.
    pub fn document_frequency(&self, term: &str) -> Option<u32> {
        let Range { mut start, mut end } = self.of_length(term.chars().count());
        while start < end {
            let middle = start.midpoint(end);
            match self.term(middle).cmp(term) {
                Ordering::Less => start = middle + 1,
                Ordering::Greater => end = middle,
                Ordering::Equal => return Some(self.terms[middle].document_frequency),
            }
        }
        None
    }

    /// Terms at most `max_distance` edits away from `word`, likeliest first, at most 16, the word itself not among them.
    ///
    /// `word` is folded by the tokenizer. Numbers and digits are never changed: `v2` is not a misspelt `v3`. A word that
    /// mixes alphabets (`сode` with a Cyrillic first letter) is also taken as written in one, and umlauts that were spelled
    /// out as written without.
    pub fn suggest(&self, word: &str, max_distance: usize) -> Vec<Suggestion<'_>> {
        let written: Vec<char> = word.chars().collect();
        if written.len() < MIN_CHARS || word.len() > MAX_TOKEN_BYTES || max_distance == 0 || !is_correctable(word) {
            return Vec::new();
        }
        let mut found: Vec<Suggestion<'_>> = Vec::new();
        self.search(&written, max_distance, |term, distance, document_frequency| {
            if distance > 0 {
                let weight = channel(&written, term, distance) * f64::from(document_frequency.max(1));
                found.push(Suggestion { term, distance, document_frequency, weight });
            }
        });
        for respelled in respellings(&written) {
            self.search(&respelled, max_distance - 1, |term, distance, document_frequency| {
                if term == word {
                    return;
                }
                let weight = RESPELLED * channel(&respelled, term, distance) * f64::from(document_frequency.max(1));
                match found.iter_mut().find(|suggestion| suggestion.term == term) {
                    Some(suggestion) => suggestion.weight = suggestion.weight.max(weight),
                    None => found.push(Suggestion { term, distance: distance + 1, document_frequency, weight }),
                }
            });
        }
        found.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.term.cmp(b.term)));
        found.truncate(MAX_SUGGESTIONS);
        found
    }

    /// Terms that hold `part` somewhere, the commonest first, at most `limit`; none for parts of fewer than 3 characters.
    ///
    /// `part` is folded by the tokenizer. All terms lie in one text, which is searched as fast as memory is read.
    pub fn containing(&self, part: &str, limit: usize) -> Vec<&str> {
        if part.chars().count() < MIN_CHARS {
            return Vec::new();
        }
        let mut found: Vec<usize> = Vec::new();
        for start in memmem::find_iter(self.text.as_bytes(), part) {
            let index = self.terms.partition_point(|entry| entry.start as usize <= start) - 1;
            // The end of one term and the beginning of the next are no part of a word.
            if start + part.len() <= self.end(index) && found.last() != Some(&index) {
                found.push(index);
            }
        }
        found.sort_by_key(|index| std::cmp::Reverse(self.terms[*index].document_frequency));
        found.into_iter().take(limit).map(|index| self.term(index)).collect()
    }

    /// Calls `found` with every term within `max_distance`, its distance and its document frequency.
    fn search<'a>(&'a self, word: &[char], max_distance: usize, mut found: impl FnMut(&'a str, usize, u32)) {
        let letters = Letters::of(word.iter().copied());
        let mut compared = [' '; MAX_TOKEN_BYTES];
        for length in word.len().saturating_sub(max_distance)..=(word.len() + max_distance).min(MAX_TOKEN_BYTES) {
            for index in self.of_length(length) {
                let entry = self.terms[index];
                if !letters.may_be_within(max_distance, entry.letters) {
                    continue;
                }
                let term = self.term(index);
                for (slot, c) in compared.iter_mut().zip(term.chars()) {
                    *slot = c;
                }
                let compared = &compared[..length];
                if letters.has_digits() && !digits(word).eq(digits(compared)) {
                    continue;
                }
                if let Some(distance) = distance_within(word, compared, max_distance) {
                    found(term, distance, entry.document_frequency);
                }
            }
        }
    }

    fn term(&self, index: usize) -> &str {
        &self.text[self.terms[index].start as usize..self.end(index)]
    }

    fn end(&self, index: usize) -> usize {
        self.terms.get(index + 1).map_or(self.text.len(), |next| next.start as usize)
    }

    fn of_length(&self, chars: usize) -> Range<usize> {
        match (self.lengths.get(chars), self.lengths.get(chars + 1)) {
            (Some(start), Some(end)) => *start as usize..*end as usize,
            _ => 0..0,
        }
    }
}

/// The set of a word's letters, as bits: neighbours in an alphabet never share one, all digits do.
#[derive(Debug, Clone, Copy)]
struct Letters(u32);

impl Letters {
    const DIGIT: u32 = 1 << 31;

    fn of(word: impl Iterator<Item = char>) -> Self {
        Self(word.fold(0, |bits, c| bits | if c.is_numeric() { Self::DIGIT } else { 1 << (c as u32 % 31) }))
    }

    /// One edit takes away one letter of the set and brings in one, at most; and it never touches a digit.
    fn may_be_within(self, distance: usize, other: Self) -> bool {
        let different = self.0 ^ other.0;
        different & Self::DIGIT == 0 && different.count_ones() as usize <= 2 * distance
    }

    fn has_digits(self) -> bool {
        self.0 & Self::DIGIT != 0
    }
}

fn digits(word: &[char]) -> impl Iterator<Item = &char> {
    word.iter().filter(|c| c.is_numeric())
}

/// Whether a word can be misspelt, or be what a misspelt word was meant to be: letters in it, none of them an n-gram's.
fn is_correctable(word: &str) -> bool {
    word.chars().any(char::is_alphabetic) && !word.chars().any(|c| counts_by_character(c) || c == '+' || c == '#')
}

/// Restricted Damerau-Levenshtein distance, or `None` when it is above `most`.
fn distance_within(left: &[char], right: &[char], most: usize) -> Option<usize> {
    if left.len().abs_diff(right.len()) > most {
        return None;
    }
    // Three rows of the table, used in turns. Cells further than `most` from the diagonal are above it anyway.
    let mut rows = [[0_u8; MAX_TOKEN_BYTES + 2]; 3];
    let beyond = most as u8 + 1;
    for (column, cell) in rows[0].iter_mut().enumerate().take(right.len() + 1) {
        *cell = (column as u8).min(beyond);
    }
    for (index, &c) in left.iter().enumerate() {
        let [before, last, row] = [index + 2, index, index + 1].map(|row| row % 3);
        let (from, to) = (index.saturating_sub(most), (index + most + 1).min(right.len()));
        let mut best = beyond;
        rows[row][from] = if from == 0 { (index as u8 + 1).min(beyond) } else { beyond };
        for other in from..to {
            let d = right[other];
            let mut cost =
                (rows[last][other] + u8::from(c != d)).min(rows[last][other + 1] + 1).min(rows[row][other] + 1);
            if index > 0 && other > 0 && c == right[other - 1] && left[index - 1] == d {
                cost = cost.min(rows[before][other - 1] + 1);
            }
            rows[row][other + 1] = cost.min(beyond);
            best = best.min(cost);
        }
        rows[row][to + 1] = beyond;
        if best >= beyond {
            return None;
        }
    }
    Some(usize::from(rows[left.len() % 3][right.len()])).filter(|distance| *distance <= most)
}

/// How likely it is to write `written` for `term`, of no fixed scale.
fn channel(written: &[char], term: &str, distance: usize) -> f64 {
    let term: Vec<char> = term.chars().collect();
    let mut likelihood = EDIT.powi(distance as i32);
    let deduplicated = |word: &[char]| {
        let mut word = word.to_vec();
        word.dedup();
        word
    };
    let sorted = |word: &[char]| {
        let mut word = word.to_vec();
        word.sort_unstable();
        word
    };
    if sorted(written) == sorted(&term) || deduplicated(written) == deduplicated(&term) {
        likelihood *= COMMON;
    }
    if written.first() != term.first() {
        likelihood *= FIRST_LETTER;
    }
    likelihood
}

// Chosen on words of five collections, weighted by frequency and misspelt at random (3,000 each: substitutions,
// deletions, insertions, transpositions, doublings; a tenth with two edits). The meant word comes first in .90 to .96 and
// is among the first three in .98 to .99. Edits from 1/10 to 1/200, commonness from 1 to 10 and first letters from 1 to
// 1/10 move that by .025 at most.

/// How likely one edit is beside none.
const EDIT: f64 = 1.0 / 40.0;
/// How much likelier the commonest slips are than other edits: letters in the wrong order, doubled or not doubled.
const COMMON: f64 = 4.0;
/// How much less likely it is to get the first letter wrong.
const FIRST_LETTER: f64 = 0.25;
/// How likely another spelling of the same letters is.
const RESPELLED: f64 = 1.0 / 5.0;

/// Other ways to write the same word: in one alphabet where it mixes several that look alike, with umlauts' dots instead
/// of their `e`.
fn respellings(word: &[char]) -> Vec<Vec<char>> {
    let mut found = Vec::new();
    let latin: Vec<char> = word.iter().map(|c| look_alike(*c)).collect();
    if latin != word {
        found.push(latin);
    }
    if word.iter().any(|c| matches!(c, '\u{400}'..='\u{4FF}')) {
        let cyrillic = |c: char| CYRILLIC.iter().find(|(_, latin)| *latin == c).map_or(c, |(cyrillic, _)| *cyrillic);
        let respelled: Vec<char> = word.iter().map(|c| cyrillic(*c)).collect();
        if respelled != word {
            found.push(respelled);
        }
    }
    let mut umlauts: Vec<char> = Vec::with_capacity(word.len());
    for c in word {
        if !(*c == 'e' && umlauts.last().is_some_and(|last| matches!(last, 'a' | 'o' | 'u'))) {
            umlauts.push(*c);
        }
    }
    if umlauts.len() < word.len() {
        found.push(umlauts);
    }
    found
}

/// The Latin letter that a Cyrillic or Greek letter looks like in upper or in lower case; other letters as they are.
fn look_alike(c: char) -> char {
    CYRILLIC.iter().chain(&GREEK).find(|(other, _)| *other == c).map_or(c, |(_, latin)| *latin)
}

const CYRILLIC: [(char, char); 18] = [
    ('а', 'a'),
    ('в', 'b'),
    ('с', 'c'),
    ('е', 'e'),
    ('н', 'h'),
    ('і', 'i'),
    ('ј', 'j'),
    ('к', 'k'),
    ('м', 'm'),
    ('о', 'o'),
    ('р', 'p'),
    ('ѕ', 's'),
    ('т', 't'),
    ('х', 'x'),
    ('у', 'y'),
    ('ԁ', 'd'),
    ('ԛ', 'q'),
    ('ԝ', 'w'),
];
const GREEK: [(char, char); 14] = [
    ('α', 'a'),
    ('β', 'b'),
    ('ε', 'e'),
    ('ζ', 'z'),
    ('η', 'h'),
    ('ι', 'i'),
    ('κ', 'k'),
    ('μ', 'm'),
    ('ν', 'n'),
    ('ο', 'o'),
    ('ρ', 'p'),
    ('τ', 't'),
    ('υ', 'y'),
    ('χ', 'x'),
];

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, test_runner::RngSeed};

    use super::*;

    fn vocabulary(terms: &[(&str, u64)]) -> Vocabulary {
        Vocabulary::new(terms.iter().copied())
    }

    fn best(vocabulary: &Vocabulary, word: &str) -> Vec<(String, usize)> {
        let distance = allowed_distance(word.chars().count());
        vocabulary.suggest(word, distance).into_iter().map(|found| (found.term.to_owned(), found.distance)).collect()
    }

    #[test]
    fn slips_of_every_kind_are_corrected() {
        let terms =
            ["caffeinate", "custom", "restart", "concurrently", "schema", "iterm2", "html", "stash", "difference"];
        let vocabulary = Vocabulary::new(terms.iter().map(|term| (term, 5)));
        for (written, meant) in [
            ("caffienate", "caffeinate"),
            ("cusotm", "custom"),
            ("restrat", "restart"),
            ("concurently", "concurrently"),
            ("scheam", "schema"),
            ("itrem2", "iterm2"),
            ("xtml", "html"),
            ("tsash", "stash"),
            ("diffference", "difference"),
            ("ifference", "difference"),
        ] {
            assert_eq!(best(&vocabulary, written).first().map(|(term, _)| term.as_str()), Some(meant), "{written}");
        }
    }

    #[test]
    fn a_frequent_word_is_likelier_than_a_rare_one_and_a_near_one_than_a_far_one() {
        let vocabulary =
            vocabulary(&[("stash", 3), ("stach", 90), ("database", 4), ("databases", 4), ("dataset", 100)]);
        assert_eq!(best(&vocabulary, "stasch")[0].0, "stach");
        assert_eq!(best(&vocabulary, "databsaes")[0], ("databases".into(), 1));
        assert_eq!(best(&vocabulary, "stahs")[0].0, "stash");
    }

    #[test]
    fn parts_of_words_are_found_inside_terms_and_never_across_two() {
        let vocabulary = vocabulary(&[("sourdough", 2), ("dough", 9), ("doughnut", 4), ("roughage", 1), ("nutmeg", 1)]);
        assert_eq!(vocabulary.containing("dough", 10), ["dough", "doughnut", "sourdough"]);
        assert_eq!(vocabulary.containing("ough", 1), ["dough"]);
        assert_eq!(vocabulary.containing("ugha", 10), ["roughage"]);
        // The terms lie side by side, the shorter first.
        assert!(
            vocabulary.containing("doughnut", 10) == ["doughnut"] && vocabulary.containing("doughnutm", 10).is_empty()
        );
        assert!(vocabulary.containing("hnutm", 10).is_empty());
        assert!(vocabulary.containing("ou", 10).is_empty());
        assert!(Vocabulary::default().containing("dough", 10).is_empty());
    }

    #[test]
    fn the_word_itself_short_words_and_numbers_are_left_alone() {
        let vocabulary =
            vocabulary(&[("go", 9), ("git", 9), ("gist", 9), ("mp3", 9), ("mp4", 9), ("2024", 9), ("東京", 9)]);
        assert_eq!(vocabulary.len(), 4);
        assert!(best(&vocabulary, "ga").is_empty());
        assert!(best(&vocabulary, "2025").is_empty());
        assert!(best(&vocabulary, "mp5").is_empty());
        assert!(best(&vocabulary, "東東").is_empty());
        assert_eq!(best(&vocabulary, "git"), [("gist".to_owned(), 1)]);
        assert_eq!(best(&vocabulary, "mo3"), [("mp3".to_owned(), 1)]);
        assert!(Vocabulary::default().suggest("anything", 2).is_empty());
    }

    #[test]
    fn look_alike_letters_and_spelled_out_umlauts_are_understood() {
        let vocabulary = vocabulary(&[("paypal", 3), ("москва", 3), ("muller", 3), ("kase", 3)]);
        assert_eq!(best(&vocabulary, "раураl")[0], ("paypal".into(), 1));
        assert_eq!(best(&vocabulary, "mосква")[0].0, "москва");
        assert_eq!(best(&vocabulary, "mueller")[0].0, "muller");
        assert_eq!(best(&vocabulary, "kaese")[0].0, "kase");
    }

    #[test]
    fn document_frequencies_are_found_by_term() {
        let vocabulary = vocabulary(&[("stash", 3), ("restart", 7), ("élan", 2)]);
        assert_eq!(vocabulary.document_frequency("restart"), Some(7));
        assert_eq!(vocabulary.document_frequency("élan"), Some(2));
        assert_eq!(vocabulary.document_frequency("absent"), None);
        assert_eq!(vocabulary.document_frequency(&"x".repeat(500)), None);
    }

    #[test]
    fn distances_count_transpositions_as_one() {
        let distance = |left: &str, right: &str| {
            let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
            distance_within(&left, &right, 10)
        };
        for (left, right, expected) in
            [("", "", 0), ("abc", "acb", 1), ("ca", "abc", 3), ("kitten", "sitting", 3), ("", "abc", 3)]
        {
            assert_eq!(distance(left, right), Some(expected), "{left} {right}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 500,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(2026),
            ..ProptestConfig::default()
        })]

        #[test]
        fn nothing_within_the_distance_is_missed(
            terms in proptest::collection::btree_set("[a-eé1]{3,7}", 0..60),
            word in "[a-eé1]{3,7}",
            most in 1_usize..3,
        ) {
            let vocabulary = Vocabulary::new(terms.iter().map(|term| (term, 1)));
            let written: Vec<char> = word.chars().collect();
            let mut found = Vec::new();
            vocabulary.search(&written, most, |term, distance, _| found.push((term.to_owned(), distance)));
            found.sort();
            let expected: Vec<_> = terms
                .iter()
                .filter(|term| is_correctable(term))
                .filter_map(|term| {
                    let chars: Vec<char> = term.chars().collect();
                    let distance = distance_within(&written, &chars, most)?;
                    digits(&written).eq(digits(&chars)).then(|| (term.clone(), distance))
                })
                .collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_word_is_survived(terms in proptest::collection::vec(any::<String>(), 0..20), word in any::<String>()) {
            let vocabulary = Vocabulary::new(terms.iter().map(|term| (term, 1)));
            for found in vocabulary.suggest(&word, 2) {
                prop_assert!(found.distance > 0 && found.weight > 0.0);
                prop_assert!(terms.iter().any(|term| term == found.term));
                prop_assert_eq!(vocabulary.document_frequency(found.term), Some(1));
            }
        }
    }
}
