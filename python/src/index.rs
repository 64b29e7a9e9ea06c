//! Conversion of indices of Python to indices of redpoll.

use crate::array::Array;
use crate::operand::class_name;
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyList, PySlice};
use redpoll::Index;

/// Converts an index of Python, which is `None`, `...`, a slice, an integer, a list of integers or
/// booleans, or an array of integers.
///
/// # Errors
/// Raises `IndexError` for an integer beyond 64 bits, `TypeError` for any other object, and the
/// exceptions of the conversion of bounds and of the elements of lists.
pub(crate) fn index(item: &Bound<'_, PyAny>) -> PyResult<Index> {
    if item.is_none() {
        return Ok(Index::NewAxis);
    }
    if item.is_instance_of::<PyEllipsis>() {
        return Ok(Index::Ellipsis);
    }
    if let Ok(array) = item.cast::<Array>() {
        return Ok(Index::Gather(array.get().core().inner.clone()));
    }
    if let Ok(slice) = item.cast::<PySlice>() {
        let bound = |name: &str| -> PyResult<Option<i64>> {
            let value = slice.getattr(name)?;
            if value.is_none() { Ok(None) } else { Ok(Some(clamped(&value)?)) }
        };
        let step = bound("step")?.unwrap_or(1);
        return Ok(Index::Range { start: bound("start")?, stop: bound("stop")?, step });
    }
    if let Ok(list) = item.cast::<PyList>() {
        return match list.extract::<Vec<bool>>() {
            Ok(mask) if !mask.is_empty() => Ok(Index::Mask(mask)),
            _ => Ok(Index::Take(list.extract()?)),
        };
    }
    item.extract::<i64>().map(Index::Coordinate).map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(item.py()) {
            return PyIndexError::new_err(format!("index {item} is out of bounds for modes of any size"));
        }
        let found = class_name(item);
        PyTypeError::new_err(format!(
            "an index is an integer, a slice, `None`, `...`, or an array of integers or booleans, found {found}"
        ))
    })
}

/// Returns a bound or the step of a slice. Integers beyond 64 bits are clamped, as in Python.
///
/// # Errors
/// Raises `TypeError` for an object that is not an integer.
fn clamped(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    if !value.hasattr("__index__")? {
        let message = format!("the bounds and the step of a slice are integers or `None`, found {}", class_name(value));
        return Err(PyTypeError::new_err(message));
    }
    let value = value.call_method0("__index__")?;
    match value.extract::<i64>() {
        Ok(bound) => Ok(bound),
        Err(_) if value.lt(0)? => Ok(i64::MIN),
        Err(_) => Ok(i64::MAX),
    }
}

/// Returns the coordinates of an element; negative coordinates count from the end.
///
/// # Errors
/// Raises `IndexError` if a coordinate is out of range, or the number of coordinates is not the
/// number of modes.
pub(crate) fn coordinates(at: &[i64], shape: &[u64]) -> PyResult<Vec<u64>> {
    if at.len() != shape.len() {
        let message = format!("expected {} coordinates for shape {shape:?}, found {}", shape.len(), at.len());
        return Err(PyIndexError::new_err(message));
    }
    let resolve = |(mode, (i, size)): (usize, (&i64, &u64))| {
        let from_start = if *i < 0 { i.checked_add_unsigned(*size) } else { Some(*i) };
        let inside = from_start.and_then(|i| u64::try_from(i).ok()).filter(|i| i < size);
        inside.ok_or_else(|| {
            PyIndexError::new_err(format!("index {i} is out of bounds for axis {mode} with size {size}"))
        })
    };
    at.iter().zip(shape).enumerate().map(resolve).collect()
}
