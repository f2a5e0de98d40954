//! How likely a note is an answer, from what the legs saw of it; and whether anything was seen at all. Numbers only.
//!
//! The coefficients are a logistic regression over the first ten notes of every query of eleven collections (known items of
//! a public vault, abstracts, news, turns and sessions of conversations, paragraphs in five languages), each collection
//! counting the same but the five translations of one a third. `docs/adr/0010-fusion.md` has its calibration.

/// What speaks for one note.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// What the list is ordered by, at least 0.
    pub score: f64,
    /// What the text leg saw of what is possible; None when it was not asked.
    pub text: Option<f64>,
    /// What the vector leg saw above chance ([`excess`]); None when it was not asked.
    pub vector: Option<f64>,
}

/// How far cosines of a query to passages that have nothing to do with it spread, as a share of what is possible: measured
/// with twenty queries about other things on six collections.
const SPREAD: f64 = 0.075;
/// The best note's share, weighed by how far its embedding can be trusted, must reach this part of what chance gives.
const EVIDENT: f64 = 0.8;
/// A corrected word is evidence when the best note has this share of the query then.
const CORRECTED: f64 = 0.25;
/// With less than these shares nothing is certain, however far the note is ahead of the others.
const LITTLE_TEXT: f64 = 0.15;
const LITTLE_VECTOR: f64 = 0.05;
/// Places of the list that say what a note scores which is no answer.
const BACKGROUND: std::ops::Range<usize> = 10..30;
/// With fewer notes none of them is background.
const MIN_NOTES: usize = 13;

/// Weights of a note's text share, its vector share above chance and its lead; and the constant.
type Fit = [f64; 4];
const HYBRID: Fit = [1.09, 6.05, 5.46, -3.81];
const TEXT: Fit = [2.77, 0.0, 4.51, -4.0];
const VECTOR: Fit = [0.0, 7.99, 4.78, -3.45];

/// The best share that chance alone gives among so many passages: the expected maximum of normal noise.
pub fn chance(chunks: usize) -> f64 {
    SPREAD * (2.0 * (chunks.max(2) as f64).ln()).sqrt()
}

/// What a share of the vector leg has above chance.
pub fn excess(share: f64, chunks: usize, trust: f64) -> f64 {
    (share - chance(chunks)).max(0.0) * trust
}

/// Whether the best share of the vector leg is more than what any passage has of any query.
pub fn is_evident(share: f64, chunks: usize, trust: f64) -> bool {
    share * trust >= EVIDENT * chance(chunks)
}

/// Whether what was found by corrected words alone is more than a coincidence of letters.
pub fn is_plausible(text_share: f64) -> bool {
    text_share >= CORRECTED
}

/// How likely each note of a list is an answer, in [0, 1]; `list` is best first.
///
/// Beside its shares counts how far a note is ahead of the list's middle, because a query with an answer has few.
pub fn confidences(list: &[Evidence]) -> Vec<f64> {
    let best = list.first().map_or(0.0, |first| first.score).max(f64::EPSILON);
    let background = background(list);
    list.iter().map(|evidence| confidence(evidence, (evidence.score - background) / best)).collect()
}

/// The median score of the notes that are far enough down to be no answers.
fn background(list: &[Evidence]) -> f64 {
    if list.len() < MIN_NOTES {
        return 0.0;
    }
    let mut scores: Vec<f64> =
        list[BACKGROUND.start..list.len().min(BACKGROUND.end)].iter().map(|evidence| evidence.score).collect();
    scores.sort_unstable_by(f64::total_cmp);
    (scores[(scores.len() - 1) / 2] + scores[scores.len() / 2]) / 2.0
}

fn confidence(evidence: &Evidence, lead: f64) -> f64 {
    let fit = match (evidence.text, evidence.vector) {
        (Some(_), Some(_)) => HYBRID,
        (Some(_), None) => TEXT,
        _ => VECTOR,
    };
    let (text, vector) = (evidence.text.unwrap_or(0.0), evidence.vector.unwrap_or(0.0));
    let logit = fit[0] * text + fit[1] * vector + fit[2] * lead + fit[3];
    let seen = (text / LITTLE_TEXT + vector / LITTLE_VECTOR).min(1.0);
    seen / (1.0 + (-logit).exp())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(score: f64, text: f64, vector: f64) -> Evidence {
        Evidence { score, text: Some(text), vector: Some(vector) }
    }

    #[test]
    fn a_note_far_ahead_is_likelier_than_one_among_equals() {
        let mut ahead = vec![seen(0.6, 0.5, 0.2)];
        ahead.extend(vec![seen(0.2, 0.1, 0.0); 30]);
        let among = vec![seen(0.6, 0.5, 0.2); 31];
        let (ahead, among) = (confidences(&ahead), confidences(&among));
        assert!(ahead[0] > 0.7 && among[0] < 0.3);
        assert!(ahead[1] < 0.1);
    }

    #[test]
    fn a_note_of_which_nothing_was_seen_is_no_answer_even_alone() {
        assert_eq!(confidences(&[seen(0.05, 0.0, 0.0)]), [0.0]);
        assert!(confidences(&[seen(0.9, 0.8, 0.5)])[0] > 0.9);
        assert!(confidences(&[]).is_empty());
    }

    #[test]
    fn nonsense_that_the_model_hardly_reads_is_not_evident() {
        assert!(!is_evident(0.3, 4000, 0.4));
        assert!(is_evident(0.3, 4000, 1.0));
        assert!(chance(10) < chance(100_000) && chance(0).is_finite());
    }

    proptest! {
        #[test]
        fn a_confidence_lies_between_0_and_1_and_falls_with_the_list(
            scores in prop::collection::vec(0f64..1.0, 0..60), text in prop::option::of(0f64..1.0)
        ) {
            let mut scores = scores;
            scores.sort_unstable_by(|a, b| b.total_cmp(a));
            let list: Vec<Evidence> = scores.iter().map(|&score| Evidence { score, text, vector: Some(0.1) }).collect();
            let confidences = confidences(&list);
            prop_assert!(confidences.iter().all(|confidence| (0.0..=1.0).contains(confidence)));
            prop_assert!(confidences.is_sorted_by(|a, b| a >= b));
        }
    }
}
