//! Operations that sort or search values, or whose result shapes depend on the data. These
//! operations are not lazy: each call computes its result.

use crate::argument::axes;
use crate::array::Array;
use crate::operand::OperandValue;
use crate::run::run;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use redpoll::{Side, SortOrder, Unique};

/// Runs an operation on an array, and returns the resulting arrays.
fn at_once<'py, const N: usize>(
    array: &Bound<'py, Array>,
    other: Option<OperandValue>,
    operation: impl FnOnce(&redpoll::Array, Option<redpoll::Array>) -> Result<[redpoll::Array; N], redpoll::Error>
    + Send
    + 'static,
) -> PyResult<[Bound<'py, PyAny>; N]> {
    let (py, this) = (array.py(), array.get().core());
    let inner = this.inner.clone();
    let reads = this.work.saturating_add(this.bounds.size);
    let work = other.as_ref().map_or(0, OperandValue::work).saturating_add(reads);
    let other = other.map(|other| other.into_array(&inner));
    let results = run(py, work, move |cancel| operation(&inner.cancelled_by(cancel), other))?;
    let mut objects = Vec::with_capacity(N);
    for result in results {
        objects.push(Array::new(result, 0)?.into_python(py)?);
    }
    Ok(objects.try_into().expect("one object for each of the results"))
}

fn order(descending: bool) -> SortOrder {
    if descending { SortOrder::Descending } else { SortOrder::Ascending }
}

/// Sorts the values along an axis.
#[pyfunction]
pub(crate) fn sort<'py>(array: &Bound<'py, Array>, axis: i64, descending: bool) -> PyResult<Bound<'py, PyAny>> {
    let [sorted] = at_once(array, None, move |a, _| Ok([a.sort(axis, order(descending))?]))?;
    Ok(sorted)
}

/// Returns the coordinates that sort the values along an axis. The sort is stable.
#[pyfunction]
pub(crate) fn argsort<'py>(array: &Bound<'py, Array>, axis: i64, descending: bool) -> PyResult<Bound<'py, PyAny>> {
    let [sorted] = at_once(array, None, move |a, _| Ok([a.argsort(axis, order(descending))?]))?;
    Ok(sorted)
}

/// Returns the `k` largest values along an axis, and their coordinates.
#[pyfunction]
pub(crate) fn top_k<'py>(array: &Bound<'py, Array>, k: u64, axis: i64) -> PyResult<[Bound<'py, PyAny>; 2]> {
    at_once(array, None, move |a, _| a.top_k(k, axis).map(<[_; 2]>::from))
}

/// Returns the distinct values, their first indices, their counts and, for each element, the index
/// of its value among the distinct values.
#[pyfunction]
pub(crate) fn unique<'py>(array: &Bound<'py, Array>) -> PyResult<[Bound<'py, PyAny>; 4]> {
    at_once(array, None, |a, _| {
        let Unique { values, indices, counts, inverse } = a.unique()?;
        Ok([values, indices, counts, inverse])
    })
}

/// Returns, for each element, whether the element is among the values.
#[pyfunction]
pub(crate) fn isin<'py>(array: &Bound<'py, Array>, values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let values = OperandValue::required(&array.get().core(), values)?;
    let [found] = at_once(array, Some(values), |a, values| Ok([a.isin(values.expect("the operand"))?]))?;
    Ok(found)
}

/// Returns the positions at which values can be inserted into a sorted vector, so that the vector
/// stays sorted.
#[pyfunction]
pub(crate) fn searchsorted<'py>(
    sorted: &Bound<'py, Array>,
    values: &Bound<'py, PyAny>,
    right: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let values = OperandValue::required(&sorted.get().core(), values)?;
    let side = if right { Side::Right } else { Side::Left };
    let [found] =
        at_once(sorted, Some(values), move |a, values| Ok([a.searchsorted(values.expect("the operand"), side)?]))?;
    Ok(found)
}

/// Returns the elements at which a mask is true. The modes of the mask are the first modes of the
/// array.
#[pyfunction]
pub(crate) fn select<'py>(array: &Bound<'py, Array>, mask: &Bound<'py, Array>) -> PyResult<Bound<'py, PyAny>> {
    let mask = OperandValue::Array(mask.get().core().inner.clone(), mask.get().core().bounds);
    let [selected] = at_once(array, Some(mask), |a, mask| Ok([a.select(&mask.expect("the mask"))?]))?;
    Ok(selected)
}

/// Returns the coordinates of the elements that are not zero, one row for each element.
#[pyfunction]
pub(crate) fn argwhere<'py>(array: &Bound<'py, Array>) -> PyResult<Bound<'py, PyAny>> {
    let [coordinates] = at_once(array, None, |a, _| Ok([a.argwhere()?]))?;
    Ok(coordinates)
}

/// Returns the coordinates of the elements that are not zero, one vector for each mode.
#[pyfunction]
pub(crate) fn nonzero<'py>(array: &Bound<'py, Array>) -> PyResult<Bound<'py, PyTuple>> {
    let (py, this) = (array.py(), array.get().core());
    let inner = this.inner.clone();
    let vectors =
        run(py, this.work.saturating_add(this.bounds.size), move |cancel| inner.cancelled_by(cancel).nonzero())?;
    let objects: Vec<_> =
        vectors.into_iter().map(|vector| Array::new(vector, 0)?.into_python(py)).collect::<PyResult<_>>()?;
    PyTuple::new(py, objects)
}

/// Computes a quantile along axes.
#[pyfunction]
pub(crate) fn quantile<'py>(
    array: &Bound<'py, Array>,
    fraction: f64,
    axis: &Bound<'py, PyAny>,
    keepdims: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let axes = axes(axis, keepdims)?;
    let [quantile] = at_once(array, None, move |a, _| Ok([a.quantile(fraction, axes)?]))?;
    Ok(quantile)
}
