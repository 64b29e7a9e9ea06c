//! Sums of sparse matrices, and an expression with an intersection and a union.

use super::linear::uniform_with_density;
use super::matrices::{describe, entry_count, require, square};
use crate::workload::{DataSize, MakeOutcome, Suite, Workload, WorkloadInput, WorkloadProblem};
use anyhow::{Context, Result};

pub(super) const LINEAR: &[Workload] = &[
    Workload {
        suite: Suite::Linear,
        name: "addition",
        equation: "C_ij = A_ij + B_ij",
        data: &["uniform", "rmat", "banded"],
        make: addition,
    },
    Workload {
        suite: Suite::Linear,
        name: "plus3",
        equation: "D_ij = A_ij + B_ij + C_ij",
        data: &["uniform", "rmat"],
        make: plus3,
    },
];

pub(super) const PAPER: &[Workload] = &[Workload {
    suite: Suite::Paper,
    name: "fused",
    equation: "D_ij = (A_ij + B_ij) C_ij, A and B of density 0.1, C of the listed density",
    data: &["1e-4", "1e-3", "1e-2", "1e-1", "1"],
    make: fused,
}];

fn addition(data: &str, size: DataSize) -> Result<MakeOutcome> {
    addition_problem(data, data, entry_count(size) / 2)
}

/// Returns the problem that adds two matrices of the given kind.
pub(super) fn addition_problem(data: &str, kind: &str, entries: u64) -> Result<MakeOutcome> {
    sum(data, kind, entries, &["A", "B"], "(mapjoin + (table A i j) (table B i j))")
}

fn plus3(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let text = "(mapjoin + (table A i j) (table B i j) (table C i j))";
    sum(data, data, entry_count(size) / 2, &["A", "B", "C"], text)
}

fn sum(data: &str, kind: &str, entries: u64, names: &[&str], expression: &str) -> Result<MakeOutcome> {
    let mut inputs = Vec::new();
    for (k, name) in names.iter().enumerate() {
        inputs.push(WorkloadInput::new(name, require!(square(kind, entries, 20 + k as u64)), "csr")?);
    }
    let stored: f64 = inputs.iter().map(WorkloadInput::entries).sum();
    let rows = inputs[0].content.shape[0] as f64;
    let text = format!("(plan (query S (reformat csr {expression})) (produces S))");
    // The result has about as many entries as all inputs together.
    let (bytes, operations) = (24.0 * stored + 4.0 * rows * (names.len() + 1) as f64, stored);
    WorkloadProblem::plan(describe(data, &inputs[0].content), inputs, 1, text).work(bytes, operations).into_outcome()
}

fn fused(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let n = size.pick(4_000, 1_000, 12);
    let density: f64 = data.parse().context("expected a density")?;
    let a = WorkloadInput::new("A", uniform_with_density(n, 0.1, 30)?, "csr")?;
    let b = WorkloadInput::new("B", uniform_with_density(n, 0.1, 31)?, "csr")?;
    let c = WorkloadInput::new(
        "C",
        uniform_with_density(n, density.max(if size == DataSize::Tiny { 0.2 } else { 0.0 }), 32)?,
        "csr",
    )?;
    let text = "(plan (query D (reformat csr (mapjoin * (mapjoin + (table A i j) (table B i j)) (table C i j)))) (produces D))";
    WorkloadProblem::plan(format!("C of {data}, {n} x {n}"), vec![a, b, c], 1, text).into_outcome()
}
