//! Compares kernels of the optimizing tier with hand-written C, compiled by the same compiler with
//! the same flags. Both run in turns.
//!
//! Arguments select the cases whose names contain one of them; without arguments, all cases run.
//! Cases without C text are left out. `--small` uses small data.
#![allow(clippy::print_stdout, reason = "the binary prints a table")]

use anyhow::{Result, ensure};
use redpoll_bench::cases::{CASES, CaseSize};
use redpoll_bench::hand::c::{NAMES, compile_by_hand};
use redpoll_bench::machine::processor;
use redpoll_bench::pairs::Pairs;
use redpoll_storage::{Array, Tensor};
use std::time::Duration;

/// The same allocator as in the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BUDGET: Duration = Duration::from_secs(10);
/// Smallest number of rounds of a case, each of which runs both sides.
const MIN_PAIRS: usize = 15;

fn main() -> Result<()> {
    let (flags, filters): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let size = if flags.iter().any(|flag| flag == "--small") { CaseSize::Small } else { CaseSize::Full };
    let is_selected = |name: &str| filters.is_empty() || filters.iter().any(|part| name.contains(part));
    println!("{}\n", processor());
    println!("| kernel | data | optimizing ms | C by hand ms | ratio | best ratio | pairs |");
    println!("|---|---|---|---|---|---|---|");
    for (name, make) in CASES.iter().filter(|(name, _)| is_selected(name)) {
        let Some((_, text)) = NAMES.iter().find(|(case, _)| case == name) else { continue };
        let Some(case) = make(size)? else { continue };
        let (optimizing, by_hand) = (case.kernel.compile_optimizing()?, compile_by_hand(&case.kernel, text)?);
        let (found, expected) = (optimizing.run()?, by_hand.run()?);
        for (found, expected) in found.iter().zip(&expected) {
            ensure!(is_same(found, expected), "{name}: results differ");
        }
        let pairs = Pairs::measure(
            BUDGET,
            MIN_PAIRS,
            || drop(optimizing.run().expect("the kernel ran before")),
            || drop(by_hand.run().expect("the kernel ran before")),
        );
        let (optimizing, by_hand) = pairs.best();
        println!(
            "| {} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {} |",
            case.name,
            case.data,
            1e3 * optimizing.as_secs_f64(),
            1e3 * by_hand.as_secs_f64(),
            pairs.median_ratio(),
            pairs.best_ratio(),
            pairs.rounds()
        );
    }
    Ok(())
}

/// Returns whether two tensors have the same arrays.
fn is_same(one: &Tensor, other: &Tensor) -> bool {
    let arrays = |tensor: &Tensor| tensor.levels().iter().flatten().chain(tensor.leaf()).cloned().collect::<Vec<_>>();
    let equal = |a: &Array, b: &Array| a.len() == b.len() && (0..a.len()).all(|k| a.scalar(k) == b.scalar(k));
    arrays(one).iter().zip(&arrays(other)).all(|(a, b)| equal(a, b))
}
