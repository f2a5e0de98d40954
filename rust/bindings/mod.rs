//! The module `bearsearch._core`: arguments in, engine called with the GIL released, values and errors out.
//!
//! The only files that import pyo3. No decisions here: they belong to the engine or to `service/`.

mod convert;
mod errors;
mod index;
mod links;

use pyo3::prelude::*;

/// The compiled part of bearsearch; `_core.pyi` describes it.
#[pymodule]
#[pyo3(name = "_core")]
fn core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SQLITE_VERSION", rusqlite::version())?;
    module.add("SCHEMA_VERSION", crate::schema::SCHEMA_VERSION)?;
    module.add_function(wrap_pyfunction!(index::default_bear_path, module)?)?;
    module.add_function(wrap_pyfunction!(index::describe_bear, module)?)?;
    module.add_function(wrap_pyfunction!(index::replace_damaged, module)?)?;
    module.add_class::<index::Index>()
}
