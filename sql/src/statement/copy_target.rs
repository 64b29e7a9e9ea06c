//! Checks of the target of `COPY`.
//!
//! Without the checks, DataFusion ignores a file type that does not exist, creates folders with
//! misspelled names, and writes a file of another name in place of a pattern.

use super::choices::listed;
use super::file_types::{check_file_type, check_options, file_types};
use super::place::Place;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use std::ffi::OsStr;
use std::path::Path;

/// Checks the target of a `COPY` statement; other statements have none.
///
/// # Errors
/// If the file type or an option does not exist, the file type is not given, the folder of the
/// target does not exist, or the target is a pattern.
pub(super) fn check_target(state: &SessionState, statement: &Statement) -> Result<()> {
    let Statement::CopyTo(copy) = statement else { return Ok(()) };
    let target = &copy.target;
    let fault = |message: String| Err(DataFusionError::Plan(format!("cannot write {target}: {message}")));
    let extension = Path::new(target).extension().and_then(OsStr::to_str).unwrap_or_default();
    let types = file_types(state);
    match &copy.stored_as {
        Some(file_type) => check_file_type(state, file_type)?,
        None if !types.contains(&extension.to_uppercase()) => {
            return fault(format!(
                "its extension is no file type; add `STORED AS TYPE`, where TYPE is {}",
                listed(&types)
            ));
        }
        None => {}
    }
    let file_type = copy.stored_as.as_deref().unwrap_or(extension);
    check_options(file_type, copy.options.iter().map(|(name, _)| name.as_str()))?;
    match Place::of(state, target)? {
        Place::Pattern => fault("`*`, `?` and `[` are signs of patterns; choose another name".to_owned()),
        Place::Local(path) => match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
                fault(format!("there is no folder {}", folder.display()))
            }
            _ => Ok(()),
        },
        Place::Remote => Ok(()),
    }
}
