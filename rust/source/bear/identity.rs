//! Which id a note gets, and which note an id means.
//!
//! Bear's unique identifier serves, unless it is missing, unusable or taken by an older note; then the row's key does,
//! written `pk:N`. Identifiers are kept as hashes: of 100,000 notes that is a sorted array of 1.6 MB instead of a second
//! copy of all of them in a map, and whoever reads a note compares its real identifier anyway.

use std::hash::{DefaultHasher, Hasher};

use crate::source::ChangeMark;

const KEY_PREFIX: &str = "pk:";

/// One row of the listing.
pub struct ListedNote {
    /// Z_PK.
    pub pk: i64,
    /// ZUNIQUEIDENTIFIER, where it can serve as an id.
    pub identifier: Option<String>,
    /// The note's change mark.
    pub mark: ChangeMark,
}

/// The ids of one listing.
#[derive(Debug, Default)]
pub struct Identities {
    /// Hash of the identifier and Z_PK, sorted, of the notes known by their identifier.
    by_identifier: Vec<(u64, i64)>,
    /// Z_PK, sorted, of the notes known by their key.
    by_key: Vec<i64>,
}

impl Identities {
    /// Gives every one of `notes` an id of its own. Of notes that share an identifier, the first keeps it: they come in
    /// order of their keys, so that is the oldest.
    pub fn of(notes: &[ListedNote]) -> Self {
        let mut hashes: Vec<(u64, usize)> = Vec::with_capacity(notes.len());
        let mut by_key = Vec::new();
        for (at, note) in notes.iter().enumerate() {
            match &note.identifier {
                Some(identifier) => hashes.push((hash(identifier), at)),
                None => by_key.push(note.pk),
            }
        }
        hashes.sort_unstable();
        let mut by_identifier = Vec::with_capacity(hashes.len());
        for same_hash in hashes.chunk_by(|a, b| a.0 == b.0) {
            // Nearly always one; several only when different identifiers share a hash.
            let mut kept: Vec<&ListedNote> = Vec::with_capacity(1);
            for (hash, at) in same_hash {
                let note = &notes[*at];
                if kept.iter().any(|before| before.identifier == note.identifier) {
                    by_key.push(note.pk);
                } else {
                    kept.push(note);
                    by_identifier.push((*hash, note.pk));
                }
            }
        }
        by_identifier.sort_unstable();
        by_key.sort_unstable();
        Self { by_identifier, by_key }
    }

    /// The id of the note with this key and identifier.
    pub fn id_of(&self, pk: i64, identifier: Option<String>) -> String {
        match identifier {
            Some(identifier) if self.by_key.binary_search(&pk).is_err() => identifier,
            _ => format!("{KEY_PREFIX}{pk}"),
        }
    }

    /// The key of the note that `id` means, if there is one. Of two identifiers with the same hash it may be the wrong
    /// one, so compare.
    pub fn pk_of(&self, id: &str) -> Option<i64> {
        if let Some(key) = id.strip_prefix(KEY_PREFIX) {
            let pk = key.parse().ok()?;
            return self.by_key.binary_search(&pk).is_ok().then_some(pk);
        }
        let wanted = hash(id);
        let at = self.by_identifier.partition_point(|(hash, _)| *hash < wanted);
        self.by_identifier.get(at).filter(|(hash, _)| *hash == wanted).map(|(_, pk)| *pk)
    }
}

/// Whether `id` names a row's key instead of an identifier.
pub fn is_key(id: &str) -> bool {
    id.starts_with(KEY_PREFIX)
}

/// The same for the life of the process, which is longer than that of any listing.
fn hash(identifier: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(identifier.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(identifiers: &[Option<&str>]) -> Vec<ListedNote> {
        let note = |(at, identifier): (usize, &Option<&str>)| ListedNote {
            pk: at as i64 + 1,
            identifier: identifier.map(str::to_owned),
            mark: ChangeMark(Box::new([])),
        };
        identifiers.iter().enumerate().map(note).collect()
    }

    #[test]
    fn every_note_gets_an_id_of_its_own_that_leads_back_to_it() {
        let notes = notes(&[Some("B"), None, Some("A"), Some("B"), Some("B"), None]);
        let identities = Identities::of(&notes);
        let ids: Vec<String> = notes.iter().map(|note| identities.id_of(note.pk, note.identifier.clone())).collect();
        assert_eq!(ids, ["B", "pk:2", "A", "pk:4", "pk:5", "pk:6"]);
        let pks: Vec<Option<i64>> = ids.iter().map(|id| identities.pk_of(id)).collect();
        assert_eq!(pks, [1, 2, 3, 4, 5, 6].map(Some));
    }

    #[test]
    fn ids_that_were_not_listed_mean_nothing() {
        let identities = Identities::of(&notes(&[Some("A"), None]));
        for id in ["B", "", "pk:1", "pk:3", "pk:", "pk:x", "pk:99999999999999999999"] {
            assert_eq!(identities.pk_of(id), None, "{id}");
        }
    }
}
