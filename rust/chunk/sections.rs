//! A Markdown text cut at its headings: the sections, each with its place in the outline.
//!
//! Knows ATX and setext headings, fenced code and front matter, and nothing else of Markdown: that is all a boundary
//! needs. It follows CommonMark, except where a note-taker's habit would make headings out of plain lines; each such
//! place says so.

use std::ops::Range;

use memchr::memchr;

use super::{MAX_LABEL_BYTES, prefix_within};

/// A stretch of text from one heading (or the start) to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// First byte, always the start of a line.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// 1 to 6; 0 before the first heading.
    pub level: u8,
    /// Front matter; it has no heading.
    pub front_matter: bool,
    /// Where the text of its heading stands, without hashes, at most [`MAX_LABEL_BYTES`]; empty before the first heading.
    pub heading: Range<usize>,
    /// Index of the section whose heading is the next one outwards.
    pub parent: Option<usize>,
}

/// Cuts `text` into sections that together cover it, in order, none of them empty. An empty text has none.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let mut outline = Outline::default();
    let body = front_matter_end(text);
    outline.open(0, 0, 0..0);
    if body > 0 {
        outline.sections[0].front_matter = true;
        outline.open(body, 0, 0..0);
    }
    let mut fence: Option<Fence> = None;
    // The line before, when it could be the text of a setext heading: its start and that text.
    let mut candidate: Option<(usize, &str)> = None;
    let mut in_paragraph = false;
    let mut at = body;
    while at < text.len() {
        let line_start = at;
        at = memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |offset| line_start + offset + 1);
        let raw = &text[line_start..at];
        let line = if line_start == 0 { raw.trim_start_matches('\u{feff}') } else { raw };
        let line = line.trim_end_matches(['\n', '\r']);

        if let Some(open) = &fence {
            if open.is_closed_by(line) {
                fence = None;
            }
            continue;
        }
        let previous = candidate.take();
        let paragraph_goes_on = std::mem::replace(&mut in_paragraph, false);
        let Some(text_of_line) = outdented(line) else {
            in_paragraph = paragraph_goes_on && !line.trim().is_empty();
            continue;
        };
        if let Some(open) = Fence::open(text_of_line) {
            fence = Some(open);
        } else if let Some((depth, heading)) = atx_heading(text_of_line) {
            outline.open(line_start, depth, range_within(text, heading));
        } else if let (Some((heading_start, heading)), Some(depth)) = (previous, setext_underline(text_of_line)) {
            outline.open(heading_start, depth, range_within(text, heading));
        } else if !text_of_line.is_empty() && !opens_other_block(text_of_line) {
            in_paragraph = true;
            // Only a paragraph of one line: a rule under a longer one is meant as a rule, although CommonMark makes
            // the whole paragraph a heading.
            if !paragraph_goes_on && !is_tag_line(text_of_line) {
                candidate = Some((line_start, text_of_line));
            }
        }
    }
    outline.close(text.len())
}

/// The sections so far, and the ones whose headings are still in force.
#[derive(Default)]
struct Outline {
    sections: Vec<Section>,
    in_force: Vec<usize>,
}

impl Outline {
    /// Ends the section before and begins one; `heading` is empty where there is none.
    fn open(&mut self, start: usize, level: u8, heading: Range<usize>) {
        if let Some(last) = self.sections.last_mut() {
            last.end = start;
            if last.start == start {
                self.sections.pop();
            }
        }
        while self.in_force.last().is_some_and(|section| self.sections[*section].level >= level) {
            self.in_force.pop();
        }
        let parent = self.in_force.last().copied();
        if level > 0 {
            self.in_force.push(self.sections.len());
        }
        self.sections.push(Section { start, end: start, level, front_matter: false, heading, parent });
    }

    fn close(mut self, end: usize) -> Vec<Section> {
        if let Some(last) = self.sections.last_mut() {
            last.end = end;
            // Only a text that ends with its front matter, or an empty one, leaves an empty section.
            if last.start == end {
                self.sections.pop();
            }
        }
        self.sections
    }
}

/// Where the heading `part`, a slice of `text`, stands in it, as far as it is kept.
fn range_within(text: &str, part: &str) -> Range<usize> {
    let part = prefix_within(part, MAX_LABEL_BYTES);
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

/// Where the front matter ends, its closing line included; 0 when there is none.
fn front_matter_end(text: &str) -> usize {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = body.split('\n').next().unwrap_or_default().trim_end();
    if first != "---" && first != "+++" {
        return 0;
    }
    let mut at = text.len() - body.len();
    for (number, line) in body.split_inclusive('\n').enumerate() {
        at += line.len();
        let line = line.trim_end();
        if number > 0 && (line == first || (first == "---" && line == "...")) {
            return at;
        }
    }
    0
}

/// The line without its indentation, or `None` when it is indented as far as code is (four columns, or a tab).
pub(super) fn outdented(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len() < 4 && !rest.starts_with('\t')).then_some(rest.trim_end())
}

/// Depth and text of an ATX heading. `#tag` is none: the blank after the hashes makes the heading.
fn atx_heading(line: &str) -> Option<(u8, &str)> {
    let depth = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &line[depth..];
    if !(1..=6).contains(&depth) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let heading = rest.trim();
    let opened = heading.trim_end_matches('#');
    let closed = opened.is_empty() || opened.ends_with([' ', '\t']);
    Some((depth as u8, if closed { opened.trim_end() } else { heading }))
}

/// The depth that a setext underline gives to the line above it. A single `-` is taken for a list item being typed.
fn setext_underline(line: &str) -> Option<u8> {
    let only = |mark: u8| line.len() > 1 && line.bytes().all(|byte| byte == mark);
    if only(b'=') {
        Some(1)
    } else if only(b'-') {
        Some(2)
    } else {
        None
    }
}

/// Whether a line begins a quote, a list, a table row, a rule or HTML, which are no heading text.
fn opens_other_block(line: &str) -> bool {
    let bytes = line.as_bytes();
    let blank_at = |index: usize| bytes.get(index).is_none_or(|byte| matches!(byte, b' ' | b'\t'));
    match bytes.first() {
        Some(b'>' | b'|' | b'<') => true,
        Some(b'-' | b'*' | b'+') if blank_at(1) => true,
        Some(b'-' | b'*' | b'_' | b'=') => bytes.iter().all(|byte| matches!(byte, b'-' | b'*' | b'_' | b'=' | b' ')),
        Some(b'0'..=b'9') => {
            let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            matches!(bytes.get(digits), Some(b'.' | b')')) && blank_at(digits + 1)
        }
        _ => false,
    }
}

/// Whether a line holds hashtags and nothing else. People rule off their tags; CommonMark would make them a heading.
fn is_tag_line(line: &str) -> bool {
    line.starts_with('#') && line.split_whitespace().all(|word| word.starts_with('#') || word.ends_with('#'))
}

/// An open code fence: its character and how many of them close it.
pub(super) struct Fence {
    mark: u8,
    length: usize,
}

impl Fence {
    /// The fence that this line, without its indentation, opens.
    pub(super) fn open(line: &str) -> Option<Self> {
        let mark = *line.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let length = line.bytes().take_while(|byte| *byte == mark).count();
        let info_is_inline_code = mark == b'`' && line[length..].contains('`');
        (length >= 3 && !info_is_inline_code).then_some(Self { mark, length })
    }

    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        outdented(line).is_some_and(|line| line.len() >= self.length && line.bytes().all(|byte| byte == self.mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(text: &str) -> Vec<(usize, String)> {
        let sections = sections(text);
        let path = |mut index: usize| {
            let mut path = text[sections[index].heading.clone()].to_owned();
            while let Some(parent) = sections[index].parent {
                index = parent;
                path = format!("{} > {path}", &text[sections[index].heading.clone()]);
            }
            path
        };
        (0..sections.len()).map(|index| (sections[index].start, path(index))).collect()
    }

    fn headings(text: &str) -> Vec<String> {
        outline(text).into_iter().map(|(_, path)| path).filter(|path| !path.is_empty()).collect()
    }

    #[test]
    fn atx_headings_nest_by_their_depth() {
        let text = "# A\n\ntext\n\n### B ##\n## C\nmore\n# D\n";
        let expected = [(0, "A"), (11, "A > B"), (20, "A > C"), (30, "D")];
        assert_eq!(outline(text), expected.map(|(at, path)| (at, path.to_owned())));
    }

    #[test]
    fn setext_headings_are_found_under_single_lines_only() {
        assert_eq!(headings("Title\n=====\n\nPart\n--\ntext\n"), ["Title", "Title > Part"]);
        assert!(headings("two lines of\ntext\n---\nmore\n").is_empty());
        assert!(headings("- item\n---\n> quote\n---\n| a |\n---\n#tag #other\n---\ntext\n-\n").is_empty());
    }

    #[test]
    fn hashes_in_code_front_matter_and_tags_are_no_headings() {
        let fenced = "```sh\n# not me\n~~~\n```\n~~~~\n# nor me\n~~~\n~~~~\n# Me\n";
        assert_eq!(headings(fenced), ["Me"]);
        assert!(
            headings("---\n# comment\ntitle: x\n---\n#tag\n    # code\n\t# code\n> # quote\n####### seven\n")
                .is_empty()
        );
        assert!(headings("``` a `b`\n").is_empty());
        assert_eq!(headings("``` `x`\n# Inline code opens no fence\n"), ["Inline code opens no fence"]);
    }

    #[test]
    fn an_unclosed_fence_holds_the_rest_and_unclosed_front_matter_is_text() {
        assert_eq!(headings("# A\n```\n# b\n"), ["A"]);
        assert_eq!(headings("---\n# A\n"), ["A"]);
    }

    #[test]
    fn windows_line_ends_and_a_byte_order_mark_change_nothing() {
        assert_eq!(headings("\u{feff}# A\r\ntext\r\n\r\nB\r\n---\r\n"), ["A", "A > B"]);
        let sections = sections("\u{feff}---\r\ntags: x\r\n---\r\n# A\r\n");
        assert!(sections[0].front_matter && sections[1].level == 1);
    }

    #[test]
    fn sections_cover_the_text_without_gaps() {
        let text = "intro\n\n# A\n\n## B\ntext\nC\n==\n";
        let mut at = 0;
        for section in sections(text) {
            assert_eq!(section.start, at);
            at = section.end;
        }
        assert_eq!(at, text.len());
        assert!(sections("").is_empty());
    }
}
