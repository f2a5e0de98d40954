//! Vectors of an index through the public API: however they are coded, a search finds the same notes.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use bearsearch_core::{
    Error, documents,
    embeddings::{self, ModelRow},
    registry::SourceSpec,
    scope::{Filters, Scope},
    source::{Document, SourceKind, given::GivenSource},
    store::Store,
    sync::{self, SyncOptions},
    vector::{self, Codec},
};
use tempfile::TempDir;

const NOTES: usize = 1500;
const DIM: usize = 32;

/// Numbers in [-1, 1) that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    fn unit(&mut self) -> Vec<f32> {
        let vector: Vec<f32> = (0..DIM).map(|_| self.next()).collect();
        let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter().map(|x| x / norm).collect()
    }
}

struct Vectors {
    _folder: TempDir,
    store: Store,
    model: ModelRow,
    /// Text ids and their vectors.
    rows: Vec<(i64, Vec<f32>)>,
}

impl Vectors {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = Store::open(&folder.path().join("index.sqlite")).unwrap();
        let note = |number| Document { id: format!("{number}"), text: format!("note {number}"), ..Document::default() };
        let spec = SourceSpec { kind: SourceKind::Given, path: "notes".into(), name: None, register: true };
        let source = |_| Ok(Box::new(GivenSource::new((0..NOTES).map(note).collect())) as _);
        sync::sync_with(&store, &spec, source, &SyncOptions::default(), &mut |_, _| Ok(())).unwrap();
        let model = embeddings::use_model(&store, "model", "model", DIM).unwrap();
        let mut numbers = Numbers(7);
        let waiting = store.read(|conn| embeddings::pending(conn, model.id, 0, NOTES)).unwrap();
        let rows: Vec<(i64, Vec<f32>)> = waiting.iter().map(|text| (text.id, numbers.unit())).collect();
        let ids: Vec<i64> = rows.iter().map(|row| row.0).collect();
        let values: Vec<f32> = rows.iter().flat_map(|row| row.1.clone()).collect();
        assert_eq!(embeddings::add(&store, model.id, &ids, &values).unwrap(), NOTES);
        let model = store.read(embeddings::live_model).unwrap().unwrap();
        Self { _folder: folder, store, model, rows }
    }

    /// Cosines of the nearest ten as the index gives them.
    fn found(&self, query: &[f32]) -> Vec<f64> {
        let filters = Filters { sources: vec![1], ..Filters::default() };
        let hits = self.store.read(|conn| vector::nearest(conn, &self.model, query, &Scope::new(&filters), 10, 10));
        hits.unwrap().iter().take(10).map(|hit| hit.score).collect()
    }

    /// The same, measured one by one.
    fn expected(&self, query: &[f32]) -> Vec<f64> {
        let cosine = |row: &(i64, Vec<f32>)| row.1.iter().zip(query).map(|(a, b)| f64::from(a * b)).sum();
        let mut cosines: Vec<f64> = self.rows.iter().map(cosine).collect();
        cosines.sort_by(|a, b| b.total_cmp(a));
        cosines.truncate(10);
        cosines
    }

    fn codec(&self) -> Option<Codec> {
        self.store.read(|conn| vector::codec(conn, &self.model)).unwrap()
    }
}

#[test]
fn every_codec_is_used_once_it_is_wanted_and_finds_the_same() {
    let vectors = Vectors::new();
    let mut numbers = Numbers(11);
    let queries: Vec<Vec<f32>> = (0..20).map(|_| numbers.unit()).collect();
    for codec in [Codec::Rabitq, Codec::Int8, Codec::Rabitq4, Codec::Exact, Codec::Rabitq] {
        assert!(embeddings::quantize(&vectors.store, codec).unwrap(), "{codec:?} is another than before");
        assert!(!embeddings::quantize(&vectors.store, codec).unwrap(), "nothing changed since {codec:?}");
        assert_eq!(vectors.codec(), Some(codec).filter(|codec| *codec != Codec::Exact));
        for query in &queries {
            let (found, expected) = (vectors.found(query), vectors.expected(query));
            let same = found.iter().zip(&expected).filter(|(a, b)| (*a - *b).abs() < 1e-4).count();
            assert!(found.len() == 10 && same >= 9, "{codec:?}: {found:?} in place of {expected:?}");
        }
    }
}

#[test]
fn codes_of_removed_notes_go_with_them() {
    let vectors = Vectors::new();
    let column = format!("embeddings_{}_embedding", vectors.model.id);
    let number =
        |sql: &str| vectors.store.read(|conn| Ok(conn.query_row(sql, [], |row| row.get::<_, i64>(0))?)).unwrap();
    // Our own codes are in vector1_, those of the published layout in vector0_.
    let coded = || {
        let kind =
            number("SELECT CAST(substr(name, 7, 1) AS INTEGER) FROM sqlite_schema WHERE name GLOB 'vector[01]_*'");
        number(&format!("SELECT sum(counter) FROM vector{kind}_{column}"))
    };
    for codec in [Codec::Rabitq, Codec::Int8] {
        embeddings::quantize(&vectors.store, codec).unwrap();
        let before = coded();
        let last = number("SELECT max(id) FROM documents");
        vectors.store.write(|tx| documents::purge(tx, &[last])).unwrap();
        assert_eq!(coded(), before - 1, "{codec:?}");
        assert_eq!(number(&format!("SELECT count(*) FROM vectorlog_{column}")), 0, "{codec:?}");
    }
}

#[test]
fn an_unknown_codec_is_refused_with_the_known_ones() {
    let refused = Codec::from_word("zip").unwrap_err();
    assert!(matches!(&refused, Error::Usage(sentence) if sentence.contains("rabitq4")), "{refused}");
}
