//! What the tests of sources share: generated Bear libraries with their manifests, and a record of a folder's bytes.
//!
//! Libraries come from `tests/make_bear_db.py`, which needs Python 3 and nothing else.
#![cfg(unix)]
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use bearsearch_core::source::bear::BearSource;
use bearsearch_core::source::{Document, Listing, Source, SourceOptions};

/// A Bear database in a folder of its own, removed when dropped.
pub struct Library {
    folder: tempfile::TempDir,
    pub path: PathBuf,
    pub manifest: Vec<ManifestNote>,
}

/// What the generator says about one row.
#[derive(Debug, Clone)]
pub struct ManifestNote {
    pub pk: i64,
    pub id: Option<String>,
    pub title: Option<String>,
    pub kind: String,
    pub state: String,
    pub tags: Vec<String>,
    /// Seconds since 2001 UTC.
    pub modified: Option<f64>,
    pub chars: usize,
}

impl Library {
    /// The library that the generator makes from these arguments: a copy of its own, which the test may change.
    pub fn generate(arguments: &[&str]) -> Self {
        let made = made_library(arguments);
        let folder = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(&made).unwrap() {
            let entry = entry.unwrap();
            // The manifest stays behind, so that the folder holds what Bear's would.
            if !entry.file_name().to_string_lossy().ends_with(".json") {
                std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
            }
        }
        let manifest = std::fs::read(made.join("database.sqlite.manifest.json")).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        let manifest = json["notes"].as_array().unwrap().iter().map(ManifestNote::of).collect();
        Self { path: folder.path().join("database.sqlite"), folder, manifest }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn beside(&self, suffix: &str) -> PathBuf {
        self.folder.path().join(format!("database.sqlite{suffix}"))
    }

    pub fn open(&self) -> BearSource {
        BearSource::open(&self.path, SourceOptions::default()).unwrap()
    }

    pub fn list(&self) -> Listing {
        self.open().list().unwrap()
    }

    /// All documents by id.
    pub fn documents(&self) -> BTreeMap<String, Document> {
        documents(&mut self.open())
    }

    /// The document whose manifest entry is of this kind.
    pub fn document_of_kind(&self, kind: &str) -> Document {
        let note = self.manifest.iter().find(|note| note.kind == kind).unwrap();
        let id = note.id.clone().unwrap_or_else(|| format!("pk:{}", note.pk));
        self.documents().remove(&id).unwrap_or_else(|| panic!("no document of kind {kind}"))
    }

    /// The first note that may be shown with its text.
    pub fn plain_note(&self) -> &ManifestNote {
        self.manifest
            .iter()
            .find(|note| note.state == "active" && note.kind == "random" && !note.tags.is_empty())
            .unwrap()
    }

    /// Changes one note as Bear would, in another process.
    pub fn touch(&self, arguments: &[&str]) {
        let output = python(&[&["touch", self.path.to_str().unwrap()], arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs SQL on the database, in this process and with its own SQLite.
    pub fn execute(&self, sql: &str) {
        rusqlite::Connection::open(&self.path).unwrap().execute_batch(sql).unwrap();
    }

    /// Runs a Python script that gets the database's path as its argument, to its end.
    pub fn run_script(&self, script: &str) {
        let output = Command::new("python3").args(["-c", script]).arg(&self.path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

impl ManifestNote {
    fn of(json: &serde_json::Value) -> Self {
        let string = |key: &str| json[key].as_str().map(str::to_owned);
        Self {
            pk: json["pk"].as_i64().unwrap(),
            id: string("id"),
            title: string("title"),
            kind: string("kind").unwrap(),
            state: string("state").unwrap(),
            tags: json["tags"].as_array().unwrap().iter().map(|tag| tag.as_str().unwrap().to_owned()).collect(),
            modified: json["modified"].as_f64(),
            chars: json["chars"].as_u64().unwrap() as usize,
        }
    }

    pub fn is_live(&self) -> bool {
        matches!(self.state.as_str(), "active" | "archived" | "encrypted")
    }
}

/// Options that give up on a lock soon. Only for tests in which a lock never goes away: on a busy machine this is short.
pub fn quick() -> SourceOptions {
    SourceOptions { busy_timeout_ms: 200, ..SourceOptions::default() }
}

/// All documents of `source` by id. Nothing may be skipped.
pub fn documents(source: &mut dyn Source) -> BTreeMap<String, Document> {
    let ids: Vec<String> = source.list().unwrap().entries.into_iter().map(|entry| entry.id).collect();
    let batch = source.read(&ids).unwrap();
    assert_eq!(batch.skipped, []);
    batch.documents.into_iter().map(|document| (document.id.clone(), document)).collect()
}

/// The folder of a generated library, made at most once per version of the generator: the same arguments always give
/// the same bytes.
fn made_library(arguments: &[&str]) -> PathBuf {
    let mut key = blake3::Hasher::new();
    key.update(&std::fs::read(generator()).unwrap());
    for argument in arguments {
        key.update(argument.as_bytes()).update(b"\0");
    }
    let all_made = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let made = all_made.join(format!("bear-{}", &key.finalize().to_hex()[..24]));
    if !made.exists() {
        let part = tempfile::tempdir_in(all_made).unwrap();
        let path = part.path().join("database.sqlite");
        let output = python(&[&["create", path.to_str().unwrap(), "--quiet"], arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // Another test may have been quicker; then its library is as good.
        let renamed = std::fs::rename(part.path(), &made);
        assert!(renamed.is_ok() || made.exists(), "{renamed:?}");
    }
    made
}

fn generator() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/make_bear_db.py")
}

fn python(arguments: &[&str]) -> Output {
    Command::new("python3").arg(generator()).args(arguments).output().expect("python3 is on the PATH")
}

/// A process that has said it is ready; killed when dropped.
pub struct OtherProcess {
    child: Child,
    _stdout: std::io::BufReader<ChildStdout>,
}

impl OtherProcess {
    /// Starts Python with these arguments and waits for its first line.
    pub fn start(arguments: &[&str]) -> Self {
        use std::io::BufRead;
        let mut child = Command::new("python3")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is on the PATH");
        let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the process ended before it was ready");
        Self { child, _stdout: stdout }
    }

    /// Waits until the process has ended by itself, and well.
    pub fn finish(mut self) {
        assert!(self.child.wait().unwrap().success());
    }

    /// Whether the process is still at work.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// A process that holds a lock on the library as Bear does while it saves.
    pub fn hold(library: &Library, lock: &str, seconds: &str) -> Self {
        let path = library.path.to_str().unwrap();
        Self::start(&[generator().to_str().unwrap(), "hold", path, "--lock", lock, "--seconds", seconds])
    }
}

impl Drop for OtherProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Everything of one file that a reader must not change.
#[derive(Debug, PartialEq, Eq)]
pub struct Print {
    hash: String,
    modified: std::time::SystemTime,
    /// Owner, permissions, and the time at which any of them was last written.
    inode: (u32, u32, u32, i64, i64),
}

/// The print of every file below a folder.
pub fn fingerprint(folder: &Path) -> BTreeMap<PathBuf, Print> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            found.extend(fingerprint(&path));
        }
        let content = if metadata.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        let mut inode = (metadata.uid(), metadata.gid(), metadata.mode(), metadata.ctime(), metadata.ctime_nsec());
        if path.to_string_lossy().ends_with("-shm") {
            // For root, SQLite sets the owner of this file to the database's, which it is already.
            (inode.3, inode.4) = (0, 0);
        }
        let hash = blake3::hash(&content).to_string();
        found.insert(path, Print { hash, modified: metadata.modified().unwrap(), inode });
    }
    found
}

/// Whether this process is the copy of the test that [`without_root`] started.
const UNPRIVILEGED: &str = "BEARSEARCH_TEST_UNPRIVILEGED";

/// Runs the calling test again in a process whose root may not pass over permissions. Returns true in that process, and
/// false in the first one once the second has passed. Only where `setpriv` is absent is the test skipped, and says so.
pub fn without_root(test: &str) -> bool {
    if std::env::var_os(UNPRIVILEGED).is_some() {
        return true;
    }
    let drop = "-dac_override,-dac_read_search";
    let output = Command::new("setpriv")
        .args([format!("--bounding-set={drop}"), format!("--inh-caps={drop}")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(UNPRIVILEGED, "1")
        .output();
    match output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
            assert!(said.contains("1 passed"), "the test {test} was not found: {said}");
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            use std::io::Write;
            // Written to the stream itself: the test harness would swallow a print.
            let _ = writeln!(std::io::stderr(), "SKIPPED {test}: setpriv is not installed");
        }
        Err(error) => panic!("setpriv: {error}"),
    }
    false
}
