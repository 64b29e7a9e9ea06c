//! Runs random programs, with random schedules, formats and data, in every engine. The test also
//! checks coverage.
//!
//! The interpreter of Notation gives the expected results: it runs the program over dense tensors,
//! without the schedule. A failure prints the seed and a smaller program that fails in the same
//! phase, with its inputs. A seed gives the same program on every machine;
//! `REDPOLL_SEEDS=LOW..HIGH` selects other seeds. The optimizing tier runs the kernels of all
//! seeds, or of the first `REDPOLL_OPTIMIZED` seeds, except long kernels.

use redpoll_logic::testing::Coverage;
use redpoll_testing::engines::PhaseFailure;
use redpoll_testing::optimizing::{self, KernelSelection};
use redpoll_testing::programs::{
    ProgramCase, ProgramConfig, ProgramOutcome, STACK, cover, expected, random_case, redraw_formats, run,
    smallest_failure,
};
use redpoll_testing::random::{optimized_seeds, requested_seeds};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The default seeds.
const SEEDS: Range<u64> = 0..3000;
/// Number of formats of every `FORMATS_PERIOD`-th program; the other programs run in one format
/// each.
const FORMATS: u64 = 2;
const FORMATS_PERIOD: u64 = 4;
/// Number of neighbouring seeds whose kernels are compiled together.
const BLOCK: u64 = 25;
/// Required number of occurrences of each covered item.
const HITS: u64 = 5;
/// Number of failures that are shown in full.
const MAX_SHOWN: usize = 8;

#[derive(Default)]
struct ProgramTally {
    coverage: Coverage,
    programs: u64,
    runs: u64,
    equal: usize,
    stored: usize,
    /// Number of rejected runs, by rule.
    rejected: BTreeMap<String, u64>,
    undefined: u64,
    largest: usize,
    /// Numbers of kernels offered to the optimizing tier, and of kernels that the tier ran.
    offered: u64,
    optimized: u64,
    failures: Vec<(u64, PhaseFailure)>,
}

/// Returns the program of a seed in one of its formats.
fn draw_case(seed: u64, format: u64) -> ProgramCase {
    let case = random_case(seed, &ProgramConfig::default());
    if format == 0 { case } else { redraw_formats(seed * FORMATS + format, &case) }
}

/// Returns the label of a run.
fn label(seed: u64, format: u64) -> u64 {
    seed * FORMATS + format
}

#[test]
fn random_programs_agree() {
    let requested = requested_seeds();
    let seeds = requested.clone().unwrap_or(SEEDS);
    let optimized = optimized_seeds(&seeds, u64::MAX);
    if std::env::var_os("REDPOLL_PANICS").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let (next, tally) = (AtomicU64::new(seeds.start), Mutex::new(ProgramTally::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let worker = || {
                while let first = next.fetch_add(BLOCK, Ordering::Relaxed)
                    && first < seeds.end
                {
                    for seed in first..(first + BLOCK).min(seeds.end) {
                        check_seed(seed, optimized.contains(&seed), &tally);
                    }
                    let checked = optimizing::check_recorded();
                    let mut tally = tally.lock().expect("no thread has panicked");
                    tally.offered += checked.offered;
                    tally.optimized += checked.kernels;
                    let failure = |(label, message): (Option<u64>, String)| {
                        (label.expect("kernels are labelled"), PhaseFailure { phase: "optimizing tier", message })
                    };
                    tally.failures.extend(checked.failures.into_iter().map(failure));
                }
            };
            let thread = std::thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, worker).expect("a thread starts");
        }
    });
    let _ = std::panic::take_hook();
    let mut tally = tally.into_inner().expect("no thread has panicked");
    eprintln!(
        "{} programs, {} runs, {} values equal, {} of them not the fill value; {} undefined, rejected: {:?}; {} kernels by \
         the optimizing tier; the longest code has {} statements",
        tally.programs,
        tally.runs,
        tally.equal,
        tally.stored,
        tally.undefined,
        tally.rejected,
        tally.optimized,
        tally.largest
    );
    if std::env::var_os("REDPOLL_COVERAGE").is_some() {
        eprintln!("{}", tally.coverage);
    }
    report_failures(&mut tally.failures);
    assert_eq!(tally.optimized, tally.offered, "kernels that the optimizing tier did not run");
    if requested.is_none() {
        let missing = tally.coverage.missing(&expected(), HITS);
        assert!(missing.is_empty(), "covered fewer than {HITS} times: {missing:?}");
        let rejected: u64 = tally.rejected.values().sum();
        assert!(rejected * 100 <= tally.runs, "{rejected} of {} runs are rejected", tally.runs);
        assert!(tally.undefined * 100 <= tally.runs, "{} of {} runs are undefined", tally.undefined, tally.runs);
        assert!(tally.optimized * 2 > tally.runs, "{} of {} kernels are short", tally.optimized, tally.runs);
        assert!(tally.stored * 5 > tally.equal, "too few values differ from the fill value");
    }
}

fn check_seed(seed: u64, optimized: bool, tally: &Mutex<ProgramTally>) {
    let first = draw_case(seed, 0);
    let formats = if seed.is_multiple_of(FORMATS_PERIOD) { FORMATS } else { 1 };
    for format in 0..formats {
        let label = label(seed, format);
        optimizing::select_kernels(if optimized { KernelSelection::All(label) } else { KernelSelection::None });
        let case = if format == 0 { first.clone() } else { redraw_formats(label, &first) };
        let outcome = run(&case);
        let mut tally = tally.lock().expect("no thread has panicked");
        tally.programs += u64::from(format == 0);
        tally.runs += 1;
        match outcome {
            ProgramOutcome::Passed(checked) => {
                cover(&mut tally.coverage, &case);
                tally.equal += checked.equal;
                tally.stored += checked.stored;
                tally.largest = tally.largest.max(checked.statements);
            }
            ProgramOutcome::Rejected(rejection) => {
                let rule = rejection.rule.map_or("other".to_owned(), |rule| format!("{rule:?}"));
                if std::env::var_os("REDPOLL_REJECTIONS").is_some() {
                    eprintln!("seed {seed}: {}", rejection.message);
                }
                *tally.rejected.entry(rule).or_default() += 1;
            }
            ProgramOutcome::Undefined(_) => tally.undefined += 1,
            ProgramOutcome::Failed(failure) => tally.failures.push((label, failure)),
        }
    }
}

fn report_failures(failures: &mut [(u64, PhaseFailure)]) {
    if failures.is_empty() {
        return;
    }
    failures.sort_by_key(|(label, _)| *label);
    for (label, failure) in failures.iter() {
        let first = failure.message.lines().next().unwrap_or_default();
        eprintln!("seed {} format {}: {}: {first}", label / FORMATS, label % FORMATS, failure.phase);
    }
    std::panic::set_hook(Box::new(|_| {}));
    optimizing::select_kernels(KernelSelection::None);
    // Show one failure of each phase first.
    let mut phases: Vec<&str> = Vec::new();
    let (mut first_of_phase, mut others): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
    for (label, failure) in failures.iter() {
        let list = if phases.contains(&failure.phase) { &mut others } else { &mut first_of_phase };
        phases.push(failure.phase);
        list.push((*label, failure));
    }
    for (label, failure) in first_of_phase.into_iter().chain(others).take(MAX_SHOWN) {
        optimizing::select_kernels(if failure.phase == "optimizing tier" {
            KernelSelection::Each
        } else {
            KernelSelection::None
        });
        let full_case = draw_case(label / FORMATS, label % FORMATS);
        let (case, failure) =
            smallest_failure(&full_case, PhaseFailure { phase: failure.phase, message: failure.message.clone() });
        let message: String = failure.message.lines().take(3).collect::<Vec<_>>().join("\n");
        eprintln!("--- seed {} format {}, {}\n{case}{message}\n", label / FORMATS, label % FORMATS, failure.phase);
    }
    let _ = std::panic::take_hook();
    panic!("{} runs fail", failures.len());
}
