//! Products: matrix products, sums of products over shared modes, outer and Kronecker products, and
//! Einstein summation.

use crate::argument::OperatorArgument;
use crate::array::Array;
use crate::error::exception;
use crate::operand::{OperandValue, class_name, fill_is_zero, zero_annihilates};
use crate::work::Bounds;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use redpoll::logic::Prim;
use redpoll::logic::op::{Builtin, Op};
use redpoll::{Contraction, Operand};

/// Casts a product to booleans if both operands are boolean, as in NumPy.
fn logical(product: redpoll::Array, operands: [&redpoll::Array; 2]) -> PyResult<redpoll::Array> {
    for operand in operands {
        if operand.dtype().map_err(exception)?.prim() != Some(Prim::Bool) {
            return Ok(product);
        }
    }
    Ok(product.astype(Prim::Bool))
}

/// Returns the bounds of an operand of a sum of products. If the fill value of the operand does not
/// annihilate the products, every element of the operand is multiplied.
fn factor(operand: &redpoll::Array, bounds: Bounds, product: &redpoll::Array) -> Bounds {
    if fill_is_zero(operand) && zero_annihilates(product) { bounds } else { bounds.all_stored() }
}

/// Computes the matrix product.
pub(crate) fn product<'py>(
    py: Python<'py>,
    (a, a_bounds): (&redpoll::Array, Bounds),
    b: OperandValue,
) -> PyResult<Bound<'py, PyAny>> {
    let b_bounds = b.bounds();
    let b = b.into_array(a);
    let (a_shape, b_shape) = (a.shape().map_err(exception)?, b.shape().map_err(exception)?);
    if a_shape.is_empty() || b_shape.is_empty() {
        return Err(PyValueError::new_err("matmul: expected operands with modes; multiply by a number with `*`"));
    }
    let result = logical(a.matmul(&b), [a, &b])?;
    let (a_bounds, b_bounds) = (factor(a, a_bounds, &result), factor(&b, b_bounds, &result));
    let bounds = |shape: &[u64]| Bounds::matrix_product(shape, (a_bounds, &a_shape), (b_bounds, &b_shape));
    Array::bounded(result, bounds)?.into_python(py)
}

/// Applies the function `product` to two operands.
fn of_pair<'py>(
    a: &Bound<'py, Array>,
    b: &Bound<'py, PyAny>,
    product: impl FnOnce(&redpoll::Array, Operand) -> redpoll::Array,
) -> PyResult<Bound<'py, PyAny>> {
    let b = OperandValue::required(&a.get().core(), b)?;
    let core = a.get().core();
    let b_bounds = b.bounds();
    let b = b.into_array(&core.inner);
    let result = logical(product(&core.inner, (&b).into()), [&core.inner, &b])?;
    let operands = [factor(&core.inner, core.bounds, &result), factor(&b, b_bounds, &result)];
    Array::bounded(result, |shape| Bounds::contraction(shape, operands.into_iter()))?.into_python(a.py())
}

/// Computes the matrix product; modes before the last two are broadcast.
#[pyfunction]
pub(crate) fn matmul<'py>(a: &Bound<'py, Array>, b: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let core = a.get().core();
    product(a.py(), (&core.inner, core.bounds), OperandValue::required(&core, b)?)
}

/// The modes that a product sums over: a number of modes, or pairs of modes.
#[derive(FromPyObject)]
pub(crate) enum ContractionArgument {
    Count(usize),
    Pairs(Vec<i64>, Vec<i64>),
}

/// Computes the sum of products over the last modes of `a` and the first modes of `b`, or over
/// pairs of modes.
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
    let mut bounds = Vec::with_capacity(operands.len());
    let mut arrays: Vec<redpoll::Array> = Vec::with_capacity(operands.len());
    for operand in &operands {
        let Ok(array) = operand.cast::<Array>() else {
            return Err(PyTypeError::new_err(format!("einsum: expected arrays, found {}", class_name(operand))));
        };
        let core = array.get().core();
        bounds.push(core.bounds);
        arrays.push(core.inner.clone());
    }
    let Some(first) = arrays.first() else {
        return Err(PyValueError::new_err("einsum: expected at least one array"));
    };
    let (sum, product) = (sum.find()?, product.find()?);
    let is_product = product == Op::Builtin(Builtin::Mul);
    let result = first.session().einsum_with(spec, &arrays, sum, product);
    // If `product` is not multiplication, the fill values of the operands are assumed to be
    // annihilators of `product`.
    if is_product {
        for (operand, array) in bounds.iter_mut().zip(&arrays) {
            *operand = factor(array, *operand, &result);
        }
    }
    Array::bounded(result, |shape| Bounds::contraction(shape, bounds.into_iter()))?.into_python(py)
}
