//! Factorizations of stacks of dense matrices, and the functions that need them.

use super::call::{call, unary};
use super::tolerance::Tolerance;
use crate::array::Array;
use crate::error::Error;
use redpoll_linalg::dense;

pub use redpoll_linalg::dense::{QrMode, SvdMode, Triangle};

/// The factors of matrices `A = Q R`, see [`qr`].
#[derive(Clone, Debug)]
pub struct Qr {
    /// The matrices with orthonormal columns.
    pub q: Array,
    /// The upper triangular matrices.
    pub r: Array,
}

/// The singular value decompositions `A = U diag(S) Vh` of matrices, see [`svd`].
#[derive(Clone, Debug)]
pub struct Svd {
    /// The left singular vectors, as orthonormal columns.
    pub u: Array,
    /// The singular values of each matrix in descending order.
    pub s: Array,
    /// The right singular vectors, as orthonormal rows.
    pub vh: Array,
}

/// The eigenvalues and eigenvectors of symmetric matrices, see [`eigh`].
#[derive(Clone, Debug)]
pub struct Eigh {
    /// The eigenvalues of each matrix in ascending order.
    pub values: Array,
    /// The eigenvectors, as orthonormal columns: column `k` belongs to eigenvalue `k`.
    pub vectors: Array,
}

/// The sign and the logarithm of the absolute value of determinants, see [`slogdet`].
#[derive(Clone, Debug)]
pub struct SlogDet {
    /// -1, 0 or 1; NaN if infinities or NaN of the matrix make a pivot NaN.
    pub sign: Array,
    /// The natural logarithm of the absolute value; negative infinity for a singular matrix.
    pub log_abs_det: Array,
}

/// The solutions of least-squares problems, see [`lstsq`].
#[derive(Clone, Debug)]
pub struct Lstsq {
    /// The solutions. If a problem has several, this is the one with the smallest norm.
    pub x: Array,
    /// The sum of the squares of `a x - b` for each column of `b`.
    pub residuals: Array,
    /// The rank of each matrix.
    pub rank: Array,
    /// The singular values of each matrix in descending order.
    pub singular_values: Array,
}

/// Solves the systems of equations `a x = b` by Gaussian elimination with partial pivoting. Rows
/// and columns of badly scaled matrices are first multiplied by powers of two. If a matrix has NaN
/// in place of a pivot, its solutions are NaN.
///
/// `a` has shape `[.., n, n]`. If `b` has one mode, it is a vector of size `n`, and the result has
/// shape `[.., n]`. Otherwise `b` and the result have shape `[.., n, k]`, and each column of `b` is
/// a right side. The modes before the matrices are broadcast.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 2], [2.0, 1.0, 1.0, 1.0]);
/// let x = linalg::solve(&a, &session.vector([5.0, 3.0]))?;
/// assert_eq!(x.to_vec::<f64>()?, [2.0, 1.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if a matrix is singular, shapes or dtypes do not fit, the memory limit is reached, or an
/// array cannot be computed.
pub fn solve(a: &Array, b: &Array) -> Result<Array, Error> {
    Ok(a.session().array(call([a, b], |context, [a, b]| dense::solve(context, a, b))?))
}

/// Inverts the square matrices of an array of shape `[.., n, n]`.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let inverse = linalg::inv(&session.dense([2, 2], [2.0, 1.0, 1.0, 1.0]))?;
/// assert_eq!(inverse.to_vec::<f64>()?, [1.0, -1.0, -1.0, 2.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// The errors of [`solve`].
pub fn inv(a: &Array) -> Result<Array, Error> {
    unary(a, dense::inv)
}

/// Computes the determinants of the square matrices of an array of shape `[.., n, n]`; the result
/// has shape `[..]`. The determinant of a singular matrix is 0, that of a matrix without elements
/// is 1.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let stack = session.dense([2, 2, 2], [2, 1, 1, 1, 0, 1, 1, 0]);
/// assert_eq!(linalg::det(&stack)?.to_vec::<f64>()?, [1.0, -1.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrices are not square, the dtype is not a real number, the memory limit is
/// reached, or the array cannot be computed.
pub fn det(a: &Array) -> Result<Array, Error> {
    unary(a, dense::det)
}

/// Computes the signs and the logarithms of the absolute values of determinants, which neither
/// overflow nor underflow.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let det = linalg::slogdet(&session.dense([2, 2], [0.0, 1e200, 1e200, 0.0]))?;
/// assert_eq!(det.sign.item::<f64>()?, -1.0);
/// assert!((det.log_abs_det.item::<f64>()? - 400.0 * 10f64.ln()).abs() < 1e-9);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// The errors of [`det`].
pub fn slogdet(a: &Array) -> Result<SlogDet, Error> {
    let dense::SlogDet { sign, log_abs_det } = call([a], |context, [a]| dense::slogdet(context, a))?;
    let session = a.session();
    Ok(SlogDet { sign: session.array(sign), log_abs_det: session.array(log_abs_det) })
}

/// Computes the Cholesky factors of symmetric positive definite matrices of shape `[.., n, n]`: the
/// lower triangular `L` with `A = L L^T`, or the upper triangular `U` with `A = U^T U`. Reads only
/// one triangle of each matrix: the lower one for `L`, the upper one for `U`.
///
/// ```
/// use redpoll::linalg::{self, Triangle};
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 2], [4.0, 2.0, 2.0, 2.0]);
/// assert_eq!(linalg::cholesky(&a, Triangle::Lower)?.to_vec::<f64>()?, [2.0, 0.0, 1.0, 1.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if a matrix is not positive definite; also the errors of [`det`].
pub fn cholesky(a: &Array, triangle: Triangle) -> Result<Array, Error> {
    unary(a, |context, a| dense::cholesky(context, a, triangle))
}

/// Factorizes the matrices of an array of shape `[.., m, n]` as `A = Q R`, where `Q` has
/// orthonormal columns and `R` is upper triangular. The signs of the diagonal of `R` are not
/// specified.
///
/// ```
/// use redpoll::linalg::{self, QrMode};
///
/// let session = redpoll::Session::default();
/// let factors = linalg::qr(&session.dense([3, 1], [3.0, 0.0, 4.0]), QrMode::Reduced)?;
/// assert_eq!((factors.q.shape()?, factors.r.shape()?), (vec![3, 1], vec![1, 1]));
/// assert!((factors.r.item::<f64>()?.abs() - 5.0).abs() < 1e-12);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the array has fewer than two modes, the dtype is not a real number, the memory limit is
/// reached, or the array cannot be computed.
pub fn qr(a: &Array, mode: QrMode) -> Result<Qr, Error> {
    let dense::Qr { q, r } = call([a], |context, [a]| dense::qr(context, a, mode))?;
    Ok(Qr { q: a.session().array(q), r: a.session().array(r) })
}

/// Computes the singular value decompositions of the matrices of an array of shape `[.., m, n]`.
///
/// ```
/// use redpoll::linalg::{self, SvdMode};
///
/// let session = redpoll::Session::default();
/// let svd = linalg::svd(&session.dense([2, 3], [0.0, 2.0, 0.0, 0.0, 0.0, 3.0]), SvdMode::Thin)?;
/// assert_eq!((svd.u.shape()?, svd.vh.shape()?), (vec![2, 2], vec![2, 3]));
/// assert!((svd.s.get::<f64>([0])? - 3.0).abs() < 1e-12);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if a matrix has infinities or NaN, or the iteration does not converge; also the errors of
/// [`qr`].
pub fn svd(a: &Array, mode: SvdMode) -> Result<Svd, Error> {
    let dense::Svd { u, s, vh } = call([a], |context, [a]| dense::svd(context, a, mode))?;
    let session = a.session();
    Ok(Svd { u: session.array(u), s: session.array(s), vh: session.array(vh) })
}

/// Computes the singular values of the matrices of an array of shape `[.., m, n]`, in descending
/// order. The result has shape `[.., min(m, n)]`.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let s = linalg::svdvals(&session.dense([2, 2], [0, 1, -1, 0]))?.to_vec::<f64>()?;
/// assert!(s.iter().all(|value| (value - 1.0).abs() < 1e-12));
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// The errors of [`svd`].
pub fn svdvals(a: &Array) -> Result<Array, Error> {
    unary(a, dense::svdvals)
}

/// Computes the eigenvalues and eigenvectors of symmetric matrices of shape `[.., n, n]`. The
/// result depends only on the elements on and below the diagonal, but the elements above it must be
/// finite, too.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let eigen = linalg::eigh(&session.dense([2, 2], [2.0, 1.0, 1.0, 2.0]))?;
/// let values = eigen.values.to_vec::<f64>()?;
/// assert!((values[0] - 1.0).abs() < 1e-12 && (values[1] - 3.0).abs() < 1e-12);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if a matrix is not square; also the errors of [`svd`].
pub fn eigh(a: &Array) -> Result<Eigh, Error> {
    let dense::Eigh { values, vectors } = call([a], |context, [a]| dense::eigh(context, a))?;
    Ok(Eigh { values: a.session().array(values), vectors: a.session().array(vectors) })
}

/// Computes the eigenvalues of symmetric matrices of shape `[.., n, n]`, in ascending order. They
/// depend only on the elements on and below the diagonal, but the elements above it must be finite,
/// too.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let values = linalg::eigvalsh(&session.dense([2, 2], [0, 1, 1, 0]))?.to_vec::<f64>()?;
/// assert!((values[0] + 1.0).abs() < 1e-12 && (values[1] - 1.0).abs() < 1e-12);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// The errors of [`eigh`].
pub fn eigvalsh(a: &Array) -> Result<Array, Error> {
    unary(a, dense::eigvalsh)
}

/// Computes the Moore-Penrose pseudo-inverses of the matrices of an array of shape `[.., m, n]`;
/// the result has shape `[.., n, m]`. Singular values of at most `rtol` times the largest one count
/// as zero. `rtol` is a number, an array of a number for each matrix, or `None` for `max(m, n)`
/// times the machine epsilon.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let inverse = linalg::pinv(&session.dense([2, 2], [2.0, 0.0, 0.0, 0.0]), None)?;
/// assert!((inverse.get::<f64>([0, 0])? - 0.5).abs() < 1e-12);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// The errors of [`svd`].
pub fn pinv(a: &Array, rtol: impl Into<Tolerance>) -> Result<Array, Error> {
    let tensor = rtol.into().call([a], |context, [a], rtol| dense::pinv(context, a, rtol))?;
    Ok(a.session().array(tensor))
}

/// Computes the ranks of the matrices of an array of shape `[.., m, n]`: the numbers of singular
/// values above `rtol` times the largest one, with the default of [`pinv`]. The result has shape
/// `[..]` and dtype `i64`.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 2], [1, 2, 2, 4]);
/// assert_eq!(linalg::matrix_rank(&a, None)?.item::<i64>()?, 1);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// The errors of [`svd`].
pub fn matrix_rank(a: &Array, rtol: impl Into<Tolerance>) -> Result<Array, Error> {
    let tensor = rtol.into().call([a], |context, [a], rtol| dense::matrix_rank(context, a, rtol))?;
    Ok(a.session().array(tensor))
}

/// Solves least-squares problems by the singular value decomposition: finds the `x` that minimizes
/// the norm of `a x - b`. If there are several, the result is the one with the smallest norm.
///
/// `a` has shape `[.., m, n]`, and `b` is a vector of size `m` or has shape `[.., m, k]`, as in
/// [`solve`]. Singular values of at most `rtol` times the largest one count as zero, with
/// `rtol` as in [`pinv`].
///
/// ```
/// use redpoll::linalg;
///
/// // The line `x[0] + x[1] t` through three points.
/// let session = redpoll::Session::default();
/// let a = session.dense([3, 2], [1, 0, 1, 1, 1, 2]);
/// let line = linalg::lstsq(&a, &session.vector([1.0, 3.0, 5.0]), None)?;
/// assert!((line.x.get::<f64>([1])? - 2.0).abs() < 1e-12);
/// assert_eq!(line.rank.item::<i64>()?, 2);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the shapes do not fit; also the errors of [`svd`].
pub fn lstsq(a: &Array, b: &Array, rtol: impl Into<Tolerance>) -> Result<Lstsq, Error> {
    let dense::Lstsq { x, residuals, rank, singular_values } =
        rtol.into().call([a, b], |context, [a, b], rtol| dense::lstsq(context, a, b, rtol))?;
    let array = |tensor| a.session().array(tensor);
    let (x, residuals) = (array(x), array(residuals));
    Ok(Lstsq { x, residuals, rank: array(rank), singular_values: array(singular_values) })
}
