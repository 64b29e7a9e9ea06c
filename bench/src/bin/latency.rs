//! Measures each phase from the text of a plan to runnable code and the first result.
//!
//! The first argument is a folder of plan files; the default is the folder of the tests.
#![allow(clippy::print_stdout, reason = "the binary prints a table")]

use anyhow::{Context, Result};
use redpoll::{Phase, Session, Timings};
use redpoll_bench::files::plan_files;
use redpoll_bench::pairs::median;
use redpoll_bench::plans::PlanFile;
use std::path::PathBuf;
use std::time::Instant;

/// The same allocator as in the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const REPEATS: usize = 30;
const PHASES: [Phase; 5] = [Phase::Parse, Phase::Verify, Phase::Optimize, Phase::Notation, Phase::Compile];

fn main() -> Result<()> {
    let files = plan_files(std::env::args().nth(1).map(PathBuf::from));
    println!("Milliseconds; medians of {REPEATS} repetitions, and the first result of this process.\n");
    println!(
        "| plan | parse | verify | optimize | notation | compile | text to code | text to result | first result | warm run |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut slowest = (0.0, 0.0, 0.0);
    for path in &files {
        let file = PlanFile::read(path)?;
        let mut runs = Vec::new();
        for _ in 0..=REPEATS {
            let Some(run) = measure_plan(&file).with_context(|| file.name.clone())? else { break };
            runs.push(run);
        }
        if runs.is_empty() {
            println!("| {} | rejected |", file.name);
            continue;
        }
        let first = runs.remove(0);
        let median_of = |value: &dyn Fn(&PlanTimes) -> f64| median(runs.iter().map(value));
        let phases = PHASES
            .map(|phase| format!("{:.3}", median_of(&|run| 1e3 * run.phases.of(phase).as_secs_f64())))
            .join(" | ");
        let (code, total) = (median_of(&|run| 1e3 * run.phases.total().as_secs_f64()), median_of(&|run| run.total));
        println!(
            "| {} | {phases} | {code:.3} | {total:.3} | {:.3} | {:.4} |",
            file.name,
            first.total,
            median_of(&|run| run.warm)
        );
        slowest = (code.max(slowest.0), total.max(slowest.1), first.total.max(slowest.2));
    }
    println!(
        "\n{} plans; at most {:.3} ms to code, {:.3} ms to a result, {:.3} ms to the first result",
        files.len(),
        slowest.0,
        slowest.1,
        slowest.2
    );
    Ok(())
}

/// The times of a plan: of each phase, of one preparation with the first run, and of further runs.
struct PlanTimes {
    phases: Timings,
    /// Milliseconds from text to result.
    total: f64,
    /// Median milliseconds of nine further runs.
    warm: f64,
}

/// Measures a plan in a new session. Returns `None` if the plan is rejected, because files may
/// contain invalid plans.
fn measure_plan(file: &PlanFile) -> Result<Option<PlanTimes>> {
    let session = Session::default();
    let start = Instant::now();
    let Ok(prepared) = session.prepare(&file.text, &file.bindings) else { return Ok(None) };
    prepared.run()?;
    let total = 1e3 * start.elapsed().as_secs_f64();
    let mut warm = Vec::new();
    for _ in 0..9 {
        let start = Instant::now();
        prepared.run()?;
        warm.push(1e3 * start.elapsed().as_secs_f64());
    }
    Ok(Some(PlanTimes { phases: prepared.timings().clone(), total, warm: median(warm.into_iter()) }))
}
