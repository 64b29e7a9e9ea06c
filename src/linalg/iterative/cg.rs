//! The conjugate gradient method.

use super::arithmetic::{axpy, dot, xpay};
use super::operator::LinearOperator;
use super::options::{Solution, SolverOptions, Termination};
use super::system::{Method, System};
use crate::array::Array;
use crate::error::Error;

/// Solves `A x = b` for a symmetric positive definite matrix by the conjugate gradient method
/// (Hestenes and Stiefel, "Methods of Conjugate Gradients for Solving Linear Systems", 1952).
///
/// An iteration takes one product, and one application of the preconditioner, which must be
/// symmetric and positive definite, too.
///
/// ```
/// use redpoll::linalg::iterative::{SolverOptions, cg};
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 2], [4.0, 1.0, 1.0, 3.0]);
/// let solution = cg(&a, &session.vector([1.0, 2.0]), SolverOptions::default())?;
/// assert!(solution.converged());
/// assert!((solution.x.get::<f64>([0])? - 1.0 / 11.0).abs() < 1e-6);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if shapes do not fit, a vector or a product is not finite, a tolerance is negative, or a
/// product cannot be computed. A matrix that is not positive definite is no error, but ends the
/// iteration with [`Termination::Indefinite`].
pub fn cg(a: &dyn LinearOperator, b: &Array, options: SolverOptions<'_>) -> Result<Solution, Error> {
    let mut system = System::new(Method { name: "cg", vectors: 2, iterations_per_row: 10 }, (a, b), options)?;
    let (n, sweeper) = (system.len(), system.sweeper.clone());
    let mut p = vec![0.0; n];
    let mut last_rho = 0.0;
    loop {
        if let Some(end) = system.end()? {
            return system.solution(end);
        }
        let z = system.precondition_residual()?;
        let r = &system.r;
        let rho = z.as_ref().map_or(system.r_norm.powi(2), |z| sweeper.dot(r, z));
        let z = z.as_deref().unwrap_or(r);
        let beta = if system.iterations == 0 { 0.0 } else { rho / last_rho };
        let [] = sweeper.sweep(n, [&mut p], |at, [p]| {
            xpay(at.of(z), beta, p);
            []
        });
        let q = system.a.times(&mut p)?;
        let curvature = system.finite(sweeper.dot(&p, &q))?;
        if system.finite(rho)? <= 0.0 || curvature <= 0.0 {
            return system.solution(Termination::Indefinite);
        }
        let alpha = rho / curvature;
        let [square] = sweeper.sweep(n, [&mut system.x, &mut system.r], |at, [x, r]| {
            axpy(alpha, at.of(&p), x);
            axpy(-alpha, at.of(&q), r);
            [dot(r, r)]
        });
        system.r_norm = square.sqrt();
        last_rho = rho;
        if let Some(end) = system.count_iteration() {
            return system.solution(end);
        }
    }
}
