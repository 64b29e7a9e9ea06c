//! Products, sums and inner products of tensors of three modes.

use super::matrices::{describe, require};
use crate::data::{dense, generate_content, read_real, small_integers, with_values};
use crate::workload::{DataSize, MakeOutcome, Suite, Workload, WorkloadInput, WorkloadProblem};
use anyhow::Result;
use redpoll::datasets::generate::{Amount, Uniform};
use redpoll::datasets::{Content, Values};

const DATA: &[&str] = &["uniform", "kg_FB15K237"];

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        suite: Suite::Tensor,
        name: "mttkrp",
        equation: "M_ir = sum_jk X_ijk B_jr C_kr, 16 columns",
        data: DATA,
        make: mttkrp,
    },
    Workload { suite: Suite::Tensor, name: "ttv", equation: "Y_ij = sum_k X_ijk x_k", data: DATA, make: ttv },
    Workload {
        suite: Suite::Tensor,
        name: "ttm",
        equation: "Y_ijr = sum_k X_ijk B_kr, 16 columns",
        data: DATA,
        make: ttm,
    },
    Workload {
        suite: Suite::Tensor,
        name: "tensor_plus",
        equation: "Z_ijk = X_ijk + Y_ijk",
        data: &["uniform"],
        make: plus,
    },
    Workload {
        suite: Suite::Tensor,
        name: "innerprod",
        equation: "s = sum_ijk X_ijk Y_ijk",
        data: &["uniform"],
        make: innerprod,
    },
];

/// Returns the tensor of the given name, or the reason why it is missing.
fn tensor(data: &str, size: DataSize, seed: u64) -> Result<Result<Content, MakeOutcome>> {
    if data == "uniform" || size == DataSize::Tiny {
        let shape = size.pick(vec![1 << 14, 1 << 10, 1 << 10], vec![1 << 11, 256, 256], vec![6, 5, 7]);
        return Ok(Ok(uniform(shape, size.pick(1 << 21, 1 << 17, 60), seed)?));
    }
    let content = match read_real(&format!("tensors/{data}.tns.zst"))? {
        Ok(content) => content,
        Err(missing) => return Ok(Err(missing)),
    };
    Ok(Ok(with_values(&content, |n| Values::F64(small_integers(n, seed)))?))
}

fn uniform(shape: Vec<u64>, entries: u64, seed: u64) -> Result<Content> {
    generate_content(&Uniform { shape, entries: Amount::Count(entries) }, seed)
}

fn mttkrp(data: &str, size: DataSize) -> Result<MakeOutcome> {
    mttkrp_problem(data, require!(tensor(data, size, 70)), size.pick(16, 16, 2))
}

/// Returns the problem of MTTKRP with `columns` columns.
pub(super) fn mttkrp_problem(data: &str, x: Content, columns: u64) -> Result<MakeOutcome> {
    let (shape, description) = (x.shape.clone(), describe(data, &x));
    let x = WorkloadInput::new("X", x, "csf")?;
    let entries = x.entries();
    let b = WorkloadInput::new("B", dense(&[shape[1], columns], 71), "dense")?;
    let c = WorkloadInput::new("C", dense(&[shape[2], columns], 72), "dense")?;
    WorkloadProblem::plan(
        description,
        vec![x, b, c],
        1,
        "(plan (query M (reformat dense (aggregate + 0 (mapjoin * (table X i j k) (table B j r) (table C k r)) j k)))
           (produces M))",
    )
    .work(12.0 * entries + 8.0 * (columns * shape.iter().sum::<u64>()) as f64, 3.0 * entries * columns as f64)
    .into_outcome()
}

/// Returns a uniform tensor of three modes for the scale suite.
pub(super) fn scaled_tensor(entries: u64, seed: u64) -> Result<Content> {
    let side = if entries < 128 { 8 } else { 512 };
    uniform(vec![entries.div_ceil(128).max(8), side, side], entries, seed)
}

fn ttv(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let x = WorkloadInput::new("X", require!(tensor(data, size, 73)), "csf")?;
    let (description, entries, shape) = (describe(data, &x.content), x.entries(), x.content.shape.clone());
    let v = WorkloadInput::new("x", dense(&shape[2..], 74), "dense")?;
    WorkloadProblem::plan(
        description,
        vec![x, v],
        1,
        "(plan (query Y (reformat dcsr (aggregate + 0 (mapjoin * (table X i j k) (table x k)) k))) (produces Y))",
    )
    .work(12.0 * entries, 2.0 * entries)
    .into_outcome()
}

fn ttm(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let columns = size.pick(16, 16, 2);
    let x = WorkloadInput::new("X", require!(tensor(data, size, 75)), "csf")?;
    let (description, shape) = (describe(data, &x.content), x.content.shape.clone());
    let b = WorkloadInput::new("B", dense(&[shape[2], columns], 76), "dense")?;
    WorkloadProblem::plan(
        description,
        vec![x, b],
        1,
        "(plan (query Y (reformat (sparse-list (sparse-list (dense (element))))
           (aggregate + 0 (mapjoin * (table X i j k) (table B k r)) k))) (produces Y))",
    )
    .into_outcome()
}

fn two_tensors(data: &str, size: DataSize, text: &str) -> Result<MakeOutcome> {
    let x = WorkloadInput::new("X", require!(tensor(data, size, 77)), "csf")?;
    let y = WorkloadInput::new("Y", require!(tensor(data, size, 78)), "csf")?;
    WorkloadProblem::plan(describe(data, &x.content), vec![x, y], 1, text).into_outcome()
}

fn plus(data: &str, size: DataSize) -> Result<MakeOutcome> {
    two_tensors(data, size, "(plan (query Z (reformat csf (mapjoin + (table X i j k) (table Y i j k)))) (produces Z))")
}

fn innerprod(data: &str, size: DataSize) -> Result<MakeOutcome> {
    two_tensors(
        data,
        size,
        "(plan (query s (aggregate + 0 (mapjoin * (table X i j k) (table Y i j k)) i j k)) (produces s))",
    )
}
