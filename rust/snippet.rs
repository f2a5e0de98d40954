//! Where in a note the words of a query stand: matching lines, the excerpt to show, the ranges to highlight.
//!
//! Works on the original text, so every range and line number is exact in it. Which chunk is shown is decided in `search`.

use std::{collections::HashSet, ops::Range};

use crate::tokenizer::{Mode, tokenize};

/// Matching lines that are named; the rest is counted.
pub const MAX_LINE_HITS: usize = 20;
/// About this many bytes of text make an excerpt.
const EXCERPT_BYTES: usize = 240;
/// How far an excerpt's edge may move to fall between two words.
const EDGE_BYTES: usize = 24;

/// What of a note is shown for a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpt {
    /// A contiguous piece of the chunk, line breaks included; empty when the chunk is.
    pub text: String,
    /// Byte ranges of `text` that match, in order, not overlapping.
    pub highlights: Vec<Range<usize>>,
    /// The first lines of the whole note that hold a word of the query, from 1.
    pub line_hits: Vec<usize>,
    /// How many lines of the whole note hold one.
    pub total_hits: usize,
}

/// The terms of a query, as the tokenizer makes them.
#[derive(Debug, Default)]
pub struct Terms {
    whole: HashSet<String>,
    prefixes: Vec<String>,
}

impl Terms {
    /// Terms of the index, and whether longer ones that begin so are meant.
    pub fn new(terms: impl IntoIterator<Item = (String, bool)>) -> Self {
        let mut all = Self::default();
        for (term, prefix) in terms {
            if prefix {
                all.prefixes.push(term);
            } else {
                all.whole.insert(term);
            }
        }
        all
    }

    /// The words of a text as people write it, without their other forms.
    pub fn of_text(text: &str) -> Self {
        let mut terms = Vec::new();
        tokenize(text, Mode::Query, |token| terms.push((token.text.to_owned(), token.prefix)));
        Self::new(terms)
    }

    fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.prefixes.is_empty()
    }

    /// Calls `found` with the range of each match in `text` and with a number that is equal for equal terms.
    fn matches(&self, text: &str, mut found: impl FnMut(Range<usize>, u64)) {
        tokenize(text, Mode::Document, |token| {
            if self.whole.contains(token.text) || self.prefixes.iter().any(|prefix| token.text.starts_with(prefix)) {
                found(token.start..token.end, hash(token.text));
            }
        });
    }
}

/// Finds the terms in `text`, and the best excerpt of its part `chunk`: around the line with most different terms.
pub fn excerpt(text: &str, chunk: Range<usize>, terms: &Terms) -> Excerpt {
    let mut excerpt = Excerpt::default();
    let mut best: Option<(usize, usize, usize)> = None; // different terms in the line, start of its first match, its end
    let mut hits: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let lines = if terms.is_empty() { "" } else { text };
    for (index, line) in lines.split_inclusive('\n').enumerate() {
        let (mut seen, mut first) = (HashSet::new(), None);
        terms.matches(line, |range, term| {
            let range = start + range.start..start + range.end;
            if chunk.start <= range.start && range.end <= chunk.end {
                seen.insert(term);
                first.get_or_insert(range.start);
                hits.push(range);
            } else {
                seen.insert(term);
            }
        });
        if !seen.is_empty() {
            excerpt.total_hits += 1;
            if excerpt.line_hits.len() < MAX_LINE_HITS {
                excerpt.line_hits.push(index + 1);
            }
        }
        if let Some(first) = first.filter(|_| best.is_none_or(|(count, ..)| seen.len() > count)) {
            best = Some((seen.len(), first, start));
        }
        start += line.len();
    }
    let body = text.get(chunk.clone()).unwrap_or_default();
    let from = best.map_or(0, |(_, first, line)| {
        // The whole line where it fits, else a little before its first match.
        let line = line.max(chunk.start);
        let from = if first - line <= EXCERPT_BYTES / 2 { line } else { first - EXCERPT_BYTES / 4 };
        from - chunk.start
    });
    let window = window(body, from);
    excerpt.text = body[window.clone()].to_owned();
    let offset = chunk.start + window.start;
    hits.sort_by_key(|range| (range.start, range.end));
    for hit in hits.into_iter().filter(|hit| hit.start >= offset && hit.end <= offset + excerpt.text.len()) {
        let hit = hit.start - offset..hit.end - offset;
        match excerpt.highlights.last_mut() {
            Some(last) if hit.start < last.end => last.end = last.end.max(hit.end),
            _ => excerpt.highlights.push(hit),
        }
    }
    excerpt
}

/// About [`EXCERPT_BYTES`] of `body` from byte `from` on, with both ends between words where possible, without blanks around.
fn window(body: &str, from: usize) -> Range<usize> {
    let start = edge(body, from, false);
    let end = if body.len() - start <= EXCERPT_BYTES + EDGE_BYTES {
        body.len()
    } else {
        edge(body, start + EXCERPT_BYTES, true)
    };
    let text = &body[start..end];
    let blank = text.len() - text.trim_start().len();
    start + blank..start + text.trim_end().len().max(blank)
}

/// A place near `at` that cuts no word, or at least no character; forwards or backwards.
fn edge(body: &str, at: usize, forwards: bool) -> usize {
    let mut at = at.min(body.len());
    while !body.is_char_boundary(at) {
        at -= 1;
    }
    if at == 0 || at == body.len() {
        return at;
    }
    let between =
        |place: usize| body[..place].ends_with(char::is_whitespace) || body[place..].starts_with(char::is_whitespace);
    let near = |place: &usize| body.is_char_boundary(*place) && between(*place);
    let found = if forwards {
        (at..(at + EDGE_BYTES).min(body.len())).find(near)
    } else {
        (at.saturating_sub(EDGE_BYTES)..=at).rev().find(near)
    };
    found.unwrap_or_else(|| cluster_start(body, at))
}

/// The start of the grapheme cluster around `at`: combining marks, joiners and modifiers stay with what they follow.
fn cluster_start(body: &str, at: usize) -> usize {
    use unicode_segmentation::GraphemeCursor;
    let mut cursor = GraphemeCursor::new(at, body.len(), true);
    match cursor.is_boundary(body, 0) {
        Ok(true) => at,
        _ => cursor.prev_boundary(body, 0).ok().flatten().unwrap_or(at),
    }
}

fn hash(word: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str, query: &str) -> Excerpt {
        excerpt(text, 0..text.len(), &Terms::of_text(query))
    }

    fn highlighted(excerpt: &Excerpt) -> Vec<&str> {
        excerpt.highlights.iter().map(|range| &excerpt.text[range.clone()]).collect()
    }

    #[test]
    fn lines_are_those_of_the_whole_note_and_count_from_one() {
        let text = "# Bread\r\n\r\nFeed the starter.\r\nWait.\r\nStarters need flour.\r\n";
        let found = excerpt(text, 11..30, &Terms::new([("starter".to_owned(), false), ("starters".to_owned(), false)]));
        assert_eq!(found.line_hits, [3, 5]);
        assert_eq!(found.total_hits, 2);
        assert_eq!(found.text, "Feed the starter.");
        assert_eq!(highlighted(&found), ["starter"]);
    }

    #[test]
    fn words_match_without_case_and_accents_and_by_their_beginning() {
        assert_eq!(
            highlighted(&shown("Le CHÂTELIER et Cha\u{302}telier", "chatelier")),
            ["CHÂTELIER", "Cha\u{302}telier"]
        );
        let text = "engineering and engines";
        let begins = Terms::new([("engin".to_owned(), true)]);
        assert_eq!(highlighted(&excerpt(text, 0..text.len(), &begins)), ["engineering", "engines"]);
    }

    #[test]
    fn words_of_scripts_without_blanks_are_found_inside_a_run() {
        assert_eq!(highlighted(&shown("昨日は東京で豆腐を食べた", "東京")), ["東京"]);
    }

    #[test]
    fn the_line_with_most_different_words_is_shown() {
        let filler = "nothing to see here, move along\n".repeat(40);
        let text = format!("one\n{filler}one two three\n{filler}");
        assert!(shown(&text, "one two three").text.starts_with("one two three"));
    }

    #[test]
    fn a_long_line_is_cut_around_its_first_match() {
        let text = format!("{} needle {}", "word ".repeat(500), "word ".repeat(500));
        let found = shown(&text, "needle");
        assert!(found.text.len() <= EXCERPT_BYTES + 2 * EDGE_BYTES);
        assert_eq!(highlighted(&found), ["needle"]);
    }

    #[test]
    fn letters_that_grow_when_folded_do_not_move_the_ranges() {
        let text = format!("{} quokka {}", "İ".repeat(120), "漢".repeat(120));
        assert_eq!(highlighted(&shown(&text, "quokka")), ["quokka"]);
    }

    proptest! {
        #[test]
        fn any_text_and_any_words_give_ranges_inside_the_excerpt(text in "\\PC{0,400}", query in "\\PC{0,20}", cut in 0usize..400) {
            let mut start = cut.min(text.len());
            while !text.is_char_boundary(start) { start -= 1; }
            let found = excerpt(&text, start..text.len(), &Terms::of_text(&query));
            prop_assert!(text[start..].contains(&found.text));
            for range in &found.highlights {
                prop_assert!(!found.text[range.clone()].is_empty());
            }
            prop_assert!(found.highlights.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(found.line_hits.len() <= found.total_hits);
        }
    }
}
