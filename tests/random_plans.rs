//! Random plans over random formats and data through every engine, with assertions about coverage.
//!
//! A failure prints the seed and the smallest failing part of its plan, with inputs and formats. A
//! seed gives the same case on every machine; `REDPOLL_SEEDS=LOW..HIGH` selects other seeds. A C
//! compiler takes longer than everything else, so the optimizing tier only runs the first of the
//! default seeds; `REDPOLL_OPTIMIZED` sets their number. The tier runs all seeds that are selected.

use redpoll_logic::testing::Coverage;
use redpoll_testing::engines::Failure;
use redpoll_testing::optimizing::{self, Taken};
use redpoll_testing::random::{
    Outcome, asked_seeds, case, cover, describe, flavour, optimized_seeds, run, smallest_failure,
};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The default seeds.
const SEEDS: Range<u64> = 0..4500;
/// Number of default seeds that also run in the optimizing tier.
const OPTIMIZED: u64 = 600;
/// Number of neighbouring seeds whose kernels are compiled together. Blocks are the same in every
/// run, so that cached kernels are found.
const BLOCK: u64 = 32;
/// Required number of occurrences of each covered item.
const HITS: u64 = 50;
/// Number of failures that are shown in full.
const SHOWN: usize = 8;

/// Covered items in addition to those of plans and data.
const ALSO: &[&str] = &[
    "read Dense",
    "read SparseList",
    "read Coordinates",
    "read Singleton",
    "read Hash",
    "read ByteMap",
    "write Dense",
    "write SparseList",
    "write Coordinates",
    "write Singleton",
    "write Hash",
    "write ByteMap",
    "workspace Dense",
    "workspace Hash",
    "workspace ByteMap",
    "protocol Walk",
    "protocol Gallop",
    "protocol Follow",
    "leaf Pattern",
    "leaf Element",
    "leaf Element of pairs",
    "modes permuted",
    "modes in blocks",
    "modes skewed",
    "case empty tensor",
    "fill nan",
    "data Exact",
    "data General",
    "data Special",
    "mode Relaxed",
    "mode StrictIeee",
    "rewritten",
];

#[derive(Default)]
struct Tally {
    coverage: Coverage,
    done: u64,
    equal: usize,
    skipped: usize,
    largest: usize,
    faulted: u64,
    refused: u64,
    failures: Vec<(u64, Failure)>,
    /// Numbers of kernels offered to the optimizing tier, and of kernels that it ran.
    offered: u64,
    optimized: u64,
    /// Number of plans offered to the optimizing tier.
    plans: u64,
}

impl Tally {
    fn add(&mut self, checked: optimizing::Checked) {
        self.offered += checked.offered;
        self.optimized += checked.kernels;
        let failure = |(seed, what): (Option<u64>, String)| {
            (seed.expect("kernels are labelled"), Failure { phase: "optimizing tier", what })
        };
        self.failures.extend(checked.failures.into_iter().map(failure));
    }
}

#[test]
fn random_plans_agree() {
    let asked = asked_seeds();
    let seeds = asked.clone().unwrap_or(SEEDS);
    let optimized = optimized_seeds(&seeds, OPTIMIZED);
    std::panic::set_hook(Box::new(|_| {}));
    let (next, tally) = (AtomicU64::new(seeds.start), Mutex::new(Tally::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let first = next.fetch_add(BLOCK, Ordering::Relaxed)
                    && first < seeds.end
                {
                    for seed in first..(first + BLOCK).min(seeds.end) {
                        optimizing::take(if optimized.contains(&seed) { Taken::All(seed) } else { Taken::None });
                        check_seed(seed, &tally);
                        tally.lock().expect("no thread has panicked").plans += u64::from(optimized.contains(&seed));
                    }
                    let checked = optimizing::finish();
                    tally.lock().expect("no thread has panicked").add(checked);
                }
            });
        }
    });
    let _ = std::panic::take_hook();
    let mut tally = tally.into_inner().expect("no thread has panicked");
    eprintln!(
        "{} cases, {} values equal, {} not determined, {} plans fault, {} refused; {} kernels by the optimizing tier; the \
         longest code has {} statements",
        tally.done, tally.equal, tally.skipped, tally.faulted, tally.refused, tally.optimized, tally.largest
    );
    report_failures(&mut tally.failures);
    assert_eq!(tally.optimized, tally.offered, "kernels that the optimizing tier did not run");
    // A plan has at least one kernel unless it is rejected.
    let least = tally.plans - tally.refused.min(tally.plans);
    assert!(tally.optimized >= least, "{} kernels of {} plans by the optimizing tier", tally.optimized, tally.plans);
    if asked.is_none() {
        let mut names = Coverage::expected();
        names.extend(ALSO.iter().map(ToString::to_string));
        let missing = tally.coverage.missing(&names, HITS);
        assert!(missing.is_empty(), "covered fewer than {HITS} times: {missing:?}");
        let most = |percent: u64| (seeds.end - seeds.start) * percent / 100;
        assert!(tally.refused <= most(1), "{} of the plans are refused", tally.refused);
        assert!(tally.faulted <= most(1), "{} of the plans fault", tally.faulted);
        assert!(tally.skipped * 8 < tally.equal, "too few values say something");
    }
}

fn check_seed(seed: u64, tally: &Mutex<Tally>) {
    let flavour = flavour(seed);
    let (drawn, case) = case(seed, flavour);
    let mut covered = Vec::new();
    let outcome = run(seed, &case, |what| covered.push(what));
    let mut tally = tally.lock().expect("no thread has panicked");
    match outcome {
        Outcome::Done(report) => {
            if !report.faulted {
                cover(&mut tally.coverage, &drawn, flavour);
                covered.into_iter().for_each(|what| tally.coverage.increment(what));
            }
            tally.done += 1;
            tally.equal += report.compared.equal;
            tally.skipped += report.compared.skipped;
            tally.largest = tally.largest.max(report.largest);
            tally.faulted += u64::from(report.faulted);
        }
        Outcome::Refused => tally.refused += 1,
        Outcome::Failed(failure) => tally.failures.push((seed, failure)),
    }
}

fn report_failures(failures: &mut [(u64, Failure)]) {
    if failures.is_empty() {
        return;
    }
    failures.sort_by_key(|(seed, _)| *seed);
    let first = |f: &Failure| f.what.lines().next().unwrap_or("").to_owned();
    for (seed, failure) in failures.iter() {
        eprintln!("seed {seed} {:?}: {}: {}", flavour(*seed), failure.phase, first(failure));
    }
    optimizing::take(Taken::Each);
    for (seed, failure) in failures.iter().take(SHOWN) {
        let (case, failure) = smallest_failure(*seed, case(*seed, flavour(*seed)).1, failure.phase);
        eprintln!("--- seed {seed}, {}\n{}\n{}", failure.phase, describe(&case), failure.what);
    }
    panic!("{} seeds fail", failures.len());
}
