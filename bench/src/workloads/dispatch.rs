//! Tiny inputs, for which the overhead of a call exceeds the time of the kernels. The workloads
//! measure several modes of calls, and arrays with a different number in each call.

use crate::data::{dense, dense_of, generate_content, sparse_of};
use crate::runner::WorkloadRunner;
use crate::workload::{DataSize, MakeOutcome, Suite, Workload, WorkloadInput, WorkloadProblem};
use anyhow::{Result, bail};
use redpoll::datasets::Values;
use redpoll::datasets::generate::{Amount, Uniform};
use redpoll::{Array, index};
use std::cell::Cell;

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
    Workload {
        suite: Suite::Dispatch,
        name: "numbers",
        equation: "arrays that differ in a number, 10 elements",
        data: NUMBERS,
        make: numbers,
    },
];

/// Lazy arrays that are built with a different number in each call.
const NUMBERS: &[&str] = &["compared", "scaled", "added", "clipped", "window", "row", "size"];

const SPMV: &str = "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces y))";
const ADD: &str = "(plan (query z (mapjoin + (table x i) (table y i))) (produces z))";
const DOT: &str = "(plan (query s (aggregate + 0 (mapjoin * (table x i) (table y i)) i)) (produces s))";

/// Returns the problem of a plan, or of the equivalent lazy array, in the given mode of calls.
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

/// Number of calls of the program of [`numbers`] before the numbers repeat. The number exceeds the
/// number of plans that a session caches.
const WINDOWS: i64 = 400;

/// Returns a fraction below 1 that differs between the calls.
fn fraction(call: i64) -> f64 {
    call as f64 / 1024.0
}

/// Returns the problem of a lazy array that contains a different number in each call. All calls
/// have the same result.
fn numbers(data: &str, _: DataSize) -> Result<MakeOutcome> {
    let build: fn(&WorkloadRunner, i64) -> Result<Array> = match data {
        "compared" => |runner, k| Ok(runner.array("x")?.greater(4.25 + fraction(k)).sum(..)),
        "scaled" => |runner, k| Ok((runner.array("x")? * (2.5 + fraction(k))).greater(0.0).sum(..)),
        "added" => |runner, k| Ok((runner.array("x")? + (2.5 + fraction(k))) - (2.5 + fraction(k))),
        "clipped" => |runner, k| Ok(runner.array("x")?.clip(-3.0 - fraction(k), 100.0 + fraction(k))),
        "window" => |runner, k| Ok(runner.array("long")?.slice(index![10 * k..10 * k + 10]).sum(..)),
        "row" => |runner, k| Ok(runner.array("A")?.slice(index![k]).sum(..)),
        "size" => |runner, k| Ok(runner.session().vector((0..600 + k).map(|i| (i % 10) as f64)).max(..)),
        name => bail!("unknown array `{name}`"),
    };
    let periodic = |n: i64| dense_of(&[n as u64], Values::F64((0..n).map(|i| (i % 10 + 1) as f64).collect()));
    let rows = WINDOWS as u64 + 1;
    let diagonal = vec![(0..rows).collect(), (0..rows).map(|i| i % 10).collect()];
    let cells = sparse_of(&[rows, 10], diagonal, Values::F64(vec![2.5; rows as usize]));
    let inputs = vec![
        WorkloadInput::new("x", periodic(10), "dense")?,
        WorkloadInput::new("long", periodic(10 * WINDOWS + 10), "dense")?,
        WorkloadInput::new("A", cells, "csr")?,
    ];
    let calls = Cell::new(0);
    WorkloadProblem::program(data.to_owned(), inputs, 1, move |runner| {
        calls.set(calls.get() % WINDOWS + 1);
        let array = build(runner, calls.get())?;
        Ok(vec![runner.collect(&array)?])
    })
    .into_outcome()
}
