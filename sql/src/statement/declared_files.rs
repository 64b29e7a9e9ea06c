//! Checks that the files of `CREATE EXTERNAL TABLE` exist. Infers the format and the columns of a
//! file of JSON or text, as `FROM read_json('FILE')` and `FROM read_csv('FILE')` do.

use super::file_types::{check_file_type, check_options};
use super::place::Place;
use crate::database::Database;
use crate::files::{columns_of_text, extension, io_error};
use crate::guard::name_input;
use crate::row_format::{RowFormat, RowReader};
use crate::text_columns::ColumnTypes;
use datafusion::common::DFSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{CreateExternalTable, DdlStatement, LogicalPlan};
use std::path::Path;
use std::sync::Arc;

/// The options that the declaration of a file of text may have if redpoll infers the columns. If
/// the declaration has any other option, DataFusion infers the columns.
const TEXT_OPTIONS: [&str; 4] =
    ["format.delimiter", "format.has_header", "format.comment", "format.newlines_in_values"];

impl Database {
    /// Checks the files of a declared table. If the table is a single file, adds its format or
    /// columns as [`Database::add_format`] does. Other plans are returned unchanged.
    ///
    /// # Errors
    /// If the file type or an option is unknown, a location is malformed, a file does not exist or
    /// is compressed, or the columns cannot be inferred.
    pub(super) async fn complete_declaration(&self, mut plan: LogicalPlan) -> Result<LogicalPlan> {
        let LogicalPlan::Ddl(DdlStatement::CreateExternalTable(declaration)) = &mut plan else { return Ok(plan) };
        if declaration.if_not_exists && self.context().table_exist(declaration.name.clone())? {
            return Ok(plan);
        }
        let state = self.context().state();
        check_file_type(&state, &declaration.file_type)?;
        check_options(&declaration.file_type, declaration.options.keys().map(String::as_str))?;
        let has_columns = !declaration.schema.fields().is_empty();
        let mut file = None;
        for location in &declaration.locations {
            let Place::Local(path) = Place::of(&state, location)? else { continue };
            // A folder may be missing if the columns are declared: `INSERT` writes its first files.
            let is_new_folder = has_columns && location.ends_with('/');
            if !path.exists() && !is_new_folder {
                return Err(fault(declaration, &format!("there is no file {location}")));
            }
            file = Some(path).filter(|path| path.is_file() && declaration.locations.len() == 1);
        }
        if let Some(file) = file {
            let input = format!("the file {}", file.display());
            self.add_format(declaration, &file).await.map_err(|error| name_input(&input, error))?;
        }
        Ok(plan)
    }

    /// Adds the format of a file of JSON to the options of its declaration, and its columns if the
    /// declaration has none. Adds the format and the columns of a file of text as
    /// [`Database::add_columns`] does.
    async fn add_format(&self, declaration: &mut CreateExternalTable, file: &Path) -> Result<()> {
        let is_text = match declaration.file_type.as_str() {
            "CSV" => true,
            "JSON" => false,
            _ => return Ok(()),
        };
        let (extension, is_compressed) = extension(file);
        if is_compressed {
            let (table, file) = (&declaration.name, file.display());
            let advice = format!("write `CREATE TABLE {table} AS SELECT * FROM '{file}'`");
            return Err(fault(declaration, &format!("{file} is compressed; {advice}")));
        }
        if is_text {
            return self.add_columns(declaration, file);
        }
        if declaration.schema.fields().is_empty()
            && declaration.options.is_empty()
            && declaration.table_partition_cols.is_empty()
        {
            let name = declaration.name.to_string();
            let table = self.table_of_file(&name, file, Some(RowReader::Json), &ColumnTypes::new()).await?;
            declaration.schema = Arc::new(DFSchema::try_from(table.schema())?);
        }
        let format = RowReader::Json.format(extension, file).map_err(|e| io_error(file, e))?;
        let has_lines = format == RowFormat::Json { array: false };
        declaration.options.entry("format.newline_delimited".to_owned()).or_insert(has_lines.to_string());
        Ok(())
    }

    /// Adds the format and the columns of a file of text, if the declaration has no columns,
    /// partitions and order, and no options except [`TEXT_OPTIONS`]. In every declaration, the
    /// delimiter `\t` becomes a tab.
    fn add_columns(&self, declaration: &mut CreateExternalTable, file: &Path) -> Result<()> {
        if let Some(delimiter) = declaration.options.get_mut("format.delimiter").filter(|text| text.as_str() == r"\t") {
            "\t".clone_into(delimiter);
        }
        let options = &declaration.options;
        if !declaration.schema.fields().is_empty()
            || !declaration.table_partition_cols.is_empty()
            || !declaration.order_exprs.is_empty()
            || options.keys().any(|key| !TEXT_OPTIONS.contains(&key.as_str()))
        {
            return Ok(());
        }
        let byte = |key: &str| match options.get(key).map(String::as_bytes) {
            Some([byte]) => Some(*byte),
            _ => None,
        };
        let header = options.get("format.has_header").and_then(|text| text.parse().ok());
        // The session's setting `has_header` is true by default, even for a file whose first line
        // has values. So only `false` counts as the choice of the user.
        let without_header = (!self.context().state().config_options().catalog.has_header).then_some(false);
        let reader = RowReader::Text {
            delimiter: byte("format.delimiter"),
            header: header.or(without_header),
            comment: byte("format.comment"),
        };
        let format = reader.format(extension(file).0, file).map_err(|e| io_error(file, e))?;
        let RowFormat::Text(text) = format else { return Ok(()) };
        let columns = columns_of_text(text, &[file])?;
        if columns.fields().is_empty() {
            return Err(fault(declaration, &format!("{} has no columns; is it empty?", file.display())));
        }
        declaration.schema = Arc::new(DFSchema::try_from(columns)?);
        let values = [
            Some(char::from(text.delimiter).to_string()),
            Some(text.header.to_string()),
            text.comment.map(|comment| char::from(comment).to_string()),
            Some(text.has_line_breaks(&[file])?.to_string()),
        ];
        for (key, value) in TEXT_OPTIONS.into_iter().zip(values) {
            if let Some(value) = value {
                declaration.options.entry(key.to_owned()).or_insert(value);
            }
        }
        Ok(())
    }
}

/// Returns the error for a mistake in a declaration.
fn fault(declaration: &CreateExternalTable, message: &str) -> DataFusionError {
    DataFusionError::Plan(format!("table `{}`: {message}", declaration.name))
}

/// Returns the files that a plan declares as a table, as text for messages.
pub(crate) fn declared_input(plan: &LogicalPlan) -> Option<String> {
    match plan {
        LogicalPlan::Ddl(DdlStatement::CreateExternalTable(declaration)) => {
            Some(format!("the file {}", declaration.locations.join(", ")))
        }
        _ => None,
    }
}
