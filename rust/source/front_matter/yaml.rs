//! YAML as it stands at the head of notes -> a flat list of keys and values.
//!
//! The parser is `saphyr-parser`. People write front matter by hand, and one line that is not YAML must not take the others
//! with it: then each entry is read by itself, and what even so is none is taken as the plain text behind its colon.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser};

/// Nesting beyond this is not looked into.
const MAX_DEPTH: usize = 8;
/// Longest value kept, in characters.
const MAX_VALUE_CHARS: usize = 1000;

/// The properties of a block, in their order; a list gives several with one key.
pub fn properties(block: &str) -> Vec<(String, String)> {
    if let Some(found) = parsed(block) {
        return found;
    }
    entries(block).flat_map(|entry| parsed(entry).unwrap_or_else(|| plain(entry))).collect()
}

/// Reads a mapping; `None` when it is not YAML, or none at its top.
fn parsed(block: &str) -> Option<Vec<(String, String)>> {
    let mut reader = Reader::default();
    for event in Parser::new_from_str(block) {
        match event {
            Ok((event, _)) => reader.take(event)?,
            Err(_) => return None,
        }
    }
    Some(reader.found)
}

/// Walks the events of one document.
#[derive(Default)]
struct Reader<'b> {
    found: Vec<(String, String)>,
    levels: Vec<Level<'b>>,
}

enum Level<'b> {
    /// Its key, once that came.
    Mapping(Option<Cow<'b, str>>),
    Sequence,
}

impl<'b> Reader<'b> {
    /// `None` ends the reading: the document is not a mapping.
    fn take(&mut self, event: Event<'b>) -> Option<()> {
        match event {
            Event::MappingStart(..) => self.levels.push(Level::Mapping(None)),
            Event::SequenceStart(..) if self.levels.is_empty() => return None,
            Event::SequenceStart(..) => self.levels.push(Level::Sequence),
            Event::MappingEnd | Event::SequenceEnd => {
                self.levels.pop();
                self.end_value();
            }
            Event::Scalar(value, style, ..) => match self.levels.last_mut()? {
                Level::Mapping(key @ None) => *key = Some(value),
                _ => {
                    let is_null = matches!(style, saphyr_parser::ScalarStyle::Plain)
                        && matches!(value.as_ref(), "" | "~" | "null" | "Null" | "NULL");
                    self.add(if is_null { Cow::Borrowed("") } else { value });
                    self.end_value();
                }
            },
            // What an alias repeats was read where it stands.
            Event::Alias(_) => match self.levels.last_mut()? {
                Level::Mapping(key @ None) => *key = Some(Cow::Borrowed("")),
                _ => self.end_value(),
            },
            _ => {}
        }
        Some(())
    }

    fn add(&mut self, value: Cow<'b, str>) {
        if self.levels.len() > MAX_DEPTH {
            return;
        }
        let keys: Vec<&str> = self
            .levels
            .iter()
            .filter_map(|level| match level {
                Level::Mapping(key) => key.as_deref(),
                Level::Sequence => None,
            })
            .collect();
        let key = keys.join(".").trim().to_owned();
        if !key.is_empty() {
            self.found.push((key, value.chars().take(MAX_VALUE_CHARS).collect()));
        }
    }

    /// The next scalar of a mapping is a key again.
    fn end_value(&mut self) {
        if let Some(Level::Mapping(key)) = self.levels.last_mut() {
            *key = None;
        }
    }
}

/// The block cut before each line that begins an entry.
fn entries(block: &str) -> impl Iterator<Item = &str> {
    let begins = |line: &str| !line.starts_with([' ', '\t', '-', '#', '\r', '\n', ']', '}']);
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in block.split_inclusive('\n') {
        if begins(line) {
            starts.push(at);
        }
        at += line.len();
    }
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([block.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &block[start..end])
}

/// `key: anything at all` on one line, or the items below a key that has nothing behind it.
fn plain(entry: &str) -> Vec<(String, String)> {
    let mut lines = entry.lines();
    let Some((key, value)) = lines.next().and_then(|line| line.split_once(':')) else { return Vec::new() };
    let (key, value) = (key.trim().trim_matches(['"', '\'']), value.trim());
    let cut = |value: &str| value.chars().take(MAX_VALUE_CHARS).collect::<String>();
    let items =
        lines.filter_map(|line| line.trim_start().strip_prefix("- ")).map(|item| item.trim().trim_matches(['"', '\'']));
    let values: Vec<String> = if value.is_empty() { items.map(cut).collect() } else { vec![cut(value)] };
    if key.is_empty() { Vec::new() } else { values.into_iter().map(|value| (key.to_owned(), value)).collect() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(block: &str) -> Vec<String> {
        properties(block).into_iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    #[test]
    fn scalars_lists_and_nested_properties_become_pairs() {
        let block = "status: draft\nrating: 4.50\nready: true\nwhen: 2024-01-31\nnone:\nnull: ~\nlist: [a, \"b, c\"]\nmore:\n  - d\n  - e: f\n\
                     nested:\n  deep:\n    er: x\ntext: |\n  two\n  lines\nquoted: \"\"\n# comment\n";
        assert_eq!(
            shown(block),
            [
                "status=draft",
                "rating=4.50",
                "ready=true",
                "when=2024-01-31",
                "none=",
                "null=",
                "list=a",
                "list=b, c",
                "more=d",
                "more.e=f",
                "nested.deep.er=x",
                "text=two\nlines\n",
                "quoted="
            ]
        );
    }

    #[test]
    fn one_line_that_is_no_yaml_leaves_the_others_alone() {
        let block = "title: Notes: on colons\nauthor: @me\nup: [[Home]]\ntags:\n  - a\n  - b\n\tbad: tab\ntemplate: {{date}}\nlast: ok\n";
        assert_eq!(
            shown(block),
            ["title=Notes: on colons", "author=@me", "up=Home", "tags=a", "tags=b", "template.date=", "last=ok"]
        );
    }

    #[test]
    fn what_is_no_mapping_has_no_properties() {
        for block in ["", "just words\n", "- a\n- b\n", "# only a comment\n", "[a, b]\n"] {
            assert_eq!(shown(block), Vec::<String>::new(), "{block:?}");
        }
    }

    #[test]
    fn aliases_of_yaml_are_not_multiplied() {
        let bomb = "a: &a [x, x]\nb: &b [*a , *a ]\nc: &c [*b , *b ]\nd: *c\ne: y\n";
        assert_eq!(shown(bomb), ["a=x", "a=x", "e=y"]);
    }

    #[test]
    fn nesting_without_end_is_cut() {
        let deep = format!("a: {}x{}\nb: c\n", "[".repeat(5000), "]".repeat(5000));
        assert!(properties(&deep).len() <= 2);
    }

    proptest! {
        #[test]
        fn no_block_makes_the_reader_fail(block in "(?s).{0,200}") {
            let found = properties(&block);
            prop_assert!(found.iter().all(|(key, _)| !key.is_empty()));
        }

        #[test]
        fn no_block_of_yaml_s_own_signs_makes_the_reader_fail(block in "[-:\\[\\]{}&*!|>'\"%@`#,? \n\tab]{0,80}") {
            let found = properties(&block);
            prop_assert!(found.iter().all(|(key, _)| !key.is_empty()));
        }
    }
}
