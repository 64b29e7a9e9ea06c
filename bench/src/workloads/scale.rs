//! Growth of costs: the same workload on inputs that grow by factors of four.

use super::graphs::triangles_problem;
use super::linear::{spgemm_problem, spmv_problem};
use super::matrices::{require, square};
use super::tensors::{mttkrp_problem, scaled_tensor};
use crate::data::to_upper_triangle;
use crate::workload::{DataSize, Suite, Workload};
use anyhow::{Context, Result};

/// The sizes of the inputs, relative to the smallest input.
const STEPS: &[&str] = &["x1", "x4", "x16", "x64"];

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        suite: Suite::Scale,
        name: "spmv",
        equation: "y_i = sum_j A_ij x_j, uniform",
        data: STEPS,
        make: |data, size| spmv_problem(data, square("uniform", scaled_size(data, size, 1 << 16)?, 100), "csr"),
    },
    Workload {
        suite: Suite::Scale,
        name: "addition",
        equation: "C_ij = A_ij + B_ij, uniform",
        data: STEPS,
        make: |data, size| super::elementwise::addition_problem(data, "uniform", scaled_size(data, size, 1 << 15)?),
    },
    Workload {
        suite: Suite::Scale,
        name: "spgemm",
        equation: "C_ij = sum_k A_ik B_kj, grid",
        data: STEPS,
        make: |data, size| {
            let entries = scaled_size(data, size, 1 << 14)?;
            spgemm_problem(data, require!(square("grid", entries, 101)), require!(square("grid", entries, 102)))
        },
    },
    Workload {
        suite: Suite::Scale,
        name: "triangles",
        equation: "t = sum_ijk E_ij E_jk E_ik, uniform",
        data: STEPS,
        make: |data, size| {
            triangles_problem(
                data,
                to_upper_triangle(&require!(square("uniform", scaled_size(data, size, 1 << 14)?, 103)))?,
            )
        },
    },
    Workload {
        suite: Suite::Scale,
        name: "mttkrp",
        equation: "M_ir = sum_jk X_ijk B_jr C_kr, uniform, 16 columns",
        data: STEPS,
        make: |data, size| {
            mttkrp_problem(data, scaled_tensor(scaled_size(data, size, 1 << 14)?, 104)?, size.pick(16, 16, 2))
        },
    },
];

/// Returns the size relative to the smallest input, parsed from the name of data.
pub fn factor(data: &str) -> Option<f64> {
    data.strip_prefix('x')?.parse().ok()
}

fn scaled_size(data: &str, size: DataSize, smallest: u64) -> Result<u64> {
    let factor = factor(data).context("expected a step such as `x4`")? as u64;
    Ok(size.pick(smallest * factor, smallest / 8 * factor, 80))
}
