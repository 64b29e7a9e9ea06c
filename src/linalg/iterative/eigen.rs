//! A few eigenvalues of symmetric operators, and a few singular values.

use super::arithmetic::Sweeper;
use super::error::SolverError;
use super::lanczos::{Lanczos, Random, RitzPairs, Which};
use super::operator::{FunctionOperator, LinearOperator, Orientation, as_real};
use super::product::Product;
use super::system::{array_of, charge, charged_tensor, check_tolerance, finite, product_of, square, vector_of};
use crate::array::Array;
use crate::error::Error;
use crate::linalg::{sparse_cholesky, sparse_lu};
use crate::session::Session;
use redpoll_logic::Prim;

const NAME: &str = "eigsh";

/// The parameters of [`eigsh`] and [`svds`].
pub struct EigenOptions<'a> {
    /// The wanted values; those of largest magnitude by default.
    pub which: Which,
    /// The relative tolerance of values; 0, the default, is the precision of floats.
    pub tol: f64,
    /// The greatest number of restarts; 10 times the number of rows by default.
    pub max_restarts: Option<u64>,
    /// The number of vectors that are stored. The default is 20 or twice the number of values plus
    /// 1, whichever is larger, but at most the number of rows.
    pub subspace: Option<u64>,
    /// The first vector; random by default.
    pub v0: Option<&'a Array>,
    /// A shift; the eigenvalues nearest to it converge fast. Only for [`eigsh`].
    pub shift: Option<Shift<'a>>,
    /// The matrix `B` of the problem `A x = lambda B x`; the identity by default. Only for
    /// [`eigsh`].
    pub b: Option<InnerProduct<'a>>,
}

/// A symmetric positive definite matrix `B`. The eigenvectors of the problem `A x = lambda B x` are
/// orthonormal in the inner product of `B`.
pub struct InnerProduct<'a> {
    /// The matrix.
    pub matrix: &'a dyn LinearOperator,
    /// The inverse of the matrix. If it is `None`, [`sparse_cholesky`] factorizes the matrix. With
    /// a shift, the inverse is not used.
    pub inverse: Option<&'a dyn LinearOperator>,
}

/// A shift `sigma`. [`EigenOptions::which`] then selects from the eigenvalues
/// `1 / (lambda - sigma)` of the inverse of `A - sigma B`: the largest magnitudes belong to the
/// eigenvalues `lambda` nearest to the shift.
pub struct Shift<'a> {
    /// The shift.
    pub sigma: f64,
    /// The inverse of `A - sigma B`. If it is `None`, [`sparse_lu`] factorizes the shifted matrix.
    pub inverse: Option<&'a dyn LinearOperator>,
}

impl Default for EigenOptions<'_> {
    fn default() -> Self {
        EigenOptions {
            which: Which::LargestMagnitude,
            tol: 0.0,
            max_restarts: None,
            subspace: None,
            v0: None,
            shift: None,
            b: None,
        }
    }
}

/// Eigenvalues and eigenvectors.
#[derive(Clone, Debug)]
pub struct Eigenpairs {
    /// The eigenvalues, ascending.
    pub values: Array,
    /// The eigenvectors, one for each column, orthonormal in the inner product of `B`.
    pub vectors: Array,
    /// The number of products with the operator, or with the inverse of the shifted operator.
    pub products: u64,
    /// The number of restarts.
    pub restarts: u64,
}

/// Computes `k` eigenvalues and eigenvectors of a symmetric operator, or of the problem
/// `A x = lambda B x`, by the thick-restart Lanczos method (Wu and Simon, "Thick-Restart Lanczos
/// Method for Large Symmetric Eigenvalue Problems", 2000).
///
/// Eigenvalues far from the others converge fast. Eigenvalues close to many others, such as the
/// smallest ones of a Laplacian, need a shift: `Some(Shift { sigma: 0.0, inverse: None })`. As in
/// every Lanczos method, some copies of a multiple eigenvalue may be missing if `tol` is large.
///
/// ```
/// use redpoll::linalg::iterative::{EigenOptions, Which, eigsh};
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 2], [2.0, 1.0, 1.0, 2.0]);
/// let found = eigsh(&a, 1, &EigenOptions { which: Which::SmallestAlgebraic, ..EigenOptions::default() })?;
/// assert!((found.values.get::<f64>([0])? - 1.0).abs() < 1e-12);
/// assert!((found.vectors.get::<f64>([0, 0])?.abs() - 0.5f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the operator is not square, `k` or the subspace is out of range, a vector or a product
/// is not finite, values have not converged in the allowed restarts, or the shifted matrix cannot
/// be factorized.
pub fn eigsh(a: &dyn LinearOperator, k: u64, options: &EigenOptions<'_>) -> Result<Eigenpairs, Error> {
    let n = square(NAME, a)?;
    let session = a.session();
    let EigenOptions { shift, b, .. } = options;
    if let Some(Shift { sigma, .. }) = shift {
        finite(NAME, "the shift", *sigma)?;
    }
    let factors;
    // The operator of the iteration is `A`, the inverse of `B` times `A`, or the inverse of
    // `A - sigma B` times `B`: the second product follows the first one.
    let (first, second): (Option<&dyn LinearOperator>, Option<&dyn LinearOperator>) = match (shift, b) {
        (None, None) => (Some(a), None),
        (None, Some(InnerProduct { inverse: Some(inverse), .. })) => (Some(a), Some(*inverse)),
        (None, Some(InnerProduct { matrix, inverse: None })) => {
            factors = inverse_of(*matrix)?;
            (Some(a), Some(&factors))
        }
        (Some(Shift { inverse: Some(inverse), .. }), b) => (b.as_ref().map(|b| b.matrix), Some(*inverse)),
        (Some(Shift { sigma, inverse: None }), b) => {
            let b = b.as_ref().map(|b| b.matrix);
            factors = inverse_of_shifted(a, b, *sigma)?;
            (b, Some(&factors))
        }
    };
    let product = |operator| product_of_size(operator, n);
    let mut inner = b.as_ref().map(|b| product(b.matrix)).transpose()?;
    let (mut first, mut second) = (first.map(product).transpose()?, second.map(product).transpose()?);
    let mut pairs = |operator: &mut Product<'_>| ritz_pairs(NAME, session, (operator, inner.as_mut()), (n, k), options);
    let pairs = match (&mut first, &mut second) {
        (Some(first), Some(second)) => pairs(&mut Product::chain(first, second))?,
        (Some(only), None) | (None, Some(only)) => pairs(only)?,
        (None, None) => unreachable!("one of the operators is given"),
    };
    let RitzPairs { mut values, mut vectors, products, restarts } = pairs;
    if let Some(Shift { sigma, .. }) = shift {
        values.iter_mut().for_each(|value| *value = sigma + 1.0 / *value);
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        values = order.iter().map(|i| values[*i]).collect();
        vectors = order.iter().map(|i| std::mem::take(&mut vectors[*i])).collect();
    }
    let (values, vectors) = (array_of(session, values)?, columns(session, &vectors, n)?);
    Ok(Eigenpairs { values, vectors, products, restarts })
}

/// Returns the product of an operator with `n` rows and columns.
fn product_of_size(operator: &dyn LinearOperator, n: u64) -> Result<Product<'_>, Error> {
    let (rows, columns) = operator.size()?;
    if (rows, columns) != (n, n) {
        let expected = format!("operators of shape [{n}, {n}]");
        return Err(SolverError::Shape { function: NAME, expected, shape: vec![rows, columns] }.into());
    }
    product_of(operator, Orientation::Plain)
}

/// Returns the array that an operator is, as `f64`.
fn matrix_of(operator: &dyn LinearOperator) -> Result<Array, Error> {
    let matrix = operator.matrix().ok_or(SolverError::NoInverse { function: NAME })?;
    as_real(NAME, matrix)?.astype(Prim::F64).check()
}

/// Returns the inverse of a positive definite matrix by a Cholesky factorization.
fn inverse_of(b: &dyn LinearOperator) -> Result<FunctionOperator<'static>, Error> {
    let factors = sparse_cholesky(&matrix_of(b)?)?;
    Ok(FunctionOperator::new(b.session(), b.size()?, move |x| factors.solve(x)))
}

/// Returns the inverse of `A - sigma B` by an LU factorization.
fn inverse_of_shifted(
    a: &dyn LinearOperator,
    b: Option<&dyn LinearOperator>,
    sigma: f64,
) -> Result<FunctionOperator<'static>, Error> {
    let (matrix, (rows, columns)) = (matrix_of(a)?, a.size()?);
    let b = b.map_or_else(|| Ok(a.session().eye(rows, columns, 0, Prim::F64)), matrix_of)?;
    let factors = sparse_lu(&(matrix - b * sigma))?;
    Ok(FunctionOperator::new(a.session(), (rows, columns), move |x| factors.solve(x)))
}

/// Singular values and vectors.
#[derive(Clone, Debug)]
pub struct SingularTriplets {
    /// The left singular vectors, one for each column.
    pub u: Array,
    /// The singular values, descending.
    pub values: Array,
    /// The right singular vectors, one for each row.
    pub vt: Array,
}

/// Computes the `k` largest singular values of an operator of any shape, or the smallest ones for
/// [`Which::SmallestMagnitude`], and their vectors. The values are in descending order, as those of
/// [`svd`](crate::linalg::svd); SciPy does not specify their order.
///
/// The singular values are computed from the eigenvalues of `A^T A` or `A A^T`, whichever is
/// smaller, as in ARPACK's driver. So the absolute error of a singular value `s` is about
/// `1e-16 * s1^2 / s`, where `s1` is the largest singular value.
///
/// ```
/// use redpoll::linalg::iterative::{EigenOptions, svds};
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 3], [3.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
/// let found = svds(&a, 1, &EigenOptions::default())?;
/// assert!((found.values.get::<f64>([0])? - 3.0).abs() < 1e-12);
/// assert_eq!((found.u.shape()?, found.vt.shape()?), (vec![2, 1], vec![1, 3]));
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// The errors of [`eigsh`]; also if the operator has no transposed product, or a shift or a matrix
/// `B` is given.
pub fn svds(a: &dyn LinearOperator, k: u64, options: &EigenOptions<'_>) -> Result<SingularTriplets, Error> {
    const NAME: &str = "svds";
    if let Some(shift) = &options.shift {
        let (parameter, expected) = ("shift", "absent");
        return Err(SolverError::Parameter { function: NAME, parameter, expected, found: shift.sigma }.into());
    }
    if options.b.is_some() {
        let (parameter, expected) = ("b", "absent");
        return Err(SolverError::Parameter { function: NAME, parameter, expected, found: 1.0 }.into());
    }
    let (rows, columns_count) = a.size()?;
    let session = a.session();
    let (first, second) = if rows < columns_count {
        (Orientation::Transposed, Orientation::Plain)
    } else {
        (Orientation::Plain, Orientation::Transposed)
    };
    let (mut forward, mut back) = (product_of(a, first)?, product_of(a, second)?);
    let mut squared = Product::chain(&mut forward, &mut back);
    // The eigenvalues are squares of singular values, so those of largest magnitude are the
    // largest.
    let size = (rows.min(columns_count), k);
    let RitzPairs { values, mut vectors, .. } = ritz_pairs(NAME, session, (&mut squared, None), size, options)?;
    drop(squared);
    vectors.reverse();
    let mut values: Vec<f64> = values.iter().rev().map(|value| value.max(0.0).sqrt()).collect();
    // The product with a singular vector of one side is the singular vector of the other side times
    // the singular value. For a singular value of 0, any vector that is orthogonal to the previous
    // vectors of the other side will do.
    let (sweeper, mut random) = (Sweeper::of(session), Random::new());
    let _charge = charge(session, rows.saturating_add(columns_count).saturating_mul(k))?;
    let mut others: Vec<Vec<f64>> = Vec::with_capacity(vectors.len());
    for (vector, value) in vectors.iter_mut().zip(&mut values) {
        let other = forward.times(vector)?.into_vec();
        *value = finite(NAME, "a product", sweeper.norm(&other))?;
        others.push(other);
        random.replace_if_dependent(&sweeper, &mut others);
    }
    let (u, v) = if rows < columns_count { (vectors, others) } else { (others, vectors) };
    let (u, v) = (columns(session, &u, rows)?, columns(session, &v, columns_count)?);
    Ok(SingularTriplets { u, values: array_of(session, values)?, vt: v.t() })
}

/// Checks the parameters and computes `k` eigenvalues of an operator with `n` rows. The operator is
/// symmetric in the inner product of the matrix `inner`; `None` is the identity.
fn ritz_pairs(
    function: &'static str,
    session: &Session,
    (product, inner): (&mut Product<'_>, Option<&mut Product<'_>>),
    (n, k): (u64, u64),
    options: &EigenOptions<'_>,
) -> Result<RitzPairs, Error> {
    check_tolerance(function, "tol", options.tol)?;
    let range = |parameter, expected, found: u64| -> Error {
        SolverError::Parameter { function, parameter, expected, found: found as f64 }.into()
    };
    if k > n {
        return Err(range("k", "at most the number of rows and of columns", k));
    }
    if k == 0 {
        return Ok(RitzPairs { values: Vec::new(), vectors: Vec::new(), products: 0, restarts: 0 });
    }
    let subspace = options.subspace.unwrap_or_else(|| k.saturating_mul(2).saturating_add(1).max(20)).min(n);
    if subspace <= k && subspace < n {
        return Err(range("subspace", "greater than the number of values", subspace));
    }
    // The basis has a vector more than the subspace, and the products of its vectors with `B`.
    let vectors = subspace.saturating_add(1).saturating_mul(if inner.is_some() { 2 } else { 1 });
    let _charge = charge(session, vectors.saturating_mul(n))?;
    let start = match options.v0 {
        Some(v0) => vector_of(function, v0, n)?,
        None => vec![0.0; n as usize],
    };
    finite(function, "the first vector", start.iter().sum())?;
    let lanczos = Lanczos {
        function,
        count: k as usize,
        which: options.which,
        tolerance: options.tol,
        max_restarts: options.max_restarts.unwrap_or_else(|| n.saturating_mul(10)),
        subspace: subspace as usize,
    };
    lanczos.run(session, product, inner, start)
}

/// Returns a matrix with the given columns.
fn columns(session: &Session, vectors: &[Vec<f64>], rows: u64) -> Result<Array, Error> {
    let shape = vec![vectors.len() as u64, rows];
    Ok(session.array(charged_tensor(session, vectors.concat(), shape)?).t())
}
