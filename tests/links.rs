//! The link graph through the engine's front door: folders and Bear libraries in, walks and reports out.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::{collections::BTreeSet, fs, path::Path};

use bearsearch_core::{
    library,
    links::{self, Direction, Walk},
    registry::{self, SourceSpec},
    scope::{Filters, Scope},
    search::{self, Mode, QueryInput, Request},
    source::SourceKind,
    store::Store,
    sync::{self, SyncOptions},
};
use tempfile::TempDir;

mod source_support;
use source_support::Library;

struct Vault {
    folder: TempDir,
    store: Store,
}

impl Vault {
    fn new(notes: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        let store = Store::open(&folder.path().join("index.sqlite")).unwrap();
        let vault = Self { folder, store };
        fs::create_dir_all(vault.root()).unwrap();
        notes.iter().for_each(|(name, text)| vault.write(name, text));
        vault.sync();
        vault
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("vault")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.root().join(name)).unwrap();
    }

    fn sync(&self) {
        sync_source(&self.store, SourceKind::Markdown, &self.root());
    }

    fn walk(&self, root: &str, depth: usize, direction: Direction) -> Walk {
        let id = id_of(&self.store, root);
        self.store.read(|conn| links::walk(conn, id, depth, direction, &scope(&self.store), 1000)).unwrap()
    }

    /// Each hop as "from -> to (text)".
    fn hops(&self, root: &str, depth: usize, direction: Direction) -> Vec<Vec<String>> {
        let shown = |hop: &links::Hop| {
            format!("{} -> {} ({})", name_of(&self.store, hop.from_id), name_of(&self.store, hop.to_id), hop.text)
        };
        self.walk(root, depth, direction).hops.iter().map(|hops| hops.iter().map(shown).collect()).collect()
    }

    /// What one note links to.
    fn out(&self, root: &str) -> Vec<String> {
        let hops = self.walk(root, 1, Direction::Out).hops;
        hops.iter().flatten().map(|hop| name_of(&self.store, hop.to_id)).collect()
    }

    /// Targets of links that lead nowhere, with their lines.
    fn broken(&self) -> Vec<(String, usize)> {
        let (found, total) = self.store.read(|conn| links::broken(conn, &scope(&self.store), None, 100)).unwrap();
        assert_eq!(found.len(), total);
        found.into_iter().map(|link| (link.target, link.line)).collect()
    }
}

fn sync_source(store: &Store, kind: SourceKind, path: &Path) {
    let spec = SourceSpec { kind, path: path.to_owned(), name: None, register: true };
    let report = sync::sync(store, &spec, &SyncOptions::default(), &mut |_, _| Ok(())).unwrap();
    assert_eq!(report.error, None);
}

fn scope(store: &Store) -> Scope {
    let sources = store.read(registry::sources).unwrap();
    let sources = sources.iter().map(|row| row.id).collect();
    Scope::new(&Filters { sources, archived: true, ..Filters::default() })
}

fn id_of(store: &Store, name: &str) -> i64 {
    let found = store.read(|conn| library::find(conn, name, &scope(store))).unwrap();
    assert_eq!(found.len(), 1, "{name} is one note");
    found[0].id
}

fn name_of(store: &Store, id: i64) -> String {
    store.read(|conn| library::document(conn, id)).unwrap().unwrap().external_id
}

/// All edges as (from, place in the text, to), by name.
fn edges(store: &Store) -> BTreeSet<(String, i64, String)> {
    let rows: Vec<(i64, i64, i64)> = store
        .read(|conn| {
            let mut statement = conn.prepare("SELECT from_id, ordinal, to_id FROM edges")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .unwrap();
    rows.into_iter().map(|(from, at, to)| (name_of(store, from), at, name_of(store, to))).collect()
}

fn rows(store: &Store, table: &str) -> i64 {
    store.read(|conn| Ok(conn.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?)).unwrap()
}

#[test]
fn a_walk_goes_breadth_first_and_tells_the_text_of_each_link() {
    let vault = Vault::new(&[
        ("a.md", "[[b]] and [[c|the third]] and [[b|again]]"),
        ("b.md", "[to d](d.md) and [[a]]"),
        ("c.md", "[[d]] [[b]]"),
        ("d.md", "[[a]]"),
        ("e.md", "[[b]]"),
    ]);
    assert_eq!(
        vault.hops("a.md", 3, Direction::Out),
        [vec!["a.md -> b.md (b)", "a.md -> c.md (the third)"], vec!["b.md -> d.md (to d)", "c.md -> d.md (d)"],]
    );
    assert_eq!(
        vault.hops("b.md", 2, Direction::In),
        [vec!["a.md -> b.md (b)", "c.md -> b.md (b)", "e.md -> b.md (b)"], vec!["d.md -> a.md (a)"]]
    );
    let first = &vault.walk("a.md", 1, Direction::Both).hops[0];
    let told: Vec<_> = first.iter().map(|hop| (hop.direction, hop.count, hop.line, hop.form)).collect();
    assert_eq!(
        told,
        [
            (Direction::Out, 2, 1, "wiki"),
            (Direction::Out, 1, 1, "wiki"),
            (Direction::In, 1, 1, "wiki"),
            (Direction::In, 1, 1, "wiki"),
        ]
    );
}

#[test]
fn cycles_end_and_a_note_that_links_to_itself_is_no_step() {
    let vault = Vault::new(&[("a.md", "[[a]] [[b]]"), ("b.md", "[[a]] [[b]]")]);
    assert_eq!(vault.hops("a.md", 3, Direction::Out), [["a.md -> b.md (b)"]]);
    assert_eq!(vault.hops("a.md", 3, Direction::Both), [["a.md -> b.md (b)", "b.md -> a.md (a)"]]);
}

#[test]
fn a_limit_leaves_out_the_farthest_and_counts_them() {
    let links: String = (0..50).map(|number| format!("[[n{number}]] ")).collect();
    let mut notes = vec![("hub.md".to_owned(), links)];
    notes.extend((0..50).map(|number| (format!("n{number}.md"), format!("[[m{number}]]"))));
    notes.extend((0..50).map(|number| (format!("m{number}.md"), String::from("text"))));
    let notes: Vec<(&str, &str)> = notes.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let vault = Vault::new(&notes);
    let id = id_of(&vault.store, "hub.md");
    let walk = vault.store.read(|conn| links::walk(conn, id, 3, Direction::Out, &scope(&vault.store), 60)).unwrap();
    assert_eq!((walk.hops[0].len(), walk.hops[1].len(), walk.left_out), (50, 10, 40));
}

#[test]
fn a_link_resolves_when_its_note_appears_and_is_broken_when_it_goes() {
    let vault = Vault::new(&[("a.md", "# A\n\n[[Later]]\n"), ("b.md", "[[a]]")]);
    assert_eq!(vault.broken(), [("Later".to_owned(), 3)]);
    vault.write("sub/later.md", "here now");
    vault.sync();
    assert_eq!(vault.out("a.md"), ["sub/later.md"]);
    assert_eq!(vault.broken(), []);
    vault.remove("sub/later.md");
    vault.sync();
    assert_eq!(vault.out("a.md"), Vec::<String>::new());
    assert_eq!(vault.broken(), [("Later".to_owned(), 3)]);
}

#[test]
fn a_renamed_note_takes_links_to_its_new_name_and_loses_those_to_the_old() {
    let vault = Vault::new(&[("a.md", "[[Old title]] [[New title]]"), ("x.md", "# Old title\n")]);
    assert_eq!(vault.broken(), [("New title".to_owned(), 1)]);
    vault.write("x.md", "# New title\n");
    vault.sync();
    assert_eq!(vault.broken(), [("Old title".to_owned(), 1)]);
    assert_eq!(vault.out("a.md"), ["x.md"]);
    fs::rename(vault.root().join("x.md"), vault.root().join("Old title.md")).unwrap();
    vault.sync();
    assert_eq!(vault.broken(), [], "its file has the old name, its heading the new one");
}

#[test]
fn a_better_note_takes_a_link_over_and_gives_it_back() {
    let vault = Vault::new(&[("a/x.md", "[[tea]]"), ("b/tea.md", "")]);
    assert_eq!(vault.out("a/x.md"), ["b/tea.md"]);
    vault.write("a/tea.md", "nearer");
    vault.sync();
    assert_eq!(vault.out("a/x.md"), ["a/tea.md"]);
    vault.remove("a/tea.md");
    vault.sync();
    assert_eq!(vault.out("a/x.md"), ["b/tea.md"]);
}

#[test]
fn an_ambiguous_link_leads_to_all_that_it_may_mean() {
    let vault = Vault::new(&[("x.md", "[[index]]"), ("a/index.md", ""), ("b/index.md", "")]);
    assert_eq!(vault.out("x.md"), ["a/index.md", "b/index.md"]);
    assert!(vault.walk("x.md", 1, Direction::Out).hops[0].iter().all(|hop| hop.ambiguous));
    assert_eq!(vault.broken(), []);
}

#[test]
fn front_matter_gives_a_note_names_tags_dates_and_properties() {
    let front = "---\ntitle: A very long name\naliases: [short]\ntags: [work/jp]\ncreated: 2020-02-03\nstatus: Draft\nup: \"[[home]]\"\n---\n# Heading\n";
    let vault = Vault::new(&[("note.md", front), ("home.md", "[[short]] [[A very long name]]")]);
    assert_eq!(vault.out("home.md"), ["note.md"]);
    assert_eq!(vault.out("note.md"), ["home.md"]);
    let note = vault.store.read(|conn| library::document(conn, id_of(&vault.store, "note.md"))).unwrap().unwrap();
    assert_eq!(note.title, "A very long name");
    assert_eq!(note.tags, ["work/jp"]);
    assert_eq!(note.created_at_ms, Some(1_580_688_000_000));
    for query in ["prop:status=draft", "prop:STATUS=DR*", "prop:up=home", "created:2020", "tag:work", "prop:status=*"] {
        assert_eq!(found(&vault.store, query), ["note.md"], "{query}");
    }
    assert_eq!(found(&vault.store, "prop:status=d"), Vec::<String>::new());
    assert_eq!(found(&vault.store, "-prop:status=draft"), ["home.md"]);
}

#[test]
fn tasks_are_filters() {
    let vault = Vault::new(&[
        ("open.md", "- [ ] a\n"),
        ("done.md", "- [x] b\n"),
        ("both.md", "- [x] c\n- [ ] d\n"),
        ("none.md", "- e\n"),
    ]);
    assert_eq!(found(&vault.store, "is:todo"), ["both.md", "open.md"]);
    assert_eq!(found(&vault.store, "is:done -is:todo"), ["done.md"]);
    vault.write("open.md", "- [x] a\n");
    vault.sync();
    assert_eq!(found(&vault.store, "is:todo"), ["both.md"]);
}

#[test]
fn orphans_and_hubs_stand_out() {
    let vault = Vault::new(&[
        ("hub.md", "[[a]] [[b]] [[a]]"),
        ("a.md", "[[hub]]"),
        ("b.md", "[[missing]]"),
        ("alone.md", "[[alone]] [[nowhere]]"),
        ("plain.md", "words"),
    ]);
    let (orphans, total) = vault.store.read(|conn| links::orphans(conn, &scope(&vault.store), 10)).unwrap();
    let mut names: Vec<String> = orphans.iter().map(|id| name_of(&vault.store, *id)).collect();
    names.sort();
    assert_eq!((names, total), (vec!["alone.md".to_owned(), "plain.md".to_owned()], 2));
    let (hubs, total) = vault.store.read(|conn| links::hubs(conn, &scope(&vault.store), 2)).unwrap();
    let shown: Vec<_> = hubs.iter().map(|hub| (name_of(&vault.store, hub.id), hub.incoming, hub.outgoing)).collect();
    assert_eq!(shown, [("hub.md".to_owned(), 1, 2), ("a.md".to_owned(), 1, 1)]);
    assert_eq!(total, 3, "a link to itself makes no hub");
}

#[test]
fn a_graph_kept_up_through_changes_is_the_graph_of_a_fresh_index() {
    let vault = Vault::new(&[]);
    let names = ["a.md", "b.md", "sub/a.md", "sub/c.md", "deep/er/b.md"];
    let targets = [
        "[[a]]",
        "[[b|text]]",
        "[[sub/a]]",
        "[x](c.md)",
        "[[Title 1]]",
        "[[title 2]]",
        "[[c#part]]",
        "[[alias]]",
        "[y](../a.md)",
    ];
    // A small generator of its own: the same moves each time.
    let mut state = 12_345_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for round in 0..25 {
        for _ in 0..1 + next(3) {
            let name = names[next(names.len())];
            if vault.root().join(name).exists() && next(4) == 0 {
                vault.remove(name);
                continue;
            }
            let front = if next(4) == 0 { "---\nalias: alias\n---\n" } else { "" };
            let title = if next(2) == 0 { format!("# Title {}\n\n", next(3)) } else { String::new() };
            let links: Vec<&str> = (0..next(4)).map(|_| targets[next(targets.len())]).collect();
            vault.write(name, &format!("{front}{title}round {round} {}\n", links.join(" ")));
        }
        vault.sync();
        let fresh = Store::open(&vault.folder.path().join(format!("fresh-{round}.sqlite"))).unwrap();
        sync_source(&fresh, SourceKind::Markdown, &vault.root());
        assert_eq!(edges(&vault.store), edges(&fresh), "round {round}");
    }
    for table in ["changed_names", "changed_links"] {
        assert_eq!(rows(&vault.store, table), 0);
    }
}

#[test]
fn removing_a_source_leaves_nothing_of_its_graph() {
    let vault = Vault::new(&[("a.md", "---\nx: y\n---\n[[b]] ![](pic.png)"), ("b.md", "[[a]]")]);
    registry::remove(&vault.store, "vault").unwrap();
    for table in ["names", "links", "edges", "properties", "attachments", "changed_names", "changed_links"] {
        assert_eq!(rows(&vault.store, table), 0, "{table}");
    }
}

#[test]
fn links_lead_from_one_source_to_another_by_identifier_and_by_vault() {
    let bear = Library::generate(&["--notes", "5"]);
    let note = bear.plain_note().clone();
    let id = note.id.unwrap();
    let vault = Vault::new(&[
        ("a.md", &format!("[bear](bear://x-callback-url/open-note?id={})", id.to_lowercase())),
        ("b.md", "[a](obsidian://open?vault=vault&file=a)"),
    ]);
    assert_eq!(vault.broken().len(), 1);
    sync_source(&vault.store, SourceKind::Bear, &bear.path);
    assert_eq!(vault.out("a.md"), [id]);
    assert_eq!(vault.out("b.md"), ["a.md"]);
}

/// Every row of Bear's own backlink table, as (source, offset of the link in UTF-16 units, target).
fn bear_backlinks(library: &Library) -> BTreeSet<(String, i64, String)> {
    let conn = rusqlite::Connection::open(&library.path).unwrap();
    let mut statement = conn
        .prepare(
            "SELECT s.ZUNIQUEIDENTIFIER, b.ZLOCATION, t.ZUNIQUEIDENTIFIER FROM ZSFNOTEBACKLINK b
             JOIN ZSFNOTE s ON s.Z_PK = b.ZLINKEDBY JOIN ZSFNOTE t ON t.Z_PK = b.ZLINKINGTO
             WHERE coalesce(s.ZTRASHED, 0) = 0 AND coalesce(s.ZPERMANENTLYDELETED, 0) = 0",
        )
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn bear_s_own_backlinks_are_all_found() {
    let library = Library::generate(&["--notes", "400", "--seed", "3"]);
    let folder = TempDir::new().unwrap();
    let store = Store::open(&folder.path().join("index.sqlite")).unwrap();
    sync_source(&store, SourceKind::Bear, &library.path);
    let theirs = bear_backlinks(&library);
    assert!(theirs.len() > 50, "the library has links: {}", theirs.len());
    // A title that two notes have is ambiguous for Bear, too: it keeps one of them, we name both.
    let ours = edges(&store);
    let mut by_text: BTreeSet<(String, String)> = BTreeSet::new();
    for (from, _, to) in &theirs {
        assert!(ours.iter().any(|(a, _, b)| a == from && b == to), "{from} -> {to} is a backlink of Bear's");
        by_text.insert((from.clone(), to.clone()));
    }
    let more: Vec<_> = ours.iter().filter(|(a, _, b)| !by_text.contains(&(a.clone(), b.clone()))).collect();
    let kind_of = |id: &str| library.manifest.iter().find(|note| note.id.as_deref() == Some(id)).unwrap().kind.clone();
    let kinds: BTreeSet<(String, String)> = more.iter().map(|(a, _, b)| (kind_of(a), kind_of(b))).collect();
    // Beyond Bear's rows: the other of two notes with one title, and the title with a slash before a heading.
    let expected = [("links", "slash-title"), ("links", "twin-b")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(kinds, BTreeSet::from(expected));
}

#[test]
fn bear_1_s_linked_notes_are_all_found() {
    let library = Library::generate(&["--bear", "1", "--notes", "300", "--seed", "4"]);
    let folder = TempDir::new().unwrap();
    let store = Store::open(&folder.path().join("index.sqlite")).unwrap();
    sync_source(&store, SourceKind::Bear, &library.path);
    let conn = rusqlite::Connection::open(&library.path).unwrap();
    let mut statement = conn
        .prepare(
            "SELECT s.ZUNIQUEIDENTIFIER, t.ZUNIQUEIDENTIFIER FROM Z_7LINKEDNOTES l JOIN ZSFNOTE s ON s.Z_PK = l.Z_7LINKEDBYNOTES
             JOIN ZSFNOTE t ON t.Z_PK = l.Z_7LINKEDNOTES WHERE coalesce(s.ZTRASHED, 0) = 0",
        )
        .unwrap();
    let theirs: Vec<(String, String)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    assert!(theirs.len() > 20);
    let ours: BTreeSet<(String, String)> = edges(&store).into_iter().map(|(a, _, b)| (a, b)).collect();
    let missing: Vec<_> = theirs.iter().filter(|pair| !ours.contains(*pair)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_locked_note_has_no_links_tasks_properties_or_attachments() {
    let library = Library::generate(&["--notes", "5"]);
    let folder = TempDir::new().unwrap();
    let store = Store::open(&folder.path().join("index.sqlite")).unwrap();
    sync_source(&store, SourceKind::Bear, &library.path);
    let hub = library.manifest.iter().find(|note| note.kind == "attachments").unwrap().clone();
    let counts = |store: &Store| ["links", "attachments", "properties"].map(|table| rows(store, table));
    let before = counts(&store);
    library.touch(&["encrypt", &hub.pk.to_string()]);
    sync_source(&store, SourceKind::Bear, &library.path);
    assert_eq!(counts(&store)[1], before[1] - 2, "its two attachments are gone");
    store.checkpoint().unwrap();
    let bytes = fs::read(folder.path().join("index.sqlite")).unwrap();
    for word in ["wallaby", "numbat"] {
        assert!(!bytes.windows(word.len()).any(|window| window == word.as_bytes()), "{word} is still in the file");
    }
}

#[test]
fn text_that_bear_read_in_a_picture_is_weak_evidence_with_a_label() {
    let library = Library::generate(&["--notes", "5"]);
    let folder = TempDir::new().unwrap();
    let store = Store::open(&folder.path().join("index.sqlite")).unwrap();
    sync_source(&store, SourceKind::Bear, &library.path);
    let hub = library.manifest.iter().find(|note| note.kind == "attachments").unwrap();
    let response = searched(&store, "wallaby");
    assert_eq!(response.hits.len(), 1);
    let hit = &response.hits[0];
    assert_eq!(hit.document.external_id, hub.id.clone().unwrap());
    assert_eq!(hit.heading, "attachment my photo 2.png");
    assert!(hit.excerpt.text.starts_with("wallaby seen only in picture text"), "{}", hit.excerpt.text);
    assert!(!hit.excerpt.highlights.is_empty() && hit.excerpt.line_hits.is_empty() && hit.text_rank.is_none());
    assert_eq!(searched(&store, "numbat").hits[0].heading, "attachment plan.pdf");
    assert_eq!(searched(&store, "plan.pdf").hits[0].heading, "", "the note names its file itself");
    assert!(searched(&store, "bilby").hits.is_empty(), "what was taken out of the note is not");

    // A note whose own words say it comes first.
    let vault = folder.path().join("vault");
    fs::create_dir(&vault).unwrap();
    fs::write(vault.join("own.md"), "# Own\n\nA picture of a wallaby.\n").unwrap();
    sync_source(&store, SourceKind::Markdown, &vault);
    let ids: Vec<String> = searched(&store, "wallaby").hits.into_iter().map(|hit| hit.document.external_id).collect();
    assert_eq!(ids, ["own.md".to_owned(), hub.id.clone().unwrap()]);
}

fn searched(store: &Store, query: &str) -> search::Response {
    let sources = store.read(registry::sources).unwrap();
    let filters = Filters { sources: sources.iter().map(|row| row.id).collect(), ..Filters::default() };
    let queries = vec![QueryInput { text: query.to_owned(), ..QueryInput::default() }];
    search::search(store, &Request { queries, mode: Mode::Fts, limit: 50, filters, ..Request::default() }).unwrap()
}

/// Ids of the notes that a query finds, sorted.
fn found(store: &Store, query: &str) -> Vec<String> {
    let response = searched(store, query);
    let mut ids: Vec<String> = response.hits.iter().map(|hit| hit.document.external_id.clone()).collect();
    ids.sort();
    ids
}

#[test]
fn a_picture_that_alone_holds_the_query_stands_before_notes_that_hold_one_word_of_it() {
    let library = Library::generate(&["--notes", "5"]);
    let folder = TempDir::new().unwrap();
    let store = Store::open(&folder.path().join("index.sqlite")).unwrap();
    sync_source(&store, SourceKind::Bear, &library.path);
    let hub = library.manifest.iter().find(|note| note.kind == "attachments").unwrap().id.clone().unwrap();
    let vault = folder.path().join("vault");
    fs::create_dir(&vault).unwrap();
    for (number, filler) in [0, 300, 600, 1200].into_iter().enumerate() {
        let text = format!("# {number}\n\npicture {}\n", "quoll ".repeat(filler));
        fs::write(vault.join(format!("{number}.md")), text).unwrap();
    }
    sync_source(&store, SourceKind::Markdown, &vault);
    let hits = searched(&store, "wallaby picture").hits;
    let place = hits.iter().position(|hit| hit.document.external_id == hub).unwrap();
    let seen: Vec<_> = hits.iter().map(|hit| (&hit.document.external_id, hit.score, &hit.heading)).collect();
    assert!(place <= 2 && hits.len() >= 5, "{seen:?}");
}
