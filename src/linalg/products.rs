//! Norms, powers and cross products, computed by expressions of arrays. Norms that depend on
//! singular values also call `svdvals`, and negative powers call `inv`.

use super::{LinalgError, inv, svdvals};
use crate::array::{Array, Axes};
use crate::error::Error;
use redpoll_logic::DType;

/// The order of a norm of matrices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatrixNorm {
    /// The square root of the sum of the squares of the elements.
    Frobenius,
    /// The sum of the singular values.
    Nuclear,
    /// The largest sum of the absolute values of a column.
    One,
    /// The smallest sum of the absolute values of a column.
    SmallestOne,
    /// The largest singular value.
    Two,
    /// The smallest singular value.
    SmallestTwo,
    /// The largest sum of the absolute values of a row.
    Infinity,
    /// The smallest sum of the absolute values of a row.
    SmallestInfinity,
}

/// Computes a norm of each matrix of an array of shape `[.., m, n]`. The result has shape `[..]`.
/// The norm of a matrix without elements is 0. Norms that are computed from sums of elements are
/// lazy, and read only stored elements; norms that are computed from singular values are computed
/// at once. For norms of vectors, see [`Array::norm`].
///
/// ```
/// use redpoll::linalg::{self, MatrixNorm};
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 2], [1.0, -2.0, 2.0, 4.0]);
/// assert_eq!(linalg::matrix_norm(&a, MatrixNorm::Frobenius)?.item::<f64>()?, 5.0);
/// assert_eq!(linalg::matrix_norm(&a, MatrixNorm::One)?.item::<f64>()?, 6.0);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the array has fewer than two modes; norms that are computed from singular values also
/// have the errors of [`svdvals`].
pub fn matrix_norm(a: &Array, norm: MatrixNorm) -> Result<Array, Error> {
    let shape = a.shape()?;
    let [batch @ .., rows, columns] = &shape[..] else {
        let expected = "matrices, at least two modes";
        return Err(LinalgError::Shape { function: "matrix_norm", expected, shape }.into());
    };
    if *rows == 0 || *columns == 0 {
        // The norm of a matrix of the same dtype with one element.
        let element = a.session().zeros([1, 1], redpoll_logic::Prim::Bool).astype(a.dtype()?);
        return Ok(element.norm(2.0, ..).broadcast_to(batch.to_vec()));
    }
    // A sum removes the mode that it runs along, so the other mode of the matrix becomes the last.
    let sums = |axis: i64| a.norm(1.0, Axes::from(axis));
    Ok(match norm {
        MatrixNorm::Frobenius => a.norm(2.0, [-2, -1]),
        MatrixNorm::One => sums(-2).max(-1),
        MatrixNorm::SmallestOne => sums(-2).min(-1),
        MatrixNorm::Infinity => sums(-1).max(-1),
        MatrixNorm::SmallestInfinity => sums(-1).min(-1),
        MatrixNorm::Nuclear => svdvals(a)?.sum(-1),
        MatrixNorm::Two => svdvals(a)?.max(-1),
        MatrixNorm::SmallestTwo => svdvals(a)?.min(-1),
    })
}

/// Computes a power of each square matrix of an array of shape `[.., n, n]`, by repeated squaring.
/// The power 0 is the identity; a negative power is a power of the inverse. A power of at least 0
/// keeps the dtype, and sparse matrices stay sparse. Each product is computed at once.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let a = session.dense([2, 2], [1, 1, 1, 0]);
/// assert_eq!(linalg::matrix_power(&a, 10)?.to_vec::<i32>()?, [89, 55, 55, 34]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrices are not square or cannot be computed; a negative power also has the errors
/// of [`inv`].
pub fn matrix_power(a: &Array, power: i64) -> Result<Array, Error> {
    let shape = a.shape()?;
    let n = match shape[..] {
        [.., rows, columns] if rows == columns => rows,
        _ => return Err(LinalgError::Shape { function: "matrix_power", expected: "square matrices", shape }.into()),
    };
    let DType::Prim(prim) = a.dtype()? else {
        return Err(LinalgError::DType { function: "matrix_power", dtype: a.dtype()? }.into());
    };
    let mut square = if power < 0 { inv(a)? } else { a.clone() };
    let mut rest = power.unsigned_abs();
    let mut product: Option<Array> = None;
    while rest > 0 {
        if rest % 2 == 1 {
            product = Some(match product {
                None => square.clone(),
                Some(product) => computed(product.matmul(&square))?,
            });
        }
        rest /= 2;
        if rest > 0 {
            square = computed(square.matmul(&square))?;
        }
    }
    Ok(product.unwrap_or_else(|| a.session().eye(n, n, 0, prim).broadcast_to(shape)))
}

fn computed(product: Array) -> Result<Array, Error> {
    product.compute()?;
    Ok(product)
}

/// Computes the cross products of vectors of three elements along an axis of both arrays; the other
/// modes are broadcast. The result is lazy.
///
/// ```
/// use redpoll::linalg;
///
/// let session = redpoll::Session::default();
/// let (a, b) = (session.vector([1, 2, 3]), session.vector([4, 5, 6]));
/// assert_eq!(linalg::cross(&a, &b, -1)?.to_vec::<i32>()?, [-3, 6, -3]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if an array has no such axis, or the size of the axis is not 3.
pub fn cross(a: &Array, b: &Array, axis: i64) -> Result<Array, Error> {
    for array in [a, b] {
        let shape = array.shape()?;
        let rank = shape.len() as i64;
        let mode = if axis < 0 { axis.checked_add(rank) } else { Some(axis) };
        let size = mode.and_then(|mode| usize::try_from(mode).ok()).and_then(|mode| shape.get(mode));
        if size != Some(&3) {
            return Err(LinalgError::Shape { function: "cross", expected: "size 3 along the axis", shape }.into());
        }
    }
    // The other modes are broadcast from the last to the first. If the ranks differ, an axis
    // counted from the first mode is at different distances from the last one.
    if axis >= 0 && a.shape()?.len() != b.shape()?.len() {
        let [a, b] = [a, b].map(|array| array.moveaxis(axis, -1));
        return cross(&a, &b, -1)?.moveaxis(-1, axis).check();
    }
    // Element `i` is `a[i + 1] b[i + 2] - a[i + 2] b[i + 1]`, with indices modulo 3.
    let (a1, a2, b1, b2) = (a.roll(-1, axis), a.roll(-2, axis), b.roll(-1, axis), b.roll(-2, axis));
    (a1 * b2 - a2 * b1).check()
}
