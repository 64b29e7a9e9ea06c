//! Results for dense matrices: well and ill conditioned, tall and wide, stacked, empty.

use super::matrix::{Matrix, Random, matrices, matrix, prim, single, stored, tensor, typed, values};
use redpoll_linalg::Context;
use redpoll_linalg::dense::*;
use redpoll_logic::{Format, Prim};
use redpoll_storage::{Array, Tensor};

/// Sizes on both sides of the block sizes of the factorizations.
const SIZES: [usize; 8] = [1, 2, 3, 7, 16, 33, 70, 150];

fn context() -> Context {
    Context::default()
}

/// Returns the Hilbert matrix, whose condition number grows exponentially.
fn hilbert(n: usize) -> Matrix {
    Matrix::of(n, n, |i, j| 1.0 / (i + j + 1) as f64)
}

#[test]
fn solutions_satisfy_their_equations() {
    let mut random = Random(1);
    for n in SIZES {
        let (a, b) = (random.matrix(n, n), random.matrix(n, 3));
        let x = matrix(&solve(&context(), &a.tensor(), &b.tensor()).unwrap());
        a.times(&x).assert_close(&b, 1e-9 * (1.0 + x.largest()));
        let inverse = matrix(&inv(&context(), &a.tensor()).unwrap());
        a.times(&inverse).assert_close(&Matrix::identity(n), 1e-9 * (1.0 + inverse.largest()));
    }
    // The residual is small even if the solution is inaccurate.
    let (a, ones) = (hilbert(12), Matrix::of(12, 1, |_, _| 1.0));
    let b = a.times(&ones);
    let x = matrix(&solve(&context(), &a.tensor(), &b.tensor()).unwrap());
    a.times(&x).assert_close(&b, 1e-13);
}

/// A right side with one mode is a vector; otherwise the modes before the last two are broadcast.
#[test]
fn right_sides_are_vectors_or_stacks() {
    let mut random = Random(2);
    let (a, b) = (random.numbers(2 * 9), random.numbers(3));
    let x = solve(&context(), &tensor(&[2, 3, 3], &a), &tensor(&[3], &b)).unwrap();
    assert_eq!(x.ty().shape, [2, 3]);
    for (k, a) in matrices(&tensor(&[2, 3, 3], &a)).iter().enumerate() {
        let x = Matrix { rows: 3, columns: 1, values: values(&x)[3 * k..3 * k + 3].to_vec() };
        a.times(&x).assert_close(&Matrix { rows: 3, columns: 1, values: b.clone() }, 1e-9);
    }
    let sides = random.numbers(4 * 3 * 2);
    let (a, b) = (tensor(&[2, 1, 3, 3], &a), tensor(&[4, 3, 2], &sides));
    let x = solve(&context(), &a, &b).unwrap();
    assert_eq!(x.ty().shape, [2, 4, 3, 2]);
    for (k, x) in matrices(&x).iter().enumerate() {
        matrices(&a)[k / 4].times(x).assert_close(&matrices(&b)[k % 4], 1e-9);
    }
}

#[test]
fn determinants_are_those_of_leibniz() {
    let mut random = Random(3);
    fn leibniz(a: &Matrix) -> f64 {
        if a.rows == 0 {
            return 1.0;
        }
        let minor = |skipped: usize| {
            Matrix::of(a.rows - 1, a.rows - 1, |i, j| a.at(i + 1, if j < skipped { j } else { j + 1 }))
        };
        (0..a.rows).map(|j| if j % 2 == 0 { 1.0 } else { -1.0 } * a.at(0, j) * leibniz(&minor(j))).sum()
    }
    for n in 0..7 {
        let a = random.matrix(n, n);
        let expected = leibniz(&a);
        let found = values(&det(&context(), &a.tensor()).unwrap())[0];
        assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{found} {expected}");
        let SlogDet { sign, log_abs_det } = slogdet(&context(), &a.tensor()).unwrap();
        let found = values(&sign)[0] * values(&log_abs_det)[0].exp();
        assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{found} {expected}");
    }
    // The logarithm does not overflow, and a singular matrix has determinant 0.
    let large = Matrix::diagonal(3, 3, &[-1e200, 1e200, 1e200]);
    let SlogDet { sign, log_abs_det } = slogdet(&context(), &large.tensor()).unwrap();
    assert_eq!((values(&sign), (values(&log_abs_det)[0] / 600.0 - 10f64.ln()).abs() < 1e-12), (vec![-1.0], true));
    let singular = Matrix::of(40, 40, |i, j| (i + j) as f64);
    for a in [Matrix::of(3, 3, |_, _| 0.0), Matrix::of(2, 2, |i, j| ((i + 1) * (j + 1)) as f64)] {
        assert_eq!(values(&det(&context(), &a.tensor()).unwrap()), [0.0]);
        let SlogDet { sign, log_abs_det } = slogdet(&context(), &a.tensor()).unwrap();
        assert_eq!((values(&sign), values(&log_abs_det)), (vec![0.0], vec![f64::NEG_INFINITY]));
    }
    assert!(values(&det(&context(), &singular.tensor()).unwrap())[0].abs() < 1e-9);
}

#[test]
fn cholesky_factors_are_triangular() {
    let mut random = Random(4);
    for n in SIZES {
        let a = random.positive_definite(n);
        let l = matrix(&cholesky(&context(), &a.tensor(), Triangle::Lower).unwrap());
        l.times(&l.transposed()).assert_close(&a, 1e-12);
        assert!((0..n).all(|i| l.at(i, i) > 0.0 && (i + 1..n).all(|j| l.at(i, j) == 0.0)));
        let u = matrix(&cholesky(&context(), &a.tensor(), Triangle::Upper).unwrap());
        u.assert_close(&l.transposed(), 1e-12);
        // The other triangle is not read.
        let half = Matrix::of(n, n, |i, j| if i < j { 7.0 } else { a.at(i, j) });
        assert_eq!(matrix(&cholesky(&context(), &half.tensor(), Triangle::Lower).unwrap()), l);
        let half = half.transposed();
        assert_eq!(matrix(&cholesky(&context(), &half.tensor(), Triangle::Upper).unwrap()), u);
    }
}

#[test]
fn qr_factors_have_the_shapes_of_their_mode() {
    let mut random = Random(5);
    for (m, n) in [(1, 1), (5, 3), (3, 5), (40, 7), (7, 40), (70, 70), (130, 33), (0, 3), (3, 0), (0, 0)] {
        let a = random.matrix(m, n);
        for (mode, columns) in [(QrMode::Reduced, m.min(n)), (QrMode::Complete, m)] {
            let Qr { q, r } = qr(&context(), &a.tensor(), mode).unwrap();
            let (q, r) = (matrix(&q), matrix(&r));
            assert_eq!((q.rows, q.columns, r.rows, r.columns), (m, columns, columns, n));
            q.times(&r).assert_close(&a, 1e-13);
            q.assert_orthonormal(1e-13);
            assert!((0..columns).all(|i| (0..n.min(i)).all(|j| r.at(i, j) == 0.0)));
        }
    }
}

#[test]
fn singular_vectors_are_orthonormal() {
    let mut random = Random(6);
    let mut cases: Vec<Matrix> = [(1, 1), (4, 4), (6, 3), (3, 6), (50, 20), (20, 50), (140, 140), (0, 3), (3, 0)]
        .map(|(m, n)| random.matrix(m, n))
        .to_vec();
    cases.extend([hilbert(20), Matrix::of(8, 8, |_, _| 1.0), Matrix::of(5, 4, |_, _| 0.0)]);
    for a in cases {
        let (m, n) = (a.rows, a.columns);
        let plain = values(&svdvals(&context(), &a.tensor()).unwrap());
        for (mode, left, right) in [(SvdMode::Thin, m.min(n), m.min(n)), (SvdMode::Full, m, n)] {
            let Svd { u, s, vh } = svd(&context(), &a.tensor(), mode).unwrap();
            let (u, s, vh) = (matrix(&u), values(&s), matrix(&vh));
            assert_eq!((u.rows, u.columns, s.len(), vh.rows, vh.columns), (m, left, m.min(n), right, n));
            assert!(s.windows(2).all(|pair| pair[0] >= pair[1]) && s.iter().all(|value| *value >= 0.0));
            u.times(&Matrix::diagonal(left, right, &s)).times(&vh).assert_close(&a, 1e-13);
            u.assert_orthonormal(1e-13);
            vh.transposed().assert_orthonormal(1e-13);
            let scale = s.first().copied().unwrap_or(1.0).max(1e-300);
            assert!(s.iter().zip(&plain).all(|(s, plain)| (s - plain).abs() <= 1e-13 * scale));
        }
    }
}

#[test]
fn eigenvectors_are_orthonormal() {
    let mut random = Random(7);
    let mut cases: Vec<Matrix> = SIZES.map(|n| random.positive_definite(n)).to_vec();
    cases.extend([hilbert(15), Matrix::identity(6), Matrix::of(4, 4, |_, _| 0.0), Matrix::of(0, 0, |_, _| 0.0)]);
    let a = random.matrix(60, 60);
    cases.push(Matrix::of(60, 60, |i, j| a.at(i, j) + a.at(j, i)));
    for a in cases {
        let n = a.rows;
        let Eigh { values: s, vectors } = eigh(&context(), &a.tensor()).unwrap();
        let (s, vectors) = (values(&s), matrix(&vectors));
        assert!(s.len() == n && s.windows(2).all(|pair| pair[0] <= pair[1]));
        vectors.assert_orthonormal(1e-12);
        a.times(&vectors).assert_close(&vectors.times(&Matrix::diagonal(n, n, &s)), 1e-12);
        let plain = values(&eigvalsh(&context(), &a.tensor()).unwrap());
        assert!(s.iter().zip(&plain).all(|(s, plain)| (s - plain).abs() <= 1e-12 * a.largest().max(1.0) * n as f64));
    }
}

/// Squares of very large or very small elements neither overflow nor underflow.
#[test]
fn elements_of_any_magnitude_have_singular_values() {
    let a = Random(9).matrix(5, 5);
    let symmetric = a.times(&a.transposed());
    let singular = values(&svdvals(&context(), &a.tensor()).unwrap());
    let eigen = values(&eigvalsh(&context(), &symmetric.tensor()).unwrap());
    for exponent in [1018, 700, -700, -1000] {
        let scale = 2f64.powi(exponent);
        let scaled = |matrix: &Matrix| Matrix::of(5, 5, |i, j| matrix.values[5 * i + j] * scale).tensor();
        let svd = svd(&context(), &scaled(&a), SvdMode::Thin).unwrap();
        for (found, expected) in values(&svd.s).iter().zip(&singular) {
            assert!((found / scale - expected).abs() < 1e-12);
        }
        for (found, expected) in values(&eigh(&context(), &scaled(&symmetric)).unwrap().values).iter().zip(&eigen) {
            assert!((found / scale - expected).abs() < 1e-12);
        }
        assert_eq!(values(&matrix_rank(&context(), &scaled(&a), None).unwrap()), [5.0]);
    }
}

/// The four conditions of Moore and Penrose define the pseudo-inverse.
#[test]
fn pseudo_inverses_satisfy_the_conditions_of_penrose() {
    let mut random = Random(8);
    let deficient = random.matrix(7, 2).times(&random.matrix(2, 5));
    for a in [random.matrix(5, 5), random.matrix(8, 3), random.matrix(3, 8), deficient, Matrix::of(4, 3, |_, _| 0.0)] {
        let p = matrix(&pinv(&context(), &a.tensor(), None).unwrap());
        let (left, right) = (a.times(&p), p.times(&a));
        left.times(&a).assert_close(&a, 1e-11);
        right.times(&p).assert_close(&p, 1e-11);
        left.assert_close(&left.transposed(), 1e-11);
        right.assert_close(&right.transposed(), 1e-11);
    }
    for (m, n) in [(0, 3), (3, 0)] {
        assert_eq!(pinv(&context(), &random.matrix(m, n).tensor(), None).unwrap().ty().shape, [n as u64, m as u64]);
    }
}

#[test]
fn ranks_count_large_singular_values() {
    let mut random = Random(9);
    let rank = |a: &Tensor, rtol| values(&matrix_rank(&context(), a, rtol).unwrap());
    for r in 0..4 {
        let a = random.matrix(9, r).times(&random.matrix(r, 6));
        assert_eq!(rank(&a.tensor(), None), [r as f64]);
    }
    let a = Matrix::diagonal(3, 3, &[1.0, 1e-3, 1e-6]);
    assert_eq!([None, Some(1e-5), Some(1e-2)].map(|rtol| rank(&a.tensor(), rtol)[0]), [3.0, 2.0, 1.0]);
    assert_eq!(rank(&tensor(&[2, 0, 3], &[]), None), [0.0, 0.0]);
    assert_eq!(prim(&matrix_rank(&context(), &a.tensor(), None).unwrap()), Prim::I64);
}

/// The residual of a least-squares solution is orthogonal to the columns of the matrix.
#[test]
fn least_squares_solutions_have_orthogonal_residuals() {
    let mut random = Random(10);
    let deficient = random.matrix(9, 2).times(&random.matrix(2, 4));
    for a in [random.matrix(9, 4), random.matrix(4, 9), random.matrix(5, 5), deficient, random.matrix(3, 0)] {
        let b = random.matrix(a.rows, 2);
        let result = lstsq(&context(), &a.tensor(), &b.tensor(), None).unwrap();
        let x = matrix(&result.x);
        let difference = a.times(&x).minus(&b);
        a.transposed().times(&difference).assert_close(&Matrix::of(a.columns, 2, |_, _| 0.0), 1e-12);
        // A solution with the smallest norm is a combination of the rows.
        let p = matrix(&pinv(&context(), &a.tensor(), None).unwrap());
        x.assert_close(&p.times(&b), 1e-11);
        let squares: Vec<f64> = (0..2).map(|j| (0..a.rows).map(|i| difference.at(i, j).powi(2)).sum()).collect();
        Matrix { rows: 1, columns: 2, values: values(&result.residuals) }
            .assert_close(&Matrix { rows: 1, columns: 2, values: squares }, 1e-12);
        assert_eq!(values(&result.rank), values(&matrix_rank(&context(), &a.tensor(), None).unwrap()));
    }
    let (a, b) = (tensor(&[2, 4, 2], &random.numbers(16)), tensor(&[4], &random.numbers(4)));
    let result = lstsq(&context(), &a, &b, None).unwrap();
    let shapes = [&result.x, &result.residuals, &result.rank, &result.singular_values].map(|t| t.ty().shape.clone());
    assert_eq!(shapes, [vec![2, 2], vec![2], vec![2], vec![2, 2]]);
}

/// `f32` stays `f32`; integers and booleans are computed as `f64`.
#[test]
fn results_have_the_dtype_of_the_numbers() {
    let mut random = Random(11);
    let a = random.positive_definite(20);
    let b = random.numbers(20);
    let of_single = single(&[20, 20], &a.values);
    let x = solve(&context(), &of_single, &single(&[20], &b)).unwrap();
    assert_eq!(prim(&x), Prim::F32);
    let x = Matrix { rows: 20, columns: 1, values: values(&x) };
    a.times(&x).assert_close(&Matrix { rows: 20, columns: 1, values: b.clone() }, 1e-4);
    assert_eq!(prim(&solve(&context(), &of_single, &tensor(&[20], &b)).unwrap()), Prim::F64);
    let Svd { u, s, vh } = svd(&context(), &of_single, SvdMode::Thin).unwrap();
    assert_eq!([&u, &s, &vh].map(prim), [Prim::F32; 3]);
    matrix(&u).times(&Matrix::diagonal(20, 20, &values(&s))).times(&matrix(&vh)).assert_close(&a, 1e-5);
    let integers = typed(&[2, 2], Array::from_vec(vec![2i32, 1, 1, 1]));
    let inverse = inv(&context(), &integers).unwrap();
    assert_eq!((prim(&inverse), values(&inverse)), (Prim::F64, vec![1.0, -1.0, -1.0, 2.0]));
    let booleans = typed(&[2, 2], Array::from_bools([false, true, true, true]));
    assert_eq!(values(&det(&context(), &booleans).unwrap()), [-1.0]);
}

/// Sparse and transposed formats give the results of dense tensors.
#[test]
fn every_format_is_accepted() {
    let mut random = Random(12);
    let a = random.sparse(9, 2).tensor();
    let expected = values(&inv(&context(), &a).unwrap());
    let transposed = Format::dense(2).permuted(&[1, 0]);
    for format in [Format::csr(), Format::csc(), Format::coo(2), Format::csf(2), Format::bcsr(2, 2), transposed] {
        assert_eq!(values(&inv(&context(), &stored(&a, &format)).unwrap()), expected);
    }
}

#[test]
fn empty_stacks_have_empty_results() {
    let empty = tensor(&[0, 3, 3], &[]);
    assert_eq!(inv(&context(), &empty).unwrap().ty().shape, [0, 3, 3]);
    assert_eq!(det(&context(), &empty).unwrap().ty().shape, [0]);
    assert_eq!(eigh(&context(), &empty).unwrap().values.ty().shape, [0, 3]);
    assert_eq!(svd(&context(), &empty, SvdMode::Full).unwrap().u.ty().shape, [0, 3, 3]);
    assert_eq!(values(&det(&context(), &tensor(&[2, 0, 0], &[])).unwrap()), [1.0, 1.0]);
    let none = tensor(&[0, 0], &[]);
    assert_eq!(solve(&context(), &none, &tensor(&[0, 4], &[])).unwrap().ty().shape, [0, 4]);
    assert_eq!(solve(&context(), &tensor(&[2, 2], &[1.0; 4]), &tensor(&[2, 0], &[])).unwrap().ty().shape, [2, 0]);
    assert_eq!(cholesky(&context(), &none, Triangle::Lower).unwrap().ty().shape, [0, 0]);
}
