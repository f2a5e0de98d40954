//! The engine's errors as the exception classes of `bearsearch.errors`.

use pyo3::{PyErr, import_exception};

use crate::error::Error;

import_exception!(bearsearch.errors, BearsearchError);
import_exception!(bearsearch.errors, EmbeddingDimensionError);
import_exception!(bearsearch.errors, IndexBusyError);
import_exception!(bearsearch.errors, IndexCorruptError);
import_exception!(bearsearch.errors, IndexUnavailableError);
import_exception!(bearsearch.errors, IndexUnwritableError);
import_exception!(bearsearch.errors, IndexVersionError);
import_exception!(bearsearch.errors, SourceBusyError);
import_exception!(bearsearch.errors, SourceFormatError);
import_exception!(bearsearch.errors, SourceNotFoundError);
import_exception!(bearsearch.errors, SourcePermissionError);
import_exception!(bearsearch.errors, UsageError);

/// The exception that stands for `error`, with the same sentence.
///
/// Every variant is named: a new one does not compile until it has a class.
pub fn to_python(error: &Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Usage(_) => UsageError::new_err(message),
        Error::IndexUnusable { .. } => IndexUnavailableError::new_err(message),
        Error::IndexUnwritable { .. } => IndexUnwritableError::new_err(message),
        Error::IndexCorrupt { .. } => IndexCorruptError::new_err(message),
        Error::IndexTooNew { .. } => IndexVersionError::new_err(message),
        Error::IndexBusy { .. } => IndexBusyError::new_err(message),
        Error::SourceMissing { .. } => SourceNotFoundError::new_err(message),
        Error::SourceDenied { .. } => SourcePermissionError::new_err(message),
        Error::SourceBusy { .. } => SourceBusyError::new_err(message),
        Error::SourceMalformed { .. } => SourceFormatError::new_err(message),
        Error::Dimension { .. } => EmbeddingDimensionError::new_err(message),
        Error::Sqlite(_) | Error::Io { .. } | Error::Interrupted => BearsearchError::new_err(message),
    }
}
