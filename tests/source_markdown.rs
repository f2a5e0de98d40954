//! Folders of Markdown files, read through the front door.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod source_support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use bearsearch_core::Error;
use bearsearch_core::source::markdown::MarkdownSource;
use bearsearch_core::source::{ChangeMark, Document, Skipped, Source, SourceKind, SourceOptions};
use source_support::{documents, fingerprint, without_root};

/// A folder named `My vault` in a temporary one, so that something lies outside it.
struct Vault {
    outside: tempfile::TempDir,
    root: PathBuf,
}

impl Vault {
    fn new() -> Self {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("My vault");
        fs::create_dir(&root).unwrap();
        Self { outside, root }
    }

    /// A vault with these files, each with its name as its text.
    fn with(names: &[&str]) -> Self {
        let vault = Self::new();
        names.iter().for_each(|name| vault.write(name, name));
        vault
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn open(&self) -> MarkdownSource {
        self.open_with(SourceOptions::default())
    }

    fn open_with(&self, options: SourceOptions) -> MarkdownSource {
        MarkdownSource::open(&self.root, options).unwrap()
    }

    fn ids(&self) -> Vec<String> {
        ids(&mut self.open())
    }

    fn document(&self, id: &str) -> Document {
        documents(&mut self.open()).remove(id).unwrap_or_else(|| panic!("no document {id}"))
    }

    fn marks(&self) -> BTreeMap<String, ChangeMark> {
        self.open().list().unwrap().entries.into_iter().map(|entry| (entry.id, entry.mark)).collect()
    }
}

fn ids(source: &mut dyn Source) -> Vec<String> {
    let listing = source.list().unwrap();
    assert_eq!((listing.skipped, listing.warnings), (vec![], Vec::<String>::new()));
    let mut ids: Vec<String> = listing.entries.into_iter().map(|entry| entry.id).collect();
    ids.sort();
    ids
}

fn open_error(path: &Path) -> Error {
    match MarkdownSource::open(path, SourceOptions::default()) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

#[test]
fn notes_are_the_files_with_markdown_s_endings() {
    let vault =
        Vault::with(&["a.md", "B.MARKDOWN", "c/d.mdown", "c/e/f.Mkd", "g.mdx", "h.txt", "i", "j.md.bak", "k.canvas"]);
    assert_eq!(vault.ids(), ["B.MARKDOWN", "a.md", "c/d.mdown", "c/e/f.Mkd", "g.mdx"]);
}

#[test]
fn names_of_all_kinds_are_ids_as_they_are() {
    let names = [
        "Ünï 🐻‍❄️/日本語 メモ.md",
        "a'b\"c&d<e>.md",
        "back\\slash.md",
        "cafe\u{301}.md",
        "caf\u{e9}.md",
        "case.md",
        "CASE.md",
        "new\nline.md",
        "  spaces  .md",
        "trailing dot..md",
        "-dash.md",
        "100%.md",
        "?#.md",
    ];
    let vault = Vault::with(&names);
    let mut expected = names.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(vault.ids(), expected);
    for (id, document) in documents(&mut vault.open()) {
        assert_eq!(document.text, id);
    }
}

#[test]
fn hidden_and_ignored_files_are_left_out() {
    let vault = Vault::with(&[
        "a.md",
        ".hidden.md",
        ".trash/b.md",
        ".obsidian/c.md",
        ".git/d.md",
        "build/e.md",
        "keep/build.md",
        "x/draft-f.md",
        "x/g.md",
        "templates/h.md",
        "deep/templates/i.md",
        "j.secret.md",
    ]);
    vault.write(".gitignore", "build/\ndraft-*\n");
    vault.write(".obsidianignore", "/templates\n");
    vault.write(".ignore", "*.secret.md\n");
    assert_eq!(vault.ids(), ["a.md", "deep/templates/i.md", "keep/build.md", "x/g.md"]);
}

#[test]
fn a_note_whose_text_is_in_a_cloud_is_counted_and_named() {
    let vault = Vault::with(&["a.md", "sub/.b.md.icloud", ".picture.png.icloud", ".trash/.c.md.icloud"]);
    let listing = vault.open().list().unwrap();
    assert_eq!(listing.entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["a.md"]);
    assert_eq!(listing.kept, ["sub/b.md"]);
    assert_eq!(listing.skipped.len(), 1, "{:?}", listing.skipped);
    assert!(listing.skipped[0].reason.starts_with("its text is only in the cloud"), "{:?}", listing.skipped);
}

#[test]
fn ignore_files_above_the_root_mean_nothing() {
    let vault = Vault::with(&["a.md"]);
    fs::create_dir(vault.outside.path().join(".git")).unwrap();
    fs::write(vault.outside.path().join(".gitignore"), "*\n").unwrap();
    fs::write(vault.outside.path().join(".ignore"), "*\n").unwrap();
    assert_eq!(vault.ids(), ["a.md"]);
}

#[test]
fn a_root_that_is_hidden_itself_is_listed() {
    let vault = Vault::with(&[".notes/a.md"]);
    let mut source = MarkdownSource::open(&vault.root.join(".notes"), SourceOptions::default()).unwrap();
    assert_eq!(ids(&mut source), ["a.md"]);
}

#[test]
fn excluded_paths_are_left_out_as_gitignore_would() {
    let vault = Vault::with(&["a.md", "private/b.md", "x/private/c.md", "journal/2024.md", "journal/2025.md", "Z.MD"]);
    let exclude_globs = ["private/", "/journal/*", "!/journal/2025.md", "*.MD"].map(str::to_owned).to_vec();
    let options = SourceOptions { exclude_globs, ..SourceOptions::default() };
    assert_eq!(ids(&mut vault.open_with(options)), ["a.md", "journal/2025.md"]);
}

#[test]
fn a_pattern_that_cannot_be_read_is_an_error_that_quotes_it() {
    let vault = Vault::new();
    let options = SourceOptions { exclude_globs: vec!["a[".to_owned()], ..SourceOptions::default() };
    let error = MarkdownSource::open(&vault.root, options).err().expect("the class is not closed");
    assert!(matches!(error, Error::Usage(_)), "{error}");
    assert!(error.to_string().starts_with("'a[' is not a pattern in gitignore syntax"), "{error}");
}

#[test]
fn an_ignore_file_that_cannot_be_read_in_full_is_warned_about() {
    let vault = Vault::with(&["a.md", "b.md"]);
    vault.write(".gitignore", "b.md\n{broken\n");
    let listing = vault.open().list().unwrap();
    assert_eq!(listing.entries.len(), 1);
    assert_eq!(listing.warnings.len(), 1, "{:?}", listing.warnings);
    assert!(listing.warnings[0].starts_with("an ignore file in '' is read only in part"), "{:?}", listing.warnings);
}

#[test]
fn links_are_never_followed_and_those_that_lead_out_are_counted() {
    let vault = Vault::with(&["a.md", "sub/b.md"]);
    let secret = vault.outside.path().join("secret.md");
    fs::write(&secret, "secret").unwrap();
    symlink(&secret, vault.root.join("out.md")).unwrap();
    symlink(vault.outside.path(), vault.root.join("out")).unwrap();
    symlink("a.md", vault.root.join("in.md")).unwrap();
    symlink("sub", vault.root.join("in")).unwrap();
    symlink("..", vault.root.join("sub/loop")).unwrap();
    symlink("nowhere.md", vault.root.join("dangling.md")).unwrap();
    let listing = vault.open().list().unwrap();
    let ids: Vec<&str> = listing.entries.iter().map(|entry| entry.id.as_str()).collect();
    assert!(ids.len() == 2 && ids.contains(&"a.md") && ids.contains(&"sub/b.md"), "{ids:?}");
    let mut skipped: Vec<(&str, &str)> =
        listing.skipped.iter().map(|skipped| (skipped.id.as_str(), skipped.reason.as_str())).collect();
    skipped.sort_unstable();
    let reason = "is a symbolic link that leads out of the folder";
    assert_eq!(skipped, [("out", reason), ("out.md", reason)]);
}

#[test]
fn nothing_outside_the_root_can_be_read_by_any_id() {
    let vault = Vault::with(&["sub/a.md"]);
    let secret = vault.outside.path().join("secret.md");
    fs::write(&secret, "secret").unwrap();
    symlink(&secret, vault.root.join("out.md")).unwrap();
    symlink(vault.outside.path(), vault.root.join("out")).unwrap();
    let mut source = vault.open();
    source.list().unwrap();
    let tried = ["../secret.md", "sub/../../secret.md", secret.to_str().unwrap(), "out/secret.md", "out.md", "", "sub"];
    let batch = source.read(&tried.map(str::to_owned)).unwrap();
    assert_eq!(batch.documents, []);

    // A folder that becomes a link between listing and reading.
    fs::remove_dir_all(vault.root.join("sub")).unwrap();
    fs::write(vault.outside.path().join("a.md"), "secret").unwrap();
    symlink(vault.outside.path(), vault.root.join("sub")).unwrap();
    assert_eq!(source.read(&["sub/a.md".to_owned()]).unwrap().documents, []);
}

#[test]
fn a_pipe_in_the_folder_holds_nobody_up() {
    let vault = Vault::with(&["a.md"]);
    let pipe = vault.root.join("pipe.md");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut source = vault.open();
    assert_eq!(ids(&mut source), ["a.md"]);
    let batch = source.read(&["pipe.md".to_owned()]).unwrap();
    assert_eq!(batch.documents, []);
    assert_eq!(batch.skipped.len(), 1);
}

#[test]
fn every_encoding_is_read_and_line_ends_stay() {
    let vault = Vault::new();
    let text = "# Größe 🐻\r\nzwei\r\n";
    let utf_16 = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    vault.write("utf-8.md", text);
    vault.write("bom.md", format!("\u{feff}{text}"));
    vault.write("le.md", utf_16(u16::to_le_bytes));
    vault.write("be.md", utf_16(u16::to_be_bytes));
    vault.write("old.md", b"# Gr\xF6\xDFe\n");
    vault.write("bad.md", b"# Gr\xC3\xB6\xDFe\n");
    vault.write("empty.md", b"");
    let documents = documents(&mut vault.open());
    for id in ["utf-8.md", "bom.md", "le.md", "be.md"] {
        assert_eq!((documents[id].text.as_str(), documents[id].title.as_str()), (text, "Größe 🐻"), "{id}");
    }
    assert_eq!(documents["old.md"].text, "# Größe\n");
    assert_eq!(documents["bad.md"].text, "# Grö\u{fffd}e\n");
    assert_eq!((documents["empty.md"].text.as_str(), documents["empty.md"].title.as_str()), ("", "empty"));
}

#[test]
fn titles_come_from_the_front_matter_or_the_heading_or_else_the_file() {
    let vault = Vault::new();
    vault.write("heading.md", "intro\n\n# The heading #\n\ntext\n");
    vault.write("front.md", "---\nstatus: draft\n# comment\n---\n# After front matter\n");
    vault.write("named.md", "---\ntitle: Named there\n---\n# Heading of it\n");
    vault.write("Plain v1.2.md", "## \n\njust text\n\n## Deeper\n");
    vault.write("code.md", "```\n# comment\n```\n");
    let titles: Vec<String> = documents(&mut vault.open()).into_values().map(|document| document.title).collect();
    assert_eq!(titles, ["Plain v1.2", "code", "After front matter", "The heading", "Named there"]);
}

#[test]
fn tags_are_read_as_obsidian_does_in_its_vaults_and_as_bear_does_elsewhere() {
    let vault = Vault::new();
    vault.write("a.md", "---\nx: '#no'\n---\n# T #one\n#two words# `#code` http://x/#url #nested/child\n");
    assert_eq!(vault.document("a.md").tags, ["one", "two words", "nested/child"]);
    vault.write(".obsidian/app.json", "{}");
    assert_eq!(vault.document("a.md").tags, ["one", "two", "nested/child"]);
}

#[test]
fn links_open_the_file_or_the_vault() {
    let vault = Vault::with(&["sub dir/a & b.md", "sub dir/c.markdown"]);
    let root = fs::canonicalize(&vault.root).unwrap();
    let encoded = root.to_str().unwrap().replace(' ', "%20");
    let url = |id| vault.document(id).url.unwrap();
    assert_eq!(url("sub dir/a & b.md"), format!("file://{encoded}/sub%20dir/a%20%26%20b.md"));
    vault.write(".obsidian/app.json", "{}");
    assert_eq!(url("sub dir/a & b.md"), "obsidian://open?vault=My%20vault&file=sub%20dir%2Fa%20%26%20b");
    assert_eq!(url("sub dir/c.markdown"), "obsidian://open?vault=My%20vault&file=sub%20dir%2Fc.markdown");
}

#[test]
fn dates_are_the_file_s() {
    let vault = Vault::with(&["a.md"]);
    let written = std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_234_567_890_123);
    fs::File::options().write(true).open(vault.root.join("a.md")).unwrap().set_modified(written).unwrap();
    let document = vault.document("a.md");
    assert_eq!(document.updated_at_ms, Some(1_234_567_890_123));
    // Born after it was written, as copies are: then it is not younger than its text.
    assert!(document.created_at_ms.is_none_or(|created| created == 1_234_567_890_123), "{:?}", document.created_at_ms);
}

#[test]
fn excluded_tags_keep_a_file_from_being_read() {
    let vault = Vault::new();
    vault.write("a.md", "text #Private/Diary\n");
    vault.write("b.md", "text #privateer\n");
    let options = SourceOptions { exclude_tags: vec!["#private".to_owned()], ..SourceOptions::default() };
    let documents = documents(&mut vault.open_with(options));
    assert_eq!(documents.keys().collect::<Vec<_>>(), ["b.md"]);
}

#[test]
fn marks_of_list_and_read_agree_and_stay_while_nothing_changes() {
    let vault = Vault::with(&["a.md", "sub/b.md"]);
    let marks = vault.marks();
    let read: BTreeMap<String, ChangeMark> =
        documents(&mut vault.open()).into_iter().map(|(id, document)| (id, document.mark)).collect();
    assert_eq!(read, marks);
    assert_eq!(vault.marks(), marks);
}

#[test]
fn every_way_of_changing_a_file_changes_its_mark() {
    let vault = Vault::with(&["a.md", "b.md", "c.md"]);
    let path = vault.root.join("a.md");
    let mut before = documents(&mut vault.open()).remove("a.md").unwrap().mark;
    let mut expect_change = |what: &str, change: &dyn Fn()| {
        change();
        // The mark that counts is the one that came with the text.
        let after = documents(&mut vault.open()).remove("a.md").unwrap().mark;
        assert_ne!(after, before, "{what}");
        assert_eq!(vault.marks()["a.md"], after, "{what}");
        before = after;
    };
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let set_back = || fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    expect_change("another text of the same length", &|| fs::write(&path, "A.md").unwrap());
    expect_change("the same, and the time set back", &|| {
        fs::write(&path, "B.md").unwrap();
        set_back();
    });
    expect_change("another file of the same length and time under its name", &|| {
        let other = vault.root.join("other");
        fs::write(&other, "C.md").unwrap();
        fs::File::options().write(true).open(&other).unwrap().set_modified(modified).unwrap();
        fs::rename(&other, &path).unwrap();
    });
}

#[test]
fn two_writes_right_after_each_other_are_told_apart() {
    let vault = Vault::with(&["a.md"]);
    for round in 0..20 {
        vault.write("a.md", format!("{round:02} first"));
        let read = vault.document("a.md");
        vault.write("a.md", format!("{round:02} other"));
        assert_ne!(vault.marks()["a.md"], read.mark, "round {round}");
    }
}

#[test]
fn files_come_and_go() {
    let vault = Vault::with(&["a.md", "b.md"]);
    let mut source = vault.open();
    source.list().unwrap();
    fs::remove_file(vault.root.join("a.md")).unwrap();
    let batch = source.read(&["a.md".to_owned(), "b.md".to_owned(), "b.md".to_owned()]).unwrap();
    assert_eq!(batch.documents.len(), 1);
    assert_eq!(batch.skipped, []);
    vault.write("c.md", "new");
    assert_eq!(vault.ids(), ["b.md", "c.md"]);
}

#[test]
fn a_file_that_may_not_be_read_is_skipped_with_its_reason() {
    if !without_root("a_file_that_may_not_be_read_is_skipped_with_its_reason") {
        return;
    }
    let vault = Vault::with(&["a.md", "b.md", "locked/c.md"]);
    let set = |name: &str, mode| fs::set_permissions(vault.root.join(name), fs::Permissions::from_mode(mode)).unwrap();
    set("b.md", 0o000);
    set("locked", 0o000);
    let mut source = vault.open();
    let listing = source.list().unwrap();
    let reason = "cannot be read: Permission denied (os error 13)".to_owned();
    assert_eq!(listing.skipped, [Skipped { id: "locked".to_owned(), reason: reason.clone() }]);
    let ids: Vec<String> = listing.entries.into_iter().map(|entry| entry.id).collect();
    let batch = source.read(&ids).unwrap();
    assert_eq!(batch.documents.len(), 1);
    assert_eq!(batch.skipped, [Skipped { id: "b.md".to_owned(), reason }]);
    set("locked", 0o700);

    set("", 0o000);
    for error in [open_error(&vault.root), source.list().unwrap_err(), source.read(&ids).unwrap_err()] {
        assert!(matches!(error, Error::SourceDenied { .. }), "{error}");
    }
    set("", 0o700);
}

#[test]
fn a_name_that_is_not_text_is_skipped_with_its_reason() {
    use std::os::unix::ffi::OsStrExt;
    let vault = Vault::with(&["a.md"]);
    fs::write(vault.root.join(std::ffi::OsStr::from_bytes(b"caf\xe9.md")), "x").unwrap();
    let listing = vault.open().list().unwrap();
    assert_eq!(listing.entries.len(), 1);
    let reason = "its name is not valid UTF-8; rename it".to_owned();
    assert_eq!(listing.skipped, [Skipped { id: "caf\u{fffd}.md".to_owned(), reason }]);
}

#[test]
fn a_file_too_large_to_be_a_note_is_skipped_and_one_of_50_mb_is_not() {
    let vault = Vault::with(&["a.md"]);
    // Sparse files: they take no room.
    fs::File::create(vault.root.join("huge.md")).unwrap().set_len((256 << 20) + 1).unwrap();
    vault.write("large.md", "word ".repeat(10 << 20));
    let mut source = vault.open();
    let listing = source.list().unwrap();
    let reason = "has 256 MiB, more than 256 are not read".to_owned();
    assert_eq!(listing.skipped, [Skipped { id: "huge.md".to_owned(), reason }]);
    let batch = source.read(&["large.md".to_owned(), "huge.md".to_owned()]).unwrap();
    assert_eq!(batch.documents[0].text.len(), 50 << 20);
    assert_eq!(batch.skipped.len(), 1);
}

#[test]
fn a_folder_that_went_away_is_an_error_and_not_an_empty_one() {
    let vault = Vault::with(&["a.md"]);
    let mut source = vault.open();
    fs::rename(&vault.root, vault.outside.path().join("moved")).unwrap();
    for error in [source.list().unwrap_err(), source.read(&["a.md".to_owned()]).unwrap_err(), open_error(&vault.root)] {
        assert!(matches!(error, Error::SourceMissing { .. }), "{error}");
        assert!(error.to_string().contains("name an existing folder with --vault"), "{error}");
    }
}

#[test]
fn a_file_in_place_of_a_folder_is_told_apart() {
    let vault = Vault::with(&["a.md"]);
    let error = open_error(&vault.root.join("a.md"));
    assert!(matches!(error, Error::SourceMalformed { .. }), "{error}");
    assert!(error.to_string().contains("it is a file; name the folder it is in"), "{error}");
}

#[test]
fn the_root_may_be_named_by_a_symbolic_link() {
    let vault = Vault::with(&["a.md"]);
    let link = vault.outside.path().join("link");
    symlink(&vault.root, &link).unwrap();
    let mut source = bearsearch_core::source::open(SourceKind::Markdown, &link, SourceOptions::default()).unwrap();
    assert_eq!(documents(source.as_mut()).len(), 1);
}

#[test]
fn nothing_in_the_folder_is_touched() {
    let vault = Vault::with(&["a.md", "sub/b.md", ".obsidian/app.json"]);
    vault.write(".gitignore", "x\n");
    let before = fingerprint(&vault.root);
    documents(&mut vault.open());
    assert_eq!(fingerprint(&vault.root), before);
}
