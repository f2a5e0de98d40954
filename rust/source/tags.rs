//! Tags: those written inside a text, and the comparison that treats `Work/Café` and `work/café` as one.

use unicode_normalization::UnicodeNormalization;

/// `tag` for comparison: NFC, and without case in every script, in which `ß` equals `SS` and `ς` equals `Σ`.
///
/// Each character goes to upper case and back. That joins what Unicode's full case folding joins, and a few letters
/// more, such as the dotless `ı` with `i`.
pub fn fold(tag: &str) -> String {
    if tag.is_ascii() {
        return tag.to_ascii_lowercase();
    }
    let both_ways = |c: char| c.to_uppercase().flat_map(char::to_lowercase);
    tag.nfd().flat_map(both_ways).nfc().collect()
}

/// The tags whose documents are left out, with their children.
#[derive(Debug, Clone, Default)]
pub struct Exclusion(Vec<String>);

impl Exclusion {
    /// Reads tags as people write them: `#private`, `private/`, `#two words#`.
    pub fn new(tags: &[String]) -> Self {
        let folded = tags.iter().map(|tag| fold(tag.trim().trim_matches(['#', '/']).trim()));
        Self(folded.filter(|tag| !tag.is_empty()).collect())
    }

    /// Whether nothing is excluded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `tag` is one of the excluded tags or a child of one.
    pub fn covers(&self, tag: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let tag = fold(tag);
        self.0.iter().any(|excluded| {
            tag.strip_prefix(excluded.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// Whether `#two words#` is one tag, as in Bear, or the tag `two` before more text, as everywhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WideTags {
    /// Bear's reading.
    Yes,
    /// Obsidian's reading.
    No,
}

/// Longest `#two words#`, in bytes: beyond it the second `#` belongs to something else.
const MAX_WIDE_BYTES: usize = 64;

/// The tags in the ranges `runs` of a Markdown text, as typed, without `#`; of two spellings of one tag the first counts.
///
/// A tag begins with `#` after white space, `(`, `|` or a mark of emphasis, and holds a letter or a symbol: `#1` is
/// none. The runs leave out code, links and HTML; the `#`s of headings are no part of them either.
pub fn in_runs(body: &str, runs: &[std::ops::Range<usize>], wide: WideTags) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for run in runs {
        let mut rest = run.clone();
        while let Some(at) = body[rest.clone()].find('#') {
            let hash = rest.start + at;
            rest.start = hash + 1;
            if !may_precede(body[..hash].chars().next_back()) {
                continue;
            }
            if let Some(tag) = tag_at(&body[rest.clone()], wide) {
                rest.start += tag.len();
                let tag = tag.trim_matches('/');
                if seen.insert(fold(tag)) {
                    tags.push(tag.to_owned());
                }
            }
        }
    }
    tags
}

/// Adds a tag that was written in another way, unless it is there in some spelling. Marks around it go.
pub fn add(tags: &mut Vec<String>, tag: String) {
    let tag = tag.trim().trim_matches(['#', '/']).trim();
    let folded = fold(tag);
    if names_something(tag) && !tags.iter().any(|known| fold(known) == folded) {
        tags.push(tag.to_owned());
    }
}

/// Whether any `#` stands where a tag may begin: most texts without tags need no parsing.
pub fn may_hold_tags(body: &str) -> bool {
    body.match_indices('#').any(|(at, _)| {
        may_precede(body[..at].chars().next_back()) && body[at + 1..].chars().next().is_some_and(is_tag_char)
    })
}

fn may_precede(before: Option<char>) -> bool {
    before.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '|' | '*' | '_' | '~' | '='))
}

/// The tag at the start of `text`, which follows a `#`.
fn tag_at(text: &str, wide: WideTags) -> Option<&str> {
    if let Some(tag) = wide_tag_at(text).filter(|_| wide == WideTags::Yes) {
        return Some(tag);
    }
    let tag = &text[..text.find(|c| !is_tag_char(c)).unwrap_or(text.len())];
    names_something(tag).then_some(tag)
}

/// `two words#`: closed by a `#` that follows a word and ends one, with no other `#` and no sentence between.
fn wide_tag_at(text: &str) -> Option<&str> {
    let tag = &text[..text.find('#')?];
    let after = text[tag.len() + 1..].chars().next();
    let ends_a_word = !after.is_some_and(|c| is_tag_char(c) || c == '#');
    let is_name = tag.contains(' ') && !tag.starts_with(' ') && !tag.ends_with(' ') && tag.len() <= MAX_WIDE_BYTES;
    let is_sentence = [". ", ", ", "; ", ": ", "! ", "? "].iter().any(|end| tag.contains(end));
    (is_name && ends_a_word && !is_sentence && names_something(tag)).then_some(tag)
}

/// Letters and digits of all scripts, `_`, `-`, `/`, and symbols such as emoji; no punctuation.
fn is_tag_char(c: char) -> bool {
    match c {
        '_' | '-' | '/' => true,
        _ if c.is_alphanumeric() => true,
        _ if c.is_ascii() || c.is_whitespace() || c.is_control() => false,
        '\u{200d}' => true,                                         // joins emoji
        '\u{a1}'..='\u{bf}' | '\u{d7}' | '\u{f7}' => false,         // Latin-1 punctuation and signs
        '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' => false, // general and CJK punctuation
        '\u{ff01}'..='\u{ff65}' => false, // full-width forms; letters and digits are taken above
        _ => true,
    }
}

/// Whether there is more to `tag` than digits, joiners and marks.
pub fn names_something(tag: &str) -> bool {
    let is_mark = |c: char| matches!(c, '\u{200d}' | '\u{20e3}' | '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}');
    tag.chars().any(|c| c.is_alphabetic() || (!c.is_ascii() && !c.is_numeric() && !is_mark(c)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::markup::{self, Dialect};

    fn obsidian(body: &str) -> Vec<String> {
        markup::read(body, 0, Dialect::Obsidian).tags
    }

    fn bear(body: &str) -> Vec<String> {
        markup::read(body, 0, Dialect::Bear).tags
    }

    #[test]
    fn tags_are_found_in_prose_lists_tables_quotes_and_headings() {
        let body = "#first word (#second) *#third*\n- #list/child\n> #quoted\n\n## Heading #in-heading\n\n| a |\n|---|\n|#cell|\n";
        assert_eq!(obsidian(body), ["first", "second", "third", "list/child", "quoted", "in-heading", "cell"]);
    }

    #[test]
    fn tags_of_all_scripts_and_emoji_are_found() {
        let body = "#日本語。#x #été #🐻‍❄️ #emoji🐻 #a_b-c/d #über_ #тег";
        assert_eq!(obsidian(body), ["日本語", "été", "🐻‍❄️", "emoji🐻", "a_b-c/d", "über_", "тег"]);
    }

    #[test]
    fn code_links_html_and_escapes_hold_no_tags() {
        let body = "```\n#code1\n```\n~~~sh\n```\n#code2\n~~~\n`#code3` http://x.y/#url1 <a href=\"#html1\">\n\n    #code4\n\n\
                    [text](#url2) [[#link]] [[Note#link2]] \\#escaped a#b [r]: \n\n[r]: #url3\n<!-- #html2 -->\n";
        assert_eq!(obsidian(body), Vec::<String>::new());
    }

    #[test]
    fn numbers_headings_and_lone_hashes_are_no_tags() {
        assert_eq!(obsidian("# Heading\n#123 #1/2 # x ## #️⃣ C# #- #_ #!\n###\n"), Vec::<String>::new());
    }

    #[test]
    fn an_indented_list_item_is_not_code() {
        assert_eq!(obsidian("- a\n    - #nested item\n\n      #loose paragraph\n"), ["nested", "loose"]);
    }

    #[test]
    fn wide_tags_are_read_where_they_exist() {
        let body = "#two words# #plain #a, #b and #beta gamma/delta#.";
        assert_eq!(bear(body), ["two words", "plain", "a", "b", "beta gamma/delta"]);
        assert_eq!(obsidian(body), ["two", "plain", "a", "b", "beta"]);
        assert_eq!(bear("#todo fix the C#code"), ["todo"]);
    }

    #[test]
    fn two_spellings_of_one_tag_are_one() {
        assert_eq!(obsidian("#Work #work #Cafe\u{301} #CAFÉ"), ["Work", "Cafe\u{301}"]);
    }

    #[test]
    fn folding_ignores_case_and_composition_in_every_script() {
        for (a, b) in
            [("Straße", "STRASSE"), ("ΟΔΟΣ", "οδος"), ("ПРИВЕТ", "привет"), ("Cafe\u{301}", "CAFÉ"), ("ﬁ", "FI")]
        {
            assert_eq!(fold(a), fold(b), "{a} {b}");
        }
        assert_ne!(fold("a"), fold("á"));
    }

    #[test]
    fn an_excluded_tag_covers_itself_and_its_children() {
        let exclusion = Exclusion::new(&["#Privat/Ärzte/".to_owned(), "#two words#".to_owned(), " # ".to_owned()]);
        for covered in ["privat/ärzte", "PRIVAT/ÄRZTE/2024", "Two Words"] {
            assert!(exclusion.covers(covered), "{covered}");
        }
        for free in ["privat", "privat/ärztekammer", "two", ""] {
            assert!(!exclusion.covers(free), "{free}");
        }
    }
}
