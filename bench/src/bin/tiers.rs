//! Compares the optimizing tier with the instant tier: times of compilations, and times of runs in
//! turns.
//!
//! Arguments select the cases whose names contain one of them; without arguments, all cases run.
//! `--code` prints the C text of these cases instead.
#![allow(clippy::print_stdout, reason = "the binary prints a table")]

use anyhow::Result;
use redpoll_bench::cases::{CASES, CaseSize};
use redpoll_bench::machine::processor;
use redpoll_bench::pairs::Pairs;
use redpoll_kernels::c;
use redpoll_kernels::cranelift::{self, Effort};
use std::time::{Duration, Instant};

/// The same allocator as in the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BUDGET: Duration = Duration::from_secs(3);
/// Smallest number of rounds for a ratio.
const MIN_ROUNDS: usize = 5;

fn main() -> Result<()> {
    let (flags, filters): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let code = flags.iter().any(|flag| flag == "--code");
    let is_selected = |name: &str| filters.is_empty() || filters.iter().any(|part| name.contains(part));
    if !code {
        println!("{}\n", processor());
        println!(
            "| kernel | data | cranelift ms | emit ms | compiler ms | instant ms | optimizing ms | ratio | rounds |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
    }
    for (_, make) in CASES.iter().filter(|(name, _)| is_selected(name)) {
        let Some(case) = make(if code { CaseSize::Small } else { CaseSize::Full })? else { continue };
        let function = case.kernel.kernel.function();
        if code {
            println!("// {}: {}\n{}", case.name, case.data, c::emit(&[function])?);
            continue;
        }
        let (instant, _) = measure_call(|| cranelift::compile(function, Effort::Full).is_ok());
        let (emit, _) = measure_call(|| c::emit(&[function]).is_ok());
        let (compile, optimizing) = measure_call(|| case.kernel.compile_optimizing());
        let optimizing = optimizing?;
        let pairs = Pairs::measure(
            BUDGET,
            MIN_ROUNDS,
            || drop(optimizing.run().expect("the kernel ran when the case was created")),
            || drop(case.kernel.run().expect("the kernel ran when the case was created")),
        );
        let (c, cranelift) = pairs.best();
        let ratio = pairs.median_ratio();
        let [instant, emit, compile, cranelift, c] =
            [instant, emit, compile, cranelift, c].map(|t| 1e3 * t.as_secs_f64());
        println!(
            "| {} | {} | {instant:.2} | {emit:.2} | {compile:.0} | {cranelift:.2} | {c:.2} | {ratio:.2} | {} |",
            case.name,
            case.data,
            pairs.rounds()
        );
    }
    Ok(())
}

fn measure_call<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}
