//! The parameters and results of solvers of linear systems.

use super::operator::LinearOperator;
use crate::array::Array;
use std::ops::ControlFlow;

/// A function that is called after each iteration. The solver stops if the function returns
/// [`ControlFlow::Break`].
pub type Callback<'a> = Box<dyn FnMut(&Iteration<'_>) -> ControlFlow<()> + 'a>;

/// The parameters of a solver. A solver stops if the norm of the residual `b - A x` is at most
/// `max(rtol * norm(b), atol)`.
///
/// ```
/// use redpoll::linalg::iterative::{SolverOptions, cg, jacobi};
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 2], [4.0, 1.0, 1.0, 3.0]);
/// let preconditioner = jacobi(&a)?;
/// let options = SolverOptions { rtol: 1e-12, preconditioner: Some(&preconditioner), ..SolverOptions::default() };
/// let solution = cg(&a, &session.vector([1.0, 2.0]), options)?;
/// assert!(solution.converged() && solution.iterations <= 3);
/// # Ok::<(), redpoll::Error>(())
/// ```
pub struct SolverOptions<'a> {
    /// The first guess; zero by default.
    pub x0: Option<&'a Array>,
    /// The tolerance relative to the norm of the right side; 1e-5 by default. Tolerances below
    /// 1e-120, also 0, count as 1e-120.
    pub rtol: f64,
    /// The absolute tolerance; 0 by default.
    pub atol: f64,
    /// The greatest number of iterations. The default is 10 times the number of rows, in `minres` 5
    /// times.
    pub max_iterations: Option<u64>,
    /// An operator that approximates the inverse of the matrix.
    pub preconditioner: Option<&'a dyn LinearOperator>,
    /// A function that is called after each iteration.
    pub callback: Option<Callback<'a>>,
}

impl Default for SolverOptions<'_> {
    fn default() -> Self {
        SolverOptions { x0: None, rtol: 1e-5, atol: 0.0, max_iterations: None, preconditioner: None, callback: None }
    }
}

/// The state of a solver after an iteration.
#[derive(Clone, Copy, Debug)]
pub struct Iteration<'a> {
    /// The number of iterations.
    pub iterations: u64,
    /// The norm of the residual, as the recurrences of the solver compute it. In `lsqr`, this norm
    /// includes the damping.
    pub residual_norm: f64,
    /// The approximate solution; `None` within a cycle of `gmres`. The last iteration of a cycle
    /// has the solution.
    pub x: Option<&'a [f64]>,
}

/// The reason why a solver stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Termination {
    /// The residual is within the tolerance.
    Converged,
    /// The residual is orthogonal to the range of the matrix, so `x` is a least-squares solution of
    /// a system that has no solution. Only `minres` stops for this reason.
    LeastSquares,
    /// The limit of iterations was reached.
    IterationLimit,
    /// The matrix, or the preconditioner, is not positive definite.
    Indefinite,
    /// A division by zero or an overflow ends the recurrences. Another first guess, preconditioner
    /// or solver may help.
    Breakdown,
    /// The callback stopped the solver.
    Stopped,
}

/// The result of a solver of a linear system.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The approximate solution.
    pub x: Array,
    /// The reason why the solver stopped.
    pub termination: Termination,
    /// The number of iterations.
    pub iterations: u64,
    /// The norm of the residual, as the recurrences of the solver compute it. By rounding, it may
    /// differ from the norm of `b - A x` if the tolerance is near the precision of floats.
    pub residual_norm: f64,
}

impl Solution {
    /// Returns whether the residual is within the tolerance.
    ///
    /// ```
    /// use redpoll::linalg::iterative::{SolverOptions, Termination, cg};
    ///
    /// let session = redpoll::Session::default();
    /// let indefinite = session.dense([2, 2], [1.0, 0.0, 0.0, -1.0]);
    /// let solution = cg(&indefinite, &session.vector([1.0, 1.0]), SolverOptions::default())?;
    /// assert!(!solution.converged());
    /// assert_eq!(solution.termination, Termination::Indefinite);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn converged(&self) -> bool {
        self.termination == Termination::Converged
    }
}
