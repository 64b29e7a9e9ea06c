//! The columns of files of delimited text, and the line breaks of their values.
//!
//! To infer types, DataFusion cuts a file into parts at line breaks, including some line breaks
//! within quotes. A column of numbers next to a column with such line breaks then becomes a column
//! of texts. So redpoll infers types from the first rows of the whole file.
//!
//! Arrow infers numbers from codes with leading zeros, such as postal codes, and the zeros are
//! lost. It gives a column without values a type that has no values, so that later values are lost.
//! Here, such columns are columns of texts.

use crate::open_quotes::{Quoting, has_line_breaks};
use crate::row_format::TextFormat;
use crate::unique_name::unique_name;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::csv::ReaderBuilder;
use datafusion::arrow::csv::reader::Format;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::error::ArrowError;
use datafusion::error::{DataFusionError, Result};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// The number of rows from which types are inferred, as in DuckDB.
const MAX_ROWS: usize = 20_480;

/// Names of columns with the types that a statement gives them.
pub(crate) type ColumnTypes = Vec<(String, DataType)>;

impl TextFormat {
    /// Infers the columns of files from their first rows, [`MAX_ROWS`] in total. Files after these
    /// rows are not read.
    ///
    /// # Errors
    /// If a file cannot be read, rows have different numbers of values, or the columns of two files
    /// have different types.
    pub(crate) fn infer_columns(self, files: &[&Path]) -> Result<Schema> {
        let (mut schemas, mut codes, mut rows) = (Vec::new(), BTreeSet::new(), MAX_ROWS);
        for file in files {
            let open = || File::open(file).map_err(|e| DataFusionError::from(crate::files::io_error(file, e)));
            let (schema, read) = self.infer_numbers(BufReader::new(open()?), rows)?;
            codes.extend(self.codes(&schema, BufReader::new(open()?), rows)?);
            schemas.push(schema);
            rows -= read;
            if rows == 0 {
                break;
            }
        }
        let merged = Schema::try_merge(schemas.iter().map(|schema| with_texts(schema, &codes)))?;
        Ok(with_texts(&merged, &columns_without_values(&merged)))
    }

    /// Infers the columns of a text from its first rows.
    ///
    /// # Errors
    /// If rows have different numbers of values.
    pub(crate) fn infer_columns_of_text(self, text: &[u8]) -> Result<Schema, ArrowError> {
        let (schema, _) = self.infer_numbers(text, MAX_ROWS)?;
        let mut texts = self.codes(&schema, text, MAX_ROWS)?;
        texts.extend(columns_without_values(&schema));
        Ok(with_texts(&schema, &texts))
    }

    /// Infers the columns of a text from its first rows; codes with leading zeros count as numbers.
    /// Also returns the number of rows that were read.
    fn infer_numbers(self, text: impl Read, rows: usize) -> Result<(Schema, usize), ArrowError> {
        let (schema, read) = self.arrow_format().infer_schema(text, Some(rows))?;
        let names = unique_names(schema.fields().iter().map(|field| field.name().as_str()));
        let fields = schema.fields().iter().zip(names).map(|(field, name)| field.as_ref().clone().with_name(name));
        Ok((Schema::new(fields.collect::<Vec<_>>()), read))
    }

    /// Returns the names of the columns of numbers that have a code with a leading zero in the
    /// first rows.
    fn codes(self, schema: &Schema, text: impl Read, rows: usize) -> Result<BTreeSet<String>, ArrowError> {
        let fields = schema.fields().iter().enumerate();
        let numbers: Vec<usize> =
            fields.filter(|(_, field)| field.data_type().is_numeric()).map(|(index, _)| index).collect();
        let mut codes = BTreeSet::new();
        if numbers.is_empty() {
            return Ok(codes);
        }
        let texts = schema.fields().iter().map(|field| Field::new(field.name(), DataType::Utf8, true));
        let reader = ReaderBuilder::new(Arc::new(Schema::new(texts.collect::<Vec<_>>())))
            .with_format(self.arrow_format())
            .with_bounds(0, rows)
            .with_projection(numbers)
            .build(text)?;
        for batch in reader {
            let batch = batch?;
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                if column.as_string::<i32>().iter().flatten().any(is_code) {
                    codes.insert(field.name().clone());
                }
            }
        }
        Ok(codes)
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

/// Returns whether a number is a code: it begins with a zero and another digit.
fn is_code(number: &str) -> bool {
    matches!(number.as_bytes(), [b'0', second, ..] if second.is_ascii_digit())
}

/// Returns the names of the columns that have no values in the first rows.
fn columns_without_values(schema: &Schema) -> BTreeSet<String> {
    let fields = schema.fields().iter().filter(|field| *field.data_type() == DataType::Null);
    fields.map(|field| field.name().clone()).collect()
}

/// Returns the schema with the type of texts for the given columns.
fn with_texts(schema: &Schema, columns: &BTreeSet<String>) -> Schema {
    let fields = schema.fields().iter().map(|field| match columns.contains(field.name()) {
        true => field.as_ref().clone().with_data_type(DataType::Utf8),
        false => field.as_ref().clone(),
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// Returns the schema with the given types of columns.
///
/// # Errors
/// If the schema has no column of a given name.
pub(crate) fn with_types(schema: &Schema, types: &ColumnTypes) -> Result<Schema, String> {
    let mut fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
    for (column, dtype) in types {
        let Some(field) = fields.iter_mut().find(|field| field.name() == column) else {
            let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            return Err(format!("`types` names the column `{column}`; the columns are {}", names.join(", ")));
        };
        field.set_data_type(dtype.clone());
    }
    Ok(Schema::new(fields))
}

/// Returns the names, with a number appended to each name that has occurred before.
fn unique_names<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Vec<String> {
    let mut taken: BTreeSet<String> = names.clone().map(str::to_owned).collect();
    let mut seen = BTreeSet::new();
    let unique = |name: &'n str| if seen.insert(name) { name.to_owned() } else { unique_name(name, &mut taken) };
    names.map(unique).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repeated name gets a number such that the result is no name of another column.
    #[test]
    fn repeated_names_are_numbered() {
        let names = ["a", "a", "b", "a_1", "a"];
        assert_eq!(unique_names(names.into_iter()), ["a", "a_2", "b", "a_1", "a_3"]);
    }
}
