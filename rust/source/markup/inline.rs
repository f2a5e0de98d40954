//! Properties written in the text: a line `key:: value`, as Logseq and Dataview have them.

use std::ops::Range;

/// Longest key, in characters.
const MAX_KEY_CHARS: usize = 60;
/// Longest value kept, in characters.
const MAX_VALUE_CHARS: usize = 1000;

/// The properties in the lines that begin inside one of `runs`, and how many of them stand above everything else.
pub fn properties(body: &str, runs: &[Range<usize>]) -> (Vec<(String, String)>, usize) {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut above = 0;
    let mut ends_at = Some(0);
    let mut after = 0;
    for colons in memchr::memmem::find_iter(body.as_bytes(), b"::") {
        // Of `:::` the first two colons were looked at, and no line has two keys.
        if colons < after {
            continue;
        }
        let line_start = body[..colons].rfind('\n').map_or(0, |at| at + 1);
        let line_end = body[colons..].find('\n').map_or(body.len(), |at| colons + at);
        after = line_end;
        let Some(key) = key_of(&body[line_start..colons]) else { continue };
        let value = &body[colons + 2..line_end];
        if !(value.is_empty() || value.starts_with([' ', '\t', '\r'])) || !is_in(runs, colons) {
            continue;
        }
        if ends_at.is_some_and(|end: usize| body[end..line_start].trim().is_empty()) {
            above += 1;
            ends_at = Some(line_end);
        } else {
            ends_at = None;
        }
        found.push((key.to_owned(), value.trim().chars().take(MAX_VALUE_CHARS).collect()));
    }
    (found, above)
}

/// The key in what stands before the colons: the words of the line, behind the mark of a list.
fn key_of(before: &str) -> Option<&str> {
    let key = before.trim_start();
    let key = ["- ", "* ", "+ "].iter().find_map(|mark| key.strip_prefix(mark)).unwrap_or(key).trim_start();
    let is_key_char = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.' | ' ');
    let is_key = key.starts_with(|c: char| c.is_alphabetic())
        && key.ends_with(|c: char| c.is_alphanumeric())
        && key.chars().all(is_key_char)
        && key.chars().count() <= MAX_KEY_CHARS;
    is_key.then_some(key)
}

/// Whether one of the runs, which are in order, holds `offset`.
fn is_in(runs: &[Range<usize>], offset: usize) -> bool {
    let next = runs.partition_point(|run| run.start <= offset);
    next.checked_sub(1).is_some_and(|last| offset < runs[last].end)
}

#[cfg(test)]
mod tests {
    use super::super::{Dialect, read};

    fn properties(text: &str) -> (Vec<(String, String)>, usize) {
        let markup = read(text, 0, Dialect::Logseq);
        (markup.properties, markup.page_properties)
    }

    #[test]
    fn lines_with_a_key_and_a_value_are_properties() {
        let (found, above) = properties(
            "title:: A page\nalias:: b, [[c]]\n\n- Block\n  status:: open\n- Due date:: 2024-01-31\n- empty::\n",
        );
        let expected =
            [("title", "A page"), ("alias", "b, [[c]]"), ("status", "open"), ("Due date", "2024-01-31"), ("empty", "")];
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(above, 2, "the lines above the first block belong to the page");
    }

    #[test]
    fn colons_in_code_and_sentences_are_no_properties() {
        let text =
            "Use std::vec and `key:: value`.\n\n```\nkey:: value\n```\na::b\n:: x\nA sentence, with a comma:: no\n";
        assert_eq!(properties(text), (Vec::new(), 0));
    }
}
