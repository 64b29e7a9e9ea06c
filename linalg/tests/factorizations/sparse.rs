//! Factorizations of sparse matrices, compared with those of dense matrices.

use super::matrix::{Matrix, Random, matrix, prim, single, stored, tensor, typed, values};
use redpoll_linalg::sparse::{LogDeterminant, SparseCholesky, SparseLu, SparseQr, SymmetricKind};
use redpoll_linalg::{Context, Error, dense};
use redpoll_logic::{Format, Prim, Scalar, TensorType};
use redpoll_storage::{Array, Tensor, Values};

fn context() -> Context {
    Context::default()
}

/// Returns the Laplacian of a grid with this many points along each side.
fn laplacian(sides: &[usize]) -> Matrix {
    let n = sides.iter().product();
    let mut a = Matrix::diagonal(n, n, &vec![2.0 * sides.len() as f64; n]);
    for i in 0..n {
        let mut stride = 1;
        for side in sides {
            if (i / stride) % side + 1 < *side {
                let j = i + stride;
                (a.values[i * n + j], a.values[j * n + i]) = (-1.0, -1.0);
            }
            stride *= side;
        }
    }
    a
}

/// Returns square matrices. faer stores the factors of the sparser ones element by element, and the
/// factors of the others in blocks.
fn square_matrices(random: &mut Random) -> Vec<Matrix> {
    let mut matrices: Vec<Matrix> =
        [(1, 1), (2, 1), (5, 2), (40, 1), (60, 3), (150, 20)].map(|(n, per_row)| random.sparse(n, per_row)).to_vec();
    matrices.extend([laplacian(&[15, 14]), laplacian(&[6, 6, 6]), random.matrix(90, 90)]);
    // The diagonal is zero, so rows must be exchanged.
    matrices.push(Matrix::of(31, 31, |i, j| if (i + 1) % 31 == j { 2.0 + i as f64 } else { 0.0 }));
    matrices
}

const FORMATS: [fn() -> Format; 6] =
    [|| Format::dense(2), Format::csr, Format::csc, || Format::coo(2), || Format::csf(2), || Format::bcsr(2, 3)];

#[test]
fn lu_solutions_satisfy_their_equations() {
    let mut random = Random(31);
    for a in square_matrices(&mut random) {
        let n = a.rows;
        let b = random.matrix(n, 3);
        for format in FORMATS {
            let lu = SparseLu::new(&context(), &stored(&a.tensor(), &format())).unwrap();
            let x = matrix(&lu.solve(&context(), &b.tensor()).unwrap());
            a.times(&x).assert_close(&b, 1e-10);
            let x = matrix(&lu.solve_transposed(&context(), &b.tensor()).unwrap());
            a.transposed().times(&x).assert_close(&b, 1e-10);
            let vector = tensor(&[n as u64], &(0..n).map(|i| b.at(i, 0)).collect::<Vec<_>>());
            let x = lu.solve(&context(), &vector).unwrap();
            assert_eq!(x.ty().shape, [n as u64]);
            let x = Matrix { rows: n, columns: 1, values: values(&x) };
            a.times(&x).assert_close(&Matrix::of(n, 1, |i, _| b.at(i, 0)), 1e-10);
        }
    }
}

#[test]
fn symmetric_solutions_satisfy_their_equations() {
    let mut random = Random(32);
    let mut cases: Vec<Matrix> =
        [(1, 1), (5, 2), (40, 1), (150, 3), (150, 20)].map(|(n, per_row)| random.sparse(n, per_row)).to_vec();
    cases.extend([laplacian(&[20, 13]), laplacian(&[7, 7, 6]), random.matrix(60, 60)]);
    for case in cases {
        let n = case.rows;
        let b = random.matrix(n, 2);
        // The diagonal exceeds the sum of the other elements of its row, so no pivot is zero in any
        // order. The second half of the diagonal of the quasi-definite matrix is negative.
        let others = |i: usize| (0..n).map(|j| (case.at(i, j) + case.at(j, i)).abs()).sum::<f64>();
        let definite = Matrix::of(n, n, |i, j| if i == j { 1.0 + others(i) } else { case.at(i, j) + case.at(j, i) });
        let quasi = Matrix::of(n, n, |i, j| if i == j && i >= n / 2 { -definite.at(i, j) } else { definite.at(i, j) });
        let kinds =
            [(&definite, SymmetricKind::Cholesky), (&definite, SymmetricKind::Ldlt), (&quasi, SymmetricKind::Ldlt)];
        for (a, kind) in kinds {
            let expected = dense::slogdet(&context(), &a.tensor()).unwrap();
            let lower = Matrix::of(n, n, |i, j| if i < j { 0.0 } else { a.at(i, j) });
            for format in FORMATS {
                for stored_part in [a, &lower] {
                    let a_tensor = stored(&stored_part.tensor(), &format());
                    let factors = SparseCholesky::new(&context(), &a_tensor, kind).unwrap();
                    let x = matrix(&factors.solve(&context(), &b.tensor()).unwrap());
                    a.times(&x).assert_close(&b, 1e-9 * (1.0 + x.largest()));
                    let LogDeterminant { sign, log_abs } = factors.log_determinant();
                    assert_eq!(sign, values(&expected.sign)[0]);
                    let log = values(&expected.log_abs_det)[0];
                    assert!((log_abs - log).abs() <= 1e-9 * log.abs().max(1.0), "{log_abs} {log}");
                    assert!(factors.factor_entries() >= n as u64);
                }
            }
        }
    }
}

#[test]
fn qr_solves_least_squares() {
    let mut random = Random(33);
    let mut cases = square_matrices(&mut random);
    for (m, n, per_row) in [(7, 3, 1), (60, 20, 2), (200, 60, 3), (150, 100, 20)] {
        let square = random.sparse(m, per_row);
        cases.push(Matrix::of(m, n, |i, j| square.at(i, j)));
    }
    for a in cases {
        let b = random.matrix(a.rows, 3);
        for format in FORMATS {
            let qr = SparseQr::new(&context(), &stored(&a.tensor(), &format())).unwrap();
            let x = matrix(&qr.solve(&context(), &b.tensor()).unwrap());
            assert_eq!((x.rows, x.columns), (a.columns, 3));
            let difference = a.times(&x).minus(&b);
            a.transposed().times(&difference).assert_close(&Matrix::of(a.columns, 3, |_, _| 0.0), 1e-9);
        }
    }
}

/// Another matrix with the same coordinates uses the symbolic part again; a matrix with other
/// coordinates is an error.
#[test]
fn factorizations_are_repeated_for_the_same_pattern() {
    let mut random = Random(34);
    let a = random.sparse(50, 4);
    let other = Matrix::of(50, 50, |i, j| a.at(i, j) * (2.0 + ((i * j) % 7) as f64 / 10.0));
    let wrong = Matrix::of(50, 50, |i, j| if i == j { 1.0 } else { 0.0 });
    let b = random.matrix(50, 1);
    let symmetric = |a: &Matrix| Matrix::of(50, 50, |i, j| a.at(i, j) + a.at(j, i));
    for format in [Format::csr(), Format::csc(), Format::coo(2)] {
        let of = |a: &Matrix| stored(&a.tensor(), &format);
        let lu = SparseLu::new(&context(), &of(&a)).unwrap();
        let x = matrix(&lu.refactorize(&context(), &of(&other)).unwrap().solve(&context(), &b.tensor()).unwrap());
        other.times(&x).assert_close(&b, 1e-10);
        assert!(matches!(lu.refactorize(&context(), &of(&wrong)), Err(Error::PatternChanged { .. })));
        let qr = SparseQr::new(&context(), &of(&a)).unwrap();
        let x = matrix(&qr.refactorize(&context(), &of(&other)).unwrap().solve(&context(), &b.tensor()).unwrap());
        other.times(&x).assert_close(&b, 1e-10);
        assert!(matches!(qr.refactorize(&context(), &of(&wrong)), Err(Error::PatternChanged { .. })));
        let (a, other) = (symmetric(&a), symmetric(&other));
        let factors = SparseCholesky::new(&context(), &of(&a), SymmetricKind::Cholesky).unwrap();
        let again = factors.refactorize(&context(), &of(&other)).unwrap();
        other.times(&matrix(&again.solve(&context(), &b.tensor()).unwrap())).assert_close(&b, 1e-10);
        assert!(matches!(factors.refactorize(&context(), &of(&wrong)), Err(Error::PatternChanged { .. })));
        // The first factors are unchanged.
        a.times(&matrix(&factors.solve(&context(), &b.tensor()).unwrap())).assert_close(&b, 1e-10);
    }
    let lu = SparseLu::new(&context(), &a.tensor()).unwrap();
    assert!(matches!(lu.refactorize(&context(), &Matrix::identity(3).tensor()), Err(Error::PatternChanged { .. })));
}

/// LU factorizations report zero pivots that follow from the stored coordinates or from the values,
/// for factors that are stored element by element or in blocks. Rounding errors may hide zero
/// pivots, above all in QR factorizations.
#[test]
fn singular_matrices_are_errors() {
    let mut random = Random(35);
    let mut singular = vec![
        Matrix::of(1, 1, |_, _| 0.0),
        Matrix::of(3, 3, |i, j| if i == j && i < 2 { 1.0 } else { 0.0 }),
        Matrix::of(4, 4, |i, _| 1.0 + i as f64),
    ];
    for (n, per_row) in [(40, 1), (150, 20)] {
        let a = random.sparse(n, per_row);
        // An empty row, an empty column, and two equal rows.
        singular.push(Matrix::of(n, n, |i, j| if i == 7 { 0.0 } else { a.at(i, j) }));
        singular.push(Matrix::of(n, n, |i, j| if j == 7 { 0.0 } else { a.at(i, j) }));
        singular.push(Matrix::of(n, n, |i, j| a.at(if i == 7 { 8 } else { i }, j)));
    }
    for (k, a) in singular.iter().enumerate() {
        for format in [Format::csr(), Format::csc()] {
            let a_tensor = stored(&a.tensor(), &format);
            // Rounding may hide that two rows are equal.
            let lu = SparseLu::new(&context(), &a_tensor);
            let hidden = k > 2 && (k - 3) % 3 == 2;
            assert!(hidden || matches!(lu, Err(Error::Singular { .. })), "{k} {lu:?}");
            let qr = SparseQr::new(&context(), &a_tensor);
            assert!(qr.is_ok() || matches!(qr, Err(Error::Singular { .. })), "{k} {qr:?}");
        }
    }
}

#[test]
fn indefinite_matrices_are_errors() {
    for n in [1, 5, 60, 300] {
        let row = n / 2;
        let diagonal: Vec<f64> = (0..n).map(|i| if i == row { -1.0 } else { 3.0 }).collect();
        let a = Matrix::diagonal(n, n, &diagonal).tensor();
        let error = SparseCholesky::new(&context(), &a, SymmetricKind::Cholesky).unwrap_err();
        assert!(matches!(error, Error::NotPositiveDefinite { row: found, .. } if found == row as u64), "{error}");
    }
    let a = Matrix::of(2, 2, |i, j| if i == j { 0.0 } else { 1.0 });
    let error = SparseCholesky::new(&context(), &a.tensor(), SymmetricKind::Ldlt).unwrap_err();
    assert!(matches!(error, Error::Singular { .. }), "{error}");
}

/// The pivots of a positive definite matrix may have any magnitude.
#[test]
fn small_pivots_are_not_zero() {
    let a = Matrix::diagonal(2, 2, &[1e-200, 1e200]).tensor();
    for kind in [SymmetricKind::Cholesky, SymmetricKind::Ldlt] {
        let factors = SparseCholesky::new(&context(), &a, kind).unwrap();
        assert!(factors.log_determinant().log_abs.abs() < 1e-11);
    }
}

#[test]
fn wrong_inputs_are_errors() {
    let square = Matrix::identity(3);
    let wide = tensor(&[2, 3], &[1.0; 6]);
    for error in [
        SparseLu::new(&context(), &wide).unwrap_err(),
        SparseCholesky::new(&context(), &wide, SymmetricKind::Cholesky).unwrap_err(),
        SparseQr::new(&context(), &wide).unwrap_err(),
        SparseLu::new(&context(), &tensor(&[3], &[1.0; 3])).unwrap_err(),
        SparseQr::new(&context(), &tensor(&[1, 1, 1], &[1.0])).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Shape { .. }), "{error}");
    }
    let lu = SparseLu::new(&context(), &square.tensor()).unwrap();
    assert!(matches!(lu.solve(&context(), &tensor(&[2], &[1.0; 2])), Err(Error::Mismatch { .. })));
    assert!(matches!(lu.solve(&context(), &tensor(&[], &[1.0])), Err(Error::Shape { .. })));
    for special in [f64::NAN, f64::INFINITY] {
        let a = tensor(&[2, 2], &[1.0, 0.0, special, 1.0]);
        assert!(matches!(SparseLu::new(&context(), &a), Err(Error::NotFinite { .. })));
        assert!(matches!(SparseQr::new(&context(), &a), Err(Error::NotFinite { .. })));
        let result = SparseCholesky::new(&context(), &a, SymmetricKind::Ldlt);
        assert!(matches!(result, Err(Error::NotFinite { .. })));
    }
}

/// A matrix that does not store every element must have the fill value zero. A matrix that stores
/// every element may have any fill value.
#[test]
fn the_fill_value_is_zero() {
    let of = |format: Format| {
        let ty = TensorType { shape: vec![2, 2], dtype: Prim::F64.into(), fill: Scalar::F64(1.0), format };
        let values = Values::try_new(Prim::F64.into(), vec![Array::from_vec(vec![1.0, 2.0, 3.0, 4.0])]).unwrap();
        Tensor::from_dense(ty, &values).unwrap()
    };
    let error = SparseLu::new(&context(), &of(Format::csr())).unwrap_err();
    assert!(matches!(error, Error::FillValue { .. }), "{error}");
    let lu = SparseLu::new(&context(), &of(Format::dense(2))).unwrap();
    let x = values(&lu.solve(&context(), &tensor(&[2], &[3.0, 7.0])).unwrap());
    assert!(x.iter().all(|value| (value - 1.0).abs() < 1e-12), "{x:?}");
}

/// The first position of a list level may exceed 0, as in a slice of a larger matrix.
#[test]
fn lists_may_start_after_zero() {
    let ty = TensorType { shape: vec![2, 2], dtype: Prim::F64.into(), fill: Scalar::F64(0.0), format: Format::csr() };
    for prim in [Prim::I32, Prim::I64, Prim::U32, Prim::U64] {
        let indices = |values: [u64; 3]| Array::from_indices(prim, values.into_iter());
        let levels = vec![vec![], vec![indices([1, 2, 3]), indices([9, 1, 0])]];
        let a = Tensor::try_new(ty.clone(), levels, vec![Array::from_vec(vec![9.0, 2.0, 4.0, 7.0])]);
        let Ok(a) = a else { continue };
        let lu = SparseLu::new(&context(), &a).unwrap();
        assert_eq!(values(&lu.solve(&context(), &tensor(&[2], &[2.0, 4.0])).unwrap()), [1.0, 1.0]);
    }
}

#[test]
fn dtypes_are_promoted() {
    let mut random = Random(36);
    let a = random.sparse(30, 3);
    let lu = SparseLu::new(&context(), &stored(&single(&[30, 30], &a.values), &Format::csr())).unwrap();
    let b = random.matrix(30, 1);
    let x = lu.solve(&context(), &b.tensor()).unwrap();
    assert_eq!(prim(&x), Prim::F32);
    a.times(&matrix(&x)).assert_close(&b, 1e-5);
    let integers = stored(&typed(&[2, 2], Array::from_vec(vec![2i32, 0, 1, 1])), &Format::csc());
    let lu = SparseLu::new(&context(), &integers).unwrap();
    let x = lu.solve(&context(), &typed(&[2], Array::from_vec(vec![4i64, 3]))).unwrap();
    assert_eq!((prim(&x), values(&x)), (Prim::F64, vec![2.0, 1.0]));
    let booleans = stored(&typed(&[2, 2], Array::from_bools([true, true, false, true])), &Format::coo(2));
    let x = SparseLu::new(&context(), &booleans).unwrap().solve(&context(), &tensor(&[2], &[3.0, 1.0])).unwrap();
    assert_eq!(values(&x), [2.0, 1.0]);
}

#[test]
fn empty_matrices_have_empty_solutions() {
    let none = tensor(&[0, 0], &[]);
    for format in [Format::dense(2), Format::csr(), Format::csc()] {
        let a = stored(&none, &format);
        let lu = SparseLu::new(&context(), &a).unwrap();
        assert_eq!(lu.solve(&context(), &tensor(&[0], &[])).unwrap().ty().shape, [0]);
        let factors = SparseCholesky::new(&context(), &a, SymmetricKind::Cholesky).unwrap();
        assert_eq!(factors.solve(&context(), &tensor(&[0, 2], &[])).unwrap().ty().shape, [0, 2]);
        assert_eq!(factors.log_determinant(), LogDeterminant { sign: 1.0, log_abs: 0.0 });
        let qr = SparseQr::new(&context(), &stored(&tensor(&[3, 0], &[]), &format)).unwrap();
        assert_eq!(qr.solve(&context(), &tensor(&[3], &[1.0; 3])).unwrap().ty().shape, [0]);
    }
    let lu = SparseLu::new(&context(), &Matrix::identity(3).tensor()).unwrap();
    assert_eq!(lu.solve(&context(), &tensor(&[3, 0], &[])).unwrap().ty().shape, [3, 0]);
}

/// Workspaces and factors count against the memory limit. After a call, only the factors and the
/// results still count, and the factors of LU count nothing.
#[test]
fn the_memory_limit_is_kept() {
    let a = laplacian(&[20, 20]);
    let (n, a) = (a.rows as u64, stored(&a.tensor(), &Format::csr()));
    let b = tensor(&[n], &vec![1.0; n as usize]);
    type Factorize = fn(&Context, &Tensor, &Tensor) -> Result<(usize, Tensor), Error>;
    fn used<T>(context: &Context, factors: T) -> usize {
        let used = context.memory.used();
        drop(factors);
        used - context.memory.used()
    }
    let factorizations: [(&str, Factorize, usize); 3] = [
        (
            "lu",
            |context, a, b| {
                let factors = SparseLu::new(context, a)?;
                let x = factors.solve(context, b)?;
                Ok((used(context, factors), x))
            },
            0,
        ),
        (
            "qr",
            |context, a, b| {
                let factors = SparseQr::new(context, a)?;
                let x = factors.solve(context, b)?;
                Ok((used(context, factors), x))
            },
            400 * 8 * 8,
        ),
        (
            "cholesky",
            |context, a, b| {
                let factors = SparseCholesky::new(context, a, SymmetricKind::Cholesky)?;
                let x = factors.solve(context, b)?;
                Ok((used(context, factors), x))
            },
            400 * 8 * 5,
        ),
    ];
    for (name, factorize, least) in factorizations {
        let memory = std::sync::Arc::new(redpoll_storage::MemoryBudget::new(1 << 24));
        let limited = |memory| Context { memory, ..context() };
        let (factors, x) = factorize(&limited(memory.clone()), &a, &b).unwrap();
        assert!(factors >= least, "{name}: {factors}");
        assert_eq!(memory.used(), 400 * 8, "{name}");
        drop(x);
        assert_eq!(memory.used(), 0, "{name}");
        let peak = memory.peak();
        assert!(peak > factors + 400 * 8, "{name}: {peak}");
        for limit in [400 * 8, peak - 8] {
            let memory = std::sync::Arc::new(redpoll_storage::MemoryBudget::new(limit));
            let error = factorize(&limited(memory.clone()), &a, &b).err();
            assert!(matches!(error, Some(Error::Storage(redpoll_storage::Error::Stopped(_)))), "{name}: {error:?}");
            assert_eq!(memory.used(), 0, "{name}");
        }
    }
}
