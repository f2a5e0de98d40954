//! What links may call a note, and the key that a name shares with every link that may mean it.
//!
//! A link `[[sub/Note]]` may mean the file `area/sub/Note.md`, or a note titled `sub/Note`; `[[Title/Part]]` in Bear the note
//! `Title/Part`, or `Title` and a heading in it. What all of these share is one part of the name: the last in folders, the
//! first in Bear. It is folded, so that names in any case and composition meet.

use crate::names::fold;
use crate::source::{Document, LinkKind, SourceKind};

/// Endings of files that links leave out.
const ENDINGS: [&str; 7] = ["md", "markdown", "mdown", "mkd", "mdx", "textbundle", "txt"];

/// What a name is to its note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// The path of its file below the source's folder.
    Path = 0,
    /// Its title.
    Title = 1,
    /// Another name that it gives itself.
    Alias = 2,
    /// Bear's unique identifier.
    Id = 3,
    /// The title of a note of Bear.
    BearTitle = 4,
}

impl NameKind {
    /// The kind that is stored as `number`.
    pub fn from_number(number: i64) -> Self {
        match number {
            1 => Self::Title,
            2 => Self::Alias,
            3 => Self::Id,
            4 => Self::BearTitle,
            _ => Self::Path,
        }
    }
}

/// One name of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// See the module.
    pub key: String,
    pub kind: NameKind,
    /// As it stands; a path without its ending.
    pub name: String,
}

/// All names of a document.
pub fn of(document: &Document, source: SourceKind) -> Vec<Name> {
    let mut names = Vec::with_capacity(2 + document.aliases.len());
    let mut add = |kind, name: &str, key: String| {
        if !name.is_empty() {
            names.push(Name { key, kind, name: name.to_owned() });
        }
    };
    match source {
        SourceKind::Bear | SourceKind::Backup => {
            add(NameKind::BearTitle, &document.title, first_part(&document.title));
            add(NameKind::Id, &document.id, fold(&document.id));
        }
        SourceKind::Markdown | SourceKind::Given => {
            let path = without_ending(&document.id);
            add(NameKind::Path, path, last_part(path));
            // Most notes are titled as their file is called; a second name would say nothing.
            if path.rsplit('/').next() != Some(&document.title) {
                add(NameKind::Title, &document.title, last_part(&document.title));
            }
            for alias in &document.aliases {
                add(NameKind::Alias, alias, last_part(alias));
            }
        }
    }
    names
}

/// The key of the names that a link may mean.
pub fn key_of_link(kind: LinkKind, target: &str) -> String {
    match kind {
        LinkKind::Title => first_part(target),
        LinkKind::Id => fold(target),
        LinkKind::Name | LinkKind::Path | LinkKind::Vault => last_part(without_ending(target)),
    }
}

/// A path or name without the ending of a note's file.
pub fn without_ending(name: &str) -> &str {
    let ending = |(_, ending): &(&str, &str)| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known));
    name.rsplit_once('.').filter(ending).map_or(name, |(stem, _)| stem)
}

fn first_part(name: &str) -> String {
    fold(name.split('/').next().unwrap_or_default())
}

/// Links end before `#` and `^`, whatever a title holds.
fn last_part(name: &str) -> String {
    let part = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    fold(part.split(['#', '^']).next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_a_link_shares_the_key_of_what_it_means() {
        let file = last_part(without_ending("area/sub/My Note.md"));
        for target in ["My Note", "my note.md", "sub/My Note", "area/sub/my NOTE"] {
            assert_eq!(key_of_link(LinkKind::Name, target), file, "{target}");
        }
        assert_eq!(key_of_link(LinkKind::Path, "../sub/My Note.md"), file);
        assert_eq!(key_of_link(LinkKind::Vault, "V/area/sub/My Note"), file);
        for target in ["TCP/IP", "TCP/IP/Layers", "tcp"] {
            assert_eq!(key_of_link(LinkKind::Title, target), first_part("TCP/IP"), "{target}");
        }
        assert_eq!(key_of_link(LinkKind::Name, "C"), last_part("C# notes"));
        assert_eq!(key_of_link(LinkKind::Id, "ab-12"), fold("AB-12"));
    }

    #[test]
    fn only_a_note_s_ending_is_left_out() {
        assert_eq!(without_ending("a.b/Node.js"), "a.b/Node.js");
        assert_eq!(without_ending("v1.2.MD"), "v1.2");
        assert_eq!(without_ending("plain"), "plain");
    }
}
