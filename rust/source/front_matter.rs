//! The block of properties at the head of a Markdown text, between two lines of three dashes: where it ends, and what the
//! properties mean for a note.
//!
//! How the block is written is YAML, read in `front_matter/yaml.rs`.

mod yaml;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use super::{tags, title};

/// A longer block is a document of its own, and not looked into.
const MAX_BYTES: usize = 64 << 10;
/// Properties kept of one note.
const MAX_PROPERTIES: usize = 500;

/// Keys under which people and programs write the same thing, compared without case and with `_`, `-` and spaces left out.
const TITLE: &[&str] = &["title"];
const ALIASES: &[&str] = &["aliases", "alias"];
const TAGS: &[&str] = &["tags", "tag"];
const CREATED: &[&str] = &["created", "createdat", "createddate", "datecreated", "creationdate", "date"];
const UPDATED: &[&str] = &[
    "updated",
    "updatedat",
    "updateddate",
    "dateupdated",
    "modified",
    "modifiedat",
    "datemodified",
    "lastmod",
    "lastmodified",
];

/// What the head of a note says about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontMatter {
    /// The title, tidied; `None` when it is missing or empty.
    pub title: Option<String>,
    /// Other names of the note, as typed.
    pub aliases: Vec<String>,
    /// As typed, without `#`.
    pub tags: Vec<String>,
    /// Milliseconds since 1970 UTC. A time without a zone counts as UTC.
    pub created_at_ms: Option<i64>,
    /// Milliseconds since 1970 UTC.
    pub updated_at_ms: Option<i64>,
    /// Every property in its order, a list as several with the same key; keys of nested ones are joined by dots.
    pub properties: Vec<(String, String)>,
}

/// Byte offset at which the body begins: 0 without front matter.
///
/// The block begins on the very first line and ends with a line of `---` or `...`; a first line of dashes that is never
/// answered is a rule, not front matter.
pub fn end(text: &str) -> usize {
    block(text).map_or(0, |(_, end)| end)
}

/// The lines of the block, and where the body begins.
fn block(text: &str) -> Option<(&str, usize)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let mut at = first.len();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((&text[first.len()..at], at + line.len()));
        }
        at += line.len();
    }
    None
}

/// Reads the front matter of `text`; empty when there is none.
pub fn read(text: &str) -> FrontMatter {
    let Some((block, _)) = block(text).filter(|(block, _)| block.len() <= MAX_BYTES) else {
        return FrontMatter::default();
    };
    let mut properties = yaml::properties(block);
    properties.truncate(MAX_PROPERTIES);
    FrontMatter::of(properties)
}

impl FrontMatter {
    /// What the properties mean.
    pub fn of(properties: Vec<(String, String)>) -> Self {
        let mut found = Self::default();
        for (key, value) in &properties {
            let key: String =
                key.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect();
            let key = key.as_str();
            let value = value.trim();
            if value.is_empty() {
                continue;
            }
            if TITLE.contains(&key) {
                found.title = found.title.or_else(|| Some(title::tidy(value))).filter(|title| !title.is_empty());
            } else if ALIASES.contains(&key) {
                // `alias: one, two` is as common as a list.
                let names = value.split(',').map(|name| title::tidy(unlinked(name))).filter(|name| !name.is_empty());
                names.for_each(|name| push_new(&mut found.aliases, name));
            } else if TAGS.contains(&key) {
                separate_tags(value).for_each(|tag| tags::add(&mut found.tags, tag));
            } else if CREATED.contains(&key) {
                // `date` is vague: whoever says `created` as well means it.
                let said = moment_ms(value);
                found.created_at_ms =
                    if key == "date" { found.created_at_ms.or(said) } else { said.or(found.created_at_ms) };
            } else if UPDATED.contains(&key) {
                found.updated_at_ms = found.updated_at_ms.or_else(|| moment_ms(value));
            }
        }
        found.properties = properties;
        found
    }

    /// Adds what the properties of a Logseq page mean; what the front matter says comes first.
    pub fn add_page(&mut self, properties: &[(String, String)]) {
        let page = Self::of(properties.to_vec());
        self.title = self.title.take().or(page.title);
        page.aliases.into_iter().for_each(|name| push_new(&mut self.aliases, name));
        page.tags.into_iter().for_each(|tag| tags::add(&mut self.tags, tag));
        self.created_at_ms = self.created_at_ms.or(page.created_at_ms);
        self.updated_at_ms = self.updated_at_ms.or(page.updated_at_ms);
    }
}

/// `a, b` and `a b` are two tags, `two words` in a list or between commas is one.
fn separate_tags(value: &str) -> impl Iterator<Item = String> {
    let by_space = value.split_whitespace().count() > 1 && value.split_whitespace().all(|tag| tag.starts_with('#'));
    let is_separator = move |c: char| c == ',' || (by_space && c.is_whitespace());
    value.split(is_separator).map(|tag| unlinked(tag).to_owned())
}

/// `[[name]]` as `name`.
fn unlinked(name: &str) -> &str {
    let name = name.trim();
    name.strip_prefix("[[").and_then(|name| name.strip_suffix("]]")).unwrap_or(name)
}

fn push_new(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// A date or a moment as people write it, in milliseconds since 1970 UTC.
pub fn moment_ms(value: &str) -> Option<i64> {
    let value = unlinked(value);
    if let Ok(moment) = value.parse::<Timestamp>() {
        return Some(moment.as_millisecond());
    }
    // `2024-01-31 17:05` has a space where the standard has a T.
    let civil = value.parse::<DateTime>().ok().or_else(|| {
        let (year, rest) = value.split_once('/')?;
        let (month, day) = rest.split_once('/')?;
        let date = Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()?;
        (year.len() == 4).then(|| date.at(0, 0, 0, 0))
    })?;
    TimeZone::UTC.to_timestamp(civil).ok().map(Timestamp::as_millisecond)
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
            assert_eq!(read(text), FrontMatter::default());
        }
    }

    #[test]
    fn title_aliases_tags_and_dates_are_known_by_their_usual_keys() {
        let text = "---\ntitle: ' A  title '\nAliases:\n  - One\n  - \"[[Two]]\"\n  - One\ntags: [work/jp, '#travel', 2024, two words]\n\
                    date created: 2024-01-31\nlast_modified: 2024-02-01T10:00:00+02:00\nstatus: draft\n---\n";
        let found = read(text);
        assert_eq!(found.title.as_deref(), Some("A  title"));
        assert_eq!(found.aliases, ["One", "Two"]);
        assert_eq!(found.tags, ["work/jp", "travel", "two words"]);
        assert_eq!(found.created_at_ms, Some(1_706_659_200_000));
        assert_eq!(found.updated_at_ms, Some(1_706_774_400_000));
        assert_eq!(found.properties.last(), Some(&("status".to_owned(), "draft".to_owned())));
    }

    #[test]
    fn tags_and_aliases_in_one_line_are_told_apart() {
        let tags_of = |line: &str| read(&format!("---\n{line}\n---\n")).tags;
        assert_eq!(tags_of("tags: a, b/c"), ["a", "b/c"]);
        assert_eq!(tags_of("tags: \"#a #b\""), ["a", "b"]);
        assert_eq!(tags_of("tag: [[Topic]]"), ["Topic"]);
        assert_eq!(read("---\nalias: x, y\n---\n").aliases, ["x", "y"]);
    }

    #[test]
    fn created_is_more_than_a_date() {
        for text in
            ["---\ndate: 2020-01-01\ncreated: 2021-01-01\n---\n", "---\ncreated: 2021-01-01\ndate: 2020-01-01\n---\n"]
        {
            assert_eq!(read(text).created_at_ms, Some(1_609_459_200_000), "{text}");
        }
    }

    #[test]
    fn moments_are_read_as_people_write_them() {
        let day = 1_706_659_200_000;
        for text in
            ["2024-01-31", "2024/01/31", "[[2024-01-31]]", "2024-01-31T00:00:00Z", "2024-01-31 00:00", "20240131"]
        {
            assert_eq!(moment_ms(text), Some(day), "{text}");
        }
        for text in ["", "yesterday", "31.1.2024", "1/2/2024", "2024-13-01", "2024"] {
            assert_eq!(moment_ms(text), None, "{text}");
        }
    }

    #[test]
    fn a_block_as_long_as_a_document_is_not_looked_into() {
        let text = format!("---\n{}---\nbody", "key: value\n".repeat(7000));
        assert_eq!(read(&text), FrontMatter::default());
        assert_eq!(&text[end(&text)..], "body");
    }
}
