//! The stored entries of a square matrix, by rows, for factorizations that keep its structure.

use super::error::SolverError;
use super::operator::as_real;
use crate::array::Array;
use crate::error::Error;
use redpoll_logic::Prim;
use std::ops::Range;

/// A square matrix with compressed rows. The columns of each row ascend.
pub(super) struct Rows {
    /// The first entry of each row, and the number of entries at the end.
    pub(super) ptr: Vec<usize>,
    /// The column of each entry.
    pub(super) idx: Vec<u32>,
    pub(super) val: Vec<f64>,
}

impl Rows {
    /// Returns the stored entries of a square matrix.
    pub(super) fn of(function: &'static str, matrix: &Array) -> Result<Rows, Error> {
        let shape = matrix.shape()?;
        let n = match shape[..] {
            [rows, columns] if rows == columns && u32::try_from(rows).is_ok() => rows as usize,
            _ => {
                let expected = "a square matrix of at most 2^32 - 1 rows".to_owned();
                return Err(SolverError::Shape { function, expected, shape }.into());
            }
        };
        let triples = as_real(function, matrix)?.astype(Prim::F64).refill(0.0).to_csr().collect()?.to_triples()?;
        let [rows, columns] = &triples.coordinates[..] else { unreachable!("a matrix has two modes") };
        let val = triples.values.columns()[0].as_slice::<f64>().unwrap_or_default().to_vec();
        let mut ptr = vec![0; n + 1];
        rows.iter().for_each(|row| ptr[*row as usize + 1] += 1);
        for i in 0..n {
            ptr[i + 1] += ptr[i];
        }
        Ok(Rows { ptr, idx: columns.iter().map(|column| *column as u32).collect(), val })
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Returns the number of floats that take as much memory.
    pub(super) fn floats(&self) -> usize {
        self.ptr.len() + self.val.len() + self.idx.len().div_ceil(2)
    }

    /// Returns the entries of a row.
    pub(super) fn row(&self, i: usize) -> Range<usize> {
        self.ptr[i]..self.ptr[i + 1]
    }

    /// Returns the entries of the lower triangle, without the diagonal, and the diagonal. Elements
    /// of the diagonal that are not stored are 0.
    pub(super) fn lower(&self) -> (Rows, Vec<f64>) {
        self.part(|i, j| j < i)
    }

    /// Returns the entries of the upper triangle, without the diagonal, and the diagonal.
    pub(super) fn upper(&self) -> (Rows, Vec<f64>) {
        self.part(|i, j| j > i)
    }

    fn part(&self, holds: impl Fn(usize, usize) -> bool) -> (Rows, Vec<f64>) {
        let mut part = Rows { ptr: vec![0], idx: Vec::new(), val: Vec::new() };
        let mut diagonal = vec![0.0; self.len()];
        for (i, diagonal) in diagonal.iter_mut().enumerate() {
            for p in self.row(i) {
                let j = self.idx[p] as usize;
                if j == i {
                    *diagonal = self.val[p];
                } else if holds(i, j) {
                    part.idx.push(self.idx[p]);
                    part.val.push(self.val[p]);
                }
            }
            part.ptr.push(part.idx.len());
        }
        (part, diagonal)
    }

    /// Returns the columns and values of the entries of a row.
    pub(super) fn entries(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let row = self.row(i);
        self.idx[row.clone()].iter().zip(&self.val[row]).map(|(j, value)| (*j as usize, *value))
    }
}
