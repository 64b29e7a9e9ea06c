//! Import and export of tables by the PyCapsule interface of Arrow.
//!
//! [`read_table`] reads any object with `__arrow_c_stream__`, such as a frame of pandas, Polars,
//! pyarrow or DuckDB, and [`ArrowTable`] is such an object. [`import_table`] makes a tensor from a
//! table whose columns are coordinates and values, and [`export_table`] makes a table from a
//! tensor. Coordinates that are not integers get [`labels`]; integers get them on request.

pub(crate) mod labels;

use crate::dtype::scalar;
use crate::error::exception;
use crate::operand::class_name;
use crate::tensor::{self, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array as _, ArrayRef, PrimitiveArray, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use labels::{Labels, encode};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use redpoll::logic::Prim;
use redpoll::storage::{self, Duplicates, Import, NullPolicy, dtype_of_arrow};
use std::sync::Arc;

/// The name of a capsule with a stream of record batches.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";
/// The name of a capsule with a schema.
const SCHEMA: &std::ffi::CStr = c"arrow_schema";

/// A table of record batches, which every library with the PyCapsule interface of Arrow reads:
/// `pyarrow.table(t)`, `polars.DataFrame(t)`, `pandas.DataFrame.from_arrow(t)`.
#[pyclass(frozen, module = "redpoll._core")]
pub(crate) struct ArrowTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl ArrowTable {
    /// Returns a table of batches of one schema.
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> ArrowTable {
        ArrowTable { schema, batches }
    }

    /// Returns the batches.
    #[cfg(feature = "sql")]
    pub(crate) fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }
}

#[pymethods]
impl ArrowTable {
    /// Reads the table of an object with `__arrow_c_stream__`.
    #[new]
    fn read(object: &Bound<'_, PyAny>) -> PyResult<ArrowTable> {
        let (schema, batches) = read_batches(object)?;
        Ok(ArrowTable::new(schema, batches))
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Exports the table as a stream of record batches in the C interface of Arrow.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol allows a producer that cannot cast to ignore the requested schema.
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok::<_, ArrowError>);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
    }

    /// Exports the schema in the C interface of Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(arrow_exception)?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    fn __repr__(&self) -> String {
        let columns = self.schema.fields().iter().map(|field| format!("{}: {}", field.name(), field.data_type()));
        let columns: Vec<String> = columns.collect();
        format!("<redpoll.ArrowTable {} rows, {}>", self.num_rows(), columns.join(", "))
    }
}

/// Reads the record batches of an object with `__arrow_c_stream__` as one batch. If the stream has
/// one batch, the columns are shared, not copied.
///
/// # Errors
/// Raises `TypeError` if the object has no such method, or the method returns no capsule;
/// `ValueError` if the capsule is not a stream of Arrow, or the stream fails. Exceptions of the
/// method are passed on.
pub(crate) fn read_table(object: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let (schema, batches) = read_batches(object)?;
    match <[RecordBatch; 1]>::try_from(batches) {
        Ok([batch]) => Ok(batch),
        Err(batches) => {
            let batch = object.py().detach(|| arrow_select::concat::concat_batches(&schema, &batches));
            batch.map_err(arrow_exception)
        }
    }
}

/// Reads the schema and the record batches of an object with `__arrow_c_stream__`. The columns are
/// shared, not copied.
///
/// # Errors
/// Raises the exceptions of [`read_table`].
pub(crate) fn read_batches(object: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let py = object.py();
    let Ok(export) = object.getattr("__arrow_c_stream__") else {
        let message = format!(
            "expected a table with `__arrow_c_stream__`, such as a frame of pandas, Polars, pyarrow or DuckDB, found {}",
            class_name(object)
        );
        return Err(PyTypeError::new_err(message));
    };
    let capsule = export.call0()?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: A capsule of this name points to a stream that follows the C interface of Arrow. The
    // reader moves the stream out of the capsule, whose destructor then finds the stream released.
    let reader = unsafe { ArrowArrayStreamReader::from_raw(stream.as_ptr()) }.map_err(arrow_exception)?;
    let schema = reader.schema();
    // A producer may need the lock of the interpreter on its own threads.
    let batches = py.detach(move || reader.collect::<Result<Vec<_>, _>>());
    Ok((schema, batches.map_err(arrow_exception)?))
}

/// Makes a tensor from the rows of a table. Also returns the labels of each mode, or `None` for a
/// mode without labels. Without a column of values, the values are booleans: true for each row.
///
/// `labels` has one item for each coordinate column. `None` makes labels unless the column has
/// integers, and `True` makes labels in any case. If the item is [`Labels`], the names of the
/// column are looked up in them. A size of `None` means the number of labels, or without labels the
/// largest coordinate plus 1.
#[pyfunction]
#[pyo3(signature = (table, coordinates, values, labels, shape, fill, format, duplicates, nulls))]
#[expect(clippy::too_many_arguments, reason = "arguments of a function of the Python layer")]
pub(crate) fn import_table<'py>(
    table: &Bound<'py, PyAny>,
    coordinates: Vec<String>,
    values: Option<String>,
    labels: Vec<Bound<'py, PyAny>>,
    shape: Vec<Option<u64>>,
    fill: Option<&Bound<'py, PyAny>>,
    format: &str,
    duplicates: &str,
    nulls: &str,
) -> PyResult<(Tensor, Vec<Option<Labels>>)> {
    let py = table.py();
    let batch = read_table(table)?;
    let nulls = match nulls {
        "error" => NullPolicy::Error,
        "fill" => NullPolicy::Fill,
        _ => return Err(PyValueError::new_err(format!("nulls are 'error' or 'fill', found '{nulls}'"))),
    };
    let duplicates = match duplicates {
        "error" => Duplicates::Error,
        "first" => Duplicates::First,
        "last" => Duplicates::Last,
        "sum" => Duplicates::Add,
        _ => {
            let message = format!("duplicates are 'error', 'first', 'last' or 'sum', found '{duplicates}'");
            return Err(PyValueError::new_err(message));
        }
    };
    if labels.len() != coordinates.len() || shape.len() != coordinates.len() {
        let message = format!("expected labels and a size for each of {} coordinate columns", coordinates.len());
        return Err(PyValueError::new_err(message));
    }
    let (mut fields, mut columns, mut sizes, mut found) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (k, name) in coordinates.iter().enumerate() {
        let column = column(&batch, name)?;
        let known = labels[k].cast::<Labels>().ok().map(|labels| labels.get().clone());
        let wanted = known.is_some() || labels[k].extract::<bool>().unwrap_or(false);
        let (column, needed, labels) = if wanted || !column.data_type().is_integer() {
            let (codes, labels) = py.detach(|| encode(name, column, known)).map_err(PyValueError::new_err)?;
            (codes, labels.len() as u64, Some(labels))
        } else {
            let (column, needed) = py.detach(|| owned(column));
            (column, needed, None)
        };
        sizes.push(shape[k].unwrap_or(needed));
        fields.push(Field::new(name, column.data_type().clone(), true));
        columns.push(column);
        found.push(labels);
    }
    let mut value_prim = Prim::Bool;
    if let Some(name) = &values {
        let column = column(&batch, name)?;
        if let Some(prim) = dtype_of_arrow(column.data_type()).and_then(|dtype| dtype.prim()) {
            value_prim = prim;
        }
        // A column may be used for both coordinates and values, so the values get another name.
        fields.push(Field::new(VALUES, column.data_type().clone(), true));
        columns.push(column.clone());
    }
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let rows = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options);
    let import = Import {
        coordinates: coordinates.clone(),
        value: values.as_ref().map(|_| VALUES.to_owned()),
        shape: Some(sizes),
        fill: fill.map(|fill| scalar(fill, value_prim)).transpose()?,
        format: tensor::format(format, coordinates.len())?,
        nulls,
        duplicates,
    };
    let rows = rows.map_err(arrow_exception)?;
    let (tensor, _) = py.detach(|| storage::Tensor::from_record_batch(&rows, import)).map_err(|error| {
        PyValueError::new_err(error.to_string().replace(VALUES, values.as_deref().unwrap_or(VALUES)))
    })?;
    Ok((Tensor(tensor), found))
}

/// The name of the column of values, in the batch that a tensor is made from. No column of a user
/// has this name.
const VALUES: &str = "\u{0}values";

fn column<'a>(batch: &'a RecordBatch, name: &str) -> PyResult<&'a ArrayRef> {
    batch.column_by_name(name).ok_or_else(|| {
        let names: Vec<&str> = batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
        PyKeyError::new_err(format!("the table has no column '{name}'; its columns are {}", names.join(", ")))
    })
}

/// Returns a copy of a column of integer coordinates, and the largest coordinate plus 1; 0 if the
/// column has no coordinate, or this number does not fit `u64`. The import reports negative
/// coordinates.
///
/// Without the copy, the column may share memory with an array of NumPy, which could change after
/// the validation.
fn owned(column: &ArrayRef) -> (ArrayRef, u64) {
    fn of<T: ArrowPrimitiveType<Native: Into<i128>>>(column: &ArrayRef) -> (ArrayRef, u64) {
        let column = column.as_primitive::<T>();
        let copy = PrimitiveArray::<T>::new(column.values().to_vec().into(), column.nulls().cloned());
        let largest = copy.iter().flatten().map(Into::into).max().unwrap_or(-1);
        (Arc::new(copy), u64::try_from(largest + 1).unwrap_or(0))
    }
    match column.data_type() {
        DataType::Int8 => of::<Int8Type>(column),
        DataType::Int16 => of::<Int16Type>(column),
        DataType::Int32 => of::<Int32Type>(column),
        DataType::Int64 => of::<Int64Type>(column),
        DataType::UInt8 => of::<UInt8Type>(column),
        DataType::UInt16 => of::<UInt16Type>(column),
        DataType::UInt32 => of::<UInt32Type>(column),
        DataType::UInt64 => of::<UInt64Type>(column),
        _ => (column.clone(), 0),
    }
}

/// Makes a table from the stored elements of a tensor. The table has a column of coordinates for
/// each mode, and a column of values. If a mode has labels, its column is a dictionary.
#[pyfunction]
pub(crate) fn export_table(
    tensor: &Bound<'_, Tensor>,
    names: Vec<String>,
    values: String,
    labels: Vec<Option<Bound<'_, Labels>>>,
) -> PyResult<ArrowTable> {
    let py = tensor.py();
    let all: Vec<&String> = names.iter().chain([&values]).collect();
    if let Some((_, name)) = all.iter().enumerate().find(|(k, name)| all[..*k].contains(name)) {
        return Err(PyValueError::new_err(format!("the column name '{name}' occurs more than once; choose another")));
    }
    let tensor = &tensor.get().0;
    let numbers: Vec<String> = (0..names.len()).map(|k| k.to_string()).collect();
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    let batch = py.detach(|| tensor.to_record_batch(&numbers)).map_err(|error| exception(error.into()))?;
    let mut columns = batch.columns().to_vec();
    for (k, labels) in labels.iter().enumerate() {
        let Some(labels) = labels.as_ref().map(Bound::get) else { continue };
        let size = tensor.ty().shape.get(k).copied().unwrap_or(0);
        if (labels.len() as u64) < size {
            let message = format!("mode {k} has {size} coordinates, but only {} labels", labels.len());
            return Err(PyValueError::new_err(message));
        }
        columns[k] = labels.dictionary(&columns[k]).map_err(arrow_exception)?;
    }
    let field = |(name, column): (&&String, &ArrayRef)| Field::new(name.as_str(), column.data_type().clone(), false);
    let schema = Arc::new(Schema::new(all.iter().zip(&columns).map(field).collect::<Vec<_>>()));
    let batch = RecordBatch::try_new(schema.clone(), columns).map_err(arrow_exception)?;
    Ok(ArrowTable::new(schema, vec![batch]))
}

/// Returns the exception for an error of Arrow.
#[expect(clippy::needless_pass_by_value, reason = "the signature of `map_err`")]
pub(crate) fn arrow_exception(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
