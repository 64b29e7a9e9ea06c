//! Lines of the errors of scans of JSON, found in a second reading.

use crate::error::{Error, line_prefix};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::ReaderBuilder;
use datafusion::arrow::json::reader::Decoder;
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use serde::de::IgnoredAny;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

/// Number of lines that are decoded at once.
const BLOCK_LINES: usize = 1024;

/// The start of a part of Arrow's messages, which is followed by the name of a key.
const IN_FIELD: &str = "whilst decoding field '";

/// Returns the error of a reader of JSON. `cause` is Arrow's message.
pub(crate) fn json_error(input: &str, line: Option<u64>, cause: &str) -> Error {
    let input = input.to_owned();
    let (mut column, mut rest) = (String::new(), cause);
    while let Some((key, after)) = rest.strip_prefix(IN_FIELD).and_then(|rest| rest.split_once("': ")) {
        column = if column.is_empty() { key.to_owned() } else { format!("{column}.{key}") };
        rest = after;
    }
    match column.is_empty() {
        true => Error::Damaged { input, cause: format!("{}{cause}", line_prefix(line)) },
        false => Error::JsonValue { input, line, column, cause: in_plain_words(rest) },
    }
}

/// Returns Arrow's message on a value in the words of JSON.
fn in_plain_words(cause: &str) -> String {
    let Some((kind, found)) = cause.strip_prefix("expected ").and_then(|rest| rest.split_once(" got ")) else {
        return cause.to_owned();
    };
    let kind = match kind {
        "{" => "an object",
        "[" => "an array",
        "primitive" => "a single value",
        "string" => "a text",
        kind => kind,
    };
    format!("expected {kind}, found {found}")
}

/// The local files of JSON that a scan reads.
#[derive(Debug)]
pub(crate) struct JsonFiles {
    paths: BTreeSet<PathBuf>,
    /// The columns that the scan reads.
    schema: SchemaRef,
}

impl JsonFiles {
    /// Returns the files of a scan with the given columns; `None` if the scan reads no local files
    /// of JSON.
    pub(crate) fn of(config: &FileScanConfig, columns: &Schema) -> Option<JsonFiles> {
        let is_local = config.object_store_url.as_str().starts_with("file:");
        if !is_local || config.file_source().file_type() != "json" {
            return None;
        }
        let files = config.file_groups.iter().flat_map(FileGroup::files);
        let paths = files.map(|file| PathBuf::from(format!("/{}", file.object_meta.location))).collect();
        // A column that the scan computes from others may have a name of its own; then all columns
        // of the files are read.
        let file_schema = config.file_schema();
        let is_read = |name: &str| columns.field_with_name(name).is_ok();
        let has_all = columns.fields().iter().all(|field| file_schema.field_with_name(field.name()).is_ok());
        let schema = match has_all && !columns.fields().is_empty() {
            true => Arc::new(Schema::new(
                file_schema.fields().iter().filter(|field| is_read(field.name())).cloned().collect::<Vec<_>>(),
            )),
            false => file_schema.clone(),
        };
        Some(JsonFiles { paths, schema })
    }

    /// Returns the error with the file and the line of the first fault; `None` if no fault is
    /// found.
    fn fault(&self, cause: &str) -> Option<Error> {
        self.paths.iter().find_map(|path| {
            let input = format!("the file {}", path.display());
            let mut text = BufReader::new(File::open(path).ok()?);
            let is_array = text.fill_buf().ok()?.trim_ascii_start().first() == Some(&b'[');
            if is_array {
                let parsed: Result<IgnoredAny, _> = serde_json::from_reader(text);
                return Some(json_error(&input, Some(parsed.err()?.line() as u64), cause));
            }
            let (line, cause) = fault_of_text(text, &self.schema).ok()??;
            Some(json_error(&input, Some(line), &cause))
        })
    }
}

/// Returns the rows of a scan, with the file and the line in errors of the reader of JSON.
pub(crate) fn placed_rows(rows: SendableRecordBatchStream, files: Arc<JsonFiles>) -> SendableRecordBatchStream {
    let schema = rows.schema();
    let placed = rows.then(move |batch| {
        let files = files.clone();
        async move {
            match batch {
                Err(DataFusionError::ArrowError(error, trace)) => match *error {
                    ArrowError::JsonError(cause) => {
                        let text = cause.clone();
                        let fault = SpawnedTask::spawn_blocking(move || files.fault(&text)).await;
                        Err(match fault {
                            Ok(Some(fault)) => fault.into(),
                            _ => DataFusionError::ArrowError(Box::new(ArrowError::JsonError(cause)), trace),
                        })
                    }
                    error => Err(DataFusionError::ArrowError(Box::new(error), trace)),
                },
                batch => batch,
            }
        }
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, placed))
}

/// The lines of a record.
struct RecordLines {
    /// The number of the first line, counted from 1.
    first: u64,
    text: Vec<u8>,
}

/// Returns the line in which the first record begins that cannot be decoded, and Arrow's message.
///
/// # Errors
/// If the text cannot be read, or has columns that no reader supports.
pub(super) fn fault_of_text(mut text: impl BufRead, schema: &SchemaRef) -> io::Result<Option<(u64, String)>> {
    let message = |error: ArrowError| match error {
        ArrowError::JsonError(cause) => cause,
        error => error.to_string(),
    };
    let decoder =
        || ReaderBuilder::new(schema.clone()).with_batch_size(BLOCK_LINES).build_decoder().map_err(io::Error::other);
    let mut number = 0;
    loop {
        let (mut block, mut records) = (decoder()?, Vec::<RecordLines>::new());
        let (mut is_at_end, mut has_fault) = (false, false);
        while !is_at_end && (records.len() < BLOCK_LINES || block.has_partial_record()) {
            let mut line = Vec::new();
            is_at_end = text.read_until(b'\n', &mut line)? == 0;
            number += 1;
            match records.last_mut().filter(|_| block.has_partial_record()) {
                Some(record) => record.text.extend_from_slice(&line),
                None => records.push(RecordLines { first: number, text: line.clone() }),
            }
            // The fault of a record is found below, where each record is decoded on its own.
            if decode(&mut block, &line).is_err() {
                has_fault = true;
                break;
            }
        }
        has_fault |= block.flush().is_err();
        for record in records.into_iter().filter(|_| has_fault) {
            let mut single = decoder()?;
            let decoded = decode(&mut single, &record.text).and_then(|()| single.flush().map(drop));
            if let Err(error) = decoded {
                return Ok(Some((record.first, message(error))));
            }
        }
        if is_at_end {
            return Ok(None);
        }
    }
}

/// Decodes a whole text.
fn decode(decoder: &mut Decoder, mut text: &[u8]) -> Result<(), ArrowError> {
    while !text.is_empty() {
        let read = decoder.decode(text)?;
        text = &text[read..];
        if !text.is_empty() {
            decoder.flush()?;
        }
    }
    Ok(())
}
