//! The locally optimal block preconditioned conjugate gradient method.

use super::arithmetic::{Sweeper, axpy, dot};
use super::block::{Block, combine, gram, products};
use super::error::SolverError;
use super::operator::{LinearOperator, Orientation};
use super::product::{Product, Vector, dense_values};
use super::system::{array_of, charge, charged_tensor, check_cancelled, check_tolerance, finite, product_of, square};
use crate::array::Array;
use crate::error::Error;
use crate::session::Session;
use faer::{Mat, Side};

const NAME: &str = "lobpcg";

/// The parameters of [`lobpcg`].
pub struct LobpcgOptions<'a> {
    /// The end of the spectrum whose eigenvalues are computed; the largest ones by default.
    pub end: SpectrumEnd,
    /// The matrix `B` of the problem `A x = lambda B x`, which must be symmetric and positive
    /// definite; the identity by default.
    pub b: Option<&'a dyn LinearOperator>,
    /// An operator that approximates the inverse of `A`, symmetric and positive definite.
    pub preconditioner: Option<&'a dyn LinearOperator>,
    /// A matrix whose columns are constraints: the eigenvectors are orthogonal to them, in the
    /// inner product of `B`.
    pub constraints: Option<&'a Array>,
    /// The tolerance of the norm of each residual `A x - lambda B x`. The default is the number of
    /// rows times the square root of the machine epsilon.
    pub tol: Option<f64>,
    /// The greatest number of iterations; 20 by default.
    pub max_iterations: u64,
}

impl Default for LobpcgOptions<'_> {
    fn default() -> Self {
        LobpcgOptions {
            end: SpectrumEnd::Largest,
            b: None,
            preconditioner: None,
            constraints: None,
            tol: None,
            max_iterations: 20,
        }
    }
}

/// An end of the spectrum of a symmetric matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpectrumEnd {
    /// The largest eigenvalues.
    Largest,
    /// The smallest eigenvalues.
    Smallest,
}

/// The result of [`lobpcg`].
#[derive(Clone, Debug)]
pub struct LobpcgSolution {
    /// The eigenvalues: descending for the largest ones, ascending for the smallest ones.
    pub values: Array,
    /// The eigenvectors, one for each column, orthonormal in the inner product of `B`.
    pub vectors: Array,
    /// The norm of the residual `A x - lambda B x` of each eigenvector.
    pub residual_norms: Array,
    /// The number of iterations.
    pub iterations: u64,
    /// Whether all residuals are within the tolerance.
    pub converged: bool,
}

/// Computes the largest or smallest eigenvalues of a symmetric operator, or of the problem
/// `A x = lambda B x`, by the locally optimal block preconditioned conjugate gradient method
/// (Knyazev, "Toward the Optimal Preconditioned Eigensolver", 2001).
///
/// The columns of `x` are the first guesses, one for each eigenvalue. With a good preconditioner,
/// few iterations are enough where [`eigsh`](super::eigsh) would need a factorization. All vectors
/// of an iteration are made orthonormal, and directions that depend on others are dropped, so that
/// rounding does not end the iteration (Hetmaniuk and Lehoucq, "Basis Selection in LOBPCG", 2006).
///
/// ```
/// use redpoll::linalg::iterative::{LobpcgOptions, lobpcg};
///
/// let session = redpoll::Session::default();
/// let a = session.vector([1.0, 2.0, 3.0, 4.0, 5.0]).diagonal_matrix(0);
/// let guesses = session.dense([5, 2], [1.0, 0.0, 1.0, 1.0, 1.0, 2.0, 1.0, 0.5, 1.0, 3.0]);
/// let found = lobpcg(&a, &guesses, &LobpcgOptions::default())?;
/// assert!(found.converged);
/// assert!((found.values.get::<f64>([0])? - 5.0).abs() < 1e-6);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if shapes do not fit, the columns of `x` or the constraints depend on each other, `B` is
/// not positive definite, a product is not finite, or the memory limit is reached. Residuals that
/// are not within the tolerance are no error.
pub fn lobpcg(a: &dyn LinearOperator, x: &Array, options: &LobpcgOptions<'_>) -> Result<LobpcgSolution, Error> {
    let n = square(NAME, a)?;
    let session = a.session();
    let tolerance = options.tol.unwrap_or(n as f64 * f64::EPSILON.sqrt());
    check_tolerance(NAME, "tol", tolerance)?;
    let of_constraints =
        options.constraints.map_or(Ok(0), |y| Ok::<u64, Error>(y.shape()?.get(1).copied().unwrap_or(0)))?;
    let k = x.shape()?.get(1).copied().unwrap_or(0);
    // The vectors, their directions and residuals, with the products with `A` and `B`.
    let vectors = k.saturating_mul(9).saturating_add(of_constraints.saturating_mul(2));
    let _charge = charge(session, vectors.saturating_mul(n))?;
    let mut problem = Problem {
        sweeper: Sweeper::of(session),
        a: product_of(a, Orientation::Plain)?,
        b: options.b.map(|b| operator(b, n)).transpose()?,
        m: options.preconditioner.map(|m| operator(m, n)).transpose()?,
        y: Block::default(),
        end: options.end,
    };
    if let Some(constraints) = options.constraints {
        problem.y = problem.orthonormal_columns("constraints", constraints, n)?;
    }
    let x = problem.orthonormal_columns("x", x, n)?;
    let Ritz { values, x, residual_norms, iterations } =
        problem.iterate(session, x, tolerance, options.max_iterations)?;
    let converged = residual_norms.iter().all(|norm| *norm <= tolerance);
    let shape = vec![x.len() as u64, n];
    let vectors = session.array(charged_tensor(session, x.vectors.concat(), shape)?).t();
    let (values, residual_norms) = (array_of(session, values)?, array_of(session, residual_norms)?);
    Ok(LobpcgSolution { values, vectors, residual_norms, iterations, converged })
}

/// Returns the product of an operator with `n` rows and columns.
fn operator(a: &dyn LinearOperator, n: u64) -> Result<Product<'_>, Error> {
    let (rows, columns) = a.size()?;
    if (rows, columns) != (n, n) {
        let expected = format!("operators of shape [{n}, {n}]");
        return Err(SolverError::Shape { function: NAME, expected, shape: vec![rows, columns] }.into());
    }
    product_of(a, Orientation::Plain)
}

/// The operators of an eigenvalue problem.
struct Problem<'a> {
    sweeper: Sweeper,
    a: Product<'a>,
    b: Option<Product<'a>>,
    m: Option<Product<'a>>,
    /// The orthonormal constraints.
    y: Block,
    end: SpectrumEnd,
}

/// Approximate eigenvalues and eigenvectors.
struct Ritz {
    values: Vec<f64>,
    x: Block,
    residual_norms: Vec<f64>,
    iterations: u64,
}

impl Problem<'_> {
    /// Returns the columns of a matrix with `n` rows as orthonormal vectors that are orthogonal to
    /// the constraints.
    fn orthonormal_columns(&mut self, name: &'static str, matrix: &Array, n: u64) -> Result<Block, Error> {
        let shape = matrix.shape()?;
        let [rows, columns] = shape[..] else {
            return Err(SolverError::Shape { function: NAME, expected: format!("a matrix `{name}`"), shape }.into());
        };
        if rows != n {
            let expected = format!("a matrix `{name}` with {n} rows");
            return Err(SolverError::Shape { function: NAME, expected, shape }.into());
        }
        let values = Vector::Shared(dense_values(NAME, &matrix.t())?);
        finite(NAME, name, values.iter().map(|value| value * 0.0).sum())?;
        let vectors = values.chunks(n.max(1) as usize).map(<[f64]>::to_vec).collect();
        let mut block = self.block(vectors)?;
        self.make_orthonormal(&mut block, &[]);
        if block.len() as u64 == columns {
            return Ok(block);
        }
        let (parameter, found) = (name, block.len() as f64);
        let expected = "a matrix with independent columns, also after the projection by the constraints";
        Err(SolverError::Parameter { function: NAME, parameter, expected, found }.into())
    }

    /// Returns vectors with their products with `B`.
    fn block(&mut self, vectors: Vec<Vec<f64>>) -> Result<Block, Error> {
        let block = Block::new(vectors, self.b.as_mut())?;
        match block.is_positive(&self.sweeper) {
            true => Ok(block),
            false => Err(SolverError::NotPositiveDefinite { function: NAME, operator: "B" }.into()),
        }
    }

    /// Makes a block orthonormal, and orthogonal to the constraints and to other blocks. Drops
    /// vectors that depend on others.
    fn make_orthonormal(&self, block: &mut Block, others: &[&Block]) {
        // After the second pass, the vectors are orthonormal up to rounding.
        for _ in 0..2 {
            block.project_out(&self.sweeper, &[others, &[&self.y]].concat());
            block.orthonormalize(&self.sweeper);
        }
    }

    fn iterate(&mut self, session: &Session, x: Block, tolerance: f64, limit: u64) -> Result<Ritz, Error> {
        let (k, sweeper) = (x.len(), self.sweeper.clone());
        let (mut x, mut p) = (x, Block::default());
        let mut of_a = products(&mut self.a, &mut x.vectors)?;
        // The eigenvalues, then the products with `A` are those of `x` followed by those of `p`.
        let mut values = self.rotate(&mut x, &mut of_a)?;
        let (mut iterations, mut is_exact) = (0, true);
        loop {
            check_cancelled(session)?;
            let mut residuals = residuals(&sweeper, &values, &of_a, x.images());
            let norms: Vec<f64> = residuals.iter().map(|r| sweeper.norm(r)).collect();
            norms.iter().try_for_each(|norm| finite(NAME, "a product", *norm).map(drop))?;
            let active: Vec<usize> = (0..k).filter(|j| norms[*j] > tolerance).collect();
            if !is_exact && (active.is_empty() || iterations == limit) {
                // The combinations of products have rounding errors. New products decide.
                p = Block::default();
                self.make_orthonormal(&mut x, &[]);
                of_a = products(&mut self.a, &mut x.vectors)?;
                values = self.rotate(&mut x, &mut of_a)?;
                is_exact = true;
                continue;
            }
            if active.is_empty() || iterations == limit {
                return Ok(Ritz { values, x, residual_norms: norms, iterations });
            }
            let mut w: Vec<Vec<f64>> = active.iter().map(|j| std::mem::take(&mut residuals[*j])).collect();
            if let Some(m) = &mut self.m {
                w = products(m, &mut w)?;
            }
            let mut w = self.block(w)?;
            self.make_orthonormal(&mut w, &[&x, &p]);
            if w.len() + p.len() == 0 {
                return Ok(Ritz { values, x, residual_norms: norms, iterations });
            }
            of_a.extend(products(&mut self.a, &mut w.vectors)?);
            // The basis: `x`, `p`, `w`.
            let mut basis = x;
            basis.append(p);
            basis.append(w);
            let Choice { chosen, coefficients, directions } = self.rayleigh_ritz(&basis, &of_a, (k, &active))?;
            values = chosen;
            let combinations = [coefficients, directions].concat();
            basis.combine(&sweeper, &combinations);
            combine(&sweeper, &mut of_a, &combinations);
            p = basis.split_off(k);
            x = basis;
            iterations += 1;
            is_exact = false;
        }
    }

    /// Replaces an orthonormal basis by the eigenvectors of the operator on its span, in the order
    /// of the result, and returns the eigenvalues.
    fn rotate(&self, x: &mut Block, of_a: &mut Vec<Vec<f64>>) -> Result<Vec<f64>, Error> {
        let k = x.len();
        let Choice { chosen, coefficients, .. } = self.rayleigh_ritz(x, of_a, (k, &[]))?;
        x.combine(&self.sweeper, &coefficients);
        combine(&self.sweeper, of_a, &coefficients);
        Ok(chosen)
    }

    /// Computes the first `k` eigenvalues of the operator on the span of an orthonormal basis, and
    /// directions for the next iteration: the parts of the `active` eigenvectors outside of the
    /// span of the first `k` vectors of the basis.
    fn rayleigh_ritz(&self, basis: &Block, of_a: &[Vec<f64>], (k, active): (usize, &[usize])) -> Result<Choice, Error> {
        let m = basis.len();
        let projected = gram(&self.sweeper, &basis.vectors, of_a);
        let symmetric = Mat::from_fn(m, m, |i, j| 0.5 * (projected[(i, j)] + projected[(j, i)]));
        let not_finite = |_| SolverError::NotFinite { function: NAME, vector: "the projected matrix" };
        let eigen = symmetric.self_adjoint_eigen(Side::Lower).map_err(not_finite)?;
        let index = |j: usize| if self.end == SpectrumEnd::Largest { m - 1 - j } else { j };
        let coefficients: Vec<Vec<f64>> = (0..k).map(|j| (0..m).map(|i| eigen.U()[(i, index(j))]).collect()).collect();
        let mut directions: Vec<Vec<f64>> = Vec::new();
        for j in active {
            let mut direction = coefficients[*j].clone();
            direction[..k].fill(0.0);
            let before = dot(&direction, &direction).sqrt();
            for _ in 0..2 {
                for other in coefficients.iter().chain(&directions) {
                    axpy(-dot(&direction, other), other, &mut direction);
                }
            }
            let after = dot(&direction, &direction).sqrt();
            if after > 1e-8 * before && directions.len() + k < m {
                direction.iter_mut().for_each(|value| *value /= after);
                directions.push(direction);
            }
        }
        Ok(Choice { chosen: (0..k).map(|j| eigen.S()[index(j)]).collect(), coefficients, directions })
    }
}

/// Eigenvalues of a projected matrix, with the coefficients of their eigenvectors and those of the
/// directions for the next iteration.
struct Choice {
    chosen: Vec<f64>,
    coefficients: Vec<Vec<f64>>,
    directions: Vec<Vec<f64>>,
}

/// Returns the residuals `A x - lambda B x`.
fn residuals(sweeper: &Sweeper, values: &[f64], of_a: &[Vec<f64>], of_b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let residual = |((value, of_a), of_b): ((&f64, &Vec<f64>), &Vec<f64>)| {
        let mut residual = of_a.clone();
        let [] = sweeper.sweep(residual.len(), [&mut residual], |at, [residual]| {
            axpy(-value, at.of(of_b), residual);
            []
        });
        residual
    };
    values.iter().zip(of_a).zip(of_b).map(residual).collect()
}
