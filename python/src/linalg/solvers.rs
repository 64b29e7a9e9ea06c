//! Iterative solvers of linear systems and of least squares.

use super::operator::{CallbackKind, Failure, Operator, OperatorArgument};
use super::{array_of, core_of};
use crate::array::Array;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use redpoll::linalg::iterative::{
    self, Callback, LinearOperator, LsqrOptions, LsqrTermination, Solution, SolverOptions, Termination,
};
use redpoll::{Error, storage};

/// A solver of square systems, and its name.
#[derive(Clone, Copy)]
enum Solver {
    Cg,
    Minres,
    Gmres { restart: u64 },
    Bicgstab,
}

impl Solver {
    fn of(name: &str, restart: u64) -> PyResult<Solver> {
        Ok(match name {
            "cg" => Solver::Cg,
            "minres" => Solver::Minres,
            "gmres" => Solver::Gmres { restart },
            "bicgstab" => Solver::Bicgstab,
            _ => return Err(PyValueError::new_err(format!("there is no solver '{name}'"))),
        })
    }

    fn solve(self, a: &dyn LinearOperator, b: &redpoll::Array, options: SolverOptions<'_>) -> Result<Solution, Error> {
        match self {
            Solver::Cg => iterative::cg(a, b, options),
            Solver::Minres => iterative::minres(a, b, options),
            Solver::Gmres { restart } => iterative::gmres(a, b, restart, options),
            Solver::Bicgstab => iterative::bicgstab(a, b, options),
        }
    }
}

/// Solves a square system. Returns the solution, the reason why the solver stopped, and the number
/// of iterations. `callback` takes the solution as a buffer, or the norm of the residual if `norms`
/// is true.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "parameters of a function of the Python layer")]
pub(crate) fn solve_system<'py>(
    solver: &str,
    a: OperatorArgument<'py>,
    b: &Bound<'py, Array>,
    x0: Option<&Bound<'py, Array>>,
    tolerances: (f64, f64),
    max_iterations: Option<u64>,
    restart: u64,
    preconditioner: Option<OperatorArgument<'py>>,
    callback: Option<Py<PyAny>>,
    norms: bool,
) -> PyResult<(Bound<'py, PyAny>, &'static str, u64)> {
    let solver = Solver::of(solver, restart)?;
    let (py, b) = (b.py(), b.get().core());
    let (a, m) = (Operator::from(a), preconditioner.map(Operator::from));
    let owner = a.session(b.inner.session()).clone();
    let x0 = core_of(x0);
    let failure = Failure::default();
    let calls_python = a.is_python() || m.as_ref().is_some_and(Operator::is_python) || callback.is_some();
    let kind = if norms { CallbackKind::Norm } else { CallbackKind::Solution };
    let (run_owner, run_failure) = (owner.clone(), failure.clone());
    let (x, termination, iterations) = failure.run(py, calls_python, move |cancel| {
        let a = a.bind(&run_owner, cancel, &run_failure);
        let m = m.map(|m| m.bind(&run_owner, cancel, &run_failure));
        let x0 = x0.map(|x0| x0.inner.cancelled_by(cancel));
        let callback = callback.map(|callback| -> Callback<'_> {
            let failure = run_failure.clone();
            Box::new(move |iteration| failure.call_back(&callback, kind, iteration))
        });
        let options = SolverOptions {
            x0: x0.as_ref(),
            rtol: tolerances.0,
            atol: tolerances.1,
            max_iterations,
            preconditioner: m.as_deref(),
            callback,
        };
        let solution = solver.solve(&*a, &b.inner.cancelled_by(cancel), options)?;
        Ok((solution.x.collect()?, solution.termination, solution.iterations))
    })?;
    Ok((array_of(py, &owner, x)?, termination_name(termination), iterations))
}

fn termination_name(termination: Termination) -> &'static str {
    match termination {
        Termination::Converged => "converged",
        Termination::LeastSquares => "least squares",
        Termination::IterationLimit => "iteration limit",
        Termination::Indefinite => "indefinite",
        _ => "breakdown",
    }
}

/// The numbers that `lsqr` of SciPy returns after the solution: the reason to stop, the number of
/// iterations, and seven norms and estimates.
type LsqrNumbers = (u64, u64, f64, f64, f64, f64, f64, f64);

/// Minimizes `norm(A x - b)`. `parameters` are the damping, the relative errors of `A` and `b`, and
/// the limit of the condition number.
#[pyfunction]
pub(crate) fn lsqr<'py>(
    a: OperatorArgument<'py>,
    b: &Bound<'py, Array>,
    x0: Option<&Bound<'py, Array>>,
    parameters: (f64, f64, f64, f64),
    max_iterations: Option<u64>,
) -> PyResult<(Bound<'py, PyAny>, LsqrNumbers)> {
    let (py, b) = (b.py(), b.get().core());
    let a = Operator::from(a);
    let owner = a.session(b.inner.session()).clone();
    let x0 = core_of(x0);
    let failure = Failure::default();
    let (run_owner, run_failure) = (owner.clone(), failure.clone());
    let (x, numbers): (storage::Tensor, LsqrNumbers) = failure.run(py, a.is_python(), move |cancel| {
        let a = a.bind(&run_owner, cancel, &run_failure);
        let x0 = x0.map(|x0| x0.inner.cancelled_by(cancel));
        let (damp, atol, btol, conlim) = parameters;
        let options = LsqrOptions { x0: x0.as_ref(), damp, atol, btol, conlim, max_iterations, callback: None };
        let found = iterative::lsqr(&*a, &b.inner.cancelled_by(cancel), options)?;
        let numbers = (
            lsqr_code(found.termination),
            found.iterations,
            found.residual_norm,
            found.damped_residual_norm,
            found.matrix_norm,
            found.condition,
            found.gradient_norm,
            found.solution_norm,
        );
        Ok((found.x.collect()?, numbers))
    })?;
    Ok((array_of(py, &owner, x)?, numbers))
}

/// Returns the number `istop` of SciPy.
fn lsqr_code(termination: LsqrTermination) -> u64 {
    match termination {
        LsqrTermination::Exact => 0,
        LsqrTermination::Compatible => 1,
        LsqrTermination::LeastSquares => 2,
        LsqrTermination::Condition => 3,
        LsqrTermination::CompatibleToPrecision => 4,
        LsqrTermination::LeastSquaresToPrecision => 5,
        LsqrTermination::ConditionToPrecision => 6,
        _ => 7,
    }
}
