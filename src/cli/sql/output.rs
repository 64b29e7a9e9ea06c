//! Printing of rows in small groups, so that Ctrl-C takes effect between them.

use super::super::failure::CommandFailure;
use crate::sql::datafusion::arrow::error::ArrowError;
use crate::sql::datafusion::arrow::record_batch::RecordBatch;
use crate::sql::datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use crate::sql::datafusion::arrow::{csv, json};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use unicode_width::UnicodeWidthStr;

/// Format of printed rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum OutputMode {
    /// A table with borders.
    Table,
    /// Comma-separated values with a header.
    Csv,
    /// One JSON object per line.
    Json,
}

impl OutputMode {
    /// Returns the mode of the given name.
    pub(super) fn of_name(name: &str) -> Option<OutputMode> {
        <OutputMode as clap::ValueEnum>::from_str(name, true).ok()
    }
}

/// Number of rows that are formatted between checks for Ctrl-C.
const ROWS_PER_CHECK: usize = 256;

/// Prints the rows of batches, which have one schema, until `stop` is set.
pub(super) fn print(
    mode: OutputMode,
    batches: &[RecordBatch],
    stop: &AtomicBool,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let parts = batches.iter().flat_map(|batch| {
        let rows = batch.num_rows();
        // An empty batch gives one part without rows, so that its header is printed.
        let starts = (0..rows.max(1)).step_by(ROWS_PER_CHECK);
        starts.map(move |start| batch.slice(start, ROWS_PER_CHECK.min(rows - start)))
    });
    let parts = parts.map(|part| match stop.load(Ordering::Relaxed) {
        true => Err(CommandFailure::Error { error: "cancelled".into(), hint: None }),
        false => Ok(part),
    });
    match mode {
        OutputMode::Table => return table(parts, batches, stop, out),
        OutputMode::Csv => {
            let mut writer = csv::WriterBuilder::new().with_header(true).build(out);
            for part in parts {
                writer.write(&part?).map_err(failure)?;
            }
        }
        OutputMode::Json => {
            let mut writer = json::LineDelimitedWriter::new(out);
            for part in parts {
                writer.write(&part?).map_err(failure)?;
            }
            writer.finish().map_err(failure)?;
        }
    }
    Ok(())
}

fn failure(error: ArrowError) -> CommandFailure {
    match error {
        ArrowError::IoError(_, source) => CommandFailure::from(source),
        error => CommandFailure::Error { error: error.into(), hint: None },
    }
}

/// Prints a table with borders, with columns as wide as their widest values.
fn table(
    parts: impl Iterator<Item = Result<RecordBatch, CommandFailure>>,
    batches: &[RecordBatch],
    stop: &AtomicBool,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let Some(first) = batches.first() else { return Ok(()) };
    let header: Vec<String> = first.schema().fields().iter().map(|field| field.name().clone()).collect();
    let width = |text: &str| text.split('\n').map(UnicodeWidthStr::width).max().unwrap_or(0);
    let mut widths: Vec<usize> = header.iter().map(|name| width(name)).collect();
    let mut rows = Vec::new();
    let options = FormatOptions::default();
    for part in parts {
        let part = part?;
        let columns = part.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(failure)?;
        for row in 0..part.num_rows() {
            let cells: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
            widths.iter_mut().zip(&cells).for_each(|(max, cell)| *max = width(cell).max(*max));
            rows.push(cells);
        }
    }
    let line: String = widths.iter().map(|width| format!("+{}", "-".repeat(width + 2))).collect();
    writeln!(out, "{line}+")?;
    write_row(&header, &widths, out)?;
    writeln!(out, "{line}+")?;
    for rows in rows.chunks(ROWS_PER_CHECK) {
        if stop.load(Ordering::Relaxed) {
            return Err(CommandFailure::Error { error: "cancelled".into(), hint: None });
        }
        rows.iter().try_for_each(|cells| write_row(cells, &widths, out))?;
    }
    writeln!(out, "{line}+")?;
    Ok(())
}

/// Writes a row of a table, with as many lines as its tallest cell.
fn write_row(cells: &[String], widths: &[usize], out: &mut impl Write) -> std::io::Result<()> {
    let lines = cells.iter().map(|cell| cell.split('\n').count()).max().unwrap_or(1);
    for line in 0..lines {
        for (cell, width) in cells.iter().zip(widths) {
            let part = cell.split('\n').nth(line).unwrap_or("");
            write!(out, "| {part}{} ", " ".repeat(width.saturating_sub(part.width())))?;
        }
        writeln!(out, "|")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::datafusion::arrow::array::{ArrayRef, Float64Array, StringArray};
    use crate::sql::datafusion::arrow::util::pretty::pretty_format_batches;
    use std::sync::Arc;

    fn batch(texts: Vec<Option<&str>>) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Float64Array::from_iter_values((0..texts.len()).map(|k| k as f64 / 4.0)));
        let texts: ArrayRef = Arc::new(StringArray::from(texts));
        RecordBatch::try_from_iter_with_nullable([("größe", numbers, false), ("text", texts, true)]).unwrap()
    }

    /// Asserts that tables look like those of Arrow.
    #[test]
    fn tables_equal_those_of_arrow() {
        let many: Vec<Option<&str>> = (0..1000).map(|k| Some(if k % 7 == 0 { "表" } else { "a" })).collect();
        for batches in [
            vec![batch(vec![Some("a"), None, Some(""), Some("two\nlines"), Some("größer"), Some("表格")])],
            vec![batch(Vec::new())],
            vec![batch(vec![Some("x")]), batch(many)],
        ] {
            let mut out = Vec::new();
            print(OutputMode::Table, &batches, &AtomicBool::new(false), &mut out).ok().unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("{}\n", pretty_format_batches(&batches).unwrap()));
        }
    }

    /// Asserts that output stops when the flag is set.
    #[test]
    fn output_stops_when_the_flag_is_set() {
        let rows = [batch(vec![Some("a"); 1000])];
        for mode in [OutputMode::Table, OutputMode::Csv, OutputMode::Json] {
            let mut out = Vec::new();
            assert!(print(mode, &rows, &AtomicBool::new(true), &mut out).is_err());
            assert!(out.is_empty(), "{mode:?}");
        }
    }
}
