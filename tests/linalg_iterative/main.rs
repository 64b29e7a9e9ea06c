//! Iterative linear algebra, compared with dense solutions that the tests compute themselves, and
//! with known spectra.

mod eigenvalues;
mod errors;
mod exponential;
mod least_squares;
mod lobpcg;
mod operators;
mod preconditioners;
mod reference;
mod systems;

use redpoll::linalg::iterative::{self as iterative, LinearOperator, Solution, SolverOptions};
use redpoll::prelude::*;
use redpoll_testing::rng::Rng;
use reference::Dense;

/// A solver of square systems.
type Solver = fn(&dyn LinearOperator, &Array, SolverOptions<'_>) -> Result<Solution, Error>;

/// GMRES, restarted after 20 iterations.
fn gmres(a: &dyn LinearOperator, b: &Array, options: SolverOptions<'_>) -> Result<Solution, Error> {
    iterative::gmres(a, b, 20, options)
}

/// All solvers, with their names.
const SOLVERS: [(&str, Solver); 4] =
    [("cg", iterative::cg), ("minres", iterative::minres), ("gmres", gmres), ("bicgstab", iterative::bicgstab)];

/// Draws a number between -1 and 1.
fn number(rng: &mut Rng) -> f64 {
    rng.index(20_001) as f64 / 10_000.0 - 1.0
}

/// Draws a vector.
fn vector(rng: &mut Rng, len: usize) -> Vec<f64> {
    (0..len).map(|_| number(rng)).collect()
}

/// Draws a matrix in which about `percent` percent of the elements are not zero.
fn sparse(rng: &mut Rng, rows: usize, columns: usize, percent: usize) -> Dense {
    let values = (0..rows * columns).map(|_| if rng.index(100) < percent { number(rng) } else { 0.0 });
    Dense { rows, columns, values: values.collect() }
}

/// Draws a symmetric positive definite matrix.
fn positive(rng: &mut Rng, n: usize) -> Dense {
    let half = sparse(rng, n, n, 30);
    let mut matrix = half.transposed().times(&half);
    (0..n).for_each(|i| matrix.values[i * n + i] += 1.0);
    matrix
}

/// Returns a matrix as an array, in a random format.
fn array(session: &Session, rng: &mut Rng, matrix: &Dense) -> Array {
    let dense = session.dense([matrix.rows as u64, matrix.columns as u64], matrix.values.iter().copied());
    match rng.index(5) {
        0 => dense,
        1 => dense.to_csr(),
        2 => dense.to_csc(),
        3 => dense.to_csf(),
        _ => dense.to_coo(),
    }
}

/// Returns the 5-point Laplacian of a square grid, plus a skew-symmetric matrix with elements
/// `wind` and `-wind`, which models convection.
fn laplacian(session: &Session, side: u64, wind: f64) -> Array {
    let n = side * side;
    let mut entries = Vec::new();
    for row in 0..n {
        let (i, j) = (row / side, row % side);
        entries.push(([row, row], 4.0));
        let neighbors = [
            (i > 0, -(side as i64), 0.0),
            (i + 1 < side, side as i64, 0.0),
            (j > 0, -1, -wind),
            (j + 1 < side, 1, wind),
        ];
        for (exists, step, skew) in neighbors {
            if exists {
                entries.push(([row, row.saturating_add_signed(step)], -1.0 + skew));
            }
        }
    }
    session.triples([n, n], redpoll::logic::Format::csr(), entries)
}

/// Returns the norm of the difference of two vectors, divided by the norm of the second one.
fn relative_error(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let difference: Vec<f64> = found.iter().zip(expected).map(|(a, b)| a - b).collect();
    reference::norm(&difference) / reference::norm(expected).max(f64::MIN_POSITIVE)
}
