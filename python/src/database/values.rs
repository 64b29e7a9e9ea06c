//! Rows as objects of Python, and as text.

use crate::arrow::{ArrowTable, arrow_exception};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use redpoll::sql::datafusion::arrow::array::{Array, ArrayRef, AsArray};
use redpoll::sql::datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, DecimalType,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use redpoll::sql::datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

/// Objects of a column, `None` for NULL.
type Objects<'py> = PyResult<Vec<Bound<'py, PyAny>>>;

/// Microseconds in a day.
const DAY: i128 = 86_400_000_000;

/// Returns the rows of a table as tuples of Python objects.
#[pyfunction]
pub(crate) fn rows<'py>(py: Python<'py>, table: &Bound<'py, ArrowTable>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let mut rows = Vec::new();
    for batch in table.get().batches() {
        let columns = batch.columns().iter().map(|column| objects(py, column)).collect::<PyResult<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            rows.push(PyTuple::new(py, columns.iter().map(|column| &column[row]))?);
        }
    }
    Ok(rows)
}

/// Returns the text of the cells of the rows from `start` to `stop` (exclusive).
#[pyfunction]
pub(crate) fn cells(table: &Bound<'_, ArrowTable>, start: usize, stop: usize) -> PyResult<Vec<Vec<String>>> {
    let options = FormatOptions::default().with_null("NULL");
    let (mut cells, mut first) = (Vec::new(), 0);
    for batch in table.get().batches() {
        let formatters = batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options));
        let formatters = formatters.collect::<Result<Vec<_>, _>>().map_err(arrow_exception)?;
        let end = first + batch.num_rows();
        for row in start.max(first)..stop.min(end) {
            let text = |formatter: &ArrayFormatter<'_>| formatter.value(row - first).try_to_string();
            cells.push(formatters.iter().map(text).collect::<Result<_, _>>().map_err(arrow_exception)?);
        }
        first = end;
    }
    Ok(cells)
}

/// Returns the values of a column as objects of Python.
fn objects<'py>(py: Python<'py>, column: &ArrayRef) -> Objects<'py> {
    macro_rules! numbers {
        ($ty:ty) => {{
            let values = column.as_primitive::<$ty>().values();
            each(py, column, |row| Ok(values[row].into_pyobject(py)?.into_any()))
        }};
    }
    match column.data_type() {
        DataType::Null => each(py, column, |_| Ok(py.None().into_bound(py))),
        DataType::Boolean => {
            each(py, column, |row| Ok(column.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any()))
        }
        DataType::Int8 => numbers!(Int8Type),
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::UInt8 => numbers!(UInt8Type),
        DataType::UInt16 => numbers!(UInt16Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type),
        DataType::Float16 => {
            let values = column.as_primitive::<Float16Type>();
            each(py, column, |row| Ok(values.value(row).to_f32().into_pyobject(py)?.into_any()))
        }
        DataType::Float32 => numbers!(Float32Type),
        DataType::Float64 => numbers!(Float64Type),
        DataType::Decimal128(..) => decimals::<Decimal128Type>(py, column),
        DataType::Decimal256(..) => decimals::<Decimal256Type>(py, column),
        DataType::Utf8 => strings(py, column, |row| column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => strings(py, column, |row| column.as_string::<i64>().value(row)),
        DataType::Utf8View => strings(py, column, |row| column.as_string_view().value(row)),
        DataType::Binary => bytes(py, column, |row| column.as_binary::<i32>().value(row)),
        DataType::LargeBinary => bytes(py, column, |row| column.as_binary::<i64>().value(row)),
        DataType::BinaryView => bytes(py, column, |row| column.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => bytes(py, column, |row| column.as_fixed_size_binary().value(row)),
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary();
            let values = objects(py, dictionary.values())?;
            // A dictionary without values has only NULLs, and no keys that could be normalized.
            let keys = if values.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            each(py, column, |row| Ok(values[keys[row]].clone()))
        }
        DataType::List(_) => lists(py, column, |row| column.as_list::<i32>().value(row)),
        DataType::LargeList(_) => lists(py, column, |row| column.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => lists(py, column, |row| column.as_fixed_size_list().value(row)),
        DataType::Struct(fields) => {
            let parts = column.as_struct().columns().iter().map(|part| objects(py, part));
            let parts = parts.collect::<PyResult<Vec<_>>>()?;
            each(py, column, |row| {
                let object = PyDict::new(py);
                for (field, part) in fields.iter().zip(&parts) {
                    object.set_item(field.name(), &part[row])?;
                }
                Ok(object.into_any())
            })
        }
        ty => times(py, column, ty),
    }
}

/// Returns `None` for each NULL of a column, and an object for each other row.
fn each<'py>(
    py: Python<'py>,
    column: &ArrayRef,
    mut object: impl FnMut(usize) -> PyResult<Bound<'py, PyAny>>,
) -> Objects<'py> {
    let nulls = column.logical_nulls();
    let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    (0..column.len()).map(|row| if is_null(row) { Ok(py.None().into_bound(py)) } else { object(row) }).collect()
}

fn strings<'py, 'a>(py: Python<'py>, column: &ArrayRef, value: impl Fn(usize) -> &'a str) -> Objects<'py> {
    each(py, column, |row| Ok(PyString::new(py, value(row)).into_any()))
}

fn bytes<'py, 'a>(py: Python<'py>, column: &ArrayRef, value: impl Fn(usize) -> &'a [u8]) -> Objects<'py> {
    each(py, column, |row| Ok(PyBytes::new(py, value(row)).into_any()))
}

fn lists<'py>(py: Python<'py>, column: &ArrayRef, value: impl Fn(usize) -> ArrayRef) -> Objects<'py> {
    each(py, column, |row| Ok(PyList::new(py, objects(py, &value(row))?)?.into_any()))
}

/// Returns decimals as `decimal.Decimal`.
fn decimals<'py, T: DecimalType>(py: Python<'py>, column: &ArrayRef) -> Objects<'py> {
    let class = py.import("decimal")?.getattr("Decimal")?;
    let values = column.as_primitive::<T>();
    each(py, column, |row| class.call1((values.value_as_string(row),)))
}

/// Returns dates, times and durations as objects of `datetime`, which counts microseconds. Raises
/// `TypeError` for other types.
fn times<'py>(py: Python<'py>, column: &ArrayRef, ty: &DataType) -> Objects<'py> {
    let datetime = py.import("datetime")?;
    let span = datetime.getattr("timedelta")?;
    let duration = |micros: i128| span.call1((micros.div_euclid(DAY), 0, micros.rem_euclid(DAY)));
    let zone = match ty {
        DataType::Timestamp(_, Some(zone)) => Some(zone_of(&datetime, zone)?),
        _ => None,
    };
    let utc = datetime.getattr("timezone")?.getattr("utc")?;
    let epoch = match &zone {
        None => datetime.getattr("datetime")?.call1((1970, 1, 1))?,
        Some(_) => datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, &utc))?,
    };
    let time = |micros: i128| epoch.add(duration(micros)?);
    let micros = micros_of(column, ty)?;
    each(py, column, |row| match (ty, &zone) {
        (DataType::Duration(_), _) => duration(micros[row]),
        (DataType::Date32 | DataType::Date64, _) => time(micros[row])?.call_method0("date"),
        (DataType::Time32(_) | DataType::Time64(_), _) => time(micros[row])?.call_method0("time"),
        (_, Some(zone)) => time(micros[row])?.call_method1("astimezone", (zone,)),
        _ => time(micros[row]),
    })
}

/// Returns a zone by its name or its offset, such as `+05:30`.
fn zone_of<'py>(datetime: &Bound<'py, PyModule>, zone: &str) -> PyResult<Bound<'py, PyAny>> {
    match zone.starts_with(['+', '-']) {
        true => datetime.getattr("datetime")?.call_method1("strptime", (zone, "%z"))?.getattr("tzinfo"),
        false => datetime.py().import("zoneinfo")?.getattr("ZoneInfo")?.call1((zone,)),
    }
}

/// Returns a column of times in microseconds; nanoseconds are rounded down.
fn micros_of(column: &ArrayRef, ty: &DataType) -> PyResult<Vec<i128>> {
    fn of<T: ArrowPrimitiveType<Native: Into<i128>>>(column: &ArrayRef, factor: i128, divisor: i128) -> Vec<i128> {
        let values = column.as_primitive::<T>().values().iter();
        values.map(|value| ((*value).into() * factor).div_euclid(divisor)).collect()
    }
    Ok(match ty {
        DataType::Date32 => of::<Date32Type>(column, DAY, 1),
        DataType::Date64 => of::<Date64Type>(column, 1000, 1),
        DataType::Timestamp(TimeUnit::Second, _) => of::<TimestampSecondType>(column, 1_000_000, 1),
        DataType::Timestamp(TimeUnit::Millisecond, _) => of::<TimestampMillisecondType>(column, 1000, 1),
        DataType::Timestamp(TimeUnit::Microsecond, _) => of::<TimestampMicrosecondType>(column, 1, 1),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => of::<TimestampNanosecondType>(column, 1, 1000),
        DataType::Time32(TimeUnit::Second) => of::<Time32SecondType>(column, 1_000_000, 1),
        DataType::Time32(_) => of::<Time32MillisecondType>(column, 1000, 1),
        DataType::Time64(TimeUnit::Microsecond) => of::<Time64MicrosecondType>(column, 1, 1),
        DataType::Time64(_) => of::<Time64NanosecondType>(column, 1, 1000),
        DataType::Duration(TimeUnit::Second) => of::<DurationSecondType>(column, 1_000_000, 1),
        DataType::Duration(TimeUnit::Millisecond) => of::<DurationMillisecondType>(column, 1000, 1),
        DataType::Duration(TimeUnit::Microsecond) => of::<DurationMicrosecondType>(column, 1, 1),
        DataType::Duration(TimeUnit::Nanosecond) => of::<DurationNanosecondType>(column, 1, 1000),
        ty => {
            let message =
                format!("values of type {ty} have no objects in Python; read them by `to_arrow` or cast them in SQL");
            return Err(PyTypeError::new_err(message));
        }
    })
}
