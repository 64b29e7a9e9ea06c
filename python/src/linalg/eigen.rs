//! A few eigenvalues or singular values, and the action of matrix exponentials.

use super::operator::{Failure, Operator, OperatorArgument};
use super::{UNKNOWN_WORK, array_of, compute, core_of};
use crate::array::Array;
use crate::session::Session;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use redpoll::linalg::iterative::{self, EigenOptions, Shift, Which};
use redpoll::{Error, storage};

/// The choices of eigenvalues, by the names of ARPACK.
const CHOICES: [(&str, Which); 5] = [
    ("LM", Which::LargestMagnitude),
    ("SM", Which::SmallestMagnitude),
    ("LA", Which::LargestAlgebraic),
    ("SA", Which::SmallestAlgebraic),
    ("BE", Which::BothEnds),
];

/// The parameters of eigenvalue solvers: their number, the choice, the tolerance, the limit of
/// restarts, and the dimension of the subspace.
type EigenParameters = (u64, String, f64, Option<u64>, Option<u64>);

/// Computes eigenvalues and eigenvectors of a symmetric operator. `shift` is a number and, unless
/// the operator is an array, the inverse of the shifted operator.
#[pyfunction]
pub(crate) fn eigsh<'py>(
    session: &Bound<'py, Session>,
    a: OperatorArgument<'py>,
    parameters: EigenParameters,
    v0: Option<&Bound<'py, Array>>,
    shift: Option<(f64, Option<OperatorArgument<'py>>)>,
) -> PyResult<[Bound<'py, PyAny>; 2]> {
    let shift = shift.map(|(sigma, inverse)| (sigma, inverse.map(Operator::from)));
    pairs(session, a, parameters, v0, shift, |a, k, options| {
        let found = iterative::eigsh(a, k, options)?;
        Ok([found.values.collect()?, found.vectors.collect()?])
    })
}

/// Computes singular values and vectors of an operator: `u`, the values and `vt`.
#[pyfunction]
pub(crate) fn svds<'py>(
    session: &Bound<'py, Session>,
    a: OperatorArgument<'py>,
    parameters: EigenParameters,
    v0: Option<&Bound<'py, Array>>,
) -> PyResult<[Bound<'py, PyAny>; 3]> {
    pairs(session, a, parameters, v0, None, |a, k, options| {
        let found = iterative::svds(a, k, options)?;
        Ok([found.u.collect()?, found.values.collect()?, found.vt.collect()?])
    })
}

fn pairs<'py, const N: usize>(
    session: &Bound<'py, Session>,
    a: OperatorArgument<'py>,
    (k, which, tol, max_restarts, subspace): EigenParameters,
    v0: Option<&Bound<'py, Array>>,
    shift: Option<(f64, Option<Operator>)>,
    solve: impl FnOnce(&dyn iterative::LinearOperator, u64, &EigenOptions<'_>) -> Result<[storage::Tensor; N], Error>
    + Send
    + 'static,
) -> PyResult<[Bound<'py, PyAny>; N]> {
    let Some((_, which)) = CHOICES.iter().find(|(known, _)| *known == which) else {
        let message = format!("`which` is 'LM', 'SM', 'LA', 'SA' or 'BE', found '{which}'");
        return Err(PyValueError::new_err(message));
    };
    let py = session.py();
    let a = Operator::from(a);
    let owner = a.session(&session.get().0).clone();
    let v0 = core_of(v0);
    let failure = Failure::default();
    let calls_inverse = shift.as_ref().is_some_and(|(_, inverse)| inverse.as_ref().is_some_and(Operator::is_python));
    let (run_owner, run_failure) = (owner.clone(), failure.clone());
    let tensors = failure.run(py, a.is_python() || calls_inverse, move |cancel| {
        let a = a.bind(&run_owner, cancel, &run_failure);
        let v0 = v0.map(|v0| v0.inner.cancelled_by(cancel));
        let shift = shift.map(|(sigma, inverse)| (sigma, inverse.map(|m| m.bind(&run_owner, cancel, &run_failure))));
        let shift = shift.as_ref().map(|(sigma, inverse)| Shift { sigma: *sigma, inverse: inverse.as_deref() });
        let options = EigenOptions { which: *which, tol, max_restarts, subspace, v0: v0.as_ref(), shift, b: None };
        solve(&*a, k, &options)
    })?;
    let arrays = tensors.into_iter().map(|tensor| array_of(py, &owner, tensor)).collect::<PyResult<Vec<_>>>()?;
    Ok(arrays.try_into().expect("an array for each tensor"))
}

/// Computes `exp(t A) B`.
#[pyfunction]
pub(crate) fn expm_multiply<'py>(a: &Bound<'py, Array>, b: &Bound<'py, Array>, t: f64) -> PyResult<Bound<'py, PyAny>> {
    let [product] = compute([a, b], |_| UNKNOWN_WORK, move |[a, b]| Ok([iterative::expm_multiply(a, b, t)?]))?;
    Ok(product)
}
