//! Runs random plans, with random formats and data, in every engine. The test also checks coverage.
//!
//! A failure prints the seed and the smallest failing part of its plan, with inputs and formats. A
//! seed gives the same case on every machine; `REDPOLL_SEEDS=LOW..HIGH` selects other seeds. A C
//! compiler takes longer than everything else, so the optimizing tier runs only the first
//! `OPTIMIZED` default seeds. The tier runs all seeds that `REDPOLL_SEEDS` selects. In both cases,
//! `REDPOLL_OPTIMIZED` can set the number of seeds.

use redpoll_logic::testing::Coverage;
use redpoll_testing::engines::PhaseFailure;
use redpoll_testing::optimizing::{self, KernelSelection};
use redpoll_testing::random::{
    PlanOutcome, case_parameters, cover, describe, draw_case, optimized_seeds, requested_seeds, run, smallest_failure,
};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The default seeds.
const SEEDS: Range<u64> = 0..4500;
/// Number of default seeds that also run in the optimizing tier.
const OPTIMIZED: u64 = 240;
/// Number of neighbouring seeds whose kernels are compiled together. These groups of seeds are the
/// same in every run, so that the kernels of a group are found in the cache.
const BLOCK: u64 = 32;
/// Required number of occurrences of each covered item.
const HITS: u64 = 50;
/// Number of failures that are shown in full.
const MAX_SHOWN: usize = 8;

/// Constructs that must be covered, in addition to [`Coverage::expected`].
const CONSTRUCTS: &[&str] = &[
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
struct PlanTally {
    coverage: Coverage,
    passed: u64,
    equal: usize,
    skipped: usize,
    largest: usize,
    faulted: u64,
    rejected: u64,
    failures: Vec<(u64, PhaseFailure)>,
    /// Numbers of kernels offered to the optimizing tier, and of kernels that the tier ran.
    offered: u64,
    optimized: u64,
    /// Number of plans offered to the optimizing tier.
    plans: u64,
}

impl PlanTally {
    fn add(&mut self, checked: optimizing::TierReport) {
        self.offered += checked.offered;
        self.optimized += checked.kernels;
        let failure = |(seed, message): (Option<u64>, String)| {
            (seed.expect("kernels are labelled"), PhaseFailure { phase: "optimizing tier", message })
        };
        self.failures.extend(checked.failures.into_iter().map(failure));
    }
}

#[test]
fn random_plans_agree() {
    let requested = requested_seeds();
    let seeds = requested.clone().unwrap_or(SEEDS);
    let optimized = optimized_seeds(&seeds, OPTIMIZED);
    std::panic::set_hook(Box::new(|_| {}));
    let (next, tally) = (AtomicU64::new(seeds.start), Mutex::new(PlanTally::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let first = next.fetch_add(BLOCK, Ordering::Relaxed)
                    && first < seeds.end
                {
                    for seed in first..(first + BLOCK).min(seeds.end) {
                        optimizing::select_kernels(if optimized.contains(&seed) {
                            KernelSelection::All(seed)
                        } else {
                            KernelSelection::None
                        });
                        check_seed(seed, &tally);
                        tally.lock().expect("no thread has panicked").plans += u64::from(optimized.contains(&seed));
                    }
                    let checked = optimizing::check_recorded();
                    tally.lock().expect("no thread has panicked").add(checked);
                }
            });
        }
    });
    let _ = std::panic::take_hook();
    let mut tally = tally.into_inner().expect("no thread has panicked");
    eprintln!(
        "{} cases, {} values equal, {} not determined, {} plans fault, {} rejected; {} kernels by the optimizing tier; the \
         longest code has {} statements",
        tally.passed, tally.equal, tally.skipped, tally.faulted, tally.rejected, tally.optimized, tally.largest
    );
    report_failures(&mut tally.failures);
    assert_eq!(tally.optimized, tally.offered, "kernels that the optimizing tier did not run");
    // A plan has at least one kernel unless it is rejected.
    let min_kernels = tally.plans - tally.rejected.min(tally.plans);
    assert!(
        tally.optimized >= min_kernels,
        "{} kernels of {} plans by the optimizing tier",
        tally.optimized,
        tally.plans
    );
    if requested.is_none() {
        let mut names = Coverage::expected();
        names.extend(CONSTRUCTS.iter().map(ToString::to_string));
        let missing = tally.coverage.missing(&names, HITS);
        assert!(missing.is_empty(), "covered fewer than {HITS} times: {missing:?}");
        let limit = |percent: u64| (seeds.end - seeds.start) * percent / 100;
        assert!(tally.rejected <= limit(1), "{} of the plans are rejected", tally.rejected);
        assert!(tally.faulted <= limit(1), "{} of the plans fault", tally.faulted);
        assert!(tally.skipped * 8 < tally.equal, "too few values are determined");
    }
}

fn check_seed(seed: u64, tally: &Mutex<PlanTally>) {
    let parameters = case_parameters(seed);
    let (logic_case, case) = draw_case(seed, parameters);
    let mut covered = Vec::new();
    let outcome = run(seed, &case, |construct| covered.push(construct));
    let mut tally = tally.lock().expect("no thread has panicked");
    match outcome {
        PlanOutcome::Passed(report) => {
            if !report.faulted {
                cover(&mut tally.coverage, &logic_case, parameters);
                covered.into_iter().for_each(|construct| tally.coverage.increment(construct));
            }
            tally.passed += 1;
            tally.equal += report.compared.equal;
            tally.skipped += report.compared.skipped;
            tally.largest = tally.largest.max(report.largest);
            tally.faulted += u64::from(report.faulted);
        }
        PlanOutcome::Rejected => tally.rejected += 1,
        PlanOutcome::Failed(failure) => tally.failures.push((seed, failure)),
    }
}

fn report_failures(failures: &mut [(u64, PhaseFailure)]) {
    if failures.is_empty() {
        return;
    }
    failures.sort_by_key(|(seed, _)| *seed);
    let first = |f: &PhaseFailure| f.message.lines().next().unwrap_or("").to_owned();
    for (seed, failure) in failures.iter() {
        eprintln!("seed {seed} {:?}: {}: {}", case_parameters(*seed), failure.phase, first(failure));
    }
    optimizing::select_kernels(KernelSelection::Each);
    for (seed, failure) in failures.iter().take(MAX_SHOWN) {
        let (case, failure) = smallest_failure(*seed, draw_case(*seed, case_parameters(*seed)).1, failure.phase);
        eprintln!("--- seed {seed}, {}\n{}\n{}", failure.phase, describe(&case), failure.message);
    }
    panic!("{} seeds fail", failures.len());
}
