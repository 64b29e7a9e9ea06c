//! Dense linear algebra for the tests.

/// A dense matrix, row-major.
#[derive(Clone, Debug)]
pub(crate) struct Dense {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) values: Vec<f64>,
}

impl Dense {
    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.columns + j]
    }

    pub(crate) fn transposed(&self) -> Dense {
        let values = (0..self.columns).flat_map(|j| (0..self.rows).map(move |i| self.at(i, j)));
        Dense { rows: self.columns, columns: self.rows, values: values.collect() }
    }

    pub(crate) fn times(&self, other: &Dense) -> Dense {
        let mut values = vec![0.0; self.rows * other.columns];
        for i in 0..self.rows {
            for k in 0..self.columns {
                for j in 0..other.columns {
                    values[i * other.columns + j] += self.at(i, k) * other.at(k, j);
                }
            }
        }
        Dense { rows: self.rows, columns: other.columns, values }
    }

    pub(crate) fn times_vector(&self, x: &[f64]) -> Vec<f64> {
        self.times(&Dense { rows: x.len(), columns: 1, values: x.to_vec() }).values
    }

    /// Solves a square system by Gaussian elimination with pivots.
    pub(crate) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let n = self.rows;
        let mut rows: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| self.at(i, j)).chain([b[i]]).collect()).collect();
        for k in 0..n {
            let pivot = (k..n).max_by(|a, b| rows[*a][k].abs().total_cmp(&rows[*b][k].abs())).unwrap();
            rows.swap(k, pivot);
            let top = rows[k].clone();
            for row in rows.iter_mut().skip(k + 1) {
                let factor = row[k] / top[k];
                row.iter_mut().zip(&top).for_each(|(x, t)| *x -= factor * t);
            }
        }
        let mut x = vec![0.0; n];
        for i in (0..n).rev() {
            let sum: f64 = (i + 1..n).map(|j| rows[i][j] * x[j]).sum();
            x[i] = (rows[i][n] - sum) / rows[i][i];
        }
        x
    }

    /// Returns the eigenvalues of a symmetric matrix, ascending, by the method of Jacobi.
    pub(crate) fn eigenvalues(&self) -> Vec<f64> {
        let n = self.rows;
        let mut a = self.clone();
        for _ in 0..30 {
            for p in 0..n {
                for q in p + 1..n {
                    if a.at(p, q).abs() < 1e-300 {
                        continue;
                    }
                    let theta = (a.at(q, q) - a.at(p, p)) / (2.0 * a.at(p, q));
                    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                    let (c, s) = (1.0 / t.hypot(1.0), t / t.hypot(1.0));
                    for k in 0..n {
                        let (x, y) = (a.at(k, p), a.at(k, q));
                        (a.values[k * n + p], a.values[k * n + q]) = (c * x - s * y, s * x + c * y);
                    }
                    for k in 0..n {
                        let (x, y) = (a.at(p, k), a.at(q, k));
                        (a.values[p * n + k], a.values[q * n + k]) = (c * x - s * y, s * x + c * y);
                    }
                }
            }
        }
        let mut values: Vec<f64> = (0..n).map(|i| a.at(i, i)).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

pub(crate) fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}
