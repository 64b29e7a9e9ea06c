//! Sparse linear algebra: products and residuals.

use super::matrices::{describe, entry_count, require, square};
use crate::data::{dense, generate_content};
use crate::workload::{DataSize, MakeOutcome, Suite, Workload, WorkloadInput, WorkloadProblem};
use anyhow::Result;
use redpoll::datasets::Content;
use redpoll::datasets::generate::{Amount, Uniform};

const REAL: &str = "bundle1";

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        suite: Suite::Linear,
        name: "spmv",
        equation: "y_i = sum_j A_ij x_j",
        data: &["uniform", "rmat", "banded", "blocks", "grid", REAL, "band level"],
        make: spmv,
    },
    Workload {
        suite: Suite::Linear,
        name: "spmm",
        equation: "Y_ir = sum_j A_ij X_jr, 32 columns",
        data: &["uniform", "rmat", REAL],
        make: spmm,
    },
    Workload {
        suite: Suite::Linear,
        name: "spgemm",
        equation: "C_ij = sum_k A_ik B_kj",
        data: &["uniform", "rmat", "grid", REAL],
        make: spgemm,
    },
    Workload {
        suite: Suite::Linear,
        name: "residual",
        equation: "r_i = b_i - sum_j A_ij x_j",
        data: &["uniform", "grid"],
        make: residual,
    },
    Workload {
        suite: Suite::Linear,
        name: "mattransmul",
        equation: "y_j = 2 sum_i A_ij x_i + 3 z_j",
        data: &["uniform", "rmat"],
        make: mattransmul,
    },
];

fn spmv(data: &str, size: DataSize) -> Result<MakeOutcome> {
    if data == "band level" {
        return spmv_problem(data, square("banded", entry_count(size), 1), "(dense (band (element)))");
    }
    spmv_problem(data, square(data, entry_count(size), 1), "csr")
}

/// Returns the problem of SpMV with a matrix in the given format.
pub(super) fn spmv_problem(
    data: &str,
    matrix: Result<Result<Content, MakeOutcome>>,
    format: &str,
) -> Result<MakeOutcome> {
    let a = WorkloadInput::new("A", require!(matrix), format)?;
    let (description, stored, shape) = (describe(data, &a.content), a.entries(), a.content.shape.clone());
    let x = WorkloadInput::new("x", dense(&shape[1..], 2), "dense")?;
    WorkloadProblem::plan(
        description,
        vec![a, x],
        1,
        "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces y))",
    )
    .work(12.0 * stored + 12.0 * shape[0] as f64 + 8.0 * shape[1] as f64, 2.0 * stored)
    .into_outcome()
}

fn spmm(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let columns = size.pick(32, 32, 3);
    let a = WorkloadInput::new("A", require!(square(data, entry_count(size) / 4, 3)), "csr")?;
    let (description, stored, shape) = (describe(data, &a.content), a.entries(), a.content.shape.clone());
    let x = WorkloadInput::new("X", dense(&[shape[1], columns], 4), "dense")?;
    let dense = 8.0 * (columns * (shape[0] + shape[1])) as f64;
    WorkloadProblem::plan(
        description,
        vec![a, x],
        1,
        "(plan (query Y (reformat dense (aggregate + 0 (mapjoin * (table A i j) (table X j r)) j))) (produces Y))",
    )
    .work(12.0 * stored + dense, 2.0 * columns as f64 * stored)
    .into_outcome()
}

fn spgemm(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let count = size.pick(1 << 20, 1 << 16, 100) / if data == "rmat" { 8 } else { 1 };
    let a = require!(square(data, count, 5));
    let b = if data == REAL { a.clone() } else { require!(square(data, count, 6)) };
    spgemm_problem(data, a, b)
}

/// Returns the problem of the product of two matrices.
pub(super) fn spgemm_problem(data: &str, a: Content, b: Content) -> Result<MakeOutcome> {
    WorkloadProblem::plan(
        describe(data, &a),
        vec![WorkloadInput::new("A", a, "csr")?, WorkloadInput::new("B", b, "csr")?],
        1,
        "(plan (query C (reformat csr (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k))) (produces C))",
    )
    .into_outcome()
}

fn residual(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = WorkloadInput::new("A", require!(square(data, entry_count(size), 7)), "csr")?;
    let (description, stored, shape) = (describe(data, &a.content), a.entries(), a.content.shape.clone());
    let x = WorkloadInput::new("x", dense(&shape[1..], 8), "dense")?;
    let b = WorkloadInput::new("b", dense(&shape[..1], 9), "dense")?;
    WorkloadProblem::plan(
        description,
        vec![a, x, b],
        1,
        "(plan (query r (mapjoin - (table b i) (aggregate + 0 (mapjoin * (table A i j) (table x j)) j))) (produces r))",
    )
    .work(12.0 * stored + 20.0 * shape[0] as f64 + 8.0 * shape[1] as f64, 2.0 * stored)
    .into_outcome()
}

fn mattransmul(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = WorkloadInput::new("A", require!(square(data, entry_count(size), 10)), "csr")?;
    let (description, stored, shape) = (describe(data, &a.content), a.entries(), a.content.shape.clone());
    let x = WorkloadInput::new("x", dense(&shape[..1], 11), "dense")?;
    let z = WorkloadInput::new("z", dense(&shape[1..], 12), "dense")?;
    WorkloadProblem::plan(
        description,
        vec![a, x, z],
        1,
        "(plan (query y (mapjoin + (mapjoin * 2 (aggregate + 0 (mapjoin * (table A i j) (table x i)) i))
           (mapjoin * 3 (table z j)))) (produces y))",
    )
    .work(12.0 * stored + 12.0 * shape[0] as f64 + 16.0 * shape[1] as f64, 2.0 * stored)
    .into_outcome()
}

/// Returns a square matrix of the given size and density.
pub(super) fn uniform_with_density(n: u64, density: f64, seed: u64) -> Result<Content> {
    let entries = Amount::Count(((n * n) as f64 * density).round() as u64);
    generate_content(&Uniform { shape: vec![n, n], entries }, seed)
}
