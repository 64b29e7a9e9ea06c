//! Compares the optimizing tier with the instant one: times of compilations, and runs in turns.
//!
//! Arguments select cases whose names contain them; `--code` prints the C text of these cases
//! instead.
#![allow(clippy::print_stdout, reason = "the table is what the binary is for")]

use anyhow::Result;
use redpoll_bench::cases::{CASES, Size};
use redpoll_bench::machine::processor;
use redpoll_bench::pairs::Pairs;
use redpoll_physical::emit::c;
use redpoll_physical::emit::cranelift::{self, Effort};
use std::time::{Duration, Instant};

/// The allocator of the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BUDGET: Duration = Duration::from_secs(3);
/// Smallest number of rounds for a ratio.
const LEAST: usize = 5;

fn main() -> Result<()> {
    let (flags, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let code = flags.iter().any(|flag| flag == "--code");
    let chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    if !code {
        println!("{}\n", processor());
        println!(
            "| kernel | data | cranelift ms | emit ms | compiler ms | instant ms | optimizing ms | ratio | rounds |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
    }
    for (_, make) in CASES.iter().filter(|(name, _)| chosen(name)) {
        let Some(case) = make(if code { Size::Small } else { Size::Full })? else { continue };
        let function = case.kernel.kernel.function();
        if code {
            println!("// {}: {}\n{}", case.name, case.data, c::emit(&[function])?);
            continue;
        }
        let (instant, _) = timed(|| cranelift::compile(function, Effort::Full).is_ok());
        let (emit, _) = timed(|| c::emit(&[function]).is_ok());
        let (compile, optimizing) = timed(|| case.kernel.optimizing());
        let optimizing = optimizing?;
        let pairs = Pairs::measure(
            BUDGET,
            LEAST,
            || drop(optimizing.run().expect("kernels run")),
            || drop(case.kernel.run().expect("kernels run")),
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

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}
