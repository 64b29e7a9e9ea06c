//! Solvers of square systems.

use crate::{SOLVERS, array, gmres, laplacian, positive, relative_error, sparse, vector};
use redpoll::linalg::iterative::{SolverOptions, Termination, bicgstab, cg, minres};
use redpoll::prelude::*;
use redpoll_testing::rng::Rng;
use std::ops::ControlFlow;

/// All solvers agree with elimination on positive definite matrices in all formats, from any first
/// guess.
#[test]
fn solvers_agree_with_elimination() {
    let session = Session::default();
    let mut rng = Rng::new(1);
    for n in [1, 2, 7, 30] {
        let matrix = positive(&mut rng, n);
        let b = vector(&mut rng, n);
        let (expected, right) = (matrix.solve(&b), session.vector(b));
        for (name, solver) in SOLVERS {
            let a = array(&session, &mut rng, &matrix);
            let x0 = session.vector(vector(&mut rng, n));
            for x0 in [None, Some(&x0)] {
                let options = SolverOptions { rtol: 1e-12, x0, ..SolverOptions::default() };
                let solution = solver(&a, &right, options).unwrap();
                assert!(solution.converged(), "{name}, {n}: {:?}", solution.termination);
                let error = relative_error(&solution.x.to_vec().unwrap(), &expected);
                assert!(error < 1e-8, "{name}, {n}: {error}");
            }
        }
    }
}

#[test]
fn general_matrices_are_solved() {
    let session = Session::default();
    let mut rng = Rng::new(2);
    for n in [3, 12, 40] {
        let mut matrix = sparse(&mut rng, n, n, 20);
        (0..n).for_each(|i| matrix.values[i * n + i] += 3.0);
        let b = vector(&mut rng, n);
        let (expected, right) = (matrix.solve(&b), session.vector(b));
        let a = array(&session, &mut rng, &matrix);
        for (name, solver) in [SOLVERS[2], SOLVERS[3]] {
            let options = SolverOptions { rtol: 1e-12, ..SolverOptions::default() };
            let solution = solver(&a, &right, options).unwrap();
            assert!(solution.converged(), "{name}, {n}: {:?}", solution.termination);
            assert!(relative_error(&solution.x.to_vec().unwrap(), &expected) < 1e-8, "{name}, {n}");
        }
    }
}

/// The reported residual is that of the solution, and iterations are about as many as theory says.
#[test]
fn laplacians_converge_in_few_iterations() {
    let session = Session::default();
    let a = laplacian(&session, 30, 0.0);
    let b = session.ones([900], Prim::F64);
    for (name, solver) in SOLVERS {
        let solution = solver(&a, &b, SolverOptions { rtol: 1e-8, ..SolverOptions::default() }).unwrap();
        let residual = (&b - a.matmul(&solution.x)).square().sum(..).item::<f64>().unwrap().sqrt();
        let tolerance = if name == "minres" { 1e-3 } else { 1.01 * 1e-8 * 30.0 };
        assert!(solution.converged() && residual <= tolerance, "{name}: {residual}");
        assert!((residual - solution.residual_norm).abs() <= 1e-3 * residual + 1e-12, "{name}: {residual}");
        let limit = if name == "gmres" { 400 } else { 90 };
        assert!((20..limit).contains(&solution.iterations), "{name}: {}", solution.iterations);
    }
}

#[test]
fn convection_is_solved() {
    let session = Session::default();
    let a = laplacian(&session, 20, 0.7);
    let b = session.ones([400], Prim::F64);
    for (name, solver) in [SOLVERS[2], SOLVERS[3]] {
        let solution = solver(&a, &b, SolverOptions { rtol: 1e-10, ..SolverOptions::default() }).unwrap();
        let residual = (&b - a.matmul(&solution.x)).square().sum(..).item::<f64>().unwrap().sqrt();
        assert!(solution.converged() && residual < 2.1e-9, "{name}: {residual}");
    }
}

#[test]
fn minres_solves_indefinite_and_singular_systems() {
    let session = Session::default();
    let shifted = laplacian(&session, 10, 0.0) - session.eye(100, 100, 0, Prim::F64) * 2.5;
    let b = session.ones([100], Prim::F64);
    let solution = minres(&shifted, &b, SolverOptions { rtol: 1e-12, ..SolverOptions::default() }).unwrap();
    assert!(solution.converged());
    let residual = (&b - shifted.matmul(&solution.x)).square().sum(..).item::<f64>().unwrap().sqrt();
    assert!(residual < 1e-8, "{residual}");
    // A system without a solution: the residual is the part of `b` in the null space.
    let singular = session.dense([3, 3], [2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    let solution = minres(&singular, &session.vector([2.0, 3.0, 4.0]), SolverOptions::default()).unwrap();
    assert_eq!(solution.termination, Termination::LeastSquares);
    assert!((solution.residual_norm - 4.0).abs() < 1e-9);
    assert!(relative_error(&solution.x.to_vec::<f64>().unwrap()[..2], &[1.0, 3.0]) < 1e-9);
}

/// The tests of convergence do not depend on the scales of the matrix and the right side.
#[test]
fn minres_solves_systems_of_any_scale() {
    let session = Session::default();
    let a = session.dense([3, 3], [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0]);
    for (scale, right) in [(1.0, 1e6), (1e-6, 1.0), (1e-20, 1.0), (1.0, 1e17)] {
        let solution = minres(&(&a * scale), &session.full([3], right), SolverOptions::default()).unwrap();
        assert!(solution.converged(), "{scale}, {right}: {:?}", solution.termination);
        let expected = [1.0, 0.5, 1.0 / 3.0].map(|x| x * right / scale);
        assert!(relative_error(&solution.x.to_vec().unwrap(), &expected) < 1e-3, "{scale}, {right}");
    }
}

/// Rounding must not turn a zero on the diagonal of the projected matrix into a huge correction.
#[test]
fn gmres_does_not_divide_by_rounding_errors() {
    let session = Session::default();
    let singular = session.dense([2, 2], [1.0, 3.0, 3.0, 9.0]);
    let solution = gmres(&singular, &session.vector([1.0, 0.0]), SolverOptions::default()).unwrap();
    assert_eq!(solution.termination, Termination::Breakdown);
    assert!(solution.residual_norm < 1.0);
}

#[test]
fn zero_right_sides_and_empty_systems_need_no_iterations() {
    let session = Session::default();
    let a = laplacian(&session, 3, 0.0);
    let empty = session.dense([0, 0], Vec::<f64>::new());
    for (name, solver) in SOLVERS {
        let x0 = session.ones([9], Prim::F64);
        let options = SolverOptions { x0: Some(&x0), ..SolverOptions::default() };
        let solution = solver(&a, &session.zeros([9], Prim::F64), options).unwrap();
        assert!(solution.converged() && solution.iterations == 0, "{name}");
        assert_eq!(solution.x.to_vec::<f64>().unwrap(), [0.0; 9], "{name}");
        let solution = solver(&empty, &session.zeros([0], Prim::F64), SolverOptions::default()).unwrap();
        assert!(solution.converged() && solution.x.to_vec::<f64>().unwrap().is_empty(), "{name}");
    }
}

/// A solver that cannot continue says why and returns.
#[test]
fn unsolvable_systems_end() {
    let session = Session::default();
    let indefinite = session.dense([2, 2], [1.0, 0.0, 0.0, -1.0]);
    let b = session.vector([1.0, 1.0]);
    let solution = cg(&indefinite, &b, SolverOptions::default()).unwrap();
    assert_eq!(solution.termination, Termination::Indefinite);
    let zero = session.zeros([2, 2], Prim::F64).to_csr();
    for (name, solver) in SOLVERS {
        let solution = solver(&zero, &b, SolverOptions::default()).unwrap();
        assert!(!solution.converged(), "{name}: {:?}", solution.termination);
    }
    let nilpotent = session.dense([2, 2], [0.0, 1.0, 0.0, 0.0]);
    for solution in [
        gmres(&nilpotent, &b, SolverOptions::default()).unwrap(),
        bicgstab(&nilpotent, &b, SolverOptions::default()).unwrap(),
    ] {
        assert!(!solution.converged() && solution.iterations < 10, "{solution:?}");
    }
}

#[test]
fn limits_and_callbacks_stop_solvers() {
    let session = Session::default();
    let a = laplacian(&session, 20, 0.0);
    let b = session.ones([400], Prim::F64);
    for (name, solver) in SOLVERS {
        let options = SolverOptions { max_iterations: Some(3), ..SolverOptions::default() };
        let solution = solver(&a, &b, options).unwrap();
        assert_eq!((solution.termination, solution.iterations), (Termination::IterationLimit, 3), "{name}");
        let mut norms = Vec::new();
        let callback = |iteration: &redpoll::linalg::iterative::Iteration<'_>| {
            norms.push(iteration.residual_norm);
            if iteration.iterations == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = SolverOptions { callback: Some(Box::new(callback)), ..SolverOptions::default() };
        let solution = solver(&a, &b, options).unwrap();
        assert_eq!((solution.termination, solution.iterations), (Termination::Stopped, 5), "{name}");
        assert_eq!(norms.len(), 5, "{name}");
    }
}

/// The last iteration of a cycle of `gmres` has the solution and the norm of its residual.
#[test]
fn gmres_gives_the_solution_at_the_end_of_cycles() {
    let session = Session::default();
    let a = laplacian(&session, 8, 0.0);
    let b = session.ones([64], Prim::F64);
    let mut residuals = Vec::new();
    let callback = |iteration: &redpoll::linalg::iterative::Iteration<'_>| {
        let x = iteration.x.map(|x| session.vector(x.to_vec()));
        let norm = x.map(|x| (&b - a.matmul(&x)).norm(2.0, ..).item::<f64>().unwrap());
        residuals.push((iteration.iterations, norm, iteration.residual_norm));
        ControlFlow::Continue(())
    };
    let options =
        SolverOptions { callback: Some(Box::new(callback)), max_iterations: Some(8), ..SolverOptions::default() };
    redpoll::linalg::iterative::gmres(&a, &b, 3, options).unwrap();
    let formed: Vec<u64> = residuals.iter().filter(|(_, norm, _)| norm.is_some()).map(|(k, ..)| *k).collect();
    assert_eq!((residuals.len(), formed), (8, vec![3, 6, 8]));
    for (_, norm, estimate) in residuals {
        assert!(norm.is_none_or(|norm| (norm - estimate).abs() < 1e-12));
    }
}

/// Results have the same bits on one thread and on several.
#[test]
fn results_do_not_depend_on_threads() {
    use redpoll::kernels::run::Workers;
    use std::num::NonZero;
    use std::sync::Arc;
    let solve = |threads: usize, solver: crate::Solver| {
        let workers = Arc::new(Workers::new(NonZero::new(threads).unwrap()).without_grain());
        let session = Session::new(redpoll::Config { workers, ..redpoll::Config::default() });
        let a = laplacian(&session, 270, 0.0);
        let b = session.ones([270 * 270], Prim::F64);
        let options = SolverOptions { max_iterations: Some(12), ..SolverOptions::default() };
        solver(&a, &b, options).unwrap().x.to_vec::<f64>().unwrap()
    };
    for (name, solver) in SOLVERS {
        assert!(solve(1, solver) == solve(3, solver), "{name}");
    }
}

#[test]
fn integers_booleans_and_short_floats_are_accepted() {
    let session = Session::default();
    let values = [4.0, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 2.0];
    let wide = session.dense([3, 3], values).to_csr();
    let b = session.vector([1, 2, 3]);
    for prim in [Prim::F32, Prim::I32, Prim::I64] {
        let a = wide.astype(prim);
        for (name, solver) in SOLVERS {
            let options = SolverOptions { rtol: 1e-12, ..SolverOptions::default() };
            let x = solver(&a, &b, options).unwrap().x;
            assert_eq!(x.dtype().unwrap(), DType::F64);
            let residual = (wide.matmul(&x) - &b).abs().max(..).item::<f64>().unwrap();
            assert!(residual < 1e-9, "{name}, {prim:?}: {residual}");
        }
    }
    let flags = session.eye(3, 3, 0, Prim::Bool);
    assert!(cg(&flags, &b, SolverOptions::default()).unwrap().converged());
}
