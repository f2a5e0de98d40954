//! A document's title, where its source does not simply say it.

use super::front_matter;

/// Longest title kept, in characters. A "title" may be a whole page on one line.
pub const MAX_CHARS: usize = 300;

/// `raw` as a title: one line, without white space around it, at most [`MAX_CHARS`] long.
pub fn tidy(raw: &str) -> String {
    let line = raw.trim().chars().take(MAX_CHARS).map(|c| if c.is_control() { ' ' } else { c });
    let mut title: String = line.collect();
    title.truncate(title.trim_end().len());
    title
}

/// The title that Bear would give: the first line with words, without the marks of a heading. Empty without one.
pub fn from_first_line(text: &str) -> String {
    let body = &text[front_matter::end(text)..];
    let titles = body.lines().map(|line| tidy(line.trim_start().trim_start_matches('#')));
    titles.into_iter().find(|title| !title.is_empty()).unwrap_or_default()
}

/// The first heading of level 1, or a heading of any level when the text begins with it. Not from code fences.
pub fn from_heading(text: &str) -> Option<String> {
    let mut fence: Option<Fence> = None;
    let mut at_start = true;
    let mut paragraph: Vec<&str> = Vec::new();
    for line in text[front_matter::end(text)..].lines() {
        if let Some(open) = &fence {
            if open.is_closed_by(line) {
                fence = None;
            }
            continue;
        }
        fence = Fence::opened_by(line);
        let found = match atx_heading(line) {
            Some((level, title)) if level == 1 || at_start => Some(title),
            // A longer paragraph above a line of `=` is a heading too, by the letter, but hardly meant as a title.
            _ if is_setext_underline(line) && paragraph.len() == 1 => paragraph.pop(),
            _ => None,
        };
        if let Some(title) = found.map(tidy).filter(|title| !title.is_empty()) {
            return Some(title);
        }
        let is_paragraph =
            fence.is_none() && !line.trim().is_empty() && !line.trim_start().starts_with(['#', '>', '|']);
        if is_paragraph {
            paragraph.push(line);
        } else {
            paragraph.clear();
        }
        at_start &= line.trim().is_empty();
    }
    None
}

/// Level and text of a `#` heading, the closing `#`s cut off.
fn atx_heading(line: &str) -> Option<(usize, &str)> {
    let rest = without_indent(line)?;
    let after = rest.trim_start_matches('#');
    let level = rest.len() - after.len();
    if !(1..=6).contains(&level) || !(after.is_empty() || after.starts_with([' ', '\t'])) {
        return None;
    }
    let title = after.trim();
    let unclosed = title.trim_end_matches('#');
    let closed = unclosed.is_empty() || unclosed.ends_with([' ', '\t']);
    Some((level, if closed { unclosed.trim_end() } else { title }))
}

fn is_setext_underline(line: &str) -> bool {
    without_indent(line).is_some_and(|rest| {
        let rest = rest.trim_end();
        !rest.is_empty() && rest.bytes().all(|byte| byte == b'=')
    })
}

/// `line` without up to three spaces of indent; `None` for an indented code block's line.
fn without_indent(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len() <= 3 && !rest.starts_with('\t')).then_some(rest)
}

/// An open code fence: its character and how many of it.
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let rest = without_indent(line)?;
        let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = rest.trim_start_matches(mark);
        let length = rest.len() - info.len();
        (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Self { mark, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        without_indent(line).is_some_and(|rest| {
            let after = rest.trim_start_matches(self.mark);
            rest.len() - after.len() >= self.length && after.trim().is_empty()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(tidy("  a\tb\u{0}c\n"), "a b c");
        assert_eq!(tidy(&"é".repeat(1000)).chars().count(), MAX_CHARS);
    }

    #[test]
    fn the_first_line_with_words_is_a_note_s_title() {
        assert_eq!(from_first_line("\n\n  ## Soup ##x\nmore"), "Soup ##x");
        assert_eq!(from_first_line("---\nstatus: draft\n---\n# After the front matter\n"), "After the front matter");
        assert_eq!(from_first_line("plain words\r\nmore"), "plain words");
        assert_eq!(from_first_line("\n###\n \n"), "");
    }

    #[test]
    fn a_level_1_heading_anywhere_is_the_title() {
        assert_eq!(from_heading("intro\n\n## Part\n\n# Real title #\n").as_deref(), Some("Real title"));
        assert_eq!(from_heading("intro\n\nUnderlined\n=====\n").as_deref(), Some("Underlined"));
        assert_eq!(from_heading("# C#\r\n").as_deref(), Some("C#"));
    }

    #[test]
    fn a_deeper_heading_counts_only_at_the_start() {
        assert_eq!(from_heading("\n### Start\ntext").as_deref(), Some("Start"));
        assert_eq!(from_heading("text\n\n## Later\n"), None);
    }

    #[test]
    fn lines_in_fences_tags_and_rules_are_no_headings() {
        assert_eq!(from_heading("a paragraph\nof two lines\n=====\n"), None);
        let text = "```sh\n# comment\n~~~\n# still code\n```\n#tag\n    # indented\n=====\n~~~\n# code\n";
        assert_eq!(from_heading(text), None);
    }
}
