//! Measures each phase from the text of a plan to runnable code and the first result.
//!
//! The first argument is a folder of plan files; the default are the plan files of the tests.
#![allow(clippy::print_stdout, reason = "the table is what the binary is for")]

use anyhow::{Context, Result};
use redpoll::{Phase, Session, Timings};
use redpoll_bench::files::plans;
use redpoll_bench::pairs::median;
use redpoll_bench::plans::PlanFile;
use std::path::PathBuf;
use std::time::Instant;

/// The allocator of the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const REPEATS: usize = 30;
const PHASES: [Phase; 5] = [Phase::Parse, Phase::Verify, Phase::Optimize, Phase::Notation, Phase::Compile];

fn main() -> Result<()> {
    let files = plans(std::env::args().nth(1).map(PathBuf::from));
    println!("Milliseconds; medians of {REPEATS}, and the first answer that this process gave.\n");
    println!(
        "| plan | parse | verify | optimize | notation | compile | text to code | answer | first answer | warm run |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut worst = (0.0, 0.0, 0.0);
    for path in &files {
        let file = PlanFile::read(path)?;
        let mut runs = Vec::new();
        for _ in 0..=REPEATS {
            let Some(run) = answer(&file).with_context(|| file.name.clone())? else { break };
            runs.push(run);
        }
        if runs.is_empty() {
            println!("| {} | refused |", file.name);
            continue;
        }
        let first = runs.remove(0);
        let of = |value: &dyn Fn(&Answer) -> f64| median(runs.iter().map(value));
        let phases =
            PHASES.map(|phase| format!("{:.3}", of(&|run| 1e3 * run.phases.of(phase).as_secs_f64()))).join(" | ");
        let (code, total) = (of(&|run| 1e3 * run.phases.total().as_secs_f64()), of(&|run| run.total));
        println!(
            "| {} | {phases} | {code:.3} | {total:.3} | {:.3} | {:.4} |",
            file.name,
            first.total,
            of(&|run| run.warm)
        );
        worst = (code.max(worst.0), total.max(worst.1), first.total.max(worst.2));
    }
    println!(
        "\n{} plans; at most {:.3} to code, {:.3} to an answer, {:.3} to a first answer",
        files.len(),
        worst.0,
        worst.1,
        worst.2
    );
    Ok(())
}

/// The times from text to result, and of a further run.
struct Answer {
    phases: Timings,
    /// Milliseconds from text to result.
    total: f64,
    /// Milliseconds of one more run.
    warm: f64,
}

/// Returns `None` if the plan is rejected, because files may contain invalid plans.
fn answer(file: &PlanFile) -> Result<Option<Answer>> {
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
    Ok(Some(Answer { phases: prepared.timings().clone(), total, warm: median(warm.into_iter()) }))
}
