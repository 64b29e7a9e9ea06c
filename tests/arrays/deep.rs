//! Expressions that loops build, thousands of nodes deep.

use redpoll::prelude::*;

/// Number of rounds of each loop.
const ROUNDS: usize = 3000;

/// Compares a chain of elementwise operations on a vector with a plain loop, over dense and sparse
/// operands. Also draws the expression and explains its plan.
#[test]
fn elementwise_chains() {
    let session = Session::default();
    let (x, b) = ([1.0, 0.0, -3.0, 0.5], [0.25, 0.0, 0.5, -1.0]);
    for format in [Format::dense(1), Format::csf(1)] {
        let [mut lazy, step] = [x, b].map(|values| session.vector(values).reformat(format.clone()));
        let mut expected = x;
        for _ in 0..ROUNDS {
            lazy = &lazy * 0.5 + &step;
            expected.iter_mut().zip(b).for_each(|(x, b)| *x = *x * 0.5 + b);
        }
        assert_eq!(lazy.to_vec::<f64>().unwrap(), expected);
        assert!(lazy.to_dot().unwrap().lines().count() > ROUNDS);
        assert!(lazy.explain().unwrap().to_string().contains("part1"));
    }
}

/// Compares a chain of products of a matrix and a vector with a plain loop.
#[test]
fn chains_of_products() {
    let session = Session::default();
    let matrix = session.triples([3, 3], Format::csr(), [([0, 1], 1.0), ([1, 2], 1.0), ([2, 0], 1.0), ([2, 2], 1.0)]);
    let mut lazy = session.vector([1.0, 2.0, 4.0]);
    let mut expected = [1.0, 2.0, 4.0];
    for _ in 0..ROUNDS {
        lazy = matrix.matmul(&lazy) * 0.5;
        let [x, y, z] = expected;
        expected = [y * 0.5, z * 0.5, (x + z) * 0.5];
    }
    assert_eq!(lazy.to_vec::<f64>().unwrap(), expected);
}

/// Compares the gradient of a chain with its closed form, from the chain and from an array that was
/// computed in the middle of the chain.
#[test]
fn gradients_of_chains() {
    let session = Session::default();
    let x = session.vector([1.0, -2.0]);
    let mut lazy = x.clone();
    for round in 0..ROUNDS {
        lazy = &lazy * if round % 2 == 0 { 2.0 } else { 0.5 };
        if round == ROUNDS / 2 {
            lazy.compute().unwrap();
        }
    }
    let [gradient] = session.grad(&lazy.square().sum(..), [&x]);
    assert_eq!(gradient.to_vec::<f64>().unwrap(), [2.0, -4.0]);
}

/// Checks that a deep expression above an outer product, whose places are far more than its entries
/// can be, is read through the mask of a sparse matrix.
#[test]
fn masked_outer_products() {
    let session = Session::default();
    let n = 1 << 20;
    let mask = session.triples([n, n], Format::csr(), [([3, 5], 1.0), ([n - 1, 0], 1.0)]);
    let (u, v) = (session.arange(0.0, n as f64, 1.0), session.arange(0.0, n as f64, 1.0));
    let mut product = u.outer(&v);
    for _ in 0..300 {
        product = product + 1.0;
    }
    let total = (product * mask).sum(..);
    assert_eq!(total.item::<f64>().unwrap(), 15.0 + 600.0);
}
