//! Factorizations of sparse matrices.

use super::call::call;
use crate::array::Array;
use crate::error::Error;
use redpoll_linalg::sparse::{self, SymmetricKind};
use redpoll_logic::Prim;

pub use redpoll_linalg::sparse::LogDeterminant;

/// The factors of a sparse square matrix, see [`sparse_lu`]. Clones share the factors.
#[derive(Clone, Debug)]
pub struct SparseLu {
    factors: sparse::SparseLu,
}

/// The factors of a sparse symmetric matrix, see [`sparse_cholesky`] and [`sparse_ldlt`]. Clones
/// share the factors.
#[derive(Clone, Debug)]
pub struct SparseCholesky {
    factors: sparse::SparseCholesky,
}

/// The factors of a sparse matrix with at least as many rows as columns, see [`sparse_qr`]. Clones
/// share the factors.
#[derive(Clone, Debug)]
pub struct SparseQr {
    factors: sparse::SparseQr,
}

/// Solves `a x = b` for a sparse square matrix: a shorthand for [`sparse_lu`] and
/// [`SparseLu::solve`]. If the matrix is `f32` but the right side is not, the system is solved in
/// `f64`.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let a = session.eye(4, 4, 0, redpoll::logic::Prim::F64) * 2.0;
/// let x = linalg::spsolve(&a, &session.vector([2.0, 4.0, 6.0, 8.0]))?;
/// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// The errors of [`sparse_lu`] and [`SparseLu::solve`].
pub fn spsolve(a: &Array, b: &Array) -> Result<Array, Error> {
    let (single, dtype) = (Prim::F32.into(), Prim::F64);
    let is_mixed = a.dtype()? == single && b.dtype()? != single;
    let a = if is_mixed { a.astype(dtype) } else { a.clone() };
    sparse_lu(&a)?.solve(b)
}

/// Factorizes a sparse square matrix as `P A Q = L U`, with partial pivoting after an ordering of
/// the columns that keeps the factors sparse (COLAMD; Davis, Gilbert, Larimore and Ng, "A Column
/// Approximate Minimum Degree Ordering Algorithm", 2004).
///
/// The matrix may have any format and real dtype; its fill value must be 0. The numbers of the
/// factors are `f32` for a matrix of `f32`, otherwise `f64`. A matrix in compressed rows or columns
/// keeps its format; other formats are converted. The rows and columns of badly scaled matrices are
/// multiplied by powers of two before the factorization. The memory of the factors does not count
/// against the memory limit of the session, but workspaces do.
///
/// ```
/// use redpoll::linalg;
/// use redpoll::logic::Format;
///
/// let session = redpoll::Session::default();
/// let a = session.triples([2, 2], Format::csr(), [([0, 1], 2.0), ([1, 0], 4.0)]);
/// let lu = linalg::sparse_lu(&a)?;
/// assert_eq!(lu.solve(&session.vector([2.0, 4.0]))?.to_vec::<f64>()?, [1.0, 1.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the array is no square matrix of finite numbers with fill value 0, the matrix is
/// singular, memory is exhausted, or the array cannot be computed.
pub fn sparse_lu(a: &Array) -> Result<SparseLu, Error> {
    Ok(SparseLu { factors: call([a], |context, [a]| sparse::SparseLu::new(context, a))? })
}

impl SparseLu {
    /// Solves `a x = b` for a vector `b`, or for each column of a matrix `b`. The numbers of the
    /// solution have the type of the factors.
    ///
    /// ```
    /// use redpoll::linalg;
    ///
    /// let session = redpoll::Session::default();
    /// let lu = linalg::sparse_lu(&session.dense([2, 2], [2.0, 1.0, 0.0, 1.0]))?;
    /// let x = lu.solve(&session.dense([2, 2], [3, 2, 1, 0]))?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 1.0, 1.0, 0.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the number of rows does not fit, memory is exhausted, or the array cannot be
    /// computed.
    pub fn solve(&self, b: &Array) -> Result<Array, Error> {
        Ok(b.session().array(call([b], |context, [b]| self.factors.solve(context, b))?))
    }

    /// Solves `a^T x = b`, like [`SparseLu::solve`].
    ///
    /// ```
    /// use redpoll::linalg;
    ///
    /// let session = redpoll::Session::default();
    /// let lu = linalg::sparse_lu(&session.dense([2, 2], [1.0, 1.0, 0.0, 1.0]))?;
    /// let x = lu.solve_transposed(&session.vector([1.0, 3.0]))?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`SparseLu::solve`].
    pub fn solve_transposed(&self, b: &Array) -> Result<Array, Error> {
        Ok(b.session().array(call([b], |context, [b]| self.factors.solve_transposed(context, b))?))
    }

    /// Factorizes another matrix that stores the same coordinates. The ordering is used again, so
    /// only the numbers are computed. The numbers of the factors keep their type.
    ///
    /// ```
    /// use redpoll::linalg;
    ///
    /// let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [1.0, 1.0, 0.0, 1.0]);
    /// let doubled = linalg::sparse_lu(&a)?.refactorize(&(&a * 2.0))?;
    /// assert_eq!(doubled.solve(&session.vector([4.0, 2.0]))?.to_vec::<f64>()?, [1.0, 1.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the matrix stores other coordinates; also the errors of [`sparse_lu`].
    pub fn refactorize(&self, a: &Array) -> Result<SparseLu, Error> {
        Ok(SparseLu { factors: call([a], |context, [a]| self.factors.refactorize(context, a))? })
    }
}

/// Factorizes a sparse symmetric positive definite matrix as `P A P^T = L L^T`, after an ordering
/// that keeps the factor sparse (AMD; Amestoy, Davis and Duff, "An Approximate Minimum Degree
/// Ordering Algorithm", 1996). Reads only the elements on and below the diagonal. The matrix may
/// have the formats and dtypes that [`sparse_lu`] accepts.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let factors = linalg::sparse_cholesky(&session.dense([2, 2], [4.0, 2.0, 2.0, 2.0]))?;
/// assert_eq!(factors.solve(&session.vector([6.0, 4.0]))?.to_vec::<f64>()?, [1.0, 1.0]);
/// assert!((factors.log_determinant().log_abs - 4f64.ln()).abs() < 1e-12);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the array is no square matrix of finite numbers with fill value 0, the matrix is not
/// positive definite, memory is exhausted, or the array cannot be computed.
pub fn sparse_cholesky(a: &Array) -> Result<SparseCholesky, Error> {
    symmetric(a, SymmetricKind::Cholesky)
}

/// Factorizes a sparse symmetric matrix as `P A P^T = L D L^T` with a diagonal `D`, like
/// [`sparse_cholesky`] but without square roots. There is no pivoting: all principal submatrices
/// must be regular, as those of positive definite and quasi-definite matrices are. Use
/// [`sparse_lu`] for other matrices.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let factors = linalg::sparse_ldlt(&session.dense([2, 2], [1.0, 1.0, 1.0, -1.0]))?;
/// assert_eq!(factors.solve(&session.vector([2.0, 0.0]))?.to_vec::<f64>()?, [1.0, 1.0]);
/// assert_eq!(factors.log_determinant().sign, -1.0);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the array is no square matrix of finite numbers with fill value 0, an element of `D` is
/// zero, memory is exhausted, or the array cannot be computed.
pub fn sparse_ldlt(a: &Array) -> Result<SparseCholesky, Error> {
    symmetric(a, SymmetricKind::Ldlt)
}

fn symmetric(a: &Array, kind: SymmetricKind) -> Result<SparseCholesky, Error> {
    Ok(SparseCholesky { factors: call([a], |context, [a]| sparse::SparseCholesky::new(context, a, kind))? })
}

impl SparseCholesky {
    /// Solves `a x = b` for a vector `b`, or for each column of a matrix `b`. The numbers of the
    /// solution have the type of the factors.
    ///
    /// ```
    /// use redpoll::linalg;
    ///
    /// let session = redpoll::Session::default();
    /// let factors = linalg::sparse_cholesky(&session.dense([2, 2], [4.0, 0.0, 0.0, 1.0]))?;
    /// assert_eq!(factors.solve(&session.vector([8, 3]))?.to_vec::<f64>()?, [2.0, 3.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`SparseLu::solve`].
    pub fn solve(&self, b: &Array) -> Result<Array, Error> {
        Ok(b.session().array(call([b], |context, [b]| self.factors.solve(context, b))?))
    }

    /// Factorizes another matrix that stores the same coordinates. The ordering is used again, so
    /// only the numbers are computed. The numbers of the factors keep their type.
    ///
    /// ```
    /// use redpoll::linalg;
    ///
    /// let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [4.0, 0.0, 0.0, 1.0]);
    /// let doubled = linalg::sparse_cholesky(&a)?.refactorize(&(&a * 2.0))?;
    /// let x = doubled.solve(&session.vector([8.0, 2.0]))?.to_vec::<f64>()?;
    /// assert!(x.iter().all(|value| (value - 1.0).abs() < 1e-12));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the matrix stores other coordinates; also the errors of [`sparse_cholesky`] or
    /// [`sparse_ldlt`].
    pub fn refactorize(&self, a: &Array) -> Result<SparseCholesky, Error> {
        Ok(SparseCholesky { factors: call([a], |context, [a]| self.factors.refactorize(context, a))? })
    }

    /// Returns the sign and the logarithm of the absolute value of the determinant. The work is
    /// proportional to the size of the matrix.
    ///
    /// ```
    /// use redpoll::linalg;
    ///
    /// let session = redpoll::Session::default();
    /// let factors = linalg::sparse_ldlt(&session.dense([2, 2], [2.0, 0.0, 0.0, -3.0]))?;
    /// let det = factors.log_determinant();
    /// assert!((det.sign * det.log_abs.exp() + 6.0).abs() < 1e-12);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn log_determinant(&self) -> LogDeterminant {
        self.factors.log_determinant()
    }

    /// Returns the number of stored values of the factors. Large factors are stored in blocks,
    /// which may store zeros.
    ///
    /// ```
    /// use redpoll::linalg;
    ///
    /// let session = redpoll::Session::default();
    /// let factors = linalg::sparse_cholesky(&session.eye(5, 5, 0, redpoll::logic::Prim::F64))?;
    /// assert_eq!(factors.factor_entries(), 5);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn factor_entries(&self) -> u64 {
        self.factors.factor_entries()
    }
}

/// Factorizes a sparse matrix as `A P = Q R`, after an ordering of the columns that keeps the
/// factors sparse (COLAMD). The matrix must have at least as many rows as columns. `Q` is stored as
/// Householder reflections. One thread does all of the work. The matrix may have the formats and
/// dtypes that [`sparse_lu`] accepts.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let qr = linalg::sparse_qr(&session.dense([3, 1], [1.0, 1.0, 1.0]))?;
/// let mean = qr.solve(&session.vector([1.0, 2.0, 6.0]))?.get::<f64>([0])?;
/// assert!((mean - 3.0).abs() < 1e-12);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the array is no matrix of finite numbers with fill value 0, has more columns than rows,
/// a diagonal element of `R` is zero, memory is exhausted, or the array cannot be computed.
pub fn sparse_qr(a: &Array) -> Result<SparseQr, Error> {
    Ok(SparseQr { factors: call([a], |context, [a]| sparse::SparseQr::new(context, a))? })
}

impl SparseQr {
    /// Finds the `x` that minimizes the norm of `a x - b`, for a vector `b` or for each column of a
    /// matrix `b`. For a square matrix, that is the solution of `a x = b`. The numbers of the
    /// solution have the type of the factors.
    ///
    /// ```
    /// use redpoll::linalg;
    ///
    /// let session = redpoll::Session::default();
    /// let qr = linalg::sparse_qr(&session.dense([2, 1], [3.0, 4.0]))?;
    /// assert!((qr.solve(&session.vector([6.0, 8.0]))?.get::<f64>([0])? - 2.0).abs() < 1e-12);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`SparseLu::solve`].
    pub fn solve(&self, b: &Array) -> Result<Array, Error> {
        Ok(b.session().array(call([b], |context, [b]| self.factors.solve(context, b))?))
    }

    /// Factorizes another matrix that stores the same coordinates. The ordering is used again, so
    /// only the numbers are computed. The numbers of the factors keep their type.
    ///
    /// ```
    /// use redpoll::linalg;
    ///
    /// let session = redpoll::Session::default();
    /// let a = session.dense([2, 1], [3.0, 4.0]);
    /// let doubled = linalg::sparse_qr(&a)?.refactorize(&(&a * 2.0))?;
    /// assert!((doubled.solve(&session.vector([6.0, 8.0]))?.get::<f64>([0])? - 1.0).abs() < 1e-12);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the matrix stores other coordinates; also the errors of [`sparse_qr`].
    pub fn refactorize(&self, a: &Array) -> Result<SparseQr, Error> {
        Ok(SparseQr { factors: call([a], |context, [a]| self.factors.refactorize(context, a))? })
    }
}
