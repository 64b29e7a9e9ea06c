//! Preconditioners.

use super::{UNKNOWN_WORK, array_of};
use crate::array::Array;
use crate::run::run;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use redpoll::Error;
use redpoll::linalg::iterative::{self, LinearOperator};
use std::sync::Arc;

/// An approximate inverse of a square matrix.
#[pyclass(frozen, module = "redpoll._core")]
pub(crate) struct Preconditioner {
    pub(super) inner: Arc<iterative::Preconditioner>,
    rows: u64,
}

/// A function that makes a preconditioner of a matrix.
type Constructor = fn(&redpoll::Array) -> Result<iterative::Preconditioner, Error>;

/// The preconditioners, by name.
const CONSTRUCTORS: [(&str, Constructor); 3] =
    [("jacobi", iterative::jacobi), ("ilu0", iterative::ilu0), ("ic0", iterative::ic0)];

#[pymethods]
impl Preconditioner {
    /// Makes the preconditioner `jacobi`, `ilu0` or `ic0` of a matrix.
    #[new]
    fn new(py: Python<'_>, name: &str, a: &Bound<'_, Array>) -> PyResult<Preconditioner> {
        let Some((_, constructor)) = CONSTRUCTORS.iter().find(|(known, _)| *known == name) else {
            return Err(PyValueError::new_err(format!("there is no preconditioner '{name}'")));
        };
        let matrix = a.get().core().inner.clone();
        let (inner, rows) = run(py, UNKNOWN_WORK, move |cancel| {
            let inner = constructor(&matrix.cancelled_by(cancel))?;
            let rows = inner.size()?.0;
            Ok((inner, rows))
        })?;
        Ok(Preconditioner { inner: Arc::new(inner), rows })
    }

    /// The numbers of rows and columns.
    #[getter]
    fn shape(&self) -> (u64, u64) {
        (self.rows, self.rows)
    }

    /// Returns the product with a vector, or the product of the transpose.
    fn multiply<'py>(&self, x: &Bound<'py, Array>, transposed: bool) -> PyResult<Bound<'py, PyAny>> {
        let core = x.get().core();
        let (inner, vector) = (self.inner.clone(), core.inner.clone());
        let tensor = run(x.py(), core.work, move |cancel| {
            let vector = vector.cancelled_by(cancel);
            let product = if transposed { inner.multiply_transposed(&vector)? } else { inner.multiply(&vector)? };
            product.collect()
        })?;
        array_of(x.py(), core.inner.session(), tensor)
    }
}
