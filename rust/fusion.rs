//! What two retrievers found becomes one list: by ranks alone, or by how much of what is possible each of them saw in a
//! note. Numbers only: no database, no text. `docs/adr/0010-fusion.md` has the measurements.

use std::collections::HashMap;

use crate::{bm25::Scored, query::Wording, vector::dot};

/// The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).
pub const RRF_K: f64 = 60.0;

/// How lists become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fusion {
    /// A weighted mean of shares ([`Weights`]).
    #[default]
    Share,
    /// Reciprocal ranks, k = 60.
    Rrf,
}

impl Fusion {
    /// The word that people use for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Rrf => "rrf",
        }
    }

    /// The fusion that [`as_str`](Self::as_str) spells `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Share, Self::Rrf].into_iter().find(|fusion| fusion.as_str() == word)
    }
}

/// The text leg's weight in a query that says in words of its own what it looks for: the note may say it in others. The
/// vector leg has the rest.
const DESCRIBED: f64 = 0.3;
/// The same in a query of names, numbers, phrases or a few words: what it looks for is written so.
const NAMED: f64 = 0.55;
/// With this trust or more a description is left to its meaning as far as it can be.
const READ_WELL: f64 = 0.5;
/// How fast an embedding that is near to everything loses its weight.
const GENERIC: i32 = 3;
/// How fast an embedding of words that its model hardly knows loses its weight.
const FLUENCY: f64 = 0.75;
/// With this text share in the best note a query names what it looks for, however it looks: its words stand there.
const STANDS_THERE: f64 = 0.5;
/// So many notes hold the words of any description by chance.
const SHARED_BY: usize = 10;
/// How much of what the next note holds is taken from all.
const SHARED: f64 = 0.7;
/// A note without a vector has this part of its text share: what notes with the same words usually have.
const UNSEEN: f64 = 0.5;

/// What a cosine of one query's embedding means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Meaning {
    /// Cosine that the model gives to texts which have nothing to do with each other.
    pub floor: f64,
    /// Mean cosine of the query to the passages of the library.
    pub background: f64,
    /// How well the model's vocabulary covers the query, in [0, 1].
    pub fluency: f64,
    /// Whether the query names what it looks for.
    pub wording: Wording,
}

impl Meaning {
    /// A cosine as a share of what is possible, in [0, 1].
    pub fn share(&self, cosine: f64) -> f64 {
        ((cosine - self.floor) / (1.0 - self.floor).max(f64::EPSILON)).clamp(0.0, 1.0)
    }

    /// The same, given the largest text share of all notes: where the words were found together, they are what was meant, and
    /// no note that is only near in meaning may bury that one.
    pub fn with_best_words(self, text_share: f64) -> Self {
        let wording = if text_share >= STANDS_THERE { Wording::Named } else { self.wording };
        Self { wording, ..self }
    }

    /// How the two legs weigh. An embedding that is near to all passages alike says little about any of them, and so does
    /// one whose words the model does not know: a query in a language it never learned is both.
    pub fn weights(&self) -> Weights {
        let text = NAMED - (NAMED - DESCRIBED) * self.description();
        Weights { text, vector: (1.0 - text) * self.trust() }
    }

    /// How far the query is a description that the embedding can answer, in [0, 1]: 0 for names, and less than 1 where the
    /// model reads it badly, because then words are all there is.
    pub fn description(&self) -> f64 {
        match self.wording {
            Wording::Described => (self.trust() / READ_WELL).min(1.0),
            Wording::Named => 0.0,
        }
    }

    /// How far the embedding says what the query means, in [0, 1].
    pub fn trust(&self) -> f64 {
        (1.0 - self.share(self.background)).powi(GENERIC) * self.fluency.clamp(0.0, 1.0).powf(FLUENCY)
    }
}

/// What the legs' shares are multiplied with. They need not add up to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Of the text leg.
    pub text: f64,
    /// Of the vector leg.
    pub vector: f64,
}

impl Weights {
    /// The weighted mean of a note's shares, in [0, 1]. `vector` is None for a note that has no embedding yet.
    pub fn mean(&self, text: f64, vector: Option<f64>) -> f64 {
        let vector = vector.unwrap_or(text * UNSEEN);
        (self.text * text + self.vector * vector) / (self.text + self.vector).max(f64::EPSILON)
    }
}

/// How much a document holds of what a query's words could give, in [0, 1].
///
/// BM25 over its bound, times the root of the share of words that are there at all: a note that has half the words often
/// is not what a note is that has them all once. Without the root, notes that match only the common words of a question
/// bury what its meaning found.
pub fn text_share(scored: &Scored) -> f64 {
    f64::from(scored.share) * f64::from(scored.coverage).sqrt()
}

/// What of a text share says nothing, given those of all notes: when more than a few hold as much of a description, it lies
/// in its common words. Names are looked for because they stand there, in however many notes.
///
/// `description` is [`Meaning::description`].
pub fn shared_by_many(mut shares: Vec<f64>, description: f64) -> f64 {
    if description <= 0.0 || shares.len() <= SHARED_BY {
        return 0.0;
    }
    let (_, next, _) = shares.select_nth_unstable_by(SHARED_BY, |a, b| b.total_cmp(a));
    SHARED * description * *next
}

/// Notes that lend each other: those at the top of the list.
pub const NEIGHBOURHOOD: usize = 30;
/// Neighbours that count.
const NEIGHBOURS: usize = 5;
/// What the neighbours' mean weighs beside a note's own score.
const NEIGHBOUR_WEIGHT: f64 = 0.3;

/// Scores of notes after each was moved a little towards those that are near to it in meaning: what answers a question
/// tends to stand together (score regularization: Diaz, CIKM 2005).
///
/// Near is what is nearer than a middling pair of the list, because notes that answer one question are all somewhat alike.
/// `vectors` are unit vectors, one for each score; an empty one has no neighbours.
pub fn with_neighbours(scores: &[f64], vectors: &[Vec<f32>]) -> Vec<f64> {
    let n = scores.len().min(vectors.len());
    let mut cosines = vec![0.0; n * n];
    let mut pairs = Vec::with_capacity(n * n / 2);
    for (a, b) in (0..n).flat_map(|a| (0..a).map(move |b| (a, b))) {
        if vectors[a].is_empty() || vectors[b].is_empty() {
            continue;
        }
        let cosine = dot(&vectors[a], &vectors[b]);
        (cosines[a * n + b], cosines[b * n + a]) = (cosine, cosine);
        pairs.push(cosine);
    }
    let middling = median(&mut pairs).max(0.0);
    let moved = |(place, own): (usize, &f64)| {
        let row = cosines.get(place * n..(place + 1) * n).unwrap_or_default();
        let mut near: Vec<(f64, f64)> = row
            .iter()
            .zip(scores)
            .map(|(cosine, score)| (cosine - middling, *score))
            .filter(|(nearness, _)| *nearness > 0.0)
            .collect();
        near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
        near.truncate(NEIGHBOURS);
        let weight: f64 = near.iter().map(|(nearness, _)| nearness).sum();
        let mean = near.iter().map(|(nearness, score)| nearness * score).sum::<f64>() / weight;
        if weight > 0.0 { (1.0 - NEIGHBOUR_WEIGHT) * own + NEIGHBOUR_WEIGHT * mean } else { *own }
    };
    scores.iter().enumerate().map(moved).collect()
}

/// The lower median; 0 of nothing.
fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = (values.len() - 1) / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// One retriever's list: documents with its own scores, best first, and how much its vote counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// Multiplies every vote of this list; not negative.
    pub weight: f64,
    /// Document and score, best first; a document that stands twice votes once, with its first place.
    pub entries: Vec<(i64, f64)>,
}

/// Ranks from 1 by score: equal scores share the rank of the first of them, and the next rank leaves the gap.
///
/// A document that stands twice keeps its first place.
pub fn ranks(entries: &[(i64, f64)]) -> HashMap<i64, usize> {
    let mut ranks = HashMap::with_capacity(entries.len());
    let (mut distinct, mut rank, mut last) = (0, 0, f64::NAN);
    for &(document, score) in entries {
        if ranks.contains_key(&document) {
            continue;
        }
        distinct += 1;
        if score.total_cmp(&last).is_ne() {
            (rank, last) = (distinct, score);
        }
        ranks.insert(document, rank);
    }
    ranks
}

/// Reciprocal rank fusion: the score of a document is the sum of `weight / (k + rank)` over the lists that hold it.
///
/// Returns documents with their scores, best first; equal scores by ascending document. The order of the lists does not
/// matter.
pub fn reciprocal_rank(rankings: &[Ranking], k: f64) -> Vec<(i64, f64)> {
    let mut votes: HashMap<i64, Vec<f64>> = HashMap::new();
    for ranking in rankings {
        for (document, rank) in ranks(&ranking.entries) {
            votes.entry(document).or_default().push(ranking.weight / (k + rank as f64));
        }
    }
    let mut fused: Vec<(i64, f64)> = votes.into_iter().map(|(document, votes)| (document, sum(votes))).collect();
    fused.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    fused
}

/// Adds smallest first, so that the sum is the same bits whatever order the lists came in.
fn sum(mut votes: Vec<f64>) -> f64 {
    votes.sort_by(f64::total_cmp);
    votes.into_iter().sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranking(entries: &[(i64, f64)]) -> Ranking {
        Ranking { weight: 1.0, entries: entries.to_vec() }
    }

    #[test]
    fn the_sum_of_reciprocal_ranks_orders_the_documents() {
        let fused = reciprocal_rank(&[ranking(&[(1, 9.0), (2, 8.0)]), ranking(&[(2, 0.5), (3, 0.4)])], RRF_K);
        assert_eq!(fused.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [2, 1, 3]);
        assert!((fused[0].1 - (1.0 / 62.0 + 1.0 / 61.0)).abs() < 1e-15);
        assert!((fused[1].1 - 1.0 / 61.0).abs() < 1e-15);
    }

    #[test]
    fn equal_scores_share_a_rank_and_leave_a_gap() {
        let ranks = ranks(&[(7, 3.0), (8, 2.0), (9, 2.0), (10, 1.0)]);
        assert_eq!([7, 8, 9, 10].map(|id| ranks[&id]), [1, 2, 2, 4]);
    }

    #[test]
    fn a_document_votes_once_in_each_list() {
        let twice = reciprocal_rank(&[ranking(&[(1, 5.0), (1, 4.0), (2, 3.0)])], RRF_K);
        let once = reciprocal_rank(&[ranking(&[(1, 5.0), (2, 3.0)])], RRF_K);
        assert_eq!(twice, once);
    }

    fn plain(background: f64, fluency: f64) -> Weights {
        Meaning { floor: 0.0, background, fluency, wording: Wording::Described }.weights()
    }

    #[test]
    fn a_query_of_names_leans_to_words() {
        let weights = |wording| Meaning { floor: 0.0, background: 0.1, fluency: 1.0, wording }.weights();
        let (named, described) = (weights(Wording::Named), weights(Wording::Described));
        assert!(named.text > described.text && named.vector < described.vector);
    }

    #[test]
    fn what_many_notes_hold_of_a_description_says_nothing() {
        let shares = [vec![0.5, 0.3], vec![0.2; 12]].concat();
        let common = shared_by_many(shares.clone(), 1.0);
        assert!(common > 0.1 && common < 0.2);
        assert_eq!(shared_by_many(shares, 0.0), 0.0);
        assert_eq!(shared_by_many(vec![0.2; 10], 1.0), 0.0);
    }

    #[test]
    fn a_cosine_is_a_share_of_what_lies_above_the_models_floor() {
        let meaning = Meaning { floor: 0.7, background: 0.7, fluency: 1.0, wording: Wording::Described };
        assert!((meaning.share(0.85) - 0.5).abs() < 1e-12);
        assert_eq!(meaning.share(0.6), 0.0);
        assert!((meaning.share(1.0) - 1.0).abs() < 1e-12);
        assert_eq!(meaning.weights(), plain(0.0, 1.0));
    }

    #[test]
    fn an_embedding_that_is_near_to_everything_or_hardly_read_weighs_less() {
        let all = plain(0.0, 1.0);
        assert!(all.vector > plain(0.2, 1.0).vector && plain(0.2, 1.0).vector > plain(0.5, 1.0).vector);
        assert!(all.vector > plain(0.0, 0.5).vector);
        assert_eq!(plain(0.0, 0.0).vector, 0.0);
    }

    #[test]
    fn a_description_that_the_model_hardly_reads_leans_to_words() {
        assert_eq!(plain(0.0, 1.0).text, plain(0.1, 1.0).text);
        assert!(plain(0.5, 0.1).text > plain(0.1, 1.0).text);
        assert!((plain(0.0, 0.0).text - NAMED).abs() < 1e-12);
    }

    #[test]
    fn the_words_of_a_question_that_match_common_words_do_not_bury_what_its_meaning_found() {
        // A note that holds two common words of eight, against one that says the same in other words.
        let words = text_share(&Scored { score: 3.0, share: 0.2, coverage: 0.25 });
        assert!(plain(0.05, 1.0).mean(words, Some(0.1)) < plain(0.05, 1.0).mean(0.0, Some(0.35)));
    }

    #[test]
    fn a_note_with_every_word_is_not_buried_by_notes_that_are_vaguely_near() {
        let words = text_share(&Scored { score: 20.0, share: 0.7, coverage: 1.0 });
        for wording in [Wording::Described, Wording::Named] {
            let meaning = Meaning { floor: 0.0, background: 0.05, fluency: 1.0, wording };
            let weights = meaning.with_best_words(words).weights();
            assert!(weights.mean(words, Some(0.15)) > weights.mean(0.05, Some(0.55)));
            assert!(weights.mean(words, None) > weights.mean(0.05, Some(0.55)));
        }
    }

    #[test]
    fn a_note_between_good_ones_is_lifted_and_one_apart_is_not() {
        let along = |x: f32| vec![x, (1.0 - x * x).sqrt()];
        let vectors = [along(1.0), along(0.98), along(0.95), along(0.0), Vec::new()];
        let moved = with_neighbours(&[0.8, 0.7, 0.4, 0.4, 0.4], &vectors);
        assert!(moved[2] > 0.4 && moved[2] > moved[3]);
        assert_eq!(moved[4], 0.4);
        assert_eq!(with_neighbours(&[0.5], &[along(1.0)]), [0.5]);
    }

    fn lists() -> impl Strategy<Value = Vec<Ranking>> {
        let entries = prop::collection::vec((0i64..30, 0u8..6), 0..20).prop_map(|mut entries| {
            entries.sort_by_key(|&(_, score)| std::cmp::Reverse(score));
            entries.into_iter().map(|(id, score)| (id, f64::from(score))).collect::<Vec<_>>()
        });
        prop::collection::vec((entries, 1u8..4), 0..6).prop_map(|lists| {
            lists.into_iter().map(|(entries, weight)| Ranking { weight: f64::from(weight), entries }).collect()
        })
    }

    proptest! {
        #[test]
        fn the_order_of_the_lists_changes_nothing(lists in lists(), turn in 0usize..6) {
            let mut turned = lists.clone();
            if !turned.is_empty() {
                let places = turn % turned.len();
                turned.rotate_left(places);
            }
            prop_assert_eq!(reciprocal_rank(&lists, RRF_K), reciprocal_rank(&turned, RRF_K));
        }

        #[test]
        fn every_listed_document_comes_out_once(lists in lists()) {
            let fused = reciprocal_rank(&lists, RRF_K);
            let listed: std::collections::BTreeSet<i64> =
                lists.iter().flat_map(|list| list.entries.iter().map(|entry| entry.0)).collect();
            let mut out: Vec<i64> = fused.iter().map(|entry| entry.0).collect();
            out.sort_unstable();
            prop_assert_eq!(out, listed.into_iter().collect::<Vec<_>>());
            prop_assert!(fused.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        }
    }
}
