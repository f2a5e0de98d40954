//! Files of notes: their names, and the text that Bear read in pictures and PDFs.
//!
//! That text is a guess with noise in it. It stays beside the note's own text and never becomes part of it. A database
//! without these tables or columns has no attachments, which hides no note.

use rusqlite::{Connection, Statement};

use super::layout;
use super::values::{self, TagSum};
use crate::source::Attachment;

const FILES: &str = "ZSFNOTEFILE";
/// Longest text kept of one file, in characters: a book that was scanned is not evidence of what a note is about.
const MAX_TEXT_CHARS: usize = 100_000;

/// The SQL that this database's columns allow.
pub struct AttachmentTable {
    columns: String,
    condition: String,
}

impl AttachmentTable {
    /// Asks the database; `None` when it keeps no files in a form that is known.
    ///
    /// # Errors
    /// SQLite's.
    pub fn discover(conn: &Connection) -> rusqlite::Result<Option<Self>> {
        let present = layout::columns(conn, FILES)?;
        let has = |column: &str| present.contains(column);
        if !has("ZNOTE") || !has("ZFILENAME") || !has("Z_PK") {
            return Ok(None);
        }
        let column = |name: &'static str| if has(name) { name } else { "NULL" };
        let unset = |name| format!("coalesce({}, 0) = 0", column(name));
        // Removed from the text but kept, deleted, encrypted with its note: none of these may be found.
        let condition = ["ZUNUSED", "ZPERMANENTLYDELETED", "ZENCRYPTED"].map(unset).join(" AND ");
        let order = column("ZINDEX");
        Ok(Some(Self {
            columns: format!("ZFILENAME, {}, {}", column("Z_OPT"), column("ZSEARCHTEXT")),
            condition: format!("{condition} ORDER BY ZNOTE, {order}, Z_PK"),
        }))
    }

    /// A sum over the attachments of each note, by the note's key, in order: it changes when one of them does. The texts
    /// themselves are not read: their length stands in the row's head.
    ///
    /// # Errors
    /// SQLite's.
    pub fn sums(&self, conn: &Connection) -> rusqlite::Result<Vec<(i64, TagSum)>> {
        let columns = self.columns.replace("ZSEARCHTEXT", "octet_length(ZSEARCHTEXT)");
        let sql =
            format!("SELECT ZNOTE, {columns} FROM {FILES} WHERE typeof(ZNOTE) = 'integer' AND {}", self.condition);
        let mut statement = conn.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut sums: Vec<(i64, TagSum)> = Vec::new();
        while let Some(row) = rows.next()? {
            let note = row.get(0)?;
            let mut parts = String::from("file");
            for column in 1..4 {
                parts.push('\0');
                parts.push_str(&values::text(row.get_ref(column)?).unwrap_or_default());
            }
            let sum = TagSum::of(&parts);
            match sums.last_mut() {
                Some((last, total)) if *last == note => total.add(sum),
                _ => sums.push((note, sum)),
            }
        }
        Ok(sums)
    }

    /// The statement that [`of_note`] runs.
    ///
    /// # Errors
    /// SQLite's.
    pub fn prepare<'c>(&self, conn: &'c Connection) -> rusqlite::Result<Statement<'c>> {
        conn.prepare(&format!("SELECT {} FROM {FILES} WHERE ZNOTE = ?1 AND {}", self.columns, self.condition))
    }
}

/// The attachments of one note, in the order of its text, and their sum as in [`AttachmentTable::sums`].
///
/// # Errors
/// SQLite's.
pub fn of_note(statement: &mut Statement<'_>, note: i64) -> rusqlite::Result<(Vec<Attachment>, TagSum)> {
    let mut rows = statement.query([note])?;
    let (mut found, mut total) = (Vec::new(), TagSum::default());
    while let Some(row) = rows.next()? {
        let part =
            |column| Ok::<_, rusqlite::Error>(values::text(row.get_ref(column)?).map(std::borrow::Cow::into_owned));
        let (name, saves, text) = (part(0)?.unwrap_or_default(), part(1)?.unwrap_or_default(), part(2)?);
        let length = match row.get_ref(2)? {
            rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => bytes.len().to_string(),
            _ => text.as_ref().map(|text| text.len().to_string()).unwrap_or_default(),
        };
        total.add(TagSum::of(&["file", &name, &saves, &length].join("\0")));
        let text = text.unwrap_or_default();
        if !name.trim().is_empty() || !text.trim().is_empty() {
            let text = text.trim().chars().take(MAX_TEXT_CHARS).collect();
            found.push(Attachment { name: name.trim().to_owned(), text });
        }
    }
    Ok((found, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(columns: &str, rows: &str) -> Connection {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(&format!("CREATE TABLE ZSFNOTEFILE (Z_PK INTEGER PRIMARY KEY, {columns}); {rows}")).unwrap();
        conn
    }

    const ALL: &str = "Z_OPT, ZNOTE, ZFILENAME, ZSEARCHTEXT, ZINDEX, ZUNUSED, ZPERMANENTLYDELETED, ZENCRYPTED";

    #[test]
    fn listing_and_reading_agree_on_the_sum() {
        let conn = database(
            ALL,
            "INSERT INTO ZSFNOTEFILE VALUES (1, 3, 7, 'b.png', 'wörds', 1, 0, 0, 0), (2, 1, 7, 'a.pdf', NULL, 0, NULL, NULL, NULL),
             (3, 1, 8, NULL, 12, 0, 0, 0, 0), (4, NULL, 9, 'c.png', x'41ff', 0, 0, 0, 0);",
        );
        let table = AttachmentTable::discover(&conn).unwrap().unwrap();
        let sums = table.sums(&conn).unwrap();
        let mut statement = table.prepare(&conn).unwrap();
        assert_eq!(sums.len(), 3);
        for (note, sum) in sums {
            assert_eq!(of_note(&mut statement, note).unwrap().1, sum, "note {note}");
        }
        let (found, _) = of_note(&mut statement, 7).unwrap();
        assert_eq!(found.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["a.pdf", "b.png"]);
        assert_eq!(found[1].text, "wörds");
        assert_eq!(of_note(&mut statement, 9).unwrap().0[0].text, "A\u{fffd}");
    }

    #[test]
    fn files_that_are_unused_deleted_or_encrypted_are_none() {
        let conn = database(
            ALL,
            "INSERT INTO ZSFNOTEFILE VALUES (1, 1, 7, 'a', 'x', 0, 1, 0, 0), (2, 1, 7, 'b', 'x', 0, 0, 1, 0), (3, 1, 7, 'c', 'x', 0, 0, 0, 1);",
        );
        let table = AttachmentTable::discover(&conn).unwrap().unwrap();
        assert_eq!(table.sums(&conn).unwrap(), []);
        assert_eq!(of_note(&mut table.prepare(&conn).unwrap(), 7).unwrap().0, []);
    }

    #[test]
    fn older_tables_have_names_only_and_other_tables_nothing() {
        let conn = database("Z_OPT, ZNOTE, ZFILENAME", "INSERT INTO ZSFNOTEFILE VALUES (1, 1, 7, 'a.png');");
        let table = AttachmentTable::discover(&conn).unwrap().unwrap();
        let (found, sum) = of_note(&mut table.prepare(&conn).unwrap(), 7).unwrap();
        assert_eq!(found, [Attachment { name: "a.png".to_owned(), text: String::new() }]);
        assert_eq!(table.sums(&conn).unwrap(), [(7, sum)]);
        assert!(AttachmentTable::discover(&database("ZNAME", "")).unwrap().is_none());
        assert!(AttachmentTable::discover(&Connection::open_in_memory().unwrap()).unwrap().is_none());
    }
}
