//! Preconditioners.

use crate::{SOLVERS, array, laplacian, positive, relative_error, vector};
use redpoll::linalg::iterative::{LinearOperator, SolverError, SolverOptions, ic0, ilu0, jacobi};
use redpoll::prelude::*;
use redpoll_testing::rng::Rng;

/// If a matrix stores all elements, there is no fill-in to drop, so the incomplete factorizations
/// are exact.
#[test]
fn factorizations_of_dense_matrices_are_exact() {
    let session = Session::default();
    let mut rng = Rng::new(7);
    let matrix = positive(&mut rng, 12);
    let b = vector(&mut rng, 12);
    let expected = matrix.solve(&b);
    let full = session.dense([12, 12], matrix.values.iter().copied());
    // A fill value that no element has makes all elements stored.
    let stored = session.array(full.to_csr().collect().unwrap());
    let stored = if matrix.values.contains(&0.0) { full.clone() } else { stored };
    if !matrix.values.contains(&0.0) {
        for inverse in [ilu0(&stored).unwrap(), ic0(&stored).unwrap()] {
            let x = inverse.multiply(&session.vector(b.clone())).unwrap().to_vec::<f64>().unwrap();
            assert!(relative_error(&x, &expected) < 1e-10);
        }
    }
    let diagonal: Vec<f64> = (0..12).map(|i| b[i] / matrix.at(i, i)).collect();
    let x = jacobi(&stored).unwrap().multiply(&session.vector(b)).unwrap().to_vec::<f64>().unwrap();
    assert!(relative_error(&x, &diagonal) < 1e-14);
}

/// The product of the factors agrees with the matrix at all stored entries, which defines the
/// factorization. The test computes the product of the factors as the inverse of the matrix that
/// the preconditioner multiplies by.
#[test]
fn incomplete_factors_agree_with_the_matrix_at_its_entries() {
    let session = Session::default();
    let side = 6;
    let a = laplacian(&session, side, 0.0);
    let n = (side * side) as usize;
    for inverse in [ilu0(&a).unwrap(), ic0(&a).unwrap()] {
        let columns: Vec<f64> = (0..n)
            .flat_map(|j| {
                let unit = session.vector((0..n).map(|i| f64::from(u8::from(i == j))));
                inverse.multiply(&unit).unwrap().to_vec::<f64>().unwrap()
            })
            .collect();
        let inverse = crate::reference::Dense { rows: n, columns: n, values: columns }.transposed();
        for (coordinates, value) in a.entries::<f64>().unwrap() {
            let unit: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i as u64 == coordinates[1]))).collect();
            let found = inverse.solve(&unit)[coordinates[0] as usize];
            assert!((found - value).abs() < 1e-9, "{coordinates:?}: {found}, {value}");
        }
    }
}

/// Better preconditioners take fewer iterations, and do not change the solution.
#[test]
fn preconditioners_reduce_iterations() {
    let session = Session::default();
    let plain = laplacian(&session, 25, 0.0);
    // The rows and columns have very different scales, which the preconditioner `jacobi` evens out.
    let scale = session.vector((0..625).map(|i| 1.0 + f64::from(i % 7) * 3.0));
    let a = session.array((plain * scale.expand_dims(1) * &scale).to_csr().collect().unwrap());
    let b = session.ones([625], Prim::F64);
    let (diagonal, lu, cholesky) = (jacobi(&a).unwrap(), ilu0(&a).unwrap(), ic0(&a).unwrap());
    for (name, solver) in SOLVERS {
        let options = |preconditioner| SolverOptions { rtol: 1e-10, preconditioner, ..SolverOptions::default() };
        let mut iterations = Vec::new();
        for preconditioner in [None, Some(&diagonal), Some(&lu), Some(&cholesky)] {
            let preconditioner = preconditioner.map(|m| m as &dyn LinearOperator);
            let solution = solver(&a, &b, options(preconditioner)).unwrap();
            assert!(solution.converged(), "{name}: {:?}", solution.termination);
            let residual = (&b - a.matmul(&solution.x)).square().sum(..).item::<f64>().unwrap().sqrt();
            let tolerance = if name == "minres" { 1e-4 } else { 1.1e-10 * 25.0 };
            assert!(residual <= tolerance, "{name}: {residual}");
            iterations.push(solution.iterations);
        }
        assert!(iterations[1] < iterations[0] && iterations[2] < iterations[1], "{name}: {iterations:?}");
        assert!(iterations[3].abs_diff(iterations[2]) <= 5, "{name}: {iterations:?}");
    }
}

#[test]
fn pivots_are_checked() {
    let session = Session::default();
    let mut rng = Rng::new(8);
    let zero = crate::reference::Dense { rows: 2, columns: 2, values: vec![0.0, 1.0, 1.0, 0.0] };
    for _ in 0..5 {
        let a = array(&session, &mut rng, &zero);
        for (name, result) in [("jacobi", jacobi(&a)), ("ilu0", ilu0(&a)), ("ic0", ic0(&a))] {
            let error = result.err();
            let Some(Error::Solver(SolverError::Pivot { row, .. })) = error else { panic!("{name}: {error:?}") };
            assert_eq!(row, 0);
        }
    }
    let indefinite = session.dense([2, 2], [1.0, 2.0, 2.0, 1.0]).to_csr();
    assert!(ilu0(&indefinite).is_ok());
    let error = ic0(&indefinite).err().unwrap().to_string();
    expect_test::expect!["`ic0` found the pivot -3 in row 1; shift the matrix or take another preconditioner"]
        .assert_eq(&error);
    let nan = session.dense([2, 2], [f64::NAN, 0.0, 0.0, 1.0]).to_csr();
    assert!(jacobi(&nan).is_err() && ilu0(&nan).is_err() && ic0(&nan).is_err());
}
