//! Items that can be ticked: `- [ ]` everywhere, `- TODO` in outlines.

/// Words that open an item of an outline and say that something is to be done, or was.
const OPEN_WORDS: [&str; 8] = ["TODO", "DOING", "LATER", "NOW", "WAITING", "WAIT", "IN-PROGRESS", "STARTED"];
const DONE_WORDS: [&str; 3] = ["DONE", "CANCELED", "CANCELLED"];

/// How many items are to be done, and how many are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tasks {
    /// Not done yet.
    pub open: usize,
    /// Done or called off.
    pub done: usize,
}

/// Counts the tasks among the list items that begin at the offsets `items`.
pub fn count(body: &str, items: &[usize]) -> Tasks {
    let mut tasks = Tasks::default();
    for start in items {
        match is_done(after_marker(&body[*start..])) {
            Some(true) => tasks.done += 1,
            Some(false) => tasks.open += 1,
            None => {}
        }
    }
    tasks
}

/// An item's text behind its `-`, `*`, `+` or number. The range of a nested item may begin with the end of the line above.
fn after_marker(item: &str) -> &str {
    let item = item.trim_start_matches([' ', '\t', '\r', '\n', '>']);
    let rest = item.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.get(1..).unwrap_or_default().trim_start_matches([' ', '\t'])
}

/// Whether an item is done; `None` when it is no task. Between the brackets of a task stands nothing, or `x`, or one of the
/// marks that people have agreed on with themselves: of those only `-`, called off, is an end.
fn is_done(text: &str) -> Option<bool> {
    if let Some(rest) = text.strip_prefix('[') {
        let mut rest = rest.chars();
        let mark = rest.next()?;
        let is_box = rest.next() == Some(']') && rest.next().is_none_or(char::is_whitespace);
        return (is_box && mark != ']').then_some(matches!(mark, 'x' | 'X' | '-'));
    }
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    if DONE_WORDS.contains(&word) {
        return Some(true);
    }
    OPEN_WORDS.contains(&word).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::super::{Dialect, read};
    use super::*;

    #[test]
    fn boxes_of_every_kind_of_list_are_counted() {
        let text = "- [ ] a\n* [x] b\n+ [X] c\n1. [ ] d\n2) [-] called off\n> - [ ] quoted\n- [/] begun\n  - [ ] nested\n- [ ]\n";
        assert_eq!(read(text, 0, Dialect::Plain).tasks, Tasks { open: 6, done: 3 });
    }

    #[test]
    fn outlines_say_it_in_words() {
        let text = "- TODO a\n\t- DONE b\n- LATER c\n- DOING d\n- CANCELED e\n- TODOS are no task\n- todo neither\n";
        assert_eq!(read(text, 0, Dialect::Logseq).tasks, Tasks { open: 3, done: 2 });
    }

    #[test]
    fn brackets_that_hold_a_link_or_more_are_no_boxes() {
        let text = "- [a] b\n- [[x]]\n- [x](y)\n- [](y)\n- [ab] c\n[ ] no list\n";
        assert_eq!(read(text, 0, Dialect::Plain).tasks, Tasks { open: 1, done: 0 });
    }
}
