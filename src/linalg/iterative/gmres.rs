//! The generalized minimal residual method.

use super::arithmetic::{axpy, dot};
use super::error::SolverError;
use super::operator::LinearOperator;
use super::options::{Solution, SolverOptions, Termination};
use super::product::Vector;
use super::system::{Iterate, Method, System};
use crate::array::Array;
use crate::error::Error;

/// A new direction counts as part of the span of the basis if its component outside of the span is
/// at most this fraction of its norm.
const DEPENDENT: f64 = 10.0 * f64::EPSILON;
/// The greatest cosine between vectors of the basis. Cosines of this size hardly change the
/// residual.
const ORTHOGONAL: f64 = 1e-10;

/// Solves `A x = b` for a square matrix by the generalized minimal residual method (Saad and
/// Schultz, "GMRES: A Generalized Minimal Residual Algorithm for Solving Nonsymmetric Linear
/// Systems", 1986), restarted after `restart` iterations; 20 is common.
///
/// An iteration takes one product and one application of the preconditioner, which is on the right,
/// so the residual is that of the system itself. A cycle stores `restart + 1` vectors. Iterations
/// are counted over all cycles.
///
/// ```
/// use redpoll::linalg::iterative::{SolverOptions, gmres};
///
/// let session = redpoll::Session::default();
/// let rotation = session.dense([2, 2], [0.0, -1.0, 1.0, 0.0]);
/// let solution = gmres(&rotation, &session.vector([-2.0, 1.0]), 20, SolverOptions::default())?;
/// assert!(solution.converged() && solution.iterations == 2);
/// assert!((solution.x.get::<f64>([1])? - 2.0).abs() < 1e-6);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// The errors of [`cg`](super::cg); also if `restart` is 0. A matrix that is singular on the
/// subspace of a cycle is no error, but ends the iteration with [`Termination::Breakdown`].
pub fn gmres(a: &dyn LinearOperator, b: &Array, restart: u64, options: SolverOptions<'_>) -> Result<Solution, Error> {
    // The basis, a correction, and a preconditioned vector.
    let vectors = restart.min(a.size()?.0).saturating_add(3);
    let mut system = System::new(Method { name: "gmres", vectors, iterations_per_row: 10 }, (a, b), options)?;
    if restart == 0 {
        let (parameter, expected) = ("restart", "at least 1");
        return Err(SolverError::Parameter { function: "gmres", parameter, expected, found: 0.0 }.into());
    }
    let restart = restart.min(system.len() as u64) as usize;
    let mut basis: Vec<Vec<f64>> = Vec::new();
    loop {
        if let Some(end) = system.end()? {
            return system.solution(end);
        }
        let norm_before = system.r_norm;
        let end = cycle(&mut system, &mut basis, restart)?;
        if let Some(end) = end {
            let end = if system.r_norm <= system.tolerance { Termination::Converged } else { end };
            return system.solution(end);
        }
        // A residual that rounding keeps from decreasing would never meet the tolerance.
        if system.r_norm >= norm_before * (1.0 - f64::EPSILON) && restart == system.len() {
            return system.solution(Termination::Breakdown);
        }
    }
}

/// Runs a cycle and adds its correction to the solution. Returns the reason to stop, if there is
/// one other than convergence.
fn cycle(system: &mut System<'_>, basis: &mut Vec<Vec<f64>>, restart: usize) -> Result<Option<Termination>, Error> {
    let sweeper = system.sweeper.clone();
    let n = system.len();
    reuse(basis, 0, &system.r);
    sweeper.scale(1.0 / system.r_norm, &mut basis[0]);
    let mut projected = Projected { columns: Vec::new(), rotations: Vec::new(), right: vec![system.r_norm] };
    let (mut end, mut is_last) = (None, false);
    for j in 0..restart {
        let mut z = system.precondition(&mut basis[j])?.map(Vector::into_vec);
        let product = system.a.times(z.as_mut().unwrap_or(&mut basis[j]))?;
        reuse(basis, j + 1, &product);
        drop(product);
        let (before, after) = basis.split_at_mut(j + 1);
        let made = sweeper.orthogonalize(before, &mut after[0], ORTHOGONAL);
        system.finite(made.before)?;
        let dependent = made.after <= DEPENDENT * made.before;
        let below = if dependent { 0.0 } else { made.after };
        let diagonal = projected.push(made.coefficients, below);
        // The matrix is singular on the subspace. Because of rounding, the diagonal element may be
        // tiny instead of zero, and would then give a huge correction.
        if diagonal <= DEPENDENT * made.before {
            projected.drop_last();
            end = Some(Termination::Breakdown);
            break;
        }
        system.r_norm = projected.right[j + 1].abs();
        system.iterations += 1;
        end = system.end()?;
        is_last = end.is_some() || dependent || j + 1 == restart;
        if is_last {
            break;
        }
        end = system.call_back(Iterate::Pending);
        if end.is_some() {
            break;
        }
        sweeper.scale(1.0 / made.after, &mut after[0]);
    }
    let steps = projected.solve();
    let mut correction = vec![0.0; n];
    let [] = sweeper.sweep(n, [&mut correction], |at, [correction]| {
        for (step, v) in steps.iter().zip(&*basis) {
            axpy(*step, at.of(v), correction);
        }
        []
    });
    let z = system.precondition(&mut correction)?;
    let step = z.as_deref().unwrap_or(&correction);
    let [] = sweeper.sweep(n, [&mut system.x], |at, [x]| {
        axpy(1.0, at.of(step), x);
        []
    });
    // The new residual is the old one minus the product with the correction. It is not taken from
    // the projected system.
    let product = system.a.times(&mut z.map_or(correction, Vector::into_vec))?;
    let [square] = sweeper.sweep(n, [&mut system.r], |at, [r]| {
        axpy(-1.0, at.of(&product), r);
        [dot(r, r)]
    });
    system.r_norm = system.finite(square.sqrt())?;
    if is_last {
        end = system.call_back(Iterate::Formed).or(end);
    }
    // Rounding makes the estimate differ from the norm of the residual. The caller decides by that
    // norm whether the solver has converged.
    Ok(end.filter(|end| *end != Termination::Converged))
}

/// Stores a copy of a vector as vector `k` of the basis.
fn reuse(basis: &mut Vec<Vec<f64>>, k: usize, vector: &[f64]) {
    match basis.get_mut(k) {
        Some(stored) => stored.copy_from_slice(vector),
        None => basis.push(vector.to_vec()),
    }
}

/// The projected system: its Hessenberg matrix, which rotations have made triangular, these
/// rotations, and the rotated right side.
struct Projected {
    /// The columns of the triangle, from the top to the diagonal.
    columns: Vec<Vec<f64>>,
    /// The cosine and the sine of each rotation.
    rotations: Vec<(f64, f64)>,
    right: Vec<f64>,
}

impl Projected {
    /// Adds a column of the Hessenberg matrix with the element below the diagonal, and returns the
    /// element of the triangle on the diagonal.
    fn push(&mut self, mut column: Vec<f64>, below: f64) -> f64 {
        for (k, (c, s)) in self.rotations.iter().enumerate() {
            (column[k], column[k + 1]) = (c * column[k] + s * column[k + 1], c * column[k + 1] - s * column[k]);
        }
        let last = column.len() - 1;
        let diagonal = column[last].hypot(below);
        let (c, s) = if diagonal == 0.0 { (1.0, 0.0) } else { (column[last] / diagonal, below / diagonal) };
        column[last] = diagonal;
        self.right.push(-s * self.right[last]);
        self.right[last] *= c;
        self.rotations.push((c, s));
        self.columns.push(column);
        diagonal
    }

    fn drop_last(&mut self) {
        self.columns.pop();
    }

    /// Returns the coefficients of the vectors of the basis.
    fn solve(&self) -> Vec<f64> {
        let mut solution = self.right[..self.columns.len()].to_vec();
        for (j, column) in self.columns.iter().enumerate().rev() {
            solution[j] /= column[j];
            let step = solution[j];
            solution[..j].iter_mut().zip(column).for_each(|(x, c)| *x -= step * c);
        }
        solution
    }
}
