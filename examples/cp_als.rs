//! CP decomposition of a sparse tensor of three modes by alternating least squares:
//! `T[ijk] = sum_r A[ir] B[jr] C[kr]`.
//!
//! The optional argument is the path of a tensor file. Without an argument, the example reads a
//! file in `shared/datasets/tensors` beside the repository. If that file does not exist, the
//! example decomposes the product of random factors with `RANK` columns.
#![allow(clippy::print_stdout, reason = "an example shows its results")]

use redpoll::prelude::*;
use std::path::PathBuf;

const RANK: usize = 4;
const ROUNDS: usize = 15;

fn main() -> Result<(), Error> {
    let session = Session::default();
    let tensor = tensor(&session)?.reformat(Format::csf(3));
    tensor.compute()?;
    let shape = tensor.shape()?;
    let mut factors = Vec::new();
    for (seed, rows) in (1..).zip(&shape) {
        factors.push(factor(&session, *rows, seed)?);
    }
    let square = tensor.square().sum(..).item::<f64>()?;
    println!("tensor of shape {shape:?}, squared norm {square:.3}");

    let mut fits = Vec::new();
    for round in 1..=ROUNDS {
        for mode in 0..3 {
            let [p, q] = [(mode + 1) % 3, (mode + 2) % 3];
            let (b, c) = (&factors[p], &factors[q]);
            // The matricized tensor times the Khatri-Rao product of the other two factors, and the
            // Gram matrix of that Khatri-Rao product.
            let spec = ["ijk,jr,kr->ir", "ijk,kr,ir->jr", "ijk,ir,jr->kr"][mode];
            let product = session.einsum(spec, [&tensor, b, c]).to_vec::<f64>()?;
            let gram = (b.t().matmul(b) * c.t().matmul(c)).to_vec::<f64>()?;
            factors[mode] = session.dense([shape[mode], RANK as u64], solve(&gram, product));
        }
        // The error of the model X: |T - X|^2 = |T|^2 - 2 <T, X> + |X|^2.
        let [a, b, c] = &factors[..] else { unreachable!("three modes") };
        let inner = session.einsum("ijk,ir,jr,kr->", [&tensor, a, b, c]);
        let model = (a.t().matmul(a) * b.t().matmul(b) * c.t().matmul(c)).sum(..);
        let error = (square - 2.0 * inner.item::<f64>()? + model.item::<f64>()?).max(0.0).sqrt();
        let fit = 1.0 - error / square.sqrt();
        fits.push(fit);
        if round % 5 == 0 {
            println!("round {round:>2}: fit {fit:.4}");
        }
    }
    println!("the fit rose: {}", fits.last() >= fits.first());
    Ok(())
}

/// Reads the tensor from a file, or makes one of CP rank at most `RANK` if there is no file.
fn tensor(session: &Session) -> Result<Array, Error> {
    let default_path =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/datasets/tensors/aminoacid.tns.zst"));
    let path = std::env::args().nth(1).map(PathBuf::from).or_else(|| default_path.exists().then_some(default_path));
    if let Some(path) = path {
        let array = session.read(path)?.astype(Prim::F64);
        // Sums over the modes after the third.
        let more: Vec<i64> = (3..array.rank()? as i64).collect();
        return Ok(array.sum(&more[..]));
    }
    let [a, b, c] = [factor(session, 12, 11)?, factor(session, 10, 12)?, factor(session, 8, 13)?];
    Ok(session.einsum("ir,jr,kr->ijk", [a, b, c]))
}

/// Returns a random factor.
fn factor(session: &Session, rows: u64, seed: u64) -> Result<Array, Error> {
    session.random([rows, RANK as u64]).seed(seed).array()
}

/// Solves `X gram = product` for X by Gauss-Jordan elimination. A small constant is added to the
/// diagonal of `gram`, so that a singular matrix does not cause a division by 0.
fn solve(gram: &[f64], mut product: Vec<f64>) -> Vec<f64> {
    let mut m = gram.to_vec();
    for i in 0..RANK {
        m[i * RANK + i] += 1e-9;
    }
    let rows = product.len() / RANK;
    for i in 0..RANK {
        for k in (0..RANK).filter(|k| *k != i) {
            let factor = m[k * RANK + i] / m[i * RANK + i];
            (0..RANK).for_each(|c| m[k * RANK + c] -= factor * m[i * RANK + c]);
            (0..rows).for_each(|row| product[row * RANK + k] -= factor * product[row * RANK + i]);
        }
    }
    (0..rows * RANK).for_each(|at| product[at] /= m[at % RANK * (RANK + 1)]);
    product
}
