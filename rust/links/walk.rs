//! A walk through the graph, breadth first, from one note.

use std::collections::{HashMap, HashSet};

use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, OptionalExtension, params_from_iter};

use super::word_of;
use crate::error::Result;
use crate::scope::Scope;

/// Which links a walk follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From a note to those that it links to.
    Out,
    /// From a note to those that link to it.
    In,
    /// Both.
    Both,
}

impl Direction {
    /// The word that people use for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::In => "in",
            Self::Both => "both",
        }
    }

    /// The direction that [`as_str`](Self::as_str) spells `word`.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) that lists the directions.
    pub fn from_word(word: &str) -> Result<Self> {
        [Self::Out, Self::In, Self::Both]
            .into_iter()
            .find(|direction| direction.as_str() == word)
            .ok_or_else(|| crate::Error::Usage(format!("there is no direction \"{word}\"; use out, in or both")))
    }
}

/// One step of a walk: all links from one note to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// Row id of the note that holds the links.
    pub from_id: i64,
    /// Row id of the note that they lead to.
    pub to_id: i64,
    /// `Out` when the walk went along the links, `In` when it went against them.
    pub direction: Direction,
    /// Text of the first link.
    pub text: String,
    /// Heading or `^block` that the first link names; empty for none.
    pub heading: String,
    /// Line of the first link, from 1.
    pub line: usize,
    /// How the first link is written: wiki, embed, path, bear or obsidian.
    pub form: &'static str,
    /// Whether the first link may as well mean another note.
    pub ambiguous: bool,
    /// How many links there are.
    pub count: usize,
}

/// What a walk found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walk {
    /// By distance from the start: steps to notes that no shorter way leads to.
    pub hops: Vec<Vec<Hop>>,
    /// Steps that were found and are not in `hops`, because of the limit.
    pub left_out: usize,
}

/// A step before its first link is looked up.
struct Step {
    from_id: i64,
    to_id: i64,
    ordinal: i64,
    count: usize,
    direction: Direction,
}

/// Walks up to `depth` steps from `root` through the notes in scope; `limit` steps are told, the nearest first.
///
/// # Errors
/// [`Error::Sqlite`](crate::error::Error::Sqlite).
pub fn walk(
    conn: &Connection,
    root: i64,
    depth: usize,
    direction: Direction,
    scope: &Scope,
    limit: usize,
) -> Result<Walk> {
    let mut graph = Graph::new(conn, scope)?;
    let mut seen = HashSet::from([root]);
    let mut frontier = vec![root];
    let mut walk = Walk::default();
    let mut left = limit;
    for _ in 0..depth {
        let steps = reach(&mut graph, &frontier, direction, &seen)?;
        if steps.is_empty() {
            break;
        }
        frontier.clear();
        for step in &steps {
            let reached = if step.direction == Direction::Out { step.to_id } else { step.from_id };
            if seen.insert(reached) {
                frontier.push(reached);
            }
        }
        let told = steps.len().min(left);
        left -= told;
        walk.left_out += steps.len() - told;
        if told > 0 {
            walk.hops.push(steps[..told].iter().map(|step| hop(conn, step)).collect::<Result<_>>()?);
        }
    }
    Ok(walk)
}

/// All steps from the notes of `frontier` to notes that were not seen before: from each note first along its links, in the
/// order of its text, then against the links to it, in the order of the titles of the notes that hold them.
fn reach(graph: &mut Graph<'_>, frontier: &[i64], direction: Direction, seen: &HashSet<i64>) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut links: Vec<(i64, i64)> = Vec::new();
    for id in frontier {
        for way in [Direction::Out, Direction::In] {
            if direction != way && direction != Direction::Both {
                continue;
            }
            links.clear();
            graph.links(*id, way, &mut links)?;
            // Links to one note are one step, at the place of the first.
            let start = steps.len();
            let mut first: HashMap<i64, usize> = HashMap::new();
            for &(other, ordinal) in &links {
                if seen.contains(&other) {
                    continue;
                }
                match first.get(&other) {
                    Some(at) => {
                        let step: &mut Step = &mut steps[*at];
                        step.count += 1;
                    }
                    None if graph.title(other)?.is_some() => {
                        first.insert(other, steps.len());
                        let (from_id, to_id) = if way == Direction::Out { (*id, other) } else { (other, *id) };
                        steps.push(Step { from_id, to_id, ordinal, count: 1, direction: way });
                    }
                    None => {}
                }
            }
            let titles = &graph.titles;
            steps[start..].sort_by(|a, b| {
                let key = |step: &Step| match way {
                    Direction::Out => (step.ordinal, titles.get(&step.to_id), step.to_id),
                    _ => (0, titles.get(&step.from_id), step.from_id),
                };
                key(a).cmp(&key(b))
            });
        }
    }
    Ok(steps)
}

/// The rows that a walk asks for, one note at a time.
struct Graph<'c> {
    out: CachedStatement<'c>,
    into: CachedStatement<'c>,
    node: CachedStatement<'c>,
    parameters: Vec<Value>,
    /// What the notes asked about so far are sorted by, title and id; `None` for those out of scope.
    titles: HashMap<i64, Option<String>>,
}

impl<'c> Graph<'c> {
    fn new(conn: &'c Connection, scope: &Scope) -> Result<Self> {
        let node = format!(
            "SELECT d.folded_title || char(0) || d.external_id FROM documents d WHERE {} AND d.id = ?",
            scope.condition()
        );
        Ok(Self {
            out: conn.prepare_cached("SELECT to_id, ordinal FROM edges WHERE from_id = ?1")?,
            into: conn.prepare_cached("SELECT from_id, ordinal FROM edges WHERE to_id = ?1")?,
            node: conn.prepare_cached(&node)?,
            parameters: scope.parameters().to_vec(),
            titles: HashMap::new(),
        })
    }

    /// Adds the note at the other end of each link, and the link's place in its text.
    fn links(&mut self, id: i64, direction: Direction, found: &mut Vec<(i64, i64)>) -> Result<()> {
        let statement = if direction == Direction::Out { &mut self.out } else { &mut self.into };
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            found.push((row.get(0)?, row.get(1)?));
        }
        Ok(())
    }

    /// What a note is sorted by, `None` when it is not in scope.
    fn title(&mut self, id: i64) -> Result<Option<&String>> {
        if !self.titles.contains_key(&id) {
            let parameters = self.parameters.iter().cloned().chain([Value::Integer(id)]);
            let title = self.node.query_row(params_from_iter(parameters), |row| row.get(0)).optional()?;
            self.titles.insert(id, title);
        }
        Ok(self.titles.get(&id).and_then(Option::as_ref))
    }
}

fn hop(conn: &Connection, step: &Step) -> Result<Hop> {
    let found = conn
        .prepare_cached(
            "SELECT text, heading, line, kind, embedded,
                    (SELECT count(*) FROM edges WHERE from_id = l.document_id AND ordinal = l.ordinal)
             FROM links l WHERE document_id = ?1 AND ordinal = ?2",
        )?
        .query_row([step.from_id, step.ordinal], |row| {
            Ok(Hop {
                from_id: step.from_id,
                to_id: step.to_id,
                direction: step.direction,
                text: row.get(0)?,
                heading: row.get(1)?,
                line: row.get(2)?,
                form: word_of(row.get(3)?, row.get(4)?),
                ambiguous: row.get::<_, i64>(5)? > 1,
                count: step.count,
            })
        })
        .optional()?;
    Ok(found.unwrap_or_else(|| Hop {
        from_id: step.from_id,
        to_id: step.to_id,
        direction: step.direction,
        text: String::new(),
        heading: String::new(),
        line: 1,
        form: word_of(0, false),
        ambiguous: false,
        count: step.count,
    }))
}
