//! Tables of compressed text, read into memory, because DataFusion reads compressed text only with
//! additional features.

use crate::error::{Error, Result};
use crate::json;
use crate::open_quotes::{Quoting, check_text};
use crate::row_format::{RowFormat, TextFormat};
use crate::text_columns::{ColumnTypes, with_types};
use crate::value_errors::name_value;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv::ReaderBuilder;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::datasource::MemTable;
use redpoll_datasets::{Memory, unpack};
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

/// Reads the rows of a file of compressed text or JSON. `types` has the types of some columns of
/// delimited text; the types of its other columns are inferred as for text that is not compressed.
/// The types of JSON columns are inferred from all values.
///
/// # Errors
/// If the file cannot be read, is damaged or exceeds the memory limit, a value cannot be parsed, a
/// quoted value never ends, or a line of text has more or fewer values than the first line. Also if
/// `rows` is neither text nor JSON with one object per line, or `types` names a column that the
/// file does not have.
pub(crate) fn read(path: &Path, rows: RowFormat, types: &ColumnTypes, memory: &Memory) -> Result<MemTable> {
    let text = unpack(path, memory)?;
    let fault = |message: String| Error::Declaration { table: path.display().to_string(), message };
    let (schema, batches) =
        match rows {
            RowFormat::Text(kind) => {
                check_text(path, &text, Quoting::new(kind.delimiter, kind.comment))?;
                let columns = kind.infer_columns_of_text(&text).map_err(|e| fault(e.to_string()))?;
                let typed = with_types(&columns, types).map_err(fault)?;
                delimited(&text, kind, typed).map_err(|e| fault(e.to_string()))?
            }
            RowFormat::Json { array: false } => json::read_lines(&format!("the file {}", path.display()), &text)?,
            _ => return Err(fault(
                "a compressed JSON file must have one object per line; decompress the file, or write it as `.ndjson`"
                    .into(),
            )),
        };
    MemTable::try_new(schema, vec![batches]).map_err(|e| fault(e.to_string()))
}

fn delimited(text: &[u8], kind: TextFormat, schema: Schema) -> Result<(SchemaRef, Vec<RecordBatch>), ArrowError> {
    let schema = Arc::new(schema);
    let reader = ReaderBuilder::new(schema.clone()).with_format(kind.arrow_format()).build(Cursor::new(text))?;
    let batches: Result<Vec<_>, ArrowError> = reader.collect();
    match batches {
        Ok(batches) => Ok((schema, batches)),
        Err(error) => Err(name_value("the decompressed text", &schema, true, error)),
    }
}
