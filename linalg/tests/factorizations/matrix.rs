//! Plain matrices, with which tests compute expected results, and random numbers.

use redpoll_logic::{Format, Prim, Scalar, TensorType};
use redpoll_storage::{Array, Tensor, Values, convert};

/// A matrix, row by row.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) values: Vec<f64>,
}

impl Matrix {
    pub(crate) fn of(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> Matrix {
        let values = (0..rows * columns).map(|k| value(k / columns.max(1), k % columns.max(1))).collect();
        Matrix { rows, columns, values }
    }

    pub(crate) fn identity(n: usize) -> Matrix {
        Matrix::of(n, n, |i, j| if i == j { 1.0 } else { 0.0 })
    }

    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.columns + j]
    }

    pub(crate) fn transposed(&self) -> Matrix {
        Matrix::of(self.columns, self.rows, |i, j| self.at(j, i))
    }

    pub(crate) fn times(&self, other: &Matrix) -> Matrix {
        assert_eq!(self.columns, other.rows);
        Matrix::of(self.rows, other.columns, |i, j| (0..self.columns).map(|k| self.at(i, k) * other.at(k, j)).sum())
    }

    pub(crate) fn minus(&self, other: &Matrix) -> Matrix {
        assert_eq!((self.rows, self.columns), (other.rows, other.columns));
        Matrix::of(self.rows, self.columns, |i, j| self.at(i, j) - other.at(i, j))
    }

    pub(crate) fn diagonal(rows: usize, columns: usize, values: &[f64]) -> Matrix {
        Matrix::of(rows, columns, |i, j| if i == j { values[i] } else { 0.0 })
    }

    /// Returns the largest absolute value; NaN counts as infinity.
    pub(crate) fn largest(&self) -> f64 {
        let size = |value: &f64| if value.is_nan() { f64::INFINITY } else { value.abs() };
        self.values.iter().map(size).fold(0.0, f64::max)
    }

    /// Fails if the matrices differ by more than a tolerance relative to the larger of 1 and the
    /// largest element.
    #[track_caller]
    pub(crate) fn assert_close(&self, other: &Matrix, tolerance: f64) {
        let (difference, scale) = (self.minus(other).largest(), other.largest().max(1.0));
        assert!(difference <= tolerance * scale, "difference {difference:e}\n{self:?}\n{other:?}");
    }

    /// Fails if the columns are not orthonormal.
    #[track_caller]
    pub(crate) fn assert_orthonormal(&self, tolerance: f64) {
        self.transposed().times(self).assert_close(&Matrix::identity(self.columns), tolerance);
    }

    pub(crate) fn tensor(&self) -> Tensor {
        tensor(&[self.rows as u64, self.columns as u64], &self.values)
    }
}

/// Returns a dense tensor of `f64`.
pub(crate) fn tensor(shape: &[u64], values: &[f64]) -> Tensor {
    typed(shape, Array::from_vec(values.to_vec()))
}

/// Returns a dense tensor of `f32`.
pub(crate) fn single(shape: &[u64], values: &[f64]) -> Tensor {
    typed(shape, Array::from_vec(values.iter().map(|value| *value as f32).collect()))
}

/// Returns a dense tensor of the values of an array.
pub(crate) fn typed(shape: &[u64], values: Array) -> Tensor {
    let (shape, prim) = (shape.to_vec(), values.prim());
    let format = Format::dense(shape.len());
    let ty = TensorType { shape, dtype: prim.into(), fill: Scalar::zero(prim), format };
    Tensor::from_dense(ty, &Values::try_new(prim.into(), vec![values]).unwrap()).unwrap()
}

/// Returns a tensor in another format.
pub(crate) fn stored(tensor: &Tensor, format: &Format) -> Tensor {
    convert(tensor, format).unwrap()
}

/// Returns the values of a dense tensor.
pub(crate) fn values(tensor: &Tensor) -> Vec<f64> {
    assert!(tensor.ty().format.is_dense());
    let leaf = &tensor.leaf()[0];
    (0..leaf.len()).map(|k| leaf.scalar(k).to_f64().unwrap()).collect()
}

/// Returns the matrices of a dense tensor.
pub(crate) fn matrices(tensor: &Tensor) -> Vec<Matrix> {
    let shape: Vec<usize> = tensor.ty().shape.iter().map(|size| *size as usize).collect();
    let [batch @ .., rows, columns] = &shape[..] else { panic!("{shape:?} is no shape of matrices") };
    let (size, values) = (rows * columns, values(tensor));
    let matrix =
        |k: usize| Matrix { rows: *rows, columns: *columns, values: values[k * size..(k + 1) * size].to_vec() };
    (0..batch.iter().product()).map(matrix).collect()
}

pub(crate) fn matrix(tensor: &Tensor) -> Matrix {
    matrices(tensor).swap_remove(0)
}

pub(crate) fn prim(tensor: &Tensor) -> Prim {
    tensor.leaf()[0].prim()
}

/// A generator of random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn index(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// Draws a number between -1 and 1.
    pub(crate) fn number(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub(crate) fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.number()).collect()
    }

    pub(crate) fn matrix(&mut self, rows: usize, columns: usize) -> Matrix {
        Matrix { rows, columns, values: self.numbers(rows * columns) }
    }

    /// Draws a symmetric positive definite matrix whose condition number is moderate.
    pub(crate) fn positive_definite(&mut self, n: usize) -> Matrix {
        let a = self.matrix(n, n);
        let product = a.times(&a.transposed());
        Matrix::of(n, n, |i, j| product.at(i, j) + if i == j { 1.0 } else { 0.0 })
    }

    /// Draws a sparse matrix with a dominant diagonal.
    pub(crate) fn sparse(&mut self, n: usize, per_row: usize) -> Matrix {
        let mut a = Matrix::of(n, n, |_, _| 0.0);
        for i in 0..n {
            for _ in 0..per_row {
                let j = self.index(n);
                a.values[i * n + j] = self.number();
            }
            a.values[i * n + i] = per_row as f64 + self.number();
        }
        a
    }
}
