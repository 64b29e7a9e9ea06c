//! Results of several threads.

use super::matrix::{Matrix, Random, matrix, stored, tensor, values};
use redpoll_linalg::sparse::{SparseLu, SparseQr};
use redpoll_linalg::{Context, Error, dense};
use redpoll_logic::Format;
use std::num::NonZero;

fn with_threads(threads: usize) -> Context {
    Context { threads: NonZero::new(threads).unwrap(), ..Context::default() }
}

/// Threads that take whole matrices of a stack change no bit, and the first error counts.
#[test]
fn stacks_do_not_depend_on_threads() {
    let mut random = Random(41);
    let (count, n) = (60, 30);
    let mut numbers = random.numbers(count * n * n);
    let a = tensor(&[count as u64, n as u64, n as u64], &numbers);
    let expected = values(&dense::inv(&with_threads(1), &a).unwrap());
    for threads in [2, 3, 8] {
        assert_eq!(values(&dense::inv(&with_threads(threads), &a).unwrap()), expected);
    }
    for k in [17, 31, 55] {
        numbers[k * n * n..(k + 1) * n * n].fill(0.0);
    }
    let a = tensor(&[count as u64, n as u64, n as u64], &numbers);
    for threads in [1, 4] {
        let error = dense::inv(&with_threads(threads), &a).unwrap_err();
        assert!(matches!(&error, Error::Singular { batch, .. } if *batch == [17]), "{error}");
    }
}

/// Several threads share large matrices.
#[test]
fn large_matrices_are_solved_by_several_threads() {
    let mut random = Random(42);
    let n = 300;
    let (a, b) = (random.matrix(n, n), random.matrix(n, 1));
    for threads in [1, 2, 5] {
        let context = with_threads(threads);
        let x = matrix(&dense::solve(&context, &a.tensor(), &b.tensor()).unwrap());
        a.times(&x).assert_close(&b, 1e-8 * (1.0 + x.largest()));
        let dense::Svd { u, s, vh } = dense::svd(&context, &a.tensor(), dense::SvdMode::Thin).unwrap();
        let product = matrix(&u).times(&Matrix::diagonal(n, n, &values(&s))).times(&matrix(&vh));
        product.assert_close(&a, 1e-12);
        let sparse = random.sparse(n, 12);
        let of = stored(&sparse.tensor(), &Format::csr());
        let x = matrix(&SparseLu::new(&context, &of).unwrap().solve(&context, &b.tensor()).unwrap());
        sparse.times(&x).assert_close(&b, 1e-11);
        let x = matrix(&SparseQr::new(&context, &of).unwrap().solve(&context, &b.tensor()).unwrap());
        sparse.times(&x).assert_close(&b, 1e-11);
    }
}
