//! What this Bear database looks like: which columns its notes have, and which table joins notes to tags.
//!
//! Core Data numbers its entities alphabetically and writes the numbers into table names, so they move whenever Bear's
//! model gains or loses an entity: `Z_7TAGS` in Bear 1.7, `Z_5TAGS` in Bear 2. Nothing here is assumed that the
//! database can be asked.

use std::collections::HashSet;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::values;

const NOTES: &str = "ZSFNOTE";
const TAGS: &str = "ZSFNOTETAG";

/// The tables and columns that a reader may name in SQL.
#[derive(Debug)]
pub struct Layout {
    note_columns: HashSet<String>,
    /// How notes and tags are joined; `None` when that could not be found out.
    pub tags: Option<TagTables>,
    /// Sentences a person should see.
    pub warnings: Vec<String>,
}

/// The junction table of notes and tags, and its two columns. The names are of digits and known letters: safe in SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagTables {
    /// Such as `Z_5TAGS`.
    pub junction: String,
    /// Column that holds a note's Z_PK, such as `Z_5NOTES`.
    pub note: String,
    /// Column that holds a tag's Z_PK, such as `Z_13TAGS`.
    pub tag: String,
}

/// Why a database cannot be read as Bear's.
#[derive(Debug)]
pub enum LayoutError {
    /// SQLite refused.
    Sqlite(rusqlite::Error),
    /// It is a database, but not this kind; the clause says what is missing.
    NotBear(String),
}

impl From<rusqlite::Error> for LayoutError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Layout {
    /// Asks the database.
    ///
    /// # Errors
    /// [`LayoutError::NotBear`] when there is no table of notes with the columns that nothing can do without.
    pub fn discover(conn: &Connection) -> Result<Self, LayoutError> {
        let tables = strings(conn, "SELECT name FROM sqlite_schema WHERE type = 'table'", [])?;
        if !tables.contains(NOTES) {
            return Err(LayoutError::NotBear(format!(
                "it is a SQLite database without the table {NOTES}; name Bear's own database.sqlite"
            )));
        }
        let note_columns = columns(conn, NOTES)?;
        if let Some(missing) = ["Z_PK", "ZTEXT"].into_iter().find(|column| !note_columns.contains(*column)) {
            return Err(LayoutError::NotBear(format!(
                "its table {NOTES} has no column {missing}; Bear's layout may have changed, look for an update of bearsearch"
            )));
        }
        let mut warnings = Vec::new();
        if !note_columns.contains("ZTRASHED") {
            warnings.push("trashed notes cannot be told from others: Bear's notes have no column ZTRASHED".to_owned());
        }
        let tags = match find_tags(conn, &tables)? {
            Ok(tags) => Some(tags),
            Err(reason) => {
                warnings.push(format!("tags are unavailable: {reason}; notes are found by their text all the same"));
                None
            }
        };
        Ok(Self { note_columns, tags, warnings })
    }

    /// `column` of a note where this database has it, else the expression `NULL`.
    pub fn note_column(&self, column: &'static str) -> &'static str {
        if self.note_columns.contains(column) { column } else { "NULL" }
    }

    /// The SQL condition for notes that are neither trashed nor waiting for their deletion. NULL is 0.
    pub fn live_condition(&self) -> String {
        let (trashed, deleted) = (self.note_column("ZTRASHED"), self.note_column("ZPERMANENTLYDELETED"));
        format!("coalesce({trashed}, 0) = 0 AND coalesce({deleted}, 0) = 0")
    }
}

/// Finds the junction, or says why it cannot be found.
fn find_tags(conn: &Connection, tables: &HashSet<String>) -> rusqlite::Result<Result<TagTables, String>> {
    if !tables.contains(TAGS) {
        return Ok(Err(format!("there is no table {TAGS}")));
    }
    let tag_columns = columns(conn, TAGS)?;
    if let Some(missing) = ["Z_PK", "ZTITLE"].into_iter().find(|column| !tag_columns.contains(*column)) {
        return Ok(Err(format!("the table {TAGS} has no column {missing}")));
    }
    // Core Data's own register of entity numbers first; then the number that every row carries; then the only table
    // that fits. A guess among several is worse than none: left-over tables still hold pairs that resolve.
    for numbers in [registered_numbers(conn, tables)?, row_numbers(conn)?].into_iter().flatten() {
        let named = TagTables {
            junction: format!("Z_{}TAGS", numbers.0),
            note: format!("Z_{}NOTES", numbers.0),
            tag: format!("Z_{}TAGS", numbers.1),
        };
        if tables.contains(&named.junction) {
            let present = columns(conn, &named.junction)?;
            if present.contains(&named.note) && present.contains(&named.tag) {
                return Ok(Ok(named));
            }
        }
    }
    let mut fitting = fitting_tables(conn, tables)?;
    if fitting.len() > 1 {
        let mut filled = Vec::new();
        for table in fitting {
            if conn.prepare(&format!("SELECT 1 FROM {} LIMIT 1", table.junction))?.exists([])? {
                filled.push(table);
            }
        }
        fitting = filled;
    }
    Ok(match fitting.len() {
        0 => Err("no table joins notes and tags".to_owned()),
        1 => Ok(fitting.remove(0)),
        more => Err(format!("{more} tables look like the one that joins notes and tags")),
    })
}

/// The entity numbers of notes and tags in `Z_PRIMARYKEY`.
fn registered_numbers(conn: &Connection, tables: &HashSet<String>) -> rusqlite::Result<Option<(i64, i64)>> {
    if !tables.contains("Z_PRIMARYKEY") {
        return Ok(None);
    }
    let present = columns(conn, "Z_PRIMARYKEY")?;
    if !present.contains("Z_NAME") || !present.contains("Z_ENT") {
        return Ok(None);
    }
    let number = |name: &str| {
        let sql = "SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = ?1 AND typeof(Z_ENT) = 'integer'";
        first_integer(conn, sql, [name])
    };
    Ok(number("SFNote")?.zip(number("SFNoteTag")?))
}

/// The entity numbers that rows of notes and tags carry themselves.
fn row_numbers(conn: &Connection) -> rusqlite::Result<Option<(i64, i64)>> {
    let number = |table: &str| {
        if !columns(conn, table)?.contains("Z_ENT") {
            return Ok(None);
        }
        first_integer(conn, &format!("SELECT Z_ENT FROM {table} WHERE typeof(Z_ENT) = 'integer' LIMIT 1"), [])
    };
    Ok(number(NOTES)?.zip(number(TAGS)?))
}

/// Tables whose name is exactly `Z_<digits>TAGS` with one column each of `Z_<digits>NOTES` and `Z_<digits>TAGS`.
/// `Z_5PINNEDINTAGS`, whose names end the same way, is not one of them.
fn fitting_tables(conn: &Connection, tables: &HashSet<String>) -> rusqlite::Result<Vec<TagTables>> {
    let mut names: Vec<&String> = tables.iter().filter(|name| is_numbered(name, "TAGS")).collect();
    names.sort();
    let mut found = Vec::new();
    for junction in names {
        let present = columns(conn, junction)?;
        let only = |suffix| {
            let mut fitting = present.iter().filter(|column| is_numbered(column, suffix));
            fitting.next().filter(|_| fitting.next().is_none()).cloned()
        };
        if let (Some(note), Some(tag)) = (only("NOTES"), only("TAGS")) {
            found.push(TagTables { junction: junction.clone(), note, tag });
        }
    }
    Ok(found)
}

fn is_numbered(name: &str, suffix: &str) -> bool {
    name.strip_prefix("Z_")
        .and_then(|rest| rest.strip_suffix(suffix))
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The names of a table's columns; none when there is no such table.
pub fn columns(conn: &Connection, table: &str) -> rusqlite::Result<HashSet<String>> {
    strings(conn, "SELECT name FROM pragma_table_info(?1)", [table])
}

fn strings(conn: &Connection, sql: &str, params: impl rusqlite::Params) -> rusqlite::Result<HashSet<String>> {
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map(params, |row| Ok(values::text(row.get_ref(0)?).unwrap_or_default().into_owned()))?;
    rows.collect()
}

fn first_integer(conn: &Connection, sql: &str, params: impl rusqlite::Params) -> rusqlite::Result<Option<i64>> {
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query(params)?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(match row.get_ref(0)? {
        ValueRef::Integer(number) if number > 0 => Some(number),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(sql: &str) -> Result<Layout, LayoutError> {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(sql).unwrap();
        Layout::discover(&conn)
    }

    const BASE: &str = "CREATE TABLE ZSFNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZTEXT, ZTRASHED);
        CREATE TABLE ZSFNOTETAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZTITLE);
        CREATE TABLE Z_5PINNEDINTAGS (Z_5PINNEDNOTES, Z_13PINNEDINTAGS);
        INSERT INTO Z_5PINNEDINTAGS VALUES (1, 1);";

    fn junction(sql: &str) -> Option<String> {
        layout(&format!("{BASE}{sql}"))
            .unwrap()
            .tags
            .map(|tags| format!("{} {} {}", tags.junction, tags.note, tags.tag))
    }

    #[test]
    fn the_register_decides_between_tables_that_all_fit() {
        let found = junction(
            "CREATE TABLE Z_3TAGS (Z_3NOTES, Z_9TAGS); CREATE TABLE Z_6TAGS (Z_6NOTES, Z_13TAGS);
             CREATE TABLE Z_7TAGS (Z_7NOTES, Z_14TAGS); INSERT INTO Z_3TAGS VALUES (1, 1); INSERT INTO Z_7TAGS VALUES (1, 1);
             CREATE TABLE Z_PRIMARYKEY (Z_ENT, Z_NAME); INSERT INTO Z_PRIMARYKEY VALUES (6, 'SFNote'), (13, 'SFNoteTag');",
        );
        assert_eq!(found.as_deref(), Some("Z_6TAGS Z_6NOTES Z_13TAGS"));
    }

    #[test]
    fn without_a_register_the_rows_tell_their_entity_numbers() {
        let found = junction(
            "CREATE TABLE Z_3TAGS (Z_3NOTES, Z_9TAGS); CREATE TABLE Z_6TAGS (Z_6NOTES, Z_13TAGS);
             INSERT INTO Z_3TAGS VALUES (1, 1); INSERT INTO ZSFNOTE (Z_ENT) VALUES (6); INSERT INTO ZSFNOTETAG (Z_ENT) VALUES (13);",
        );
        assert_eq!(found.as_deref(), Some("Z_6TAGS Z_6NOTES Z_13TAGS"));
    }

    #[test]
    fn without_any_number_the_only_table_that_fits_or_holds_rows_is_taken() {
        let one = "CREATE TABLE Z_6TAGS (Z_6NOTES, Z_13TAGS);";
        assert_eq!(junction(one).as_deref(), Some("Z_6TAGS Z_6NOTES Z_13TAGS"));
        let empty_beside = "CREATE TABLE Z_3TAGS (Z_3NOTES, Z_9TAGS); INSERT INTO Z_6TAGS VALUES (1, 1);";
        assert_eq!(junction(&format!("{one}{empty_beside}")).as_deref(), Some("Z_6TAGS Z_6NOTES Z_13TAGS"));
    }

    #[test]
    fn an_ambiguous_junction_gives_no_tags_and_a_warning() {
        let layout = layout(&format!(
            "{BASE} CREATE TABLE Z_3TAGS (Z_3NOTES, Z_9TAGS); CREATE TABLE Z_6TAGS (Z_6NOTES, Z_13TAGS);
             INSERT INTO Z_3TAGS VALUES (1, 1); INSERT INTO Z_6TAGS VALUES (1, 1);"
        ))
        .unwrap();
        assert_eq!(layout.tags, None);
        assert_eq!(
            layout.warnings,
            [
                "tags are unavailable: 2 tables look like the one that joins notes and tags; notes are found by their text all the same"
            ]
        );
    }

    #[test]
    fn pins_inside_tags_are_never_taken_for_tags() {
        assert_eq!(junction(""), None);
    }

    #[test]
    fn missing_note_columns_read_as_null() {
        let layout = layout(BASE).unwrap();
        assert_eq!(layout.live_condition(), "coalesce(ZTRASHED, 0) = 0 AND coalesce(NULL, 0) = 0");
    }

    #[test]
    fn a_view_named_like_the_notes_is_not_bears_database() {
        let error = layout("CREATE VIEW ZSFNOTE AS SELECT 1 AS Z_PK, 2 AS ZTEXT").unwrap_err();
        assert!(matches!(error, LayoutError::NotBear(detail) if detail.contains("without the table ZSFNOTE")));
    }
}
