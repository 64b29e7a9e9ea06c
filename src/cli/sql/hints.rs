//! Hints for errors whose message does not say the next step.

use super::super::failure::{CommandFailure, similar_file};
use crate::sql::datafusion::common::SchemaError;
use crate::sql::datafusion::error::DataFusionError;
use crate::sql::message;
use std::path::Path;

impl From<DataFusionError> for CommandFailure {
    fn from(error: DataFusionError) -> CommandFailure {
        let hint = hint(error.find_root());
        CommandFailure::Error { error: message(&error).into(), hint }
    }
}

/// Parts of messages, with the hint for each. The first row whose part occurs in a message decides.
const HINTS: [(&str, &str); 12] = [
    (
        "Parser error: the file",
        "columns may be declared: `CREATE EXTERNAL TABLE t (NAME TEXT, ..) STORED AS CSV LOCATION 'FILE'`",
    ),
    ("Expected: HEADER, found: (", "the options of `COPY` are written as `OPTIONS (NAME 'VALUE', ..)`"),
    ("Expected: end of statement or ;, found: (", "options are written as `OPTIONS (NAME 'VALUE', ..)`"),
    ("Expected: fileformat", "`CREATE EXTERNAL TABLE` makes a table of a file"),
    ("Missing LOCATION clause", "write `LOCATION 'FILE'` after the file type"),
    ("join condition should not be empty", "write `ON a.x = b.y`, or `CROSS JOIN` for all pairs of rows"),
    ("unknown table function", "`FROM 'FILE'` reads a file by its extension"),
    ("' already exists", "`CREATE OR REPLACE TABLE` replaces a table, and `DROP TABLE` removes it"),
    ("' doesn't exist", "`SHOW TABLES` lists the tables"),
    ("not implemented: TOP", "write `LIMIT N` at the end of the query for its first N rows"),
    (
        "Physical plan does not support logical expression AggregateFunction",
        "`GROUP BY` and `WHERE` take no aggregates; `HAVING` compares the aggregates of groups",
    ),
    ("Unsupported SQL statement: SHOW", "`SHOW TABLES`, `SHOW COLUMNS FROM NAME`, and `SHOW ALL` for the options"),
];

/// Returns the hint for an error, or `None` if the message suffices.
fn hint(error: &DataFusionError) -> Option<String> {
    let text = error.to_string();
    if let Some((_, hint)) = HINTS.iter().find(|(part, _)| text.contains(*part)) {
        return Some((*hint).to_owned());
    }
    let hint = match error {
        DataFusionError::SQL(..) => "statements are separated by `;`; lines and columns are counted from the first one",
        DataFusionError::Plan(_) if text.contains("there is no file") || text.contains("has no files") => {
            let missing = text.split_once("there is no file ").map(|(_, path)| Path::new(path));
            return missing.and_then(similar_file).or_else(current_folder_hint);
        }
        DataFusionError::Plan(_) if text.contains("not found") => {
            if let Some(file) = file_without_quotes(&text) {
                return Some(format!("the name of a file is in quotes: FROM '{file}'"));
            }
            "`--table NAME=FILE`, or `.open NAME FILE` in a session, registers a file as a table; `SHOW TABLES` lists the tables"
        }
        // The message already lists the file types; the last hint below is on types of values.
        DataFusionError::Plan(_) if text.contains("file type") => return None,
        DataFusionError::SchemaError(error, _) => {
            let columns = "`DESCRIBE NAME` shows the columns of a table";
            return Some(match &**error {
                // DataFusion quotes names that are not plain words. Few column names need quotes.
                // So a quoted name, or a name that is similar to no column, is probably meant as a
                // text.
                SchemaError::FieldNotFound { field, .. }
                    if field.relation.is_none()
                        && (text.contains(&format!("\"{}\"", field.name)) || !text.contains("Did you mean")) =>
                {
                    format!("{columns}; a text is in single quotes: '{}'", field.name)
                }
                SchemaError::AmbiguousReference { field } => {
                    format!("several tables have this column; write the table before it, as in `t.{}`", field.name)
                }
                _ => columns.to_owned(),
            });
        }
        DataFusionError::ArrowError(..) if text.contains("Csv error") => {
            "every line needs as many fields as the first; `read_csv('FILE', delim = ';')` sets the delimiter"
        }
        // The text lists types of a plan. The message omits them, so the next hint does not apply.
        DataFusionError::NotImplemented(_) if text.contains("Physical plan does not support") => return None,
        DataFusionError::Plan(_) | DataFusionError::ArrowError(..) | DataFusionError::NotImplemented(_)
            if ["type", "cast", "coerc", "signature"].iter().any(|word| text.to_lowercase().contains(word)) =>
        {
            "`arrow_typeof(x)` shows the type of a value; `CAST(x AS TYPE)` and `TRY_CAST` convert it"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// Returns the hint for a path at which there are no files: the current folder.
fn current_folder_hint() -> Option<String> {
    let folder = std::env::current_dir().ok()?;
    Some(format!("relative paths start at the current folder, {}", folder.display()))
}

/// Returns the existing file that an error reports as a missing table, such as `data.csv` for
/// `datafusion.data.csv`.
fn file_without_quotes(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("table '")?;
    let (table, _) = rest.split_once("' not found")?;
    let candidates = [Some(table), table.split_once('.').map(|(_, name)| name)];
    candidates.into_iter().flatten().find(|name| name.contains('.') && Path::new(name).is_file())
}
