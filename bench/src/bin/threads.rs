//! Measures the gain of threads: every workload on one thread and on several, in turns. Also checks
//! that the results are the same bits.
#![allow(clippy::print_stdout, reason = "the table is what the binary is for")]

use anyhow::{Context, Result, bail};
use clap::Parser;
use redpoll::{Bindings, Config, Engine};
use redpoll_bench::pairs::Pairs;
use redpoll_bench::runner::Runner;
use redpoll_bench::workload::{Made, Problem, Program, Size, Suite};
use redpoll_bench::workloads;
use redpoll_physical::run::Workers;
use redpoll_physical::storage::{Array, Tensor};
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

/// The allocator of the program `redpoll`.
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
    let (size, budget) = (if cli.quick { Size::Quick } else { Size::Full }, Duration::from_millis(cli.budget));
    println!(
        "Best milliseconds on the optimizing tier; how many times as fast on {} threads, the median of pairs.\n",
        cli.threads
    );
    println!("| workload | one thread | {} threads | ratio | bits |\n|---|---|---|---|---|", cli.threads);
    let mut different = 0;
    for (workload, data) in workloads::all() {
        let id = workload.id(data);
        let wanted = cli.suites.is_empty() || cli.suites.contains(&workload.suite);
        if !wanted || !id.contains(&cli.only) {
            continue;
        }
        let Made::Problem(problem) = (workload.make)(data, size)? else { continue };
        for (name, bindings, program) in programs(*problem)? {
            let id = if name.is_empty() { id.clone() } else { format!("{id} {name}") };
            let [alone, together] = [NonZero::<usize>::MIN, cli.threads].map(|n| runner(n, &bindings));
            let row = compare(&program, [alone, together], budget).with_context(|| id.clone())?;
            let (alone, together) = row.pairs.best();
            println!(
                "| {id} | {:.3} | {:.3} | {:.2} | {} |",
                1e3 * alone.as_secs_f64(),
                1e3 * together.as_secs_f64(),
                row.pairs.median_ratio(),
                if row.same { "same" } else { "DIFFERENT" }
            );
            different += u32::from(!row.same);
        }
    }
    if different > 0 {
        bail!("{different} workloads have other results on {} threads", cli.threads);
    }
    Ok(())
}

/// Returns the programs of a problem with their inputs, and their names if there are several.
/// Queries have none.
fn programs(problem: Problem) -> Result<Vec<(String, Bindings, Program)>> {
    if problem.query.is_some() {
        return Ok(Vec::new());
    }
    let stored = redpoll_bench::ours::stored;
    if problem.variants.is_empty() {
        return Ok(vec![(String::new(), stored(problem.inputs)?, problem.program)]);
    }
    problem.variants.into_iter().map(|v| Ok((v.name, stored(v.inputs)?, v.program))).collect()
}

fn runner(threads: NonZero<usize>, bindings: &Bindings) -> Runner {
    let workers = Arc::new(Workers::new(threads));
    Runner::new(Config { engine: Engine::Optimizing, workers, ..Config::default() }, bindings.clone())
}

/// The measurements of a workload.
struct Row {
    pairs: Pairs,
    same: bool,
}

fn compare(program: &Program, mut runners: [Runner; 2], budget: Duration) -> Result<Row> {
    // The first runs plan and compile.
    let mut results = Vec::new();
    for runner in &mut runners {
        program(runner)?;
        results.push(program(runner)?);
    }
    let same = is_same(&results[0], &results[1]);
    let run = |runner: &mut Runner| drop(program(runner).expect("what has run runs again"));
    let [alone, together] = &mut runners;
    Ok(Row { pairs: Pairs::measure(budget, 3, || run(alone), || run(together)), same })
}

/// Returns whether tensors have the same arrays, bit by bit.
fn is_same(a: &[Tensor], b: &[Tensor]) -> bool {
    let arrays = |t: &[Tensor]| -> Vec<Vec<u8>> {
        let all = t.iter().flat_map(|t| t.levels().iter().flatten().chain(t.leaf()));
        all.map(|array: &Array| array.buffer().as_slice().to_vec()).collect()
    };
    arrays(a) == arrays(b)
}
