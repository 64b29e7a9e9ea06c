//! Sessions: configurations with caches, and the creation of arrays.

use crate::array::Array;
use crate::dtype::{prim_of, scalar};
use crate::error::exception;
use crate::run::run;
use crate::tensor::{self, Tensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use redpoll::Config;
use redpoll::kernels::run::Workers;
use redpoll::logic::FloatMode;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

/// The work of reading a file or drawing random numbers. This work has no known bound, so such a
/// run gets a thread of its own.
const UNKNOWN_WORK: u64 = u64::MAX;

/// A configuration with a cache of compiled plans. Arrays of several sessions can be combined; the
/// session of the first array computes the result.
#[pyclass(frozen, weakref, module = "redpoll._core")]
pub(crate) struct Session(pub(crate) redpoll::Session);

#[pymethods]
impl Session {
    /// Makes a session. `floats` is `relaxed` or `strict`. With `relaxed`, sums are regrouped, and
    /// a product with 0 is 0 even if the other factor is infinite or NaN. With `strict`, floats
    /// follow IEEE 754. `memory_limit` is the largest number of bytes of all results and workspaces
    /// at one time, and `threads` is the number of threads of a run.
    #[new]
    #[pyo3(signature = (*, floats = "relaxed", memory_limit = None, threads = None))]
    fn new(floats: &str, memory_limit: Option<usize>, threads: Option<usize>) -> PyResult<Session> {
        let mut config = Config { memory_limit, ..Config::default() };
        config.optimizer.float_mode = match floats {
            "strict" => FloatMode::StrictIeee,
            "relaxed" => FloatMode::Relaxed,
            _ => return Err(PyValueError::new_err(format!("floats are 'strict' or 'relaxed', found '{floats}'"))),
        };
        if let Some(threads) = threads {
            let threads = NonZero::new(threads)
                .ok_or_else(|| PyValueError::new_err("the number of threads is at least 1, found 0"))?;
            config.workers = Arc::new(Workers::new(threads));
        }
        Ok(Session(redpoll::Session::new(config)))
    }

    /// Returns an array with the values of a tensor.
    fn array<'py>(&self, tensor: &Bound<'py, Tensor>) -> PyResult<Bound<'py, PyAny>> {
        let tensor_of_array = &tensor.get().0;
        Array::over(self.0.array(tensor_of_array.clone()), tensor_of_array)?.into_python(tensor.py())
    }

    /// Returns an array whose elements all have one value. The array stores no element.
    fn full<'py>(
        &self,
        py: Python<'py>,
        shape: Vec<u64>,
        value: &Bound<'py, PyAny>,
        dtype: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        created(py, self.0.full(shape, scalar(value, prim_of(dtype)?)?))
    }

    /// Returns the integers from `start` to `stop` (exclusive), in steps of `step`.
    fn integers<'py>(&self, py: Python<'py>, start: i64, stop: i64, step: i64) -> PyResult<Bound<'py, PyAny>> {
        created(py, self.0.arange(start, stop, step))
    }

    /// Returns the floats from `start` to `stop` (exclusive), in steps of `step`.
    fn floats<'py>(&self, py: Python<'py>, start: f64, stop: f64, step: f64) -> PyResult<Bound<'py, PyAny>> {
        created(py, self.0.arange(start, stop, step))
    }

    /// Returns `count` floats at equal distances from `start` to `stop` (inclusive).
    fn linspace<'py>(&self, py: Python<'py>, start: f64, stop: f64, count: u64) -> PyResult<Bound<'py, PyAny>> {
        created(py, self.0.linspace(start, stop, count))
    }

    /// Returns the matrix with ones on diagonal `k`.
    fn eye<'py>(&self, py: Python<'py>, rows: u64, columns: u64, k: i64, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
        created(py, self.0.eye(rows, columns, k, prim_of(dtype)?))
    }

    /// Draws an array of random numbers. A seed gives the same numbers on every machine.
    /// `distribution` is `uniform`, `normal` or `integers`. `parameters` has the bounds of
    /// `uniform` and `integers`, or the mean and the standard deviation of `normal`.
    #[pyo3(signature = (shape, *, density = None, distribution = "uniform", parameters = (0.0, 1.0), dtype = None,
        format = None, seed = 0))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
    fn random<'py>(
        &self,
        py: Python<'py>,
        shape: Vec<u64>,
        density: Option<f64>,
        distribution: &str,
        parameters: (f64, f64),
        dtype: Option<&str>,
        format: Option<&str>,
        seed: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (a, b) = parameters;
        let rank = shape.len();
        let random = self.0.random(shape).seed(seed);
        let mut random = match distribution {
            "uniform" => random.uniform(a, b),
            "normal" => random.normal(a, b),
            "integers" => random.integers(a as i64, b as i64),
            _ => {
                let message = format!("a distribution is 'uniform', 'normal' or 'integers', found '{distribution}'");
                return Err(PyValueError::new_err(message));
            }
        };
        if let Some(density) = density {
            random = random.density(density);
        }
        if let Some(dtype) = dtype {
            random = random.dtype(prim_of(dtype)?);
        }
        if let Some(format) = format {
            random = random.format(tensor::format(format, rank)?);
        }
        created(py, run(py, UNKNOWN_WORK, move |_| random.array())?)
    }

    /// Reads an array from a file, whose extension or first bytes determine the file format.
    /// `dtype` is the dtype of the values. `columns`, `values` and `vertices_per_mode` are options
    /// of edge lists.
    #[pyo3(signature = (path, *, dtype = None, columns = None, values = None, vertices_per_mode = false))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        dtype: Option<&str>,
        columns: Option<Vec<String>>,
        values: Option<String>,
        vertices_per_mode: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut scan = self.0.scan(path);
        if let Some(dtype) = dtype {
            scan = scan.dtype(prim_of(dtype)?);
        }
        if let Some(columns) = columns {
            scan = scan.columns(columns);
        }
        if let Some(values) = values {
            scan = scan.values(values);
        }
        if vertices_per_mode {
            scan = scan.vertices_per_mode();
        }
        created(py, run(py, UNKNOWN_WORK, move |_| scan.read())?)
    }

    /// Returns a small real data set that ships with redpoll.
    fn sample<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        created(py, self.0.sample(name).map_err(exception)?)
    }
}

/// Returns a new array as an object of the Python layer.
fn created(py: Python<'_>, array: redpoll::Array) -> PyResult<Bound<'_, PyAny>> {
    Array::new(array, 0)?.into_python(py)
}
