//! Labels: the names of the coordinates of a mode, and the conversion of columns of names to
//! coordinates.

use super::arrow_exception;
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array as _, ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, LargeStringArray};
use arrow_array::{
    BooleanArray, Date32Array, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt32Array,
};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyCapsule, PyDict, PyFloat, PyInt, PyString, PyTuple, PyType};
use std::collections::HashMap;
use std::sync::Arc;

/// Number of labels that `repr` shows.
const SHOWN: usize = 6;

/// The labels of a mode: label `i` names coordinate `i`. All labels are distinct, of one type of
/// Arrow, and never change.
#[pyclass(frozen, module = "redpoll._core")]
#[derive(Clone)]
pub(crate) struct Labels {
    values: ArrayRef,
    /// The Python dictionary from labels to coordinates, which the first call of [`Labels::index`]
    /// builds.
    places: Arc<PyOnceLock<Py<PyDict>>>,
}

impl Labels {
    /// Returns labels of distinct values.
    fn of(values: ArrayRef) -> Labels {
        Labels { values, places: Arc::new(PyOnceLock::new()) }
    }

    /// Returns the number of labels.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns a column of coordinates as a dictionary of these labels. The keys are signed,
    /// because pandas reads no other keys. Returns an error for a coordinate of 2^31 or more.
    pub(crate) fn dictionary(&self, coordinates: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let key = |coordinate: u64| {
            i32::try_from(coordinate).map_err(|_| {
                let message = format!("coordinate {coordinate} exceeds 32-bit keys; export the mode without labels");
                ArrowError::InvalidArgumentError(message)
            })
        };
        let keys: Int32Array = match coordinates.data_type() {
            DataType::UInt32 => coordinates.as_primitive::<UInt32Type>().try_unary(|at| key(at.into()))?,
            _ => coordinates.as_primitive::<UInt64Type>().try_unary(key)?,
        };
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, self.values.clone())?))
    }
}

#[pymethods]
impl Labels {
    /// Makes labels of a sequence of strings, integers, floats, booleans or `numpy.datetime64`.
    #[new]
    fn new(labels: Vec<Bound<'_, PyAny>>) -> PyResult<Labels> {
        let Some(first) = labels.first() else { return Ok(Labels::of(Arc::new(LargeStringArray::new_null(0)))) };
        let array: ArrayRef = if first.is_instance_of::<PyString>() {
            let texts = labels.iter().map(PyAnyMethods::extract::<String>).collect::<PyResult<Vec<_>>>();
            Arc::new(LargeStringArray::from_iter_values(texts.map_err(|_| mixed())?))
        } else if first.is_instance_of::<PyBool>() {
            let bools = labels.iter().map(PyAnyMethods::extract::<bool>).collect::<PyResult<Vec<_>>>();
            Arc::new(BooleanArray::from(bools.map_err(|_| mixed())?))
        } else if first.is_instance_of::<PyInt>() {
            let numbers = labels.iter().map(PyAnyMethods::extract::<i64>).collect::<PyResult<Vec<_>>>();
            Arc::new(Int64Array::from(numbers.map_err(|_| mixed())?))
        } else if first.is_instance_of::<PyFloat>() {
            let numbers = labels.iter().map(PyAnyMethods::extract::<f64>).collect::<PyResult<Vec<_>>>();
            Arc::new(Float64Array::from(numbers.map_err(|_| mixed())?))
        } else {
            times(&labels)?
        };
        let rows = rows_of(&array).map_err(arrow_exception)?;
        let mut seen = HashMap::with_capacity(rows.num_rows());
        for (k, row) in rows.iter().enumerate() {
            if let Some(earlier) = seen.insert(row.data(), k) {
                let message = format!("labels are distinct, found {} at {earlier} and {k}", labels[k].repr()?);
                return Err(PyValueError::new_err(message));
            }
        }
        drop(seen);
        Ok(Labels::of(array))
    }

    fn __len__(&self) -> usize {
        self.values.len()
    }

    /// Returns the label of a coordinate. A negative coordinate counts from the end.
    fn __getitem__<'py>(&self, py: Python<'py>, at: isize) -> PyResult<Bound<'py, PyAny>> {
        let len = self.values.len();
        let place = if at < 0 { at.checked_add_unsigned(len) } else { Some(at) };
        match place.and_then(|place| usize::try_from(place).ok()).filter(|place| *place < len) {
            Some(place) => label(py, &self.values, place),
            None => Err(PyIndexError::new_err(format!("label {at} is out of range for {len} labels"))),
        }
    }

    /// Returns the coordinate of a label.
    fn index(&self, py: Python<'_>, label: &Bound<'_, PyAny>) -> PyResult<usize> {
        let places = self.places.get_or_try_init(py, || {
            let places = PyDict::new(py);
            for k in 0..self.values.len() {
                places.set_item(self::label(py, &self.values, k)?, k)?;
            }
            Ok::<_, PyErr>(places.unbind())
        })?;
        match places.bind(py).get_item(label)? {
            Some(place) => place.extract(),
            None => {
                Err(PyValueError::new_err(format!("{} is not among the {} labels", label.repr()?, self.values.len())))
            }
        }
    }

    /// Returns all labels as a tuple.
    fn to_tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, (0..self.values.len()).map(|k| label(py, &self.values, k)).collect::<PyResult<Vec<_>>>()?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyTuple>,))> {
        Ok((py.get_type::<Labels>(), (self.to_tuple(py)?,)))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = (0..self.values.len().min(SHOWN)).map(|k| Ok(label(py, &self.values, k)?.repr()?.to_string()));
        let shown = shown.collect::<PyResult<Vec<_>>>()?.join(", ");
        let more = if self.values.len() > SHOWN { ", .." } else { "" };
        Ok(format!("<redpoll.Labels [{shown}{more}] of {}>", self.values.len()))
    }

    /// Exports the labels as an array in the C interface of Arrow.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The protocol allows a producer that cannot cast to ignore the requested schema.
        let _ = requested_schema;
        let (array, schema): (FFI_ArrowArray, FFI_ArrowSchema) =
            to_ffi(&self.values.to_data()).map_err(arrow_exception)?;
        let schema = PyCapsule::new_with_value(py, schema, super::SCHEMA)?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }
}

fn mixed() -> PyErr {
    let message = "labels are all strings, integers of 64 bits, floats, booleans, or `numpy.datetime64` of one of the units D, \
         s, ms, us and ns; convert them first";
    PyTypeError::new_err(message)
}

/// Returns labels of `numpy.datetime64` as a column of dates or times. Raises `TypeError` for other
/// labels and other units.
fn times(labels: &[Bound<'_, PyAny>]) -> PyResult<ArrayRef> {
    let Some(first) = labels.first() else { return Err(mixed()) };
    let numpy = first.py().import("numpy")?;
    let class = numpy.getattr("datetime64")?;
    for label in labels {
        if !label.is_instance(&class)? {
            return Err(mixed());
        }
    }
    let column = numpy.call_method1("array", (labels.to_vec(),))?;
    let unit: String = column.getattr("dtype")?.str()?.extract()?;
    let numbers: Vec<i64> = column.call_method1("astype", ("int64",))?.call_method0("tolist")?.extract()?;
    Ok(match unit.as_str() {
        "datetime64[D]" => {
            let days = numbers.iter().map(|day| i32::try_from(*day)).collect::<Result<Vec<_>, _>>();
            Arc::new(Date32Array::from(days.map_err(|_| mixed())?))
        }
        "datetime64[s]" => Arc::new(TimestampSecondArray::from(numbers)),
        "datetime64[ms]" => Arc::new(TimestampMillisecondArray::from(numbers)),
        "datetime64[us]" => Arc::new(TimestampMicrosecondArray::from(numbers)),
        "datetime64[ns]" => Arc::new(TimestampNanosecondArray::from(numbers)),
        _ => return Err(mixed()),
    })
}

/// Returns a label as an object of Python: dates and times as `numpy.datetime64`.
fn label<'py>(py: Python<'py>, labels: &ArrayRef, at: usize) -> PyResult<Bound<'py, PyAny>> {
    fn integer<'py, T: ArrowPrimitiveType<Native: Into<i128>>>(
        py: Python<'py>,
        labels: &ArrayRef,
        at: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let number: i128 = labels.as_primitive::<T>().value(at).into();
        Ok(number.into_pyobject(py)?.into_any())
    }
    fn time<'py, T: ArrowPrimitiveType<Native: Into<i128>>>(
        py: Python<'py>,
        labels: &ArrayRef,
        at: usize,
        unit: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let number: i128 = labels.as_primitive::<T>().value(at).into();
        py.import("numpy")?.getattr("datetime64")?.call1((number, unit))
    }
    match labels.data_type() {
        DataType::LargeUtf8 => Ok(PyString::new(py, labels.as_string::<i64>().value(at)).into_any()),
        DataType::Boolean => Ok(PyBool::new(py, labels.as_boolean().value(at)).to_owned().into_any()),
        DataType::Int8 => integer::<Int8Type>(py, labels, at),
        DataType::Int16 => integer::<Int16Type>(py, labels, at),
        DataType::Int32 => integer::<Int32Type>(py, labels, at),
        DataType::Int64 => integer::<Int64Type>(py, labels, at),
        DataType::UInt8 => integer::<UInt8Type>(py, labels, at),
        DataType::UInt16 => integer::<UInt16Type>(py, labels, at),
        DataType::UInt32 => integer::<UInt32Type>(py, labels, at),
        DataType::UInt64 => integer::<UInt64Type>(py, labels, at),
        DataType::Float32 => Ok(PyFloat::new(py, labels.as_primitive::<Float32Type>().value(at).into()).into_any()),
        DataType::Float64 => Ok(PyFloat::new(py, labels.as_primitive::<Float64Type>().value(at)).into_any()),
        DataType::Date32 => time::<Date32Type>(py, labels, at, "D"),
        DataType::Date64 => time::<Date64Type>(py, labels, at, "ms"),
        DataType::Timestamp(TimeUnit::Second, _) => time::<TimestampSecondType>(py, labels, at, "s"),
        DataType::Timestamp(TimeUnit::Millisecond, _) => time::<TimestampMillisecondType>(py, labels, at, "ms"),
        DataType::Timestamp(TimeUnit::Microsecond, _) => time::<TimestampMicrosecondType>(py, labels, at, "us"),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => time::<TimestampNanosecondType>(py, labels, at, "ns"),
        other => {
            let message =
                format!("labels of type {other} have no objects in Python; read them by `pyarrow.array(labels)`");
            Err(PyTypeError::new_err(message))
        }
    }
}

/// Returns the rows of a column as byte strings, which have the same order as the values.
fn rows_of(column: &ArrayRef) -> Result<Rows, ArrowError> {
    let converter = RowConverter::new(vec![SortField::new(column.data_type().clone())])?;
    converter.convert_columns(std::slice::from_ref(column))
}

/// Returns strings of every layout as large strings, and other columns unchanged.
fn plain(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Utf8 => Arc::new(LargeStringArray::from_iter(column.as_string::<i32>())),
        DataType::Utf8View => Arc::new(LargeStringArray::from_iter(column.as_string_view())),
        _ => column.clone(),
    }
}

/// Returns the coordinate of each name in a column, and the labels of the mode: `known`, if it is
/// given. Otherwise, the labels of a dictionary keep their order, and the labels of other columns
/// ascend.
///
/// # Errors
/// Returns a message in five cases: the column has NULLs, its dictionary has a NULL, its type
/// differs from the type of `known`, its type has no order in Arrow, or a name is not among
/// `known`.
pub(super) fn encode(name: &str, column: &ArrayRef, known: Option<Labels>) -> Result<(ArrayRef, Labels), String> {
    let fault = |error: ArrowError| format!("column '{name}': {error}");
    if let Some(row) = (0..column.len()).find(|row| column.is_null(*row)) {
        return Err(format!("column '{name}': row {row} is NULL, and coordinates cannot be null; filter such rows"));
    }
    // The names of a dictionary are its values, and `rows` has the index of each row's value. In
    // other columns, each row has its own name.
    let (names, rows): (ArrayRef, Option<Vec<usize>>) = match column.as_any_dictionary_opt() {
        Some(dictionary) if dictionary.values().null_count() == 0 => {
            // A column without NULLs over an empty dictionary has no rows.
            let keys = if dictionary.values().is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            (plain(dictionary.values()), Some(keys))
        }
        Some(_) => return Err(format!("column '{name}': its dictionary has a NULL; drop that label")),
        None => (plain(column), None),
    };
    if let Some(known) = &known
        && known.values.data_type() != names.data_type()
    {
        let (expected, found) = (known.values.data_type(), names.data_type());
        return Err(format!("column '{name}': its names have type {found}, but the labels have type {expected}"));
    }
    let keys = rows_of(&names).map_err(fault)?;
    let (code_of_name, labels) = match known {
        Some(known) => {
            let rows = rows_of(&known.values).map_err(fault)?;
            let places: HashMap<&[u8], u32> = rows.iter().map(|row| row.data()).zip(0..).collect();
            let codes: Vec<Option<u32>> = keys.iter().map(|key| places.get(key.data()).copied()).collect();
            (codes, known)
        }
        None => distinct(&names, &keys, rows.is_some()).map_err(fault)?,
    };
    let code = |row: usize| {
        let place = rows.as_ref().map_or(row, |rows| rows[row]);
        code_of_name[place].ok_or_else(|| format!("column '{name}': row {row} has a name that is not among the labels"))
    };
    let codes = (0..column.len()).map(code).collect::<Result<Vec<u32>, String>>()?;
    Ok((Arc::new(UInt32Array::from(codes)), labels))
}

/// Returns the index of each name among the distinct names, and the distinct names. The distinct
/// names are in order of their first occurrence if `keeps_order`, and ascend otherwise.
fn distinct(names: &ArrayRef, keys: &Rows, keeps_order: bool) -> Result<(Vec<Option<u32>>, Labels), ArrowError> {
    let mut numbers: HashMap<&[u8], u32> = HashMap::new();
    let mut firsts: Vec<u32> = Vec::new();
    let mut codes = Vec::with_capacity(keys.num_rows());
    for k in 0..keys.num_rows() {
        let count = firsts.len() as u32;
        let number = *numbers.entry(keys.row(k).data()).or_insert(count);
        if number == count {
            firsts.push(k as u32);
        }
        codes.push(number);
    }
    if !keeps_order {
        let mut order: Vec<u32> = (0..firsts.len() as u32).collect();
        order.sort_unstable_by_key(|number| keys.row(firsts[*number as usize] as usize).data());
        let mut ranks = vec![0; order.len()];
        for (rank, number) in order.iter().enumerate() {
            ranks[*number as usize] = rank as u32;
        }
        codes.iter_mut().for_each(|code| *code = ranks[*code as usize]);
        firsts = order.iter().map(|number| firsts[*number as usize]).collect();
    }
    let labels = arrow_select::take::take(names, &UInt32Array::from(firsts), None)?;
    Ok((codes.into_iter().map(Some).collect(), Labels::of(labels)))
}
