//! Growth of costs: the same workload on inputs that grow by factors of four.

use super::graphs::triangles_of;
use super::linear::{spgemm_of, spmv_of};
use super::matrices::{present, square};
use super::tensors::{mttkrp_of, scaled};
use crate::data::upper;
use crate::workload::{Size, Suite, Workload};
use anyhow::{Context, Result};

/// The size of inputs relative to the smallest ones.
const STEPS: &[&str] = &["x1", "x4", "x16", "x64"];

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        suite: Suite::Scale,
        name: "spmv",
        equation: "y_i = sum_j A_ij x_j, uniform",
        data: STEPS,
        make: |data, size| spmv_of(data, square("uniform", grown(data, size, 1 << 16)?, 100), "csr"),
    },
    Workload {
        suite: Suite::Scale,
        name: "addition",
        equation: "C_ij = A_ij + B_ij, uniform",
        data: STEPS,
        make: |data, size| super::elementwise::addition_of(data, "uniform", grown(data, size, 1 << 15)?),
    },
    Workload {
        suite: Suite::Scale,
        name: "spgemm",
        equation: "C_ij = sum_k A_ik B_kj, grid",
        data: STEPS,
        make: |data, size| {
            let entries = grown(data, size, 1 << 14)?;
            spgemm_of(data, present!(square("grid", entries, 101)), present!(square("grid", entries, 102)))
        },
    },
    Workload {
        suite: Suite::Scale,
        name: "triangles",
        equation: "t = sum_ijk E_ij E_jk E_ik, uniform",
        data: STEPS,
        make: |data, size| triangles_of(data, upper(&present!(square("uniform", grown(data, size, 1 << 14)?, 103)))?),
    },
    Workload {
        suite: Suite::Scale,
        name: "mttkrp",
        equation: "M_ir = sum_jk X_ijk B_jr C_kr, uniform, 16 columns",
        data: STEPS,
        make: |data, size| mttkrp_of(data, scaled(grown(data, size, 1 << 14)?, 104)?, size.pick(16, 16, 2)),
    },
];

/// Returns the size relative to the smallest input, parsed from the name of data.
pub fn factor(data: &str) -> Option<f64> {
    data.strip_prefix('x')?.parse().ok()
}

fn grown(data: &str, size: Size, smallest: u64) -> Result<u64> {
    let factor = factor(data).context("steps are numbers")? as u64;
    Ok(size.pick(smallest * factor, smallest / 8 * factor, 80))
}
