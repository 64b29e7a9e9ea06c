//! Runs random cases of every kind for a given time: plans and programs on every engine, lazy
//! arrays compared with plain arithmetic, and damaged files of every format. With the feature
//! `sql`, queries are also compared with plain DataFusion.
//!
//! ```text
//! cargo run --release -p redpoll-bench --bin soak --features sql -- --minutes 60 --failures f.txt
//! cargo run --release -p redpoll-bench --bin soak -- --only programs --only files --cases 100000
//! ```
//! A seed gives the same case on every machine. The program prints each failure as soon as it is
//! found. For the first ten failures of a kind and phase, a smaller case follows as a
//! self-contained text. The output ends, also after Ctrl-C, with a table of the counts and seeds of
//! each kind, like the table in `tests/README.md`. Progress goes to standard error. The status is 1
//! if a case failed. A case that hangs or ends the process is a failure and ends the run. If
//! a case ends the process, no table is printed.
#![allow(clippy::print_stdout, reason = "the binary prints a report")]

mod kinds;
mod report;
mod run;
mod supervise;
mod watch;

use anyhow::Result;
use clap::Parser;
use kinds::CaseKind;
use report::Failures;
use run::Soak;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The same allocator as in the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs random cases of every kind for a given time.
#[derive(Parser)]
#[command(name = "soak", version, about)]
struct Cli {
    /// Minutes after which no more cases start
    #[arg(long, default_value_t = 60.0)]
    minutes: f64,
    /// Largest number of cases of each kind
    #[arg(long)]
    cases: Option<u64>,
    /// First seed of each kind
    #[arg(long, default_value_t = 1_000_000)]
    first: u64,
    /// A kind of cases to run; repeat the option for several kinds; all kinds by default
    #[arg(long)]
    only: Vec<CaseKind>,
    /// Number of threads; the number of cores by default
    #[arg(long)]
    threads: Option<NonZero<usize>>,
    /// Run every Nth block of 32 cases of a kind in the C tier as well; the C tier takes most of
    /// the time
    #[arg(long, default_value_t = NonZero::new(8).expect("a constant"))]
    optimized_interval: NonZero<u64>,
    /// Append every failure to this file
    #[arg(long)]
    failures: Option<PathBuf>,
    /// Seconds after which a case is reported as hanging
    #[arg(long, default_value_t = 60)]
    hang: u64,
}

fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    let failures = Failures::open(cli.failures.as_deref())?;
    let Some(journal) = supervise::journal() else { return supervise::supervise(&failures) };
    let mut kinds: Vec<CaseKind> = CaseKind::ALL.to_vec();
    kinds.retain(|kind| cli.only.is_empty() || cli.only.contains(kind));
    let soak = Soak {
        kinds,
        first: cli.first,
        max_cases: cli.cases.unwrap_or(u64::MAX),
        minutes: cli.minutes,
        threads: cli.threads.or(std::thread::available_parallelism().ok()).map_or(1, NonZero::get),
        optimized_interval: cli.optimized_interval.get(),
        case_limit: Duration::from_secs(cli.hang),
    };
    soak.run(failures, &journal)
}
