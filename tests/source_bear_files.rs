//! Bear's files in every state they can be left in: read right, and never touched.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod source_support;

use std::fs;
use std::path::Path;
use std::process::Command;

use bearsearch_core::Error;
use bearsearch_core::source::bear::{BearSource, default_path};
use bearsearch_core::source::{Source, SourceOptions};
use source_support::{Library, OtherProcess, documents, fingerprint, quick, without_root};

const SMALL: &[&str] = &["--notes", "12", "--no-edge"];
const SMALL_WAL: &[&str] = &["--notes", "12", "--no-edge", "--wal"];

/// Opens, lists and reads everything, and makes sure that this left no trace beside the database.
fn read_without_a_trace(library: &Library) -> Vec<String> {
    let before = fingerprint(library.folder());
    let mut source = library.open();
    assert_eq!(fingerprint(library.folder()), before, "after opening");
    let ids: Vec<String> = source.list().unwrap().entries.into_iter().map(|entry| entry.id).collect();
    assert_eq!(fingerprint(library.folder()), before, "after listing");
    let texts = source.read(&ids).unwrap().documents.into_iter().map(|document| document.text).collect();
    assert_eq!(fingerprint(library.folder()), before, "after reading");
    drop(source);
    assert_eq!(fingerprint(library.folder()), before, "after closing");
    texts
}

fn open_error(path: &Path) -> Error {
    match BearSource::open(path, SourceOptions::default()) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

fn sees_the_wal(texts: &[String]) -> bool {
    let has = |words: &str| texts.iter().any(|text| text.contains(words));
    has("# Only in the WAL") && has("walonlyword appears after the last checkpoint")
}

#[test]
fn a_rollback_journal_database_is_read_without_a_trace() {
    let library = Library::generate(SMALL);
    let live = library.manifest.iter().filter(|note| note.is_live()).count();
    assert_eq!(read_without_a_trace(&library).len(), live);
}

#[test]
fn pages_that_are_only_in_the_wal_are_read_without_a_trace() {
    let library = Library::generate(SMALL_WAL);
    assert!(library.beside("-wal").exists() && library.beside("-shm").exists());
    assert!(sees_the_wal(&read_without_a_trace(&library)));
}

#[test]
fn a_wal_without_its_shared_memory_file_is_read_without_a_trace() {
    let library = Library::generate(SMALL_WAL);
    fs::remove_file(library.beside("-shm")).unwrap();
    assert!(sees_the_wal(&read_without_a_trace(&library)));
}

#[test]
fn a_damaged_shared_memory_file_is_not_believed() {
    let library = Library::generate(SMALL_WAL);
    fs::write(library.beside("-shm"), vec![0xa5; 32_768]).unwrap();
    assert!(sees_the_wal(&read_without_a_trace(&library)));
}

#[test]
fn a_wal_database_at_rest_is_read_without_a_trace() {
    let library = Library::generate(SMALL);
    library.execute("PRAGMA journal_mode = WAL; UPDATE ZSFNOTE SET ZTEXT = ZTEXT || ' checkpointed'");
    assert!(!library.beside("-wal").exists(), "the last connection takes the WAL with it");
    let texts = read_without_a_trace(&library);
    assert!(texts.iter().all(|text| text.ends_with(" checkpointed")));
}

#[test]
fn a_wal_that_is_empty_is_read_without_a_trace() {
    let library = Library::generate(SMALL);
    library.execute("PRAGMA journal_mode = WAL");
    fs::write(library.beside("-wal"), b"").unwrap();
    assert!(!read_without_a_trace(&library).is_empty());
}

#[test]
fn a_live_writer_in_wal_mode_is_read_up_to_its_last_commit() {
    let library = Library::generate(SMALL);
    let script = "import sqlite3, sys\n\
        db = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
        db.execute('PRAGMA journal_mode=WAL'); db.execute('PRAGMA wal_autocheckpoint=0')\n\
        db.execute(\"UPDATE ZSFNOTE SET ZTEXT='committed '||Z_PK\")\n\
        db.execute('BEGIN IMMEDIATE'); db.execute(\"UPDATE ZSFNOTE SET ZTEXT='uncommitted'\")\n\
        print('ready', flush=True); sys.stdin.read()";
    let _writer = OtherProcess::start(&["-c", script, library.path.to_str().unwrap()]);
    let texts = read_without_a_trace(&library);
    assert!(!texts.is_empty() && texts.iter().all(|text| text.starts_with("committed ")));
}

/// Gives every note the text of one generation after the other, each in one transaction.
const GENERATIONS: &str = "import sqlite3, sys\n\
    db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)\n\
    db.execute('PRAGMA journal_mode=' + sys.argv[2]); db.execute('PRAGMA synchronous=OFF')\n\
    print('ready', flush=True)\n\
    for i in range(200):\n\
    \x20 db.execute('BEGIN IMMEDIATE')\n\
    \x20 db.execute(\"UPDATE ZSFNOTE SET Z_OPT=Z_OPT+1, ZTEXT='generation '||?||' '||hex(zeroblob(abs(random()) % 4000))\", (i,))\n\
    \x20 db.execute('COMMIT')\n";

#[test]
fn a_reading_is_of_one_moment_while_bear_writes_and_other_threads_read() {
    for mode in ["DELETE", "WAL"] {
        let library = Library::generate(SMALL);
        let mut writer = OtherProcess::start(&["-c", GENERATIONS, library.path.to_str().unwrap(), mode]);
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                        let patient = SourceOptions { busy_timeout_ms: 60_000, ..SourceOptions::default() };
                        let mut source = BearSource::open(&library.path, patient).unwrap();
                        let texts: Vec<String> =
                            documents(&mut source).into_values().map(|document| document.text).collect();
                        let generation = |text: &String| text.split(' ').nth(1).map(str::to_owned);
                        let is_one = texts.windows(2).all(|two| generation(&two[0]) == generation(&two[1]));
                        assert!(is_one || !texts[0].starts_with("generation"), "{mode}: {texts:?}");
                    }
                });
            }
            while writer.is_running() {
                std::thread::yield_now();
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        writer.finish();
    }
}

/// Leaves a half-written transaction behind: changed pages in the database, their old content in the journal.
const CRASH: &str = "import os, sqlite3, sys\n\
    db = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
    db.execute('PRAGMA cache_size=1'); db.execute('BEGIN IMMEDIATE')\n\
    db.execute(\"UPDATE ZSFNOTE SET ZTEXT='torn '||hex(randomblob(3000))\")\n\
    os._exit(0)";

#[test]
fn a_transaction_cut_off_by_a_crash_is_rolled_back_in_a_copy_alone() {
    let library = Library::generate(SMALL);
    let whole = library.documents();
    library.run_script(CRASH);
    assert!(library.beside("-journal").exists());
    let raw = fs::read(&library.path).unwrap();
    assert!(raw.windows(5).any(|window| window == b"torn "), "the crash came before anything was written");

    let before = fingerprint(library.folder());
    let mut source = library.open();
    assert_eq!(documents(&mut source), whole);
    assert_eq!(fingerprint(library.folder()), before);
}

#[test]
fn a_copy_is_left_behind_when_the_original_goes_on() {
    let library = Library::generate(SMALL);
    let whole = library.documents();
    library.run_script(CRASH);
    let mut source = library.open();
    assert_eq!(documents(&mut source), whole);
    // Bear starts again, rolls back and goes on.
    library.execute("UPDATE ZSFNOTE SET ZTEXT = 'after the crash'");
    assert!(documents(&mut source).values().all(|document| document.text == "after the crash"));
}

#[test]
fn a_journal_that_would_delete_another_file_is_refused() {
    let library = Library::generate(SMALL);
    library.run_script(CRASH);
    let innocent = library.folder().join("innocent");
    fs::write(&innocent, b"\0").unwrap();
    // A super-journal record as SQLite appends it: page number, name, length, checksum, magic.
    let name = innocent.to_str().unwrap().as_bytes();
    let checksum = name.iter().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
    let lock_byte_page = (0x4000_0000_u32 / 4096 + 1).to_be_bytes();
    let mut journal = fs::read(library.beside("-journal")).unwrap();
    for part in [&lock_byte_page[..], name, &(name.len() as u32).to_be_bytes(), &checksum.to_be_bytes()] {
        journal.extend_from_slice(part);
    }
    journal.extend_from_slice(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    fs::write(library.beside("-journal"), journal).unwrap();

    let before = fingerprint(library.folder());
    let error = open_error(&library.path);
    assert!(matches!(&error, Error::SourceMalformed { .. }), "{error}");
    assert_eq!(fingerprint(library.folder()), before);
}

#[test]
fn a_lock_that_stays_is_busy_and_one_that_goes_is_waited_for() {
    let library = Library::generate(SMALL);
    let holder = OtherProcess::hold(&library, "EXCLUSIVE", "60");
    let error = BearSource::open(&library.path, quick()).err().expect("the lock stands");
    assert!(matches!(error, Error::SourceBusy { .. }), "{error}");
    assert!(error.to_string().contains("is locked by its own program at the moment; try again"), "{error}");
    drop(holder);

    let _holder = OtherProcess::hold(&library, "EXCLUSIVE", "0.3");
    let patient = SourceOptions { busy_timeout_ms: 30_000, ..SourceOptions::default() };
    assert!(!BearSource::open(&library.path, patient).unwrap().list().unwrap().entries.is_empty());
}

#[test]
fn a_writer_that_has_not_begun_to_write_is_no_obstacle() {
    let library = Library::generate(SMALL);
    let _holder = OtherProcess::hold(&library, "IMMEDIATE", "60");
    assert!(!read_without_a_trace(&library).is_empty());
}

#[test]
fn no_lock_is_kept_between_calls() {
    let library = Library::generate(SMALL);
    let mut source = library.open();
    let ids: Vec<String> = source.list().unwrap().entries.into_iter().map(|entry| entry.id).collect();
    source.read(&ids).unwrap();
    // From another process: within this one, SQLite would know its own locks.
    library.run_script(
        "import sqlite3, sys\n\
         db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)\n\
         db.execute('BEGIN EXCLUSIVE'); db.execute('UPDATE ZSFNOTE SET Z_OPT=Z_OPT+1'); db.execute('COMMIT')",
    );
    assert_eq!(source.read(&ids).unwrap().documents.len(), ids.len());
}

#[test]
fn the_database_may_be_named_by_a_symbolic_link() {
    let library = Library::generate(SMALL_WAL);
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("a link # with ? odd % name");
    std::os::unix::fs::symlink(&library.path, &link).unwrap();
    let before = (fingerprint(library.folder()), fingerprint(elsewhere.path()));
    let documents = documents(&mut BearSource::open(&link, SourceOptions::default()).unwrap());
    assert!(documents.values().any(|document| document.title == "Only in the WAL"));
    assert_eq!((fingerprint(library.folder()), fingerprint(elsewhere.path())), before);
}

#[test]
fn a_path_of_any_bytes_is_read() {
    use std::os::unix::ffi::OsStrExt;
    let library = Library::generate(SMALL);
    let odd = library.folder().join(std::ffi::OsStr::from_bytes(b"caf\xe9 'n\" ?mode=rwc&#.sqlite"));
    fs::copy(&library.path, &odd).unwrap();
    let listing = BearSource::open(&odd, SourceOptions::default()).unwrap().list().unwrap();
    assert_eq!(listing.entries, library.list().entries);
}

#[test]
fn what_is_not_there_is_missing_and_stays_so() {
    let library = Library::generate(SMALL);
    let before = fingerprint(library.folder());
    std::os::unix::fs::symlink("nowhere", library.beside(".link")).unwrap();
    for name in ["no such file", "no/such/folder", "database.sqlite/inside a file", "database.sqlite.link"] {
        let error = open_error(&library.folder().join(name));
        assert!(matches!(error, Error::SourceMissing { .. }), "{name}: {error}");
        assert!(error.to_string().contains("name a database with --db or BEARSEARCH_BEAR_DB"), "{error}");
    }
    fs::remove_file(library.beside(".link")).unwrap();
    assert_eq!(fingerprint(library.folder()), before);
}

#[test]
fn what_is_not_a_bear_database_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("empty"), b"").unwrap();
    fs::write(path("text"), "# Just a note\n".repeat(500)).unwrap();
    fs::write(path("short"), b"SQLite format 3\0").unwrap();
    rusqlite::Connection::open(path("other")).unwrap().execute_batch("CREATE TABLE moz_places (id)").unwrap();
    rusqlite::Connection::open(path("bare")).unwrap().execute_batch("CREATE TABLE ZSFNOTE (Z_PK, ZTITLE)").unwrap();
    assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    for (name, words) in [
        ("empty", "the file is empty"),
        ("text", "it does not begin like a SQLite database"),
        ("short", "it does not begin like a SQLite database"),
        ("other", "without the table ZSFNOTE; name Bear's own database.sqlite"),
        ("bare", "has no column ZTEXT"),
        ("pipe", "it is not a regular file"),
        (".", "it is a folder; name the file database.sqlite in it"),
    ] {
        let error = open_error(&path(name));
        assert!(matches!(error, Error::SourceMalformed { .. }), "{name}: {error}");
        assert!(error.to_string().contains(words), "{name}: {error}");
    }
}

#[test]
fn a_truncated_database_says_how_much_is_missing() {
    let library = Library::generate(SMALL);
    let whole = fs::metadata(&library.path).unwrap().len();
    for kept in [whole - 1, whole / 2, 4096, 4095, 600, 100] {
        fs::OpenOptions::new().write(true).open(&library.path).unwrap().set_len(kept).unwrap();
        let error =
            BearSource::open(&library.path, SourceOptions::default()).and_then(|mut source| source.list()).unwrap_err();
        assert!(matches!(error, Error::SourceMalformed { .. }), "{kept}: {error}");
        let words = format!("it is cut off: its header speaks of {whole} bytes, the file has {kept}");
        assert!(error.to_string().contains(&words), "{kept}: {error}");
    }
}

#[test]
fn flipped_bytes_give_an_error_or_an_answer_and_never_a_crash() {
    let library = Library::generate(SMALL);
    let whole = fs::read(&library.path).unwrap();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize
    };
    let mut refused = 0;
    for round in 0..150 {
        let mut damaged = whole.clone();
        // Half of the rounds hit the first pages, which hold the schema and Core Data's register.
        let reach = if round % 2 == 0 { 8192 } else { damaged.len() };
        for _ in 0..=round / 10 {
            damaged[next() % reach] = next() as u8;
        }
        fs::write(&library.path, damaged).unwrap();
        let outcome = BearSource::open(&library.path, SourceOptions::default()).and_then(|mut source| {
            let ids: Vec<String> = source.list()?.entries.into_iter().map(|entry| entry.id).collect();
            source.read(&ids)
        });
        if let Err(error) = outcome {
            refused += 1;
            assert!(matches!(error, Error::SourceMalformed { .. }), "round {round}: {error}");
        }
    }
    assert!(refused > 10, "only {refused} rounds damaged anything");
}

#[test]
fn a_schema_that_runs_code_is_harmless() {
    let library = Library::generate(SMALL);
    let expected = library.list().entries.len();
    library.execute(
        "CREATE VIEW Z_9TAGS AS SELECT 1 AS Z_9NOTES, 2 AS Z_9TAGS;
         CREATE TRIGGER t AFTER UPDATE ON ZSFNOTE BEGIN DELETE FROM ZSFNOTE; END;
         CREATE INDEX odd ON ZSFNOTE (abs(Z_OPT))",
    );
    assert_eq!(library.list().entries.len(), expected);
}

#[test]
fn a_file_without_permission_is_denied_with_advice() {
    if !without_root("a_file_without_permission_is_denied_with_advice") {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let library = Library::generate(SMALL);
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let expect_denied = || {
        let error = open_error(&library.path);
        assert!(matches!(error, Error::SourceDenied { .. }), "{error}");
        let advice = if cfg!(target_os = "macos") { "Full Disk Access" } else { "check the permissions" };
        assert!(error.to_string().contains(advice), "{error}");
    };
    set(&library.path, 0o000);
    expect_denied();
    set(&library.path, 0o400);
    let folder = library.folder().to_owned();
    set(&folder, 0o000);
    expect_denied();
    set(&folder, 0o700);
    assert!(!library.list().entries.is_empty(), "a file that may only be read is enough");
}

#[test]
fn a_folder_that_may_not_be_written_is_no_obstacle() {
    if !without_root("a_folder_that_may_not_be_written_is_no_obstacle") {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    for state in ["rollback", "wal at rest", "wal", "wal alone", "crashed"] {
        let library =
            Library::generate(if state.starts_with("wal") && state != "wal at rest" { SMALL_WAL } else { SMALL });
        match state {
            "wal at rest" => library.execute("PRAGMA journal_mode = WAL"),
            "wal alone" => fs::remove_file(library.beside("-shm")).unwrap(),
            "crashed" => library.run_script(CRASH),
            _ => {}
        }
        let set = |mode| fs::set_permissions(library.folder(), fs::Permissions::from_mode(mode)).unwrap();
        set(0o500);
        let texts = read_without_a_trace(&library);
        set(0o700);
        assert!(!texts.is_empty(), "{state}");
        assert_eq!(sees_the_wal(&texts), matches!(state, "wal" | "wal alone"), "{state}");
    }
}

#[test]
fn the_default_path_is_bears_own() {
    let path = default_path().unwrap();
    let below = "Library/Group Containers/9K33E3U3T4.net.shinyfrog.bear/Application Data/database.sqlite";
    assert!(path.is_absolute() && path.ends_with(below), "{}", path.display());
}
