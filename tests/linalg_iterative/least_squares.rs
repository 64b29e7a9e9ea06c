//! Least squares by LSQR.

use crate::reference::{Dense, norm};
use crate::{array, relative_error, sparse, vector};
use redpoll::linalg::iterative::{LsqrOptions, LsqrTermination, lsqr};
use redpoll::prelude::*;
use redpoll_testing::rng::Rng;

fn exact<'a>() -> LsqrOptions<'a> {
    LsqrOptions { atol: 1e-14, btol: 1e-14, max_iterations: Some(1000), ..LsqrOptions::default() }
}

/// Returns the solution of the normal equations `(A^T A + damp^2 I) x = A^T b`.
fn normal_equations(a: &Dense, b: &[f64], damp: f64) -> Vec<f64> {
    let mut normal = a.transposed().times(a);
    (0..a.columns).for_each(|i| normal.values[i * a.columns + i] += damp * damp);
    normal.solve(&a.transposed().times_vector(b))
}

#[test]
fn tall_systems_agree_with_normal_equations() {
    let session = Session::default();
    let mut rng = Rng::new(3);
    for (rows, columns, damp) in [(20, 6, 0.0), (50, 20, 0.0), (20, 6, 0.5), (8, 12, 0.3)] {
        let mut matrix = sparse(&mut rng, rows, columns, 40);
        (0..rows.min(columns)).for_each(|i| matrix.values[i * columns + i] += 2.0);
        let b = vector(&mut rng, rows);
        let expected = normal_equations(&matrix, &b, damp);
        let a = array(&session, &mut rng, &matrix);
        let found = lsqr(&a, &session.vector(b.clone()), LsqrOptions { damp, ..exact() }).unwrap();
        let x = found.x.to_vec::<f64>().unwrap();
        assert!(relative_error(&x, &expected) < 1e-8, "{rows} x {columns}, {damp}: {:?}", found.termination);
        let residual: Vec<f64> = matrix.times_vector(&x).iter().zip(&b).map(|(y, b)| b - y).collect();
        assert!((norm(&residual) - found.residual_norm).abs() < 1e-6, "{rows} x {columns}, {damp}");
        assert!((norm(&x) - found.solution_norm).abs() < 1e-6, "{rows} x {columns}, {damp}");
    }
}

/// The shortest of the solutions of a wide system is found: `A^T (A A^T)^-1 b`.
#[test]
fn wide_systems_have_the_shortest_solution() {
    let session = Session::default();
    let mut rng = Rng::new(4);
    let mut matrix = sparse(&mut rng, 6, 15, 40);
    (0..6).for_each(|i| matrix.values[i * 15 + i] += 2.0);
    let b = vector(&mut rng, 6);
    let expected = matrix.transposed().times_vector(&matrix.times(&matrix.transposed()).solve(&b));
    let found = lsqr(&array(&session, &mut rng, &matrix), &session.vector(b), exact()).unwrap();
    assert!(relative_error(&found.x.to_vec().unwrap(), &expected) < 1e-9);
    assert!(matches!(found.termination, LsqrTermination::Compatible | LsqrTermination::CompatibleToPrecision));
}

#[test]
fn special_cases_end_at_once() {
    let session = Session::default();
    let a = session.dense([3, 2], [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    let zero = lsqr(&a, &session.zeros([3], Prim::F64), LsqrOptions::default()).unwrap();
    assert_eq!((zero.termination, zero.iterations), (LsqrTermination::Exact, 0));
    let orthogonal = lsqr(&a, &session.vector([0.0, 0.0, 5.0]), LsqrOptions::default()).unwrap();
    assert_eq!((orthogonal.termination, orthogonal.residual_norm), (LsqrTermination::Exact, 5.0));
    let x0 = session.vector([1.0, 2.0]);
    let options = LsqrOptions { x0: Some(&x0), ..LsqrOptions::default() };
    let found = lsqr(&a, &session.vector([1.0, 2.0, 0.0]), options).unwrap();
    assert_eq!((found.termination, found.x.to_vec::<f64>().unwrap()), (LsqrTermination::Exact, vec![1.0, 2.0]));
    for shape in [[0, 2], [2, 0]] {
        let empty = session.dense(shape, Vec::<f64>::new());
        let found = lsqr(&empty, &session.zeros([shape[0]], Prim::F64), LsqrOptions::default()).unwrap();
        assert_eq!(found.x.shape().unwrap(), [shape[1]]);
    }
}

/// The solution for a zero right side is found from any first guess.
#[test]
fn zero_right_sides_are_solved() {
    let session = Session::default();
    let a = session.dense([3, 3], [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0]);
    let x0 = session.vector([1.0, 2.0, 3.0]);
    let options = LsqrOptions { x0: Some(&x0), conlim: f64::INFINITY, ..exact() };
    let found = lsqr(&a, &session.zeros([3], Prim::F64), options).unwrap();
    assert!(norm(&found.x.to_vec::<f64>().unwrap()) < 1e-8, "{:?}", found.termination);
}

#[test]
fn ill_conditioned_matrices_stop_at_the_limit() {
    let session = Session::default();
    let a = session.dense([3, 3], [1.0, 0.0, 0.0, 0.0, 1e-5, 0.0, 0.0, 0.0, 1e-10]);
    let options = LsqrOptions { conlim: 1e3, ..exact() };
    let found = lsqr(&a, &session.vector([1.0, 1.0, 1.0]), options).unwrap();
    assert_eq!(found.termination, LsqrTermination::Condition);
    let options = LsqrOptions { max_iterations: Some(1), ..exact() };
    let found = lsqr(&a, &session.vector([1.0, 1.0, 1.0]), options).unwrap();
    assert_eq!(found.termination, LsqrTermination::IterationLimit);
}
