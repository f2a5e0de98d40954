//! How a source's listing and the index differ: both in the order of their ids, walked side by side.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use crate::{
    documents::id_hash,
    error::Result,
    left_out,
    source::{Entry, Listing},
};

/// How a source and the index differ.
#[derive(Debug, Default)]
pub struct Difference {
    /// Listed documents that are new or changed, in the source's own order, which keeps together what its owner does.
    pub wanted: Vec<Entry>,
    /// How many of them the index holds in an older state.
    pub changed: usize,
    /// Row ids of documents that are not listed any more.
    pub gone: Vec<i64>,
    /// Row ids of hidden documents that are listed again as they were.
    pub back: Vec<i64>,
}

/// What the index holds of a source, as far as a comparison needs it. Two buffers for all of it, not two for each document.
#[derive(Debug, Default)]
pub struct Stored {
    ids: String,
    marks: Vec<u8>,
    /// In the order of the documents' ids.
    rows: Vec<StoredRow>,
    /// Marks of what was left out, by the hash of the id.
    left_out: HashMap<[u8; 32], Box<[u8]>>,
}

#[derive(Debug)]
struct StoredRow {
    row_id: i64,
    /// Where its id and its mark end in the buffers; they begin where those of the row before end.
    id_end: usize,
    mark_end: usize,
    hidden: bool,
}

impl Stored {
    /// Reads it.
    ///
    /// # Errors
    /// [`Error::Sqlite`](crate::error::Error::Sqlite).
    pub fn load(conn: &Connection, source_id: i64) -> Result<Self> {
        let mut stored = Self { left_out: left_out::marks(conn, source_id)?, ..Self::default() };
        // Answered from an index alone, in its order.
        let mut statement = conn.prepare_cached(
            "SELECT external_id, id, mark, hidden_at_ms IS NOT NULL FROM documents WHERE source_id = ?1 ORDER BY external_id",
        )?;
        let mut rows = statement.query([source_id])?;
        while let Some(row) = rows.next()? {
            stored.ids.push_str(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?);
            stored.marks.extend_from_slice(row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?);
            let (id_end, mark_end) = (stored.ids.len(), stored.marks.len());
            stored.rows.push(StoredRow { row_id: row.get(1)?, id_end, mark_end, hidden: row.get(3)? });
        }
        Ok(stored)
    }

    /// Ids, marks and rows, in the order of the ids.
    fn iter(&self) -> impl Iterator<Item = (&str, &[u8], &StoredRow)> {
        let (mut id_at, mut mark_at) = (0, 0);
        self.rows.iter().map(move |row| {
            let (id, mark) = (&self.ids[id_at..row.id_end], &self.marks[mark_at..row.mark_end]);
            (id_at, mark_at) = (row.id_end, row.mark_end);
            (id, mark, row)
        })
    }

    /// Whether a document was left out, and is as it was then.
    fn leaves_out(&self, entry: &Entry) -> bool {
        !self.left_out.is_empty() && self.left_out.get(&id_hash(&entry.id)).is_some_and(|mark| **mark == *entry.mark.0)
    }
}

impl Difference {
    /// What has to be done so that `stored` is what `listing` says.
    pub fn between(listing: &Listing, stored: &Stored) -> Self {
        let mut difference = Self::default();
        let mut by_id: Vec<(u64, &Entry)> =
            listing.entries.iter().map(|entry| (first_bytes(&entry.id), entry)).collect();
        by_id.sort_unstable_by(|(first_a, a), (first_b, b)| first_a.cmp(first_b).then_with(|| a.id.cmp(&b.id)));
        let mut listed = by_id.into_iter().map(|(_, entry)| entry).peekable();
        // Ids that are new or changed, with which of the two.
        let mut unsettled: HashMap<&str, bool> = HashMap::new();
        // A note whose text is elsewhere just now stays as the index has it.
        let kept: HashSet<&str> = listing.kept.iter().map(String::as_str).collect();
        for (id, mark, row) in stored.iter() {
            while let Some(new) = listed.next_if(|entry| entry.id.as_str() < id) {
                if !stored.leaves_out(new) {
                    unsettled.insert(&new.id, false);
                }
            }
            match listed.next_if(|entry| entry.id == id) {
                Some(entry) if *mark != *entry.mark.0 => {
                    if !stored.leaves_out(entry) {
                        unsettled.insert(&entry.id, true);
                    }
                }
                Some(_) => difference.back.extend(row.hidden.then_some(row.row_id)),
                None if kept.contains(id) => difference.back.extend(row.hidden.then_some(row.row_id)),
                None => difference.gone.extend((!row.hidden).then_some(row.row_id)),
            }
        }
        unsettled.extend(listed.filter(|entry| !stored.leaves_out(entry)).map(|entry| (entry.id.as_str(), false)));
        difference.changed = unsettled.values().filter(|changed| **changed).count();
        if !unsettled.is_empty() {
            let is_unsettled = |entry: &&Entry| unsettled.contains_key(entry.id.as_str());
            difference.wanted = listing.entries.iter().filter(is_unsettled).cloned().collect();
        }
        difference.gone.sort_unstable();
        difference
    }

    /// Whether everything is as it was.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.gone.is_empty() && self.back.is_empty()
    }
}

/// The first eight bytes as a number that sorts as they do: most ids differ there, and need not be looked up to be compared.
fn first_bytes(id: &str) -> u64 {
    let mut first = [0; 8];
    first.iter_mut().zip(id.as_bytes()).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::ChangeMark;

    fn entry(id: &str, mark: u8) -> Entry {
        Entry { id: id.to_owned(), mark: ChangeMark(Box::new([mark])) }
    }

    fn stored(rows: &[(String, u8, bool)]) -> Stored {
        let mut stored = Stored::default();
        for (at, (id, mark, hidden)) in rows.iter().enumerate() {
            stored.ids.push_str(id);
            stored.marks.push(*mark);
            let (id_end, mark_end) = (stored.ids.len(), stored.marks.len());
            stored.rows.push(StoredRow { row_id: at as i64, id_end, mark_end, hidden: *hidden });
        }
        stored
    }

    proptest! {
        /// The same by looking each id up.
        #[test]
        fn every_document_is_wanted_gone_back_or_as_it_was(
            held in prop::collection::btree_map("[a-c]{1,3}|notes/[a-d]{1,9}", (0..3u8, any::<bool>()), 0..30),
            listed in prop::collection::hash_map("[a-c]{1,3}|notes/[a-d]{1,9}", 0..3u8, 0..30),
            left_out in prop::collection::hash_map("[a-c]{1,3}", 0..3u8, 0..9),
            kept in prop::collection::hash_set("[a-c]{1,2}", 0..5),
        ) {
            let rows: Vec<(String, u8, bool)> = held.iter().map(|(id, (mark, hidden))| (id.clone(), *mark, *hidden)).collect();
            let mut stored = stored(&rows);
            stored.left_out = left_out.iter().map(|(id, mark)| (id_hash(id), Box::from([*mark]))).collect();
            let entries: Vec<Entry> = listed.iter().map(|(id, mark)| entry(id, *mark)).collect();
            let kept: Vec<String> = kept.into_iter().filter(|id| !listed.contains_key(id)).collect();
            let found = Difference::between(&Listing { entries: entries.clone(), kept: kept.clone(), ..Listing::default() }, &stored);

            let is_out = |entry: &Entry| left_out.get(&entry.id).is_some_and(|mark| *mark == entry.mark.0[0]);
            let as_held = |entry: &Entry| held.get(&entry.id).is_some_and(|(mark, _)| *mark == entry.mark.0[0]);
            let wanted: Vec<&Entry> = entries.iter().filter(|entry| !as_held(entry) && !is_out(entry)).collect();
            prop_assert_eq!(found.wanted.iter().collect::<Vec<_>>(), wanted.clone());
            prop_assert_eq!(found.changed, wanted.iter().filter(|entry| held.contains_key(&entry.id)).count());
            let is_here = |id: &String| listed.contains_key(id) || kept.contains(id);
            let gone: Vec<i64> = rows.iter().zip(0..).filter(|((id, _, hidden), _)| !hidden && !is_here(id)).map(|(_, at)| at).collect();
            prop_assert_eq!(&found.gone, &gone);
            let is_back = |id: &String, mark: u8| kept.contains(id) || listed.get(id) == Some(&mark);
            let back: Vec<i64> =
                rows.iter().zip(0..).filter(|((id, mark, hidden), _)| *hidden && is_back(id, *mark)).map(|(_, at)| at).collect();
            prop_assert_eq!(&found.back, &back);
        }
    }
}
