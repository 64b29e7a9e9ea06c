//! Least squares by LSQR.

use super::arithmetic::{Sweeper, axpy, dot, scale, xpay};
use super::operator::{LinearOperator, Orientation};
use super::options::{Callback, Iteration};
use super::system::{array_of, charge, check_cancelled, check_tolerance, finite, product_of, vector_of};
use crate::array::Array;
use crate::error::Error;

/// The parameters of [`lsqr`].
pub struct LsqrOptions<'a> {
    /// The first guess; zero by default.
    pub x0: Option<&'a Array>,
    /// The damping: `norm(A x - b)^2 + damp^2 norm(x - x0)^2` is minimized; 0 by default.
    pub damp: f64,
    /// The relative error of the elements of `A`; 1e-6 by default.
    pub atol: f64,
    /// The relative error of the elements of `b`; 1e-6 by default.
    pub btol: f64,
    /// The limit of the estimated condition number of `A`; 1e8 by default, 0 for no limit.
    pub conlim: f64,
    /// The greatest number of iterations; twice the number of columns by default.
    pub max_iterations: Option<u64>,
    /// A function that is called after each iteration.
    pub callback: Option<Callback<'a>>,
}

impl Default for LsqrOptions<'_> {
    fn default() -> Self {
        LsqrOptions { x0: None, damp: 0.0, atol: 1e-6, btol: 1e-6, conlim: 1e8, max_iterations: None, callback: None }
    }
}

/// The reason why [`lsqr`] stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LsqrTermination {
    /// The first guess is a least-squares solution, so there was no iteration.
    Exact,
    /// `A x = b` holds to the tolerances `atol` and `btol`.
    Compatible,
    /// `x` is a least-squares solution to the tolerance `atol`.
    LeastSquares,
    /// The estimate of the condition number exceeds `conlim`.
    Condition,
    /// `A x = b` holds to the precision of floats.
    CompatibleToPrecision,
    /// `x` is a least-squares solution to the precision of floats.
    LeastSquaresToPrecision,
    /// The condition number is too large for the precision of floats.
    ConditionToPrecision,
    /// The limit of iterations was reached.
    IterationLimit,
    /// The callback stopped the solver.
    Stopped,
}

/// The result of [`lsqr`].
#[derive(Clone, Debug)]
pub struct LeastSquaresSolution {
    /// The approximate solution.
    pub x: Array,
    /// The reason why the solver stopped.
    pub termination: LsqrTermination,
    /// The number of iterations.
    pub iterations: u64,
    /// The estimate of `norm(b - A x)`.
    pub residual_norm: f64,
    /// The estimate of the square root of `norm(b - A x)^2 + damp^2 norm(x - x0)^2`.
    pub damped_residual_norm: f64,
    /// The estimate of the Frobenius norm of the matrix that has `A` above `damp I`.
    pub matrix_norm: f64,
    /// The estimate of the condition number of that matrix.
    pub condition: f64,
    /// The estimate of the norm of the gradient `A^T (b - A x) - damp^2 (x - x0)`.
    pub gradient_norm: f64,
    /// The estimate of the norm of `x - x0`.
    pub solution_norm: f64,
}

/// Minimizes `norm(A x - b)` for a matrix of any shape by LSQR (Paige and Saunders, "LSQR: An
/// Algorithm for Sparse Linear Equations and Sparse Least Squares", 1982). If several vectors
/// minimize it, the result is the one that is closest to the first guess.
///
/// An iteration takes a product with the matrix, and one with its transpose.
///
/// ```
/// use redpoll::linalg::iterative::{LsqrOptions, LsqrTermination, lsqr};
///
/// let session = redpoll::Session::default();
/// let a = session.dense([3, 1], [1.0, 1.0, 1.0]);
/// let mean = lsqr(&a, &session.vector([1.0, 2.0, 6.0]), LsqrOptions::default())?;
/// assert_eq!(mean.termination, LsqrTermination::LeastSquares);
/// assert!((mean.x.get::<f64>([0])? - 3.0).abs() < 1e-6);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if shapes do not fit, a vector or a product is not finite, a parameter is negative, or a
/// product cannot be computed.
pub fn lsqr(a: &dyn LinearOperator, b: &Array, options: LsqrOptions<'_>) -> Result<LeastSquaresSolution, Error> {
    const NAME: &str = "lsqr";
    const EPSILON: f64 = f64::EPSILON;
    let LsqrOptions { damp, atol, btol, conlim, mut callback, .. } = options;
    for (parameter, found) in [("atol", atol), ("btol", btol), ("conlim", conlim), ("damp", damp)] {
        check_tolerance(NAME, parameter, found)?;
    }
    finite(NAME, "the damping", damp)?;
    let (rows, columns) = a.size()?;
    let max_iterations = options.max_iterations.unwrap_or(columns.saturating_mul(2));
    let sweeper = Sweeper::of(a.session());
    let (m, n) = (rows as usize, columns as usize);
    let _charge = charge(a.session(), columns.saturating_mul(3).saturating_add(rows))?;
    let mut plain = product_of(a, Orientation::Plain)?;
    let mut transposed = product_of(a, Orientation::Transposed)?;
    // The names of numbers are those of the authors' program.
    let (mut u, mut v, mut alfa) = (vector_of(NAME, b, rows)?, vec![0.0; n], 0.0);
    let b_norm = finite(NAME, "the right side", sweeper.norm(&u))?;
    let mut x = vec![0.0; n];
    let mut beta = b_norm;
    if let Some(x0) = options.x0 {
        x = vector_of(NAME, x0, columns)?;
        finite(NAME, "the first guess", sweeper.norm(&x))?;
        let product = plain.times(&mut x)?;
        let [square] = sweeper.sweep(m, [&mut u], |at, [u]| {
            axpy(-1.0, at.of(&product), u);
            [dot(u, u)]
        });
        beta = finite(NAME, "the product with the first guess", square.sqrt())?;
    }
    if beta > 0.0 {
        sweeper.scale(1.0 / beta, &mut u);
        v = transposed.times(&mut u)?.into_vec();
        alfa = finite(NAME, "a product", sweeper.norm(&v))?;
        if alfa > 0.0 {
            sweeper.scale(1.0 / alfa, &mut v);
        }
    }
    let (mut rhobar, mut phibar, mut w) = (alfa, beta, v.clone());
    let mut found = LeastSquaresSolution {
        x: array_of(a.session(), Vec::new())?,
        termination: LsqrTermination::Exact,
        iterations: 0,
        residual_norm: beta,
        damped_residual_norm: beta,
        matrix_norm: 0.0,
        condition: 0.0,
        gradient_norm: alfa * beta,
        solution_norm: 0.0,
    };
    if found.gradient_norm == 0.0 {
        found.x = array_of(a.session(), x)?;
        return Ok(found);
    }
    let (mut ddnorm, mut res2, mut xxnorm, mut z) = (0.0, 0.0, 0.0, 0.0);
    let (mut cs2, mut sn2) = (-1.0, 0.0);
    found.termination = LsqrTermination::IterationLimit;
    while found.iterations < max_iterations {
        check_cancelled(a.session())?;
        found.iterations += 1;
        // The next step of the bidiagonalization.
        let product = plain.times(&mut v)?;
        let [square] = sweeper.sweep(m, [&mut u], |at, [u]| {
            xpay(at.of(&product), -alfa, u);
            [dot(u, u)]
        });
        drop(product);
        beta = finite(NAME, "a product", square.sqrt())?;
        if beta > 0.0 {
            sweeper.scale(1.0 / beta, &mut u);
            found.matrix_norm = (found.matrix_norm.powi(2) + alfa.powi(2) + beta.powi(2) + damp.powi(2)).sqrt();
            let product = transposed.times(&mut u)?;
            let [square] = sweeper.sweep(n, [&mut v], |at, [v]| {
                xpay(at.of(&product), -beta, v);
                [dot(v, v)]
            });
            alfa = finite(NAME, "a product", square.sqrt())?;
        }
        // A rotation eliminates the damping, and another one the element below the diagonal.
        let (mut rhobar1, mut psi) = (rhobar, 0.0);
        if damp > 0.0 {
            rhobar1 = rhobar.hypot(damp);
            psi = damp / rhobar1 * phibar;
            phibar *= rhobar / rhobar1;
        }
        let rho = rhobar1.hypot(beta);
        let (cs, sn) = (rhobar1 / rho, beta / rho);
        let theta = sn * alfa;
        rhobar = -cs * alfa;
        let phi = cs * phibar;
        phibar *= sn;
        let tau = sn * phi;
        // The vector `v` of this step is scaled in the sweep that adds it to `w`.
        let v_factor = if beta > 0.0 && alfa > 0.0 { 1.0 / alfa } else { 1.0 };
        let [w_square] = sweeper.sweep(n, [&mut x, &mut w, &mut v], |_, [x, w, v]| {
            let w_square = dot(w, w);
            axpy(phi / rho, w, x);
            scale(v_factor, v);
            xpay(v, -theta / rho, w);
            [w_square]
        });
        ddnorm += w_square / rho.powi(2);
        // A rotation on the right gives the norm of the solution.
        let (delta, gambar) = (sn2 * rho, -cs2 * rho);
        let rhs = phi - delta * z;
        let zbar: f64 = rhs / gambar;
        found.solution_norm = f64::sqrt(xxnorm + zbar.powi(2));
        let gamma = gambar.hypot(theta);
        (cs2, sn2, z) = (gambar / gamma, theta / gamma, rhs / gamma);
        xxnorm += z.powi(2);

        found.condition = found.matrix_norm * f64::sqrt(ddnorm);
        res2 += f64::powi(psi, 2);
        let rnorm = (phibar.powi(2) + res2).sqrt();
        found.gradient_norm = alfa * tau.abs();
        found.damped_residual_norm = rnorm;
        found.residual_norm = (rnorm.powi(2) - damp.powi(2) * xxnorm).max(0.0).sqrt();
        if damp == 0.0 {
            found.residual_norm = rnorm;
        }
        if let Some(callback) = &mut callback {
            let iteration = Iteration { iterations: found.iterations, residual_norm: rnorm, x: Some(&x) };
            if callback(&iteration).is_break() {
                found.termination = LsqrTermination::Stopped;
                break;
            }
        }
        // The first test is multiplied by the norm of `b`, which may be zero.
        let product_norm = found.matrix_norm * found.solution_norm;
        let test2 = found.gradient_norm / (found.matrix_norm * rnorm + EPSILON);
        let test3 = 1.0 / (found.condition + EPSILON);
        let tests = [
            (rnorm <= btol * b_norm + atol * product_norm, LsqrTermination::Compatible),
            (test2 <= atol, LsqrTermination::LeastSquares),
            (conlim > 0.0 && test3 <= 1.0 / conlim, LsqrTermination::Condition),
            (1.0 + rnorm / (b_norm + product_norm) <= 1.0, LsqrTermination::CompatibleToPrecision),
            (1.0 + test2 <= 1.0, LsqrTermination::LeastSquaresToPrecision),
            (1.0 + test3 <= 1.0, LsqrTermination::ConditionToPrecision),
        ];
        if let Some((_, termination)) = tests.into_iter().find(|(holds, _)| *holds) {
            found.termination = termination;
            break;
        }
    }
    found.x = array_of(a.session(), x)?;
    Ok(found)
}
