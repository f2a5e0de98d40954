//! How long a source takes to say that nothing changed, and to read everything.
//!
//! Corpus: Bear libraries of N notes of 2.6 KB on average (`tests/make_bear_db.py`, texts repeated to that length) and
//! folders of N Markdown files of 1 KB; made once under `target/bench-data`. Opening is part of each figure.
//! Command: `cargo bench --bench source_list [-- N ...]`, by default 10000 and 100000.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use bearsearch_core::source::bear::BearSource;
use bearsearch_core::source::markdown::MarkdownSource;
use bearsearch_core::source::{Source, SourceOptions};

const RUNS: usize = 11;

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    for size in if sizes.is_empty() { vec![10_000, 100_000] } else { sizes } {
        let library = bear_library(size);
        report(&format!("bare scan of {size} Bear rows, for comparison"), || bare_scan(&library));
        report(&format!("bear list {size}"), || {
            BearSource::open(&library, SourceOptions::default()).unwrap().list().unwrap().entries.len()
        });
        let excluding = SourceOptions { exclude_tags: vec!["work/projects".to_owned()], ..Default::default() };
        report(&format!("bear list {size}, one tag excluded"), || {
            BearSource::open(&library, excluding.clone()).unwrap().list().unwrap().entries.len()
        });
        report(&format!("bear list and read {size} in batches of 512"), || {
            read_all(&mut BearSource::open(&library, SourceOptions::default()).unwrap())
        });
        let folder = markdown_folder(size);
        report(&format!("markdown list {size}"), || {
            MarkdownSource::open(&folder, SourceOptions::default()).unwrap().list().unwrap().entries.len()
        });
        report(&format!("markdown list and read {size} in batches of 512"), || {
            read_all(&mut MarkdownSource::open(&folder, SourceOptions::default()).unwrap())
        });
    }
}

/// The least that any listing costs: SQLite walks the same rows and hands over key, identifier and counter.
fn bare_scan(library: &Path) -> usize {
    let conn = rusqlite::Connection::open_with_flags(library, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut statement = conn.prepare("SELECT Z_PK, ZUNIQUEIDENTIFIER, Z_OPT FROM ZSFNOTE").unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut count = 0;
    while let Some(row) = rows.next().unwrap() {
        count += usize::from(row.get_ref(1).is_ok());
    }
    count
}

fn read_all(source: &mut dyn Source) -> usize {
    let ids: Vec<String> = source.list().unwrap().entries.into_iter().map(|entry| entry.id).collect();
    ids.chunks(512).map(|ids| source.read(ids).unwrap().documents.len()).sum()
}

fn report(name: &str, run: impl Fn() -> usize) {
    let mut times: Vec<Duration> = Vec::with_capacity(RUNS);
    let mut count = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        count = run();
        times.push(start.elapsed());
    }
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    println!(
        "{name}: {count} documents, median {:.1} ms, min {:.1}, max {:.1}",
        ms(times[RUNS / 2]),
        ms(times[0]),
        ms(times[RUNS - 1])
    );
}

fn data_folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench-data");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn bear_library(size: usize) -> PathBuf {
    let path = data_folder().join(format!("bear-{size}.sqlite"));
    if !path.exists() {
        let made = path.with_extension("part");
        let generator = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/make_bear_db.py");
        let count = size.to_string();
        let arguments = ["create", made.to_str().unwrap(), "--quiet", "--no-edge", "--notes", &count];
        assert!(Command::new("python3").arg(generator).args(arguments).status().unwrap().success());
        let conn = rusqlite::Connection::open(&made).unwrap();
        let mean: f64 = conn.query_row("SELECT avg(octet_length(ZTEXT)) FROM ZSFNOTE", [], |row| row.get(0)).unwrap();
        let share = (2600.0 / mean - 1.0).clamp(0.0, 1.0);
        let sql =
            "UPDATE ZSFNOTE SET ZTEXT = ZTEXT || char(10) || substr(ZTEXT, 1, CAST(length(ZTEXT) * ?1 AS INTEGER))";
        conn.execute(sql, [share]).unwrap();
        conn.execute_batch("VACUUM").unwrap();
        drop(conn);
        std::fs::rename(made, &path).unwrap();
    }
    path
}

fn markdown_folder(size: usize) -> PathBuf {
    let folder = data_folder().join(format!("markdown-{size}"));
    if !folder.exists() {
        let made = folder.with_extension("part");
        for number in 0..size {
            // Fifty files to a folder, three levels deep, as in a vault that has grown.
            let below = made.join(format!("area {}", number / 5000)).join(format!("topic {}", number / 50));
            std::fs::create_dir_all(&below).unwrap();
            let line =
                format!("Line of note {number} about #topic/{}, with a [[link to {}]].\n", number % 97, number / 2);
            let text = format!("# Note {number}\n\n{}", line.repeat(1000 / line.len()));
            std::fs::write(below.join(format!("note {number}.md")), text).unwrap();
        }
        std::fs::rename(made, &folder).unwrap();
    }
    folder
}
