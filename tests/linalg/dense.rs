//! Functions of dense matrices.

use super::{assert_close, largest};
use redpoll::linalg::{self, LinalgError, QrMode, SvdMode, Triangle};
use redpoll::logic::{Format, Prim};
use redpoll::prelude::*;
use redpoll::{Config, storage};

/// Draws a stack of matrices.
fn stack(session: &Session, shape: &[u64], seed: u64) -> Array {
    session.random(shape.to_vec()).seed(seed).uniform(-1.0, 1.0).array().unwrap()
}

/// Returns the diagonal matrices with the given diagonals.
fn diagonal(values: &Array) -> Array {
    let n = *values.shape().unwrap().last().unwrap();
    values.expand_dims(-1) * values.session().eye(n, n, 0, Prim::F64)
}

/// Each factorization is checked by its definition, on a stack of four matrices.
#[test]
fn factors_multiply_to_the_matrices() {
    let session = Session::default();
    let a = stack(&session, &[2, 2, 6, 6], 1);
    let identity = session.eye(6, 6, 0, Prim::F64).broadcast_to([2, 2, 6, 6]);
    assert_close(&a.matmul(linalg::inv(&a).unwrap()), &identity, 1e-10);
    let b = stack(&session, &[2, 6, 3], 2);
    let x = linalg::solve(&a, &b).unwrap();
    assert_close(&a.matmul(&x), &b.broadcast_to([2, 2, 6, 3]), 1e-10);
    let tall = stack(&session, &[3, 5, 2], 3);
    for mode in [QrMode::Reduced, QrMode::Complete] {
        let factors = linalg::qr(&tall, mode).unwrap();
        assert_close(&factors.q.matmul(&factors.r), &tall, 1e-13);
    }
    let svd = linalg::svd(&tall, SvdMode::Thin).unwrap();
    assert_close(&svd.u.matmul(diagonal(&svd.s)).matmul(&svd.vh), &tall, 1e-13);
    assert_close(&linalg::svdvals(&tall).unwrap(), &svd.s, 1e-13);
    // A lazy symmetric matrix.
    let symmetric = a.matmul(a.t()) + &identity;
    let eigen = linalg::eigh(&symmetric).unwrap();
    assert_close(&symmetric.matmul(&eigen.vectors), &(&eigen.vectors * eigen.values.expand_dims(-2)), 1e-12);
    assert_close(&linalg::eigvalsh(&symmetric).unwrap(), &eigen.values, 1e-12);
    let l = linalg::cholesky(&symmetric, Triangle::Lower).unwrap();
    assert_close(&l.matmul(l.t()), &symmetric, 1e-13);
    assert_close(&linalg::cholesky(&symmetric, Triangle::Upper).unwrap(), &l.t(), 1e-13);
    let det = linalg::det(&symmetric).unwrap();
    assert_close(&det, &eigen.values.prod(-1), 1e-10);
    let log = linalg::slogdet(&symmetric).unwrap();
    assert_close(&(&log.sign * log.log_abs_det.exp()), &det, 1e-10);
    let p = linalg::pinv(&tall, None).unwrap();
    assert_close(&tall.matmul(&p).matmul(&tall), &tall, 1e-12);
    assert_eq!(linalg::matrix_rank(&tall, None).unwrap().to_vec::<i64>().unwrap(), [2, 2, 2]);
    let sides = session.vector([1.0, 2.0, 3.0, 4.0, 5.0]);
    let lstsq = linalg::lstsq(&tall, &sides, None).unwrap();
    assert_close(&lstsq.x, &p.matmul(&sides), 1e-12);
    let differences = tall.matmul(lstsq.x.expand_dims(-1)).squeeze(-1) - &sides;
    assert_close(&lstsq.residuals, &differences.square().sum(-1), 1e-12);
}

/// Sparse formats, boolean and integer values, and lazy expressions are inputs like any other.
#[test]
fn inputs_have_any_format_and_dtype() {
    let session = Session::default();
    let a = session.dense([3, 3], [2, 0, 1, 0, 3, 0, 1, 0, 1]);
    let expected = [1.0, 0.0, -1.0, 0.0, 1.0 / 3.0, 0.0, -1.0, 0.0, 2.0];
    let expected = session.dense([3, 3], expected);
    for format in [Format::dense(2), Format::csr(), Format::csc(), Format::coo(2), Format::csf(2)] {
        for prim in [Prim::I8, Prim::U64, Prim::I32, Prim::F32, Prim::F64] {
            let stored = a.astype(prim).reformat(format.clone());
            let inverse = linalg::inv(&stored).unwrap();
            let dtype = if prim == Prim::F32 { Prim::F32 } else { Prim::F64 };
            assert_eq!(inverse.dtype().unwrap(), dtype.into());
            assert_close(&inverse.astype(Prim::F64), &expected, 1e-6);
        }
    }
    let mask = a.not_equal(0);
    assert_eq!(linalg::det(&mask).unwrap().item::<f64>().unwrap(), 0.0);
    // Another fill value than zero is no obstacle for dense matrices.
    let shifted = a.reformat(Format::csr()) + 1;
    assert_close(&linalg::inv(&shifted).unwrap().matmul(&shifted), &session.eye(3, 3, 0, Prim::F64), 1e-12);
}

#[test]
fn errors_say_which_matrix_is_wrong() {
    let session = Session::default();
    let a = session.dense([3, 2, 2], [1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0]);
    let error = linalg::inv(&a).unwrap_err();
    assert!(matches!(&error, Error::Linalg(LinalgError::Singular { batch, .. }) if *batch == [1]));
    assert_eq!(error.to_string(), "`inv`: matrix [1] of the stack is singular");
    let error = linalg::cholesky(&a, Triangle::Lower).unwrap_err();
    assert_eq!(error.to_string(), "`cholesky`: matrix [1] of the stack is not positive definite, see row 1");
    let error = linalg::eigh(&session.dense([1, 1], [f64::NAN])).unwrap_err();
    assert_eq!(error.to_string(), "`eigh` takes finite numbers, but the matrix has an infinity or NaN");
    let error = linalg::det(&session.vector([1])).unwrap_err();
    assert_eq!(error.to_string(), "`det` takes square matrices, found shape [1]");
    let error = linalg::solve(&a, &session.vector([1, 2, 3])).unwrap_err();
    let expected = "`solve`: shape [3] does not fit shape [3, 2, 2]; expected one row for each row of the matrices";
    assert_eq!(error.to_string(), expected);
    // The error of a lazy input is reported before any error of the function.
    let error = linalg::inv(&(&a + session.vector([1, 2, 3]))).unwrap_err();
    assert!(matches!(error, Error::Array(_)), "{error}");
}

#[test]
fn the_memory_limit_of_the_session_is_kept() {
    let session = Session::new(Config { memory_limit: Some(1 << 20), ..Config::default() });
    let a = session.eye(200, 200, 0, Prim::F64);
    assert_eq!(linalg::det(&a).unwrap().item::<f64>().unwrap(), 1.0);
    let error = linalg::inv(&session.eye(400, 400, 0, Prim::F64)).unwrap_err();
    assert!(error.to_string().contains("memory limit"), "{error}");
    let error = linalg::svd(&session.zeros([1 << 40, 2], Prim::F64).reformat(Format::csr()), SvdMode::Full);
    assert!(error.is_err());
}

/// A cancel flag stops a function before it begins.
#[test]
fn cancelled_sessions_stop() {
    let cancel = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let session = Session::default().cancelled_by(&cancel);
    let error = linalg::inv(&session.dense([1, 1], [1.0])).unwrap_err();
    assert!(matches!(&error, Error::Storage(_)), "{error}");
    assert!(error.to_string().contains(storage::Status::Cancelled.reason()), "{error}");
}

/// Results are arrays of the session, and lazy expressions can read them.
#[test]
fn results_take_part_in_plans() {
    let session = Session::default();
    let a = stack(&session, &[20, 20], 9);
    let sum = linalg::inv(&a).unwrap().matmul(&a).trace(0);
    assert!((sum.item::<f64>().unwrap() - 20.0).abs() < 1e-8);
    assert!(largest(&linalg::det(&session.zeros([2, 0, 0], Prim::F64)).unwrap()) == 1.0);
}

/// A tolerance may be a number, or an array with a number for each matrix.
#[test]
fn tolerances_of_each_matrix() {
    let session = Session::default();
    let matrix = [1.0, 0.0, 0.0, 0.1];
    let stack = session.dense([2, 3, 2, 2], (0..6).flat_map(|_| matrix));
    let each = session.dense([3], [0.5f32, 0.01, 0.09]);
    let ranks = linalg::matrix_rank(&stack, &each).unwrap().to_vec::<i64>().unwrap();
    assert_eq!(ranks, [1, 2, 2, 1, 2, 2]);
    let inverses = linalg::pinv(&stack, &each).unwrap();
    for (k, expected) in [0.0, 10.0, 10.0].into_iter().enumerate() {
        let found = inverses.get::<f64>([1, k as i64, 1, 1]).unwrap();
        assert!((found - expected).abs() < 1e-12, "matrix {k}: {found}");
    }
    let ranks = linalg::lstsq(&stack, &session.dense([2], [1.0, 1.0]), &each).unwrap().rank;
    assert_eq!(ranks.to_vec::<i64>().unwrap(), [1, 2, 2, 1, 2, 2]);
    assert_eq!(linalg::matrix_rank(&stack, 0.5).unwrap().to_vec::<i64>().unwrap(), [1; 6]);
    assert!(linalg::matrix_rank(&stack, &session.vector([0.5, 0.5])).is_err());
}
