//! TextBundles: what `info.json` beside a text says of it, and how a bundle's text becomes a document.
//!
//! Where bundles are found is the work of `markdown` (folders) and `backup` (zip files of Bear).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::markup::{self, Dialect};
use super::parsed::Parsed;
use super::tags::Exclusion;
use super::{ChangeMark, Document, front_matter, title};

/// Ending of a bundle's folder, compared without case.
const ENDING: &str = ".textbundle";
/// Endings of the text in a bundle, compared without case; the first is what Bear writes.
const TEXTS: [&str; 4] = ["markdown", "md", "txt", "mdown"];
/// Key in `info.json` under which Bear keeps its own fields.
const BEAR: &str = "net.shinyfrog.bear";

/// Name of the file with a bundle's fields.
pub const INFO: &str = "info.json";

/// Whether a folder of this name is a bundle.
pub fn is_bundle(name: &str) -> bool {
    stem(name).is_some()
}

/// A bundle's name without its ending.
pub fn stem(name: &str) -> Option<&str> {
    let at = name.len().checked_sub(ENDING.len()).filter(|at| *at > 0)?;
    name.get(at..)?.eq_ignore_ascii_case(ENDING).then(|| &name[..at])
}

/// Whether a file of this name holds a bundle's text.
pub fn is_text(name: &str) -> bool {
    let ending = name.split_once('.').filter(|(stem, _)| stem.eq_ignore_ascii_case("text"));
    ending.is_some_and(|(_, ending)| TEXTS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// The file with the text of the bundle in `folder`; of several the first by name.
///
/// # Errors
/// The system's, when the folder cannot be listed.
pub fn text_of(folder: &Path) -> std::io::Result<Option<PathBuf>> {
    let is_named = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(is_text);
    let files = std::fs::read_dir(folder)?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    Ok(files.filter(is_named).min())
}

/// What a bundle says of its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Info {
    /// Whether Bear wrote it.
    pub from_bear: bool,
    /// Bear's unique identifier.
    pub identifier: Option<String>,
    pub pinned: bool,
    pub archived: bool,
    pub trashed: bool,
    pub encrypted: bool,
    /// Milliseconds since 1970 UTC.
    pub created_at_ms: Option<i64>,
    /// Milliseconds since 1970 UTC.
    pub updated_at_ms: Option<i64>,
}

impl Info {
    /// Reads `info.json`; what is not JSON says nothing.
    pub fn read(bytes: &[u8]) -> Self {
        let json: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let fields = &json[BEAR];
        let is_set = |key: &str| match &fields[key] {
            Value::Bool(set) => *set,
            Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
            _ => false,
        };
        let moment = |key: &str| fields[key].as_str().and_then(front_matter::moment_ms);
        let identifier = fields["uniqueIdentifier"].as_str().map(str::trim);
        Self {
            from_bear: fields.is_object() || json["creatorIdentifier"].as_str() == Some(BEAR),
            identifier: identifier.filter(|id| !id.is_empty() && !id.contains(char::is_control)).map(str::to_owned),
            pinned: is_set("pinned"),
            archived: is_set("archived"),
            trashed: is_set("trashed"),
            encrypted: is_set("encrypted"),
            created_at_ms: moment("creationDate"),
            updated_at_ms: moment("modificationDate"),
        }
    }
}

/// The document of a bundle called `name` (without its ending); `None` for one that is trashed or excluded.
pub fn document(
    id: &str,
    name: &str,
    mark: ChangeMark,
    text: String,
    info: &Info,
    exclusion: &Exclusion,
) -> Option<Document> {
    if info.trashed {
        return None;
    }
    let dialect = if info.from_bear { Dialect::Bear } else { Dialect::Plain };
    let mut parsed = Parsed::read(&text, dialect);
    if parsed.tags.iter().any(|tag| exclusion.covers(tag)) {
        return None;
    }
    let from_text = || match dialect {
        Dialect::Bear => Some(title::from_first_line(&text)).filter(|title| !title.is_empty()),
        _ => title::from_heading(&text),
    };
    let title = parsed.title.take().or_else(from_text).unwrap_or_else(|| title::tidy(name));
    let document = parsed.into_document(id, mark, title, text);
    let mut document = Document {
        created_at_ms: info.created_at_ms.or(document.created_at_ms),
        updated_at_ms: info.updated_at_ms.or(document.updated_at_ms),
        archived: info.archived,
        pinned: info.pinned,
        locked: info.encrypted,
        ..document
    };
    if info.encrypted {
        // Of a locked note nothing but title and tags is told.
        document = Document {
            text: String::new(),
            properties: Vec::new(),
            links: Vec::new(),
            attachments: Vec::new(),
            tasks: markup::Tasks::default(),
            ..document
        };
    }
    Some(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles_and_their_texts_are_known_by_name() {
        assert_eq!(stem("A note.v2.textbundle"), Some("A note.v2"));
        assert_eq!(stem("a.TextBundle"), Some("a"));
        assert!(!is_bundle(".textbundle") && !is_bundle("a.textbundles") && !is_bundle("ü"));
        assert!(is_text("text.markdown") && is_text("text.md") && is_text("Text.TXT"));
        assert!(!is_text("text.html") && !is_text("other.md") && !is_text("text"));
    }

    #[test]
    fn bear_s_fields_are_read_and_nonsense_says_nothing() {
        let json = r#"{"type": "net.daringfireball.markdown", "net.shinyfrog.bear": {"pinned": 1, "archived": true, "trashed": 0,
            "uniqueIdentifier": "AB-1", "creationDate": "2020-02-03T00:00:00Z", "modificationDate": "2020-02-03T01:00:00+0100"}}"#;
        let info = Info::read(json.as_bytes());
        assert_eq!(
            info,
            Info {
                from_bear: true,
                identifier: Some("AB-1".to_owned()),
                pinned: true,
                archived: true,
                created_at_ms: Some(1_580_688_000_000),
                updated_at_ms: Some(1_580_688_000_000),
                ..Info::default()
            }
        );
        for nonsense in ["", "[]", "{\"net.shinyfrog.bear\": 3}", "\u{0}"] {
            assert_eq!(Info::read(nonsense.as_bytes()), Info::default(), "{nonsense}");
        }
    }
}
