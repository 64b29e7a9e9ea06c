//! Errors of SQL as exceptions of Python.

use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyOSError};
use pyo3::prelude::*;
use redpoll::sql::datafusion::common::SchemaError;
use redpoll::sql::datafusion::error::DataFusionError;
use redpoll::sql::message;

/// The exceptions of the Python layer.
mod classes {
    use pyo3::import_exception;

    import_exception!(redpoll._sql, SqlError);
    import_exception!(redpoll._sql, SqlNameError);
    import_exception!(redpoll._sql, SqlSyntaxError);
}

/// The beginning of DataFusion's message about a function that does not exist.
const UNKNOWN_FUNCTION: &str = "Invalid function";

/// The prefixes of DataFusion's messages that name the kind of the error. Exceptions leave them
/// out, because the class of an exception says as much as callers need.
const KINDS: [&str; 5] =
    ["Error during planning: ", "Schema error: ", "Execution error: ", "Arrow error: ", "sql parser error: "];

/// Returns the exception for an error of DataFusion, or of redpoll within DataFusion.
pub(super) fn exception(py: Python<'_>, error: &DataFusionError) -> PyErr {
    let text = message(error);
    let text = KINDS.iter().find_map(|kind| text.strip_prefix(kind)).unwrap_or(&text).to_owned();
    match error.find_root() {
        DataFusionError::External(source) => match source.downcast_ref::<PyErr>() {
            // The exception of a function of Python.
            Some(exception) => exception.clone_ref(py),
            None => classes::SqlError::new_err(text),
        },
        DataFusionError::SQL(..) => classes::SqlSyntaxError::new_err(text),
        DataFusionError::SchemaError(schema, _) => match **schema {
            SchemaError::FieldNotFound { .. } => classes::SqlNameError::new_err(text),
            _ => classes::SqlError::new_err(text),
        },
        DataFusionError::Plan(_) if text.starts_with("table '") && text.contains("' not found") => {
            let advice = "register it by `Database.register`, or pass it as an argument of this name";
            classes::SqlNameError::new_err(format!("{text}; {advice}"))
        }
        DataFusionError::Plan(_) if text.starts_with(UNKNOWN_FUNCTION) => classes::SqlNameError::new_err(text),
        DataFusionError::Plan(_) if text.contains("there is no file ") => PyFileNotFoundError::new_err(text),
        DataFusionError::ResourcesExhausted(_) => PyMemoryError::new_err(text),
        DataFusionError::IoError(_) | DataFusionError::ObjectStore(_) => PyOSError::new_err(text),
        _ => classes::SqlError::new_err(text),
    }
}
