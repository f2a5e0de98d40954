//! The counts that every answer quotes: documents of each source, and chunks of the index. Each write keeps them, in its own
//! transaction, so they are right in every state that others can see, and cost nothing to ask for.

use rusqlite::{Transaction, params};

use crate::error::Result;

/// What is counted of a stored document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Its owner put it away.
    pub archived: bool,
    /// It is held by title only.
    pub locked: bool,
    /// It vanished with most others and waits; then it counts as nothing else.
    pub hidden: bool,
}

/// Documents, archived, locked and hidden ones that one document adds to its source.
fn shares(state: Option<Counted>) -> [i64; 4] {
    let Some(Counted { archived, locked, hidden }) = state else { return [0; 4] };
    [!hidden, !hidden && archived, !hidden && locked, hidden].map(i64::from)
}

/// Counts that a document of `source_id` came (no state before), went (none after) or changed.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn document(tx: &Transaction<'_>, source_id: i64, before: Option<Counted>, after: Option<Counted>) -> Result<()> {
    if before == after {
        return Ok(());
    }
    let [documents, archived, locked, hidden]: [i64; 4] = {
        let (before, after) = (shares(before), shares(after));
        std::array::from_fn(|at| after[at] - before[at])
    };
    tx.prepare_cached(
        "UPDATE sources SET documents = documents + ?2, archived = archived + ?3, locked = locked + ?4,
         hidden = hidden + ?5 WHERE id = ?1",
    )?
    .execute(params![source_id, documents, archived, locked, hidden])?;
    Ok(())
}

/// Counts chunks that came.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn chunks_came(tx: &Transaction<'_>, chunks: usize) -> Result<()> {
    add_chunks(tx, i64::try_from(chunks).unwrap_or(i64::MAX))
}

/// Counts chunks that went.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn chunks_went(tx: &Transaction<'_>, chunks: usize) -> Result<()> {
    add_chunks(tx, i64::try_from(chunks).map_or(i64::MIN, |chunks| -chunks))
}

fn add_chunks(tx: &Transaction<'_>, change: i64) -> Result<()> {
    if change != 0 {
        tx.prepare_cached(
            "INSERT INTO meta VALUES ('chunks', ?1) ON CONFLICT (key) DO UPDATE SET value = value + excluded.value",
        )?
        .execute([change])?;
    }
    Ok(())
}

/// SQL that counts everything from the rows, for a layout whose counts may be wrong.
pub const RECOUNT: &str = "
UPDATE sources SET
    documents = (SELECT count(*) FROM documents d WHERE d.source_id = sources.id AND hidden_at_ms IS NULL),
    archived = (SELECT count(*) FROM documents d WHERE d.source_id = sources.id AND hidden_at_ms IS NULL AND d.archived),
    locked = (SELECT count(*) FROM documents d WHERE d.source_id = sources.id AND hidden_at_ms IS NULL AND d.locked),
    hidden = (SELECT count(*) FROM documents d WHERE d.source_id = sources.id AND hidden_at_ms IS NOT NULL);
INSERT OR REPLACE INTO meta SELECT 'chunks', count(*) FROM chunks;
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_document_counts_as_hidden_and_as_nothing_else() {
        let state = |archived, locked, hidden| Some(Counted { archived, locked, hidden });
        assert_eq!(shares(None), [0, 0, 0, 0]);
        assert_eq!(shares(state(true, true, true)), [0, 0, 0, 1]);
        assert_eq!(shares(state(true, false, false)), [1, 1, 0, 0]);
        assert_eq!(shares(state(false, true, false)), [1, 0, 1, 0]);
    }
}
