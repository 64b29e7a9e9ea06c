//! Measures the time to optimize plans, by the shape of their join. Each time is a median over
//! repetitions in one process, and the statistics of the tables are given.
//!
//! If there is an argument, only the shape of this name is measured.
#![allow(clippy::print_stdout, reason = "the binary prints a table")]

use redpoll_bench::pairs::median;
use redpoll_logic::statistics::{Answer, PositionCounts, Statistics};
use redpoll_logic::text::{Catalog, parse};
use redpoll_logic::{Alias, DType, Format, Prim, Scalar, TensorType};
use redpoll_optimizer::{OptimizerConfig, optimize};
use std::sync::Arc;
use std::time::Instant;

/// The same allocator as in the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The size of every mode. The first matrix has ten entries per row, and each further matrix has
/// more. These sizes are large enough that rewriting a join pays off.
const SIZE: u64 = 2000;
/// Largest number of repetitions of a plan.
const REPEATS: usize = 31;
/// Time limit for the repetitions of a plan, in seconds. Each plan is optimized at least three
/// times, even if this takes longer.
const MAX_SECONDS: f64 = 3.0;

type JoinEdges = Vec<(usize, usize)>;

fn path(n: usize) -> JoinEdges {
    (0..n).map(|k| (k, k + 1)).collect()
}

fn cycle(n: usize) -> JoinEdges {
    (0..n).map(|k| (k, (k + 1) % n)).collect()
}

fn star(n: usize) -> JoinEdges {
    (1..=n).map(|k| (0, k)).collect()
}

fn tree(n: usize) -> JoinEdges {
    (1..=n).map(|k| ((k - 1) / 2, k)).collect()
}

fn clique(n: usize) -> JoinEdges {
    (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect()
}

/// Returns the plan of a join: the sum of the products of one matrix per edge, over all vertices
/// except the free ones.
fn join(edges: &JoinEdges, free: &[usize]) -> String {
    let factors: String = edges.iter().enumerate().map(|(k, (a, b))| format!("(table T{k} x{a} x{b}) ")).collect();
    let last = edges.iter().map(|(a, b)| *a.max(b)).max().unwrap_or(0);
    let bound: String = (0..=last).filter(|v| !free.contains(v)).map(|v| format!("x{v} ")).collect();
    format!("(plan (query R (aggregate + 0.0 (mapjoin * {factors}) {bound})) (produces R))")
}

fn main() -> anyhow::Result<()> {
    let dtype = DType::Prim(Prim::F64);
    let ty = TensorType { shape: vec![SIZE, SIZE], dtype, fill: Scalar::F64(0.0), format: Format::csr() };
    let ty = Arc::new(ty);
    let names = || (0..45).map(|k| Alias::from(format!("T{k}")));
    let catalog: Catalog = names().map(|name| (name, ty.clone())).collect();
    let mut counts = PositionCounts::default();
    for (name, k) in names().zip(0..) {
        counts.insert(name, vec![Answer::exact(SIZE), Answer::exact(20_000 + 1700 * k)]);
    }
    let shapes = [
        ("product of 2", join(&path(2), &[0, 2])),
        ("chain of 3", join(&path(3), &[0, 3])),
        ("triangle", join(&cycle(3), &[])),
        ("cycle of 4", join(&cycle(4), &[])),
        ("clique of 4", join(&clique(4), &[])),
        ("chain of 5", join(&path(5), &[0, 5])),
        ("chain of 10", join(&path(10), &[0, 10])),
        ("walk of 10", join(&path(10), &[])),
        ("cycle of 10", join(&cycle(10), &[])),
        ("tree of 10", join(&tree(10), &[])),
        ("star of 10", join(&star(10), &[])),
        ("clique of 10", join(&clique(10), &[])),
    ];
    let only = std::env::args().nth(1);
    let config = OptimizerConfig::default();
    println!("| shape | milliseconds | e-graph |\n|---|---|---|");
    for (name, text) in shapes.iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)) {
        let plan = parse(text, &catalog)?;
        let (mut times, mut graph) = (Vec::new(), String::new());
        let begin = Instant::now();
        while times.len() < 3 || times.len() < REPEATS && begin.elapsed().as_secs_f64() < MAX_SECONDS {
            let start = Instant::now();
            let (_, report) = optimize(&plan, &Statistics::new(&counts), &config)?;
            times.push(1e3 * start.elapsed().as_secs_f64());
            let phases = report.phases.iter().filter(|phase| phase.name == "algebra");
            let text: String = phases.map(|phase| phase.plan.to_string()).collect();
            graph = text.lines().filter_map(|line| line.strip_prefix("; estimated cost ")).collect();
        }
        println!("| {name} | {:.3} | {graph} |", median(times.iter().copied()));
    }
    Ok(())
}
