//! Reductions, scans and differences along axes.

use crate::argument::{OperatorArgument, axes};
use crate::array::Array;
use crate::dtype::scalar;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use redpoll::Axes;

/// A reduction along axes.
type Reduction = fn(&redpoll::Array, Axes) -> redpoll::Array;

/// The reductions that need no initial value, by name.
const REDUCTIONS: [(&str, Reduction); 15] = [
    ("sum", |a, axes| a.sum(axes)),
    ("prod", |a, axes| a.prod(axes)),
    ("min", |a, axes| a.min(axes)),
    ("max", |a, axes| a.max(axes)),
    ("all", |a, axes| a.all(axes)),
    ("any", |a, axes| a.any(axes)),
    ("count_nonzero", |a, axes| a.count_nonzero(axes)),
    ("mean", |a, axes| a.mean(axes)),
    ("argmin", |a, axes| a.argmin(axes)),
    ("argmax", |a, axes| a.argmax(axes)),
    ("nan_sum", |a, axes| a.nan_sum(axes)),
    ("nan_prod", |a, axes| a.nan_prod(axes)),
    ("nan_min", |a, axes| a.nan_min(axes)),
    ("nan_max", |a, axes| a.nan_max(axes)),
    ("nan_mean", |a, axes| a.nan_mean(axes)),
];

/// Folds the values along axes. Without `initial`, `operator` has the name of a reduction, such as
/// `sum`. With `initial`, `operator` is any operator, and the fold starts from `initial`.
#[pyfunction]
#[pyo3(signature = (array, operator, axis, keepdims = false, initial = None))]
pub(crate) fn reduce<'py>(
    array: &Bound<'py, Array>,
    operator: OperatorArgument<'py>,
    axis: &Bound<'py, PyAny>,
    keepdims: bool,
    initial: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let axes = axes(axis, keepdims)?;
    let this = array.get().core();
    let name = operator.name();
    let result = match (REDUCTIONS.iter().find(|(known, _)| *known == name), initial) {
        (Some((_, reduce)), None) => reduce(&this.inner, axes),
        (_, Some(initial)) => {
            let prim = this.prim.ok_or_else(|| PyTypeError::new_err("an array of structs has no initial value"))?;
            this.inner.reduce(operator.find()?, scalar(initial, prim)?, axes)
        }
        (None, None) => {
            let message = format!("there is no reduction '{name}'; an operator also needs an initial value");
            return Err(PyValueError::new_err(message));
        }
    };
    this.rearranged(array.py(), result)
}

/// Folds the values along one axis and returns every partial result. The operator is `sum`, `prod`,
/// or any associative operator with an identity.
#[pyfunction]
pub(crate) fn scan<'py>(
    array: &Bound<'py, Array>,
    operator: OperatorArgument<'py>,
    axis: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let axes = axes(axis, false)?;
    let core = array.get().core();
    let inner = &core.inner;
    let result = match operator.name() {
        "sum" => inner.cumulative_sum(axes),
        "prod" => inner.cumulative_prod(axes),
        _ => inner.scan(operator.find()?, axes),
    };
    core.derived(array.py(), result)
}

/// Computes a variance or a standard deviation along axes: `var`, `std`, `nan_var` or `nan_std`.
#[pyfunction]
pub(crate) fn moment<'py>(
    array: &Bound<'py, Array>,
    name: &str,
    axis: &Bound<'py, PyAny>,
    correction: f64,
    keepdims: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let axes = axes(axis, keepdims)?;
    let core = array.get().core();
    let inner = &core.inner;
    let result = match name {
        "var" => inner.var(axes, correction),
        "std" => inner.std(axes, correction),
        "nan_var" => inner.nan_var(axes, correction),
        "nan_std" => inner.nan_std(axes, correction),
        _ => return Err(PyValueError::new_err(format!("there is no moment '{name}'"))),
    };
    core.rearranged(array.py(), result)
}

/// Computes the norm of the given order along axes.
#[pyfunction]
pub(crate) fn norm<'py>(
    array: &Bound<'py, Array>,
    order: f64,
    axis: &Bound<'py, PyAny>,
    keepdims: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    core.rearranged(array.py(), core.inner.norm(order, axes(axis, keepdims)?))
}

/// Computes differences of adjacent values along an axis, `order` times.
#[pyfunction]
pub(crate) fn diff<'py>(array: &Bound<'py, Array>, order: usize, axis: i64) -> PyResult<Bound<'py, PyAny>> {
    let core = array.get().core();
    core.derived(array.py(), core.inner.diff(order, axis))
}
