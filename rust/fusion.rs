//! Several rankings become one list. Numbers only: no database, no text.

use std::collections::HashMap;

/// The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).
pub const RRF_K: f64 = 60.0;

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
