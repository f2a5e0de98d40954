//! The block of properties at the head of a Markdown text, between two lines of three dashes.

/// Byte offset at which the body begins: 0 without front matter.
///
/// The block begins on the very first line and ends with a line of `---` or `...`; a first line of dashes that is never
/// answered is a rule, not front matter.
pub fn end(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return 0 };
    let mut at = first.len();
    for line in lines {
        at += line.len();
        if matches!(line.trim_end(), "---" | "...") {
            return at;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_begins_after_the_closing_dashes() {
        let body_of = |text: &'static str| &text[end(text)..];
        assert_eq!(body_of("---\na: b\n---\nbody"), "body");
        assert_eq!(body_of("---\r\na: b\r\n...\r\nbody"), "body");
        assert_eq!(body_of("---\n---"), "");
    }

    #[test]
    fn dashes_that_open_nothing_are_text() {
        for text in ["", "---", "---\nno end\n", "----\na\n---\n", "\n---\na: b\n---\n", " ---\na\n---\n"] {
            assert_eq!(end(text), 0, "{text:?}");
        }
    }
}
