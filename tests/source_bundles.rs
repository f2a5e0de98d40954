//! TextBundles in folders, and backups that Bear wrote, read through the front door.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod source_support;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use bearsearch_core::Error;
use bearsearch_core::source::backup::BackupSource;
use bearsearch_core::source::markdown::MarkdownSource;
use bearsearch_core::source::{Document, Source, SourceOptions};
use source_support::documents;
use zip::write::SimpleFileOptions;

fn info(fields: &str) -> String {
    format!("{{\"version\": 2, \"net.shinyfrog.bear\": {{{fields}}}}}")
}

fn in_folder(files: &[(&str, &str)]) -> (tempfile::TempDir, MarkdownSource) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let source = MarkdownSource::open(folder.path(), SourceOptions::default()).unwrap();
    (folder, source)
}

fn marks(source: &mut dyn Source) -> BTreeMap<String, Box<[u8]>> {
    source.list().unwrap().entries.into_iter().map(|entry| (entry.id, entry.mark.0)).collect()
}

#[test]
fn a_bundle_in_a_folder_is_one_note() {
    let pinned = info("\"pinned\": 1, \"creationDate\": \"2020-02-03T00:00:00Z\"");
    let (folder, mut source) = in_folder(&[
        ("plain.md", "[[Trip]]"),
        ("sub/Trip.textbundle/text.md", "First line\n\n#two words# ![](assets/map.png)\n"),
        ("sub/Trip.textbundle/info.json", &pinned),
        ("sub/Trip.textbundle/assets/readme.md", "not a note of its own"),
        ("Untitled.TextBundle/text.txt", "words only"),
        ("Two.textbundle/text.md", "one"),
        ("Two.textbundle/text.txt", "two"),
        ("Empty.textbundle/info.json", "{}"),
    ]);
    let found = documents(&mut source);
    let ids: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(ids, ["Two.textbundle", "Untitled.TextBundle", "plain.md", "sub/Trip.textbundle"]);
    let trip = &found["sub/Trip.textbundle"];
    assert_eq!((trip.title.as_str(), trip.pinned, trip.archived), ("First line", true, false));
    assert_eq!(trip.tags, ["two words"], "Bear wrote it, so tags are read as Bear does");
    assert_eq!(trip.created_at_ms, Some(1_580_688_000_000));
    assert_eq!(trip.attachments[0].name, "map.png");
    assert_eq!(found["Untitled.TextBundle"].title, "Untitled");
    assert_eq!(found["Two.textbundle"].text, "one");

    // Marks agree with those of the listing, and each of the two files counts.
    let before = marks(&mut source);
    for document in found.values() {
        assert_eq!(document.mark.0, before[&document.id], "{}", document.id);
    }
    fs::write(folder.path().join("sub/Trip.textbundle/info.json"), info("\"trashed\": 1")).unwrap();
    let after = marks(&mut source);
    assert_ne!(after["sub/Trip.textbundle"], before["sub/Trip.textbundle"]);
    assert!(!documents(&mut source).contains_key("sub/Trip.textbundle"), "trashed notes are never read");
}

#[test]
fn a_bundle_that_is_a_link_is_not_followed() {
    let (outside, _) = in_folder(&[("Secret.textbundle/text.md", "secret")]);
    let (folder, mut source) = in_folder(&[("a.md", "a")]);
    std::os::unix::fs::symlink(outside.path().join("Secret.textbundle"), folder.path().join("In.textbundle")).unwrap();
    assert_eq!(documents(&mut source).len(), 1);
    assert!(source.read(&["In.textbundle".to_owned()]).unwrap().documents.is_empty());
}

/// Writes a backup with these files.
fn backup(folder: &Path, files: &[(&str, &str)]) -> PathBuf {
    let path = folder.join("Bear Notes.bear2bk");
    let mut zip = zip::ZipWriter::new(File::create(&path).unwrap());
    for (name, text) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    path
}

const BACKUP: &[(&str, &str)] = &[
    ("Bear Notes/tags.json", "[]"),
    ("Bear Notes/Bread.textbundle/text.markdown", "# Bread\n\nFeed the starter. #baking [[Night train]]\n"),
    (
        "Bear Notes/Bread.textbundle/info.json",
        r#"{"net.shinyfrog.bear": {"uniqueIdentifier": "AB-1", "pinned": 1, "modificationDate": "2020-02-03T00:00:00Z"}}"#,
    ),
    ("Bear Notes/Bread.textbundle/assets/text.md", "an attachment"),
    ("Night train.textbundle/text.txt", "Night train\n"),
    ("Gone.textbundle/text.txt", "Gone"),
    ("Gone.textbundle/info.json", r#"{"net.shinyfrog.bear": {"trashed": 1, "uniqueIdentifier": "AB-2"}}"#),
    ("Old.textbundle/text.txt", "Old"),
    ("Old.textbundle/info.json", r#"{"net.shinyfrog.bear": {"archived": 1, "uniqueIdentifier": "AB-3"}}"#),
    ("Locked.textbundle/text.txt", "Locked\nciphertext"),
    ("Locked.textbundle/info.json", r#"{"net.shinyfrog.bear": {"encrypted": 1, "uniqueIdentifier": "AB-4"}}"#),
    ("Twin.textbundle/text.txt", "Twin"),
    ("Twin.textbundle/info.json", r#"{"net.shinyfrog.bear": {"uniqueIdentifier": "AB-1"}}"#),
    ("Broken.textbundle/info.json", "{}"),
];

fn open(path: &Path) -> BackupSource {
    BackupSource::open(path, SourceOptions::default()).unwrap()
}

#[test]
fn a_backup_holds_the_notes_that_bear_put_into_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = backup(folder.path(), BACKUP);
    let mut source = open(&path);
    let found = documents(&mut source);
    let ids: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(ids, ["AB-1", "AB-3", "AB-4", "Night train.textbundle", "Twin.textbundle"]);
    let bread = &found["AB-1"];
    assert_eq!((bread.title.as_str(), bread.pinned), ("Bread", true));
    assert_eq!(bread.tags, ["baking"]);
    assert_eq!(bread.updated_at_ms, Some(1_580_688_000_000));
    assert_eq!(bread.url.as_deref(), Some("bear://x-callback-url/open-note?id=AB-1"));
    assert_eq!(bread.links[0].target, "Night train");
    assert!(found["AB-3"].archived);
    assert_eq!((found["AB-4"].text.as_str(), found["AB-4"].locked), ("", true));
    assert_eq!(found["AB-4"].title, "Locked");
    assert_eq!(found["Night train.textbundle"].url, None, "nobody knows its identifier");
    let listing = source.list().unwrap();
    assert_eq!(listing.skipped.len(), 1);
    assert_eq!(
        (listing.skipped[0].id.as_str(), listing.skipped[0].reason.as_str()),
        ("Broken.textbundle", "has no text")
    );
}

#[test]
fn a_note_of_another_backup_has_another_mark_only_where_it_differs() {
    let folder = tempfile::tempdir().unwrap();
    let before = marks(&mut open(&backup(folder.path(), BACKUP)));
    let changed: Vec<(&str, &str)> = BACKUP
        .iter()
        .map(|&(name, text)| {
            (name, if name == "Night train.textbundle/text.txt" { "Night train\n\nmore" } else { text })
        })
        .collect();
    let after = marks(&mut open(&backup(folder.path(), &changed)));
    let differing: Vec<&String> = before.keys().filter(|id| before[*id] != after[*id]).collect();
    assert_eq!(differing, ["Night train.textbundle"]);
}

#[test]
fn locked_notes_and_excluded_tags_of_a_backup_are_left_out_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = backup(folder.path(), BACKUP);
    let options = SourceOptions {
        index_locked_titles: false,
        exclude_tags: vec!["baking".to_owned()],
        ..SourceOptions::default()
    };
    let mut source = BackupSource::open(&path, options).unwrap();
    let found: Vec<String> = documents(&mut source).into_keys().collect();
    assert_eq!(found, ["AB-3", "Night train.textbundle", "Twin.textbundle"]);
}

#[test]
fn what_is_no_backup_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("a.bearbk");
    fs::write(&text, "no zip").unwrap();
    let error = |path: &Path| BackupSource::open(path, SourceOptions::default()).err().unwrap();
    assert!(matches!(error(&text), Error::SourceMalformed { .. }));
    assert!(matches!(error(&folder.path().join("none.bearbk")), Error::SourceMissing { .. }));
    let other = backup(folder.path(), &[("readme.txt", "hello")]);
    let refused = open(&other).list().unwrap_err();
    assert!(refused.to_string().contains("without a TextBundle"), "{refused}");
}

#[test]
fn a_damaged_text_is_skipped_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let path = folder.path().join("b.bearbk");
    let mut zip = zip::ZipWriter::new(File::create(&path).unwrap());
    for name in ["a", "b"] {
        zip.start_file(format!("{name}.textbundle/text.md"), stored).unwrap();
        zip.write_all(format!("the text of {name}").as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(13).position(|window| window == b"the text of a").unwrap();
    bytes[at] = b'T';
    fs::write(&path, bytes).unwrap();
    let mut source = open(&path);
    let ids: Vec<String> = source.list().unwrap().entries.into_iter().map(|entry| entry.id).collect();
    let batch = source.read(&ids).unwrap();
    let texts: Vec<&str> = batch.documents.iter().map(|document: &Document| document.text.as_str()).collect();
    assert_eq!(texts, ["the text of b"]);
    assert_eq!(batch.skipped[0].id, "a.textbundle");
}
