//! Tables that a database reads: record batches of frames, and tensors.

use super::errors::exception;
use crate::arrow::read_batches;
use pyo3::prelude::*;
use redpoll::sql::datafusion::arrow::array::{ArrayData, ArrayRef, make_array};
use redpoll::sql::datafusion::arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use redpoll::sql::datafusion::arrow::datatypes::{Schema, SchemaRef};
use redpoll::sql::datafusion::arrow::error::ArrowError;
use redpoll::sql::datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use redpoll::sql::datafusion::catalog::TableProvider;
use redpoll::sql::datafusion::datasource::MemTable;
use redpoll::sql::datafusion::error::DataFusionError;
use std::sync::Arc;

/// A table that statements read.
#[pyclass(frozen, module = "redpoll._core._sql")]
pub(crate) struct Table(pub(super) Arc<dyn TableProvider>);

#[pymethods]
impl Table {
    /// Makes a table from an object with `__arrow_c_stream__`. `copy` copies the columns of a frame
    /// that can be changed in place: the database recognizes the rows of an earlier query by their
    /// addresses, and would not notice the change.
    #[new]
    fn new(py: Python<'_>, frame: &Bound<'_, PyAny>, copy: bool) -> PyResult<Table> {
        let (schema, batches) = read_batches(frame)?;
        let table = py.detach(|| memory_table(&schema, batches, copy));
        table.map(|table| Table(Arc::new(table))).map_err(|error| exception(py, &error))
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }
}

/// Returns a table of record batches. The metadata of the schema, such as the index of pandas, is
/// dropped, because it does not describe the results of queries.
fn memory_table(schema: &SchemaRef, batches: Vec<RecordBatch>, copy: bool) -> Result<MemTable, DataFusionError> {
    let schema = Arc::new(Schema::new(schema.fields().clone()));
    let batches = batches.into_iter().map(|batch| {
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = match copy {
            true => batch.columns().iter().map(copied).collect::<Result<Vec<_>, _>>()?,
            false => batch.columns().to_vec(),
        };
        RecordBatch::try_new_with_options(schema.clone(), columns, &options)
    });
    let batches = batches.collect::<Result<Vec<_>, ArrowError>>()?;
    MemTable::try_new(schema, vec![batches])
}

/// Returns a column in new memory.
fn copied(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    copied_data(&column.to_data()).map(make_array)
}

fn copied_data(data: &ArrayData) -> Result<ArrayData, ArrowError> {
    let buffer = |buffer: &Buffer| Buffer::from(buffer.as_slice());
    let nulls = data.nulls().map(|nulls| {
        let bits = nulls.inner();
        NullBuffer::new(BooleanBuffer::new(buffer(bits.inner()), bits.offset(), bits.len()))
    });
    let children = data.child_data().iter().map(copied_data).collect::<Result<Vec<_>, _>>()?;
    let buffers = data.buffers().iter().map(buffer).collect();
    data.clone().into_builder().nulls(nulls).buffers(buffers).child_data(children).build()
}
