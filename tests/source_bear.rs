//! Bear libraries of both versions, with every awkward row, read through the front door and compared with what the
//! generator wrote down about them.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod source_support;

use std::collections::{BTreeMap, BTreeSet};

use bearsearch_core::source::bear::BearSource;
use bearsearch_core::source::{Document, Source, SourceKind, SourceOptions};
use source_support::{Library, ManifestNote};

/// Both versions with everything odd, and model changes that move the entity numbers.
const LIBRARIES: [&[&str]; 5] = [
    &["--bear", "2", "--hostile"],
    &["--bear", "1", "--hostile"],
    &["--bear", "2", "--hostile", "--decoys", "stale"],
    &["--bear", "1", "--decoys", "stale", "--shift-entities", "3"],
    &["--bear", "2", "--decoys", "none", "--shift-entities", "1"],
];

/// The id each live note should get: its own, or `pk:N` where that is missing or an older live note has it.
fn expected_ids(manifest: &[ManifestNote]) -> BTreeMap<String, &ManifestNote> {
    let mut expected = BTreeMap::new();
    for note in manifest.iter().filter(|note| note.is_live()) {
        let own = note.id.clone().filter(|id| !expected.contains_key(id));
        expected.insert(own.unwrap_or_else(|| format!("pk:{}", note.pk)), note);
    }
    expected
}

#[test]
fn every_library_lists_exactly_its_live_notes() {
    for arguments in LIBRARIES {
        let library = Library::generate(arguments);
        let listing = library.list();
        let ids: BTreeSet<&str> = listing.entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids.len(), listing.entries.len(), "an id twice in {arguments:?}");
        let expected = expected_ids(&library.manifest);
        assert_eq!(ids, expected.keys().map(String::as_str).collect(), "{arguments:?}");
        assert!(listing.warnings.is_empty() && listing.skipped.is_empty(), "{arguments:?}: {listing:?}");
    }
}

#[test]
fn every_document_is_what_the_generator_wrote() {
    for arguments in LIBRARIES {
        let library = Library::generate(arguments);
        let documents = library.documents();
        for (id, note) in expected_ids(&library.manifest) {
            let document = documents.get(&id).unwrap_or_else(|| panic!("{note:?} in {arguments:?}"));
            compare(document, note);
        }
    }
}

fn compare(document: &Document, note: &ManifestNote) {
    assert_eq!(document.tags, note.tags, "{note:?}");
    assert_eq!(document.locked, note.state == "encrypted", "{note:?}");
    assert_eq!(document.archived, note.state == "archived", "{note:?}");
    match note.title.as_deref() {
        _ if note.kind == "hostile-title-int" => assert_eq!(document.title, "2024"),
        Some(title) if !title.is_empty() => assert_eq!(document.title, title, "{note:?}"),
        _ => assert!(document.title.starts_with("quokka") || note.chars == 0, "{document:?}"),
    }
    if !matches!(note.kind.as_str(), "hostile-text-blob" | "hostile-bad-utf8") {
        assert_eq!(document.text.chars().count(), note.chars, "{note:?}");
    }
    if let Some(modified) = note.modified.filter(|_| !note.kind.contains("date")) {
        assert_eq!(document.updated_at_ms, Some(((modified + 978_307_200.0) * 1000.0).round() as i64), "{note:?}");
    }
}

#[test]
fn marks_of_list_and_read_agree() {
    let library = Library::generate(&["--hostile"]);
    let documents = library.documents();
    for entry in library.list().entries {
        assert_eq!(documents[&entry.id].mark, entry.mark, "{}", entry.id);
    }
}

#[test]
fn awkward_texts_arrive_whole() {
    let library = Library::generate(&["--notes", "0", "--hostile"]);
    assert_eq!(library.document_of_kind("nul").text, "# NUL inside\n\nbefore\0quokka after\n#edge\n");
    assert!(library.document_of_kind("crlf").text.contains("quokka crlf\r\n- [ ] todo\r\n"));
    assert!(library.document_of_kind("1MB").text.ends_with("quokka-at-the-very-end\n\n#edge\n"));
    assert_eq!(library.document_of_kind("hostile-text-blob").text, "# blob\nquokka blob");
    assert_eq!(library.document_of_kind("hostile-bad-utf8").text, "# bad\nquokka \u{fffd}\u{fffd}\u{fffd}");
    assert_eq!(library.document_of_kind("null-text").text, "");
    assert_eq!(library.document_of_kind("empty-note").title, "");
}

#[test]
fn awkward_dates_become_utc_or_nothing() {
    let library = Library::generate(&["--notes", "0", "--hostile"]);
    let updated = |kind: &str| library.document_of_kind(kind).updated_at_ms;
    let day_before_fixed_now = 1_764_547_200_000 - 86_400_000;
    assert_eq!(updated("integer-date"), Some(day_before_fixed_now));
    assert_eq!(updated("negative-date"), Some(978_307_200_000 - 86_400_500));
    assert_eq!(updated("future-date"), Some(1_764_547_200_000 + 60 * 365 * 86_400_000));
    for kind in ["null-dates", "hostile-date-text", "hostile-date-nan"] {
        assert_eq!(updated(kind), None, "{kind}");
    }
}

#[test]
fn links_open_the_note_and_nothing_ambiguous_gets_one() {
    let library = Library::generate(&["--notes", "0", "--hostile"]);
    let short = library.document_of_kind("short-id");
    assert_eq!(short.url.as_deref(), Some("bear://x-callback-url/open-note?id=SFNote2Intro0"));
    assert_eq!(library.document_of_kind("hostile-null-uid").url, None);
    let twins = library.manifest.iter().filter(|note| note.kind == "twin-a" || note.kind == "twin-b");
    let pks: Vec<i64> = twins.map(|note| note.pk).collect();
    library
        .execute(&format!("UPDATE ZSFNOTE SET ZUNIQUEIDENTIFIER = 'A B&id=C' WHERE Z_PK IN ({}, {})", pks[0], pks[1]));
    let documents = library.documents();
    let url = "bear://x-callback-url/open-note?id=A%20B%26id%3DC";
    assert_eq!(documents["A B&id=C"].url.as_deref(), Some(url));
    assert!(documents["A B&id=C"].text.contains("first quokka twin"));
    assert_eq!(documents[&format!("pk:{}", pks[1])].url, None);
}

#[test]
fn the_text_of_locked_notes_is_not_even_selected() {
    let library = Library::generate(&["--notes", "0"]);
    let before = library.list();
    // Bear leaves ZTEXT NULL there; whether it always does, nobody can say.
    library.execute("UPDATE ZSFNOTE SET ZTEXT = 'quokka secret' WHERE ZENCRYPTED = 1");
    assert_eq!(library.list().entries, before.entries, "a mark depends on the text of a locked note");
    let locked: Vec<Document> = library.documents().into_values().filter(|document| document.locked).collect();
    assert_eq!(locked.len(), 2);
    for document in locked {
        assert_eq!(document.text, "");
        assert!(document.title.starts_with("Private"), "{}", document.title);
        assert_eq!(document.tags, ["edge"]);
    }
}

#[test]
fn locked_titles_can_be_left_out() {
    let library = Library::generate(&["--notes", "0"]);
    let options = SourceOptions { index_locked_titles: false, ..SourceOptions::default() };
    let documents = source_support::documents(&mut BearSource::open(&library.path, options).unwrap());
    assert!(documents.values().all(|document| !document.locked && !document.title.starts_with("Private")));
    assert_eq!(documents.len() + 2, library.documents().len());
}

#[test]
fn a_note_locked_after_the_listing_is_read_without_its_text() {
    let library = Library::generate(&["--notes", "10", "--no-edge"]);
    let id = library.plain_note().id.clone().unwrap();
    let hidden = SourceOptions { index_locked_titles: false, ..SourceOptions::default() };
    let mut showing = library.open();
    let mut hiding = BearSource::open(&library.path, hidden).unwrap();
    showing.list().unwrap();
    hiding.list().unwrap();
    library.execute(&format!("UPDATE ZSFNOTE SET ZENCRYPTED = 1 WHERE ZUNIQUEIDENTIFIER = '{id}'"));
    let shown = showing.read(std::slice::from_ref(&id)).unwrap().documents.remove(0);
    assert!(shown.locked && shown.text.is_empty());
    assert!(hiding.read(&[id]).unwrap().documents.is_empty());
}

#[test]
fn excluded_tags_take_their_children_along_whatever_their_case() {
    let library = Library::generate(&[]);
    for (exclusion, prefix) in [("#Work/", "work"), ("ÉDITION", "édition"), ("two words#", "two words")] {
        let options = SourceOptions { exclude_tags: vec![exclusion.to_owned()], ..SourceOptions::default() };
        let documents = source_support::documents(&mut BearSource::open(&library.path, options).unwrap());
        let is_covered = |note: &ManifestNote| {
            note.tags.iter().any(|tag| {
                let tag = tag.to_lowercase();
                tag == prefix || tag.starts_with(&format!("{prefix}/"))
            })
        };
        let live: Vec<&ManifestNote> = library.manifest.iter().filter(|note| note.is_live()).collect();
        let kept = live.iter().filter(|note| !is_covered(note)).count();
        assert!(kept < live.len(), "{exclusion} covers nothing");
        assert_eq!(documents.len(), kept, "{exclusion}");
    }
}

#[test]
fn a_note_that_got_an_excluded_tag_after_the_listing_is_not_read() {
    let library = Library::generate(&["--notes", "10", "--no-edge"]);
    let note = library.plain_note();
    let options = SourceOptions { exclude_tags: vec!["private".to_owned()], ..SourceOptions::default() };
    let mut source = BearSource::open(&library.path, options).unwrap();
    source.list().unwrap();
    library.touch(&["retag", &note.pk.to_string(), "Private/diary"]);
    assert!(source.read(&[note.id.clone().unwrap()]).unwrap().documents.is_empty());
}

#[test]
fn every_change_changes_the_mark_of_its_note_alone() {
    let library = Library::generate(&["--notes", "20", "--no-edge"]);
    let note = library.plain_note();
    let (pk, id) = (note.pk.to_string(), note.id.clone().unwrap());
    let tag_of_note = &note.tags[0];
    let marks =
        || -> BTreeMap<String, _> { library.list().entries.into_iter().map(|entry| (entry.id, entry.mark)).collect() };
    let mut before = marks();
    let mut expect_change = |what: &str, change: &dyn Fn()| {
        change();
        let after = marks();
        for (other, mark) in &after {
            assert_eq!(before.get(other) == Some(mark), *other != id, "{what}: mark of {other}");
        }
        before = after;
    };
    for action in
        [&["edit"][..], &["edit", "--keep-mtime"], &["rename"], &["archive"], &["unarchive"], &["pin"], &["unpin"]]
    {
        expect_change(action[0], &|| library.touch(&[&action[..1], &[&pk], &action[1..]].concat()));
    }
    // What other programs do behind Bear's back, without its counter.
    let alone = format!("WHERE Z_PK = {pk}");
    for sql in [
        "UPDATE ZSFNOTE SET ZMODIFICATIONDATE = ZMODIFICATIONDATE + 0.000001",
        "UPDATE ZSFNOTE SET ZCREATIONDATE = NULL",
        "UPDATE ZSFNOTE SET ZTITLE = ZTITLE || '!'",
        "UPDATE ZSFNOTE SET ZTEXT = ZTEXT || '!'",
        "UPDATE ZSFNOTE SET ZENCRYPTED = 1",
    ] {
        expect_change(sql, &|| library.execute(&format!("{sql} {alone}")));
    }
    let link = format!("INSERT INTO Z_5TAGS SELECT {pk}, max(Z_PK) + 1 FROM ZSFNOTETAG");
    expect_change("a tag of its own", &|| {
        library.execute(&format!(
            "{link}; INSERT INTO ZSFNOTETAG (Z_PK, ZTITLE) SELECT max(Z_PK) + 1, 'fresh' FROM ZSFNOTETAG"
        ));
    });
    expect_change("a tag renamed", &|| {
        library.execute("UPDATE ZSFNOTETAG SET ZTITLE = 'renamed' WHERE ZTITLE = 'fresh'")
    });
    expect_change("a tag removed", &|| {
        library.execute(&format!(
            "DELETE FROM Z_5TAGS WHERE Z_5NOTES = {pk} AND Z_13TAGS = (SELECT Z_PK FROM ZSFNOTETAG WHERE ZTITLE = '{tag_of_note}')"
        ));
    });
    expect_change("another identity under the same id", &|| {
        library.execute(&format!("UPDATE ZSFNOTE SET Z_PK = Z_PK + 1000 {alone}"));
    });
}

#[test]
fn notes_come_and_go_with_trash_deletion_and_restoring() {
    let library = Library::generate(&["--notes", "10", "--no-edge"]);
    let note = library.plain_note();
    let (pk, id) = (note.pk.to_string(), note.id.clone().unwrap());
    let is_listed = || library.list().entries.iter().any(|entry| entry.id == id);
    for (action, expected) in [("trash", false), ("untrash", true), ("delete", false), ("purge", false)] {
        library.touch(&[action, &pk]);
        assert_eq!(is_listed(), expected, "after {action}");
    }
    let before = library.list().entries.len();
    library.touch(&["add"]);
    assert_eq!(library.list().entries.len(), before + 1);
}

#[test]
fn reading_leaves_out_what_vanished_and_what_was_never_listed() {
    let library = Library::generate(&["--notes", "10", "--no-edge"]);
    let note = library.plain_note();
    let id = note.id.clone().unwrap();
    let mut source = library.open();
    assert!(source.read(std::slice::from_ref(&id)).unwrap().documents.is_empty(), "read before any listing");
    source.list().unwrap();
    let twice = [id.clone(), id.clone(), "no such id".to_owned(), "pk:1".to_owned(), String::new()];
    assert_eq!(source.read(&twice).unwrap().documents.len(), 1);
    library.touch(&["trash", &note.pk.to_string()]);
    assert!(source.read(std::slice::from_ref(&id)).unwrap().documents.is_empty());
}

#[test]
fn a_note_that_took_the_key_of_another_is_not_mistaken_for_it() {
    let library = Library::generate(&["--notes", "10", "--no-edge"]);
    let note = library.plain_note();
    let mut source = library.open();
    source.list().unwrap();
    library.execute(&format!("UPDATE ZSFNOTE SET ZUNIQUEIDENTIFIER = 'ANOTHER' WHERE Z_PK = {}", note.pk));
    assert!(source.read(&[note.id.clone().unwrap()]).unwrap().documents.is_empty());
}

#[test]
fn a_library_without_any_tag_is_read() {
    let library = Library::generate(&["--notes", "5", "--no-edge"]);
    library.execute("DELETE FROM Z_5TAGS; DELETE FROM ZSFNOTETAG; DELETE FROM Z_5PINNEDINTAGS");
    assert!(library.list().warnings.is_empty());
    assert!(library.documents().values().all(|document| document.tags.is_empty()));
}

#[test]
fn a_library_whose_tags_cannot_be_found_is_read_with_a_warning() {
    let library = Library::generate(&["--notes", "5", "--no-edge", "--decoys", "none"]);
    library.execute("DROP TABLE Z_5TAGS");
    let listing = library.list();
    assert_eq!(
        listing.warnings,
        ["tags are unavailable: no table joins notes and tags; notes are found by their text all the same"]
    );
    assert_eq!(library.documents().len(), listing.entries.len());
}

#[test]
fn columns_that_a_version_lacks_read_as_their_default() {
    let library = Library::generate(&["--notes", "10", "--no-edge"]);
    let kept = "Z_PK, ZTEXT, ZTRASHED, ZPERMANENTLYDELETED";
    library.execute(&format!(
        "CREATE TABLE bare AS SELECT {kept} FROM ZSFNOTE; DROP TABLE ZSFNOTE; ALTER TABLE bare RENAME TO ZSFNOTE"
    ));
    let documents = library.documents();
    assert_eq!(documents.len(), library.manifest.iter().filter(|note| note.is_live()).count());
    for document in documents.values() {
        assert!(document.id.starts_with("pk:") && !document.title.is_empty() && !document.text.is_empty());
        assert_eq!(
            (document.updated_at_ms, document.archived, document.pinned, document.locked),
            (None, false, false, false)
        );
    }
}

#[test]
fn the_door_for_all_kinds_opens_a_bear_library() {
    let library = Library::generate(&["--notes", "3", "--no-edge"]);
    let mut source = bearsearch_core::source::open(SourceKind::Bear, &library.path, SourceOptions::default()).unwrap();
    assert_eq!(source.list().unwrap().entries, library.list().entries);
}
