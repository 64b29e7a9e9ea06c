//! The target of `COPY`: checks, and the choice between a file and a folder.
//!
//! Without the checks, DataFusion ignores a file type that does not exist, creates folders with
//! misspelled names, and writes a file with another name if the target is a pattern. If the folder
//! exists but takes no files, as `/proc`, DataFusion tries forever. By default, it writes a folder
//! if the target has no extension.

use super::choices::listed;
use super::file_types::{check_file_type, check_options, file_types};
use super::place::Place;
use crate::error::Error;
use crate::table::TensorFactory;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use redpoll_datasets::check_folder;
use std::ffi::OsStr;
use std::path::Path;

/// DataFusion's option for one file in place of a folder of files.
const SINGLE_FILE: &str = "single_file_output";

/// Checks the target of a `COPY` statement, also within `EXPLAIN`. Other statements pass the check.
///
/// # Errors
/// If the file type or an option does not exist, neither the extension nor the statement gives a
/// file type, or the folder of the target does not exist or takes no files. Also if the target is
/// malformed, is a pattern or a device, or is in an object store that the session does not have.
pub(super) fn check_target(state: &SessionState, statement: &Statement) -> Result<()> {
    let copy = match statement {
        Statement::CopyTo(copy) => copy,
        Statement::Explain(explain) => return check_target(state, &explain.statement),
        _ => return Ok(()),
    };
    let target = &copy.target;
    let fault = |message: String| Err(DataFusionError::Plan(format!("cannot write {target}: {message}")));
    let extension = Path::new(target).extension().and_then(OsStr::to_str).unwrap_or_default();
    let types = file_types(state);
    match &copy.stored_as {
        Some(file_type) => check_file_type(state, file_type)?,
        None if !types.contains(&extension.to_uppercase()) => {
            return fault(format!(
                "its name has no extension of a file type; add `STORED AS TYPE`, where TYPE is {}",
                listed(&types)
            ));
        }
        None => {}
    }
    let file_type = copy.stored_as.as_deref().unwrap_or(extension);
    check_options(file_type, copy.options.iter().map(|(name, _)| name.as_str()))?;
    match Place::of(state, target)? {
        Place::Pattern => fault("`*`, `?` and `[` are characters of patterns; choose another name".to_owned()),
        Place::Local(path) => match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
                fault(format!("there is no folder {}", folder.display()))
            }
            _ if path.exists() && !path.is_file() && !path.is_dir() => {
                fault("it is neither a file nor a folder; choose another name".to_owned())
            }
            _ => Ok(check_folder(path).map_err(Error::from)?),
        },
        Place::Remote => Ok(()),
    }
}

/// Sets the option [`SINGLE_FILE`] of a `COPY`: to the choice of the statement if it makes one,
/// otherwise to `true` unless the target is a folder. Other plans, and plans that write tensors,
/// are returned unchanged. A target is a folder if it ends with `/` or exists as a folder, or if
/// the rows are partitioned.
///
/// # Errors
/// If the target is malformed.
pub(super) fn with_output_mode(state: &SessionState, mut plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Copy(copy) = &mut plan else { return Ok(plan) };
    let extension = copy.file_type.get_ext().to_uppercase();
    if TensorFactory::FILE_TYPES.contains(&extension.as_str()) {
        return Ok(plan);
    }
    // DataFusion has added the prefix `format.` to the option.
    let choice = copy.options.remove(&format!("format.{SINGLE_FILE}"));
    let is_folder = !copy.partition_by.is_empty()
        || copy.output_url.ends_with('/')
        || matches!(Place::of(state, &copy.output_url)?, Place::Local(path) if path.is_dir());
    if let Some(choice) = choice.or_else(|| (!is_folder).then(|| "true".to_owned())) {
        copy.options.insert(SINGLE_FILE.to_owned(), choice);
    }
    Ok(plan)
}
