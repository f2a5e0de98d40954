//! BM25 over whole documents: how often words stand where -> a score for each document. Numbers only.
//!
//! Occurrences in several fields are weighted and added before they are saturated (BM25F: Robertson, Zaragoza and Taylor,
//! CIKM 2004), and the forms of one word count as one word. Where the numbers come from is `lexical`'s business.

use std::sync::Arc;

/// Saturation of repeated words; FTS5's constant.
pub const K1: f32 = 1.2;
/// How much a document's length counts; FTS5's constant.
pub const B: f32 = 0.75;

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
}

/// One word of a query: the terms that stand for it, each with how much an occurrence counts.
#[derive(Debug, Default)]
pub struct Group {
    /// Postings and weight; weight 1 for the word itself.
    pub terms: Vec<(Arc<Postings>, f32)>,
    /// Multiplies what the word adds to a score; 1 for a word that a person typed.
    pub boost: f32,
}

/// What BM25 knows of all documents.
#[derive(Debug, Clone, Copy)]
pub struct Lengths<'a> {
    /// Words of each document, by its place in the corpus.
    pub words: &'a [u32],
    /// Their mean, above 0.
    pub mean: f32,
}

impl Lengths<'_> {
    fn norm(&self, document: u32) -> f32 {
        let words = self.words.get(document as usize).copied().unwrap_or(0) as f32;
        K1 * (1.0 - B + B * words / self.mean)
    }
}

/// Inverse document frequency, never negative: `ln(1 + (n - df + 0.5) / (df + 0.5))`.
pub fn idf(documents: usize, document_frequency: f32) -> f32 {
    let (n, df) = (documents as f32, document_frequency.min(documents as f32));
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

/// A scored list, and what the best possible document could have.
#[derive(Debug, Default)]
pub struct Scored {
    /// Place of the document and its score, best first; equal scores by place.
    pub documents: Vec<(u32, f32)>,
    /// Score of a document that holds every word of the query infinitely often.
    pub bound: f32,
    /// The idf of each group, in the order of the groups.
    pub idf: Vec<f32>,
}

/// Scores every document that holds a word of the query.
pub fn score(groups: &[Group], lengths: &Lengths<'_>) -> Scored {
    let n = lengths.words.len();
    let mut scores = vec![0f32; n];
    let mut frequency = vec![0f32; n];
    let mut touched: Vec<u32> = Vec::new();
    let mut found: Vec<u32> = Vec::new();
    let mut result = Scored::default();
    for group in groups {
        touched.clear();
        let mut document_frequency = 0.0;
        for (postings, weight) in &group.terms {
            // A rare form adds little to how common the word is; it never makes it rarer than its own documents.
            document_frequency += weight * postings.documents.len() as f32;
            for &(document, occurrences) in &postings.documents {
                let Some(sum) = frequency.get_mut(document as usize) else { continue };
                if *sum == 0.0 {
                    touched.push(document);
                }
                *sum += weight * occurrences;
            }
        }
        // A word that no document holds counts as one that half of them hold: it says little about what is missing.
        let unknown = touched.is_empty();
        let idf = idf(n, if unknown { n as f32 / 2.0 } else { document_frequency }) * group.boost;
        result.idf.push(if unknown { 0.0 } else { idf });
        result.bound += idf * (K1 + 1.0);
        for &document in &touched {
            let place = document as usize;
            let tf = frequency[place];
            frequency[place] = 0.0;
            if scores[place] == 0.0 {
                found.push(document);
            }
            scores[place] += idf * tf * (K1 + 1.0) / (tf + lengths.norm(document));
        }
    }
    result.documents = found.into_iter().map(|document| (document, scores[document as usize])).collect();
    result.documents.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    result
}

/// For each of `documents` the number of the chunk that holds most of the query's weight; 0 when only its title does.
pub fn best_chunks(groups: &[Group], idf: &[f32], documents: &[u32]) -> Vec<u32> {
    let mut best = Vec::with_capacity(documents.len());
    let mut chunks: std::collections::HashMap<u32, f32> = std::collections::HashMap::new();
    for &document in documents {
        chunks.clear();
        for (group, idf) in groups.iter().zip(idf) {
            let mut frequency: Vec<(u32, f32)> = Vec::new();
            for (postings, weight) in &group.terms {
                let from = postings.chunks.partition_point(|entry| entry.0 < document);
                let here = postings.chunks[from..].iter().take_while(|entry| entry.0 == document);
                frequency.extend(here.map(|&(_, chunk, occurrences)| (chunk, weight * occurrences)));
            }
            frequency.sort_unstable_by_key(|entry| entry.0);
            for run in frequency.chunk_by(|a, b| a.0 == b.0) {
                let tf: f32 = run.iter().map(|entry| entry.1).sum();
                *chunks.entry(run[0].0).or_default() += idf * tf / (tf + K1);
            }
        }
        // The earlier chunk wins a tie.
        let top = chunks.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
        best.push(top.map_or(0, |(chunk, _)| *chunk));
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn postings(documents: &[(u32, f32)]) -> Arc<Postings> {
        let chunks = documents.iter().map(|&(document, occurrences)| (document, 0, occurrences)).collect();
        Arc::new(Postings { documents: documents.to_vec(), chunks })
    }

    fn word(documents: &[(u32, f32)]) -> Group {
        Group { terms: vec![(postings(documents), 1.0)], boost: 1.0 }
    }

    const LENGTHS: Lengths<'_> = Lengths { words: &[100, 100, 100, 400], mean: 175.0 };

    fn order(groups: &[Group]) -> Vec<u32> {
        score(groups, &LENGTHS).documents.into_iter().map(|(document, _)| document).collect()
    }

    #[test]
    fn one_word_scores_as_the_formula_says() {
        let scored = score(&[word(&[(0, 2.0)])], &LENGTHS);
        let idf = (1.0f32 + 3.5 / 1.5).ln();
        let norm = 1.2 * (0.25 + 0.75 * 100.0 / 175.0);
        assert!((scored.documents[0].1 - idf * 2.0 * 2.2 / (2.0 + norm)).abs() < 1e-6);
        assert!((scored.bound - idf * 2.2).abs() < 1e-6);
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
        let group =
            Group { terms: vec![(postings(&[(0, 1.0)]), 1.0), (postings(&[(0, 1.0), (1, 1.0)]), 0.5)], boost: 1.0 };
        let scored = score(&[group], &LENGTHS);
        let (norm, idf) = (1.2 * (0.25 + 0.75 * 100.0 / 175.0), idf(4, 2.0));
        assert!((scored.documents[0].1 - idf * 1.5 * 2.2 / (1.5 + norm)).abs() < 1e-6);
    }

    #[test]
    fn a_word_that_nobody_has_counts_into_the_bound_only() {
        let known = score(&[word(&[(0, 1.0)])], &LENGTHS);
        let more = score(&[word(&[(0, 1.0)]), Group { terms: Vec::new(), boost: 1.0 }], &LENGTHS);
        assert_eq!(known.documents, more.documents);
        assert!(more.bound > known.bound);
    }

    #[test]
    fn the_chunk_with_most_of_the_query_is_the_best() {
        let group = |chunks: &[(u32, u32, f32)]| Group {
            terms: vec![(Arc::new(Postings { documents: vec![(0, 1.0)], chunks: chunks.to_vec() }), 1.0)],
            boost: 1.0,
        };
        let groups = [group(&[(0, 0, 5.0), (0, 2, 1.0)]), group(&[(0, 2, 1.0)])];
        assert_eq!(best_chunks(&groups, &[1.0, 1.0], &[0]), [2]);
        assert_eq!(best_chunks(&[group(&[])], &[1.0], &[0]), [0]);
    }
}
