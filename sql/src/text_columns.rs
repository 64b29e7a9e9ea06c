//! The columns of files of delimited text, and the line breaks of their values.
//!
//! DataFusion infers types from parts of a file, which it cuts at line breaks, also at some of
//! those within quotes. Then a column of numbers beside a column of such values is a column of
//! texts.

use crate::open_quotes::{Quoting, has_line_breaks};
use crate::row_format::TextFormat;
use datafusion::arrow::csv::reader::Format;
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::error::ArrowError;
use datafusion::error::{DataFusionError, Result};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// The number of rows from which types are inferred, as in DuckDB.
const MAX_ROWS: usize = 20_480;

impl TextFormat {
    /// Infers the columns of files from their first rows.
    ///
    /// # Errors
    /// If a file cannot be read, rows have different numbers of values, or the columns of two files
    /// have different types.
    pub(crate) fn infer_columns(self, files: &[&Path]) -> Result<Schema> {
        let format = self.arrow_format();
        let (mut schemas, mut rows) = (Vec::new(), MAX_ROWS);
        for file in files {
            let io_error = |e| DataFusionError::from(crate::files::io_error(file, e));
            let reader = BufReader::new(File::open(file).map_err(io_error)?);
            let (schema, read) = format.infer_schema(reader, Some(rows))?;
            schemas.push(schema);
            rows -= read;
            if rows == 0 {
                break;
            }
        }
        Ok(Schema::try_merge(schemas)?)
    }

    /// Infers the columns of a text from its first rows.
    ///
    /// # Errors
    /// If rows have different numbers of values.
    pub(crate) fn infer_columns_of_text(self, text: &[u8]) -> Result<Schema, ArrowError> {
        Ok(self.arrow_format().infer_schema(text, Some(MAX_ROWS))?.0)
    }

    /// Returns Arrow's description of the format.
    pub(crate) fn arrow_format(self) -> Format {
        let format = Format::default().with_header(self.header).with_delimiter(self.delimiter);
        match self.comment {
            Some(comment) => format.with_comment(comment),
            None => format,
        }
    }

    /// Returns whether a value at the start of one of the files contains a line break.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(crate) fn has_line_breaks(self, files: &[&Path]) -> Result<bool> {
        for file in files {
            let found = has_line_breaks(file, Quoting::new(self.delimiter, self.comment));
            if found.map_err(|e| crate::files::io_error(file, e))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
