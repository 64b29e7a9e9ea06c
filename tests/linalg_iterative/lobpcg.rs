//! Eigenvalues by the locally optimal block preconditioned conjugate gradient method.

use crate::{array, laplacian, positive, relative_error, sparse, vector};
use redpoll::linalg::iterative::{
    FunctionOperator, LinearOperator, LobpcgOptions, LobpcgSolution, SolverError, SpectrumEnd, ic0, jacobi, lobpcg,
};
use redpoll::prelude::*;
use redpoll_testing::rng::Rng;

/// Draws a matrix of first guesses.
fn guesses(session: &Session, rng: &mut Rng, rows: usize, columns: usize) -> Array {
    session.dense([rows as u64, columns as u64], vector(rng, rows * columns))
}

/// Fails if the vectors are not orthonormal in the inner product of `b`, or residuals are not those
/// of the result.
#[track_caller]
fn check(found: &LobpcgSolution, (a, b): (&Array, &Array), tolerance: f64) {
    let k = found.values.shape().unwrap()[0];
    let gram = found.vectors.t().matmul(b.matmul(&found.vectors)) - a.session().eye(k, k, 0, Prim::F64);
    assert!(gram.abs().max(..).item::<f64>().unwrap() < 1e-9);
    let residuals = (a.matmul(&found.vectors) - b.matmul(&found.vectors) * &found.values).norm(2.0, 0);
    let difference = (&residuals - &found.residual_norms).abs().max(..).item::<f64>().unwrap();
    assert!(difference < 1e-9, "{difference:e}");
    assert!(found.converged == (found.residual_norms.max(..).item::<f64>().unwrap() <= tolerance));
}

/// Both ends of the spectrum agree with the method of Jacobi, for blocks of any size, also if the
/// blocks of an iteration span the whole space.
#[test]
fn eigenvalues_agree_with_the_method_of_jacobi() {
    let session = Session::default();
    let mut rng = Rng::new(31);
    for n in [1, 2, 4, 9, 40] {
        let half = sparse(&mut rng, n, n, 40);
        let mut matrix = half.clone();
        let transposed = half.transposed();
        matrix.values.iter_mut().zip(&transposed.values).for_each(|(x, y)| *x += y);
        let all = matrix.eigenvalues();
        let identity = session.eye(n as u64, n as u64, 0, Prim::F64);
        for k in [1, 2, 3, n].into_iter().filter(|k| *k <= n) {
            let a = array(&session, &mut rng, &matrix);
            for end in [SpectrumEnd::Largest, SpectrumEnd::Smallest] {
                let mut expected = all.clone();
                if end == SpectrumEnd::Largest {
                    expected.reverse();
                }
                let x = guesses(&session, &mut rng, n, k);
                let options = LobpcgOptions { end, tol: Some(1e-9), max_iterations: 500, ..Default::default() };
                let found = lobpcg(&a, &x, &options).unwrap();
                assert!(found.converged, "{n}, {k}, {end:?}: {:?}", found.residual_norms.to_vec::<f64>());
                let values = found.values.to_vec::<f64>().unwrap();
                let close = values.iter().zip(&expected).all(|(v, e)| (v - e).abs() < 1e-8);
                assert!(close, "{n}, {k}, {end:?}: {values:?}, {expected:?}");
                check(&found, (&a, &identity), 1e-9);
            }
        }
    }
}

/// A preconditioner finds the smallest eigenvalues of a Laplacian in few iterations, also of a lazy
/// operator or a closure.
#[test]
fn preconditioners_reduce_iterations() {
    let session = Session::default();
    let mut rng = Rng::new(32);
    let a = laplacian(&session, 20, 0.0);
    let x = guesses(&session, &mut rng, 400, 4);
    let one = |i: f64| 2.0 - 2.0 * (std::f64::consts::PI * i / 21.0).cos();
    let expected = [one(1.0) + one(1.0), one(1.0) + one(2.0), one(2.0) + one(1.0), one(2.0) + one(2.0)];
    let factor = ic0(&a).unwrap();
    let closure = FunctionOperator::new(&session, (400, 400), |x| Ok(a.matmul(x)));
    let lazy = &a * 0.5 + &a * 0.5;
    let mut iterations = Vec::new();
    for (operator, m) in [
        (&a as &dyn LinearOperator, None),
        (&a, Some(&factor as &dyn LinearOperator)),
        (&closure, Some(&factor)),
        (&lazy, Some(&factor)),
    ] {
        let options = LobpcgOptions {
            end: SpectrumEnd::Smallest,
            preconditioner: m,
            tol: Some(1e-7),
            max_iterations: 300,
            ..Default::default()
        };
        let found = lobpcg(operator, &x, &options).unwrap();
        assert!(found.converged, "{:?}", found.residual_norms.to_vec::<f64>());
        assert!(relative_error(&found.values.to_vec().unwrap(), &expected) < 1e-10);
        check(&found, (&a, &session.eye(400, 400, 0, Prim::F64)), 1e-7);
        iterations.push(found.iterations);
    }
    assert!(2 * iterations[1] < iterations[0] && iterations[1] < 40, "{iterations:?}");
}

/// The eigenvalues of `A x = lambda B x` are those of `L^-1 A L^-T` for `B = L L^T`.
#[test]
fn generalized_problems_are_solved() {
    let session = Session::default();
    let mut rng = Rng::new(33);
    let (a, b) = (positive(&mut rng, 30), positive(&mut rng, 30));
    let (a_array, b_array) = (array(&session, &mut rng, &a), array(&session, &mut rng, &b));
    let l = redpoll::linalg::cholesky(&b_array, redpoll::linalg::Triangle::Lower).unwrap();
    let inverse = redpoll::linalg::inv(&l).unwrap();
    let all = redpoll::linalg::eigvalsh(&inverse.matmul(&a_array).matmul(inverse.t())).unwrap();
    let all = all.to_vec::<f64>().unwrap();
    let m = jacobi(&a_array).unwrap();
    for end in [SpectrumEnd::Largest, SpectrumEnd::Smallest] {
        let x = guesses(&session, &mut rng, 30, 3);
        let preconditioner: Option<&dyn LinearOperator> = if end == SpectrumEnd::Smallest { Some(&m) } else { None };
        let options = LobpcgOptions {
            end,
            b: Some(&b_array),
            preconditioner,
            tol: Some(1e-8),
            max_iterations: 500,
            ..Default::default()
        };
        let found = lobpcg(&a_array, &x, &options).unwrap();
        let mut expected = all.clone();
        if end == SpectrumEnd::Largest {
            expected.reverse();
        }
        assert!(relative_error(&found.values.to_vec().unwrap(), &expected[..3]) < 1e-8, "{end:?}");
        check(&found, (&a_array, &b_array), 1e-8);
    }
}

/// Constraints exclude eigenvectors.
#[test]
fn constraints_exclude_eigenvectors() {
    let session = Session::default();
    let mut rng = Rng::new(34);
    let a = session.vector((0..50).map(|i| f64::from(i + 1))).diagonal_matrix(0).to_csr();
    let y = session.dense([50, 2], (0..100).map(|k| f64::from(u8::from(k == 0 || k == 3))));
    let x = guesses(&session, &mut rng, 50, 3);
    let options = || LobpcgOptions {
        end: SpectrumEnd::Smallest,
        constraints: Some(&y),
        tol: Some(1e-9),
        max_iterations: 300,
        ..Default::default()
    };
    let found = lobpcg(&a, &x, &options()).unwrap();
    assert!(relative_error(&found.values.to_vec().unwrap(), &[3.0, 4.0, 5.0]) < 1e-12);
    assert!(y.t().matmul(&found.vectors).abs().max(..).item::<f64>().unwrap() < 1e-12);
}

#[test]
fn limits_and_wrong_inputs() {
    let session = Session::default();
    let mut rng = Rng::new(35);
    let a = laplacian(&session, 10, 0.0);
    let x = guesses(&session, &mut rng, 100, 2);
    let options = || LobpcgOptions { end: SpectrumEnd::Smallest, ..Default::default() };
    let found = lobpcg(&a, &x, &LobpcgOptions { max_iterations: 2, ..options() }).unwrap();
    assert!(!found.converged && found.iterations == 2);
    check(&found, (&a, &session.eye(100, 100, 0, Prim::F64)), 100.0 * f64::EPSILON.sqrt());
    let none = lobpcg(&a, &session.zeros([100, 0], Prim::F64), &options()).unwrap();
    assert!(none.converged && none.values.shape().unwrap() == [0]);
    let error = |a: &Array, x: &Array, options| lobpcg(a, x, &options).expect_err("an error");
    let ones = session.ones([100, 2], Prim::F64);
    let dependent = error(&a, &ones, options());
    assert!(matches!(dependent, Error::Solver(SolverError::Parameter { parameter: "x", .. })), "{dependent}");
    let constrained = error(&a, &x, LobpcgOptions { constraints: Some(&x), ..options() });
    assert!(matches!(constrained, Error::Solver(SolverError::Parameter { parameter: "x", .. })), "{constrained}");
    let negative = session.eye(100, 100, 0, Prim::F64) * -1.0;
    let indefinite = error(&a, &x, LobpcgOptions { b: Some(&negative), ..options() });
    assert_eq!(indefinite.to_string(), "`lobpcg` takes a positive definite operator `B`");
    for wrong in [&session.ones([100], Prim::F64), &session.ones([99, 1], Prim::F64)] {
        assert!(matches!(error(&a, wrong, options()), Error::Solver(SolverError::Shape { .. })));
    }
    let nan = session.full([100, 1], f64::NAN);
    assert!(matches!(error(&a, &nan, options()), Error::Solver(SolverError::NotFinite { .. })));
    let bad = session.full([100, 100], f64::NAN).to_dense();
    assert!(matches!(error(&bad, &x, options()), Error::Solver(SolverError::NotFinite { .. })));
    // Zero is an eigenvalue of any vector, and a zero preconditioner ends the iteration.
    let zero = session.zeros([100, 100], Prim::F64).to_csr();
    assert!(lobpcg(&zero, &x, &options()).unwrap().converged);
    let stuck = lobpcg(&a, &x, &LobpcgOptions { preconditioner: Some(&zero), ..options() }).unwrap();
    assert!(!stuck.converged && stuck.iterations == 0);
}
