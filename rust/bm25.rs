//! BM25 over whole documents: how often words stand where -> a score for each document. Numbers only.
//!
//! Occurrences in several fields are weighted and added before they are saturated (BM25F: Robertson, Zaragoza and Taylor,
//! CIKM 2004), and the forms of one word count as one word. Where the numbers come from is `lexical`'s business.

use std::{collections::HashMap, sync::Arc};

/// Saturation of repeated words; FTS5's constant.
pub const K1: f32 = 1.2;
/// How much a document's length counts; FTS5's constant.
pub const B: f32 = 0.75;
/// Shorter documents count as this long: among notes of a few words their length says nothing. Measured on turns of
/// conversations (34 words on average) nDCG@10 rises from .452 to .482, and nothing changes where texts are longer.
pub const MIN_WORDS: u32 = 40;
/// Documents this many times as long as the mean are journals and logs: a passage of theirs is what a query means.
const LONG: f32 = 8.0;
/// What a passage of a long document counts beside a document of its own.
const PASSAGE: f32 = 0.8;

/// Where one term of the index stands.
#[derive(Debug, Default)]
pub struct Postings {
    /// Documents that hold the term, ascending, by their place in the corpus, with their weighted occurrences.
    pub documents: Vec<(u32, f32)>,
    /// The same by chunk: place of the document, number of the chunk within it, weighted occurrences in heading and body.
    pub chunks: Vec<(u32, u32, f32)>,
}

impl Postings {
    /// Bytes that this takes in memory.
    pub fn size_bytes(&self) -> usize {
        self.documents.len() * size_of::<(u32, f32)>() + self.chunks.len() * size_of::<(u32, u32, f32)>()
    }

    /// Weighted occurrences in one document.
    fn occurrences(&self, document: u32) -> f32 {
        self.documents.binary_search_by_key(&document, |entry| entry.0).map_or(0.0, |place| self.documents[place].1)
    }
}

/// One word of a query: the terms that stand for it, each with how much an occurrence counts.
#[derive(Debug, Default)]
pub struct Group {
    /// Postings and weight; weight 1 for the word itself.
    pub terms: Vec<(Arc<Postings>, f32)>,
    /// Multiplies what the word adds to a score; 1 for a word that a person typed.
    pub boost: f32,
    /// Whether a word that no document holds counts into the bound: it was asked for and is missing everywhere. Not so
    /// for a wider reading of another word, or for an n-gram that only the cutting of a text into grams made.
    pub is_needed: bool,
}

impl Group {
    /// How many documents hold it, counted by weight: a rare form adds little to how common the word is. Counting each document
    /// once helps the words alone (+.003 on three sets) and costs what is fused (-.009 on time, -.005 on adi).
    fn document_frequency(&self) -> f32 {
        self.terms.iter().map(|(postings, weight)| weight * postings.documents.len() as f32).sum()
    }

    /// Whether no document holds it.
    pub fn is_unknown(&self) -> bool {
        self.len() == 0
    }

    /// How many documents hold it, those that hold several of its terms counted once.
    pub fn documents(&self) -> usize {
        match self.terms.as_slice() {
            [(postings, _)] => postings.documents.len(),
            terms => {
                let last =
                    terms.iter().filter_map(|(postings, _)| postings.documents.last()).map(|entry| entry.0).max();
                let mut seen = vec![0u64; last.map_or(0, |last| last as usize / 64 + 1)];
                for (document, _) in terms.iter().flat_map(|(postings, _)| &postings.documents) {
                    seen[*document as usize / 64] |= 1 << (document % 64);
                }
                seen.iter().map(|word| word.count_ones() as usize).sum()
            }
        }
    }

    /// Whether a chunk holds it in its heading or body.
    pub fn stands_in(&self, document: u32, chunk: u32) -> bool {
        let held =
            |postings: &Postings| postings.chunks.binary_search_by_key(&(document, chunk), |e| (e.0, e.1)).is_ok();
        self.terms.iter().any(|(postings, _)| held(postings))
    }

    /// Numbers of the chunks of a document that hold it in heading or body, ascending, with its weighted occurrences.
    fn by_chunk(&self, document: u32) -> Vec<(u32, f32)> {
        let mut found: Vec<(u32, f32)> = Vec::new();
        for (postings, weight) in &self.terms {
            let from = postings.chunks.partition_point(|entry| entry.0 < document);
            let here = postings.chunks[from..].iter().take_while(|entry| entry.0 == document);
            found.extend(here.map(|&(_, chunk, occurrences)| (chunk, weight * occurrences)));
        }
        found.sort_unstable_by_key(|entry| entry.0);
        found.dedup_by(|later, kept| {
            later.0 == kept.0 && {
                kept.1 += later.1;
                true
            }
        });
        found
    }

    fn len(&self) -> usize {
        self.terms.iter().map(|(postings, _)| postings.documents.len()).sum()
    }

    fn occurrences(&self, document: u32) -> f32 {
        self.terms.iter().map(|(postings, weight)| weight * postings.occurrences(document)).sum()
    }
}

/// What BM25 knows of all documents.
#[derive(Debug, Clone, Copy)]
pub struct Lengths<'a> {
    /// Words of each document, by its place in the corpus; at least [`MIN_WORDS`].
    pub words: &'a [u32],
    /// Their mean, above 0.
    pub mean: f32,
}

impl Lengths<'_> {
    fn norm(&self, document: u32) -> f32 {
        K1 * (1.0 - B + B * self.relative(document))
    }

    fn is_long(&self, document: u32) -> bool {
        self.relative(document) >= LONG
    }

    /// Length of a document by the mean.
    fn relative(&self, document: u32) -> f32 {
        self.words.get(document as usize).copied().unwrap_or(0) as f32 / self.mean
    }
}

/// Inverse document frequency, never negative: `ln(1 + (n - df + 0.5) / (df + 0.5))`.
pub fn idf(documents: usize, document_frequency: f32) -> f32 {
    let (n, df) = (documents as f32, document_frequency.min(documents as f32));
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

/// A query against a corpus: what each of its words is worth, and what a document can reach.
#[derive(Debug)]
pub struct Scorer<'a> {
    groups: &'a [Group],
    lengths: Lengths<'a>,
    /// What each group is worth, 0 when no document holds it.
    idf: Vec<f32>,
    /// The same, with what a missing word would be worth: as if half a document held it.
    weight: Vec<f32>,
}

/// What one document holds of a query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Scored {
    /// BM25.
    pub score: f32,
    /// BM25 as a share of what a document could reach that holds every word infinitely often, in [0, 1].
    pub share: f32,
    /// The share of the query's words that it holds, by their worth, in [0, 1].
    pub coverage: f32,
}

impl<'a> Scorer<'a> {
    /// Looks up what the words of a query are worth in a corpus.
    pub fn new(groups: &'a [Group], lengths: Lengths<'a>) -> Self {
        let n = lengths.words.len();
        let idf: Vec<f32> = groups
            .iter()
            .map(|group| match group.document_frequency() {
                0.0 => 0.0,
                frequency => idf(n, frequency) * group.boost,
            })
            .collect();
        let worth = |(group, known): (&Group, &f32)| match (*known > 0.0, group.is_needed) {
            (true, _) => *known,
            (false, true) => self::idf(n, 0.5) * group.boost,
            (false, false) => 0.0,
        };
        let weight = groups.iter().zip(&idf).map(worth).collect();
        Self { groups, lengths, idf, weight }
    }

    /// What each group is worth, in their order; 0 when no document holds it.
    pub fn idf(&self) -> &[f32] {
        &self.idf
    }

    /// The share of the query's worth that lies in words which no document holds, in [0, 1].
    pub fn unknown(&self) -> f32 {
        let all: f32 = self.weight.iter().sum();
        let known: f32 = self.idf.iter().sum();
        if all > 0.0 { 1.0 - known / all } else { 0.0 }
    }

    /// What one document holds; of a long one, its best passage if that says more.
    pub fn scored(&self, document: u32) -> Scored {
        let norm = self.lengths.norm(document);
        let (mut score, mut held) = (0.0, 0.0);
        for (group, idf) in self.groups.iter().zip(&self.idf) {
            let frequency = if *idf > 0.0 { group.occurrences(document) } else { 0.0 };
            if frequency > 0.0 {
                score += idf * saturated(frequency, norm);
                held += idf;
            }
        }
        if let Some(passage) = self.passage(document).filter(|passage| passage.0 > score) {
            (score, held) = passage;
        }
        let all: f32 = self.weight.iter().sum();
        match all > 0.0 {
            true => Scored { score, share: score / (all * (K1 + 1.0)), coverage: held / all },
            false => Scored { score, ..Scored::default() },
        }
    }

    /// Score of the best chunk of a long document, as if it were a document of mean length, and the worth of the words in it.
    ///
    /// The length of a journal of a thousand days says nothing about the day that is looked for, but as a whole it would
    /// rank below every short note that holds one word of the query.
    fn passage(&self, document: u32) -> Option<(f32, f32)> {
        if !self.lengths.is_long(document) {
            return None;
        }
        let best = by_chunk(self.groups, &self.idf, document).into_values().max_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|(score, held)| (PASSAGE * score, held))
    }

    /// The `limit` best documents with their scores, best first; equal scores by place. `holds` says which may be found.
    ///
    /// Words are added from the rarest to the commonest. Once those that are left cannot lift a new document among the
    /// best, only the documents found so far are looked up in their lists (Turtle and Flood's MAXSCORE, IP&M 1995).
    ///
    /// # Errors
    /// What `holds` returns.
    pub fn top<E>(&self, limit: usize, mut holds: impl FnMut(u32) -> Result<bool, E>) -> Result<Vec<(u32, f32)>, E> {
        for prune in [true, false] {
            let (mut found, complete) = self.accumulate(if prune { limit } else { usize::MAX });
            for (document, score) in &mut found {
                *score = self.passage(*document).map_or(*score, |(passage, _)| score.max(passage));
            }
            let mut best = Vec::new();
            let mut asked = limit.saturating_add(limit / 4);
            loop {
                let by_score = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
                let rest = if asked < found.len() {
                    found.select_nth_unstable_by(asked, by_score);
                    found.split_off(asked)
                } else {
                    Vec::new()
                };
                found.sort_unstable_by(by_score);
                for (document, score) in found {
                    if best.len() < limit && holds(document)? {
                        best.push((document, score));
                    }
                }
                if best.len() >= limit || rest.is_empty() {
                    break;
                }
                found = rest;
                asked = asked.saturating_mul(4);
            }
            // Documents that may not be found can have pushed out others that may.
            if complete || best.len() >= limit {
                return Ok(best);
            }
        }
        Ok(Vec::new())
    }

    /// All documents with a score, or at least the best `limit` of them; whether it is all.
    fn accumulate(&self, limit: usize) -> (Vec<(u32, f32)>, bool) {
        let n = self.lengths.words.len();
        let mut order: Vec<usize> = (0..self.groups.len()).filter(|group| self.idf[*group] > 0.0).collect();
        order.sort_by(|a, b| self.idf[*b].total_cmp(&self.idf[*a]).then(a.cmp(b)));
        let mut left: f32 = order.iter().map(|group| self.idf[*group] * (K1 + 1.0)).sum();
        let mut scores = vec![0f32; n];
        let mut frequency = Vec::new();
        let mut found: Vec<u32> = Vec::new();
        let mut complete = true;
        for group in order {
            let (idf, group) = (self.idf[group], &self.groups[group]);
            if complete && group.len() > found.len() && found.len() >= limit {
                complete = nth_best(&scores, &found, limit) <= left;
            }
            left -= idf * (K1 + 1.0);
            let gain = |document: u32, frequency: f32| idf * saturated(frequency, self.lengths.norm(document));
            if !complete && found_is_shorter(group, found.len()) {
                for &document in &found {
                    let frequency = group.occurrences(document);
                    if frequency > 0.0 {
                        scores[document as usize] += gain(document, frequency);
                    }
                }
                continue;
            }
            let mut add = |document: u32, frequency: f32| {
                let Some(score) = scores.get_mut(document as usize) else { return };
                if *score == 0.0 {
                    if !complete {
                        return;
                    }
                    found.push(document);
                }
                *score += gain(document, frequency);
            };
            if let [(postings, weight)] = group.terms.as_slice() {
                postings.documents.iter().for_each(|&(document, count)| add(document, weight * count));
            } else {
                merged(&group.terms, n, &mut frequency, add);
            }
        }
        let scored = found.into_iter().map(|document| (document, scores[document as usize])).collect();
        (scored, complete)
    }
}

fn saturated(frequency: f32, norm: f32) -> f32 {
    frequency * (K1 + 1.0) / (frequency + norm)
}

/// The `limit`-th best score of the documents found.
fn nth_best(scores: &[f32], found: &[u32], limit: usize) -> f32 {
    let mut values: Vec<f32> = found.iter().map(|document| scores[*document as usize]).collect();
    let place = limit.min(values.len()) - 1;
    *values.select_nth_unstable_by(place, |a, b| b.total_cmp(a)).1
}

/// Whether looking up each document found takes fewer steps than reading the group's lists.
fn found_is_shorter(group: &Group, found: usize) -> bool {
    let steps: usize = group.terms.iter().map(|(postings, _)| postings.documents.len().max(2).ilog2() as usize).sum();
    found.saturating_mul(steps) < group.len()
}

/// Calls `each` with every document of several lists and its occurrences in all of them.
fn merged(terms: &[(Arc<Postings>, f32)], n: usize, sums: &mut Vec<f32>, mut each: impl FnMut(u32, f32)) {
    sums.resize(n, 0.0);
    let mut touched = Vec::new();
    for (postings, weight) in terms {
        for &(document, count) in &postings.documents {
            let Some(sum) = sums.get_mut(document as usize) else { continue };
            if *sum == 0.0 {
                touched.push(document);
            }
            *sum += weight * count;
        }
    }
    for document in touched {
        each(document, std::mem::take(&mut sums[document as usize]));
    }
}

/// For each of `documents` the number of the chunk that holds most of the query's weight; 0 when only its title does.
pub fn best_chunks(groups: &[Group], idf: &[f32], documents: &[u32]) -> Vec<u32> {
    let best = |document: &u32| {
        // The earlier chunk wins a tie.
        let by_score = |a: &(u32, (f32, f32)), b: &(u32, (f32, f32))| a.1.0.total_cmp(&b.1.0).then(b.0.cmp(&a.0));
        by_chunk(groups, idf, *document).into_iter().max_by(by_score).map_or(0, |(chunk, _)| chunk)
    };
    documents.iter().map(best).collect()
}

/// The chunks of a document that hold something of the query: their score, as if each were a document of mean length, and the worth
/// of the words in it.
fn by_chunk(groups: &[Group], idf: &[f32], document: u32) -> HashMap<u32, (f32, f32)> {
    let mut chunks: HashMap<u32, (f32, f32)> = HashMap::new();
    for (group, idf) in groups.iter().zip(idf) {
        for (chunk, frequency) in group.by_chunk(document) {
            let (score, held) = chunks.entry(chunk).or_default();
            *score += idf * saturated(frequency, K1);
            *held += idf;
        }
    }
    chunks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn postings(documents: &[(u32, f32)]) -> Arc<Postings> {
        let chunks = documents.iter().map(|&(document, occurrences)| (document, 0, occurrences)).collect();
        Arc::new(Postings { documents: documents.to_vec(), chunks })
    }

    fn word(documents: &[(u32, f32)]) -> Group {
        Group { terms: vec![(postings(documents), 1.0)], boost: 1.0, is_needed: true }
    }

    const LENGTHS: Lengths<'_> = Lengths { words: &[100, 100, 100, 400], mean: 175.0 };

    fn top(groups: &[Group], lengths: Lengths<'_>, limit: usize) -> Vec<(u32, f32)> {
        Scorer::new(groups, lengths).top(limit, |_| Ok::<_, ()>(true)).unwrap()
    }

    fn order(groups: &[Group]) -> Vec<u32> {
        top(groups, LENGTHS, 10).into_iter().map(|(document, _)| document).collect()
    }

    #[test]
    fn a_passage_of_a_long_document_counts_nearly_as_much_as_a_document_of_its_own() {
        let postings = |documents: &[(u32, f32)], chunks: &[(u32, u32, f32)]| Group {
            terms: vec![(Arc::new(Postings { documents: documents.to_vec(), chunks: chunks.to_vec() }), 1.0)],
            boost: 1.0,
            is_needed: true,
        };
        // The first document is a journal: chunk 7 holds both words, chunks 1 and 9 one each. The second is about both,
        // the third holds one.
        let groups = [
            postings(&[(0, 2.0), (1, 1.0), (2, 1.0)], &[(0, 1, 1.0), (0, 7, 1.0), (1, 0, 1.0), (2, 0, 1.0)]),
            postings(&[(0, 2.0), (1, 1.0)], &[(0, 7, 1.0), (0, 9, 1.0), (1, 0, 1.0)]),
        ];
        let lengths = Lengths { words: &[90_000, 100, 100, 100, 100], mean: 100.0 };
        let places: Vec<u32> = top(&groups, lengths, 10).into_iter().map(|(document, _)| document).collect();
        assert_eq!(places, [1, 0, 2]);
        let scorer = Scorer::new(&groups, lengths);
        assert_eq!(scorer.scored(0).coverage, 1.0);
        // Words that stand far apart in it are no passage about both.
        let apart = [
            postings(&[(0, 1.0), (1, 1.0)], &[(0, 1, 1.0), (1, 0, 1.0)]),
            postings(&[(0, 1.0), (1, 1.0)], &[(0, 9, 1.0), (1, 0, 1.0)]),
        ];
        assert!(Scorer::new(&apart, lengths).scored(0).coverage < 0.6);
    }

    #[test]
    fn one_word_scores_as_the_formula_says() {
        let groups = [word(&[(0, 2.0)])];
        let scorer = Scorer::new(&groups, LENGTHS);
        let idf = (1.0f32 + 3.5 / 1.5).ln();
        let norm = 1.2 * (0.25 + 0.75 * 100.0 / 175.0);
        let expected = idf * 2.0 * 2.2 / (2.0 + norm);
        assert!((top(&groups, LENGTHS, 10)[0].1 - expected).abs() < 1e-6);
        let scored = scorer.scored(0);
        assert!((scored.score - expected).abs() < 1e-6);
        assert!((scored.share - expected / (idf * 2.2)).abs() < 1e-6);
        assert!((scored.coverage - 1.0).abs() < 1e-6);
        assert_eq!(scorer.scored(1), Scored::default());
    }

    #[test]
    fn a_document_with_both_words_beats_one_with_either() {
        assert_eq!(order(&[word(&[(0, 1.0), (1, 3.0)]), word(&[(0, 1.0), (2, 3.0)])])[0], 0);
    }

    #[test]
    fn a_long_document_needs_more_occurrences() {
        assert_eq!(order(&[word(&[(0, 1.0), (3, 1.0)])]), [0, 3]);
    }

    #[test]
    fn forms_of_a_word_add_up_and_count_as_one_word() {
        let terms = vec![(postings(&[(0, 1.0)]), 1.0), (postings(&[(0, 1.0), (1, 1.0)]), 0.5)];
        let groups = [Group { terms, boost: 1.0, is_needed: true }];
        let (norm, idf) = (1.2 * (0.25 + 0.75 * 100.0 / 175.0), idf(4, 2.0));
        let expected = idf * 1.5 * 2.2 / (1.5 + norm);
        assert!((top(&groups, LENGTHS, 10)[0].1 - expected).abs() < 1e-6);
        assert!((Scorer::new(&groups, LENGTHS).scored(0).score - expected).abs() < 1e-6);
    }

    #[test]
    fn a_word_that_nobody_has_leaves_the_order_and_lowers_the_share() {
        let nobody = |is_needed| Group { terms: Vec::new(), boost: 1.0, is_needed };
        let known = [word(&[(0, 1.0)])];
        let more = [word(&[(0, 1.0)]), nobody(true)];
        let aside = [word(&[(0, 1.0)]), nobody(false)];
        assert_eq!(top(&known, LENGTHS, 10), top(&more, LENGTHS, 10));
        let share = |groups: &[Group]| Scorer::new(groups, LENGTHS).scored(0).share;
        assert!(share(&more) < share(&known) / 2.0);
        assert_eq!(share(&aside), share(&known));
        assert!(Scorer::new(&more, LENGTHS).unknown() > 0.5);
        assert_eq!(Scorer::new(&known, LENGTHS).unknown(), 0.0);
    }

    #[test]
    fn documents_that_may_not_be_found_do_not_push_out_others() {
        let rare: Vec<(u32, f32)> = (0..50).map(|document| (document, 3.0)).collect();
        let common: Vec<(u32, f32)> = (0..400).map(|document| (document, 1.0)).collect();
        let groups = [word(&rare), word(&common)];
        let words = vec![100; 1000];
        let scorer = Scorer::new(&groups, Lengths { words: &words, mean: 100.0 });
        let found = scorer.top(10, |document| Ok::<_, ()>(document >= 100)).unwrap();
        assert_eq!(found.iter().map(|entry| entry.0).collect::<Vec<_>>(), (100..110).collect::<Vec<_>>());
    }

    fn corpus() -> impl Strategy<Value = (Vec<Group>, Vec<u32>)> {
        let list = prop::collection::btree_map(0u32..200, 1u8..4, 0..200);
        let group = prop::collection::vec((list, prop::sample::select(vec![1.0f32, 0.5, 0.25])), 1..3);
        let groups = prop::collection::vec(group, 1..5).prop_map(|groups| {
            let group = |terms: Vec<(std::collections::BTreeMap<u32, u8>, f32)>| Group {
                terms: terms
                    .into_iter()
                    .map(|(list, weight)| {
                        let list: Vec<_> =
                            list.into_iter().map(|(document, count)| (document, f32::from(count))).collect();
                        (postings(&list), weight)
                    })
                    .collect(),
                boost: 1.0,
                is_needed: true,
            };
            groups.into_iter().map(group).collect()
        });
        (groups, prop::collection::vec(prop_oneof![9 => 40u32..400, 1 => 1_200u32..90_000], 200))
    }

    proptest! {
        #[test]
        fn leaving_out_what_cannot_matter_changes_no_place((groups, words) in corpus(), limit in 1usize..20) {
            let lengths = Lengths { words: &words, mean: 150.0 };
            let scorer = Scorer::new(&groups, lengths);
            let mut all: Vec<(u32, f32)> = (0..200).map(|document| (document, scorer.scored(document).score)).collect();
            all.retain(|entry| entry.1 > 0.0);
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let found = top(&groups, lengths, limit);
            prop_assert_eq!(found.len(), limit.min(all.len()));
            for (found, expected) in found.iter().zip(&all) {
                // Sums in another order differ in their last bits.
                prop_assert!((found.1 - expected.1).abs() <= 1e-4 * expected.1);
            }
        }
    }

    #[test]
    fn the_chunk_with_most_of_the_query_is_the_best() {
        let group = |chunks: &[(u32, u32, f32)]| Group {
            terms: vec![(Arc::new(Postings { documents: vec![(0, 1.0)], chunks: chunks.to_vec() }), 1.0)],
            boost: 1.0,
            is_needed: true,
        };
        let groups = [group(&[(0, 0, 5.0), (0, 2, 1.0)]), group(&[(0, 2, 1.0)])];
        assert_eq!(best_chunks(&groups, &[1.0, 1.0], &[0]), [2]);
        assert_eq!(best_chunks(&[group(&[])], &[1.0], &[0]), [0]);
    }
}
