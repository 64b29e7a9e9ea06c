//! The action of the matrix exponential.

use super::arithmetic::{Sweeper, absolute_sum, axpy, scale};
use super::error::SolverError;
use super::operator::as_real;
use super::product::{MatrixProduct, Vector, dense_values};
use super::system::{charge, charged_tensor, check_cancelled, finite, square};
use crate::array::Array;
use crate::error::Error;
use crate::session::Session;
use redpoll_logic::Prim;

const NAME: &str = "expm_multiply";

/// The degrees `m` of Taylor polynomials, with the greatest norms for which their backward error is
/// below 2^-53 (table A.3 of Higham, "Functions of Matrices", 2008; table 3.1 of Al-Mohy and
/// Higham, 2011).
const THETA: [(u32, f64); 35] = [
    (1, 2.29e-16),
    (2, 2.58e-8),
    (3, 1.39e-5),
    (4, 3.40e-4),
    (5, 2.40e-3),
    (6, 9.07e-3),
    (7, 2.38e-2),
    (8, 5.00e-2),
    (9, 8.96e-2),
    (10, 1.44e-1),
    (11, 2.14e-1),
    (12, 3.00e-1),
    (13, 4.00e-1),
    (14, 5.14e-1),
    (15, 6.41e-1),
    (16, 7.81e-1),
    (17, 9.31e-1),
    (18, 1.09),
    (19, 1.26),
    (20, 1.44),
    (21, 1.62),
    (22, 1.82),
    (23, 2.01),
    (24, 2.22),
    (25, 2.43),
    (26, 2.64),
    (27, 2.86),
    (28, 3.08),
    (29, 3.31),
    (30, 3.54),
    (35, 4.7),
    (40, 6.0),
    (45, 7.2),
    (50, 8.5),
    (55, 9.9),
];

/// The greatest `p` of the bounds `max(d_p, d_(p + 1))` of the paper, where `d_p` is the `p`-th
/// root of the norm of the `p`-th power of the matrix: `p (p - 1) <= 55 + 1` for the greatest
/// degree, 55.
const MAX_POWER: u32 = 8;
/// The greatest number of steps.
const MAX_STEPS: f64 = (1u64 << 31) as f64;

/// Computes `exp(t A) B` for a square matrix and a vector or matrix `B`, without the exponential
/// itself (Al-Mohy and Higham, "Computing the Action of the Matrix Exponential, with an Application
/// to Exponential Integrators", 2011, algorithm 3.2).
///
/// The number of products with `A` is about proportional to the norm of `t A`. The norms of powers
/// are estimated by Higham's version of Hager's algorithm (1988), which also takes products with
/// the transpose.
///
/// ```
/// use redpoll::linalg::iterative::expm_multiply;
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 2], [0.0, -1.0, 1.0, 0.0]);
/// let rotated = expm_multiply(&a, &session.vector([1.0, 0.0]), std::f64::consts::FRAC_PI_2)?;
/// assert!((rotated.get::<f64>([1])? - 1.0).abs() < 1e-14);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square, `B` has another number of rows, a value or a product is not
/// finite, or the norm of `t A` is so large that more than 2^31 steps are needed.
pub fn expm_multiply(a: &Array, b: &Array, t: f64) -> Result<Array, Error> {
    let n = square(NAME, a)?;
    let shape = b.shape()?;
    let columns = match shape[..] {
        [rows] if rows == n => None,
        [rows, columns] if rows == n => Some(columns),
        _ => return Err(SolverError::Shape { function: NAME, expected: format!("{n} rows in B"), shape }.into()),
    };
    finite(NAME, "the time", t)?;
    let session = Array::session(a);
    let a = as_real(NAME, a)?.astype(Prim::F64);
    let _charge = charge(session, n.saturating_mul(columns.unwrap_or(1)).saturating_mul(2))?;
    let mut power = Vector::Shared(dense_values(NAME, b)?).into_vec();
    let norms = Norms::of(&a, n, t)?;
    let (degree, steps) = norms.degree_and_steps(columns.unwrap_or(1))?;
    let sweeper = Sweeper::of(session);
    let mut product = MatrixProduct::new(&a, columns)?;
    let mut sum = power.clone();
    let shift = norms.shift;
    let growth = (t * shift / steps as f64).exp();
    let [mut last] = sweeper.sweep(power.len(), [], |at, []| [absolute_sum(at.of(&power))]);
    finite(NAME, "B", last)?;
    for _ in 0..steps {
        for j in 0..degree {
            check_cancelled(session)?;
            // The next term of the Taylor series, and the sum of all terms so far. The paper ends a
            // series by the infinity norm. Here sums of absolute values end it, because squares
            // may underflow.
            let factor = t / (steps as f64 * f64::from(j + 1));
            let multiplied = product.run(&mut power)?;
            let [term, total] = sweeper.sweep(sum.len(), [&mut power, &mut sum], |at, [power, sum]| {
                scale(-shift, power);
                axpy(1.0, at.of(&multiplied), power);
                scale(factor, power);
                axpy(1.0, power, sum);
                [absolute_sum(power), absolute_sum(sum)]
            });
            finite(NAME, "a product", term)?;
            if last + term <= f64::EPSILON / 2.0 * total {
                break;
            }
            last = term;
        }
        [last] = sweeper.sweep(sum.len(), [&mut power, &mut sum], |_, [power, sum]| {
            scale(growth, sum);
            power.copy_from_slice(sum);
            [absolute_sum(sum)]
        });
        finite(NAME, "a product", last)?;
    }
    Ok(session.array(charged_tensor(session, sum, shape)?))
}

/// The norms that determine the number of products.
struct Norms<'a> {
    matrix: &'a Array,
    t: f64,
    /// The mean of the diagonal, which is subtracted from it.
    shift: f64,
    /// The 1-norm of the shifted matrix times `t`.
    norm: f64,
}

impl Norms<'_> {
    fn of(matrix: &Array, n: u64, t: f64) -> Result<Norms<'_>, Error> {
        let diagonal = Vector::Shared(dense_values(NAME, &matrix.diagonal(0))?);
        let sums = Vector::Shared(dense_values(NAME, &matrix.abs().sum(0))?);
        let shift = if n == 0 { 0.0 } else { diagonal.iter().sum::<f64>() / n as f64 };
        let shifted = sums.iter().zip(&*diagonal).map(|(sum, d)| sum - d.abs() + (d - shift).abs());
        let norm = finite(NAME, "the matrix", shifted.fold(0.0, |norm, sum| if sum > norm { sum } else { norm }))?;
        finite(NAME, "the matrix", sums.iter().sum())?;
        Ok(Norms { matrix, t, shift, norm: norm * t.abs() })
    }

    /// Returns the degree of the polynomial and the number of steps that take the fewest products:
    /// code fragment 3.1 of the paper.
    fn degree_and_steps(&self, columns: u64) -> Result<(u32, u64), Error> {
        if self.norm == 0.0 {
            return Ok((0, 1));
        }
        let steps = |norm: f64, theta: f64| (norm / theta).ceil().max(1.0);
        let (last_degree, last_theta) = THETA[THETA.len() - 1];
        // Condition 3.13: the estimates would cost more than they save.
        let estimates = f64::from(2 * 2 * MAX_POWER * (MAX_POWER + 3));
        let mut candidates = Vec::new();
        if self.norm <= estimates * last_theta / (columns.max(1) as f64 * f64::from(last_degree)) {
            candidates.extend(THETA.iter().map(|(degree, theta)| (*degree, steps(self.norm, *theta))));
        } else {
            let mut roots = Vec::new();
            let (mut plain, mut transposed) = (self.operator(self.matrix)?, self.operator(&self.matrix.t())?);
            for p in 2..=MAX_POWER + 1 {
                let norm = norm_of_power(&mut plain, &mut transposed, p)?;
                roots.push(norm.powf(1.0 / f64::from(p)) * self.t.abs());
            }
            for p in 2..=MAX_POWER {
                let alpha = roots[p as usize - 2].max(roots[p as usize - 1]);
                let degrees = THETA.iter().filter(|(degree, _)| *degree >= p * (p - 1) - 1);
                candidates.extend(degrees.map(|(degree, theta)| (*degree, steps(alpha, *theta))));
            }
        }
        let cost = |(degree, steps): &(u32, f64)| f64::from(*degree) * steps;
        let best = candidates.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
        let (degree, steps) = best.expect("there are candidates");
        if steps > MAX_STEPS {
            let (parameter, expected) = ("t", "small enough for 2^31 steps");
            return Err(SolverError::Parameter { function: NAME, parameter, expected, found: self.t }.into());
        }
        Ok((degree, steps as u64))
    }

    /// Returns the products with the shifted matrix.
    fn operator(&self, matrix: &Array) -> Result<Shifted, Error> {
        let session = Array::session(matrix).clone();
        Ok(Shifted { product: MatrixProduct::new(matrix, None)?, shift: self.shift, session, len: matrix.shape()?[0] })
    }
}

/// A matrix with a multiple of the identity subtracted.
struct Shifted {
    product: MatrixProduct,
    shift: f64,
    session: Session,
    len: u64,
}

impl Shifted {
    /// Returns the product of a power of the shifted matrix and a vector.
    fn power(&mut self, exponent: u32, mut x: Vec<f64>) -> Result<Vec<f64>, Error> {
        for _ in 0..exponent {
            check_cancelled(&self.session)?;
            let product = self.product.run(&mut x)?;
            x.iter_mut().zip(&*product).for_each(|(x, y)| *x = y - self.shift * *x);
        }
        Ok(x)
    }
}

/// Estimates the 1-norm of a power of a matrix from below (Higham, "FORTRAN Codes for Estimating
/// the One-Norm of a Real or Complex Matrix", 1988).
fn norm_of_power(plain: &mut Shifted, transposed: &mut Shifted, exponent: u32) -> Result<f64, Error> {
    let n = plain.len as usize;
    let norm = |values: &[f64]| values.iter().map(|x| x.abs()).sum::<f64>();
    let mut x = vec![1.0 / n as f64; n];
    let (mut estimate, mut peak) = (0.0, None);
    for _ in 0..5 {
        let y = plain.power(exponent, x)?;
        let found = finite(NAME, "a product", norm(&y))?;
        if found <= estimate {
            break;
        }
        estimate = found;
        let z = transposed.power(exponent, y.iter().map(|y| if *y < 0.0 { -1.0 } else { 1.0 }).collect())?;
        finite(NAME, "a product", norm(&z))?;
        let next = (0..n).max_by(|a, b| z[*a].abs().total_cmp(&z[*b].abs()));
        if next == peak {
            break;
        }
        peak = next;
        x = vec![0.0; n];
        x[next.unwrap_or(0)] = 1.0;
    }
    // The iteration fails for some matrices. A vector of alternating signs covers most of them.
    let slope = 1.0 / (n.max(2) - 1) as f64;
    let alternating = (0..n).map(|i| (1.0 + i as f64 * slope) * if i % 2 == 0 { 1.0 } else { -1.0 });
    let y = plain.power(exponent, alternating.collect())?;
    Ok(estimate.max(2.0 * finite(NAME, "a product", norm(&y))? / (3.0 * n as f64)))
}
