//! Products that sum over shared modes.

use crate::argument::OperatorArgument;
use crate::array::Array;
use crate::error::exception;
use crate::operand::{OperandValue, class_name};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use redpoll::logic::Prim;
use redpoll::{Contraction, Operand};

/// Returns a bound of the work of a product: each element of one operand may meet each element of
/// the other.
fn product_work(a: u64, b: u64) -> u64 {
    a.saturating_mul(b)
}

/// Returns a product of two arrays as NumPy does: that of booleans is a boolean.
fn logical(product: redpoll::Array, operands: [&redpoll::Array; 2]) -> PyResult<redpoll::Array> {
    for operand in operands {
        if operand.dtype().map_err(exception)?.prim() != Some(Prim::Bool) {
            return Ok(product);
        }
    }
    Ok(product.astype(Prim::Bool))
}

/// Computes the matrix product.
pub(crate) fn product<'py>(
    py: Python<'py>,
    (a, work): (&redpoll::Array, u64),
    b: OperandValue,
) -> PyResult<Bound<'py, PyAny>> {
    let work = product_work(work, b.work());
    let b = b.into_array(a);
    if a.rank().map_err(exception)? == 0 || b.rank().map_err(exception)? == 0 {
        return Err(PyValueError::new_err("matmul: expected operands with modes; multiply by a number with `*`"));
    }
    Array::new(logical(a.matmul(&b), [a, &b])?, work)?.into_python(py)
}

/// Applies a product of two operands.
fn of_pair<'py>(
    a: &Bound<'py, Array>,
    b: &Bound<'py, PyAny>,
    product: impl FnOnce(&redpoll::Array, Operand) -> redpoll::Array,
) -> PyResult<Bound<'py, PyAny>> {
    let b = OperandValue::required(&a.get().core(), b)?;
    let core = a.get().core();
    let work = product_work(core.work, b.work());
    let b = b.into_array(&core.inner);
    Array::new(logical(product(&core.inner, (&b).into()), [&core.inner, &b])?, work)?.into_python(a.py())
}

/// Computes the matrix product; modes before the last two are broadcast.
#[pyfunction]
pub(crate) fn matmul<'py>(a: &Bound<'py, Array>, b: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    product(a.py(), (&a.get().core().inner, a.get().core().work), OperandValue::required(&a.get().core(), b)?)
}

/// The modes that a product sums over: a number of modes, or pairs of modes.
#[derive(FromPyObject)]
pub(crate) enum ContractionArgument {
    Count(usize),
    Pairs(Vec<i64>, Vec<i64>),
}

/// Computes the sum of products over the last modes of `a` and the first of `b`, or over pairs.
#[pyfunction]
pub(crate) fn tensordot<'py>(
    a: &Bound<'py, Array>,
    b: &Bound<'py, PyAny>,
    axes: ContractionArgument,
) -> PyResult<Bound<'py, PyAny>> {
    let axes = match axes {
        ContractionArgument::Count(count) => Contraction::Count(count),
        ContractionArgument::Pairs(first, second) => Contraction::Pairs(first, second),
    };
    of_pair(a, b, |a, b| a.tensordot(b, axes))
}

/// Computes the sum of products along an axis of both arrays.
#[pyfunction]
pub(crate) fn vecdot<'py>(a: &Bound<'py, Array>, b: &Bound<'py, PyAny>, axis: i64) -> PyResult<Bound<'py, PyAny>> {
    of_pair(a, b, |a, b| a.vecdot(b, axis))
}

/// Computes the products of all pairs of elements.
#[pyfunction]
pub(crate) fn outer<'py>(a: &Bound<'py, Array>, b: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    of_pair(a, b, |a, b| a.outer(b))
}

/// Computes the Kronecker product.
#[pyfunction]
pub(crate) fn kron<'py>(a: &Bound<'py, Array>, b: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    of_pair(a, b, |a, b| a.kron(b))
}

/// Computes an Einstein summation over the semiring of two operators.
#[pyfunction]
pub(crate) fn einsum<'py>(
    py: Python<'py>,
    spec: &str,
    operands: Vec<Bound<'py, PyAny>>,
    sum: OperatorArgument<'py>,
    product: OperatorArgument<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut work = 1;
    let mut arrays: Vec<redpoll::Array> = Vec::with_capacity(operands.len());
    for operand in &operands {
        let Ok(array) = operand.cast::<Array>() else {
            return Err(PyTypeError::new_err(format!("einsum: expected arrays, found {}", class_name(operand))));
        };
        work = product_work(work, array.get().core().work);
        arrays.push(array.get().core().inner.clone());
    }
    let Some(first) = arrays.first() else {
        return Err(PyValueError::new_err("einsum: expected at least one array"));
    };
    let result = first.session().einsum_with(spec, &arrays, sum.find()?, product.find()?);
    Array::new(result, work)?.into_python(py)
}
