//! Random cases of every kind for a given time: plans and programs through every engine, lazy
//! arrays beside plain arithmetic, damaged files of every format, and with the feature `sql`
//! queries beside plain DataFusion.
//!
//! ```text
//! cargo run --release -p redpoll-bench --bin soak --features sql -- --minutes 60 --failures f.txt
//! cargo run --release -p redpoll-bench --bin soak -- --only programs --only files --cases 100000
//! ```
//! A seed gives the same case on every machine. Standard output has each failure as soon as it is
//! found, as a small self-contained text. At the end, or at Ctrl-C, it has a table of the counts
//! and seeds of each kind, like the table in `tests/README.md`. Standard error has the progress.
//! The status is 1 if a case failed. A case that hangs or ends the process is a failure and ends
//! the run.
#![allow(clippy::print_stdout, reason = "the report is what the binary is for")]

mod kinds;
mod report;
mod run;
mod supervise;
mod watch;

use anyhow::Result;
use clap::Parser;
use kinds::Kind;
use report::Failures;
use run::Soak;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Parser)]
struct Arguments {
    /// Minutes after which no more cases begin.
    #[arg(long, default_value_t = 60.0)]
    minutes: f64,
    /// Number of cases of each kind at most.
    #[arg(long)]
    cases: Option<u64>,
    /// The first seed of each kind.
    #[arg(long, default_value_t = 1_000_000)]
    first: u64,
    /// A kind of cases to run, once for each; without it all kinds run.
    #[arg(long)]
    only: Vec<Kind>,
    /// Number of threads; without it as many as the machine has.
    #[arg(long)]
    threads: Option<NonZero<usize>>,
    /// A file to which every failure is appended.
    #[arg(long)]
    failures: Option<PathBuf>,
    /// Seconds after which a case is reported as hanging.
    #[arg(long, default_value_t = 60)]
    hang: u64,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let failures = Failures::open(arguments.failures.as_deref())?;
    let Some(journal) = supervise::journal() else { return supervise::supervise(&failures) };
    let mut kinds: Vec<Kind> = Kind::ALL.to_vec();
    kinds.retain(|kind| arguments.only.is_empty() || arguments.only.contains(kind));
    let soak = Soak {
        kinds,
        first: arguments.first,
        most: arguments.cases.unwrap_or(u64::MAX),
        minutes: arguments.minutes,
        threads: arguments.threads.or(std::thread::available_parallelism().ok()).map_or(1, NonZero::get),
        patience: Duration::from_secs(arguments.hang),
    };
    soak.run(failures, &journal)
}
