//! The stabilized biconjugate gradient method.

use super::arithmetic::{axpy, dot, xpay};
use super::operator::LinearOperator;
use super::options::{Solution, SolverOptions, Termination};
use super::product::Vector;
use super::system::{Method, System};
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
/// iteration with [`Termination::Breakdown`]. The solution is then the iterate with the smallest
/// residual.
pub fn bicgstab(a: &dyn LinearOperator, b: &Array, options: SolverOptions<'_>) -> Result<Solution, Error> {
    let mut system = System::new(Method { name: "bicgstab", vectors: 6, iterations_per_row: 10 }, (a, b), options)?;
    let mut best = Best { x: system.x.clone(), norm: system.r_norm };
    match iterate(&mut system, &mut best)? {
        Termination::Breakdown => {
            best.restore(&mut system);
            system.solution(Termination::Breakdown)
        }
        end => system.solution(end),
    }
}

/// The iterate with the smallest residual.
struct Best {
    x: Vec<f64>,
    norm: f64,
}

impl Best {
    fn update(&mut self, system: &System<'_>) {
        if system.r_norm < self.norm {
            self.x.copy_from_slice(&system.x);
            self.norm = system.r_norm;
        }
    }

    /// Makes the best iterate the solution of the system.
    fn restore(self, system: &mut System<'_>) {
        (system.x, system.r_norm) = (self.x, self.norm);
    }
}

/// Iterates to the end, and returns the reason to stop. After a breakdown, the vectors of the
/// system may have infinities or NaN.
fn iterate(system: &mut System<'_>, best: &mut Best) -> Result<Termination, Error> {
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
            return Ok(end);
        }
        best.update(system);
        if rho.abs() <= SMALLEST_COSINE * shadow_norm * system.r_norm {
            return Ok(Termination::Breakdown);
        }
        let beta = rho / last_rho * (alpha / omega);
        let (r, last_v) = (&system.r, v.take());
        let [p_square] = sweeper.sweep(n, [&mut p], |at, [p]| {
            if let Some(v) = &last_v {
                axpy(-omega, at.of(v), p);
            }
            xpay(at.of(r), if last_v.is_some() { beta } else { 0.0 }, p);
            [dot(p, p)]
        });
        // The operator takes finite vectors only.
        if !p_square.is_finite() {
            return Ok(Termination::Breakdown);
        }
        let mut p_hat = system.precondition(&mut p)?.map(Vector::into_vec);
        let current = system.a.times(p_hat.as_mut().unwrap_or(&mut p))?;
        alpha = rho / sweeper.dot(&shadow, &current);
        if !alpha.is_finite() {
            system.check_product(&current)?;
            return Ok(Termination::Breakdown);
        }
        // From here to the end of the iteration, `r` has the values that the paper names `s`.
        let [square] = sweeper.sweep(n, [&mut system.r], |at, [r]| {
            axpy(-alpha, at.of(&current), r);
            [dot(r, r)]
        });
        if !square.is_finite() {
            system.check_product(&current)?;
            return Ok(Termination::Breakdown);
        }
        system.r_norm = square.sqrt();
        if system.r_norm <= system.tolerance {
            let step = p_hat.as_ref().unwrap_or(&p);
            let [] = sweeper.sweep(n, [&mut system.x], |at, [x]| {
                axpy(alpha, at.of(step), x);
                []
            });
            let stopped = system.count_iteration();
            return Ok(stopped.unwrap_or(Termination::Converged));
        }
        let mut s_hat = system.precondition_residual()?.map(Vector::into_vec);
        let t = match &mut s_hat {
            Some(s_hat) => system.a.times(s_hat)?,
            None => system.a.times(&mut system.r)?,
        };
        let s = &system.r;
        let [ts, tt] = sweeper.sweep(n, [], |at, []| [dot(at.of(&t), at.of(s)), dot(at.of(&t), at.of(&t))]);
        omega = if tt > 0.0 { ts / tt } else { 0.0 };
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
        if !(tt.is_finite() && square.is_finite() && next_rho.is_finite()) {
            system.check_product(&t)?;
            return Ok(Termination::Breakdown);
        }
        system.r_norm = square.sqrt();
        (last_rho, rho) = (rho, next_rho);
        v = Some(current);
        if let Some(end) = system.count_iteration() {
            return Ok(end);
        }
        if omega == 0.0 && system.r_norm > system.tolerance {
            best.update(system);
            return Ok(Termination::Breakdown);
        }
    }
}
