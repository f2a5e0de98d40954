//! Documents that a program hands over: they come from no file, so nothing can be compared with them later.
//!
//! Measuring search on a collection is what this is for.

use std::collections::HashMap;

use super::{Batch, ChangeMark, Document, Entry, Listing, Source};
use crate::error::Result;

/// Documents in memory.
pub struct GivenSource {
    documents: HashMap<String, Document>,
}

impl GivenSource {
    /// Takes the documents over; of several with one id the last counts. Their marks are made here, from all that the
    /// index holds of a document.
    pub fn new(documents: Vec<Document>) -> Self {
        let marked = documents.into_iter().map(|mut document| {
            document.mark = mark(&document);
            (document.id.clone(), document)
        });
        Self { documents: marked.collect() }
    }
}

impl Source for GivenSource {
    fn list(&mut self) -> Result<Listing> {
        let entry = |document: &Document| Entry { id: document.id.clone(), mark: document.mark.clone() };
        let mut entries: Vec<Entry> = self.documents.values().map(entry).collect();
        // The order decides the row ids, and with them the order of equal scores.
        entries.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(Listing { entries, ..Listing::default() })
    }

    fn read(&mut self, ids: &[String]) -> Result<Batch> {
        let documents = ids.iter().filter_map(|id| self.documents.get(id).cloned()).collect();
        Ok(Batch { documents, skipped: Vec::new() })
    }
}

fn mark(document: &Document) -> ChangeMark {
    let mut hasher = blake3::Hasher::new();
    let mut field = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    field(document.title.as_bytes());
    field(document.text.as_bytes());
    document.tags.iter().for_each(|tag| field(tag.as_bytes()));
    field(format!("{:?} {:?}", document.created_at_ms, document.updated_at_ms).as_bytes());
    field(format!("{} {} {}", document.archived, document.pinned, document.locked).as_bytes());
    field(document.url.as_deref().unwrap_or_default().as_bytes());
    ChangeMark(hasher.finalize().as_bytes()[..16].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(id: &str, text: &str) -> Document {
        Document { id: id.to_owned(), text: text.to_owned(), tags: Vec::new(), ..Document::default() }
    }

    #[test]
    fn what_was_given_is_listed_in_order_and_read_back() {
        let mut source = GivenSource::new(vec![document("b", "two"), document("a", "one")]);
        let ids: Vec<String> = source.list().unwrap().entries.into_iter().map(|entry| entry.id).collect();
        assert_eq!(ids, ["a", "b"]);
        let texts: Vec<String> = source.read(&ids).unwrap().documents.into_iter().map(|d| d.text).collect();
        assert_eq!(texts, ["one", "two"]);
        assert!(source.read(&["c".to_owned()]).unwrap().documents.is_empty());
    }

    #[test]
    fn a_mark_changes_with_anything_that_the_index_holds() {
        let marks = |documents: Vec<Document>| -> Vec<ChangeMark> {
            GivenSource::new(documents).list().unwrap().entries.into_iter().map(|entry| entry.mark).collect()
        };
        let plain = document("a", "one");
        assert_eq!(marks(vec![plain.clone()]), marks(vec![plain.clone()]));
        for changed in [
            Document { text: "two".to_owned(), ..plain.clone() },
            Document { tags: vec!["x".to_owned()], ..plain.clone() },
            Document { archived: true, ..plain.clone() },
            Document { updated_at_ms: Some(1), ..plain.clone() },
        ] {
            assert_ne!(marks(vec![plain.clone()]), marks(vec![changed]));
        }
    }
}
