//! `COPY (query) TO 'x.mtx'`: rows of coordinates and a value, written as a tensor.

use super::factory::{TensorFactory, declared_format};
use crate::error::Error;
use async_trait::async_trait;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::Session;
use datafusion::common::GetExt;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::sink::DataSink;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::dml::CopyTo;
use datafusion::physical_plan::common::collect;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use redpoll_datasets::{WriteOptions, file_formats, write};
use redpoll_logic::plural;
use redpoll_storage::{Import, Tensor};
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The registration of a file extension with DataFusion; [`TensorSink`] writes the files.
#[derive(Debug)]
pub(crate) struct TensorFileFactory(pub(crate) &'static str);

impl GetExt for TensorFileFactory {
    fn get_ext(&self) -> String {
        self.0.to_lowercase()
    }
}

impl FileFormatFactory for TensorFileFactory {
    fn create(&self, _: &dyn Session, _: &HashMap<String, String>) -> Result<Arc<dyn FileFormat>> {
        let file_type = self.0;
        Err(DataFusionError::Plan(format!(
            "a {file_type} file contains one tensor; read it with `CREATE EXTERNAL TABLE .. STORED AS {file_type}`"
        )))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        // DataFusion would read listed files with this format, but `create` refuses such files.
        Arc::new(CsvFormat::default())
    }
}

/// A sink that writes all rows as one tensor.
#[derive(Debug)]
pub(crate) struct TensorSink {
    path: PathBuf,
    /// The format of the file; `None` if its extension determines the format.
    file_format: Option<&'static file_formats::FileFormat>,
    schema: SchemaRef,
    shape: Option<Vec<u64>>,
}

impl TensorSink {
    /// Returns the sink of a `COPY` statement, or `None` if the statement writes no tensor.
    ///
    /// # Errors
    /// If an option is unknown or malformed.
    pub(crate) fn of(copy: &CopyTo) -> Result<Option<TensorSink>> {
        let extension = copy.file_type.get_ext().to_uppercase();
        if !TensorFactory::FILE_TYPES.contains(&extension.as_str()) {
            return Ok(None);
        }
        let mut shape = None;
        for (key, value) in &copy.options {
            match key.strip_prefix("format.").unwrap_or(key) {
                "shape" => {
                    let sizes = value.split(',').map(|n| n.trim().parse::<u64>()).collect::<Result<Vec<_>, _>>();
                    shape = Some(sizes.map_err(|e| DataFusionError::Plan(format!("option `shape` '{value}': {e}")))?);
                }
                key => {
                    return Err(DataFusionError::Plan(format!("unknown option `{key}`; the only option is `shape`")));
                }
            }
        }
        let path = copy.output_url.strip_prefix("file://").unwrap_or(&copy.output_url);
        let file_format = declared_format(&extension, path);
        let schema = Arc::clone(copy.input.schema().inner());
        Ok(Some(TensorSink { path: path.into(), file_format, schema, shape }))
    }

    fn write(&self, rows: &RecordBatch) -> Result<u64, Error> {
        let tensor = tensor_of_rows(rows, self.shape.clone())?;
        write(&self.path, &tensor, &WriteOptions { file_format: self.file_format, ..WriteOptions::default() })?;
        Ok(rows.num_rows() as u64)
    }
}

/// Returns the tensor whose entries are the rows: the last column has the values, the other columns
/// have coordinates.
///
/// # Errors
/// If there are no columns, `shape` has another number of modes, a coordinate is NULL, negative, no
/// integer or outside of `shape`, or coordinates repeat. Also if the values contain a NULL or have
/// a type that tensors cannot store.
pub(crate) fn tensor_of_rows(rows: &RecordBatch, shape: Option<Vec<u64>>) -> Result<Tensor, Error> {
    let names: Vec<&str> = rows.schema_ref().fields().iter().map(|f| f.name().as_str()).collect();
    let Some((value, coordinates)) = names.split_last() else {
        return Err(Error::Declaration {
            table: "result".into(),
            message: "the rows have no columns; expected coordinates and a value".into(),
        });
    };
    match Tensor::from_record_batch(rows, Import { shape, ..Import::new(coordinates, Some(value)) }) {
        Ok((tensor, _)) => Ok(tensor),
        Err(redpoll_storage::Error::DuplicateCoordinates { coordinates: first, count }) => {
            let (keys, repeat) = (coordinates.join(", "), plural(count as u64, "row repeats", "rows repeat"));
            Err(Error::Declaration {
                table: "result".into(),
                message: format!(
                    "{count} {repeat} the coordinates ({keys}) of an earlier row, the first at {first:?}; add their \
                     values up: `SELECT {keys}, sum({value}) .. GROUP BY {keys}`"
                ),
            })
        }
        Err(error) => Err(error.into()),
    }
}

impl DisplayAs for TensorSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TensorSink({})", self.path.display())
    }
}

#[async_trait]
impl DataSink for TensorSink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(&self, data: SendableRecordBatchStream, _: &Arc<TaskContext>) -> Result<u64> {
        let batches = collect(data).await?;
        Ok(self.write(&concat_batches(&self.schema, &batches)?)?)
    }
}
