//! The thick-restart Lanczos method for a few eigenvalues of a symmetric operator.
//!
//! Source: Wu and Simon, "Thick-Restart Lanczos Method for Large Symmetric Eigenvalue Problems",
//! 2000. New vectors are made orthogonal to the whole basis.

use super::arithmetic::{Sweeper, axpy, dot};
use super::error::SolverError;
use super::product::Product;
use super::system::{check_cancelled, finite};
use crate::error::Error;
use crate::session::Session;
use faer::{Mat, Side};
use std::cmp::Ordering;

/// The greatest cosine between vectors of a basis. Eigenvalues are insensitive to cosines up to the
/// square root of the precision of floats (Simon, "Analysis of the Symmetric Lanczos Algorithm with
/// Reorthogonalization Methods", 1984).
const ORTHOGONAL: f64 = 1e-13;

/// The eigenvalues that a solver computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The eigenvalues of largest absolute value.
    LargestMagnitude,
    /// The eigenvalues of smallest absolute value.
    SmallestMagnitude,
    /// The largest eigenvalues.
    LargestAlgebraic,
    /// The smallest eigenvalues.
    SmallestAlgebraic,
    /// Half of the eigenvalues from each end of the spectrum; if their number is odd, one more from
    /// the upper end.
    BothEnds,
}

/// The parameters of an iteration.
pub(super) struct Lanczos {
    pub(super) function: &'static str,
    /// The number of eigenvalues.
    pub(super) count: usize,
    pub(super) which: Which,
    /// The relative tolerance of eigenvalues; 0 is the precision of floats.
    pub(super) tolerance: f64,
    pub(super) max_restarts: u64,
    /// The dimension of the subspace, at least `count` and at most the number of rows.
    pub(super) subspace: usize,
}

/// Eigenvalues in ascending order, with their vectors.
pub(super) struct RitzPairs {
    pub(super) values: Vec<f64>,
    pub(super) vectors: Vec<Vec<f64>>,
    pub(super) products: u64,
    pub(super) restarts: u64,
}

/// An orthonormal basis.
struct Basis<'a, 'b> {
    function: &'static str,
    sweeper: Sweeper,
    vectors: Vec<Vec<f64>>,
    /// The matrix of the inner product, unless it is the identity, and its products with the
    /// vectors.
    inner: Option<(&'a mut Product<'b>, Vec<Vec<f64>>)>,
}

/// The result of [`Basis::push`].
struct Pushed {
    /// The component along the vector that was the last one.
    diagonal: f64,
    /// The norm of the vector before and after.
    before: f64,
    after: f64,
}

impl<'a, 'b> Basis<'a, 'b> {
    /// Returns a basis of one vector; a random vector replaces a zero vector.
    fn new(
        (function, sweeper): (&'static str, Sweeper),
        inner: Option<&'a mut Product<'b>>,
        start: Vec<f64>,
        random: &mut Random,
    ) -> Result<Basis<'a, 'b>, Error> {
        let inner = inner.map(|b| (b, Vec::new()));
        let mut basis = Basis { function, sweeper, vectors: Vec::new(), inner };
        basis.push(start, None)?;
        basis.replace_if_dependent(random)?;
        Ok(basis)
    }

    /// Adds a vector and makes it orthogonal to the others. If `known` is given, the vector is the
    /// product of the operator with the last vector, and `known` is its component along the vector
    /// before the last.
    fn push(&mut self, mut w: Vec<f64>, known: Option<f64>) -> Result<Pushed, Error> {
        let (diagonal, made) = match &mut self.inner {
            // After the recurrence, the vector is orthogonal up to rounding, so that it mostly
            // needs no further pass.
            None => {
                let diagonal = three_terms(&self.sweeper, &self.vectors, &mut w, known);
                (diagonal, self.sweeper.orthogonalize(&self.vectors, &mut w, ORTHOGONAL))
            }
            Some((b, images)) => {
                let mut image = b.times(&mut w)?.into_vec();
                check_positive(self.function, &self.sweeper, (&w, &image))?;
                let basis = (&self.vectors[..], &images[..]);
                let made = self.sweeper.orthogonalize_in(basis, (&mut w, &mut image), ORTHOGONAL);
                images.push(image);
                (0.0, made)
            }
        };
        self.vectors.push(w);
        let along = made.coefficients.last().copied().unwrap_or(0.0);
        Ok(Pushed { diagonal: diagonal + along, before: made.before, after: made.after })
    }

    /// Multiplies the last vector by a number.
    fn scale_last(&mut self, factor: f64) {
        let images = self.inner.as_mut().map(|(_, images)| images);
        for vectors in [Some(&mut self.vectors), images].into_iter().flatten() {
            if let Some(last) = vectors.last_mut() {
                self.sweeper.scale(factor, last);
            }
        }
    }

    /// Gives the last vector norm 1. A random vector replaces a vector that depends on the others.
    fn replace_if_dependent(&mut self, random: &mut Random) -> Result<(), Error> {
        let Some((b, images)) = &mut self.inner else {
            random.replace_if_dependent(&self.sweeper, &mut self.vectors);
            return Ok(());
        };
        let Some((last, others)) = self.vectors.split_last_mut() else { return Ok(()) };
        images.truncate(others.len());
        for attempt in 0..5 {
            if attempt > 0 {
                last.iter_mut().for_each(|x| *x = random.next());
            }
            let mut image = b.times(last)?.into_vec();
            check_positive(self.function, &self.sweeper, (last, &image))?;
            let made = self.sweeper.orthogonalize_in((others, images), (last, &mut image), ORTHOGONAL);
            if made.before > 0.0 && made.after > 1e-8 * made.before {
                images.push(image);
                self.scale_last(1.0 / made.after);
                return Ok(());
            }
        }
        images.push(vec![0.0; last.len()]);
        last.fill(0.0);
        Ok(())
    }

    fn truncate(&mut self, len: usize) {
        self.vectors.truncate(len);
        if let Some((_, images)) = &mut self.inner {
            images.truncate(len);
        }
    }

    /// Replaces the vectors before the last by linear combinations of them.
    fn combine(&mut self, combinations: &[Vec<f64>]) {
        let images = self.inner.as_mut().map(|(_, images)| images);
        for vectors in [Some(&mut self.vectors), images].into_iter().flatten() {
            let Some(last) = vectors.pop() else { continue };
            self.sweeper.combine(vectors, combinations);
            vectors.truncate(combinations.len());
            vectors.push(last);
        }
    }
}

/// Fails if the square of a vector is negative in the inner product of a matrix, of which `image`
/// is the product with the vector.
fn check_positive(function: &'static str, sweeper: &Sweeper, (vector, image): (&[f64], &[f64])) -> Result<(), Error> {
    let square = finite(function, "a product", sweeper.dot(vector, image))?;
    if square < 0.0 && square < -f64::EPSILON.sqrt() * sweeper.norm(vector) * sweeper.norm(image) {
        return Err(SolverError::NotPositiveDefinite { function, operator: "B" }.into());
    }
    Ok(())
}

/// Subtracts from `w` its component along the last vector of a basis and, if `known` is given, the
/// component `known` along the vector before the last. `w` is the product of the operator with the
/// last vector. Returns the component along the last vector.
fn three_terms(sweeper: &Sweeper, basis: &[Vec<f64>], w: &mut [f64], known: Option<f64>) -> f64 {
    let Some((last, others)) = basis.split_last() else { return 0.0 };
    let [diagonal] = sweeper.sweep(w.len(), [&mut *w], |at, [w]| {
        if let (Some(beta), Some(before)) = (known, others.last()) {
            axpy(-beta, at.of(before), w);
        }
        [dot(at.of(last), w)]
    });
    let [] = sweeper.sweep(w.len(), [w], |at, [w]| {
        axpy(-diagonal, at.of(last), w);
        []
    });
    diagonal
}

/// The eigenvalues of the projected matrix, with its eigenvectors and the norms of the residuals.
struct Projection {
    values: Vec<f64>,
    vectors: Vec<Vec<f64>>,
    residuals: Vec<f64>,
}

impl Lanczos {
    /// Runs the iteration from the vector `start`, which becomes the first vector of the basis
    /// unless it is zero. The operator is symmetric in the inner product of the matrix `inner`;
    /// `None` is the identity.
    pub(super) fn run(
        &self,
        session: &Session,
        product: &mut Product<'_>,
        inner: Option<&mut Product<'_>>,
        start: Vec<f64>,
    ) -> Result<RitzPairs, Error> {
        let (n, m) = (start.len(), self.subspace);
        let mut random = Random::new();
        let mut basis = Basis::new((self.function, Sweeper::of(session)), inner, start, &mut random)?;
        let mut projected = Mat::<f64>::zeros(m, m);
        let (mut kept, mut beta, mut products) = (0, 0.0, 0);
        for restarts in 0.. {
            for j in kept..m {
                check_cancelled(session)?;
                let next = product.times(&mut basis.vectors[j])?;
                products += 1;
                let next = next.into_vec();
                let made = basis.push(next, (j > kept).then_some(beta))?;
                finite(self.function, "a product", made.before)?;
                projected[(j, j)] = made.diagonal;
                beta = made.after;
                if beta <= f64::EPSILON * made.before.max(projected.norm_max()) {
                    beta = 0.0;
                    basis.scale_last(0.0);
                } else {
                    basis.scale_last(1.0 / beta);
                }
                if beta == 0.0 && j + 1 < n {
                    basis.replace_if_dependent(&mut random)?;
                }
                if j + 1 < m {
                    projected[(j + 1, j)] = beta;
                    projected[(j, j + 1)] = beta;
                }
            }
            let Projection { values, vectors, residuals } = self.project(&projected, beta)?;
            let order = self.order(&values);
            let threshold =
                |i: usize| self.tolerance.max(f64::EPSILON) * values[i].abs().max(f64::EPSILON.powf(2.0 / 3.0));
            let converged = order[..self.count].iter().filter(|i| residuals[**i] <= threshold(**i)).count();
            if converged == self.count {
                let mut chosen = order[..self.count].to_vec();
                chosen.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
                let combinations: Vec<Vec<f64>> = chosen.iter().map(|i| vectors[*i].clone()).collect();
                basis.combine(&combinations);
                basis.truncate(self.count);
                let values = chosen.iter().map(|i| values[*i]).collect();
                return Ok(RitzPairs { values, vectors: basis.vectors, products, restarts });
            }
            if restarts == self.max_restarts {
                let (converged, requested) = (converged as u64, self.count as u64);
                let function = self.function;
                return Err(SolverError::NotConverged { function, converged, requested, restarts }.into());
            }
            // Keeps one more vector for each converged value, as ARPACK does: fewer vectors would
            // slow the convergence of the other values.
            kept = match self.count + converged.min((m - self.count) / 2) {
                1 if m >= 6 => m / 2,
                kept => kept.min(m - 1),
            };
            let combinations: Vec<Vec<f64>> = order[..kept].iter().map(|i| vectors[*i].clone()).collect();
            basis.combine(&combinations);
            projected.fill(0.0);
            for (k, i) in order[..kept].iter().enumerate() {
                projected[(k, k)] = values[*i];
                let coupling = beta * vectors[*i][m - 1];
                projected[(k, kept)] = coupling;
                projected[(kept, k)] = coupling;
            }
        }
        unreachable!("the loop ends at the limit of restarts")
    }

    fn project(&self, projected: &Mat<f64>, beta: f64) -> Result<Projection, Error> {
        let m = projected.nrows();
        let not_finite = |_| SolverError::NotFinite { function: self.function, vector: "the projected matrix" };
        let eigen = projected.self_adjoint_eigen(Side::Lower).map_err(not_finite)?;
        let (u, s) = (eigen.U(), eigen.S());
        let vectors: Vec<Vec<f64>> = (0..m).map(|i| (0..m).map(|j| u[(j, i)]).collect()).collect();
        let residuals = vectors.iter().map(|vector| (beta * vector[m - 1]).abs()).collect();
        Ok(Projection { values: (0..m).map(|i| s[i]).collect(), vectors, residuals })
    }

    /// Returns the indices of eigenvalues, wanted ones first.
    fn order(&self, values: &[f64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..values.len()).collect();
        let by =
            |key: &dyn Fn(f64) -> f64, a: usize, b: usize| -> Ordering { key(values[a]).total_cmp(&key(values[b])) };
        match self.which {
            Which::LargestMagnitude => order.sort_by(|a, b| by(&|v| -v.abs(), *a, *b)),
            Which::SmallestMagnitude => order.sort_by(|a, b| by(&f64::abs, *a, *b)),
            Which::LargestAlgebraic => order.sort_by(|a, b| by(&|v| -v, *a, *b)),
            Which::SmallestAlgebraic => order.sort_by(|a, b| by(&|v| v, *a, *b)),
            Which::BothEnds => {
                order.sort_by(|a, b| by(&|v| -v, *a, *b));
                let (mut high, mut low) = (0, order.len());
                let sorted = order.clone();
                for (k, slot) in order.iter_mut().enumerate() {
                    if k % 2 == 0 {
                        *slot = sorted[high];
                        high += 1;
                    } else {
                        low -= 1;
                        *slot = sorted[low];
                    }
                }
            }
        }
        order
    }
}

/// Random numbers of a fixed sequence (SplitMix64; Steele, Lea and Flood, "Fast Splittable
/// Pseudorandom Number Generators", 2014), so that results repeat.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new() -> Random {
        Random(1)
    }

    /// Returns a number between -1 and 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Makes the last vector of a basis orthogonal to the other vectors, with norm 1. If the last
    /// vector depends on the others, a random vector replaces it.
    pub(super) fn replace_if_dependent(&mut self, sweeper: &Sweeper, basis: &mut [Vec<f64>]) {
        let Some((last, others)) = basis.split_last_mut() else { return };
        for attempt in 0..5 {
            if attempt > 0 {
                last.iter_mut().for_each(|x| *x = self.next());
            }
            let made = sweeper.orthogonalize(others, last, ORTHOGONAL);
            if made.before > 0.0 && made.after > 1e-8 * made.before {
                return sweeper.scale(1.0 / made.after, last);
            }
        }
    }
}
