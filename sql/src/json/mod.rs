//! Columns and errors of files of JSON.
//!
//! DataFusion sorts the columns of JSON by their names. Here, the columns are in the order in which
//! their keys first appear. Messages of Arrow on JSON have no line, or count from the start of the
//! record. Here, a second reading finds the line.

mod faults;
mod keys;

pub(crate) use faults::{JsonFiles, json_error, placed_rows};

use crate::error::{Error, Result};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::ReaderBuilder;
use datafusion::arrow::json::reader::infer_json_schema;
use datafusion::error::DataFusionError;
use keys::KeyOrder;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

/// The number of records from which DataFusion infers the columns.
const MAX_RECORDS: usize = 1000;

/// The form of the records of JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JsonForm {
    /// An object per line.
    Lines,
    /// One array of objects.
    Array,
}

/// Returns the inferred columns of files in the order in which their keys first appear, also within
/// structs. Files that cannot be read have no effect.
pub(crate) fn in_order_of_keys(schema: &Schema, files: &[&Path], form: JsonForm) -> Schema {
    let (mut order, mut records) = (KeyOrder::default(), MAX_RECORDS);
    for file in files {
        let Ok(text) = File::open(file) else { continue };
        // The order of the keys before a fault is complete.
        let _ = order.read(BufReader::new(text), form, &mut records);
        if records == 0 {
            break;
        }
    }
    order.sorted(schema)
}

/// Adds the file and the line to an error of the inference of columns. Other errors are returned
/// unchanged.
pub(crate) fn place_inference(error: DataFusionError, files: &[&Path], form: JsonForm) -> DataFusionError {
    let DataFusionError::ArrowError(cause, _) = &error else { return error };
    let ArrowError::JsonError(_) = cause.as_ref() else { return error };
    let mut records = MAX_RECORDS;
    let placed = files.iter().find_map(|file| {
        let text = BufReader::new(File::open(file).ok()?);
        let fault = KeyOrder::default().read(text, form, &mut records).err()?;
        Some(fault.into_error(&format!("the file {}", file.display())))
    });
    placed.map_or(error, DataFusionError::from)
}

/// Returns the columns and the rows of a text with an object per line. The columns are inferred
/// from all records, and `input` is the text in messages.
///
/// # Errors
/// If a record is damaged, or has a value of another type than earlier records.
pub(crate) fn read_lines(input: &str, text: &[u8]) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let infer = || {
        let (schema, _) = infer_json_schema(text, None)?;
        let (mut order, mut records) = (KeyOrder::default(), usize::MAX);
        let _ = order.read(text, JsonForm::Lines, &mut records);
        Ok(Arc::new(order.sorted(&schema)))
    };
    let schema = infer().map_err(|error: ArrowError| {
        let mut records = usize::MAX;
        match KeyOrder::default().read(text, JsonForm::Lines, &mut records) {
            Err(fault) => fault.into_error(input),
            Ok(()) => reader_error(input, error),
        }
    })?;
    let read = || ReaderBuilder::new(schema.clone()).build(text)?.collect();
    let batches: Result<Vec<RecordBatch>, ArrowError> = read();
    match batches {
        Ok(batches) => Ok((schema, batches)),
        Err(error) => Err(match faults::fault_of_text(text, &schema) {
            Ok(Some((line, cause))) => json_error(input, Some(line), &cause),
            _ => reader_error(input, error),
        }),
    }
}

/// Returns the error of Arrow's reader.
fn reader_error(input: &str, error: ArrowError) -> Error {
    match error {
        ArrowError::JsonError(cause) => json_error(input, None, &cause),
        error => error.into(),
    }
}
