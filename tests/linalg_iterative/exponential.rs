//! The action of the matrix exponential.

use crate::reference::Dense;
use crate::{array, laplacian, number, relative_error, sparse};
use redpoll::linalg::iterative::expm_multiply;
use redpoll::prelude::*;
use redpoll_testing::rng::Rng;

/// Returns `exp(t A) B` by squaring a Taylor polynomial of a small multiple of the matrix.
fn exponential(a: &Dense, t: f64, b: &Dense) -> Dense {
    let n = a.rows;
    let identity = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n)));
    let mut sum = Dense { rows: n, columns: n, values: identity.collect() };
    let mut term = sum.clone();
    let scaled = Dense { values: a.values.iter().map(|v| v * t / 1024.0).collect(), ..a.clone() };
    for k in 1..25 {
        term = term.times(&scaled);
        term.values.iter_mut().for_each(|v| *v /= f64::from(k));
        sum.values.iter_mut().zip(&term.values).for_each(|(s, v)| *s += v);
    }
    (0..10).for_each(|_| sum = sum.times(&sum));
    sum.times(b)
}

#[test]
fn exponentials_agree_with_squaring() {
    let session = Session::default();
    let mut rng = Rng::new(12);
    for (n, columns, t) in [(1, 1, 1.0), (5, 1, 0.3), (12, 3, 1.0), (12, 2, -2.0), (20, 1, 8.0)] {
        let mut matrix = sparse(&mut rng, n, n, 40);
        (0..n).for_each(|i| matrix.values[i * n + i] -= 1.0);
        let b = Dense { rows: n, columns, values: (0..n * columns).map(|_| number(&mut rng)).collect() };
        let a = array(&session, &mut rng, &matrix);
        let right = session.dense([n as u64, columns as u64], b.values.iter().copied());
        let found = expm_multiply(&a, &right, t).unwrap();
        assert_eq!(found.shape().unwrap(), [n as u64, columns as u64]);
        let error = relative_error(&found.to_vec().unwrap(), &exponential(&matrix, t, &b).values);
        assert!(error < 1e-11, "{n}, {columns}, {t}: {error}");
        if columns == 1 {
            let vector = session.vector(b.values.iter().copied());
            let found = expm_multiply(&a, &vector, t).unwrap();
            assert!(relative_error(&found.to_vec().unwrap(), &exponential(&matrix, t, &b).values) < 1e-11);
        }
    }
}

/// The result for a long time, which takes many steps, is that of two successive runs over half of
/// the time.
#[test]
fn heat_flows_for_long_times() {
    let session = Session::default();
    let a = -laplacian(&session, 12, 0.0);
    let one = expm_multiply(&a, &session.ones([144], Prim::F64), 20.0).unwrap();
    let mut twice = session.ones([144], Prim::F64);
    for _ in 0..2 {
        twice = expm_multiply(&a, &twice, 10.0).unwrap();
    }
    assert!(relative_error(&one.to_vec().unwrap(), &twice.to_vec::<f64>().unwrap()) < 1e-11);
}

/// The end of a series does not depend on the scale of the vector, even if squares underflow or
/// overflow.
#[test]
fn vectors_of_any_scale_are_multiplied() {
    let session = Session::default();
    let a = session.dense([2, 2], [0.0, 1.0, 1.0, 0.0]);
    for scale in [1e-170, 1.0, 1e170] {
        let found = expm_multiply(&a, &session.vector([scale, 0.0]), 1.0).unwrap().to_vec::<f64>().unwrap();
        let found: Vec<f64> = found.iter().map(|x| x / scale).collect();
        assert!(relative_error(&found, &[1f64.cosh(), 1f64.sinh()]) < 1e-14, "{scale}: {found:?}");
    }
}

#[test]
fn simple_exponentials_are_exact() {
    let session = Session::default();
    let identity = session.eye(4, 4, 0, Prim::F64).to_csr();
    let b = session.vector([1.0, 2.0, 3.0, 4.0]);
    let found = expm_multiply(&(&identity * 2.0), &b, 0.5).unwrap().to_vec::<f64>().unwrap();
    assert!(relative_error(&found, &[1.0, 2.0, 3.0, 4.0].map(|x| x * std::f64::consts::E)) < 1e-15);
    assert_eq!(expm_multiply(&identity, &b, 0.0).unwrap().to_vec::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let empty = session.dense([0, 0], Vec::<f64>::new());
    assert_eq!(expm_multiply(&empty, &session.zeros([0], Prim::F64), 1.0).unwrap().shape().unwrap(), [0]);
}
