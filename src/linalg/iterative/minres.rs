//! The minimal residual method.

use super::arithmetic::{axpy, dot, scale};
use super::operator::LinearOperator;
use super::options::{Solution, SolverOptions, Termination};
use super::product::Vector;
use super::system::{Method, System};
use crate::array::Array;
use crate::error::Error;

/// Solves `A x = b` for a symmetric matrix, which may be indefinite or singular, by the minimal
/// residual method (Paige and Saunders, "Solution of Sparse Indefinite Systems of Linear
/// Equations", 1975). The preconditioner must be symmetric and positive definite.
///
/// `rtol` is relative to `norm(A) * norm(x)`, where `norm(A)` is estimated; the other solvers use
/// `norm(b)`. The iteration also ends if the norm of the residual is at most `atol`, or if the
/// residual is orthogonal to the range of the matrix to the tolerance `rtol`
/// ([`Termination::LeastSquares`]). With a preconditioner `M`, the norm of a residual `r` is the
/// square root of `r^T M r`. The default limit of iterations is 5 times the number of rows.
///
/// ```
/// use redpoll::linalg::iterative::{SolverOptions, minres};
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 2], [1.0, 2.0, 2.0, 1.0]);
/// let solution = minres(&a, &session.vector([5.0, 4.0]), SolverOptions::default())?;
/// assert!(solution.converged());
/// assert!((solution.x.get::<f64>([1])? - 2.0).abs() < 1e-4);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// The errors of [`cg`](super::cg). A preconditioner that is not positive definite ends the
/// iteration with [`Termination::Indefinite`].
pub fn minres(a: &dyn LinearOperator, b: &Array, options: SolverOptions<'_>) -> Result<Solution, Error> {
    const EPSILON: f64 = f64::EPSILON;
    let mut system = System::new(Method { name: "minres", vectors: 7, iterations_per_row: 5 }, (a, b), options)?;
    let (n, sweeper) = (system.len(), system.sweeper.clone());
    // Only `atol` is compared with the norm of the residual alone.
    system.tolerance = system.atol;
    // The names of vectors and numbers are those of the authors' program.
    let mut y = system.precondition_residual()?.map_or_else(|| system.r.clone(), Vector::into_vec);
    let beta1 = system.finite(sweeper.dot(&system.r, &y))?;
    if beta1 < 0.0 {
        return system.solution(Termination::Indefinite);
    }
    let beta1 = beta1.sqrt();
    if beta1 == 0.0 {
        let end = if system.r_norm == 0.0 { Termination::Converged } else { Termination::Indefinite };
        return system.solution(end);
    }
    system.r_norm = beta1;
    let mut r1: Vec<f64> = vec![0.0; n];
    let mut r2 = system.r.clone();
    let (mut w, mut w1, mut w2) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    let (mut old_beta, mut beta) = (0.0, beta1);
    let (mut dbar, mut epsilon, mut phibar) = (0.0, 0.0, beta1);
    let (mut cs, mut sn) = (-1.0, 0.0);
    let (mut norm_squares, mut gamma_max, mut gamma_min) = (0.0, 0.0_f64, f64::MAX);
    let mut is_eigenvector = false;
    loop {
        if let Some(end) = system.end()? {
            return system.solution(end);
        }
        if is_eigenvector {
            return system.solution(Termination::Converged);
        }
        sweeper.scale(1.0 / beta, &mut y);
        let product = system.a.times(&mut y)?;
        let v = std::mem::take(&mut y);
        // `r1` becomes the product minus its parts along the last two Lanczos vectors.
        let back = if system.iterations == 0 { 0.0 } else { beta / old_beta };
        let [alfa] = sweeper.sweep(n, [&mut r1], |at, [r1]| {
            r1.iter_mut().zip(at.of(&product)).for_each(|(r1, y)| *r1 = y - back * *r1);
            [dot(at.of(&v), r1)]
        });
        let forward = alfa / beta;
        let [square] = sweeper.sweep(n, [&mut r1], |at, [r1]| {
            axpy(-forward, at.of(&r2), r1);
            [dot(r1, r1)]
        });
        std::mem::swap(&mut r1, &mut r2);
        old_beta = beta;
        let preconditioned = system.precondition(&mut r2)?;
        let beta_square = match &preconditioned {
            Some(y) => sweeper.dot(&r2, y),
            None => square,
        };
        if system.finite(beta_square)? < 0.0 {
            return system.solution(Termination::Indefinite);
        }
        beta = beta_square.sqrt();
        // The first `old_beta` is the norm of the residual, not an element of the projected matrix.
        let above: f64 = if system.iterations == 0 { 0.0 } else { old_beta };
        norm_squares += alfa.powi(2) + above.powi(2) + beta.powi(2);
        is_eigenvector = system.iterations == 0 && beta <= 10.0 * EPSILON * alfa.abs();

        // The previous rotation, then the next one.
        let old_epsilon = epsilon;
        let delta = cs * dbar + sn * alfa;
        let gbar: f64 = sn * dbar - cs * alfa;
        epsilon = sn * beta;
        dbar = -cs * beta;
        let root = gbar.hypot(dbar);
        // `root` is the norm of the product of the matrix with the residual before this step,
        // divided by the norm of the residual. If it is within the tolerance, the residual is
        // orthogonal to the range of the matrix, and a further step would only add a large vector
        // of the null space.
        let a_norm = f64::sqrt(norm_squares);
        if root <= system.rtol.max(EPSILON) * a_norm {
            return system.solution(Termination::LeastSquares);
        }
        // Not zero, because it is at least `root`.
        let gamma = gbar.hypot(beta);
        cs = gbar / gamma;
        sn = beta / gamma;
        let phi = cs * phibar;
        phibar *= sn;

        // The new direction replaces the oldest one.
        std::mem::swap(&mut w1, &mut w2);
        std::mem::swap(&mut w2, &mut w);
        let (old1, old2) = (&w1, &w2);
        let mut next_y = v;
        let [x_square] = sweeper.sweep(n, [&mut w, &mut system.x, &mut next_y], |at, [w, x, v]| {
            w.copy_from_slice(v);
            axpy(-old_epsilon, at.of(old1), w);
            axpy(-delta, at.of(old2), w);
            scale(1.0 / gamma, w);
            axpy(phi, w, x);
            v.copy_from_slice(preconditioned.as_deref().map_or(at.of(&r2), |y| at.of(y)));
            [dot(x, x)]
        });
        y = next_y;

        gamma_max = gamma_max.max(gamma);
        gamma_min = gamma_min.min(gamma);
        let x_norm = system.finite(x_square)?.sqrt();
        system.r_norm = phibar;
        let relative = phibar / (a_norm * x_norm);
        if let Some(end) = system.count_iteration() {
            return system.solution(end);
        }
        if relative <= system.rtol.max(EPSILON) {
            return system.solution(Termination::Converged);
        }
        if a_norm * x_norm * EPSILON >= beta1 {
            return system.solution(Termination::Converged);
        }
        if gamma_max / gamma_min >= 0.1 / EPSILON {
            return system.solution(Termination::Breakdown);
        }
    }
}
