//! Measures the gain of threads: runs every workload except SQL queries on one thread and on
//! several, in turns. Also checks that the results have the same bits.
#![allow(clippy::print_stdout, reason = "the binary prints a table")]

use anyhow::{Context, Result, bail};
use clap::Parser;
use redpoll::{Bindings, Config, Target};
use redpoll_bench::pairs::Pairs;
use redpoll_bench::runner::WorkloadRunner;
use redpoll_bench::workload::{DataSize, MakeOutcome, Suite, WorkloadProblem, WorkloadProgram};
use redpoll_bench::workloads;
use redpoll_kernels::run::Workers;
use redpoll_storage::{Array, Tensor};
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

/// The same allocator as in the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Compares one thread with several.
#[derive(Parser)]
#[command(name = "threads", version, about)]
struct Cli {
    /// The suites to run; without any, all suites
    suites: Vec<Suite>,
    /// Run only workloads whose names contain this
    #[arg(long, value_name = "PART", default_value = "")]
    only: String,
    /// Number of threads to compare with one
    #[arg(long, value_name = "N", default_value = "2")]
    threads: NonZero<usize>,
    /// Use small data
    #[arg(long)]
    quick: bool,
    /// Milliseconds for the runs of each workload
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    budget: u64,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let (size, budget) = (if cli.quick { DataSize::Quick } else { DataSize::Full }, Duration::from_millis(cli.budget));
    println!(
        "Shortest time of a run in the optimizing tier, in milliseconds. The speedup is the median over pairs of \
         runs, one run on one thread and one run on {} threads.\n",
        cli.threads
    );
    println!("| workload | one thread | {} threads | speedup | bits |\n|---|---|---|---|---|", cli.threads);
    let mut different = 0;
    for (workload, data) in workloads::all() {
        let id = workload.id(data);
        let is_selected = cli.suites.is_empty() || cli.suites.contains(&workload.suite);
        if !is_selected || !id.contains(&cli.only) {
            continue;
        }
        let MakeOutcome::Problem(problem) = (workload.make)(data, size)? else { continue };
        for (name, bindings, program) in programs(*problem)? {
            let id = if name.is_empty() { id.clone() } else { format!("{id} {name}") };
            let [single, parallel] = [NonZero::<usize>::MIN, cli.threads].map(|n| make_runner(n, &bindings));
            let row = compare(&program, [single, parallel], budget).with_context(|| id.clone())?;
            let (single, parallel) = row.pairs.best();
            println!(
                "| {id} | {:.3} | {:.3} | {:.2} | {} |",
                1e3 * single.as_secs_f64(),
                1e3 * parallel.as_secs_f64(),
                row.pairs.median_ratio(),
                if row.same { "same" } else { "DIFFERENT" }
            );
            different += u32::from(!row.same);
        }
    }
    if different > 0 {
        bail!("the results of {different} programs on {} threads differ from those on one thread", cli.threads);
    }
    Ok(())
}

/// Returns the programs of a problem, each with its name and inputs. The name of a single program
/// is empty. Problems of SQL queries have no programs.
fn programs(problem: WorkloadProblem) -> Result<Vec<(String, Bindings, WorkloadProgram)>> {
    if problem.query.is_some() {
        return Ok(Vec::new());
    }
    let store_inputs = redpoll_bench::redpoll_server::store_inputs;
    if problem.variants.is_empty() {
        return Ok(vec![(String::new(), store_inputs(problem.inputs)?, problem.program)]);
    }
    problem.variants.into_iter().map(|v| Ok((v.name, store_inputs(v.inputs)?, v.program))).collect()
}

fn make_runner(threads: NonZero<usize>, bindings: &Bindings) -> WorkloadRunner {
    let workers = Arc::new(Workers::new(threads));
    WorkloadRunner::new(Config { target: Target::OPTIMIZING, workers, ..Config::default() }, bindings.clone())
}

/// The measurements of a workload.
struct ThreadTimes {
    pairs: Pairs,
    same: bool,
}

fn compare(program: &WorkloadProgram, mut runners: [WorkloadRunner; 2], budget: Duration) -> Result<ThreadTimes> {
    // The first run of each runner also plans and compiles.
    let mut results = Vec::new();
    for runner in &mut runners {
        program(runner)?;
        results.push(program(runner)?);
    }
    let same = is_same(&results[0], &results[1]);
    let run = |runner: &mut WorkloadRunner| drop(program(runner).expect("the program ran before"));
    let [single, parallel] = &mut runners;
    Ok(ThreadTimes { pairs: Pairs::measure(budget, 3, || run(single), || run(parallel)), same })
}

/// Returns whether tensors have the same arrays, bit by bit.
fn is_same(a: &[Tensor], b: &[Tensor]) -> bool {
    let arrays = |t: &[Tensor]| -> Vec<Vec<u8>> {
        let all = t.iter().flat_map(|t| t.levels().iter().flatten().chain(t.leaf()));
        all.map(|array: &Array| array.buffer().as_slice().to_vec()).collect()
    };
    arrays(a) == arrays(b)
}
