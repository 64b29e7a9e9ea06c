//! CP decomposition of a sparse tensor of three modes by alternating least squares:
//! `T[ijk] = sum_r A[ir] B[jr] C[kr]`.
//!
//! The optional argument is the path of a tensor file. Without an argument, the example decomposes
//! the product of random factors.
#![allow(clippy::print_stdout, reason = "an example shows its results")]

use redpoll::linalg;
use redpoll::prelude::*;

const RANK: u64 = 4;

fn main() -> Result<(), Error> {
    let session = Session::default();
    let factor = |rows: u64, seed: u64| session.random([rows, RANK]).seed(seed).array();
    let tensor = match std::env::args().nth(1) {
        Some(path) => session.read(path)?.astype(Prim::F64),
        None => session.einsum("ir,jr,kr->ijk", [factor(12, 11)?, factor(10, 12)?, factor(8, 13)?]),
    };
    let tensor = tensor.reformat(Format::csf(3));
    tensor.compute()?;
    let shape = tensor.shape()?;
    let mut factors = [factor(shape[0], 1)?, factor(shape[1], 2)?, factor(shape[2], 3)?];
    let square = tensor.square().sum(..).item::<f64>()?;
    for round in 1..=15 {
        for (mode, spec) in ["ijk,jr,kr->ir", "ijk,kr,ir->jr", "ijk,ir,jr->kr"].into_iter().enumerate() {
            // The matricized tensor times the Khatri-Rao product of the other two factors, and the
            // Gram matrix of that Khatri-Rao product.
            let [b, c] = [1, 2].map(|next| &factors[(mode + next) % 3]);
            let product = session.einsum(spec, [&tensor, b, c]);
            let gram = b.t().matmul(b) * c.t().matmul(c);
            factors[mode] = product.matmul(linalg::pinv(&gram, None)?);
            factors[mode].compute()?;
        }
        // The error of the model X: |T - X|^2 = |T|^2 - 2 <T, X> + |X|^2.
        let [a, b, c] = &factors;
        let inner = session.einsum("ijk,ir,jr,kr->", [&tensor, a, b, c]).item::<f64>()?;
        let model = (a.t().matmul(a) * b.t().matmul(b) * c.t().matmul(c)).sum(..).item::<f64>()?;
        println!("round {round:>2}: fit {:.4}", 1.0 - ((square - 2.0 * inner + model).max(0.0) / square).sqrt());
    }
    Ok(())
}
