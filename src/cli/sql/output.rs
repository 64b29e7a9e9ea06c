//! How rows are printed.

use super::super::failure::Failure;
use crate::sql::datafusion::arrow::csv;
use crate::sql::datafusion::arrow::error::ArrowError;
use crate::sql::datafusion::arrow::json;
use crate::sql::datafusion::arrow::record_batch::RecordBatch;
use crate::sql::datafusion::arrow::util::pretty::pretty_format_batches;
use std::io::Write;

/// How rows are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum Mode {
    /// A table with borders.
    Table,
    /// Comma-separated values with a header.
    Csv,
    /// One JSON object a line.
    Json,
}

impl Mode {
    /// The mode of that name.
    pub(super) fn of_name(name: &str) -> Option<Mode> {
        <Mode as clap::ValueEnum>::from_str(name, true).ok()
    }
}

/// Prints the rows of batches, which have one schema.
pub(super) fn print(mode: Mode, batches: &[RecordBatch], out: &mut impl Write) -> Result<(), Failure> {
    let failed = |e: ArrowError| match e {
        ArrowError::IoError(_, source) => Failure::from(source),
        e => Failure::Failed { error: e.into(), hint: None },
    };
    match mode {
        Mode::Table => writeln!(out, "{}", pretty_format_batches(batches).map_err(failed)?)?,
        Mode::Csv => {
            let mut writer = csv::WriterBuilder::new().with_header(true).build(out);
            batches.iter().try_for_each(|batch| writer.write(batch)).map_err(failed)?;
        }
        Mode::Json => {
            let mut writer = json::LineDelimitedWriter::new(out);
            writer.write_batches(&batches.iter().collect::<Vec<_>>()).map_err(failed)?;
            writer.finish().map_err(failed)?;
        }
    }
    Ok(())
}
