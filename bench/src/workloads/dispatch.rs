//! Tiny inputs, for which a call costs more than the work, with several ways to call.

use crate::data::{dense, made};
use crate::runner::Runner;
use crate::workload::{Input, Made, Problem, Size, Suite, Workload};
use anyhow::{Result, bail};
use redpoll::Array;
use redpoll::datasets::generate::{Amount, Uniform};

/// The ways to call: a lazy array built for each call, a cached lazy array, the text of a plan, a
/// prepared plan.
const WAYS: &[&str] = &["array anew", "array kept", "plan text", "plan prepared"];

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        suite: Suite::Dispatch,
        name: "tiny_spmv",
        equation: "y_i = sum_j A_ij x_j, 10 x 10",
        data: WAYS,
        make: spmv,
    },
    Workload { suite: Suite::Dispatch, name: "tiny_add", equation: "z_i = x_i + y_i, 10", data: WAYS, make: add },
    Workload { suite: Suite::Dispatch, name: "tiny_dot", equation: "s = sum_i x_i y_i, 10", data: WAYS, make: dot },
];

const SPMV: &str = "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces y))";
const ADD: &str = "(plan (query z (mapjoin + (table x i) (table y i))) (produces z))";
const DOT: &str = "(plan (query s (aggregate + 0 (mapjoin * (table x i) (table y i)) i)) (produces s))";

/// Returns the problem that computes a plan or an equal lazy array in the given way.
macro_rules! tiny {
    ($way:expr, $inputs:expr, $text:ident, $array:expr) => {{
        let (words, inputs) = ($way.to_owned(), $inputs);
        match $way {
            "array anew" => Problem::program(words, inputs, 1, |runner| {
                let array = $array(runner)?;
                Ok(vec![runner.collect(&array)?])
            }),
            "array kept" => {
                Problem::program(words, inputs, 1, |runner| Ok(vec![runner.kept_array(stringify!($text), $array)?]))
            }
            "plan text" => Problem::plan(words, inputs, 1, $text),
            "plan prepared" => Problem::program(words, inputs, 1, |runner| runner.kept_plan($text)),
            way => bail!("no way is called `{way}`"),
        }
        .made()
    }};
}

fn spmv(data: &str, _: Size) -> Result<Made> {
    let matrix = made(&Uniform { shape: vec![10, 10], entries: Amount::Count(30) }, 40)?;
    let inputs = vec![Input::new("A", matrix, "csr")?, Input::new("x", dense(&[10], 41), "dense")?];
    tiny!(data, inputs, SPMV, spmv_array)
}

fn vectors() -> Result<Vec<Input>> {
    Ok(vec![Input::new("x", dense(&[10], 42), "dense")?, Input::new("y", dense(&[10], 43), "dense")?])
}

fn add(data: &str, _: Size) -> Result<Made> {
    tiny!(data, vectors()?, ADD, add_array)
}

fn dot(data: &str, _: Size) -> Result<Made> {
    tiny!(data, vectors()?, DOT, dot_array)
}

fn spmv_array(runner: &Runner) -> Result<Array> {
    Ok(runner.array("A")?.matmul(runner.array("x")?))
}

fn add_array(runner: &Runner) -> Result<Array> {
    Ok(runner.array("x")? + runner.array("y")?)
}

fn dot_array(runner: &Runner) -> Result<Array> {
    Ok(runner.array("x")?.vecdot(runner.array("y")?, -1))
}
