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

/// A tolerance that no residual meets ends a solver at the smallest residual that it can tell from
/// zero, not with an error.
#[test]
fn tiny_tolerances_are_met() {
    let session = Session::default();
    let a = laplacian(&session, 5, 0.0);
    let b = session.ones([25], Prim::F64);
    for rtol in [1e-300, 0.0] {
        let options = || SolverOptions { rtol, max_iterations: Some(100_000), ..SolverOptions::default() };
        let solution = cg(&a, &b, options()).unwrap();
        assert!(solution.converged(), "{:?}", solution.termination);
        for (name, solver) in SOLVERS {
            let solution = solver(&a, &b, options()).unwrap();
            assert!(solution.termination != Termination::Indefinite, "{name}: {:?}", solution.termination);
            let residual = (&b - a.matmul(&solution.x)).abs().max(..).item::<f64>().unwrap();
            assert!(residual < 1e-13, "{name}: {residual}");
        }
    }
}

/// The scale of the right side has no influence, even if its square leaves the range of floats.
#[test]
fn right_sides_of_any_scale_are_solved() {
    let session = Session::default();
    let a = laplacian(&session, 5, 0.0);
    let ones = session.ones([25], Prim::F64);
    for (name, solver) in SOLVERS {
        let expected = solver(&a, &ones, SolverOptions { rtol: 1e-10, ..SolverOptions::default() }).unwrap();
        for exponent in [-950, -600, 600, 1015] {
            let scale = 2f64.powi(exponent);
            let (b, x0) = (&ones * scale, &ones * (scale * 0.5));
            let mut last = f64::NAN;
            let callback = |iteration: &redpoll::linalg::iterative::Iteration<'_>| {
                last = iteration.x.map_or(last, |x| x[0]);
                ControlFlow::Continue(())
            };
            let callback: redpoll::linalg::iterative::Callback<'_> = Box::new(callback);
            let options = SolverOptions { rtol: 1e-10, callback: Some(callback), ..SolverOptions::default() };
            let solution = solver(&a, &b, options).unwrap();
            assert_eq!(solution.termination, Termination::Converged, "{name}, {exponent}");
            let x = (&solution.x / scale).to_vec::<f64>().unwrap();
            assert!(x == expected.x.to_vec::<f64>().unwrap(), "{name}, {exponent}");
            assert_eq!(solution.residual_norm / scale, expected.residual_norm, "{name}, {exponent}");
            assert_eq!(last / scale, x[0], "{name}, {exponent}");
            let options = SolverOptions { rtol: 1e-10, x0: Some(&x0), ..SolverOptions::default() };
            assert!(solver(&a, &b, options).unwrap().converged(), "{name}, {exponent}");
        }
    }
}

/// Recurrences that overflow break down: no error, and the solution is the best iterate.
#[test]
fn bicgstab_returns_its_best_iterate() {
    let session = Session::default();
    // Any first step is orthogonal to the first residual, up to rounding.
    for skew in [0.0, 1e-16, 1e-30, 1e-100, 1e-200, 1e-300] {
        let a = session.dense([2, 2], [skew, 1.0, -1.0, skew]);
        for b in [session.vector([1.0, 0.0]), session.vector([1.0, 3.0])] {
            let solution = bicgstab(&a, &b, SolverOptions::default()).unwrap();
            let x = solution.x.to_vec::<f64>().unwrap();
            assert!(x.iter().all(|x| x.is_finite()), "{skew}: {x:?}");
            let norm = (&b - a.matmul(&solution.x)).norm(2.0, ..).item::<f64>().unwrap();
            let of_b = b.norm(2.0, ..).item::<f64>().unwrap();
            assert!(norm <= of_b * (1.0 + 1e-12), "{skew}: {norm}, {:?}", solution.termination);
            assert!((solution.residual_norm - norm).abs() <= 1e-12 * of_b, "{skew}: {norm}");
        }
    }
    // An overflow after some iterations.
    let n = 60;
    let entries = (0..n).flat_map(|i| [([i, (i + 1) % n], 1.0), ([i, (i + 2) % n], 1e120)]);
    let a = session.triples([n, n], redpoll::logic::Format::csr(), entries);
    let b = session.vector((0..n).map(|i| 1.0 + i as f64));
    let solution = bicgstab(&a, &b, SolverOptions::default()).unwrap();
    assert!(solution.residual_norm <= b.norm(2.0, ..).item::<f64>().unwrap(), "{solution:?}");
}

/// A preconditioner that maps all vectors to zero is no error, and leaves the first guess.
#[test]
fn zero_preconditioners_end_solvers() {
    let session = Session::default();
    let a = laplacian(&session, 4, 0.0);
    let (b, x0) = (session.ones([16], Prim::F64), session.full([16], 0.25));
    let zero = session.zeros([16, 16], Prim::F64).to_csr();
    for (name, solver) in SOLVERS {
        let options = SolverOptions { preconditioner: Some(&zero), x0: Some(&x0), ..SolverOptions::default() };
        let solution = solver(&a, &b, options).unwrap();
        let expected = if ["cg", "minres"].contains(&name) { Termination::Indefinite } else { Termination::Breakdown };
        assert_eq!(solution.termination, expected, "{name}");
        assert_eq!(solution.x.to_vec::<f64>().unwrap(), [0.25; 16], "{name}");
        let norm = (&b - a.matmul(&x0)).norm(2.0, ..).item::<f64>().unwrap();
        assert!((solution.residual_norm - norm).abs() < 1e-12, "{name}: {}", solution.residual_norm);
    }
}

/// The default limits of iterations are those of SciPy.
#[test]
fn default_limits_are_multiples_of_the_rows() {
    let session = Session::default();
    // Each product is a new direction, so no solver converges.
    let hilbert = session.dense([8, 8], (0..64).map(|k| 1.0 / f64::from(k / 8 + k % 8 + 1)));
    let b = session.vector((0..8).map(|i| f64::from(i * i % 5) - 1.5));
    let shift = session.dense([8, 8], (0..64).map(|k| f64::from(u8::from((k / 8 + 1) % 8 == k % 8))));
    let solution = minres(&(&hilbert * 1e-3), &b, SolverOptions { rtol: 0.0, ..SolverOptions::default() }).unwrap();
    assert!(solution.iterations <= 40, "{}", solution.iterations);
    let gmres = |b: &Array| iterative_gmres(&shift, b, 2);
    let solution = gmres(&session.vector((0..8).map(|i| f64::from(u8::from(i == 0)))));
    assert_eq!((solution.iterations, solution.termination), (80, Termination::IterationLimit));
}

fn iterative_gmres(a: &Array, b: &Array, restart: u64) -> redpoll::linalg::iterative::Solution {
    redpoll::linalg::iterative::gmres(a, b, restart, SolverOptions::default()).unwrap()
}
