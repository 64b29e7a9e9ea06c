//! Errors of functions of dense matrices. None of the inputs makes a function panic or run forever.

use super::matrix::{Matrix, Random, tensor, typed, values};
use redpoll_linalg::dense::*;
use redpoll_linalg::{Context, Error};
use redpoll_storage::{Array, MemoryBudget, Tensor};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn context() -> Context {
    Context::default()
}

fn stack_with(second: &Matrix) -> Tensor {
    let n = second.rows;
    let values = [&Matrix::identity(n), second, second].map(|matrix| matrix.values.clone()).concat();
    tensor(&[3, n as u64, n as u64], &values)
}

/// The error names the first singular matrix of the stack.
#[test]
fn singular_matrices_are_errors() {
    for n in [2, 30, 90] {
        let singular = Matrix::of(n, n, |i, j| if i == j && i + 1 < n { 1.0 } else { 0.0 });
        let a = stack_with(&singular);
        for result in [inv(&context(), &a), solve(&context(), &a, &tensor(&[n as u64], &vec![1.0; n]))] {
            let error = result.unwrap_err();
            assert!(matches!(&error, Error::Singular { batch, .. } if *batch == [1]), "{error}");
            assert!(error.to_string().ends_with("matrix [1] of the stack is singular"), "{error}");
        }
    }
}

/// The error names the first row whose pivot is not positive.
#[test]
fn indefinite_matrices_are_errors() {
    for (n, row) in [(1, 0), (3, 1), (80, 60), (300, 290)] {
        let diagonal: Vec<f64> = (0..n).map(|i| if i == row { -1.0 } else { 2.0 }).collect();
        let a = Matrix::diagonal(n, n, &diagonal);
        let error = cholesky(&context(), &stack_with(&a), Triangle::Lower).unwrap_err();
        assert!(
            matches!(&error, Error::NotPositiveDefinite { batch, row: found, .. } if *batch == [1] && *found == row as u64),
            "{error}"
        );
    }
}

/// Functions of singular values and eigenvalues reject infinities and NaN, with which iterations
/// might not end. Other functions return numbers that are not finite, or an error.
#[test]
fn infinities_and_nan_neither_panic_nor_hang() {
    let mut random = Random(20);
    for n in [1, 2, 5, 40, 150] {
        for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for place in [0, n * n - 1, random.index(n * n)] {
                let mut a = random.positive_definite(n);
                a.values[place] = special;
                let (a, b) = (stack_with(&a), tensor(&[n as u64], &vec![1.0; n]));
                let not_finite = |error: Error| {
                    assert!(matches!(&error, Error::NotFinite { batch, .. } if *batch == [1]), "{error}");
                };
                not_finite(svd(&context(), &a, SvdMode::Full).unwrap_err());
                not_finite(svdvals(&context(), &a).unwrap_err());
                not_finite(eigh(&context(), &a).unwrap_err());
                not_finite(pinv(&context(), &a, None).unwrap_err());
                not_finite(lstsq(&context(), &a, &b, None).unwrap_err());
                not_finite(matrix_rank(&context(), &a, None).unwrap_err());
                let _ = solve(&context(), &a, &b);
                let _ = inv(&context(), &a);
                let _ = qr(&context(), &a, QrMode::Complete).unwrap();
                let _ = cholesky(&context(), &a, Triangle::Lower);
                let det = values(&det(&context(), &a).unwrap());
                assert!(det[0] == 1.0 && !det[1].is_finite(), "{det:?}");
            }
        }
    }
    let x = solve(&context(), &tensor(&[1, 1], &[f64::NAN]), &tensor(&[1], &[1.0])).unwrap();
    assert!(values(&x)[0].is_nan());
    // The search for the first pivot skips NaN and finds a zero.
    let hidden = tensor(&[2, 2], &[0.0, 1.0, f64::NAN, 1.0]);
    assert!(values(&det(&context(), &hidden).unwrap())[0].is_nan());
    assert!(values(&slogdet(&context(), &hidden).unwrap().sign)[0].is_nan());
    let x = solve(&context(), &hidden, &tensor(&[2], &[1.0, 1.0])).unwrap();
    assert!(values(&x).iter().all(|x| x.is_nan()));
    assert!(values(&inv(&context(), &hidden).unwrap()).iter().all(|x| x.is_nan()));
}

#[test]
fn wrong_shapes_are_errors() {
    let wide = tensor(&[2, 3], &[0.0; 6]);
    let vector = tensor(&[3], &[0.0; 3]);
    for error in [
        inv(&context(), &wide).unwrap_err(),
        det(&context(), &vector).unwrap_err(),
        cholesky(&context(), &wide, Triangle::Lower).unwrap_err(),
        eigh(&context(), &wide).unwrap_err(),
        svd(&context(), &vector, SvdMode::Thin).unwrap_err(),
        qr(&context(), &tensor(&[], &[1.0]), QrMode::Reduced).unwrap_err(),
        solve(&context(), &wide, &vector).unwrap_err(),
        solve(&context(), &tensor(&[1, 1], &[1.0]), &tensor(&[], &[1.0])).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Shape { .. }), "{error}");
    }
    let square = tensor(&[2, 2, 2], &[1.0; 8]);
    for b in [&vector, &tensor(&[3, 2, 1], &[0.0; 6])] {
        let error = solve(&context(), &square, b).unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    }
}

/// Results that no memory can hold are errors, even if the matrices have no elements.
#[test]
fn huge_matrices_are_errors() {
    let column = tensor(&[1 << 20, 0], &[]);
    let limited = Context { memory: Arc::new(MemoryBudget::new(1 << 20)), ..context() };
    assert!(svd(&limited, &column, SvdMode::Full).is_err());
    assert!(qr(&limited, &column, QrMode::Complete).is_err());
    let many = tensor(&[1 << 40, 0, 0], &[]);
    assert!(det(&limited, &many).is_err());
    assert!(matrix_rank(&limited, &many, None).is_err());
    assert_eq!(inv(&limited, &many).unwrap().ty().shape, [1 << 40, 0, 0]);
}

/// Copies, workspaces and results count against the memory limit. After the call, only the results
/// still count.
#[test]
fn the_memory_limit_is_kept() {
    let a = typed(&[64, 64], Array::from_vec((0..4096).map(|k| i64::from(k % 65 == 0)).collect()));
    let memory = Arc::new(MemoryBudget::new(1 << 20));
    let limited = Context { memory: memory.clone(), ..context() };
    let inverse = inv(&limited, &a).unwrap();
    assert_eq!(memory.used(), 64 * 64 * 8);
    assert!(memory.peak() > 3 * 64 * 64 * 8);
    drop(inverse);
    assert_eq!(memory.used(), 0);
    let narrow = Context { memory: Arc::new(MemoryBudget::new(64 * 64 * 8)), ..context() };
    let error = inv(&narrow, &a).unwrap_err();
    assert!(matches!(error, Error::Storage(redpoll_storage::Error::Stopped(_))), "{error}");
}

#[test]
fn cancelled_computations_stop() {
    let cancelled = Context { cancel: Arc::new(AtomicBool::new(true)), ..context() };
    assert!(matches!(inv(&cancelled, &tensor(&[1, 1], &[1.0])), Err(Error::Storage(_))));
}
