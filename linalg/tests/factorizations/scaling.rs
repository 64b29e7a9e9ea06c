//! Badly scaled matrices: rows and columns are multiplied by powers of two of any exponent. Errors
//! are measured relative to the scales of rows and columns.

use super::matrix::{Matrix, Random, matrix, single, stored, tensor, values};
use redpoll_linalg::sparse::{SparseCholesky, SparseLu, SparseQr, SymmetricKind};
use redpoll_linalg::{Context, Error, dense};
use redpoll_logic::Format;

fn context() -> Context {
    Context::default()
}

/// Draws powers of two between `2^-limit` and `2^limit`; 2^498 is about 1e150.
fn powers(random: &mut Random, count: usize, limit: i32) -> Vec<f64> {
    (0..count).map(|_| 2f64.powi(random.index(2 * limit as usize + 1) as i32 - limit)).collect()
}

fn scaled(a: &Matrix, rows: &[f64], columns: &[f64]) -> Matrix {
    Matrix::of(a.rows, a.columns, |i, j| rows[i] * a.at(i, j) * columns[j])
}

/// Returns the largest element of `b - a x` relative to the same element of `|a| |x| + |b|`.
fn backward_error(a: &Matrix, x: &Matrix, b: &Matrix) -> f64 {
    let absolute = |a: &Matrix| Matrix::of(a.rows, a.columns, |i, j| a.at(i, j).abs());
    let (difference, sizes) = (a.times(x).minus(b), absolute(a).times(&absolute(x)));
    let relative = |i, j| {
        let size = sizes.at(i, j) + b.at(i, j).abs();
        if size == 0.0 { 0.0 } else { difference.at(i, j).abs() / size }
    };
    Matrix::of(b.rows, b.columns, relative).largest()
}

/// Returns the largest norm of a column of `a - b` relative to the norm of the column of `a`.
fn column_error(a: &Matrix, b: &Matrix) -> f64 {
    let largest = |a: &Matrix, j: usize| Matrix::of(a.rows, 1, |i, _| a.at(i, j)).largest();
    let difference = a.minus(b);
    (0..a.columns).map(|j| largest(&difference, j) / largest(a, j).max(f64::MIN_POSITIVE)).fold(0.0, f64::max)
}

const SIZES: [usize; 6] = [1, 2, 5, 17, 40, 90];
const LIMITS: [i32; 3] = [10, 100, 498];

#[test]
fn dense_solutions_and_inverses() {
    let mut random = Random(51);
    for (n, limit) in SIZES.into_iter().flat_map(|n| LIMITS.map(|limit| (n, limit))) {
        let (rows, columns) = (powers(&mut random, n, limit), powers(&mut random, n, limit));
        let a = scaled(&random.matrix(n, n), &rows, &columns);
        let b = scaled(&random.matrix(n, 2), &rows, &[1.0, 1.0]);
        let x = matrix(&dense::solve(&context(), &a.tensor(), &b.tensor()).unwrap());
        let error = backward_error(&a, &x, &b);
        assert!(error < 1e-9, "{n}, {limit}: {error:e}");
        let inverse = matrix(&dense::inv(&context(), &a.tensor()).unwrap());
        let error = backward_error(&a, &inverse, &Matrix::identity(n));
        assert!(error < 1e-9, "inverse, {n}, {limit}: {error:e}");
    }
}

/// The determinant is a product whose factors and partial products may leave the range of floats.
#[test]
fn determinants_overflow_only_if_their_values_do() {
    let det = |a: &Matrix| values(&dense::det(&context(), &a.tensor()).unwrap())[0];
    let found = det(&Matrix::diagonal(4, 4, &[1e200, 1e200, 1e-200, 1e-200]));
    assert!((found - 1.0).abs() < 1e-13, "{found}");
    let found = det(&Matrix::diagonal(4, 4, &[1e-200, -1e-200, 1e200, 1e200]));
    assert!((found + 1.0).abs() < 1e-13, "{found}");
    assert_eq!(det(&Matrix::diagonal(2, 2, &[1e200, 1e200])), f64::INFINITY);
    assert_eq!(det(&Matrix::diagonal(2, 2, &[1e-200, 1e-200])), 0.0);
    let found = single(&[3, 3], &[1e30, 0.0, 0.0, 0.0, 1e30, 0.0, 0.0, 0.0, 1e-30]);
    let found = values(&dense::det(&context(), &found).unwrap())[0];
    assert!((found / 1e30 - 1.0).abs() < 1e-5, "{found}");
    let mut random = Random(52);
    for (n, limit) in SIZES.into_iter().flat_map(|n| LIMITS.map(|limit| (n, limit))) {
        let a = random.matrix(n, n);
        // The product of all scales is 1.
        let rows = powers(&mut random, n, limit);
        let columns: Vec<f64> = rows.iter().rev().map(|power| 1.0 / power).collect();
        let (plain, scaled) = (det(&a), scaled(&a, &rows, &columns));
        let found = det(&scaled);
        assert!((found - plain).abs() <= 1e-8 * plain.abs(), "{n}, {limit}: {found:e}, {plain:e}");
        let log = dense::slogdet(&context(), &scaled.tensor()).unwrap();
        assert_eq!(values(&log.sign)[0], plain.signum());
        assert!((values(&log.log_abs_det)[0] - plain.abs().ln()).abs() < 1e-8);
    }
}

/// Powers of two commute with the steps of the Cholesky factorization.
#[test]
fn cholesky_factors_have_the_scales_of_rows() {
    let mut random = Random(53);
    for (n, limit) in SIZES.into_iter().flat_map(|n| LIMITS.map(|limit| (n, limit))) {
        let (a, d) = (random.positive_definite(n), powers(&mut random, n, limit));
        let factor = |a: &Matrix| matrix(&dense::cholesky(&context(), &a.tensor(), dense::Triangle::Lower).unwrap());
        let (plain, found) = (factor(&a), factor(&scaled(&a, &d, &d)));
        let error = column_error(&plain, &Matrix::of(n, n, |i, j| found.at(i, j) / d[i]));
        assert!(error < 1e-12, "{n}, {limit}: {error:e}");
        let b = scaled(&random.matrix(n, 2), &d, &[1.0, 1.0]);
        let a = scaled(&a, &d, &d);
        for kind in [SymmetricKind::Cholesky, SymmetricKind::Ldlt] {
            let factors = SparseCholesky::new(&context(), &stored(&a.tensor(), &Format::csr()), kind).unwrap();
            let x = matrix(&factors.solve(&context(), &b.tensor()).unwrap());
            let error = backward_error(&a, &x, &b);
            assert!(error < 1e-9, "{kind:?}, {n}, {limit}: {error:e}");
        }
    }
}

/// QR factorizations are accurate relative to the norm of each column.
#[test]
fn orthogonal_factors_of_badly_scaled_columns() {
    let mut random = Random(54);
    for (n, limit) in SIZES.into_iter().flat_map(|n| LIMITS.map(|limit| (n, limit))) {
        for (m, row_limit) in [(n, 1), (n + 7, limit)] {
            let (rows, columns) = (powers(&mut random, m, row_limit), powers(&mut random, n, limit));
            let a = scaled(&random.matrix(m, n), &rows, &columns);
            let dense::Qr { q, r } = dense::qr(&context(), &a.tensor(), dense::QrMode::Reduced).unwrap();
            let (q, r) = (matrix(&q), matrix(&r));
            q.assert_orthonormal(1e-12);
            let error = column_error(&a, &q.times(&r));
            assert!(error < 1e-12, "{m}, {n}, {limit}: {error:e}");
        }
    }
    let large = Matrix::of(3, 2, |i, j| if i == j { 1.5e308 } else { 1e308 });
    let q = matrix(&dense::qr(&context(), &large.tensor(), dense::QrMode::Reduced).unwrap().q);
    q.assert_orthonormal(1e-14);
}

/// A sparse LU factorization reports neither small nor large pivots as zero. The elements of a
/// scaled sparse matrix still differ, so that some pivots are small.
#[test]
fn sparse_solutions() {
    let mut random = Random(55);
    for (n, limit) in SIZES.into_iter().flat_map(|n| LIMITS.map(|limit| (n, limit))) {
        for per_row in [1, 3, 20] {
            let (rows, columns) = (powers(&mut random, n, limit), powers(&mut random, n, limit));
            let a = scaled(&random.sparse(n, per_row), &rows, &columns);
            let b = scaled(&random.matrix(n, 2), &rows, &[1.0, 1.0]);
            let transposed = scaled(&random.matrix(n, 2), &columns, &[1.0, 1.0]);
            for format in [Format::csr(), Format::csc()] {
                let lu = SparseLu::new(&context(), &stored(&a.tensor(), &format)).unwrap();
                let x = matrix(&lu.solve(&context(), &b.tensor()).unwrap());
                let error = backward_error(&a, &x, &b);
                assert!(error < 1e-7, "{n}, {limit}, {per_row}: {error:e}");
                let x = matrix(&lu.solve_transposed(&context(), &transposed.tensor()).unwrap());
                let error = backward_error(&a.transposed(), &x, &transposed);
                assert!(error < 1e-7, "transposed, {n}, {limit}, {per_row}: {error:e}");
            }
        }
    }
}

/// Tiny elements among those of usual size have no influence on the scales.
#[test]
fn sparse_solutions_with_tiny_elements() {
    let mut random = Random(59);
    for n in SIZES {
        let mut a = random.sparse(n, 4);
        for k in (0..n).filter(|k| k % 3 == 0) {
            // The diagonal stays, so the matrix stays regular.
            let place = random.index(n * n);
            if place / n != place % n {
                a.values[place] = 1e-70 * random.number();
            }
            a.values[k * n + k] *= 1e-12;
        }
        let b = Matrix::of(n, 1, |_, _| 1.0);
        for format in [Format::csr(), Format::csc()] {
            let lu = SparseLu::new(&context(), &stored(&a.tensor(), &format)).unwrap();
            let error = backward_error(&a, &matrix(&lu.solve(&context(), &b.tensor()).unwrap()), &b);
            assert!(error < 1e-9, "{n}: {error:e}");
        }
    }
}

#[test]
fn sparse_factors_of_diagonal_matrices() {
    for diagonal in [[1e-200, 1e200], [1e300, 1e-300], [5e-324, 1.7e308], [1.7e308, 1.7e308], [1e-310, 1e-310]] {
        let a = stored(&Matrix::diagonal(2, 2, &diagonal).tensor(), &Format::csr());
        let b = tensor(&[2], &diagonal.map(|d| 0.5 * d));
        let lu = SparseLu::new(&context(), &a).unwrap();
        let qr = SparseQr::new(&context(), &a).unwrap();
        for x in [lu.solve(&context(), &b), lu.solve_transposed(&context(), &b), qr.solve(&context(), &b)] {
            let x = values(&x.unwrap());
            let expected = diagonal.map(|d| 0.5 * d / d);
            assert!(x.iter().zip(expected).all(|(x, e)| (x - e).abs() < 1e-12), "{diagonal:?}: {x:?}");
        }
    }
    let single_precision = single(&[2, 2], &[1e-30, 0.0, 0.0, 1e30]);
    let lu = SparseLu::new(&context(), &stored(&single_precision, &Format::csc())).unwrap();
    let x = values(&lu.solve(&context(), &single(&[2], &[1e-30, 1e30])).unwrap());
    assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-6), "{x:?}");
    // The elements of the inverse grow beyond the range of floats, but no pivot is zero.
    let n = 1100;
    let growing = Matrix::of(n, n, |i, j| {
        if i == j {
            1.0
        } else if j < i {
            -1.0
        } else {
            0.0
        }
    });
    assert!(SparseLu::new(&context(), &stored(&growing.tensor(), &Format::csc())).is_ok());
    let singular = Matrix::of(2, 2, |i, j| [[1e-200, 1e100], [1e-200, 1e100]][i][j]);
    let error = SparseLu::new(&context(), &stored(&singular.tensor(), &Format::csr())).unwrap_err();
    assert!(matches!(error, Error::Singular { .. }), "{error}");
}

/// The residuals of sparse least-squares solutions are orthogonal to the columns, relative to the
/// norms of the columns.
#[test]
fn sparse_least_squares() {
    let mut random = Random(56);
    for (n, limit) in SIZES.into_iter().flat_map(|n| LIMITS.map(|limit| (n, limit))) {
        let columns = powers(&mut random, n, limit);
        let square = random.sparse(n + 5, 3);
        let plain = Matrix::of(n + 5, n, |i, j| square.at(i, j));
        let b = random.matrix(n + 5, 1);
        let a = scaled(&plain, &vec![1.0; n + 5], &columns);
        let qr = SparseQr::new(&context(), &stored(&a.tensor(), &Format::csc())).unwrap();
        let x = matrix(&qr.solve(&context(), &b.tensor()).unwrap());
        let x = Matrix::of(n, 1, |i, _| x.at(i, 0) * columns[i]);
        let gradient = plain.transposed().times(&plain.times(&x).minus(&b));
        assert!(gradient.largest() < 1e-9, "{n}, {limit}: {:e}", gradient.largest());
    }
}

/// Least squares, pseudo-inverses and ranks do not depend on the scale of the whole matrix, even if
/// singular values overflow.
#[test]
fn singular_values_of_any_scale() {
    let mut random = Random(57);
    let plain = random.matrix(7, 4);
    let sides = random.matrix(7, 2);
    let expected = dense::lstsq(&context(), &plain.tensor(), &sides.tensor(), None).unwrap();
    let (x, residuals) = (matrix(&expected.x), values(&expected.residuals));
    let inverse = matrix(&dense::pinv(&context(), &plain.tensor(), None).unwrap());
    for (of_a, of_b) in [(1020, 1020), (1020, 3), (-1000, -1000), (700, -200), (-500, 500), (0, 1020)] {
        let times = |a: &Matrix, power: i32| {
            let (half, rest) = (2f64.powi(power / 2), 2f64.powi(power - power / 2));
            Matrix::of(a.rows, a.columns, |i, j| a.at(i, j) * half * rest)
        };
        let (a, b) = (times(&plain, of_a), times(&sides, of_b));
        let found = dense::lstsq(&context(), &a.tensor(), &b.tensor(), None).unwrap();
        assert_eq!(values(&found.rank), [4.0]);
        let error = column_error(&x, &times(&matrix(&found.x), of_a - of_b));
        assert!(error < 1e-12, "{of_a}, {of_b}: {error:e}");
        if of_b < 100 {
            let found = times(&Matrix { rows: 1, columns: 2, values: values(&found.residuals) }, -2 * of_b);
            let representable = of_b.abs() < 100;
            assert!(!representable || (found.at(0, 0) - residuals[0]).abs() < 1e-12, "{of_a}, {of_b}");
        }
        let found = times(&matrix(&dense::pinv(&context(), &a.tensor(), None).unwrap()), of_a);
        assert!(column_error(&inverse, &found) < 1e-12, "{of_a}");
    }
    for n in [2, 5, 40] {
        let a = Matrix::of(n, n, |_, _| 1.7e308);
        let found = matrix(&dense::pinv(&context(), &a.tensor(), None).unwrap());
        let expected = 1.0 / 1.7e308 / (n * n) as f64;
        assert!(found.values.iter().all(|value| (value / expected - 1.0).abs() < 1e-9), "{found:?}");
        assert_eq!(values(&dense::matrix_rank(&context(), &a.tensor(), None).unwrap()), [1.0]);
        let found = dense::lstsq(&context(), &a.tensor(), &tensor(&[n as u64], &vec![1e300; n]), None).unwrap();
        assert!(values(&found.x).iter().all(|x| (x * 1.7e8 * n as f64 - 1.0).abs() < 1e-9), "{:?}", values(&found.x));
        let s = values(&dense::svdvals(&context(), &a.tensor()).unwrap());
        assert!(s[0] == f64::INFINITY && s[1..].iter().all(|s| *s < 1e296), "{s:?}");
    }
}

/// Least squares with badly scaled rows and columns: the residual is small relative to the norm of
/// the whole matrix, as singular values are.
#[test]
fn dense_least_squares() {
    let mut random = Random(58);
    for (n, limit) in SIZES.into_iter().flat_map(|n| LIMITS.map(|limit| (n, limit))) {
        let (rows, columns) = (powers(&mut random, n + 3, limit), powers(&mut random, n, limit));
        let a = scaled(&random.matrix(n + 3, n), &rows, &columns);
        let b = scaled(&random.matrix(n + 3, 1), &rows, &[1.0]);
        let found = dense::lstsq(&context(), &a.tensor(), &b.tensor(), None).unwrap();
        let x = matrix(&found.x);
        let (a_size, b_size) = (a.largest(), b.largest());
        let unit_a = Matrix::of(a.rows, a.columns, |i, j| a.at(i, j) / a_size);
        let unit_b = Matrix::of(b.rows, 1, |i, _| b.at(i, 0) / b_size);
        let unit_x = Matrix::of(n, 1, |i, _| x.at(i, 0) / b_size * a_size);
        let gradient = unit_a.transposed().times(&unit_a.times(&unit_x).minus(&unit_b)).largest();
        assert!(gradient <= 1e-11 * (1.0 + unit_x.largest()), "{n}, {limit}: {gradient:e}");
    }
}

/// Elements above the diagonal have no influence on the scale.
#[test]
fn eigenvalues_depend_on_the_lower_triangle_alone() {
    for [above, below] in [[1e308, 1e-10], [1e-300, 1e300], [1e308, 1e-300]] {
        let a = Matrix::of(3, 3, |i, j| if i < j { above } else { below });
        let symmetric = Matrix::of(3, 3, |_, _| below);
        let of = |a: &Matrix| dense::eigh(&context(), &a.tensor()).unwrap();
        let (found, expected) = (of(&a), of(&symmetric));
        assert_eq!(values(&found.values), values(&expected.values), "{above:e}, {below:e}");
        assert!((values(&found.values)[2] / below - 3.0).abs() < 1e-12);
        assert_eq!(values(&found.vectors), values(&expected.vectors));
        assert_eq!(values(&dense::eigvalsh(&context(), &a.tensor()).unwrap()).len(), 3);
    }
}
