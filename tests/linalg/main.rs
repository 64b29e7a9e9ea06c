//! The functions of `redpoll::linalg` on arrays: results are checked by products of arrays, which
//! run as kernels. Further tests check formats, lazy inputs, dtypes, errors and limits. The
//! factorizations themselves have their tests in `linalg/tests`.

mod dense;
mod products;
mod sparse;
mod stored;

use redpoll::Array;

/// Returns the largest absolute value of an array.
#[track_caller]
pub(crate) fn largest(array: &Array) -> f64 {
    array.astype(redpoll::logic::Prim::F64).norm(f64::INFINITY, ..).item().unwrap()
}

/// Fails if two arrays differ in shape, or by more than a tolerance.
#[track_caller]
pub(crate) fn assert_close(found: &Array, expected: &Array, tolerance: f64) {
    assert_eq!(found.shape().unwrap(), expected.shape().unwrap());
    if found.shape().unwrap().contains(&0) {
        return;
    }
    let difference = largest(&found.subtract(expected));
    assert!(difference <= tolerance * largest(expected).max(1.0), "difference {difference:e}");
}
