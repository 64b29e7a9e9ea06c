//! Linear algebra: functions of dense matrices, factorizations of sparse matrices, and iterative
//! solvers.

pub(crate) mod dense;
pub(crate) mod eigen;
mod operator;
pub(crate) mod preconditioner;
pub(crate) mod solvers;
pub(crate) mod sparse;

use crate::array::{Array, Core};
use crate::run::run;
use pyo3::prelude::*;
use redpoll::{Error, Session, storage};
use std::sync::Arc;

/// The work of sparse factorizations and iterations. This work has no known bound, so such a run
/// gets a thread of its own.
const UNKNOWN_WORK: u64 = u64::MAX;

/// Computes arrays and the results of a function of these arrays, and returns the results. A signal
/// cancels the computation. The arrays keep their computed tensors.
fn compute<'py, const N: usize, const M: usize>(
    arrays: [&Bound<'py, Array>; N],
    work: impl FnOnce([&Core; N]) -> u64,
    function: impl FnOnce([&redpoll::Array; N]) -> Result<[redpoll::Array; M], Error> + Send + 'static,
) -> PyResult<[Bound<'py, PyAny>; M]> {
    let py = arrays[0].py();
    let cores = arrays.map(|array| array.get().core());
    let work = work(cores.each_ref().map(|core| &**core));
    let owner = cores[0].inner.session().clone();
    let (operands, results) = {
        let cores = cores.clone();
        run(py, work, move |cancel| {
            let operands = cores.map(|core| core.inner.cancelled_by(cancel));
            let session = operands[0].session();
            let tensors = session.compute_all(&operands)?;
            let results = session.collect_all(&function(operands.each_ref())?)?;
            Ok((tensors, results))
        })?
    };
    for ((array, core), tensor) in arrays.iter().zip(&cores).zip(&operands) {
        array.get().note_computed(core, tensor);
    }
    let results = results.into_iter().map(|tensor| array_of(py, &owner, tensor)).collect::<PyResult<Vec<_>>>()?;
    Ok(results.try_into().expect("a tensor for each result"))
}

/// Returns a tensor as an array of a session.
fn array_of<'py>(py: Python<'py>, session: &Session, tensor: storage::Tensor) -> PyResult<Bound<'py, PyAny>> {
    Array::over(session.array(tensor.clone()), &tensor)?.into_python(py)
}

/// Returns a lazy array that an argument binds, if there is an argument.
fn core_of(array: Option<&Bound<'_, Array>>) -> Option<Arc<Core>> {
    array.map(|array| array.get().core())
}
