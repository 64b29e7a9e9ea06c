//! Measures the constants of the cost model and prints the table of `optimizer/src/work/cost.rs`.
#![allow(clippy::print_stdout, reason = "the binary prints a table")]

use anyhow::{Context, Result};
use clap::Parser;
use redpoll::{Config, Session, Target};
use redpoll_bench::calibration::fit::{Equation, fit};
use redpoll_bench::calibration::plans::{CalibrationPlan, PLANS};
use redpoll_bench::layouts::measure::{CandidateTimes, GroupOutcome};
use redpoll_bench::machine::processor;
use redpoll_kernels::run::Workers;
use redpoll_optimizer::Event;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The same allocator as in the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures the constants of the optimizer's cost model.
#[derive(Parser)]
#[command(name = "calibrate", version, about)]
struct Cli {
    /// Milliseconds for the runs of each plan
    #[arg(long, value_name = "MS", default_value_t = 200)]
    budget: u64,
    /// Show the measured and the predicted time of every plan
    #[arg(long)]
    plans: bool,
    /// Write times and events of all plans to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also fit plans over generated inputs from a file of `layouts --json`; all plans of one
    /// workload together have the weight of a hundred plans
    #[arg(long, value_name = "FILE")]
    layouts: Option<PathBuf>,
}

/// The weight of all plans of one workload together.
const WORKLOAD_WEIGHT: f64 = 100.0;
/// The weight of the prior in fits with plans of whole workloads. It is larger than
/// [`PRIOR_WEIGHT`], because these plans have many kinds of events each and determine single
/// constants badly.
const WORKLOAD_PRIOR_WEIGHT: f64 = 3.0;
/// The weight of the prior, which is the current table of constants. Weight 1 is the weight of one
/// plan with a single kind of events.
const PRIOR_WEIGHT: f64 = 0.02;

fn main() -> Result<()> {
    let cli = Cli::parse();
    let budget = Duration::from_millis(cli.budget);
    let (mut names, mut rows) = (Vec::new(), Vec::new());
    for plan in PLANS {
        for sizes in plan.sizes {
            rows.push(
                measure_plan(plan, sizes, budget)
                    .with_context(|| format!("cannot measure {} with sizes {sizes:?}", plan.name))?,
            );
            names.push(format!("{} {sizes:?}", plan.name));
        }
    }
    let prior: Vec<f64> = Event::all().map(|event| 1e-9 * event.price()).collect();
    let (workload_rows, weight) = match &cli.layouts {
        Some(path) => (read_workloads(path)?, WORKLOAD_PRIOR_WEIGHT),
        None => (Vec::new(), PRIOR_WEIGHT),
    };
    let all: Vec<Equation> = rows.iter().cloned().chain(workload_rows).collect();
    let seconds = fit(&all, &prior, weight);
    let step = seconds[Event::Round as usize] + seconds[Event::WalkList as usize];
    println!("// {}; a step along a list takes {:.2} ns.", processor(), 1e9 * step);
    for (event, time) in Event::all().zip(&seconds) {
        println!("    (Event::{event:?}, \"{}\", {:.2}),", event.name(), time / step);
    }
    let mut errors: Vec<f64> = rows.iter().map(|row| (row.predict(&seconds) / row.time).ln().abs()).collect();
    errors.sort_by(f64::total_cmp);
    let quantile = |fraction: f64| errors[((errors.len() - 1) as f64 * fraction) as usize].exp();
    println!(
        "// {} plans; factor between predicted and measured times: median {:.2}, 90th percentile {:.2}",
        rows.len(),
        quantile(0.5),
        quantile(0.9)
    );
    if cli.plans {
        for (name, row) in names.iter().zip(&rows) {
            let predicted = row.predict(&seconds);
            println!(
                "{:10.4} ms measured, {:10.4} ms predicted, ratio {:5.2}: {name}",
                1e3 * row.time,
                1e3 * predicted,
                predicted / row.time
            );
        }
    }
    if let Some(path) = cli.json {
        let rows: Vec<_> = names.iter().zip(&rows).map(|(name, row)| (name, row.time, &row.counts)).collect();
        serde_json::to_writer(File::create(path)?, &(Event::all().map(Event::name).collect::<Vec<_>>(), rows))?;
    }
    Ok(())
}

/// Reads the measured plans over generated inputs from a file of `layouts --json`.
fn read_workloads(path: &Path) -> Result<Vec<Equation>> {
    let outcomes: Vec<GroupOutcome> = serde_json::from_reader(BufReader::new(File::open(path)?))
        .with_context(|| format!("{} is not a file of `layouts --json`", path.display()))?;
    // The name of an input from the collection is a path with a slash; the names of generated
    // inputs have none.
    let generated = outcomes.iter().filter(|outcome| !outcome.data.contains('/'));
    let mut rows: Vec<(&str, Equation)> = Vec::new();
    for outcome in generated {
        for CandidateTimes { time, events, .. } in &outcome.candidates {
            let count = |event: Event| events.iter().find(|(name, _)| name == event.name()).map_or(0.0, |(_, n)| *n);
            let Some(time) = *time else { continue };
            rows.push((&outcome.workload, Equation { counts: Event::all().map(count).collect(), time, weight: 1.0 }));
        }
    }
    let weighted = |(workload, row): &(&str, Equation)| {
        let plans = rows.iter().filter(|(other, _)| other == workload).count();
        Equation { weight: WORKLOAD_WEIGHT / plans as f64, ..row.clone() }
    };
    Ok(rows.iter().map(weighted).collect())
}

/// Returns the best time of a plan, and its events.
fn measure_plan(plan: &CalibrationPlan, sizes: &[u64], budget: Duration) -> Result<Equation> {
    let config = Config {
        optimizer: plan.config()?,
        target: Target::OPTIMIZING,
        workers: Workers::caller().clone(),
        ..Config::default()
    };
    let prepared = Session::new(config).prepare(plan.text, &plan.bindings(sizes)?)?;
    let (start, mut time, mut runs) = (Instant::now(), f64::INFINITY, 0);
    while runs < 3 || (start.elapsed() < budget && runs < 1000) {
        let begin = Instant::now();
        prepared.run()?;
        time = time.min(begin.elapsed().as_secs_f64());
        runs += 1;
    }
    let work = prepared.report().context("a plan has a report")?.work();
    Ok(Equation { counts: work.counts().map(|(_, count)| count).collect(), time, weight: 1.0 })
}
