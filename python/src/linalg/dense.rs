//! Functions of stacks of dense matrices.

use super::compute;
use crate::array::{Array, Core};
use crate::error::exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use redpoll::Error;
use redpoll::linalg::{self, MatrixNorm, QrMode, SvdMode, Tolerance, Triangle};

/// Number of operations of a factorization, divided by the number of elements of its matrices and
/// by the larger dimension of a matrix.
const OPERATIONS: u64 = 8;

/// A function of one array.
type Unary = fn(&redpoll::Array) -> Result<redpoll::Array, Error>;

/// The functions of one array without parameters, by name.
const UNARY: [(&str, Unary); 4] =
    [("det", linalg::det), ("eigvalsh", linalg::eigvalsh), ("inv", linalg::inv), ("svdvals", linalg::svdvals)];

/// The norms of matrices, by the names of their orders.
const NORMS: [(&str, MatrixNorm); 8] = [
    ("fro", MatrixNorm::Frobenius),
    ("nuc", MatrixNorm::Nuclear),
    ("1", MatrixNorm::One),
    ("-1", MatrixNorm::SmallestOne),
    ("2", MatrixNorm::Two),
    ("-2", MatrixNorm::SmallestTwo),
    ("inf", MatrixNorm::Infinity),
    ("-inf", MatrixNorm::SmallestInfinity),
];

/// Returns a bound of the work of functions of dense matrices.
fn work<const N: usize>(cores: [&Core; N]) -> u64 {
    cores.iter().fold(0, |work: u64, core| {
        let larger = core.shape.iter().rev().take(2).max().copied().unwrap_or(0);
        let own = core.bounds.size.saturating_mul(larger).saturating_mul(OPERATIONS);
        work.saturating_add(core.bounds.work).saturating_add(own)
    })
}

/// Computes a function of square matrices, or of any matrices for `svdvals`.
#[pyfunction]
pub(crate) fn matrix_function<'py>(name: &str, a: &Bound<'py, Array>) -> PyResult<Bound<'py, PyAny>> {
    let Some((_, function)) = UNARY.iter().find(|(known, _)| *known == name) else {
        return Err(PyValueError::new_err(format!("there is no function '{name}' of matrices")));
    };
    let [result] = compute([a], work, |[a]| Ok([function(a)?]))?;
    Ok(result)
}

/// Solves systems of equations by Gaussian elimination.
#[pyfunction]
pub(crate) fn solve<'py>(a: &Bound<'py, Array>, b: &Bound<'py, Array>) -> PyResult<Bound<'py, PyAny>> {
    let [x] = compute([a, b], work, |[a, b]| Ok([linalg::solve(a, b)?]))?;
    Ok(x)
}

/// Computes the signs and the logarithms of the absolute values of determinants.
#[pyfunction]
pub(crate) fn slogdet<'py>(a: &Bound<'py, Array>) -> PyResult<[Bound<'py, PyAny>; 2]> {
    compute([a], work, |[a]| {
        let det = linalg::slogdet(a)?;
        Ok([det.sign, det.log_abs_det])
    })
}

/// Computes the lower or upper Cholesky factors.
#[pyfunction]
pub(crate) fn cholesky<'py>(a: &Bound<'py, Array>, upper: bool) -> PyResult<Bound<'py, PyAny>> {
    let triangle = if upper { Triangle::Upper } else { Triangle::Lower };
    let [factor] = compute([a], work, move |[a]| Ok([linalg::cholesky(a, triangle)?]))?;
    Ok(factor)
}

/// Computes the QR factors; `complete` makes `Q` square.
#[pyfunction]
pub(crate) fn qr<'py>(a: &Bound<'py, Array>, complete: bool) -> PyResult<[Bound<'py, PyAny>; 2]> {
    let mode = if complete { QrMode::Complete } else { QrMode::Reduced };
    compute([a], work, move |[a]| {
        let factors = linalg::qr(a, mode)?;
        Ok([factors.q, factors.r])
    })
}

/// Computes the singular value decompositions; `full` makes the matrices of singular vectors
/// square.
#[pyfunction]
pub(crate) fn svd<'py>(a: &Bound<'py, Array>, full: bool) -> PyResult<[Bound<'py, PyAny>; 3]> {
    let mode = if full { SvdMode::Full } else { SvdMode::Thin };
    compute([a], work, move |[a]| {
        let svd = linalg::svd(a, mode)?;
        Ok([svd.u, svd.s, svd.vh])
    })
}

/// Computes the eigenvalues and eigenvectors of symmetric matrices.
#[pyfunction]
pub(crate) fn eigh<'py>(a: &Bound<'py, Array>) -> PyResult<[Bound<'py, PyAny>; 2]> {
    compute([a], work, |[a]| {
        let eigen = linalg::eigh(a)?;
        Ok([eigen.values, eigen.vectors])
    })
}

/// A tolerance: none, a number, or an array with a number for each matrix.
#[derive(FromPyObject)]
pub(crate) enum ToleranceArgument<'py> {
    Array(Bound<'py, Array>),
    Number(Option<f64>),
}

impl From<ToleranceArgument<'_>> for Tolerance {
    fn from(argument: ToleranceArgument<'_>) -> Self {
        match argument {
            ToleranceArgument::Array(array) => Tolerance::Each(array.get().core().inner.clone()),
            ToleranceArgument::Number(number) => number.into(),
        }
    }
}

/// Computes the pseudo-inverses.
#[pyfunction]
pub(crate) fn pinv<'py>(a: &Bound<'py, Array>, rtol: ToleranceArgument<'py>) -> PyResult<Bound<'py, PyAny>> {
    let rtol = Tolerance::from(rtol);
    let [inverse] = compute([a], work, move |[a]| Ok([linalg::pinv(a, rtol)?]))?;
    Ok(inverse)
}

/// Computes the ranks.
#[pyfunction]
pub(crate) fn matrix_rank<'py>(a: &Bound<'py, Array>, rtol: ToleranceArgument<'py>) -> PyResult<Bound<'py, PyAny>> {
    let rtol = Tolerance::from(rtol);
    let [rank] = compute([a], work, move |[a]| Ok([linalg::matrix_rank(a, rtol)?]))?;
    Ok(rank)
}

/// Solves least-squares problems; returns the solutions, residuals, ranks and singular values.
#[pyfunction]
pub(crate) fn lstsq<'py>(
    a: &Bound<'py, Array>,
    b: &Bound<'py, Array>,
    rtol: ToleranceArgument<'py>,
) -> PyResult<[Bound<'py, PyAny>; 4]> {
    let rtol = Tolerance::from(rtol);
    compute([a, b], work, move |[a, b]| {
        let found = linalg::lstsq(a, b, rtol)?;
        Ok([found.x, found.residuals, found.rank, found.singular_values])
    })
}

/// Computes norms of matrices. Norms of sums are lazy; norms of singular values are computed.
#[pyfunction]
pub(crate) fn matrix_norm<'py>(a: &Bound<'py, Array>, order: &str) -> PyResult<Bound<'py, PyAny>> {
    let Some((_, norm)) = NORMS.iter().find(|(known, _)| *known == order) else {
        let message = "the order of a norm of matrices is 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc'";
        return Err(PyValueError::new_err(format!("{message}, found {order}")));
    };
    match norm {
        MatrixNorm::Nuclear | MatrixNorm::Two | MatrixNorm::SmallestTwo => {
            let [result] = compute([a], work, |[a]| Ok([linalg::matrix_norm(a, *norm)?]))?;
            Ok(result)
        }
        _ => {
            let core = a.get().core();
            core.rearranged(a.py(), linalg::matrix_norm(&core.inner, *norm).map_err(exception)?)
        }
    }
}

/// Computes powers of square matrices.
#[pyfunction]
pub(crate) fn matrix_power<'py>(a: &Bound<'py, Array>, power: i64) -> PyResult<Bound<'py, PyAny>> {
    let [result] = compute([a], work, move |[a]| Ok([linalg::matrix_power(a, power)?]))?;
    Ok(result)
}

/// Computes the cross products of vectors along an axis.
#[pyfunction]
pub(crate) fn cross<'py>(a: &Bound<'py, Array>, b: &Bound<'py, Array>, axis: i64) -> PyResult<Bound<'py, PyAny>> {
    let (left, right) = (a.get().core(), b.get().core());
    let product = linalg::cross(&left.inner, &right.inner, axis).map_err(exception)?;
    let operand_work = left.bounds.read().saturating_add(right.bounds.read()).saturating_mul(2);
    Array::new(product, operand_work)?.into_python(a.py())
}
