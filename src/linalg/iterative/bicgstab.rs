//! The stabilized biconjugate gradient method.

use super::arithmetic::{axpy, dot, xpay};
use super::operator::LinearOperator;
use super::options::{Solution, SolverOptions, Termination};
use super::product::Vector;
use super::system::System;
use crate::array::Array;
use crate::error::Error;

/// The recurrences have broken down if the cosine of the angle between two vectors is below this
/// number.
const SMALLEST_COSINE: f64 = f64::EPSILON * f64::EPSILON;

/// Solves `A x = b` for a square matrix by the stabilized biconjugate gradient method (van der
/// Vorst, "Bi-CGSTAB: A Fast and Smoothly Converging Variant of Bi-CG for the Solution of
/// Nonsymmetric Linear Systems", 1992), with the preconditioner on the right.
///
/// An iteration takes two products and two applications of the preconditioner.
///
/// ```
/// use redpoll::linalg::iterative::{SolverOptions, bicgstab};
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 2], [4.0, 1.0, -1.0, 2.0]);
/// let solution = bicgstab(&a, &session.vector([5.0, 1.0]), SolverOptions::default())?;
/// assert!(solution.converged());
/// assert!((solution.x.get::<f64>([1])? - 1.0).abs() < 1e-4);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// The errors of [`cg`](super::cg). A breakdown of the recurrences is no error, but ends the
/// iteration with [`Termination::Breakdown`].
pub fn bicgstab(a: &dyn LinearOperator, b: &Array, options: SolverOptions<'_>) -> Result<Solution, Error> {
    let mut system = System::new("bicgstab", (a, b), options)?;
    let (n, sweeper) = (system.len(), system.sweeper.clone());
    // The names of vectors and numbers are those of the paper.
    let shadow = system.r.clone();
    let shadow_norm = system.r_norm;
    let mut p = vec![0.0; n];
    let mut v: Option<Vector> = None;
    let (mut last_rho, mut alpha, mut omega) = (1.0, 1.0, 1.0);
    let mut rho = shadow_norm.powi(2);
    loop {
        if let Some(end) = system.end()? {
            return system.solution(end);
        }
        if rho.abs() <= SMALLEST_COSINE * shadow_norm * system.r_norm {
            return system.solution(Termination::Breakdown);
        }
        let beta = rho / last_rho * (alpha / omega);
        let (r, last_v) = (&system.r, v.take());
        let [] = sweeper.sweep(n, [&mut p], |at, [p]| {
            if let Some(v) = &last_v {
                axpy(-omega, at.of(v), p);
            }
            xpay(at.of(r), if last_v.is_some() { beta } else { 0.0 }, p);
            []
        });
        let mut p_hat = system.precondition(&mut p)?.map(Vector::into_vec);
        let current = system.a.times(p_hat.as_mut().unwrap_or(&mut p))?;
        let projection = system.finite(sweeper.dot(&shadow, &current))?;
        if projection == 0.0 {
            return system.solution(Termination::Breakdown);
        }
        alpha = rho / projection;
        // From here to the end of the iteration, `r` has the values that the paper names `s`.
        let [square] = sweeper.sweep(n, [&mut system.r], |at, [r]| {
            axpy(-alpha, at.of(&current), r);
            [dot(r, r)]
        });
        system.r_norm = system.finite(square.sqrt())?;
        if system.r_norm <= system.tolerance {
            let step = p_hat.as_ref().unwrap_or(&p);
            let [] = sweeper.sweep(n, [&mut system.x], |at, [x]| {
                axpy(alpha, at.of(step), x);
                []
            });
            let stopped = system.count_iteration();
            return system.solution(stopped.unwrap_or(Termination::Converged));
        }
        let mut s_hat = system.precondition_residual()?.map(Vector::into_vec);
        let t = match &mut s_hat {
            Some(s_hat) => system.a.times(s_hat)?,
            None => system.a.times(&mut system.r)?,
        };
        let s = &system.r;
        let [ts, tt] = sweeper.sweep(n, [], |at, []| [dot(at.of(&t), at.of(s)), dot(at.of(&t), at.of(&t))]);
        omega = if system.finite(tt)? > 0.0 { ts / tt } else { 0.0 };
        let p_step = p_hat.as_ref().unwrap_or(&p);
        let s_hat = s_hat.as_ref();
        let [square, next_rho] = sweeper.sweep(n, [&mut system.x, &mut system.r], |at, [x, r]| {
            axpy(alpha, at.of(p_step), x);
            match s_hat {
                Some(s_hat) => axpy(omega, at.of(s_hat), x),
                None => axpy(omega, r, x),
            }
            axpy(-omega, at.of(&t), r);
            [dot(r, r), dot(at.of(&shadow), r)]
        });
        system.r_norm = square.sqrt();
        (last_rho, rho) = (rho, next_rho);
        v = Some(current);
        if let Some(end) = system.count_iteration() {
            return system.solution(end);
        }
        if omega == 0.0 && system.r_norm > system.tolerance {
            return system.solution(Termination::Breakdown);
        }
    }
}
