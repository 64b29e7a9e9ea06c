//! Errors on file types of `STORED AS`, and on options of file types, that do not exist.

use super::choices::{listed, unknown_choice};
use crate::database::Database;
use datafusion::config::{ConfigFileType, TableOptions};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::parser::ParserError;

/// The list of file types in DataFusion's messages.
const DATAFUSION_TYPES: &str = "one of ARROW, PARQUET, NDJSON, or CSV";

/// DataFusion's message on a declaration without a file type.
const MISSING_TYPE: &str = "Missing STORED AS clause in CREATE EXTERNAL TABLE statement";

impl Database {
    /// Replaces the file types in a syntax error by the file types of the session, and adds them to
    /// the error on a declaration without a file type. Other errors are returned unchanged.
    pub(crate) fn with_file_types(&self, error: DataFusionError) -> DataFusionError {
        let DataFusionError::SQL(parser_error, _) = error.find_root() else { return error };
        let ParserError::ParserError(text) = &**parser_error else { return error };
        if !text.contains(DATAFUSION_TYPES) && !text.contains(MISSING_TYPE) {
            return error;
        }
        let types = listed(&file_types(&self.context().state()));
        let text = text.replace(DATAFUSION_TYPES, &format!("{types} without quotes"));
        let text = text.replace(MISSING_TYPE, &format!("the file type is missing; write `STORED AS` and {types}"));
        DataFusionError::SQL(Box::new(ParserError::ParserError(text)), None)
    }
}

/// Returns the file types that can be read and written, in alphabetical order.
pub(super) fn file_types(state: &SessionState) -> Vec<String> {
    let factories = state.table_factories().keys();
    // DataFusion has factories of tables for file types that this build does not read.
    let mut types: Vec<String> =
        factories.filter(|name| state.get_file_format_factory(name).is_some()).cloned().collect();
    types.sort_unstable();
    types
}

/// Checks that a file type exists.
///
/// # Errors
/// If `STORED AS` does not accept the file type.
pub(super) fn check_file_type(state: &SessionState, file_type: &str) -> Result<()> {
    let (types, file_type) = (file_types(state), file_type.to_uppercase());
    match types.contains(&file_type) {
        true => Ok(()),
        false => Err(DataFusionError::Plan(unknown_choice("file type", &file_type, &types))),
    }
}

/// Checks that the options of files of text or JSON exist. Other file types check their options
/// themselves.
///
/// # Errors
/// If an option does not exist.
pub(super) fn check_options<'a>(file_type: &str, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let (kind, format) = match file_type.to_uppercase().as_str() {
        "CSV" => ("option of CSV files", ConfigFileType::CSV),
        "JSON" => ("option of JSON files", ConfigFileType::JSON),
        _ => return Ok(()),
    };
    let mut options = TableOptions::default();
    options.set_config_format(format);
    let known = options.entries().into_iter().map(|entry| entry.key.trim_start_matches("format.").to_owned());
    let known: Vec<String> = known.collect();
    for name in names.map(str::to_lowercase) {
        let name = name.strip_prefix("format.").unwrap_or(&name);
        // Options with another prefix, and `single_file_output`, belong to the statement, not to
        // the file type.
        let is_of_file = !name.contains('.') && name != "single_file_output";
        if is_of_file && !known.iter().any(|known| known == name) {
            return Err(DataFusionError::Plan(unknown_choice(kind, name, &known)));
        }
    }
    Ok(())
}
