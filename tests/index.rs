//! The engine through its public API: folders of Markdown in, answers out. Vectors are made up here, because what is tested
//! is where they go, not what they mean.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::{fs, path::Path};

use bearsearch_core::{
    Error, embeddings, library, recover,
    registry::{self, SourceSpec},
    scope::{Filters, Scope},
    search::{self, Mode, QueryInput, Request, Response},
    source::SourceKind,
    store::Store,
    sync::{self, SourceReport, SyncOptions},
    vector::Codec,
};
use tempfile::TempDir;

struct Library {
    folder: TempDir,
    store: Store,
}

impl Library {
    fn new(notes: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("vault")).unwrap();
        let store = Store::open(&folder.path().join("index.sqlite")).unwrap();
        let library = Self { folder, store };
        notes.iter().for_each(|(name, text)| library.write(name, text));
        library.sync();
        library
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.vault().join(name), text).unwrap();
    }

    fn vault(&self) -> std::path::PathBuf {
        self.folder.path().join("vault")
    }

    fn sync(&self) -> SourceReport {
        self.sync_with(&SyncOptions::default())
    }

    fn sync_with(&self, options: &SyncOptions) -> SourceReport {
        let spec = SourceSpec { kind: SourceKind::Markdown, path: self.vault(), name: None, register: true };
        sync::sync(&self.store, &spec, options, &mut |_, _| Ok(())).unwrap()
    }

    fn filters(&self) -> Filters {
        let sources = self.store.read(registry::sources).unwrap();
        Filters { sources: sources.iter().map(|row| row.id).collect(), ..Filters::default() }
    }

    fn request(&self, query: &str, mode: Mode) -> Request {
        Request {
            queries: vec![QueryInput { text: query.to_owned(), fluency: 1.0, ..QueryInput::default() }],
            mode,
            limit: 10,
            filters: self.filters(),
            no_embedding: Some("no model".to_owned()),
            ..Request::default()
        }
    }

    fn search(&self, query: &str, mode: Mode) -> Response {
        search::search(&self.store, &self.request(query, mode)).unwrap()
    }

    fn found(&self, query: &str) -> Vec<String> {
        ids(&self.search(query, Mode::Auto))
    }

    /// Gives every waiting text the vector that `vector` makes of it.
    fn embed(&self, fingerprint: &str, vector: impl Fn(&str) -> Vec<f32>) -> i64 {
        let model = embeddings::use_model(&self.store, fingerprint, fingerprint, 4).unwrap();
        let waiting = self.store.read(|conn| embeddings::pending(conn, model.id, 0, 1000)).unwrap();
        for text in waiting {
            embeddings::add(&self.store, model.id, &[text.id], &vector(&text.text)).unwrap();
        }
        model.id
    }
}

fn ids(response: &Response) -> Vec<String> {
    response.hits.iter().map(|hit| hit.document.external_id.clone()).collect()
}

/// Texts about bread point one way, all others another.
fn about_bread(text: &str) -> Vec<f32> {
    if text.contains("dough") || text.contains("bread") { vec![1.0, 0.0, 0.0, 0.0] } else { vec![0.0, 1.0, 0.0, 0.0] }
}

const NOTES: &[(&str, &str)] = &[
    ("bread.md", "# Sourdough\n\nFeed the starter before you mix the dough.\n\n#cooking/bread\n"),
    ("boat.md", "# Boat\n\nVarnish the tiller in spring.\n\n#work\n"),
    ("shop.md", "# Shop\n\nBuy varnish and flour.\n\n#workshop\n"),
];

#[test]
fn words_of_a_note_find_it_with_its_lines() {
    let library = Library::new(NOTES);
    let response = library.search("tiller", Mode::Fts);
    assert_eq!(ids(&response), ["boat.md"]);
    assert_eq!(response.hits[0].excerpt.line_hits, [3]);
    assert_eq!(response.hits[0].text_rank, Some(1));
    assert_eq!(response.mode, Mode::Fts);
}

#[test]
fn a_second_sync_of_unchanged_notes_does_nothing() {
    let library = Library::new(NOTES);
    let report = library.sync();
    assert_eq!((report.added, report.changed, report.removed, report.documents), (0, 0, 0, 3));
}

#[test]
fn changed_and_removed_notes_are_followed() {
    let library = Library::new(NOTES);
    library.write("boat.md", "# Boat\n\nSold it, mooring and all.\n");
    fs::remove_file(library.vault().join("shop.md")).unwrap();
    library.write("new.md", "# New\n\nAnchor.\n");
    let report = library.sync();
    assert_eq!((report.added, report.changed, report.removed), (1, 1, 1));
    assert_eq!(library.found("mooring"), ["boat.md"]);
    assert!(library.found("varnish").is_empty());
    assert_eq!(library.found("anchor"), ["new.md"]);
}

#[test]
fn a_note_that_moved_to_a_cloud_stays_as_it_was() {
    let library = Library::new(NOTES);
    fs::rename(library.vault().join("boat.md"), library.vault().join(".boat.md.icloud")).unwrap();
    let report = library.sync();
    assert_eq!((report.removed, report.documents, report.skipped.len()), (0, 3, 1));
    assert_eq!(report.skipped[0].id, "boat.md");
    assert_eq!(library.found("tiller"), ["boat.md"]);
    fs::remove_file(library.vault().join(".boat.md.icloud")).unwrap();
    assert_eq!(library.sync().removed, 1);
}

#[test]
fn a_source_is_added_with_a_name_and_patterns_of_its_own() {
    let library = Library::new(&[]);
    let folder = library.folder.path().join("second");
    fs::create_dir(&folder).unwrap();
    for name in ["keep.md", "draft-a.md", "draft-b.md"] {
        fs::write(folder.join(name), format!("# {name}\n")).unwrap();
    }
    let spec = |name: Option<&str>| SourceSpec {
        kind: SourceKind::Markdown,
        path: folder.clone(),
        name: name.map(str::to_owned),
        register: false,
    };
    let patterns = ["draft-*".to_owned(), "!draft-b.md".to_owned()];
    assert_eq!(registry::add(&library.store, &spec(Some("mine")), Some(&patterns)).unwrap(), "mine");
    let sync = || sync::sync(&library.store, &spec(None), &SyncOptions::default(), &mut |_, _| Ok(())).unwrap();
    assert_eq!((sync().documents, sync().name), (2, "mine".to_owned()));
    // Fewer patterns let more in, and a name may change; what was left out goes at once.
    assert_eq!(registry::add(&library.store, &spec(Some("ours")), Some(&[])).unwrap(), "ours");
    assert_eq!(sync().documents, 3);
    registry::add(&library.store, &spec(None), Some(&["draft-*".to_owned()])).unwrap();
    assert_eq!(sync().documents, 1);
    let rows = library.store.read(registry::sources).unwrap();
    let row = rows.iter().find(|row| row.name == "ours").unwrap();
    assert!(row.registered);
    assert_eq!(row.exclude, ["draft-*"]);
}

#[test]
fn a_name_that_another_source_has_and_a_pattern_that_is_none_are_refused() {
    let library = Library::new(&[]);
    let spec = |name: &str| SourceSpec {
        kind: SourceKind::Markdown,
        path: library.folder.path().join("elsewhere"),
        name: Some(name.to_owned()),
        register: true,
    };
    let taken = registry::add(&library.store, &spec("vault"), None).unwrap_err().to_string();
    assert!(taken.contains("is called \"vault\" already"), "{taken}");
    let broken = registry::add(&library.store, &spec("other"), Some(&["a[".to_owned()])).unwrap_err();
    assert!(matches!(broken, Error::Usage(_)), "{broken}");
    assert_eq!(library.store.read(registry::sources).unwrap().len(), 1);
}

#[test]
fn the_words_of_a_removed_note_are_gone_from_the_file() {
    let library = Library::new(&[("keep.md", "# Keep\n\nnothing\n"), ("go.md", "# Go\n\nzyzzyvaqua\n")]);
    fs::remove_file(library.vault().join("go.md")).unwrap();
    library.sync();
    library.store.checkpoint().unwrap();
    for file in ["index.sqlite", "index.sqlite-wal"] {
        let bytes = fs::read(library.folder.path().join(file)).unwrap_or_default();
        assert!(!bytes.windows(6).any(|window| window == b"zyzzyv"), "{file} still holds the word");
    }
}

#[test]
fn the_words_of_many_removed_notes_are_gone_from_the_file() {
    let names: Vec<String> = (0..40).map(|number| format!("go{number}.md")).collect();
    let texts: Vec<String> = (0..40).map(|number| format!("# Go\n\nzyzzyvaqua{number}\n")).collect();
    let notes: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let library = Library::new(&notes);
    names.iter().skip(22).for_each(|name| fs::remove_file(library.vault().join(name)).unwrap());
    library.sync();
    library.store.checkpoint().unwrap();
    let bytes = fs::read(library.folder.path().join("index.sqlite")).unwrap();
    assert!(!bytes.windows(12).any(|window| window == b"zyzzyvaqua39"));
    assert_eq!(library.found("zyzzyvaqua0")[0], "go0.md");
}

#[test]
fn a_dry_run_counts_and_writes_nothing() {
    let library = Library::new(NOTES);
    library.write("new.md", "# New\n\nAnchor.\n");
    let report = library.sync_with(&SyncOptions { dry_run: true, ..SyncOptions::default() });
    assert_eq!(report.added, 1);
    assert!(library.found("anchor").is_empty());
}

#[test]
fn a_source_that_cannot_be_read_changes_nothing_and_is_named() {
    let library = Library::new(NOTES);
    fs::rename(library.vault(), library.folder.path().join("elsewhere")).unwrap();
    let report = library.sync();
    assert!(report.error.unwrap().contains("vault"));
    assert_eq!(library.found("tiller"), ["boat.md"]);
}

#[test]
fn most_notes_vanishing_at_once_are_hidden_and_come_back_unharmed() {
    let names: Vec<String> = (0..30).map(|number| format!("n{number}.md")).collect();
    let notes: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "# Note\n\nvarnish\n")).collect();
    let library = Library::new(&notes);
    let model = library.embed("model", about_bread);
    let aside = library.folder.path().join("aside");
    fs::create_dir(&aside).unwrap();
    let moved = |from: &Path, to: &Path| {
        names.iter().skip(5).for_each(|name| fs::rename(from.join(name), to.join(name)).unwrap());
    };
    moved(&library.vault(), &aside);
    let report = library.sync();
    assert_eq!((report.removed, report.hidden, report.documents), (25, 25, 5));
    assert_eq!(library.found("varnish").len(), 5);
    moved(&aside, &library.vault());
    let report = library.sync();
    assert_eq!((report.hidden, report.documents), (0, 30));
    let coverage = library.store.read(|conn| embeddings::coverage(conn, model)).unwrap();
    assert_eq!(coverage.pending, 0);
    moved(&library.vault(), &aside);
    library.sync();
    let report = library.sync_with(&SyncOptions { accept_loss: true, ..SyncOptions::default() });
    assert_eq!((report.hidden, report.documents), (0, 5));
    moved(&aside, &library.vault());
    assert_eq!(library.sync().added, 25);
}

#[test]
fn a_wish_to_leave_most_out_is_done_at_once() {
    let names: Vec<String> = (0..30).map(|number| format!("n{number}.md")).collect();
    let notes: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "# Note\n\nvarnish\n")).collect();
    let library = Library::new(&notes);
    let mut options = SyncOptions::default();
    options.source.exclude_globs = vec!["n1*.md".to_owned(), "n2*.md".to_owned()];
    let report = library.sync_with(&options);
    assert_eq!((report.hidden, report.documents), (0, 8));
}

#[test]
fn counts_are_those_of_the_rows_wherever_a_sync_is_stopped() {
    let library = Library::new(&[]);
    let counts = || {
        let counted = "SELECT documents, (SELECT value FROM meta WHERE key = 'chunks') FROM sources";
        let rows = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks)";
        let pair = |conn: &rusqlite::Connection, sql| conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
        library.store.read(|conn| Ok::<[(i64, i64); 2], _>([pair(conn, counted)?, pair(conn, rows)?])).unwrap()
    };
    for round in 0..2 {
        let text = format!("\n\nround {round} {}", "harbour ".repeat(1000));
        (0..300).for_each(|number| library.write(&format!("{number}.md"), &format!("# {number}{text}")));
        if round == 1 {
            (0..100).for_each(|number| fs::remove_file(library.vault().join(format!("{number}.md"))).unwrap());
        }
        let spec = SourceSpec { kind: SourceKind::Markdown, path: library.vault(), name: None, register: true };
        let options = SyncOptions { budget: Some(std::time::Duration::from_secs(3600)), ..SyncOptions::default() };
        let stopped = sync::sync(&library.store, &spec, &options, &mut |done, _| {
            if done > 0 { Err(Error::Usage("stopped".to_owned())) } else { Ok(()) }
        });
        assert!(stopped.is_err());
        let [counted, rows] = counts();
        assert!(counted == rows && rows.0 > 0, "round {round}: {counted:?} counted, {rows:?} there");
        library.sync();
        let [counted, rows] = counts();
        assert_eq!((counted, rows.0), (rows, 300 - 100 * round));
    }
}

#[test]
fn a_sync_with_a_budget_stops_in_time_and_the_next_one_goes_on() {
    let names: Vec<String> = (0..300).map(|number| format!("n{number}.md")).collect();
    let library = Library::new(&[]);
    names.iter().for_each(|name| library.write(name, "# Note\n\nvarnish\n"));
    let options = SyncOptions { budget: Some(std::time::Duration::ZERO), ..SyncOptions::default() };
    let first = library.sync_with(&options);
    assert!(first.remaining > 0);
    assert_eq!(first.documents + first.remaining, 300);
    let mut rounds = 0;
    while library.sync_with(&options).remaining > 0 {
        rounds += 1;
        assert!(rounds < 300, "each round makes progress");
    }
    assert_eq!(library.sync().documents, 300);
}

#[test]
fn a_tag_finds_itself_and_its_children_and_no_longer_word() {
    let library = Library::new(NOTES);
    let with = |tag: &str| {
        let filters = Filters { tags_all: vec![tag.to_owned()], ..library.filters() };
        let (notes, total) = library.store.read(|conn| library::list(conn, &Scope::new(&filters), 10, 0)).unwrap();
        assert_eq!(notes.len(), total);
        notes.into_iter().map(|note| note.external_id).collect::<Vec<_>>()
    };
    assert_eq!(with("work"), ["boat.md"]);
    assert_eq!(with("COOKING"), ["bread.md"]);
    assert!(with("nobody-has-this").is_empty());
}

#[test]
fn filters_are_applied_before_a_leg_cuts_its_list() {
    let mut notes: Vec<(String, String)> =
        (0..400).map(|number| (format!("n{number}.md"), "# Note\n\nvarnish varnish varnish\n".to_owned())).collect();
    notes.push((
        "rare.md".to_owned(),
        "# Rare\n\na long note that says varnish once among many other words\n#rare\n".to_owned(),
    ));
    let notes: Vec<(&str, &str)> = notes.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let library = Library::new(&notes);
    library
        .embed("model", |text| if text.contains("Rare") { vec![0.0, 0.0, 1.0, 0.0] } else { vec![1.0, 0.0, 0.0, 0.0] });
    let mut request = library.request("varnish", Mode::Hybrid);
    request.limit = 1;
    request.queries[0].embedding = Some(vec![1.0, 0.0, 0.0, 0.0]);
    (request.fingerprint, request.no_embedding) = (Some("model".to_owned()), None);
    request.filters.tags_all = vec!["rare".to_owned()];
    let response = search::search(&library.store, &request).unwrap();
    assert_eq!(ids(&response), ["rare.md"]);
    assert_eq!((response.hits[0].text_rank, response.hits[0].vector_rank), (Some(1), Some(1)));
}

#[test]
fn text_is_searchable_before_the_first_vector_exists() {
    let library = Library::new(NOTES);
    let response = library.search("varnish", Mode::Hybrid);
    assert_eq!(response.mode, Mode::Fts);
    assert_eq!(response.vector.reason.as_deref(), Some("no model"));
    assert_eq!(response.hits.len(), 2);
}

#[test]
fn vectors_find_what_words_do_not() {
    let library = Library::new(NOTES);
    library.embed("model", about_bread);
    let mut request = library.request("levain", Mode::Hybrid);
    request.queries[0].embedding = Some(vec![1.0, 0.0, 0.0, 0.0]);
    (request.fingerprint, request.no_embedding) = (Some("model".to_owned()), None);
    let response = search::search(&library.store, &request).unwrap();
    assert_eq!(response.mode, Mode::Hybrid);
    assert_eq!(ids(&response)[0], "bread.md");
    assert_eq!(response.hits[0].vector_rank, Some(1));
    assert!((response.hits[0].cosine.unwrap() - 1.0).abs() < 1e-6);
}

#[test]
fn a_query_embedded_by_another_model_skips_the_vector_leg_and_says_so() {
    let library = Library::new(NOTES);
    library.embed("model", about_bread);
    let mut request = library.request("varnish", Mode::Hybrid);
    request.queries[0].embedding = Some(vec![1.0, 0.0, 0.0, 0.0]);
    (request.fingerprint, request.no_embedding) = (Some("other".to_owned()), None);
    let response = search::search(&library.store, &request).unwrap();
    assert_eq!(response.mode, Mode::Fts);
    assert!(response.vector.reason.unwrap().contains("another model"));
}

#[test]
fn a_second_model_takes_over_when_it_is_complete_and_not_before() {
    let library = Library::new(NOTES);
    library.embed("old", about_bread);
    let new = embeddings::use_model(&library.store, "new", "new", 4).unwrap();
    assert!(!new.live);
    let waiting = library.store.read(|conn| embeddings::pending(conn, new.id, 0, 10)).unwrap();
    assert_eq!(waiting.len(), 3);
    for (count, text) in waiting.iter().enumerate() {
        let live = library.store.read(embeddings::live_model).unwrap().unwrap();
        assert_eq!(live.name, "old", "after {count} vectors");
        embeddings::add(&library.store, new.id, &[text.id], &[0.0, 1.0, 0.0, 0.0]).unwrap();
    }
    let models = library.store.read(embeddings::models).unwrap();
    assert_eq!(models.iter().map(|model| (model.name.as_str(), model.live)).collect::<Vec<_>>(), [("new", true)]);
}

#[test]
fn a_vector_that_comes_after_its_text_changed_is_dropped() {
    let library = Library::new(NOTES);
    let model = embeddings::use_model(&library.store, "model", "model", 4).unwrap();
    let waiting = library.store.read(|conn| embeddings::pending(conn, model.id, 0, 10)).unwrap();
    let boat = waiting.iter().find(|text| text.text.contains("tiller")).unwrap();
    library.write("boat.md", "# Boat\n\nSold it.\n");
    library.sync();
    assert_eq!(embeddings::add(&library.store, model.id, &[boat.id], &[1.0, 0.0, 0.0, 0.0]).unwrap(), 0);
    let coverage = library.store.read(|conn| embeddings::coverage(conn, model.id)).unwrap();
    assert_eq!((coverage.embedded, coverage.pending), (0, 3));
}

#[test]
fn a_rebuild_keeps_the_vectors_of_unchanged_texts() {
    let library = Library::new(NOTES);
    let model = library.embed("model", about_bread);
    library.sync_with(&SyncOptions { rebuild: true, ..SyncOptions::default() });
    embeddings::prune_all(&library.store).unwrap();
    let coverage = library.store.read(|conn| embeddings::coverage(conn, model)).unwrap();
    assert_eq!((coverage.embedded, coverage.pending), (3, 0));
    assert_eq!(library.found("tiller"), ["boat.md"]);
}

#[test]
fn another_chunk_policy_cuts_anew_and_keeps_what_came_out_the_same() {
    let long = format!("# Long\n\n{}", "one two three four five six seven. ".repeat(60));
    let library = Library::new(&[("long.md", &long), ("short.md", "# Short\n\nbrief\n")]);
    let model = library.embed("model", about_bread);
    library.sync_with(&SyncOptions { max_tokens: Some(256), ..SyncOptions::default() });
    let coverage = library.store.read(|conn| embeddings::coverage(conn, model)).unwrap();
    assert_eq!(coverage.embedded, 1);
    assert!(coverage.pending > 1);
    // No model at hand later on does not cut everything back.
    library.sync();
    assert_eq!(library.store.read(|conn| embeddings::coverage(conn, model)).unwrap(), coverage);
}

#[test]
fn many_vectors_are_quantized_once_and_searched_as_codes() {
    let texts: Vec<(String, String)> =
        (0..1100).map(|number| (format!("n{number}.md"), format!("# Note {number}\n\nword{number}\n"))).collect();
    let notes: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let library = Library::new(&notes);
    library.embed("model", about_bread);
    library.embed("model", about_bread);
    assert!(embeddings::quantize(&library.store, Codec::default()).unwrap());
    assert!(!embeddings::quantize(&library.store, Codec::default()).unwrap(), "nothing changed since");
    let mut request = library.request("zzzz", Mode::Vector);
    request.queries[0].embedding = Some(vec![0.0, 1.0, 0.0, 0.0]);
    (request.fingerprint, request.no_embedding) = (Some("model".to_owned()), None);
    search::search(&library.store, &request).unwrap();
    assert!(library.store.vector_cache_bytes() > 0, "the scan read the vectors and not their codes");
}

#[test]
fn vectors_of_another_width_are_refused() {
    let library = Library::new(NOTES);
    let model = library.embed("model", about_bread);
    let refused = embeddings::add(&library.store, model, &[1], &[1.0, 0.0]);
    assert!(matches!(refused, Err(Error::Dimension { expected: 4, found: 2 })));
}

#[test]
fn parts_of_words_are_searched_when_words_find_little() {
    let library = Library::new(NOTES);
    let response = library.search("arnis", Mode::Auto);
    assert!(response.typo.ran);
    assert_eq!(response.hits.len(), 2);
}

#[test]
fn a_damaged_full_text_table_leaves_the_plain_scan() {
    let library = Library::new(NOTES);
    library.store.write(|tx| Ok(tx.execute_batch("DROP TABLE words")?)).unwrap();
    let response = library.search("tiller", Mode::Auto);
    assert_eq!(response.mode, Mode::Like);
    assert!(!response.text.ran);
    assert_eq!(ids(&response), ["boat.md"]);
}

#[test]
fn an_empty_query_and_a_limit_of_zero_are_refused_in_a_sentence() {
    let library = Library::new(NOTES);
    let empty = search::search(&library.store, &library.request("  ", Mode::Auto));
    assert!(matches!(empty, Err(Error::Usage(_))));
    let mut request = library.request("tiller", Mode::Auto);
    request.limit = 0;
    assert!(matches!(search::search(&library.store, &request), Err(Error::Usage(_))));
}

#[test]
fn several_queries_are_answered_as_one() {
    let library = Library::new(NOTES);
    let mut request = library.request("tiller", Mode::Fts);
    request.queries.push(QueryInput { text: "starter".to_owned(), ..QueryInput::default() });
    let mut found = ids(&search::search(&library.store, &request).unwrap());
    found.sort();
    assert_eq!(found, ["boat.md", "bread.md"]);
}

#[test]
fn notes_are_found_by_id_name_and_id_or_title() {
    let library = Library::new(NOTES);
    let find = |reference: &str| {
        let scope = Scope::new(&library.filters());
        library.store.read(|conn| library::find(conn, reference, &scope)).unwrap().len()
    };
    assert_eq!(find("boat.md"), 1);
    assert_eq!(find("vault:boat.md"), 1);
    assert_eq!(find("BOAT"), 1);
    assert_eq!(find("nothing"), 0);
}

#[test]
fn an_index_from_the_future_is_refused() {
    let library = Library::new(NOTES);
    library.store.write(|tx| Ok(tx.pragma_update(None, "user_version", 999)?)).unwrap();
    let path = library.store.path().to_owned();
    assert!(matches!(Store::open(&path), Err(Error::IndexTooNew { found: 999, .. })));
}

#[test]
fn another_programs_file_is_never_taken_for_an_index() {
    let folder = TempDir::new().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "a text that is long enough to hold a header of a hundred bytes ".repeat(4)).unwrap();
    assert!(Store::open(&text).is_err());
    assert!(matches!(recover::replace(&text, false), Err(Error::IndexUnusable { .. })));
    let foreign = folder.path().join("foreign.sqlite");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(matches!(Store::open(&foreign), Err(Error::IndexUnusable { .. })));
    assert!(matches!(Store::open(folder.path()), Err(Error::IndexUnusable { .. })));
}

#[cfg(unix)]
#[test]
fn the_index_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("new").join("index.sqlite");
    let store = Store::open(&path).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(store.path()), 0o600);
    assert_eq!(mode(&folder.path().join("new").join("index.sqlite-wal")), 0o600);
}

#[test]
fn an_index_of_every_older_schema_is_migrated_with_its_vectors() {
    for version in 1..bearsearch_core::schema::SCHEMA_VERSION {
        migrates_from(version);
    }
}

fn migrates_from(version: i64) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.sqlite");
    let stored = format!("tests/data/index-schema-{version}.sqlite");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(stored), &path).unwrap();
    let store = Store::open(&path).unwrap();
    let found = |query: &str| {
        let filters = Filters { sources: vec![1], ..Filters::default() };
        let queries = vec![QueryInput { text: query.to_owned(), ..QueryInput::default() }];
        let request = Request { queries, mode: Mode::Fts, limit: 10, filters, ..Request::default() };
        ids(&search::search(&store, &request).unwrap())
    };
    // What the first schema's tokenizer could not find: a word inside a run, and the letters that ß stands for.
    assert_eq!(found("東京"), ["kyoto.md"]);
    assert_eq!(found("strasse"), ["gruss.md"]);
    assert_eq!(found("fuelpumpv2"), ["boat.md"]);
    let model = store.read(embeddings::live_model).unwrap().unwrap();
    let coverage = store.read(|conn| embeddings::coverage(conn, model.id)).unwrap();
    assert_eq!((coverage.embedded, coverage.pending), (4, 0));
    let version =
        store.read(|conn| Ok(conn.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))?)).unwrap();
    assert_eq!(version, bearsearch_core::schema::SCHEMA_VERSION);
}

#[test]
fn two_threads_search_and_write_at_once() {
    let library = Library::new(NOTES);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..30).for_each(|_| assert_eq!(library.found("tiller"), ["boat.md"])));
        }
        for round in 0..10 {
            library.write("shop.md", &format!("# Shop\n\nround {round}\n"));
            library.sync();
        }
    });
}

#[test]
fn the_bundled_sqlite_has_no_common_mutex() {
    let conn = rusqlite::Connection::open_in_memory().unwrap();
    let mut statement = conn.prepare("PRAGMA compile_options").unwrap();
    let options: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(!options.iter().any(|option| option.contains("MEMORY_MANAGEMENT")), "{options:?}");
}

#[test]
fn a_passage_deep_in_a_journal_is_found_before_notes_that_hold_one_of_its_words() {
    let day = |number: usize| format!("## Day {number}\n\nweather, errands and the garden, letter {number}\n\n");
    let mut journal: String = (0..900).map(day).collect();
    journal
        .insert_str(journal.len() / 2, "\n\n## Lisbon\n\nthe dentist moved the appointment to the harbour clinic\n\n");
    let library = Library::new(NOTES);
    library.write("journal.md", &format!("# Journal\n\n{journal}"));
    for (number, word) in ["dentist", "appointment", "clinic", "lisbon"].into_iter().cycle().take(40).enumerate() {
        library.write(&format!("one{number}.md"), &format!("# One {number}\n\nno more than a {word} in passing\n"));
    }
    library.sync();
    assert_eq!(library.found("lisbon dentist appointment")[0], "journal.md");
}

#[test]
fn words_that_stand_in_every_other_note_are_not_what_a_hit_is_shown_for() {
    let library = Library::new(&[]);
    for number in 0..120 {
        library.write(&format!("{number}.md"), &format!("# {number}\n\nin the garden and a shed, plot{number}\n"));
    }
    library.write("floor.md", "# Floor\n\nthe way to quiet a floorboard\n");
    library.sync();
    let marked = |query: &str| {
        let hit = library.search(query, Mode::Fts).hits.remove(0);
        hit.excerpt.highlights.iter().map(|range| hit.excerpt.text[range.clone()].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(marked("the floorboard"), ["floorboard"]);
    assert_eq!(marked("the garden"), ["the", "garden"]);
}
