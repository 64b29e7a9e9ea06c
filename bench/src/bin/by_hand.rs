//! Compares the optimizing tier with hand-written C, compiled by the same compiler with the same
//! flags, in turns.
//!
//! Arguments select cases whose names contain them; `--small` uses small data.
#![allow(clippy::print_stdout, reason = "the table is what the binary is for")]

use anyhow::{Result, ensure};
use redpoll_bench::cases::{CASES, Size};
use redpoll_bench::hand::c::{NAMES, by_hand};
use redpoll_bench::machine::processor;
use redpoll_bench::pairs::Pairs;
use redpoll_physical::storage::{Array, Tensor};
use std::time::Duration;

/// The allocator of the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BUDGET: Duration = Duration::from_secs(10);
/// Smallest number of pairs for a median.
const LEAST: usize = 15;

fn main() -> Result<()> {
    let (flags, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let size = if flags.iter().any(|flag| flag == "--small") { Size::Small } else { Size::Full };
    let chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    println!("{}\n", processor());
    println!("| kernel | data | optimizing ms | C by hand ms | ratio | of the best | pairs |");
    println!("|---|---|---|---|---|---|---|");
    for (name, make) in CASES.iter().filter(|(name, _)| chosen(name)) {
        let Some((_, text)) = NAMES.iter().find(|(case, _)| case == name) else { continue };
        let Some(case) = make(size)? else { continue };
        let (ours, theirs) = (case.kernel.optimizing()?, by_hand(&case.kernel, text)?);
        let (found, expected) = (ours.run()?, theirs.run()?);
        for (found, expected) in found.iter().zip(&expected) {
            ensure!(same(found, expected), "{name}: results differ");
        }
        let pairs = Pairs::measure(
            BUDGET,
            LEAST,
            || drop(ours.run().expect("it ran before")),
            || drop(theirs.run().expect("it ran before")),
        );
        let (best, by_hand) = pairs.best();
        println!(
            "| {} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {} |",
            case.name,
            case.data,
            1e3 * best.as_secs_f64(),
            1e3 * by_hand.as_secs_f64(),
            pairs.median_ratio(),
            pairs.best_ratio(),
            pairs.rounds()
        );
    }
    Ok(())
}

/// Returns whether two tensors have the same arrays.
fn same(one: &Tensor, other: &Tensor) -> bool {
    let arrays = |tensor: &Tensor| tensor.levels().iter().flatten().chain(tensor.leaf()).cloned().collect::<Vec<_>>();
    let equal = |a: &Array, b: &Array| a.len() == b.len() && (0..a.len()).all(|at| a.scalar(at) == b.scalar(at));
    arrays(one).iter().zip(&arrays(other)).all(|(a, b)| equal(a, b))
}
