//! Engine values as plain Python dictionaries, whose shapes `_core.pyi` types.

use pyo3::{
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};

use crate::{
    embeddings::ModelRow,
    library::DocumentRow,
    registry::SourceRow,
    search::{Hit, LegReport, Response, Similar},
    sync::SourceReport,
};

/// Fills a new dictionary from `key => value` pairs.
macro_rules! dict {
    ($py:expr, { $($key:literal : $value:expr),* $(,)? }) => {{
        let dict = PyDict::new($py);
        $(dict.set_item($key, $value)?;)*
        dict
    }};
}
pub(super) use dict;

pub fn source_report<'py>(py: Python<'py>, report: &SourceReport) -> PyResult<Bound<'py, PyDict>> {
    let skipped: Vec<(&str, &str)> = report.skipped.iter().map(|s| (s.id.as_str(), s.reason.as_str())).collect();
    Ok(dict!(py, {
        "source": &report.name,
        "kind": report.kind.as_str(),
        "path": report.path.to_string_lossy(),
        "documents": report.documents,
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "locked": report.locked,
        "hidden": report.hidden,
        "remaining": report.remaining,
        "skipped": skipped,
        "warnings": &report.warnings,
        "error": &report.error,
    }))
}

pub fn source_row<'py>(py: Python<'py>, row: &SourceRow) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py, {
        "id": row.id,
        "name": &row.name,
        "kind": row.kind.as_str(),
        "path": row.path.to_string_lossy(),
        "registered": row.registered,
        "documents": row.documents,
        "archived": row.archived,
        "locked": row.locked,
        "hidden": row.hidden,
        "last_sync_at_ms": row.last_sync_at_ms,
        "error": &row.error,
        "exclude": &row.exclude,
    }))
}

pub fn model_row<'py>(py: Python<'py>, model: &ModelRow) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py, {
        "id": model.id,
        "name": &model.name,
        "fingerprint": &model.fingerprint,
        "dim": model.dim,
        "live": model.live,
    }))
}

pub fn document<'py>(py: Python<'py>, document: &DocumentRow) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py, {
        "id": &document.external_id,
        "source": &document.source,
        "title": &document.title,
        "tags": &document.tags,
        "created_at_ms": document.created_at_ms,
        "updated_at_ms": document.updated_at_ms,
        "archived": document.archived,
        "pinned": document.pinned,
        "locked": document.locked,
        "url": &document.url,
    }))
}

fn leg<'py>(py: Python<'py>, leg: &LegReport) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py, { "ran": leg.ran, "hits": leg.hits, "reason": &leg.reason }))
}

/// What `Index.similar` returns.
///
/// # Errors
/// What Python raises.
pub fn similar<'py>(py: Python<'py>, title: &str, similar: &Similar) -> PyResult<Bound<'py, PyDict>> {
    let hits = similar.hits.iter().map(|value| hit(py, value)).collect::<PyResult<Vec<_>>>()?;
    Ok(dict!(py, { "title": title, "hits": PyList::new(py, hits)?, "reason": &similar.reason }))
}

/// One hit, as `Index.search` and `Index.similar` return it.
///
/// # Errors
/// What Python raises.
pub fn hit<'py>(py: Python<'py>, hit: &Hit) -> PyResult<Bound<'py, PyDict>> {
    let dict = document(py, &hit.document)?;
    dict.set_item("place", hit.place)?;
    dict.set_item("score", hit.score)?;
    dict.set_item("text_rank", hit.text_rank)?;
    dict.set_item("vector_rank", hit.vector_rank)?;
    dict.set_item("bm25", hit.bm25)?;
    dict.set_item("cosine", hit.cosine)?;
    dict.set_item("confidence", hit.confidence)?;
    dict.set_item("text_share", hit.text_share)?;
    dict.set_item("vector_share", hit.vector_share)?;
    dict.set_item("words", &hit.words)?;
    dict.set_item("passage", &hit.passage)?;
    let context = hit.context.iter().map(|passage| (&passage.heading, passage.lines, &passage.text));
    dict.set_item("context", context.collect::<Vec<_>>())?;
    dict.set_item("duplicates", &hit.duplicates)?;
    dict.set_item("heading", &hit.heading)?;
    dict.set_item("lines", PyTuple::new(py, [hit.lines.0, hit.lines.1])?)?;
    dict.set_item("line_hits", &hit.excerpt.line_hits)?;
    dict.set_item("total_hits", hit.excerpt.total_hits)?;
    dict.set_item("snippet", &hit.excerpt.text)?;
    dict.set_item("highlights", char_ranges(&hit.excerpt.text, &hit.excerpt.highlights))?;
    Ok(dict)
}

/// Byte ranges of `text` as character ranges: Python counts characters. `ranges` are in order.
fn char_ranges(text: &str, ranges: &[std::ops::Range<usize>]) -> Vec<(usize, usize)> {
    let (mut byte, mut chars) = (0, 0);
    let mut upto = |target: usize| {
        chars += text.get(byte..target).map_or(0, |part| part.chars().count());
        byte = target;
        chars
    };
    ranges.iter().map(|range| (upto(range.start), upto(range.end))).collect()
}

pub fn response<'py>(py: Python<'py>, response: &Response) -> PyResult<Bound<'py, PyDict>> {
    let legs = dict!(py, {
        "text": leg(py, &response.text)?,
        "vector": leg(py, &response.vector)?,
        "typo": leg(py, &response.typo)?,
        "like": leg(py, &response.like)?,
    });
    let words: Vec<(&str, usize)> = response.words.iter().map(|word| (word.word.as_str(), word.documents)).collect();
    let corrections: Vec<(&str, &[String])> =
        response.corrections.iter().map(|said| (said.typed.as_str(), said.searched.as_slice())).collect();
    let hits = response.hits.iter().map(|value| hit(py, value)).collect::<PyResult<Vec<_>>>()?;
    Ok(dict!(py, {
        "mode": response.mode.as_str(),
        "good_match": response.good_match,
        "legs": legs,
        "documents": response.documents,
        "chunks": response.chunks,
        "pending": response.pending,
        "total": response.total,
        "next": response.next,
        "understood": &response.understood,
        "words": words,
        "corrections": corrections,
        "unknown_sources": &response.unknown_sources,
        "elapsed_ms": &response.elapsed_ms,
        "hits": PyList::new(py, hits)?,
    }))
}
