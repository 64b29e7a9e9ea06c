//! Factorizations of sparse matrices.

use super::{UNKNOWN_WORK, compute};
use crate::array::Array;
use crate::error::exception;
use crate::run::run;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use redpoll::Error;
use redpoll::linalg::{self, SparseCholesky, SparseLu, SparseQr};

/// The factors of a sparse matrix.
#[derive(Clone)]
enum Factors {
    Lu(SparseLu),
    Cholesky(SparseCholesky),
    Qr(SparseQr),
}

/// A factorization of a sparse matrix.
#[pyclass(frozen, module = "redpoll._core")]
pub(crate) struct Factorization {
    factors: Factors,
    shape: (u64, u64),
}

/// Solves a system with a sparse matrix by its LU factors.
#[pyfunction]
pub(crate) fn spsolve<'py>(a: &Bound<'py, Array>, b: &Bound<'py, Array>) -> PyResult<Bound<'py, PyAny>> {
    let [x] = compute([a, b], |_| UNKNOWN_WORK, |[a, b]| Ok([linalg::spsolve(a, b)?]))?;
    Ok(x)
}

#[pymethods]
impl Factorization {
    /// Factorizes a sparse matrix. `kind` is `lu`, `cholesky`, `ldlt` or `qr`.
    #[new]
    fn new(py: Python<'_>, kind: &str, a: &Bound<'_, Array>) -> PyResult<Factorization> {
        let factorize: fn(&redpoll::Array) -> Result<Factors, Error> = match kind {
            "lu" => |a| linalg::sparse_lu(a).map(Factors::Lu),
            "cholesky" => |a| linalg::sparse_cholesky(a).map(Factors::Cholesky),
            "ldlt" => |a| linalg::sparse_ldlt(a).map(Factors::Cholesky),
            "qr" => |a| linalg::sparse_qr(a).map(Factors::Qr),
            _ => return Err(PyValueError::new_err(format!("there is no factorization '{kind}'"))),
        };
        factorized(py, a, factorize)
    }

    /// The numbers of rows and columns of the matrix.
    #[getter]
    fn shape(&self) -> (u64, u64) {
        self.shape
    }

    /// Solves systems for a vector, or for each column of a matrix.
    fn solve<'py>(&self, b: &Bound<'py, Array>) -> PyResult<Bound<'py, PyAny>> {
        let factors = self.factors.clone();
        let solve = move |[b]: [&redpoll::Array; 1]| {
            Ok([match &factors {
                Factors::Lu(factors) => factors.solve(b)?,
                Factors::Cholesky(factors) => factors.solve(b)?,
                Factors::Qr(factors) => factors.solve(b)?,
            }])
        };
        let [x] = compute([b], |_| UNKNOWN_WORK, solve)?;
        Ok(x)
    }

    /// Solves systems with the transposed matrix. QR factors have no such solution.
    fn solve_transposed<'py>(&self, b: &Bound<'py, Array>) -> PyResult<Bound<'py, PyAny>> {
        let Factors::Lu(factors) = &self.factors else {
            return match self.factors {
                Factors::Cholesky(_) => self.solve(b),
                _ => Err(PyValueError::new_err("QR factors do not solve systems with the transposed matrix")),
            };
        };
        let factors = factors.clone();
        let [x] = compute([b], |_| UNKNOWN_WORK, move |[b]| Ok([factors.solve_transposed(b)?]))?;
        Ok(x)
    }

    /// Factorizes a matrix that stores the same coordinates, in the same order.
    fn refactorize(&self, py: Python<'_>, a: &Bound<'_, Array>) -> PyResult<Factorization> {
        let factors = self.factors.clone();
        factorized(py, a, move |a| {
            Ok(match &factors {
                Factors::Lu(factors) => Factors::Lu(factors.refactorize(a)?),
                Factors::Cholesky(factors) => Factors::Cholesky(factors.refactorize(a)?),
                Factors::Qr(factors) => Factors::Qr(factors.refactorize(a)?),
            })
        })
    }

    /// The sign and the logarithm of the absolute value of the determinant, and the number of
    /// stored values of the factors; `None` unless the matrix is symmetric.
    fn determinant(&self) -> Option<(f64, f64, u64)> {
        let Factors::Cholesky(factors) = &self.factors else { return None };
        let det = factors.log_determinant();
        Some((det.sign, det.log_abs, factors.factor_entries()))
    }
}

fn factorized(
    py: Python<'_>,
    a: &Bound<'_, Array>,
    factorize: impl FnOnce(&redpoll::Array) -> Result<Factors, Error> + Send + 'static,
) -> PyResult<Factorization> {
    let core = a.get().core();
    let matrix = core.inner.clone();
    let (tensor, factors) = run(py, UNKNOWN_WORK, move |cancel| {
        let matrix = matrix.cancelled_by(cancel);
        Ok((matrix.compute()?, factorize(&matrix)?))
    })?;
    a.get().note_computed(&core, &tensor);
    let shape = core.inner.shape().map_err(exception)?;
    let [rows, columns] = shape[..] else {
        return Err(PyValueError::new_err(format!("a factorization takes a matrix, found shape {shape:?}")));
    };
    Ok(Factorization { factors, shape: (rows, columns) })
}
