//! CSV files that are compressed, as tables in memory: DataFusion reads none of those without features of its own.

use crate::error::{Error, Result};
use datafusion::arrow::csv::ReaderBuilder;
use datafusion::arrow::csv::reader::Format;
use datafusion::datasource::MemTable;
use redpoll_datasets::Compression;
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;

/// The rows of a file whose first line has the names of columns; types are those that all its values have.
///
/// # Errors
/// When the file cannot be read or is damaged, or a line has more or fewer values than the first.
pub(crate) fn read(path: &Path) -> Result<MemTable> {
    let text = text(path).map_err(|source| redpoll_datasets::Error::Io { path: path.into(), source })?;
    let fault = |e: datafusion::arrow::error::ArrowError| Error::Declaration {
        table: path.display().to_string(),
        what: e.to_string(),
    };
    let (schema, _) = Format::default().with_header(true).infer_schema(Cursor::new(&text), None).map_err(fault)?;
    let schema = Arc::new(schema);
    let reader = ReaderBuilder::new(schema.clone()).with_header(true).build(Cursor::new(&text)).map_err(fault)?;
    let batches = reader.collect::<Result<Vec<_>, _>>().map_err(fault)?;
    let table = MemTable::try_new(schema, vec![batches]);
    table.map_err(|e| Error::Declaration { table: path.display().to_string(), what: e.to_string() })
}

/// The text of a file, whose compression its first bytes tell.
fn text(path: &Path) -> std::io::Result<Vec<u8>> {
    let bytes = std::fs::read(path)?;
    let mut text = Vec::new();
    Compression::of_content(&bytes).decoder(&bytes[..])?.read_to_end(&mut text)?;
    Ok(text)
}
