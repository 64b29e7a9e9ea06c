//! Sparse arrays for hand-written loops, with conversion to tensors.
//!
//! Positions are `i32` and coordinates `u32`, as in redpoll's narrow layout.

use anyhow::{Result, bail};
use redpoll::datasets::{Content, Data, Values};
use redpoll_logic::text::parse_format;
use redpoll_logic::{DType, Scalar, TensorType};
use redpoll_storage::{Array, Duplicates, Tensor, Triples};

/// A matrix in CSR.
#[derive(Clone, PartialEq, Debug)]
pub struct Csr {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The first position of each row, followed by the number of entries.
    pub ptr: Vec<i32>,
    /// The column of each entry, ascending within a row.
    pub idx: Vec<u32>,
    /// The values of the entries.
    pub val: Vec<f64>,
}

/// A tensor of three modes in CSF: all levels are compressed.
#[derive(Clone, PartialEq, Debug)]
pub struct Csf3 {
    /// The sizes of the modes.
    pub shape: [usize; 3],
    /// For each level, the first position of each fiber, followed by the number of coordinates of
    /// the level.
    pub ptr: [Vec<i32>; 3],
    /// The coordinates of each level.
    pub idx: [Vec<u32>; 3],
    /// The values.
    pub val: Vec<f64>,
}

impl Csr {
    /// Creates a matrix from sorted and unique coordinates.
    pub fn from_coordinates(rows: usize, cols: usize, coordinates: &[(u32, u32)], val: Vec<f64>) -> Csr {
        let mut ptr = vec![0; rows + 1];
        for (i, _) in coordinates {
            ptr[*i as usize + 1] += 1;
        }
        for i in 0..rows {
            ptr[i + 1] += ptr[i];
        }
        Csr { rows, cols, ptr, idx: coordinates.iter().map(|(_, j)| *j).collect(), val }
    }

    /// Converts a tensor of rank 2, with values as `f64`.
    ///
    /// # Errors
    /// If the tensor has another rank, or does not fit the narrow layout.
    pub fn from_tensor(tensor: &Tensor) -> Result<Csr> {
        let [rows, cols] = tensor.ty().shape[..] else { bail!("expected a matrix, found {:?}", tensor.ty().shape) };
        let triples = tensor.to_triples()?;
        let number = |k: usize| triples.values.get(k).to_f64().unwrap_or(1.0);
        let values = redpoll_storage::Values::from((0..triples.len()).map(number).collect::<Vec<f64>>());
        let ty = real(vec![rows, cols], "csr")?;
        let triples = Triples { values, ..triples };
        let (sorted, _) = Tensor::from_triples(ty, &triples, Duplicates::Add)?;
        let [ptr, idx] = &sorted.levels()[1][..] else { bail!("expected two arrays of a sparse list") };
        let (Some(ptr), Some(idx), Some(val)) = (ptr.as_slice(), idx.as_slice(), sorted.leaf()[0].as_slice()) else {
            bail!("{rows} by {cols} does not fit 32-bit indices")
        };
        Ok(Csr { rows: rows as usize, cols: cols as usize, ptr: ptr.into(), idx: idx.into(), val: val.into() })
    }

    /// Iterates over the coordinates of the entries, row-major.
    pub fn coordinates(&self) -> impl Iterator<Item = (u32, u32)> {
        let row = |i: usize| self.ptr[i] as usize..self.ptr[i + 1] as usize;
        (0..self.rows).flat_map(move |i| self.idx[row(i)].iter().map(move |j| (i as u32, *j)))
    }

    /// Returns the undirected graph: both directions of every edge, no self-loops, values 1.
    pub fn to_undirected(&self) -> Csr {
        let mut coordinates: Vec<(u32, u32)> =
            self.coordinates().filter(|(i, j)| i != j).flat_map(|(i, j)| [(i, j), (j, i)]).collect();
        coordinates.sort_unstable();
        coordinates.dedup();
        let n = self.rows.max(self.cols);
        let val = vec![1.0; coordinates.len()];
        Csr::from_coordinates(n, n, &coordinates, val)
    }

    /// Returns the undirected graph with every edge once, from the smaller vertex to the larger
    /// one.
    pub fn to_upper_triangle(&self) -> Csr {
        let undirected = self.to_undirected();
        let coordinates: Vec<(u32, u32)> = undirected.coordinates().filter(|(i, j)| i < j).collect();
        let val = vec![1.0; coordinates.len()];
        Csr::from_coordinates(undirected.rows, undirected.cols, &coordinates, val)
    }

    /// Converts the matrix to a tensor of `f64` with fill value 0.
    ///
    /// # Errors
    /// If the arrays are invalid.
    pub fn to_tensor(&self) -> Result<Tensor> {
        let ty = real(vec![self.rows as u64, self.cols as u64], "csr")?;
        let levels = vec![vec![], vec![Array::from_vec(self.ptr.clone()), Array::from_vec(self.idx.clone())]];
        Ok(Tensor::try_new(ty, levels, vec![Array::from_vec(self.val.clone())])?)
    }

    /// Converts the coordinates of the entries to a tensor of `bool`, which stores no values: an
    /// element is true if it has an entry.
    ///
    /// # Errors
    /// If the arrays are invalid.
    pub fn to_pattern(&self) -> Result<Tensor> {
        let format = parse_format("(dense (sparse-list (pattern)))", 2)?;
        let shape = vec![self.rows as u64, self.cols as u64];
        let ty = TensorType { shape, dtype: DType::BOOL, fill: Scalar::Bool(false), format };
        let levels = vec![vec![], vec![Array::from_vec(self.ptr.clone()), Array::from_vec(self.idx.clone())]];
        Ok(Tensor::try_new(ty, levels, vec![])?)
    }
}

impl Csf3 {
    /// Creates a tensor from sorted and unique coordinates.
    pub fn from_coordinates(shape: [usize; 3], coordinates: &[[u32; 3]], val: Vec<f64>) -> Csf3 {
        let (mut ptr, mut idx) = ([vec![0], vec![], vec![]], [vec![], vec![], vec![]]);
        for (k, tuple) in coordinates.iter().enumerate() {
            let same =
                if k == 0 { 0 } else { tuple.iter().zip(&coordinates[k - 1]).take_while(|(a, b)| a == b).count() };
            for level in same..3 {
                if level < 2 {
                    ptr[level + 1].push(idx[level + 1].len() as i32);
                }
                idx[level].push(tuple[level]);
            }
        }
        for level in 0..3 {
            ptr[level].push(idx[level].len() as i32);
        }
        Csf3 { shape, ptr, idx, val }
    }

    /// Converts a sparse tensor of rank 3 with values of `f64`. The coordinates must be sorted and
    /// unique.
    ///
    /// # Errors
    /// If the content has another rank, layout or dtype.
    pub fn from_content(content: &Content) -> Result<Csf3> {
        let (&[m, n, p], Data::Triples { coordinates, values: Values::F64(val) }) = (&content.shape[..], &content.data)
        else {
            bail!("expected a sparse tensor of rank 3")
        };
        let tuple = |k: usize| [0, 1, 2].map(|mode: usize| coordinates[mode][k] as u32);
        let coordinates: Vec<[u32; 3]> = (0..val.len()).map(tuple).collect();
        Ok(Csf3::from_coordinates([m as usize, n as usize, p as usize], &coordinates, val.clone()))
    }

    /// Converts to a tensor of `f64` with fill value 0.
    ///
    /// # Errors
    /// If the arrays are invalid.
    pub fn to_tensor(&self) -> Result<Tensor> {
        let ty = real(self.shape.iter().map(|n| *n as u64).collect(), "csf")?;
        let level = |k: usize| vec![Array::from_vec(self.ptr[k].clone()), Array::from_vec(self.idx[k].clone())];
        Ok(Tensor::try_new(ty, (0..3).map(level).collect(), vec![Array::from_vec(self.val.clone())])?)
    }
}

/// Creates a dense tensor of `f64` from row-major values.
///
/// # Errors
/// If the number of values does not match the shape.
pub fn dense(shape: &[usize], values: &[f64]) -> Result<Tensor> {
    let ty = real(shape.iter().map(|n| *n as u64).collect(), "dense")?;
    Ok(Tensor::from_dense(ty, &redpoll_storage::Values::from(values.to_vec()))?)
}

fn real(shape: Vec<u64>, format: &str) -> Result<TensorType> {
    let format = parse_format(format, shape.len())?;
    Ok(TensorType { shape, dtype: DType::F64, fill: Scalar::F64(0.0), format })
}
