//! What a document says beside its words, as rows: properties, tasks, attachments. Links have rows of their own, in `links`.

use rusqlite::{Transaction, params};

use crate::{error::Result, names::fold, source::Document};

/// Longest value that is compared, in characters.
const MAX_VALUE_CHARS: usize = 200;

/// Stores what `document` says, replacing what was there.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn store(tx: &Transaction<'_>, id: i64, document: &Document) -> Result<()> {
    tx.prepare_cached("DELETE FROM properties WHERE document_id = ?1")?.execute([id])?;
    for (key, value) in &document.properties {
        tx.prepare_cached("INSERT OR IGNORE INTO properties (key, value, document_id) VALUES (?1, ?2, ?3)")?
            .execute(params![fold(key), folded_value(value), id])?;
    }
    remove_attachments(tx, id)?;
    for attachment in &document.attachments {
        tx.prepare_cached("INSERT INTO attachments (document_id, name, text) VALUES (?1, ?2, ?3)")?
            .execute(params![id, attachment.name, attachment.text])?;
        tx.prepare_cached("INSERT INTO attachment_words (rowid, name, text) VALUES (?1, ?2, ?3)")?.execute(params![
            tx.last_insert_rowid(),
            attachment.name,
            attachment.text
        ])?;
    }
    Ok(())
}

/// Removes what a document says.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn forget(tx: &Transaction<'_>, id: i64) -> Result<()> {
    tx.prepare_cached("DELETE FROM properties WHERE document_id = ?1")?.execute([id])?;
    remove_attachments(tx, id)
}

/// A property's value as it is compared: folded, without the brackets of a link, white space as one blank.
pub fn folded_value(value: &str) -> String {
    let value = value.trim();
    let inner = value.strip_prefix("[[").and_then(|value| value.strip_suffix("]]")).unwrap_or(value);
    let single: Vec<&str> = inner.split_whitespace().collect();
    fold(&single.join(" ").chars().take(MAX_VALUE_CHARS).collect::<String>())
}

/// Nothing of them stays in the file (`secure-delete` is on): what was read in a picture may be what its owner removed it for.
fn remove_attachments(tx: &Transaction<'_>, id: i64) -> Result<()> {
    let rows: Vec<(i64, String, String)> = tx
        .prepare_cached("SELECT id, name, text FROM attachments WHERE document_id = ?1")?
        .query_map([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (row, name, text) in rows {
        tx.prepare_cached(
            "INSERT INTO attachment_words (attachment_words, rowid, name, text) VALUES ('delete', ?1, ?2, ?3)",
        )?
        .execute(params![row, name, text])?;
    }
    tx.prepare_cached("DELETE FROM attachments WHERE document_id = ?1")?.execute([id])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::folded_value;

    #[test]
    fn values_are_compared_without_case_brackets_and_breaks() {
        assert_eq!(folded_value(" [[Straße]] "), folded_value("STRASSE"));
        assert_eq!(folded_value("two\nlines"), "two lines");
    }
}
