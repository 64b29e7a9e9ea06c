//! Results of several threads.

use super::matrix::{Matrix, Random, matrix, stored, tensor, values};
use redpoll_linalg::sparse::{SparseCholesky, SparseLu, SparseQr, SymmetricKind};
use redpoll_linalg::{Context, Error, dense};
use redpoll_logic::Format;
use std::num::NonZero;

fn with_threads(threads: usize) -> Context {
    Context { threads: NonZero::new(threads).unwrap(), ..Context::default() }
}

/// Results have the same bits if threads take whole matrices of a stack. The error is that of the
/// first singular matrix of the stack.
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

/// Results have the same bits if threads share the work on a large matrix.
#[test]
fn large_matrices_do_not_depend_on_threads() {
    let mut random = Random(42);
    let n = 300;
    let (a, b, sparse) = (random.matrix(n, n), random.matrix(n, 1), random.sparse(n, 30));
    let mut first: Option<Vec<Vec<f64>>> = None;
    for threads in [1, 2, 5] {
        let context = with_threads(threads);
        let inverse = matrix(&dense::inv(&context, &a.tensor()).unwrap());
        a.times(&inverse).assert_close(&Matrix::identity(n), 1e-8 * (1.0 + inverse.largest()));
        let dense::Svd { u, s, vh } = dense::svd(&context, &a.tensor(), dense::SvdMode::Thin).unwrap();
        let product = matrix(&u).times(&Matrix::diagonal(n, n, &values(&s))).times(&matrix(&vh));
        product.assert_close(&a, 1e-12);
        let dense::Qr { q, r } = dense::qr(&context, &a.tensor(), dense::QrMode::Reduced).unwrap();
        matrix(&q).times(&matrix(&r)).assert_close(&a, 1e-12);
        let symmetric = Matrix::of(n, n, |i, j| sparse.at(i, j) + sparse.at(j, i));
        let dense::Eigh { vectors, .. } = dense::eigh(&context, &symmetric.tensor()).unwrap();
        matrix(&vectors).assert_orthonormal(1e-12);
        let of = |a: &Matrix| stored(&a.tensor(), &Format::csr());
        let by_lu = SparseLu::new(&context, &of(&sparse)).unwrap().solve(&context, &b.tensor()).unwrap();
        let by_qr = SparseQr::new(&context, &of(&sparse)).unwrap().solve(&context, &b.tensor()).unwrap();
        [&by_lu, &by_qr].into_iter().for_each(|x| sparse.times(&matrix(x)).assert_close(&b, 1e-11));
        let factors = SparseCholesky::new(&context, &of(&symmetric), SymmetricKind::Ldlt).unwrap();
        let by_ldlt = factors.solve(&context, &b.tensor()).unwrap();
        symmetric.times(&matrix(&by_ldlt)).assert_close(&b, 1e-9);
        let results = [&u, &s, &vh, &q, &r, &vectors, &by_lu, &by_qr, &by_ldlt].map(values);
        let results = [results.to_vec(), vec![inverse.values]].concat();
        assert!(*first.get_or_insert_with(|| results.clone()) == results, "{threads} threads change bits");
    }
}
