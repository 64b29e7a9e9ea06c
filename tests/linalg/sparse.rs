//! Factorizations of sparse arrays.

use super::assert_close;
use redpoll::Config;
use redpoll::kernels::run::Workers;
use redpoll::linalg::{self, LinalgError};
use redpoll::logic::{Format, Prim};
use redpoll::prelude::*;
use std::num::NonZero;
use std::sync::Arc;

/// Draws a sparse matrix with a dominant diagonal.
fn dominant(session: &Session, n: u64, seed: u64) -> Array {
    let a = session.random([n, n]).seed(seed).entries((4 * n).min(n * n)).uniform(-1.0, 1.0).array().unwrap();
    &a + session.eye(n, n, 0, Prim::F64) * 10.0
}

fn formats() -> [Format; 5] {
    [Format::dense(2), Format::csr(), Format::csc(), Format::coo(2), Format::csf(2)]
}

/// Solutions and determinants agree with those that the functions of dense matrices compute.
#[test]
fn solutions_are_those_of_dense_matrices() {
    let session = Session::default();
    for n in [1, 5, 80] {
        let a = dominant(&session, n, n);
        let b = session.random([n, 2]).seed(7).uniform(-1.0, 1.0).array().unwrap();
        let expected = linalg::solve(&a, &b).unwrap();
        let transposed = linalg::solve(&a.t(), &b).unwrap();
        let symmetric = &a + a.t();
        let of_symmetric = linalg::solve(&symmetric, &b).unwrap();
        for format in formats() {
            let a = a.reformat(format.clone());
            let lu = linalg::sparse_lu(&a).unwrap();
            assert_close(&lu.solve(&b).unwrap(), &expected, 1e-12);
            assert_close(&lu.solve_transposed(&b).unwrap(), &transposed, 1e-12);
            assert_close(&linalg::sparse_qr(&a).unwrap().solve(&b).unwrap(), &expected, 1e-12);
            assert_close(&linalg::spsolve(&a, &b).unwrap(), &expected, 1e-12);
            let symmetric = symmetric.reformat(format);
            let log = linalg::slogdet(&symmetric).unwrap().log_abs_det.item::<f64>().unwrap();
            for factorize in [linalg::sparse_cholesky, linalg::sparse_ldlt] {
                let factors = factorize(&symmetric).unwrap();
                assert_close(&factors.solve(&b).unwrap(), &of_symmetric, 1e-12);
                assert!((factors.log_determinant().log_abs - log).abs() < 1e-9 * log.abs().max(1.0));
            }
        }
    }
}

/// A right side may be sparse, lazy, of integers, a vector or a matrix.
#[test]
fn right_sides_have_any_format() {
    let session = Session::default();
    let a = dominant(&session, 30, 1).reformat(Format::csr());
    let lu = linalg::sparse_lu(&a).unwrap();
    let unit = session.triples([30], Format::csf(1), [([4], 2)]);
    let x = lu.solve(&unit).unwrap();
    assert_close(&a.matmul(&x), &unit.astype(Prim::F64), 1e-12);
    let b = a.matmul(session.ones([30], Prim::F64));
    assert_close(&lu.solve(&b).unwrap(), &session.ones([30], Prim::F64), 1e-12);
}

/// The result of `spsolve` has the dtype that the arrays have in common.
#[test]
fn systems_of_mixed_dtypes_are_solved_in_double_precision() {
    let session = Session::default();
    let a = dominant(&session, 10, 2).astype(Prim::F32);
    let b = session.ones([10], Prim::F64);
    let x = linalg::spsolve(&a, &b).unwrap();
    assert_close(&a.astype(Prim::F64).matmul(&x), &b, 1e-12);
    assert_eq!(linalg::spsolve(&a, &b.astype(Prim::F32)).unwrap().dtype().unwrap(), Prim::F32.into());
}

#[test]
fn other_values_are_factorized_with_the_same_ordering() {
    let session = Session::default();
    let a = dominant(&session, 40, 3).reformat(Format::csr());
    let b = session.ones([40], Prim::F64);
    let lu = linalg::sparse_lu(&a).unwrap().refactorize(&(&a * 3.0)).unwrap();
    assert_close(&(&a * 3.0).matmul(lu.solve(&b).unwrap()), &b, 1e-12);
    let error = lu.refactorize(&session.eye(40, 40, 0, Prim::F64)).unwrap_err();
    assert!(matches!(error, Error::Linalg(LinalgError::PatternChanged { .. })), "{error}");
}

#[test]
fn errors_are_typed() {
    let session = Session::default();
    let shifted = session.eye(3, 3, 0, Prim::F64).reformat(Format::csr()) + 1.0;
    let error = linalg::sparse_lu(&shifted.reformat(Format::csr())).unwrap_err();
    assert!(matches!(error, Error::Linalg(LinalgError::FillValue { .. })), "{error}");
    let error = linalg::sparse_lu(&session.zeros([2, 2], Prim::F64).reformat(Format::csr())).unwrap_err();
    assert_eq!(error.to_string(), "`sparse_lu`: the matrix is singular");
    let error = linalg::sparse_cholesky(&session.dense([2, 2], [1, 2, 2, 1])).unwrap_err();
    assert!(matches!(error, Error::Linalg(LinalgError::NotPositiveDefinite { .. })), "{error}");
    let error = linalg::sparse_qr(&session.dense([1, 2], [1, 2])).unwrap_err();
    assert!(matches!(error, Error::Linalg(LinalgError::Shape { .. })), "{error}");
    let error = linalg::sparse_ldlt(&session.dense([1, 1], [f64::INFINITY])).unwrap_err();
    assert!(matches!(error, Error::Linalg(LinalgError::NotFinite { .. })), "{error}");
}

/// Sessions with several threads solve the same systems.
#[test]
fn threads_of_the_session_are_used() {
    let threads = NonZero::new(3).unwrap();
    let session = Session::new(Config { workers: Arc::new(Workers::new(threads)), ..Config::default() });
    let a = dominant(&session, 400, 5).reformat(Format::csr());
    let b = session.ones([400], Prim::F64);
    assert_close(&a.matmul(linalg::spsolve(&a, &b).unwrap()), &b, 1e-12);
    assert_close(&a.matmul(linalg::solve(&a, &b).unwrap()), &b, 1e-12);
    assert_close(&a.matmul(linalg::sparse_qr(&a).unwrap().solve(&b).unwrap()), &b, 1e-12);
}
