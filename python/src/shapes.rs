//! Operations that change shapes, select parts of arrays, or join arrays, and `scatter`, which
//! folds elements into a new vector. Apart from `scatter`, these operations copy nothing: loops
//! over the result read the array at other coordinates.

use crate::argument::{axes, operator};
use crate::array::Array;
use crate::dtype::scalar;
use crate::error::exception;
use crate::operand::{OperandValue, class_name, fill_is_zero};
use crate::work::Bounds;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Permutes the modes.
#[pyfunction]
pub(crate) fn permute_dims<'py>(array: &Bound<'py, Array>, order: Vec<i64>) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    core.rearranged(array.py(), core.inner.permute_dims(order))
}

/// Changes the shape and keeps the values in row-major order.
#[pyfunction]
pub(crate) fn reshape<'py>(array: &Bound<'py, Array>, shape: Vec<i64>) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    core.rearranged(array.py(), core.inner.reshape(shape))
}

/// Broadcasts the array to a larger shape.
#[pyfunction]
pub(crate) fn broadcast_to<'py>(array: &Bound<'py, Array>, shape: Vec<u64>) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    core.derived(array.py(), core.inner.broadcast_to(shape))
}

/// Inserts a mode of size 1.
#[pyfunction]
pub(crate) fn expand_dims<'py>(array: &Bound<'py, Array>, axis: i64) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    core.rearranged(array.py(), core.inner.expand_dims(axis))
}

/// Drops modes of size 1.
#[pyfunction]
pub(crate) fn squeeze<'py>(array: &Bound<'py, Array>, axis: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    core.rearranged(array.py(), core.inner.squeeze(axes(axis, false)?))
}

/// Reverses the order of the elements along axes.
#[pyfunction]
pub(crate) fn flip<'py>(array: &Bound<'py, Array>, axis: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    core.rearranged(array.py(), core.inner.flip(axes(axis, false)?))
}

/// Rotates the elements along axes.
#[pyfunction]
pub(crate) fn roll<'py>(
    array: &Bound<'py, Array>,
    shift: i64,
    axis: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    core.rearranged(array.py(), core.inner.roll(shift, axes(axis, false)?))
}

/// Repeats the whole array, with one count for each mode.
#[pyfunction]
pub(crate) fn tile<'py>(array: &Bound<'py, Array>, counts: Vec<u64>) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    core.derived(array.py(), core.inner.tile(counts))
}

/// Repeats each element along axes.
#[pyfunction]
pub(crate) fn repeat<'py>(
    array: &Bound<'py, Array>,
    count: u64,
    axis: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    core.derived(array.py(), core.inner.repeat(count, axes(axis, false)?))
}

/// Repeats each element along an axis. `counts` has the number of repetitions for each coordinate.
#[pyfunction]
pub(crate) fn repeat_each<'py>(array: &Bound<'py, Array>, counts: Vec<u64>, axis: i64) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    core.derived(array.py(), core.inner.repeat_each(counts, axis))
}

/// Pads each mode with a value, with one pair of widths (before, after) for each mode.
#[pyfunction]
pub(crate) fn pad<'py>(
    array: &Bound<'py, Array>,
    widths: Vec<(i64, i64)>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let this = array.get().core();
    let prim = this.prim.ok_or_else(|| PyTypeError::new_err("pad: expected an array of numbers"))?;
    this.derived(array.py(), this.inner.pad(widths, scalar(value, prim)?))
}

/// Joins arrays along an axis.
#[pyfunction]
pub(crate) fn concat<'py>(arrays: Vec<Bound<'py, PyAny>>, axis: i64, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    join(py, &arrays, |first, others| first.concat(others, axis))
}

/// Joins arrays along a new axis.
#[pyfunction]
pub(crate) fn stack<'py>(arrays: Vec<Bound<'py, PyAny>>, axis: i64, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    join(py, &arrays, |first, others| first.stack(others, axis))
}

fn join<'py>(
    py: Python<'py>,
    arrays: &[Bound<'py, PyAny>],
    join: impl FnOnce(&redpoll::Array, Vec<redpoll::Array>) -> redpoll::Array,
) -> PyResult<Bound<'py, PyAny>> {
    let mut work = 0u64;
    let (mut inner, mut parts) = (Vec::with_capacity(arrays.len()), Vec::with_capacity(arrays.len()));
    for array in arrays {
        let Ok(array) = array.cast::<Array>() else {
            return Err(PyTypeError::new_err(format!("expected arrays, found {}", class_name(array))));
        };
        let core = array.get().core();
        work = work.saturating_add(core.work);
        parts.push((core.inner.fill().map_err(exception)?, core.bounds));
        inner.push(core.inner.clone());
    }
    if inner.is_empty() {
        return Err(PyValueError::new_err("expected at least one array"));
    }
    let first = inner.remove(0);
    let joined = join(&first, inner);
    let fill = joined.fill().map_err(exception)?;
    // If the fill value of an array differs from that of the result, the result stores every
    // element of the array.
    let stored = parts.iter().fold(0u64, |stored, (own, bounds)| {
        let agrees = fill.prim().map_or(*own == fill, |prim| own.cast(prim).as_ref() == Some(&fill));
        stored.saturating_add(if agrees { bounds.stored } else { bounds.size })
    });
    Array::bounded(joined, |shape| Bounds::new(shape, work, stored))?.into_python(py)
}

/// Reads the array at the given coordinates along an axis, element by element.
#[pyfunction]
pub(crate) fn take_along_axis<'py>(
    array: &Bound<'py, Array>,
    indices: &Bound<'py, PyAny>,
    axis: i64,
) -> PyResult<Bound<'py, PyAny>> {
    let indices = OperandValue::required(&array.get().core(), indices)?;
    let work = array.get().core().work.saturating_add(indices.work());
    Array::new(array.get().core().inner.take_along_axis(indices, axis), work)?.into_python(array.py())
}

/// Keeps the elements from diagonal `lower` to diagonal `upper`; `None` means no limit.
#[pyfunction]
pub(crate) fn triangle<'py>(
    array: &Bound<'py, Array>,
    lower: Option<i64>,
    upper: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    let above = lower.map_or_else(|| core.inner.clone(), |k| core.inner.triu(k));
    let result = upper.map_or_else(|| above.clone(), |k| above.tril(k));
    // The other elements become 0, which the result stores if its fill value is not 0.
    match fill_is_zero(&core.inner) {
        true => core.rearranged(array.py(), result),
        false => core.derived(array.py(), result),
    }
}

/// Returns diagonal `k` of the last two modes.
#[pyfunction]
pub(crate) fn diagonal<'py>(array: &Bound<'py, Array>, k: i64) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    core.rearranged(array.py(), core.inner.diagonal(k))
}

/// Folds the elements into a vector of the given size. `places` has the coordinate of each element
/// in the vector. Elements with the same coordinate are combined by the operator, starting from its
/// identity. Elements with a coordinate out of range are dropped.
#[pyfunction]
pub(crate) fn scatter<'py>(
    array: &Bound<'py, Array>,
    places: &Bound<'py, PyAny>,
    size: u64,
    op: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    let places = OperandValue::required(&core, places)?;
    let work = core.work.saturating_add(places.work());
    Array::new(core.inner.scatter(places, size, operator(op)?), work)?.into_python(array.py())
}
