//! The link graph as plain Python dictionaries.

use std::collections::HashMap;

use pyo3::{prelude::*, types::PyDict};
use rusqlite::Connection;

use super::convert::{self, dict};
use crate::{
    error::Result,
    library::{self, DocumentRow},
    links::{self, Broken, Direction, Hop, Hub, Walk},
    scope::Scope,
};

/// What a walk found, with the notes that it names.
pub struct Found {
    roots: Vec<DocumentRow>,
    walk: Walk,
    broken: Vec<Broken>,
    notes: HashMap<i64, DocumentRow>,
}

/// Walks from the note that `reference` names; when it names several or none, that is all that comes back.
pub fn walk(
    conn: &Connection,
    reference: &str,
    depth: usize,
    direction: Direction,
    scope: &Scope,
    limit: usize,
) -> Result<Found> {
    let mut found = Found {
        roots: library::find(conn, reference, scope)?,
        walk: Walk::default(),
        broken: Vec::new(),
        notes: HashMap::new(),
    };
    let [root] = found.roots.as_slice() else { return Ok(found) };
    found.walk = links::walk(conn, root.id, depth, direction, scope, limit)?;
    if direction != Direction::In {
        found.broken = links::broken(conn, scope, Some(root.id), limit)?.0;
    }
    let ids: Vec<i64> = found.walk.hops.iter().flatten().flat_map(|hop| [hop.from_id, hop.to_id]).collect();
    found.notes = documents(conn, ids.into_iter().chain([root.id]))?;
    Ok(found)
}

/// Links that lead nowhere, with the notes that hold them.
pub fn broken(
    conn: &Connection,
    scope: &Scope,
    limit: usize,
) -> Result<(Vec<Broken>, HashMap<i64, DocumentRow>, usize)> {
    let (found, total) = links::broken(conn, scope, None, limit)?;
    let notes = documents(conn, found.iter().map(|link| link.from_id))?;
    Ok((found, notes, total))
}

/// Notes with most links, and how many there are with any.
pub fn hubs(conn: &Connection, scope: &Scope, limit: usize) -> Result<(Vec<(DocumentRow, Hub)>, usize)> {
    let (hubs, total) = links::hubs(conn, scope, limit)?;
    let rows = hubs.into_iter().map(|hub| Ok(library::document(conn, hub.id)?.map(|row| (row, hub))));
    Ok((rows.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect(), total))
}

/// A note with the numbers of its neighbours.
pub fn hub<'py>(py: Python<'py>, (row, hub): &(DocumentRow, Hub)) -> PyResult<Bound<'py, PyDict>> {
    let dict = convert::document(py, row)?;
    dict.set_item("incoming", hub.incoming)?;
    dict.set_item("outgoing", hub.outgoing)?;
    Ok(dict)
}

/// Notes by row id, in their order, without those that are gone.
pub fn listed(conn: &Connection, ids: impl IntoIterator<Item = i64>) -> Result<Vec<DocumentRow>> {
    let rows = ids.into_iter().map(|id| library::document(conn, id));
    Ok(rows.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

fn documents(conn: &Connection, ids: impl IntoIterator<Item = i64>) -> Result<HashMap<i64, DocumentRow>> {
    let mut found = HashMap::new();
    for id in ids {
        if !found.contains_key(&id) {
            found.extend(library::document(conn, id)?.map(|note| (id, note)));
        }
    }
    Ok(found)
}

impl Found {
    pub fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let roots = self.roots.iter().map(|root| convert::document(py, root)).collect::<PyResult<Vec<_>>>()?;
        let mut hops = Vec::with_capacity(self.walk.hops.len());
        for steps in &self.walk.hops {
            let shown = steps.iter().filter_map(|hop| self.hop(py, hop).transpose());
            hops.push(shown.collect::<PyResult<Vec<_>>>()?);
        }
        let broken = self.broken.iter().filter_map(|link| broken_link(py, link, &self.notes).transpose());
        Ok(dict!(py, {
            "roots": roots,
            "hops": hops,
            "left_out": self.walk.left_out,
            "broken": broken.collect::<PyResult<Vec<_>>>()?,
        }))
    }

    fn hop<'py>(&self, py: Python<'py>, hop: &Hop) -> PyResult<Option<Bound<'py, PyDict>>> {
        let (Some(from), Some(to)) = (self.notes.get(&hop.from_id), self.notes.get(&hop.to_id)) else {
            return Ok(None);
        };
        Ok(Some(dict!(py, {
            "from_note": reference(from),
            "from_title": &from.title,
            "to_note": reference(to),
            "to_title": &to.title,
            "direction": hop.direction.as_str(),
            "text": &hop.text,
            "heading": &hop.heading,
            "line": hop.line,
            "form": hop.form,
            "ambiguous": hop.ambiguous,
            "count": hop.count,
        })))
    }
}

/// A broken link; None when its note is gone.
pub fn broken_link<'py>(
    py: Python<'py>,
    link: &Broken,
    notes: &HashMap<i64, DocumentRow>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(from) = notes.get(&link.from_id) else { return Ok(None) };
    Ok(Some(dict!(py, {
        "from_note": reference(from),
        "from_title": &from.title,
        "target": &link.target,
        "text": &link.text,
        "heading": &link.heading,
        "line": link.line,
        "form": link.form,
    })))
}

/// `SOURCE:ID`, which names one note in all sources.
fn reference(note: &DocumentRow) -> String {
    format!("{}:{}", note.source, note.external_id)
}
