//! Errors on values of delimited text that do not have the type of their column.
//!
//! Arrow's messages give the index of the column, not its name. Their line number starts at 0, and
//! counts from the start of the part of the file that is read.

use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::error::ArrowError;

/// Adds the file and the name of the column to an error on a value. If `from_start` is true, the
/// text is read from its start, and the line number is added too. Other errors are returned
/// unchanged.
pub(crate) fn name_value(input: &str, schema: &Schema, from_start: bool, error: ArrowError) -> ArrowError {
    let ArrowError::ParseError(text) = &error else { return error };
    match placed_message(input, schema, from_start, text) {
        Some(message) => ArrowError::ParseError(message),
        None => error,
    }
}

fn placed_message(input: &str, schema: &Schema, from_start: bool, text: &str) -> Option<String> {
    let (column, line, mistake) = match text.strip_prefix("Error while parsing value '") {
        Some(rest) => {
            let (value, rest) = rest.split_once("' as type '")?;
            let (ty, rest) = rest.split_once("' for column ")?;
            let (column, rest) = rest.split_once(" at line ")?;
            let (line, _) = rest.split_once('.')?;
            (column, line, format!("'{value}' is no {ty}"))
        }
        None => {
            let (column, rest) = text.strip_prefix("Error parsing column ")?.split_once(" at line ")?;
            let (line, cause) = rest.split_once(": ")?;
            (column, line, cause.trim_start_matches("Parser error: ").to_owned())
        }
    };
    let name = schema.fields().get(column.parse::<usize>().ok()?)?.name();
    let line = line.parse::<u64>().ok().filter(|_| from_start).map(|line| format!("line {}: ", line + 1));
    Some(format!("{input}: {}column `{name}`: {mistake}", line.unwrap_or_default()))
}
