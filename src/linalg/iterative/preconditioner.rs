//! Preconditioners: operators that approximate the inverse of a matrix.

use super::error::SolverError;
use super::operator::{LinearOperator, Orientation, as_real};
use super::product::{Product, Vector, dense_values};
use super::rows::Rows;
use super::system::{array_of, charge, square, vector_of};
use crate::array::Array;
use crate::error::Error;
use crate::session::Session;
use redpoll_linalg::Reservation;

/// An approximate inverse of a matrix, which [`jacobi`], [`ilu0`] and [`ic0`] return.
pub struct Preconditioner {
    session: Session,
    kind: Kind,
    _charge: Reservation,
}

enum Kind {
    /// The inverse of each element of the diagonal.
    Diagonal(Vec<f64>),
    /// `L U`, where the diagonal of `L` consists of ones, and `inverse_diagonal` has the inverse of
    /// each element of the diagonal of `U`.
    Lu { lower: Rows, upper: Rows, inverse_diagonal: Vec<f64> },
    /// `L L^T`, where `lower` is `L` without its diagonal, and `inverse_diagonal` has the inverse
    /// of each element of that diagonal.
    Cholesky { lower: Rows, inverse_diagonal: Vec<f64> },
}

/// Returns the preconditioner of Jacobi: the inverse of the diagonal of a matrix.
///
/// ```
/// use redpoll::linalg::iterative::{LinearOperator, jacobi};
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 2], [4.0, 1.0, 1.0, 2.0]);
/// let inverse = jacobi(&a)?;
/// assert_eq!(inverse.multiply(&session.vector([1.0, 1.0]))?.to_vec::<f64>()?, [0.25, 0.5]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square, or an element of the diagonal is zero or not finite.
pub fn jacobi(a: &Array) -> Result<Preconditioner, Error> {
    const NAME: &str = "jacobi";
    square(NAME, a)?;
    let diagonal = Vector::Shared(dense_values(NAME, &as_real(NAME, a)?.diagonal(0))?);
    let kind = Kind::Diagonal(inverse(NAME, &diagonal)?);
    Preconditioner::of(Array::session(a), kind)
}

/// Returns the incomplete LU factorization, without fill-in, of a matrix: the factors store only
/// coordinates that the matrix stores (Meijerink and van der Vorst, "An Iterative Solution Method
/// for Linear Systems of Which the Coefficient Matrix Is a Symmetric M-Matrix", 1977; algorithm
/// 10.4 of Saad, "Iterative Methods for Sparse Linear Systems", 2003).
///
/// ```
/// use redpoll::linalg::iterative::{SolverOptions, gmres, ilu0};
///
/// let session = redpoll::Session::default();
/// // The factorization of a tridiagonal matrix has no fill-in, so it is exact.
/// let a = session.dense([3, 3], [4.0, 1.0, 0.0, -1.0, 4.0, 1.0, 0.0, -1.0, 4.0]).to_csr();
/// let factors = ilu0(&a)?;
/// let options = SolverOptions { preconditioner: Some(&factors), ..SolverOptions::default() };
/// assert_eq!(gmres(&a, &session.vector([1.0, 2.0, 3.0]), 20, options)?.iterations, 1);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square, or a pivot is zero or not finite.
pub fn ilu0(a: &Array) -> Result<Preconditioner, Error> {
    const NAME: &str = "ilu0";
    let mut factors = Rows::of(NAME, a)?;
    let n = factors.len();
    // The entry of each column in the current row.
    let mut entries: Vec<Option<usize>> = vec![None; n];
    let mut diagonal = vec![0; n];
    for i in 0..n {
        factors.row(i).for_each(|p| entries[factors.idx[p] as usize] = Some(p));
        for p in factors.row(i) {
            let k = factors.idx[p] as usize;
            if k >= i {
                break;
            }
            let factor = factors.val[p] / factors.val[diagonal[k]];
            factors.val[p] = factor;
            for q in diagonal[k] + 1..factors.ptr[k + 1] {
                if let Some(target) = entries[factors.idx[q] as usize] {
                    factors.val[target] -= factor * factors.val[q];
                }
            }
        }
        let pivot = entries[i].map_or(0.0, |p| factors.val[p]);
        if pivot == 0.0 || !pivot.is_finite() {
            return Err(SolverError::Pivot { function: NAME, row: i as u64, pivot }.into());
        }
        diagonal[i] = entries[i].unwrap_or_default();
        factors.row(i).for_each(|p| entries[factors.idx[p] as usize] = None);
    }
    let ((lower, _), (upper, diagonal)) = (factors.lower(), factors.upper());
    let kind = Kind::Lu { lower, upper, inverse_diagonal: inverse(NAME, &diagonal)? };
    Preconditioner::of(Array::session(a), kind)
}

/// Returns the incomplete Cholesky factorization, without fill-in, of a symmetric matrix: the
/// factor stores only coordinates that the lower triangle of the matrix stores (Meijerink and van
/// der Vorst, 1977). The upper triangle is not read.
///
/// ```
/// use redpoll::linalg::iterative::{SolverOptions, cg, ic0};
///
/// let session = redpoll::Session::default();
/// let a = session.dense([3, 3], [4.0, 1.0, 0.0, 1.0, 4.0, 1.0, 0.0, 1.0, 4.0]).to_csr();
/// let factor = ic0(&a)?;
/// let options = SolverOptions { preconditioner: Some(&factor), ..SolverOptions::default() };
/// assert_eq!(cg(&a, &session.vector([1.0, 2.0, 3.0]), options)?.iterations, 1);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square, or a pivot is not positive and finite. This may happen for a
/// positive definite matrix, but not for an M-matrix.
pub fn ic0(a: &Array) -> Result<Preconditioner, Error> {
    const NAME: &str = "ic0";
    let (mut lower, mut diagonal) = Rows::of(NAME, a)?.lower();
    for i in 0..lower.len() {
        let row = lower.row(i);
        let mut pivot = diagonal[i];
        for p in row.clone() {
            let k = lower.idx[p] as usize;
            let value = (lower.val[p] - common_products(&lower, row.start..p, lower.row(k))) / diagonal[k];
            lower.val[p] = value;
            pivot -= value * value;
        }
        if pivot <= 0.0 || !pivot.is_finite() {
            return Err(SolverError::Pivot { function: NAME, row: i as u64, pivot }.into());
        }
        diagonal[i] = pivot.sqrt();
    }
    let kind = Kind::Cholesky { lower, inverse_diagonal: inverse(NAME, &diagonal)? };
    Preconditioner::of(Array::session(a), kind)
}

/// Returns the dot product of two rows, given by their ranges of entries.
fn common_products(rows: &Rows, mut a: std::ops::Range<usize>, mut b: std::ops::Range<usize>) -> f64 {
    let mut sum = 0.0;
    while !a.is_empty() && !b.is_empty() {
        let (i, j) = (rows.idx[a.start], rows.idx[b.start]);
        if i == j {
            sum += rows.val[a.start] * rows.val[b.start];
        }
        a.start += usize::from(i <= j);
        b.start += usize::from(j <= i);
    }
    sum
}

/// Returns the inverse of each element of a diagonal.
fn inverse(function: &'static str, diagonal: &[f64]) -> Result<Vec<f64>, Error> {
    let inverse: Vec<f64> = diagonal.iter().map(|d| 1.0 / d).collect();
    match inverse.iter().zip(diagonal).position(|(inverse, d)| !inverse.is_finite() || !d.is_finite()) {
        Some(row) => Err(SolverError::Pivot { function, row: row as u64, pivot: diagonal[row] }.into()),
        None => Ok(inverse),
    }
}

impl Preconditioner {
    /// Charges the factors to the memory limit.
    fn of(session: &Session, kind: Kind) -> Result<Preconditioner, Error> {
        let floats = match &kind {
            Kind::Diagonal(inverse) => inverse.len(),
            Kind::Lu { lower, upper, inverse_diagonal } => lower.floats() + upper.floats() + inverse_diagonal.len(),
            Kind::Cholesky { lower, inverse_diagonal } => lower.floats() + inverse_diagonal.len(),
        };
        let charge = charge(session, floats as u64)?;
        Ok(Preconditioner { session: session.clone(), kind, _charge: charge })
    }

    fn solve(&self, r: &[f64]) -> Vec<f64> {
        match &self.kind {
            Kind::Diagonal(inverse) => r.iter().zip(inverse).map(|(r, inverse)| r * inverse).collect(),
            Kind::Lu { lower, upper, inverse_diagonal } => {
                let mut x = Vec::with_capacity(r.len());
                for (i, r) in r.iter().enumerate() {
                    let solved = lower.entries(i).fold(*r, |rest, (j, value)| rest - value * x[j]);
                    x.push(solved);
                }
                for i in (0..x.len()).rev() {
                    let rest = upper.entries(i).fold(x[i], |rest, (j, value)| rest - value * x[j]);
                    x[i] = rest * inverse_diagonal[i];
                }
                x
            }
            Kind::Cholesky { lower, inverse_diagonal } => {
                let mut x = Vec::with_capacity(r.len());
                for (i, r) in r.iter().enumerate() {
                    let rest = lower.entries(i).fold(*r, |rest, (j, value)| rest - value * x[j]);
                    x.push(rest * inverse_diagonal[i]);
                }
                for i in (0..x.len()).rev() {
                    let solved = x[i] * inverse_diagonal[i];
                    x[i] = solved;
                    lower.entries(i).for_each(|(j, value)| x[j] -= value * solved);
                }
                x
            }
        }
    }

    /// Returns the number of rows.
    fn len(&self) -> usize {
        match &self.kind {
            Kind::Diagonal(inverse)
            | Kind::Lu { inverse_diagonal: inverse, .. }
            | Kind::Cholesky { inverse_diagonal: inverse, .. } => inverse.len(),
        }
    }
}

impl LinearOperator for Preconditioner {
    fn session(&self) -> &Session {
        &self.session
    }

    fn size(&self) -> Result<(u64, u64), Error> {
        Ok((self.len() as u64, self.len() as u64))
    }

    fn multiply(&self, x: &Array) -> Result<Array, Error> {
        array_of(&self.session, self.solve(&vector_of("Preconditioner", x, self.len() as u64)?))
    }

    /// Returns the product of the transpose. The approximate inverses of [`jacobi`] and [`ic0`] are
    /// symmetric; that of [`ilu0`] has no transposed product.
    fn multiply_transposed(&self, x: &Array) -> Result<Array, Error> {
        if matches!(self.kind, Kind::Lu { .. }) {
            return Err(SolverError::NoTranspose.into());
        }
        self.multiply(x)
    }

    fn product(&self, orientation: Orientation) -> Result<Product<'_>, Error> {
        if orientation == Orientation::Transposed && matches!(self.kind, Kind::Lu { .. }) {
            return Err(SolverError::NoTranspose.into());
        }
        Ok(Product::of_function(self.size()?, |r| Ok(self.solve(r))))
    }
}
