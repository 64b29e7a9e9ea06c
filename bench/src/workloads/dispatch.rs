//! Tiny inputs, for which a call costs more than the work, in several modes of calls.

use crate::data::{dense, generate_content};
use crate::runner::WorkloadRunner;
use crate::workload::{DataSize, MakeOutcome, Suite, Workload, WorkloadInput, WorkloadProblem};
use anyhow::{Result, bail};
use redpoll::Array;
use redpoll::datasets::generate::{Amount, Uniform};

/// The modes of calls: a lazy array built for each call, a cached lazy array, the text of a plan, a
/// prepared plan.
const MODES: &[&str] = &["array rebuilt", "array reused", "plan text", "plan prepared"];

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        suite: Suite::Dispatch,
        name: "tiny_spmv",
        equation: "y_i = sum_j A_ij x_j, 10 x 10",
        data: MODES,
        make: spmv,
    },
    Workload { suite: Suite::Dispatch, name: "tiny_add", equation: "z_i = x_i + y_i, 10", data: MODES, make: add },
    Workload { suite: Suite::Dispatch, name: "tiny_dot", equation: "s = sum_i x_i y_i, 10", data: MODES, make: dot },
];

const SPMV: &str = "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces y))";
const ADD: &str = "(plan (query z (mapjoin + (table x i) (table y i))) (produces z))";
const DOT: &str = "(plan (query s (aggregate + 0 (mapjoin * (table x i) (table y i)) i)) (produces s))";

/// Returns the problem that computes a plan or an equal lazy array in the given mode of calls.
macro_rules! tiny {
    ($mode:expr, $inputs:expr, $text:ident, $array:expr) => {{
        let (description, inputs) = ($mode.to_owned(), $inputs);
        match $mode {
            "array rebuilt" => WorkloadProblem::program(description, inputs, 1, |runner| {
                let array = $array(runner)?;
                Ok(vec![runner.collect(&array)?])
            }),
            "array reused" => WorkloadProblem::program(description, inputs, 1, |runner| {
                Ok(vec![runner.collect_cached(stringify!($text), $array)?])
            }),
            "plan text" => WorkloadProblem::plan(description, inputs, 1, $text),
            "plan prepared" => WorkloadProblem::program(description, inputs, 1, |runner| runner.run_cached_plan($text)),
            mode => bail!("unknown mode of calls `{mode}`"),
        }
        .into_outcome()
    }};
}

fn spmv(data: &str, _: DataSize) -> Result<MakeOutcome> {
    let matrix = generate_content(&Uniform { shape: vec![10, 10], entries: Amount::Count(30) }, 40)?;
    let inputs = vec![WorkloadInput::new("A", matrix, "csr")?, WorkloadInput::new("x", dense(&[10], 41), "dense")?];
    tiny!(data, inputs, SPMV, spmv_array)
}

fn vectors() -> Result<Vec<WorkloadInput>> {
    Ok(vec![WorkloadInput::new("x", dense(&[10], 42), "dense")?, WorkloadInput::new("y", dense(&[10], 43), "dense")?])
}

fn add(data: &str, _: DataSize) -> Result<MakeOutcome> {
    tiny!(data, vectors()?, ADD, add_array)
}

fn dot(data: &str, _: DataSize) -> Result<MakeOutcome> {
    tiny!(data, vectors()?, DOT, dot_array)
}

fn spmv_array(runner: &WorkloadRunner) -> Result<Array> {
    Ok(runner.array("A")?.matmul(runner.array("x")?))
}

fn add_array(runner: &WorkloadRunner) -> Result<Array> {
    Ok(runner.array("x")? + runner.array("y")?)
}

fn dot_array(runner: &WorkloadRunner) -> Result<Array> {
    Ok(runner.array("x")?.vecdot(runner.array("y")?, -1))
}
