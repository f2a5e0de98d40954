//! `_core.Index`: the store and everything that is done with it.

use std::{path::PathBuf, time::Duration};

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{prelude::*, types::PyDict};

use super::{
    convert::{self, dict},
    errors::to_python,
    links,
};
use crate::{
    embeddings,
    error::{Error, Result},
    fusion::Fusion,
    library,
    links::Direction,
    recover,
    registry::{self, SourceSpec},
    schema,
    scope::{Filters, Scope},
    search::{self, Mode, QueryInput, Request},
    source::{self, ChangeMark, Document, Source, SourceKind, SourceOptions, bear, given::GivenSource},
    store::{Access, Store, meta},
    sync::{self, SyncOptions},
    vector::Codec,
};

/// Where Bear keeps its database on this system; None where there is no Bear.
#[pyfunction]
pub fn default_bear_path() -> Option<String> {
    bear::default_path().map(|path| path.to_string_lossy().into_owned())
}

/// What the Bear database at `path` looks like: names of tables, journal mode, counts.
#[pyfunction]
pub fn describe_bear<'py>(py: Python<'py>, path: PathBuf, busy_timeout_ms: u32) -> PyResult<Bound<'py, PyDict>> {
    let timeout = Duration::from_millis(busy_timeout_ms.into());
    let found = detached(py, || bear::describe::describe(&path, timeout))?;
    Ok(dict!(py, {
        "journal_mode": found.journal_mode,
        "tables": found.tables,
        "junction": found.junction,
        "notes": found.counts.notes,
        "archived": found.counts.archived,
        "locked": found.counts.locked,
        "trashed": found.counts.trashed,
        "warnings": found.warnings,
    }))
}

/// Moves a damaged index aside and makes a new one with the vectors that could be saved; returns their number, or None when
/// another process has done so already.
#[pyfunction]
#[pyo3(signature = (path, *, ours))]
pub fn replace_damaged(py: Python<'_>, path: PathBuf, ours: bool) -> PyResult<Option<usize>> {
    detached(py, || recover::replace(&path, ours))
}

/// An open index file.
#[pyclass(frozen, module = "bearsearch._core")]
pub struct Index {
    store: Store,
}

/// Runs `work` with the GIL released and turns the engine's error into its exception.
fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| to_python(&error))
}

/// The values of a mapping that the service builds; a missing key is its mistake and raises KeyError.
fn field<'py, T>(options: &Bound<'py, PyDict>, key: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let value = options.get_item(key)?.ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(key.to_owned()))?;
    value.extract::<T>().map_err(Into::into)
}

fn source_kind(word: &str) -> PyResult<SourceKind> {
    SourceKind::from_word(word)
        .ok_or_else(|| to_python(&Error::Usage(format!("there is no kind of source \"{word}\""))))
}

fn filters(options: &Bound<'_, PyDict>) -> PyResult<Filters> {
    Ok(Filters {
        sources: field(options, "sources")?,
        tags_all: field(options, "tags_all")?,
        tags_any: field(options, "tags_any")?,
        ids: field(options, "ids")?,
        updated_from_ms: field(options, "updated_from_ms")?,
        updated_until_ms: field(options, "updated_until_ms")?,
        archived: field(options, "archived")?,
        ..Filters::default()
    })
}

/// Documents as (id, title, text, tags).
fn given(documents: Vec<(String, String, String, Vec<String>)>) -> Box<dyn Source> {
    let document = |(id, title, text, tags)| Document {
        id,
        mark: ChangeMark(Box::default()),
        title,
        text,
        tags,
        ..Document::default()
    };
    Box::new(GivenSource::new(documents.into_iter().map(document).collect()))
}

#[pymethods]
impl Index {
    /// Opens the index at `path`, creating or migrating it as needed.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let store = detached(py, || {
            let store = Store::open(&path)?;
            match recover::resume(&store) {
                // Whoever can write will go on with it.
                Err(Error::IndexUnwritable { .. } | Error::IndexBusy { .. }) => {}
                other => other?,
            }
            Ok(store)
        })?;
        Ok(Self { store })
    }

    /// Refuses an index in which damage was found since it was made, by this process or another.
    fn refuse_damaged(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.store.refuse_damaged())
    }

    /// Reads and compares everything in the file.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.store.check())
    }

    /// Ends a recovery when every registered source has been read again.
    fn finish_recovery(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || recover::finish(&self.store))
    }

    /// All sources that the index has rows of.
    fn sources<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let rows = detached(py, || self.store.read(registry::sources))?;
        rows.iter().map(|row| convert::source_row(py, row)).collect()
    }

    /// Makes a source belong to every call, before anything is read of it; returns its name.
    fn add_source(
        &self,
        py: Python<'_>,
        kind: &str,
        path: PathBuf,
        name: Option<String>,
        exclude: Option<Vec<String>>,
    ) -> PyResult<String> {
        let spec = SourceSpec { kind: source_kind(kind)?, path, name, register: true };
        detached(py, || registry::add(&self.store, &spec, exclude.as_deref()))
    }

    /// Forgets a source and everything that came from it.
    fn remove_source(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        detached(py, || registry::remove(&self.store, name))
    }

    /// Brings the index up to date with one source.
    fn sync<'py>(
        &self,
        py: Python<'py>,
        settings: &Bound<'py, PyDict>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let kind = source_kind(&field::<String>(settings, "kind")?)?;
        let spec = SourceSpec {
            kind,
            path: PathBuf::from(field::<String>(settings, "path")?),
            name: field(settings, "name")?,
            register: field(settings, "register")?,
        };
        let options = SyncOptions {
            dry_run: field(settings, "dry_run")?,
            rebuild: field(settings, "rebuild")?,
            accept_loss: field(settings, "accept_loss")?,
            budget: field::<Option<u64>>(settings, "budget_ms")?.map(Duration::from_millis),
            max_tokens: field(settings, "max_tokens")?,
            source: SourceOptions {
                index_locked_titles: field(settings, "index_locked_titles")?,
                exclude_tags: field(settings, "exclude_tags")?,
                exclude_globs: field(settings, "exclude_globs")?,
                busy_timeout_ms: field(settings, "busy_timeout_ms")?,
            },
        };
        let given = match kind {
            SourceKind::Given => Some(given(field(settings, "documents")?)),
            SourceKind::Bear | SourceKind::Backup | SourceKind::Markdown => None,
        };
        // The exception that the progress function raised, Ctrl-C among them, is what the caller gets.
        let mut raised = None;
        let outcome = py.detach(|| {
            let open = |wanted| match given {
                Some(source) => Ok(source),
                None => source::open(spec.kind, &spec.path, wanted),
            };
            sync::sync_with(&self.store, &spec, open, &options, &mut |done, total| {
                let called = Python::attach(|py| {
                    py.check_signals()?;
                    progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done, total)).map(drop))
                });
                called.map_err(|error| {
                    raised = Some(error);
                    Error::Interrupted
                })
            })
        });
        match (outcome, raised) {
            (_, Some(error)) => Err(error),
            (Err(error), None) => Err(to_python(&error)),
            (Ok(report), None) => convert::source_report(py, &report),
        }
    }

    /// Removes texts that no chunk holds any more, with their vectors.
    fn prune(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || embeddings::prune_all(&self.store))
    }

    /// Writes the WAL back and empties it.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.store.checkpoint())
    }

    /// All models that the index has vectors of.
    fn models<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let models = detached(py, || self.store.read(embeddings::models))?;
        models.iter().map(|model| convert::model_row(py, model)).collect()
    }

    /// Makes sure that the index has a vector table for this model.
    fn use_model<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        fingerprint: &str,
        dim: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let model = detached(py, || embeddings::use_model(&self.store, name, fingerprint, dim))?;
        convert::model_row(py, &model)
    }

    /// How many texts have a vector of this model, wait for one, or failed.
    fn coverage<'py>(&self, py: Python<'py>, model_id: i64) -> PyResult<Bound<'py, PyDict>> {
        let coverage = detached(py, || self.store.read(|conn| embeddings::coverage(conn, model_id)))?;
        Ok(dict!(py, { "embedded": coverage.embedded, "pending": coverage.pending, "failed": coverage.failed }))
    }

    /// Texts that wait for a vector of this model, as (id, text) pairs.
    fn pending(&self, py: Python<'_>, model_id: i64, after: i64, limit: usize) -> PyResult<Vec<(i64, String)>> {
        let texts = detached(py, || self.store.read(|conn| embeddings::pending(conn, model_id, after, limit)))?;
        Ok(texts.into_iter().map(|text| (text.id, text.text)).collect())
    }

    /// Up to `limit` embedded texts with the vectors that are stored for them.
    fn sample(&self, py: Python<'_>, model_id: i64, limit: usize) -> PyResult<Vec<(String, Vec<f32>)>> {
        let found = detached(py, || self.store.read(|conn| embeddings::sample(conn, model_id, limit)))?;
        Ok(found.into_iter().map(|(text, vector)| (text.text, vector)).collect())
    }

    /// Stores vectors for texts that still wait for one.
    fn add_embeddings(
        &self,
        py: Python<'_>,
        model_id: i64,
        ids: PyReadonlyArray1<'_, i64>,
        vectors: PyReadonlyArray2<'_, f32>,
    ) -> PyResult<usize> {
        let ids = ids.as_array().to_vec();
        let rows = vectors.as_array();
        if rows.nrows() != ids.len() {
            let message = format!("{} ids came with {} vectors; give one vector for each id", ids.len(), rows.nrows());
            return Err(to_python(&Error::Usage(message)));
        }
        let values: Vec<f32> = rows.iter().copied().collect();
        detached(py, || embeddings::add(&self.store, model_id, &ids, &values))
    }

    /// Quantizes what changed among the live model's vectors, once scans would notice it or the codec is another.
    fn quantize(&self, py: Python<'_>, codec: &str) -> PyResult<bool> {
        detached(py, || embeddings::quantize(&self.store, Codec::from_word(codec)?))
    }

    /// Records that texts could not be embedded.
    fn fail_embeddings(&self, py: Python<'_>, model_id: i64, failures: Vec<(i64, String)>) -> PyResult<()> {
        detached(py, || embeddings::fail(&self.store, model_id, &failures))
    }

    /// Forgets all vectors, so that every text waits again.
    fn forget_embeddings(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || embeddings::forget(&self.store))
    }

    /// Answers a search.
    fn search<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        let mode: String = field(options, "mode")?;
        let fusion: String = field(options, "fusion")?;
        let fusion = Fusion::from_word(&fusion)
            .ok_or_else(|| to_python(&Error::Usage(format!("there is no fusion \"{fusion}\"; use share or rrf"))))?;
        let queries: Vec<(String, Option<PyReadonlyArray1<'_, f32>>, f64)> = field(options, "queries")?;
        let request = Request {
            queries: queries
                .into_iter()
                .map(|(text, embedding, fluency)| QueryInput {
                    text,
                    embedding: embedding.map(|embedding| embedding.as_array().to_vec()),
                    fluency,
                })
                .collect(),
            mode: Mode::from_word(&mode).map_err(|error| to_python(&error))?,
            fusion,
            limit: field(options, "limit")?,
            offset: field(options, "offset")?,
            context: field(options, "context")?,
            passages: field(options, "passages")?,
            fts5: field(options, "fts5")?,
            filters: filters(options)?,
            fingerprint: field(options, "fingerprint")?,
            no_embedding: field(options, "no_embedding")?,
            floor: field(options, "floor")?,
        };
        let response = detached(py, || search::search(&self.store, &request))?;
        convert::response(py, &response)
    }

    /// Notes near the note that a reference names, and a reason when there are none; None when no note has that name.
    fn similar<'py>(
        &self,
        py: Python<'py>,
        reference: &str,
        options: &Bound<'py, PyDict>,
        limit: usize,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let filters = filters(options)?;
        let of = Scope::new(&Filters { archived: true, sources: filters.sources.clone(), ..Filters::default() });
        let found = detached(py, || {
            let Some(note) = self.store.read(|conn| library::find(conn, reference, &of))?.into_iter().next() else {
                return Ok(None);
            };
            Ok(Some((note.title, search::similar(&self.store, note.id, &filters, limit)?)))
        })?;
        let Some((title, similar)) = found else { return Ok(None) };
        convert::similar(py, &title, &similar).map(Some)
    }

    /// What a query means, as text to embed; empty when there is nothing to embed.
    #[staticmethod]
    fn embedding_text(query: &str) -> String {
        let today = jiff::ZonedDateTime::now().date();
        crate::query::embedding_text(&crate::query::parse(query, today))
    }

    /// Notes that a reference names, with their texts.
    fn find<'py>(
        &self,
        py: Python<'py>,
        reference: &str,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let scope = Scope::new(&filters(options)?);
        let found = detached(py, || {
            self.store.read(|conn| {
                let with_text = |row: library::DocumentRow| library::text(conn, row.id).map(|text| (row, text));
                library::find(conn, reference, &scope)?.into_iter().map(with_text).collect::<Result<Vec<_>>>()
            })
        })?;
        let with_text = |(row, text): &(library::DocumentRow, String)| {
            let dict = convert::document(py, row)?;
            dict.set_item("text", text)?;
            Ok(dict)
        };
        found.iter().map(with_text).collect()
    }

    /// Notes in scope, newest first, and how many there are in all.
    fn list<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        limit: usize,
        offset: usize,
    ) -> PyResult<(Vec<Bound<'py, PyDict>>, usize)> {
        let scope = Scope::new(&filters(options)?);
        let (rows, total) = detached(py, || self.store.read(|conn| library::list(conn, &scope, limit, offset)))?;
        let notes = rows.iter().map(|row| convert::document(py, row)).collect::<PyResult<_>>()?;
        Ok((notes, total))
    }

    /// Tags of notes in scope with the number of those notes.
    fn tags(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Vec<(String, usize)>> {
        let scope = Scope::new(&filters(options)?);
        detached(py, || self.store.read(|conn| library::tags(conn, &scope)))
    }

    /// The notes around the one that a reference names, along links.
    fn links<'py>(
        &self,
        py: Python<'py>,
        reference: &str,
        depth: usize,
        direction: &str,
        options: &Bound<'py, PyDict>,
        limit: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let scope = Scope::new(&filters(options)?);
        let direction = Direction::from_word(direction).map_err(|error| to_python(&error))?;
        let found =
            detached(py, || self.store.read(|conn| links::walk(conn, reference, depth, direction, &scope, limit)))?;
        found.to_dict(py)
    }

    /// Notes in scope without links, newest first, and how many there are in all.
    fn orphans<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        limit: usize,
    ) -> PyResult<(Vec<Bound<'py, PyDict>>, usize)> {
        let scope = Scope::new(&filters(options)?);
        let (rows, total) = detached(py, || {
            self.store.read(|conn| {
                let (ids, total) = crate::links::orphans(conn, &scope, limit)?;
                Ok((links::listed(conn, ids)?, total))
            })
        })?;
        Ok((rows.iter().map(|row| convert::document(py, row)).collect::<PyResult<_>>()?, total))
    }

    /// Links in notes in scope that lead to no note, and how many there are in all.
    fn broken_links<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        limit: usize,
    ) -> PyResult<(Vec<Bound<'py, PyDict>>, usize)> {
        let scope = Scope::new(&filters(options)?);
        let (found, notes, total) = detached(py, || self.store.read(|conn| links::broken(conn, &scope, limit)))?;
        let shown = found.iter().filter_map(|link| links::broken_link(py, link, &notes).transpose());
        Ok((shown.collect::<PyResult<_>>()?, total))
    }

    /// Notes in scope with links, those with most first, and how many there are in all; each with `incoming` and `outgoing`,
    /// the numbers of notes that link to it and that it links to.
    fn hubs<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        limit: usize,
    ) -> PyResult<(Vec<Bound<'py, PyDict>>, usize)> {
        let scope = Scope::new(&filters(options)?);
        let (rows, total) = detached(py, || self.store.read(|conn| links::hubs(conn, &scope, limit)))?;
        Ok((rows.iter().map(|row| links::hub(py, row)).collect::<PyResult<_>>()?, total))
    }

    /// The newest notes in scope that have a vector, what a picture of them needs, and how many have none.
    fn map<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>, limit: usize) -> PyResult<Bound<'py, PyDict>> {
        let scope = Scope::new(&filters(options)?);
        let data = detached(py, || self.store.read(|conn| crate::map::read(conn, &scope, limit)))?;
        let notes = data.notes.iter().map(|note| convert::document(py, note)).collect::<PyResult<Vec<_>>>()?;
        let vectors = PyArray1::from_vec(py, data.vectors).reshape([notes.len(), data.dim])?;
        Ok(dict!(py, {
            "notes": notes,
            "vectors": vectors,
            "links": data.links,
            "without_vector": data.without_vector,
            "total": data.total,
        }))
    }

    /// Facts about the index file and the engine.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (chunks, last_full_index_at_ms, backend) = detached(py, || {
            self.store.read(|conn| {
                let chunks: Option<i64> = meta(conn, "chunks")?;
                let last: Option<i64> = meta(conn, "last_full_index_at_ms")?;
                let backend: String = conn.query_row("SELECT vector_backend()", [], |row| row.get(0))?;
                Ok((chunks.unwrap_or(0), last, backend))
            })
        })?;
        let unwritable = match detached(py, || self.store.access())? {
            Access::Full => None,
            Access::ReadOnly(reason) | Access::Frozen(_, reason) => Some(reason),
        };
        Ok(dict!(py, {
            "path": self.store.path().to_string_lossy(),
            "size_bytes": self.store.size_bytes(),
            "unwritable": unwritable,
            "schema_version": schema::SCHEMA_VERSION,
            "chunks": chunks,
            "last_full_index_at_ms": last_full_index_at_ms,
            "vector_backend": backend,
        }))
    }
}
