//! Printing of rows in small groups, so that Ctrl-C takes effect between them.

use super::super::failure::CommandFailure;
use crate::sql::datafusion::arrow::error::ArrowError;
use crate::sql::datafusion::arrow::record_batch::RecordBatch;
use crate::sql::datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use crate::sql::datafusion::arrow::{csv, json};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use unicode_width::UnicodeWidthStr;

/// Format of printed rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub(super) enum OutputMode {
    /// A table with borders.
    #[default]
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

/// The style of printed rows.
#[derive(Clone, Debug)]
pub(super) struct RowStyle {
    /// The format.
    pub(super) mode: OutputMode,
    /// The text of NULL in tables.
    pub(super) null: String,
    /// The maximum number of printed rows of a table: half of them, rounded up, are the first rows,
    /// the others the last rows. `None` means no limit.
    pub(super) max_rows: Option<usize>,
}

impl RowStyle {
    /// The largest number of rows of a table that are printed to a terminal by default.
    const TERMINAL_ROWS: usize = 40;

    /// Returns the default style of a mode, which limits the rows if standard output is a terminal.
    pub(super) fn new(mode: OutputMode) -> RowStyle {
        let max_rows = std::io::stdout().is_terminal().then_some(RowStyle::TERMINAL_ROWS);
        RowStyle { mode, null: "NULL".to_owned(), max_rows }
    }

    /// Returns the number of printed rows of a table with `rows` rows, or `None` if all are
    /// printed.
    pub(super) fn cut_to(&self, rows: usize) -> Option<usize> {
        self.max_rows.filter(|max| self.mode == OutputMode::Table && rows > *max)
    }
}

/// Number of rows that are formatted between checks for Ctrl-C.
const ROWS_PER_CHECK: usize = 256;

/// Prints the rows of batches, which have one schema. Fails as cancelled once `stop` is set.
pub(super) fn print(
    style: &RowStyle,
    batches: &[RecordBatch],
    stop: &AtomicBool,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let parts = |batches: Vec<RecordBatch>| {
        let parts = batches.into_iter().flat_map(|batch| {
            let rows = batch.num_rows();
            // An empty batch gives one part without rows, so that its header is printed.
            let starts = (0..rows.max(1)).step_by(ROWS_PER_CHECK);
            starts.map(move |start| batch.slice(start, ROWS_PER_CHECK.min(rows - start)))
        });
        parts.map(|part| match stop.load(Ordering::Relaxed) {
            true => Err(CommandFailure::Error { error: "cancelled".into(), hint: None }),
            false => Ok(part),
        })
    };
    match style.mode {
        OutputMode::Table => {
            let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
            let Some(shown) = style.cut_to(rows) else {
                return table([parts(batches.to_vec())], batches, &style.null, stop, out);
            };
            let (head, tail) = (shown.div_ceil(2), shown / 2);
            let (first, last) = (rows_of(batches, 0, head), rows_of(batches, rows - tail, tail));
            table([parts(first), parts(last)], batches, &style.null, stop, out)?;
            writeln!(out, "{rows} rows, {shown} of them printed; `.maxrows 0` or `--max-rows 0` prints all")?;
        }
        OutputMode::Csv => {
            let mut writer = csv::WriterBuilder::new().with_header(true).build(out);
            for part in parts(batches.to_vec()) {
                writer.write(&part?).map_err(failure)?;
            }
        }
        OutputMode::Json => {
            let builder = json::WriterBuilder::new().with_explicit_nulls(true);
            let mut writer = builder.build::<_, json::writer::LineDelimited>(out);
            for part in parts(batches.to_vec()) {
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

/// Returns `count` rows of the batches, beginning with row `start`.
fn rows_of(batches: &[RecordBatch], start: usize, count: usize) -> Vec<RecordBatch> {
    let (mut skipped, mut missing) = (start, count);
    let mut found = Vec::new();
    for batch in batches {
        let offset = skipped.min(batch.num_rows());
        let length = missing.min(batch.num_rows() - offset);
        skipped -= offset;
        missing -= length;
        found.extend((length > 0).then(|| batch.slice(offset, length)));
    }
    found
}

/// Prints a table with borders, with columns as wide as their widest name or value, and a row of
/// dots between two groups of rows. Prints nothing if there are no batches.
fn table<const GROUPS: usize>(
    groups: [impl Iterator<Item = Result<RecordBatch, CommandFailure>>; GROUPS],
    batches: &[RecordBatch],
    null: &str,
    stop: &AtomicBool,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let Some(first) = batches.first() else { return Ok(()) };
    let header: Vec<String> = first.schema().fields().iter().map(|field| field.name().clone()).collect();
    let width = |text: &str| text.split('\n').map(UnicodeWidthStr::width).max().unwrap_or(0);
    let mut widths: Vec<usize> = header.iter().map(|name| width(name)).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let options = FormatOptions::default().with_null(null);
    for (k, parts) in groups.into_iter().enumerate() {
        if k > 0 {
            rows.push(vec!["..".to_owned(); header.len()]);
        }
        for part in parts {
            let part = part?;
            let columns = part.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
            let columns = columns.collect::<Result<Vec<_>, _>>().map_err(failure)?;
            for row in 0..part.num_rows() {
                rows.push(columns.iter().map(|column| column.value(row).to_string()).collect());
            }
        }
    }
    for cells in &rows {
        widths.iter_mut().zip(cells).for_each(|(max, cell): (&mut usize, &String)| *max = width(cell).max(*max));
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
    use crate::sql::datafusion::arrow::util::pretty::pretty_format_batches_with_options;
    use std::sync::Arc;

    fn batch(texts: Vec<Option<&str>>) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Float64Array::from_iter_values((0..texts.len()).map(|k| k as f64 / 4.0)));
        let texts: ArrayRef = Arc::new(StringArray::from(texts));
        RecordBatch::try_from_iter_with_nullable([("größe", numbers, false), ("text", texts, true)]).unwrap()
    }

    fn style(mode: OutputMode, max_rows: Option<usize>) -> RowStyle {
        RowStyle { mode, null: "NULL".to_owned(), max_rows }
    }

    /// Asserts that tables look like the tables that Arrow prints.
    #[test]
    fn tables_equal_those_of_arrow() {
        let many: Vec<Option<&str>> = (0..1000).map(|k| Some(if k % 7 == 0 { "表" } else { "a" })).collect();
        for batches in [
            vec![batch(vec![Some("a"), None, Some(""), Some("two\nlines"), Some("größer"), Some("表格")])],
            vec![batch(Vec::new())],
            vec![batch(vec![Some("x")]), batch(many)],
        ] {
            let options = FormatOptions::default().with_null("NULL");
            let expected = pretty_format_batches_with_options(&batches, &options).unwrap();
            for max_rows in [None, Some(batches.iter().map(RecordBatch::num_rows).sum())] {
                let mut out = Vec::new();
                print(&style(OutputMode::Table, max_rows), &batches, &AtomicBool::new(false), &mut out).ok().unwrap();
                assert_eq!(String::from_utf8(out).unwrap(), format!("{expected}\n"));
            }
        }
    }

    /// Asserts that the first and last rows of a long table are printed, also across batches.
    #[test]
    fn long_tables_are_cut_in_the_middle() {
        let texts = |texts: std::ops::Range<usize>| {
            let column: ArrayRef = Arc::new(StringArray::from_iter_values(texts.map(|k| format!("r{k}"))));
            RecordBatch::try_from_iter([("a", column)]).unwrap()
        };
        let batches = [texts(0..2), texts(2..2), texts(2..9), texts(9..10)];
        for (max_rows, expected) in [
            (5, "r0 r1 r2 .. r8 r9 | 10 rows, 5 of them printed"),
            (4, "r0 r1 .. r8 r9 | 10 rows, 4 of them printed"),
            (1, "r0 .. | 10 rows, 1 of them printed"),
            (10, "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 | "),
        ] {
            let mut out = Vec::new();
            print(&style(OutputMode::Table, Some(max_rows)), &batches, &AtomicBool::new(false), &mut out).ok().unwrap();
            let text = String::from_utf8(out).unwrap();
            let cells: Vec<&str> = text
                .lines()
                .skip(3)
                .filter_map(|line| line.strip_prefix("| "))
                .map(|l| l.trim_end_matches([' ', '|']))
                .collect();
            let note = text.lines().find_map(|line| line.split_once(';')).map_or("", |(note, _)| note);
            assert_eq!(format!("{} | {note}", cells.join(" ")), expected);
        }
    }

    /// Asserts that printing fails without output if the flag is set from the start.
    #[test]
    fn output_stops_when_the_flag_is_set() {
        let rows = [batch(vec![Some("a"); 1000])];
        for mode in [OutputMode::Table, OutputMode::Csv, OutputMode::Json] {
            let mut out = Vec::new();
            assert!(print(&style(mode, None), &rows, &AtomicBool::new(true), &mut out).is_err());
            assert!(out.is_empty(), "{mode:?}");
        }
    }
}
