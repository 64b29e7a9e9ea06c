//! Errors of iterative linear algebra: inputs of wrong shapes, values that are not finite,
//! parameters out of range, cancelled runs.

use crate::{SOLVERS, laplacian};
use redpoll::linalg::iterative::{
    EigenOptions, FunctionOperator, LsqrOptions, SolverError, SolverOptions, eigsh, expm_multiply, jacobi, lsqr, svds,
};
use redpoll::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn message<T>(result: Result<T, Error>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn shapes_are_checked() {
    let session = Session::default();
    let (wide, square) = (session.ones([2, 3], Prim::F64), session.ones([2, 2], Prim::F64));
    let (two, three) = (session.ones([2], Prim::F64), session.ones([3], Prim::F64));
    for (name, solver) in SOLVERS {
        let expected = format!("`{name}` takes a square matrix, found shape [2, 3]");
        assert_eq!(message(solver(&wide, &two, SolverOptions::default())), expected);
        let expected = format!("`{name}` takes a vector of shape [2], found shape [3]");
        assert_eq!(message(solver(&square, &three, SolverOptions::default())), expected);
        let options = SolverOptions { x0: Some(&three), ..SolverOptions::default() };
        assert_eq!(message(solver(&square, &two, options)), expected);
        let identity = jacobi(&session.eye(3, 3, 0, Prim::F64)).unwrap();
        let options = SolverOptions { preconditioner: Some(&identity), ..SolverOptions::default() };
        let expected = format!("`{name}` takes a preconditioner of shape [2, 2], found shape [3, 3]");
        assert_eq!(message(solver(&square, &two, options)), expected);
        assert!(solver(&two, &two, SolverOptions::default()).is_err());
    }
    assert!(lsqr(&wide, &three, LsqrOptions::default()).is_err());
    assert!(eigsh(&wide, 1, &EigenOptions::default()).is_err());
    assert!(jacobi(&wide).is_err());
    assert_eq!(message(expm_multiply(&square, &three, 1.0)), "`expm_multiply` takes 2 rows in B, found shape [3]");
}

#[test]
fn values_must_be_finite() {
    let session = Session::default();
    let a = laplacian(&session, 3, 0.0);
    let b = session.ones([9], Prim::F64);
    for bad in [f64::NAN, f64::INFINITY] {
        let bad_vector = session.full([9], bad);
        let bad_matrix = session.full([9, 9], bad).to_dense();
        for (name, solver) in SOLVERS {
            let expected = format!("`{name}` found an infinity or NaN in the right side");
            assert_eq!(message(solver(&a, &bad_vector, SolverOptions::default())), expected);
            let options = SolverOptions { x0: Some(&bad_vector), ..SolverOptions::default() };
            let expected = format!("`{name}` found an infinity or NaN in the first guess");
            assert_eq!(message(solver(&a, &b, options)), expected);
            let expected = format!("`{name}` found an infinity or NaN in a product");
            assert_eq!(message(solver(&bad_matrix, &b, SolverOptions::default())), expected);
        }
        assert!(lsqr(&bad_matrix, &b, LsqrOptions::default()).is_err());
        assert!(lsqr(&a, &bad_vector, LsqrOptions::default()).is_err());
        assert!(eigsh(&bad_matrix, 2, &EigenOptions::default()).is_err());
        assert!(svds(&bad_matrix, 2, &EigenOptions::default()).is_err());
        assert!(expm_multiply(&bad_matrix, &b, 1.0).is_err());
        assert!(expm_multiply(&a, &bad_vector, 1.0).is_err());
        assert!(expm_multiply(&a, &b, bad).is_err());
    }
    assert!(expm_multiply(&a, &b, 1e300).is_err());
    let overflow = expm_multiply(&a, &b, 1e4).map(|x| x.max(..).item::<f64>());
    assert!(overflow.is_err(), "{overflow:?}");
}

#[test]
fn parameters_are_checked() {
    let session = Session::default();
    let a = laplacian(&session, 3, 0.0);
    let b = session.ones([9], Prim::F64);
    for (name, solver) in SOLVERS {
        let options = SolverOptions { rtol: -1.0, ..SolverOptions::default() };
        assert_eq!(message(solver(&a, &b, options)), format!("`rtol` of `{name}` must be at least 0, found -1"));
        let options = SolverOptions { atol: f64::NAN, ..SolverOptions::default() };
        assert!(solver(&a, &b, options).is_err());
    }
    assert!(redpoll::linalg::iterative::gmres(&a, &b, 0, SolverOptions::default()).is_err());
    assert!(lsqr(&a, &b, LsqrOptions { damp: f64::INFINITY, ..LsqrOptions::default() }).is_err());
    assert!(eigsh(&a, 10, &EigenOptions::default()).is_err());
    assert!(eigsh(&a, 3, &EigenOptions { subspace: Some(3), ..EigenOptions::default() }).is_err());
    assert_eq!(eigsh(&a, 0, &EigenOptions::default()).unwrap().values.shape().unwrap(), [0]);
    let large = laplacian(&session, 12, 0.0);
    let error = eigsh(&large, 4, &EigenOptions { max_restarts: Some(0), ..EigenOptions::default() }).err();
    assert!(matches!(error, Some(Error::Solver(SolverError::NotConverged { requested: 4, .. }))), "{error:?}");
}

#[test]
fn operators_must_return_vectors_of_their_size() {
    let session = Session::default();
    let b = session.ones([3], Prim::F64);
    let wrong = FunctionOperator::new(&session, (3, 3), |x| Ok(x.session().ones([2], Prim::F64)));
    for (_, solver) in SOLVERS {
        let error = message(solver(&wrong, &b, SolverOptions::default()));
        assert_eq!(error, "a linear operator returned a vector of shape [2], expected [3]");
    }
}

/// A solver stops once the session is cancelled, also between products of closures.
#[test]
fn solvers_are_cancelled_with_their_session() {
    let session = Session::default();
    let cancel = Arc::new(AtomicBool::new(false));
    let cancelled = session.cancelled_by(&cancel);
    let b = session.ones([3], Prim::F64);
    let rotation = session.dense([3, 3], [0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 3.0]);
    let products = std::cell::Cell::new(0);
    let operator = FunctionOperator::new(&cancelled, (3, 3), |x| {
        products.set(products.get() + 1);
        cancel.store(true, Ordering::Relaxed);
        session.array(session.vector(x.to_vec::<f64>()?).collect()?).check().map(|x| rotation.matmul(&x))
    });
    for (name, solver) in SOLVERS {
        cancel.store(false, Ordering::Relaxed);
        products.set(0);
        let options = SolverOptions { rtol: 0.0, ..SolverOptions::default() };
        if let Err(error) = solver(&operator, &b, options) {
            assert!(error.to_string().contains("cancel"), "{name}: {error}");
        }
        assert!(products.get() <= 3, "{name}: {}", products.get());
    }
}

/// The vectors of a function and its result count against the memory limit of the session. After
/// the call, only the result counts.
#[test]
fn vectors_count_against_the_memory_limit() {
    let n = 10_000;
    let bytes = n as usize * 8;
    let run = |limit: usize, name: &str| -> Result<(usize, usize, Array), Error> {
        let session = Session::new(redpoll::Config { memory_limit: Some(limit), ..redpoll::Config::default() });
        let memory = session.limits().memory.clone();
        let doubled = FunctionOperator::new(&session, (n, n), |x| Ok(x * 2.0)).with_transpose(|x| Ok(x * 2.0));
        let b = session.vector(vec![1.0; n as usize]);
        let before = memory.used();
        let x = match name {
            "lsqr" => lsqr(&doubled, &b, LsqrOptions::default())?.x,
            "eigsh" => eigsh(&doubled, 3, &EigenOptions::default())?.vectors,
            "svds" => svds(&doubled, 3, &EigenOptions::default())?.u,
            _ => {
                let (_, solver) = SOLVERS.into_iter().find(|(known, _)| *known == name).unwrap();
                solver(&doubled, &b, SolverOptions::default())?.x
            }
        };
        Ok((memory.used() - before, memory.peak(), x))
    };
    for (name, vectors, columns) in [
        ("cg", 4, 1),
        ("minres", 9, 1),
        ("gmres", 25, 1),
        ("bicgstab", 8, 1),
        ("lsqr", 4, 1),
        ("eigsh", 21, 3),
        ("svds", 21, 3),
    ] {
        let (used, peak, x) = run(1 << 30, name).unwrap();
        assert_eq!(used, columns * bytes, "{name}");
        assert!(peak >= vectors * bytes, "{name}: {peak}");
        drop(x);
        let error = run(vectors * bytes - 1, name).expect_err(name);
        assert!(error.to_string().contains("memory"), "{name}: {error}");
    }
}
