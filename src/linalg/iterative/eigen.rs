//! A few eigenvalues of symmetric operators, and a few singular values.

use super::arithmetic::Sweeper;
use super::error::SolverError;
use super::lanczos::{Lanczos, Random, RitzPairs, Which};
use super::operator::{FunctionOperator, LinearOperator, Orientation, as_real};
use super::product::{Product, tensor_of, vector_type};
use super::system::{array_of, check_tolerance, finite, product_of, square, vector_of};
use crate::array::Array;
use crate::error::Error;
use crate::linalg::sparse_lu;
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
}

/// A shift `sigma`. [`EigenOptions::which`] then selects from the eigenvalues
/// `1 / (lambda - sigma)` of the inverse of `A - sigma I`: the largest magnitudes belong to the
/// eigenvalues `lambda` nearest to the shift.
pub struct Shift<'a> {
    /// The shift.
    pub sigma: f64,
    /// The inverse of `A - sigma I`. If it is `None`, [`sparse_lu`] factorizes the shifted matrix.
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
        }
    }
}

/// Eigenvalues and eigenvectors.
#[derive(Clone, Debug)]
pub struct Eigenpairs {
    /// The eigenvalues, ascending.
    pub values: Array,
    /// The eigenvectors of norm 1, one for each column.
    pub vectors: Array,
    /// The number of products with the operator, or with the inverse of the shifted operator.
    pub products: u64,
    /// The number of restarts.
    pub restarts: u64,
}

/// Computes `k` eigenvalues and eigenvectors of a symmetric operator by the thick-restart Lanczos
/// method (Wu and Simon, "Thick-Restart Lanczos Method for Large Symmetric Eigenvalue Problems",
/// 2000).
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
    let factorized;
    let mut product = match &options.shift {
        None => product_of(a, Orientation::Plain)?,
        Some(Shift { sigma, inverse: Some(inverse) }) => {
            finite(NAME, "the shift", *sigma)?;
            if inverse.size()? != (n, n) {
                let (rows, columns) = inverse.size()?;
                let expected = format!("an inverse of shape [{n}, {n}]");
                return Err(SolverError::Shape { function: NAME, expected, shape: vec![rows, columns] }.into());
            }
            product_of(*inverse, Orientation::Plain)?
        }
        Some(Shift { sigma, inverse: None }) => {
            finite(NAME, "the shift", *sigma)?;
            factorized = inverse_of_shifted(a, n, *sigma)?;
            factorized.product(Orientation::Plain)?
        }
    };
    let RitzPairs { mut values, mut vectors, products, restarts } =
        ritz_pairs(NAME, session, &mut product, (n, k), options)?;
    if let Some(Shift { sigma, .. }) = &options.shift {
        values.iter_mut().for_each(|value| *value = sigma + 1.0 / *value);
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        values = order.iter().map(|i| values[*i]).collect();
        vectors = order.iter().map(|i| std::mem::take(&mut vectors[*i])).collect();
    }
    let (values, vectors) = (array_of(session, values)?, columns(session, &vectors, n)?);
    Ok(Eigenpairs { values, vectors, products, restarts })
}

/// Returns the inverse of `A - sigma I` by an LU factorization.
fn inverse_of_shifted(a: &dyn LinearOperator, n: u64, sigma: f64) -> Result<FunctionOperator<'static>, Error> {
    let matrix = as_real(NAME, a.matrix().ok_or(SolverError::NoInverse { function: NAME })?)?.astype(Prim::F64);
    let identity = a.session().eye(n, n, 0, Prim::F64);
    let factors = sparse_lu(&(matrix - identity * sigma))?;
    Ok(FunctionOperator::new(a.session(), (n, n), move |b| factors.solve(b)))
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
/// [`Which::SmallestMagnitude`], and their vectors.
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
/// The errors of [`eigsh`]; also if the operator has no transposed product, or a shift is given.
pub fn svds(a: &dyn LinearOperator, k: u64, options: &EigenOptions<'_>) -> Result<SingularTriplets, Error> {
    const NAME: &str = "svds";
    if let Some(shift) = &options.shift {
        let (parameter, expected) = ("shift", "absent");
        return Err(SolverError::Parameter { function: NAME, parameter, expected, found: shift.sigma }.into());
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
    let RitzPairs { values, mut vectors, .. } = ritz_pairs(NAME, session, &mut squared, size, options)?;
    drop(squared);
    vectors.reverse();
    let mut values: Vec<f64> = values.iter().rev().map(|value| value.max(0.0).sqrt()).collect();
    // The product with a singular vector of one side is the singular vector of the other side times
    // the singular value. For a singular value of 0, any vector that is orthogonal to the previous
    // vectors of the other side will do.
    let (sweeper, mut random) = (Sweeper::of(session), Random::new());
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

/// Checks the parameters and computes `k` eigenvalues of an operator with `n` rows.
fn ritz_pairs(
    function: &'static str,
    session: &Session,
    product: &mut Product<'_>,
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
    lanczos.run(session, product, start)
}

/// Returns a matrix with the given columns.
fn columns(session: &Session, vectors: &[Vec<f64>], rows: u64) -> Result<Array, Error> {
    let ty = vector_type(vec![vectors.len() as u64, rows]);
    Ok(session.array(tensor_of(vectors.concat(), &ty)?).t())
}
