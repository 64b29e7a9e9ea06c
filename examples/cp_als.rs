//! CP decomposition of a sparse tensor of three modes by alternating least squares:
//! `T[ijk] = sum_r A[ir] B[jr] C[kr]`.
//!
//! The optional argument is the path of a tensor file. Without an argument, the example reads a
//! file in `shared/datasets/tensors` beside the repository. If that file does not exist, the
//! example decomposes the product of random factors with `RANK` columns.
#![allow(clippy::print_stdout, reason = "an example shows its results")]

use redpoll::datasets::read;
use redpoll::logic::{Format, Prim};
use redpoll::{Array, Error, Session};
use std::path::PathBuf;

const RANK: usize = 4;
const ROUNDS: usize = 15;

fn main() -> Result<(), Error> {
    let session = Session::default();
    let mut numbers = Numbers(1);
    let tensor = tensor(&session, &mut numbers)?.reformat(Format::csf(3));
    tensor.compute()?;
    let shape = tensor.shape()?;
    let mut factors: Vec<Array> = shape.iter().map(|n| random(&session, &mut numbers, *n)).collect();
    let square = tensor.square().sum(..).get::<f64>([])?;
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
        let error = (square - 2.0 * inner.get::<f64>([])? + model.get::<f64>([])?).max(0.0).sqrt();
        let fit = 1.0 - error / square.sqrt();
        fits.push(fit);
        if round % 5 == 0 {
            println!("round {round:>2}: fit {fit:.4}");
        }
    }
    println!("the fit rose: {}", fits.last() >= fits.first());
    Ok(())
}

/// A generator of pseudo-random numbers: Knuth's linear congruential generator (MMIX).
struct Numbers(u64);

impl Numbers {
    /// Returns the next number, at least 0 and less than 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Reads the tensor from a file, or makes one of CP rank at most `RANK` if there is no file.
fn tensor(session: &Session, numbers: &mut Numbers) -> Result<Array, Error> {
    let default_path =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/datasets/tensors/aminoacid.tns.zst"));
    let path = std::env::args().nth(1).map(PathBuf::from).or_else(|| default_path.exists().then_some(default_path));
    if let Some(path) = path {
        let (tensor, _) = read(&path, &Default::default())?.into_tensor(None)?;
        let array = session.array(tensor).astype(Prim::F64);
        // Sums over the modes after the third.
        let more: Vec<i64> = (3..array.rank()? as i64).collect();
        return Ok(array.sum(&more[..]));
    }
    let [a, b, c] = [12, 10, 8].map(|n| random(session, numbers, n));
    Ok(session.einsum("ir,jr,kr->ijk", [a, b, c]))
}

fn random(session: &Session, numbers: &mut Numbers, rows: u64) -> Array {
    let values = (0..rows * RANK as u64).map(|_| numbers.next()).collect::<Vec<_>>();
    session.dense([rows, RANK as u64], values)
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
