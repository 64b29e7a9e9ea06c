//! Norms, powers and cross products.

use super::{assert_close, largest};
use redpoll::linalg::{self, LinalgError, MatrixNorm};
use redpoll::logic::{Format, Prim};
use redpoll::prelude::*;

const NORMS: [MatrixNorm; 8] = [
    MatrixNorm::Frobenius,
    MatrixNorm::Nuclear,
    MatrixNorm::One,
    MatrixNorm::SmallestOne,
    MatrixNorm::Two,
    MatrixNorm::SmallestTwo,
    MatrixNorm::Infinity,
    MatrixNorm::SmallestInfinity,
];

/// The norms of a diagonal matrix follow from its elements.
#[test]
fn norms_of_diagonal_matrices() {
    let session = Session::default();
    let expected = [13.0, 19.0, 12.0, 3.0, 12.0, 3.0, 12.0, 3.0];
    let a = session.vector([3, -12, 4]).diagonal_matrix(0);
    for format in [Format::dense(2), Format::csr(), Format::coo(2)] {
        for (norm, expected) in NORMS.into_iter().zip(expected) {
            let found = linalg::matrix_norm(&a.reformat(format.clone()), norm).unwrap().item::<f64>().unwrap();
            assert!((found - expected).abs() < 1e-12, "{norm:?} {found} {expected}");
        }
    }
    let stack = session.dense([2, 2, 3], [1.0, -2.0, 3.0, 4.0, 5.0, -6.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    let of = |norm| linalg::matrix_norm(&stack, norm).unwrap().to_vec::<f64>().unwrap();
    assert_eq!((of(MatrixNorm::One), of(MatrixNorm::SmallestOne)), (vec![9.0, 1.0], vec![5.0, 0.0]));
    assert_eq!((of(MatrixNorm::Infinity), of(MatrixNorm::SmallestInfinity)), (vec![15.0, 1.0], vec![6.0, 0.0]));
}

#[test]
fn norms_of_empty_matrices_are_zero() {
    let session = Session::default();
    for norm in NORMS {
        let found = linalg::matrix_norm(&session.zeros([2, 0, 3], Prim::F32), norm).unwrap();
        assert_eq!(found.to_vec::<f32>().unwrap(), [0.0, 0.0]);
        let error = linalg::matrix_norm(&session.vector([1]), norm).unwrap_err();
        assert!(matches!(error, Error::Linalg(LinalgError::Shape { .. })), "{error}");
    }
}

#[test]
fn powers_are_repeated_products() {
    let session = Session::default();
    let a = session.random([2, 5, 5]).seed(4).uniform(-1.0, 1.0).array().unwrap();
    let mut product = session.eye(5, 5, 0, Prim::F64).broadcast_to([2, 5, 5]);
    let inverse = linalg::inv(&a).unwrap();
    let mut negative = product.clone();
    for power in 0..8 {
        assert_close(&linalg::matrix_power(&a, power).unwrap(), &product, 1e-12);
        let found = linalg::matrix_power(&a, -power).unwrap();
        assert_close(&found, &negative, 1e-9);
        product = product.matmul(&a);
        negative = negative.matmul(&inverse);
        product.compute().unwrap();
        negative.compute().unwrap();
    }
    let shift = session.eye(100, 100, 1, Prim::I64).reformat(Format::csr());
    let found = linalg::matrix_power(&shift, 30).unwrap();
    assert_eq!(largest(&found.subtract(session.eye(100, 100, 30, Prim::I64))), 0.0);
    assert_eq!(found.dtype().unwrap(), Prim::I64.into());
    let error = linalg::matrix_power(&session.dense([1, 2], [1, 2]), 2).unwrap_err();
    assert!(matches!(error, Error::Linalg(LinalgError::Shape { .. })), "{error}");
    let error = linalg::matrix_power(&session.zeros([2, 2], Prim::F64), -1).unwrap_err();
    assert!(matches!(error, Error::Linalg(LinalgError::Singular { .. })), "{error}");
}

#[test]
fn cross_products_are_orthogonal() {
    let session = Session::default();
    let a = session.dense([2, 3], [1, 0, 0, 1, 2, 3]);
    let b = session.vector([0, 1, 0]);
    let found = linalg::cross(&a, &b, -1).unwrap();
    assert_eq!(found.to_vec::<i32>().unwrap(), [0, 0, 1, -3, 0, 1]);
    let found = linalg::cross(&a.t(), &b.expand_dims(-1), 0).unwrap();
    assert_eq!(found.to_vec::<i32>().unwrap(), [0, -3, 0, 0, 1, 1]);
    // The axis of a matrix is its first mode, and the axis of the vector its only one.
    let unit = session.dense([3, 3], [1, 0, 0, 0, 1, 0, 0, 0, 1]);
    let found = linalg::cross(&unit, &session.vector([1, 2, 3]), 0).unwrap();
    assert_eq!(found.to_vec::<i32>().unwrap(), [0, 3, -2, -3, 0, 1, 2, -1, 0]);
    for (array, axis) in [(&a, 0), (&a, 2), (&b, -2), (&b, i64::MIN), (&b, i64::MAX)] {
        let error = linalg::cross(array, array, axis).unwrap_err();
        assert!(matches!(error, Error::Linalg(LinalgError::Shape { .. })), "{error}");
    }
}
