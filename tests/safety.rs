//! What happens to the index when something goes wrong around it: damage, interrupted recoveries, other processes, files and
//! folders that may not be written. Through the public API; killed processes are in `tests/torture`.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use bearsearch_core::{
    Error, embeddings, library, recover,
    registry::{self, SourceSpec},
    scope::{Filters, Scope},
    source::SourceKind,
    store::{Access, Store},
    sync::{self, SyncOptions},
};
use tempfile::TempDir;

const PAGE: usize = 8192;

/// A vault of `notes` notes, and where its index is.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new(notes: usize) -> Self {
        let place = Self { folder: TempDir::new().unwrap() };
        fs::create_dir(place.vault()).unwrap();
        (0..notes).for_each(|number| place.write(number, "Feed the starter."));
        place
    }

    fn vault(&self) -> PathBuf {
        self.folder.path().join("vault")
    }

    fn index(&self) -> PathBuf {
        self.folder.path().join("index.sqlite")
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        self.folder.path().join(format!("index.sqlite{suffix}"))
    }

    fn write(&self, number: usize, text: &str) {
        fs::write(self.vault().join(format!("{number}.md")), format!("# Note {number}\n\n{text}\n")).unwrap();
    }

    fn open(&self) -> Store {
        Store::open(&self.index()).unwrap()
    }

    fn sync(&self, store: &Store) {
        let spec = SourceSpec { kind: SourceKind::Markdown, path: self.vault(), name: None, register: true };
        let report = sync::sync(store, &spec, &SyncOptions::default(), &mut |_, _| Ok(())).unwrap();
        assert_eq!(report.error, None);
    }

    /// An index with all notes and a vector for each; closed, so that everything is in the file.
    fn built(notes: usize) -> Self {
        let place = Self::new(notes);
        let store = place.open();
        place.sync(&store);
        embed(&store, "model");
        place
    }

    fn page_of(&self, table: &str) -> usize {
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        self.open().read(|conn| Ok(conn.query_row(sql, [table], |row| row.get(0))?)).unwrap()
    }

    /// Overwrites page `number`, from 1, of the closed index.
    fn overwrite(&self, number: usize, with: u8) {
        self.change(|bytes| bytes[(number - 1) * PAGE..number * PAGE].fill(with));
    }

    fn change(&self, how: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.index()).unwrap();
        how(&mut bytes);
        fs::write(self.index(), bytes).unwrap();
    }
}

/// Vectors of eight dimensions that differ from note to note.
fn vector(text: &str) -> Vec<f32> {
    let seed = text.bytes().fold(7_u32, |seed, byte| seed.wrapping_mul(31).wrapping_add(u32::from(byte)));
    let raw: Vec<f32> = (0..8).map(|i| ((seed >> i & 255) as f32) - 127.5).collect();
    let length = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
    raw.into_iter().map(|value| value / length).collect()
}

fn embed(store: &Store, model: &str) {
    let model = embeddings::use_model(store, model, model, 8).unwrap();
    for text in store.read(|conn| embeddings::pending(conn, model.id, 0, 100_000)).unwrap() {
        embeddings::add(store, model.id, &[text.id], &vector(&text.text)).unwrap();
    }
}

fn coverage(store: &Store) -> (usize, usize) {
    let model = store.read(embeddings::live_model).unwrap().unwrap();
    let found = store.read(|conn| embeddings::coverage(conn, model.id)).unwrap();
    (found.embedded, found.pending)
}

fn count(store: &Store) -> Result<usize, Error> {
    let ids = store.read(registry::sources)?.iter().map(|row| row.id).collect();
    let scope = Scope::new(&Filters { sources: ids, ..Filters::default() });
    store.read(|conn| library::list(conn, &scope, 1, 0)).map(|(_, total)| total)
}

/// All vectors by the hash of their text.
fn vectors(store: &Store) -> Vec<(Vec<u8>, Vec<u8>)> {
    let sql = "SELECT t.hash, e.embedding FROM texts t JOIN embeddings_1 e ON e.id = t.id ORDER BY t.hash";
    let rows = |conn: &rusqlite::Connection| {
        let mut statement = conn.prepare(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?)
    };
    store.read(rows).unwrap()
}

#[test]
fn every_page_of_the_file_is_sealed() {
    let place = Place::built(30);
    assert!(!place.beside("-wal").exists(), "the last to leave writes the WAL back");
    let bytes = fs::read(place.index()).unwrap();
    for (number, page) in bytes.chunks_exact(PAGE).enumerate() {
        assert!(bearsearch_core::page_sum::holds(page.try_into().unwrap(), number as u64), "page {number}");
        assert_ne!(page[PAGE - 8..], [0; 8], "page {number} has no seal");
    }
}

#[test]
fn one_flipped_bit_in_a_text_is_damage_and_no_answer() {
    let place = Place::built(5);
    let needle = b"Feed the starter.";
    place.change(|bytes| {
        let at: Vec<usize> = (0..bytes.len() - needle.len()).filter(|at| bytes[*at..].starts_with(needle)).collect();
        assert_eq!(at.len(), 5);
        bytes[at[2]] ^= 0x02;
    });
    let store = place.open();
    let read = store.read(|conn| (1..=5).map(|id| library::text(conn, id)).collect::<Result<Vec<_>, _>>());
    assert!(matches!(read, Err(Error::IndexCorrupt { .. })), "{read:?}");
    let message = read.unwrap_err().to_string();
    assert!(message.contains("`bearsearch index`") && !message.contains("starter"), "{message}");
}

#[test]
fn damage_that_one_process_met_is_mended_by_another() {
    let place = Place::built(5);
    place.overwrite(place.page_of("document_texts"), 0xa5);
    let reader = place.open();
    assert!(reader.read(|conn| library::text(conn, 1)).is_err());
    let other = place.open();
    assert!(matches!(other.refuse_damaged(), Err(Error::IndexCorrupt { .. })));
    let spec = SourceSpec { kind: SourceKind::Markdown, path: place.vault(), name: None, register: true };
    let synced = sync::sync(&other, &spec, &SyncOptions::default(), &mut |_, _| Ok(()));
    assert!(matches!(synced, Err(Error::IndexCorrupt { .. })), "what did not change was not looked at before either");
    assert_eq!(recover::replace(&place.index(), false).unwrap(), Some(5));
    // The first process finds the new file by itself.
    assert!(reader.refuse_damaged().is_ok());
    place.sync(&reader);
    assert_eq!(count(&reader).unwrap(), 5);
    recover::finish(&reader).unwrap();
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 4, "vault, index, WAL and shared memory");
}

#[test]
fn two_processes_that_met_the_same_damage_mend_it_once() {
    let place = Place::built(5);
    place.overwrite(place.page_of("document_texts"), 0xa5);
    assert!(place.open().read(|conn| library::text(conn, 1)).is_err());
    assert_eq!(recover::replace(&place.index(), false).unwrap(), Some(5));
    assert_eq!(recover::replace(&place.index(), false).unwrap(), None, "nothing is wrong with the new one");
    assert_eq!(coverage(&place.open()), (5, 0));
}

#[test]
fn the_vectors_of_a_broken_page_are_lost_and_no_others_are_touched() {
    let place = Place::new(600);
    let store = place.open();
    place.sync(&store);
    embed(&store, "model");
    let before = vectors(&store);
    drop(store);
    let whole = fs::read(place.index()).unwrap();
    let models_page = models_page(&place, &whole);
    let mut lost_in_all = 0;
    for page in (1..=whole.len() / PAGE).filter(|page| page % 3 == 1 || *page == models_page) {
        place.change(|bytes| {
            *bytes = whole.clone();
            let at = (page - 1) * PAGE + page * 37 % PAGE;
            bytes[at] ^= 0x10;
        });
        let aside = place.folder.path().join("aside");
        fs::copy(place.index(), &aside).unwrap();
        let fresh = Store::open(&place.folder.path().join(format!("fresh-{page}.sqlite"))).unwrap();
        let saved = recover::salvage(&aside, &fresh).unwrap();
        if saved > 0 {
            let known: std::collections::HashMap<_, _> = before.iter().cloned().collect();
            vectors(&fresh).iter().for_each(|(hash, vector)| assert_eq!(known.get(hash), Some(vector)));
        }
        // The hashes are there twice, in the table and in its index; a page holds a few hundred vectors of eight dimensions.
        assert!(saved + 240 >= before.len() || page == models_page, "page {page}: {saved} saved");
        lost_in_all += before.len() - saved;
    }
    assert!(lost_in_all > 0);
}

/// The page of the one row that says which model the vectors are of.
fn models_page(place: &Place, whole: &[u8]) -> usize {
    let copy = place.folder.path().join("copy.sqlite");
    fs::write(&copy, whole).unwrap();
    let store = Store::open(&copy).unwrap();
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'models'";
    store.read(|conn| Ok(conn.query_row(sql, [], |row| row.get(0))?)).unwrap()
}

#[test]
fn a_recovery_that_was_interrupted_is_gone_on_with() {
    let place = Place::built(5);
    // As a process leaves it that dies right after it has moved the damaged file.
    fs::rename(place.index(), place.beside(".damaged")).unwrap();
    let store = place.open();
    recover::resume(&store).unwrap();
    assert_eq!(store.read(registry::sources).unwrap().len(), 1, "the sources are known again");
    recover::finish(&store).unwrap();
    assert!(place.beside(".damaged").exists(), "kept until every source has been read");
    place.sync(&store);
    assert_eq!(coverage(&store), (5, 0));
    recover::finish(&store).unwrap();
    assert!(!place.beside(".damaged").exists());
}

#[test]
fn an_index_that_is_damaged_again_before_it_was_complete_loses_nothing() {
    let place = Place::built(5);
    fs::rename(place.index(), place.beside(".damaged")).unwrap();
    drop(place.open());
    place.change(|bytes| bytes.truncate(PAGE + 100));
    assert_eq!(recover::replace(&place.index(), false).unwrap(), Some(5));
    let store = place.open();
    place.sync(&store);
    recover::finish(&store).unwrap();
    assert_eq!(coverage(&store), (5, 0));
    assert!(!place.beside(".damaged").exists() && !place.beside(".damaged-2").exists());
}

#[test]
fn vectors_of_texts_that_are_gone_go_when_a_recovery_ends() {
    let place = Place::built(5);
    fs::remove_file(place.vault().join("3.md")).unwrap();
    fs::rename(place.index(), place.beside(".damaged")).unwrap();
    let store = place.open();
    recover::resume(&store).unwrap();
    assert_eq!(vectors(&store).len(), 5);
    place.sync(&store);
    recover::finish(&store).unwrap();
    assert_eq!(vectors(&store).len(), 4);
}

#[test]
fn a_file_that_ends_too_early_is_damage_or_a_new_index_and_never_a_crash() {
    let place = Place::built(20);
    let whole = fs::read(place.index()).unwrap();
    let lengths = (0..120).step_by(7).chain((120..whole.len()).step_by(9_001)).chain([whole.len() - 1]);
    for length in lengths {
        place.change(|bytes| *bytes = whole[..length].to_vec());
        let read = Store::open(&place.index()).and_then(|store| {
            let counted = count(&store)?;
            store.read(|conn| (1..=20).try_for_each(|id| library::text(conn, id).map(drop)))?;
            Ok(counted)
        });
        match read {
            // SQLite takes a file of one byte for an empty one.
            // What is missing may be a page that is not in use.
            Ok(found) => assert!(found == if length <= 1 { 0 } else { 20 }, "{found} notes in {length} bytes"),
            Err(Error::IndexCorrupt { .. }) => {
                let saved = recover::replace(&place.index(), false).unwrap();
                assert!(saved.is_some(), "{length} bytes");
                fs::remove_file(place.beside(".damaged")).unwrap();
            }
            Err(error) => panic!("{length} bytes: {error}"),
        }
        for suffix in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(place.beside(suffix));
        }
        fs::write(place.index(), &whole).unwrap();
    }
}

#[test]
fn a_damaged_header_never_makes_an_index_another_programs() {
    let place = Place::built(3);
    let whole = fs::read(place.index()).unwrap();
    for at in (0..24).chain([31, 47, 56]).chain(60..72).chain([95, 99]) {
        place.change(|bytes| {
            *bytes = whole.clone();
            bytes[at] ^= 0x41;
        });
        match Store::open(&place.index()) {
            Err(Error::IndexCorrupt { .. }) => {}
            other => panic!("byte {at}: {:?}", other.map(|store| count(&store))),
        }
        assert_eq!(recover::replace(&place.index(), false).unwrap(), Some(3), "byte {at}");
        fs::remove_file(place.beside(".damaged")).unwrap();
    }
}

#[test]
fn a_file_that_another_process_deletes_is_made_again() {
    let place = Place::built(3);
    let store = place.open();
    assert_eq!(count(&store).unwrap(), 3);
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(place.beside(suffix));
    }
    assert_eq!(count(&store).unwrap(), 0);
    place.sync(&store);
    assert_eq!(count(&store).unwrap(), 3);
    assert_eq!(count(&place.open()).unwrap(), 3, "nothing was written to the deleted file");
}

#[test]
fn a_program_of_today_refuses_an_index_that_a_newer_one_migrates_under_it() {
    let place = Place::built(3);
    let store = place.open();
    assert_eq!(count(&store).unwrap(), 3);
    place.open().write(|tx| Ok(tx.pragma_update(None, "user_version", 999)?)).unwrap();
    assert!(matches!(count(&store), Err(Error::IndexTooNew { found: 999, .. })));
    let written = store.write(|_| Ok(()));
    assert!(matches!(written, Err(Error::IndexTooNew { found: 999, .. })));
}

#[test]
fn opening_and_reading_do_not_wait_for_a_writer() {
    let place = Place::built(3);
    let writer = place.open();
    let reading = writer.write(|_| {
        let other = Store::open(&place.index())?;
        count(&other)
    });
    assert_eq!(reading.unwrap(), 3);
}

#[test]
fn a_writer_waits_as_long_as_it_is_told_and_says_who_is_in_its_way() {
    let place = Place::built(3);
    let (first, second) = (place.open(), place.open());
    let waited = first.write(|_| Ok(second.write_within(std::time::Duration::ZERO, |_| Ok(()))));
    assert!(matches!(waited.unwrap(), Err(Error::IndexBusy { .. })));
    assert!(second.write(|_| Ok(())).is_ok());
}

#[test]
fn a_folder_that_many_open_for_the_first_time_gets_one_index() {
    for _ in 0..20 {
        let place = Place::new(3);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6)
                .map(|_| {
                    scope.spawn(|| {
                        let store = place.open();
                        place.sync(&store);
                        count(&store)
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap().unwrap(), 3));
        });
    }
}

#[test]
fn an_older_index_that_many_open_at_once_is_migrated_once() {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/index-schema-1.sqlite");
    for _ in 0..5 {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("index.sqlite");
        fs::copy(&stored, &path).unwrap();
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| Store::open(&path).map(|store| coverage(&store)))).collect();
            threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap().unwrap(), (4, 0)));
        });
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes[20], 8, "room for the seals was made");
    }
}

#[test]
fn text_that_was_removed_by_a_process_that_died_is_erased_by_the_next_one() {
    let place = Place::new(30);
    let secret = "zygomorphic";
    place.write(7, secret);
    let store = place.open();
    place.sync(&store);
    store.checkpoint().unwrap();
    // A reader that holds an old state keeps the WAL from being emptied, as a killed process does.
    let reader = place.open();
    reader
        .read(|conn| {
            conn.query_row("SELECT count(*) FROM documents", [], |_| Ok(()))?;
            fs::remove_file(place.vault().join("7.md")).unwrap();
            place.sync(&store);
            Ok(())
        })
        .unwrap();
    let holds = || {
        let read = |suffix: &str| fs::read(place.beside(suffix)).unwrap_or_default();
        [read(""), read("-wal")].iter().any(|bytes| bytes.windows(secret.len()).any(|part| part == secret.as_bytes()))
    };
    assert!(holds(), "the test shows nothing otherwise");
    let next = place.open();
    assert!(!holds());
    assert_eq!(count(&next).unwrap(), 29);
}

#[cfg(unix)]
#[test]
fn a_link_to_an_index_leads_to_one_index() {
    let place = Place::built(3);
    let link = place.vault().join("link.sqlite");
    std::os::unix::fs::symlink(place.index(), &link).unwrap();
    let store = Store::open(&link).unwrap();
    assert_eq!(count(&store).unwrap(), 3);
    drop(store);
    place.overwrite(place.page_of("document_texts"), 0xa5);
    let store = Store::open(&link).unwrap();
    assert!(store.read(|conn| library::text(conn, 1)).is_err());
    assert_eq!(recover::replace(&link, false).unwrap(), Some(3));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(place.beside(".damaged").exists());
    assert_eq!(count(&Store::open(&link).unwrap()).unwrap(), 0);
}

#[test]
fn access_is_full_where_everything_may_be_done() {
    assert_eq!(Place::built(1).open().access().unwrap(), Access::Full);
}
