//! Prints a table of kernels and hand-written loops. Each kernel and its loop run in turns in this
//! process, and the table has the ratio of their times.
//!
//! Arguments select the cases whose names contain one of them; without arguments, all cases run.
//! `--code` prints the Assembly and the machine code of these cases instead.
#![allow(clippy::print_stdout, reason = "the binary prints a table")]

use anyhow::Result;
use redpoll_bench::cases::{CASES, CaseSize};
use redpoll_bench::machine::{copy_bandwidth, processor, read_bandwidth};
use redpoll_bench::pairs::Pairs;
use redpoll_kernels::cranelift::disassemble;
use std::time::Duration;

/// The same allocator as in the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BUDGET: Duration = Duration::from_secs(4);
/// Smallest number of rounds for a ratio.
const MIN_ROUNDS: usize = 5;

fn main() -> Result<()> {
    let (flags, filters): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let is_selected = |name: &str| filters.is_empty() || filters.iter().any(|part| name.contains(part));
    if flags.iter().any(|flag| flag == "--code") {
        return print_code(is_selected);
    }
    let (copy, read) = (copy_bandwidth(), read_bandwidth());
    println!("{}; copy {:.1} GB/s, read {:.1} GB/s\n", processor(), copy / 1e9, read / 1e9);
    println!(
        "| kernel | data | redpoll ms | hand ms | ratio | best ratio | GB/s | of copy | Gop/s | gather ms | rounds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for (_, make) in CASES.iter().filter(|(name, _)| is_selected(name)) {
        let Some(case) = make(CaseSize::Full)? else { continue };
        let kernel = || drop(case.kernel.run().expect("the kernel ran when the case was created"));
        let pairs = Pairs::measure(BUDGET, MIN_ROUNDS, kernel, &case.by_hand);
        let (kernel, by_hand) = pairs.best();
        let rate = case.work.bytes / kernel.as_secs_f64();
        let gather = case.gather.map_or("-".into(), |time| format!("{:.2}", 1e3 * time.as_secs_f64()));
        println!(
            "| {} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} | {:.2} | {:.2} | {gather} | {} |",
            case.name,
            case.data,
            1e3 * kernel.as_secs_f64(),
            1e3 * by_hand.as_secs_f64(),
            pairs.median_ratio(),
            pairs.best_ratio(),
            rate / 1e9,
            rate / copy,
            case.work.operations / kernel.as_secs_f64() / 1e9,
            pairs.rounds()
        );
    }
    Ok(())
}

fn print_code(is_selected: impl Fn(&str) -> bool) -> Result<()> {
    for (_, make) in CASES.iter().filter(|(name, _)| is_selected(name)) {
        let Some(case) = make(CaseSize::Small)? else { continue };
        let function = case.kernel.kernel.function();
        println!("=== {}: {}\n{function}\n{}", case.name, case.data, disassemble(function)?);
    }
    Ok(())
}
