//! Eigenvalues and singular values.

use crate::{array, laplacian, positive, relative_error, sparse, vector};
use redpoll::linalg::iterative::{
    EigenOptions, FunctionOperator, InnerProduct, LinearOperator, Preconditioner, Shift, SolverError, SolverOptions,
    Which, cg, eigsh, ic0, svds,
};
use redpoll::prelude::*;
use redpoll_testing::rng::Rng;
use std::f64::consts::PI;

/// Returns the eigenvalues of the 5-point Laplacian, ascending, with multiplicities.
fn spectrum(side: u32) -> Vec<f64> {
    let one = |i: u32| 2.0 - 2.0 * (PI * f64::from(i + 1) / f64::from(side + 1)).cos();
    let mut values: Vec<f64> = (0..side).flat_map(|i| (0..side).map(move |j| one(i) + one(j))).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Asserts that the vectors are eigenvectors and orthonormal.
fn check_pairs(a: &Array, values: &Array, vectors: &Array, tolerance: f64) {
    let residual = (a.matmul(vectors) - vectors * values).abs().max(..).item::<f64>().unwrap();
    assert!(residual < tolerance, "{residual}");
    let k = values.shape().unwrap()[0];
    let gram = vectors.t().matmul(vectors) - a.session().eye(k, k, 0, Prim::F64);
    let error = gram.abs().max(..).item::<f64>().unwrap();
    assert!(error < 1e-10, "{error}");
}

#[test]
fn all_choices_agree_with_the_method_of_jacobi() {
    let session = Session::default();
    let mut rng = Rng::new(9);
    for n in [1, 2, 5, 19, 40] {
        let half = sparse(&mut rng, n, n, 40);
        let mut matrix = half.clone();
        let transposed = half.transposed();
        matrix.values.iter_mut().zip(&transposed.values).for_each(|(x, y)| *x += y);
        let all = matrix.eigenvalues();
        for k in [1, 2, 5, n] {
            if k > n {
                continue;
            }
            let by = |key: fn(&f64) -> f64| {
                let mut values = all.clone();
                values.sort_by(|a, b| key(a).total_cmp(&key(b)));
                let mut values = values[..k].to_vec();
                values.sort_by(f64::total_cmp);
                values
            };
            let (low, high) = (k / 2, k - k / 2);
            let ends = [&all[..low], &all[n - high..]].concat();
            for (which, expected) in [
                (Which::LargestMagnitude, by(|v| -v.abs())),
                (Which::SmallestMagnitude, by(|v| v.abs())),
                (Which::LargestAlgebraic, by(|v| -v)),
                (Which::SmallestAlgebraic, by(|v| *v)),
                (Which::BothEnds, ends),
            ] {
                let a = array(&session, &mut rng, &matrix);
                let found = eigsh(&a, k as u64, &EigenOptions { which, ..EigenOptions::default() }).unwrap();
                let values = found.values.to_vec::<f64>().unwrap();
                let close = values.iter().zip(&expected).all(|(v, e)| (v - e).abs() < 1e-9);
                assert!(close, "{n}, {k}, {which:?}: {values:?}, {expected:?}");
                check_pairs(&a, &found.values, &found.vectors, 1e-9);
            }
        }
    }
}

/// The Laplacian of a square has eigenvalues of multiplicity two, and all copies are found.
#[test]
fn multiple_eigenvalues_are_found() {
    let session = Session::default();
    let all = spectrum(15);
    let a = laplacian(&session, 15, 0.0);
    for which in [Which::LargestAlgebraic, Which::SmallestAlgebraic] {
        let found = eigsh(&a, 6, &EigenOptions { which, ..EigenOptions::default() }).unwrap();
        let expected = if which == Which::LargestAlgebraic { &all[all.len() - 6..] } else { &all[..6] };
        let error = relative_error(&found.values.to_vec().unwrap(), expected);
        assert!(error < 1e-12, "{which:?}: {error}");
        check_pairs(&a, &found.values, &found.vectors, 1e-9);
    }
}

/// Every copy of the eigenvalues of the identity, and of projections, is found.
#[test]
fn invariant_subspaces_do_not_end_the_iteration() {
    let session = Session::default();
    let identity = session.eye(30, 30, 0, Prim::F64).to_csr();
    let found = eigsh(&identity, 4, &EigenOptions::default()).unwrap();
    assert!(relative_error(&found.values.to_vec().unwrap(), &[1.0; 4]) < 1e-12);
    let zero = session.zeros([30, 30], Prim::F64).to_csr();
    let found = eigsh(&zero, 3, &EigenOptions::default()).unwrap();
    assert_eq!(found.values.to_vec::<f64>().unwrap(), [0.0; 3]);
    let projection = session.dense([40], (0..40).map(|i| f64::from(u8::from(i < 3)))).diagonal_matrix(0).to_csr();
    let found = eigsh(&projection, 5, &EigenOptions::default()).unwrap();
    let values = found.values.to_vec::<f64>().unwrap();
    assert!(values.iter().zip([0.0, 0.0, 1.0, 1.0, 1.0]).all(|(v, e)| (v - e).abs() < 1e-12), "{values:?}");
}

/// With the inverse of a shifted matrix, the eigenvalues nearest to the shift are found fast.
#[test]
fn shifts_find_the_nearest_eigenvalues() {
    let session = Session::default();
    let a = laplacian(&session, 20, 0.0);
    let factor: Preconditioner = ic0(&a).unwrap();
    let inverse = FunctionOperator::new(&session, (400, 400), |b| {
        let options = SolverOptions { rtol: 1e-13, preconditioner: Some(&factor), ..SolverOptions::default() };
        Ok(cg(&a, b, options)?.x)
    });
    for inverse in [Some(&inverse as &dyn LinearOperator), None] {
        let shift = Some(Shift { sigma: 0.0, inverse });
        let found = eigsh(&a, 4, &EigenOptions { shift, tol: 1e-10, ..EigenOptions::default() }).unwrap();
        assert!(relative_error(&found.values.to_vec().unwrap(), &spectrum(20)[..4]) < 1e-9);
        assert!(found.products < 60, "{}", found.products);
        check_pairs(&a, &found.values, &found.vectors, 1e-7);
    }
    // Eigenvalues on both sides of a shift within the spectrum.
    let all = spectrum(20);
    let sigma = 0.5 * (all[100] + all[101]) + 1e-3;
    let shift = Some(Shift { sigma, inverse: None });
    let found = eigsh(&a, 1, &EigenOptions { shift, ..EigenOptions::default() }).unwrap();
    let nearest = all.iter().copied().min_by(|a, b| (a - sigma).abs().total_cmp(&(b - sigma).abs())).unwrap();
    assert!((found.values.get::<f64>([0]).unwrap() - nearest).abs() < 1e-10);
    let operator = FunctionOperator::new(&session, (400, 400), |x| Ok(a.matmul(x)));
    let error =
        eigsh(&operator, 1, &EigenOptions { shift: Some(Shift { sigma, inverse: None }), ..Default::default() });
    assert!(error.err().unwrap().to_string().contains("needs the inverse"));
}

#[test]
fn singular_values_are_roots_of_eigenvalues() {
    let session = Session::default();
    let mut rng = Rng::new(10);
    for (rows, columns) in [(30, 12), (12, 30), (8, 8), (1, 5)] {
        let matrix = sparse(&mut rng, rows, columns, 50);
        let small = rows.min(columns);
        let gram = if rows < columns { matrix.times(&matrix.transposed()) } else { matrix.transposed().times(&matrix) };
        let mut all: Vec<f64> = gram.eigenvalues().iter().map(|v| v.max(0.0).sqrt()).collect();
        all.reverse();
        for k in [1, 3, small] {
            if k > small {
                continue;
            }
            let a = array(&session, &mut rng, &matrix);
            for which in [Which::LargestMagnitude, Which::SmallestMagnitude] {
                let found = svds(&a, k as u64, &EigenOptions { which, ..EigenOptions::default() }).unwrap();
                let expected = if which == Which::LargestMagnitude { &all[..k] } else { &all[small - k..] };
                let values = found.values.to_vec::<f64>().unwrap();
                assert!(values.is_sorted_by(|a, b| a >= b), "{which:?}: {values:?}");
                assert!(values.iter().zip(expected).all(|(v, e)| (v - e).abs() < 1e-7), "{values:?}, {expected:?}");
                let residual = (a.matmul(found.vt.t()) - &found.u * &found.values).abs().max(..);
                assert!(residual.item::<f64>().unwrap() < 1e-10);
            }
        }
    }
}

/// The singular vectors of zero singular values are orthonormal, too.
#[test]
fn singular_vectors_of_zeros_are_orthonormal() {
    let session = Session::default();
    let a = session.dense([4], [3.0, 2.0, 0.0, 0.0]).diagonal_matrix(0);
    let found = svds(&a, 4, &EigenOptions::default()).unwrap();
    let gram = found.u.t().matmul(&found.u) - session.eye(4, 4, 0, Prim::F64);
    assert!(gram.abs().max(..).item::<f64>().unwrap() < 1e-10);
}

#[test]
fn first_vectors_subspaces_and_tolerances_are_used() {
    let session = Session::default();
    let mut rng = Rng::new(11);
    let matrix = positive(&mut rng, 50);
    let a = array(&session, &mut rng, &matrix);
    let v0 = session.vector(vector(&mut rng, 50));
    let options = &EigenOptions { v0: Some(&v0), subspace: Some(8), tol: 1e-6, ..EigenOptions::default() };
    let found = eigsh(&a, 2, options).unwrap();
    let all = matrix.eigenvalues();
    assert!(relative_error(&found.values.to_vec().unwrap(), &all[48..]) < 1e-5);
    let precise = eigsh(&a, 2, &EigenOptions { v0: Some(&v0), subspace: Some(8), ..EigenOptions::default() }).unwrap();
    assert!(precise.products > found.products);
}

/// The eigenvalues of `A x = lambda B x` are those of `L^-1 A L^-T` for `B = L L^T`, with and
/// without a shift, for matrices that are factorized and for given inverses.
#[test]
fn generalized_problems_are_solved() {
    let session = Session::default();
    let mut rng = Rng::new(12);
    for n in [1, 4, 40] {
        let (half, b) = (sparse(&mut rng, n, n, 30), positive(&mut rng, n));
        let mut a = half.clone();
        a.values.iter_mut().zip(&half.transposed().values).for_each(|(x, y)| *x += y);
        let (a, b) = (array(&session, &mut rng, &a), array(&session, &mut rng, &b));
        let l = redpoll::linalg::cholesky(&b, redpoll::linalg::Triangle::Lower).unwrap();
        let inverse = redpoll::linalg::inv(&l).unwrap();
        let all = redpoll::linalg::eigvalsh(&inverse.matmul(&a).matmul(inverse.t())).unwrap();
        let all = all.to_vec::<f64>().unwrap();
        let k = n.min(3);
        let of_b = redpoll::linalg::inv(&b).unwrap();
        let sigma = all[n / 2] + 1e-3;
        let of_shifted = redpoll::linalg::inv(&(&a - &b * sigma)).unwrap();
        let mut nearest = all.clone();
        nearest.sort_by(|x, y| (x - sigma).abs().total_cmp(&(y - sigma).abs()));
        nearest.truncate(k);
        nearest.sort_by(f64::total_cmp);
        for given in [false, true] {
            let inner = || Some(InnerProduct { matrix: &b, inverse: given.then_some(&of_b as &dyn LinearOperator) });
            let shift = Some(Shift { sigma, inverse: given.then_some(&of_shifted as &dyn LinearOperator) });
            let which = Which::LargestAlgebraic;
            for (which, shift, expected) in
                [(which, None, &all[n - k..]), (Which::LargestMagnitude, shift, &nearest[..])]
            {
                let options = EigenOptions { which, shift, b: inner(), ..EigenOptions::default() };
                let found = eigsh(&a, k as u64, &options).unwrap();
                let values = found.values.to_vec::<f64>().unwrap();
                let close = values.iter().zip(expected).all(|(v, e)| (v - e).abs() < 1e-8);
                assert!(close, "{n}, {given}, {which:?}: {values:?}, {expected:?}");
                let residual = a.matmul(&found.vectors) - b.matmul(&found.vectors) * &found.values;
                assert!(residual.abs().max(..).item::<f64>().unwrap() < 1e-8);
                let gram = found.vectors.t().matmul(b.matmul(&found.vectors));
                let error = (gram - session.eye(k as u64, k as u64, 0, Prim::F64)).abs().max(..);
                assert!(error.item::<f64>().unwrap() < 1e-10);
            }
        }
    }
    let a = laplacian(&session, 5, 0.0);
    let negative = session.eye(25, 25, 0, Prim::F64) * -1.0;
    let options =
        |inverse| EigenOptions { b: Some(InnerProduct { matrix: &negative, inverse }), ..EigenOptions::default() };
    let error = eigsh(&a, 2, &options(Some(&negative))).err().unwrap();
    assert!(matches!(error, Error::Solver(SolverError::NotPositiveDefinite { .. })), "{error}");
    assert!(eigsh(&a, 2, &options(None)).is_err() && svds(&a, 2, &options(None)).is_err());
}
