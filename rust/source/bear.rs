//! Bear.app's notes, read from its database and never written to.
//!
//! How the files are opened: `reader` and `files`. Where Core Data put the tags: `layout`. Odd values: `values`. Which
//! id a note gets: `identity`. Files of notes: `attachments`. Here: which notes exist, what marks them as changed, and how a row becomes a document.

mod attachments;
pub mod describe;
mod files;
mod identity;
mod layout;
mod reader;
mod values;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Rows};

use self::attachments::AttachmentTable;
use self::identity::{Identities, ListedNote};
use self::layout::{Layout, LayoutError, TagTables};
use self::reader::Reader;
use self::values::{MarkBuilder, TagSum};
use super::markup::Dialect;
use super::stamp::Stamp;
use super::tags::Exclusion;
use super::{
    Attachment, Batch, Document, Entry, Listing, Source, SourceOptions, Tasks, front_matter, markup, percent, title,
};
use crate::error::Result;

/// What errors call this kind of source.
const KIND: &str = "Bear database";

/// Where Bear keeps its database, below the home folder. The ten characters before the name are its developer's team
/// id, the same on every machine.
const PATH_BELOW_HOME: &str = "Library/Group Containers/9K33E3U3T4.net.shinyfrog.bear/Application Data/database.sqlite";

/// The path of this user's Bear database, whether or not it is there; `None` when the home folder is unknown.
pub fn default_path() -> Option<PathBuf> {
    std::env::home_dir().map(|home| home.join(PATH_BELOW_HOME))
}

/// What `stat` says of the database at `path`, its `-wal` and its `-journal`; `None` for one that is not there.
///
/// # Errors
/// The system's, when one cannot be looked at or the database is no file.
pub(super) fn database_stamps(path: &Path) -> std::io::Result<[Option<Stamp>; 3]> {
    files::Files::at(path)?.stamps()
}

/// A Bear library.
pub struct BearSource {
    reader: Reader,
    index_locked_titles: bool,
    exclusion: Exclusion,
    listed: Identities,
}

impl BearSource {
    /// Opens the library whose database is at `path`, and makes sure that it is one.
    ///
    /// # Errors
    /// The source errors of [`Error`](crate::error::Error).
    pub fn open(path: &Path, options: SourceOptions) -> Result<Self> {
        let mut reader = Reader::open(path, Duration::from_millis(options.busy_timeout_ms.into()))?;
        reader.read(&|conn| Layout::discover(conn).map(drop))?;
        Ok(Self {
            reader,
            index_locked_titles: options.index_locked_titles,
            exclusion: Exclusion::new(&options.exclude_tags),
            listed: Identities::default(),
        })
    }
}

impl Source for BearSource {
    fn list(&mut self) -> Result<Listing> {
        let Self { reader, index_locked_titles, exclusion, listed } = self;
        let (notes, warnings) = reader.read(&|conn| list_notes(conn, *index_locked_titles, exclusion))?;
        *listed = Identities::of(&notes);
        let entry = |note: ListedNote| Entry { id: listed.id_of(note.pk, note.identifier), mark: note.mark };
        let entries = notes.into_iter().map(entry).collect();
        Ok(Listing { entries, warnings, ..Listing::default() })
    }

    fn read(&mut self, ids: &[String]) -> Result<Batch> {
        let mut wanted: Vec<(i64, &str)> =
            ids.iter().filter_map(|id| self.listed.pk_of(id).map(|pk| (pk, id.as_str()))).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let Self { reader, index_locked_titles, exclusion, .. } = self;
        let documents = reader.read(&|conn| read_notes(conn, &wanted, *index_locked_titles, exclusion))?;
        Ok(Batch { documents, skipped: Vec::new() })
    }
}

/// Positions in the rows that [`select_notes`] asks for. What precedes `TEXT` is covered by the change mark.
mod column {
    pub const PK: usize = 0;
    pub const IDENTIFIER: usize = 1;
    pub const MODIFIED: usize = 3;
    pub const CREATED: usize = 4;
    pub const ARCHIVED: usize = 5;
    pub const PINNED: usize = 6;
    pub const ENCRYPTED: usize = 7;
    pub const TITLE: usize = 8;
    pub const TASKS_OPEN: usize = 9;
    pub const TASKS_DONE: usize = 10;
    pub const TEXT: usize = 12;
}

/// The SELECT for live notes. Of an encrypted note, SQLite itself is told not to touch the text, nor its length. The
/// length of a plain one stands in the head of its row, so asking for it reads no text.
fn select_notes(layout: &Layout, with_text: bool) -> String {
    let encrypted = layout.note_column("ZENCRYPTED");
    let unless_encrypted = |value: &str| format!("CASE WHEN coalesce({encrypted}, 0) = 0 THEN {value} END");
    format!(
        "SELECT Z_PK, {}, {}, {}, {}, {}, {}, {encrypted}, {}, {}, {}, {}, {} FROM ZSFNOTE WHERE {}",
        layout.note_column("ZUNIQUEIDENTIFIER"),
        layout.note_column("Z_OPT"),
        layout.note_column("ZMODIFICATIONDATE"),
        layout.note_column("ZCREATIONDATE"),
        layout.note_column("ZARCHIVED"),
        layout.note_column("ZPINNED"),
        layout.note_column("ZTITLE"),
        layout.note_column("ZTODOINCOMPLETED"),
        layout.note_column("ZTODOCOMPLETED"),
        unless_encrypted("octet_length(ZTEXT)"),
        if with_text { unless_encrypted("ZTEXT") } else { "NULL".to_owned() },
        layout.live_condition(),
    )
}

fn mark_of(row: &Row<'_>, tags: TagSum, builder: &mut MarkBuilder) -> rusqlite::Result<super::ChangeMark> {
    builder.start();
    for column in 0..column::TEXT {
        builder.add(row.get_ref(column)?);
    }
    Ok(builder.finish(tags))
}

fn list_notes(
    conn: &Connection,
    index_locked_titles: bool,
    exclusion: &Exclusion,
) -> std::result::Result<(Vec<ListedNote>, Vec<String>), LayoutError> {
    let layout = Layout::discover(conn)?;
    let mut notes = Vec::new();
    let mut builder = MarkBuilder::new();
    let tags = TagIndex::load(conn, layout.tags.as_ref(), exclusion)?;
    let mut junction = layout.tags.as_ref().map(|tables| conn.prepare(&pairs_by_note(tables))).transpose()?;
    let files = AttachmentTable::discover(conn)?.map(|table| table.sums(conn)).transpose()?.unwrap_or_default();
    let mut pairs = Pairs::start(junction.as_mut().map(|statement| statement.query([])).transpose()?)?;
    let mut statement = conn.prepare(&format!("{} ORDER BY Z_PK", select_notes(&layout, false)))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let pk = row.get(column::PK)?;
        let (mut sum, is_excluded) = pairs.tags_of(pk, &tags)?;
        if is_excluded || (!index_locked_titles && values::flag(row.get_ref(column::ENCRYPTED)?)) {
            continue;
        }
        if let Ok(at) = files.binary_search_by_key(&pk, |(note, _)| *note) {
            sum.add(files[at].1);
        }
        let identifier = values::identifier(row.get_ref(column::IDENTIFIER)?).map(str::to_owned);
        notes.push(ListedNote { pk, identifier, mark: mark_of(row, sum, &mut builder)? });
    }
    Ok((notes, layout.warnings))
}

fn pairs_by_note(tables: &TagTables) -> String {
    format!("SELECT {}, {} FROM {} ORDER BY 1", tables.note, tables.tag, tables.junction)
}

/// What a listing needs to know of each tag, by Z_PK.
struct TagIndex(Vec<(i64, TagSum, bool)>);

impl TagIndex {
    fn load(conn: &Connection, tables: Option<&TagTables>, exclusion: &Exclusion) -> rusqlite::Result<Self> {
        let mut tags = Vec::new();
        if tables.is_some() {
            let mut statement = conn.prepare("SELECT Z_PK, ZTITLE FROM ZSFNOTETAG ORDER BY Z_PK")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                if let Some(name) = tag_name(row.get_ref(1)?) {
                    tags.push((row.get(0)?, TagSum::of(&name), exclusion.covers(&name)));
                }
            }
        }
        Ok(Self(tags))
    }

    fn get(&self, pk: i64) -> Option<(TagSum, bool)> {
        let at = self.0.binary_search_by_key(&pk, |(pk, ..)| *pk).ok()?;
        Some((self.0[at].1, self.0[at].2))
    }
}

/// A walk over the junction, in step with a walk over the notes: both in order of the note's key.
struct Pairs<'s> {
    rows: Option<Rows<'s>>,
    /// The pair the walk stands on.
    current: Option<(i64, i64)>,
}

impl<'s> Pairs<'s> {
    fn start(rows: Option<Rows<'s>>) -> rusqlite::Result<Self> {
        let mut pairs = Self { rows, current: None };
        pairs.advance()?;
        Ok(pairs)
    }

    /// Steps to the next pair of integers; others join nothing.
    fn advance(&mut self) -> rusqlite::Result<()> {
        self.current = None;
        let Some(rows) = &mut self.rows else { return Ok(()) };
        while let Some(row) = rows.next()? {
            if let (ValueRef::Integer(note), ValueRef::Integer(tag)) = (row.get_ref(0)?, row.get_ref(1)?) {
                self.current = Some((note, tag));
                break;
            }
        }
        Ok(())
    }

    /// The sum of the names of `note`'s tags, and whether one of them is excluded.
    fn tags_of(&mut self, note: i64, tags: &TagIndex) -> rusqlite::Result<(TagSum, bool)> {
        let mut sum = TagSum::default();
        let mut is_excluded = false;
        while let Some((of_note, tag)) = self.current.filter(|(of_note, _)| *of_note <= note) {
            if let Some((name, excluded)) = tags.get(tag).filter(|_| of_note == note) {
                sum.add(name);
                is_excluded |= excluded;
            }
            self.advance()?;
        }
        Ok((sum, is_excluded))
    }
}

/// A tag's name; rows without one are no tags.
fn tag_name(value: ValueRef<'_>) -> Option<String> {
    values::text(value).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

fn read_notes(
    conn: &Connection,
    wanted: &[(i64, &str)],
    index_locked_titles: bool,
    exclusion: &Exclusion,
) -> std::result::Result<Vec<Document>, LayoutError> {
    let layout = Layout::discover(conn)?;
    let mut builder = MarkBuilder::new();
    let names_sql = layout.tags.as_ref().map(|TagTables { junction, note, tag }| {
        format!("SELECT ZTITLE FROM {junction} JOIN ZSFNOTETAG ON ZSFNOTETAG.Z_PK = {tag} WHERE {note} = ?1")
    });
    let mut names = names_sql.map(|sql| conn.prepare(&sql)).transpose()?;
    let mut files = AttachmentTable::discover(conn)?.map(|table| table.prepare(conn)).transpose()?;
    let mut notes = conn.prepare(&format!("{} AND Z_PK = ?1", select_notes(&layout, true)))?;
    let mut documents = Vec::with_capacity(wanted.len());
    for (pk, id) in wanted {
        let mut tags = Vec::new();
        if let Some(names) = &mut names {
            let mut rows = names.query([pk])?;
            while let Some(row) = rows.next()? {
                tags.extend(tag_name(row.get_ref(0)?));
            }
        }
        let mut rows = notes.query([pk])?;
        let Some(row) = rows.next()? else { continue };
        let locked = values::flag(row.get_ref(column::ENCRYPTED)?);
        let is_same = identity::is_key(id) || values::identifier(row.get_ref(column::IDENTIFIER)?) == Some(id);
        let is_left_out = (locked && !index_locked_titles) || tags.iter().any(|tag| exclusion.covers(tag));
        if is_same && !is_left_out {
            let files = files.as_mut().map(|files| attachments::of_note(files, *pk)).transpose()?.unwrap_or_default();
            documents.push(document(row, id, locked, tags, files, &mut builder)?);
        }
    }
    Ok(documents)
}

fn document(
    row: &Row<'_>,
    id: &str,
    locked: bool,
    mut tags: Vec<String>,
    (attachments, mut sum): (Vec<Attachment>, TagSum),
    builder: &mut MarkBuilder,
) -> rusqlite::Result<Document> {
    tags.iter().for_each(|tag| sum.add(TagSum::of(tag)));
    let mark = mark_of(row, sum, builder)?;
    tags.sort_unstable();
    tags.dedup();
    let text = values::text(row.get_ref(column::TEXT)?).unwrap_or_default().into_owned();
    let stored_title = values::text(row.get_ref(column::TITLE)?).map(|raw| title::tidy(&raw)).unwrap_or_default();
    let markup = markup::read(&text, front_matter::end(&text), Dialect::Bear);
    // Bear counts tasks itself, in the way of its version. Of a locked note nothing but title and tags is told.
    let counted = |column| Ok::<_, rusqlite::Error>(values::count(row.get_ref(column)?).filter(|_| !locked));
    let tasks = Tasks {
        open: counted(column::TASKS_OPEN)?.unwrap_or(markup.tasks.open),
        done: counted(column::TASKS_DONE)?.unwrap_or(markup.tasks.done),
    };
    Ok(Document {
        id: id.to_owned(),
        mark,
        aliases: Vec::new(),
        properties: front_matter::read(&text).properties.into_iter().chain(markup.properties).collect(),
        links: markup.links,
        tasks,
        attachments: if locked { Vec::new() } else { attachments },
        title: if stored_title.is_empty() { title::from_first_line(&text) } else { stored_title },
        text,
        tags,
        created_at_ms: values::unix_ms(row.get_ref(column::CREATED)?),
        updated_at_ms: values::unix_ms(row.get_ref(column::MODIFIED)?),
        archived: values::flag(row.get_ref(column::ARCHIVED)?),
        pinned: values::flag(row.get_ref(column::PINNED)?),
        locked,
        // A key means nothing to Bear, and an identifier that two notes share would open the wrong one.
        url: (!identity::is_key(id)).then(|| format!("bear://x-callback-url/open-note?id={}", percent::component(id))),
    })
}
