//! Measures how long a matrix in a file takes to open and to be multiplied by a vector.
//!
//! The argument is a folder with room for three times the matrix, whose arrays take 1 GB. The
//! program writes the matrix as `matrix.rpt`, and its arrays as `ptr.npy`, `idx.npy` and `val.npy`,
//! with which `peers/open_npz.py` measures SciPy.
#![allow(clippy::print_stdout, reason = "the binary prints a table")]

use anyhow::{Context, Result};
use redpoll::Session;
use redpoll::datasets::{ReadOptions, RecordFolder, WriteOptions, open, write};
use redpoll::logic::{DType, Format, Prim, Scalar, TensorType};
use redpoll::storage::{Array, Tensor};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Rows and columns of the matrix.
const SIZE: u64 = 1 << 20;

/// Entries of each row. The values and coordinates of all rows take 1.07 GB.
const ROW_ENTRIES: u64 = 85;

const REPEATS: usize = 9;

fn main() -> Result<()> {
    let folder: PathBuf = std::env::args().nth(1).context("expected a folder for the files")?.into();
    let path = folder.join("matrix.rpt");
    write_files(&folder, &path)?;
    let options = ReadOptions::default();
    let validated = ReadOptions { records: RecordFolder::Off, ..ReadOptions::default() };
    println!(
        "Milliseconds; medians of {REPEATS} repetitions in one process, with the file in the cache of the system.\n"
    );
    let opened = |options| {
        let open_once = || {
            open(&path, options, None)?;
            Ok(())
        };
        median(|| seconds(open_once))
    };
    println!("open, recorded           {:9.3}", 1e3 * opened(&options)?);
    println!("open, validated          {:9.1}", 1e3 * opened(&validated)?);
    println!("open and first product   {:9.1}", 1e3 * median(|| seconds(|| product(&path, 1)))?);
    let (first, ten) = (median(|| seconds(|| product(&path, 1)))?, median(|| seconds(|| product(&path, 11)))?);
    println!("each further product     {:9.1}", 1e3 * (ten - first) / 10.0);
    Ok(())
}

/// Opens the matrix and multiplies it `count` times by a vector of ones.
fn product(path: &Path, count: usize) -> Result<()> {
    let session = Session::default();
    let matrix = session.read(path)?;
    let vector = session.vector(vec![1.0; SIZE as usize]);
    let prepared = matrix.matmul(&vector).prepare()?;
    for _ in 0..count {
        prepared.run()?;
    }
    Ok(())
}

fn seconds(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

fn median(measure: impl Fn() -> Result<f64>) -> Result<f64> {
    let mut all = (0..REPEATS).map(|_| measure()).collect::<Result<Vec<f64>>>()?;
    all.sort_by(f64::total_cmp);
    Ok(all[REPEATS / 2])
}

/// Writes the matrix, and its arrays for SciPy.
fn write_files(folder: &Path, path: &Path) -> Result<()> {
    let count = SIZE * ROW_ENTRIES;
    let stride = SIZE / ROW_ENTRIES;
    // Each row is divided into equal ranges of columns, with an entry in each range.
    let column = |k: u64| (k % ROW_ENTRIES) * stride + (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % stride;
    let ptr: Vec<i32> = (0..=SIZE).map(|row| (row * ROW_ENTRIES) as i32).collect();
    let idx: Vec<u32> = (0..count).map(|k| column(k) as u32).collect();
    let val: Vec<f64> = (0..count).map(|k| (k % 1000) as f64).collect();
    let (ptr, idx, val) = (Array::from_vec(ptr), Array::from_vec(idx), Array::from_vec(val));
    for (name, prim, array) in [("ptr", Prim::I32, &ptr), ("idx", Prim::U32, &idx), ("val", Prim::F64, &val)] {
        let format = Format::dense(1);
        let ty = TensorType { shape: vec![array.len() as u64], dtype: prim.into(), fill: Scalar::zero(prim), format };
        let vector = Tensor::try_new(ty, vec![vec![]], vec![array.clone()])?;
        write(folder.join(format!("{name}.npy")), &vector, &WriteOptions::default())?;
    }
    let format = Format::csr();
    let ty = TensorType { shape: vec![SIZE; 2], dtype: DType::F64, fill: Scalar::F64(0.0), format };
    let matrix = Tensor::try_new(Arc::new(ty), vec![vec![], vec![ptr, idx]], vec![val])?;
    Ok(write(path, &matrix, &WriteOptions::default())?)
}
