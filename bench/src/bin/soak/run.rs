//! Runs the cases on threads: the choice of the next block of cases, the outcome of each case, and
//! the end of the run.

use crate::kinds::{CaseFailure, CaseKind, Verdict};
use crate::report::{Failures, Tally, progress, table};
use crate::watch::{StepTask, ThreadStep, Watch};
use anyhow::Result;
use redpoll_testing::engines::run_phase;
use redpoll_testing::optimizing::{self, KernelSelection};
use redpoll_testing::programs::STACK;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Number of cases in a block. The C compiler compiles the kernels of a block together.
const BLOCK_CASES: u64 = 32;
/// Largest number of failures that are shrunk per kind and phase; shrinking all takes too long.
const MAX_SHRUNK: u64 = 10;
/// Factor from the time limit of a case to the limit for shrinking a case, or for compiling the
/// kernels of a block.
const LONG_FACTOR: u32 = 20;
/// The time between two reports of the progress.
const INTERVAL: Duration = Duration::from_secs(60);
/// The time between two checks for hanging cases.
const TICK: Duration = Duration::from_millis(200);
/// Exit status of a process that Ctrl-C ends at once.
const INTERRUPTED: i32 = 130;

/// The cases to run.
pub(crate) struct Soak {
    pub(crate) kinds: Vec<CaseKind>,
    /// The first seed of each kind.
    pub(crate) first: u64,
    /// Largest number of cases of each kind.
    pub(crate) max_cases: u64,
    pub(crate) minutes: f64,
    pub(crate) threads: usize,
    /// A block also runs in the C tier if its number among the blocks of its kind is a multiple of
    /// this number.
    pub(crate) optimized_interval: u64,
    /// Time limit of a case.
    pub(crate) case_limit: Duration,
}

/// State of a soak that its threads share.
struct SoakRun {
    soak: Soak,
    end: Instant,
    watch: Watch,
    failures: Failures,
    /// Set when no further block may begin.
    is_stopping: AtomicBool,
    running_threads: AtomicUsize,
    progress: Mutex<SoakProgress>,
}

/// The counts of a soak.
struct SoakProgress {
    /// Number of started cases of each kind.
    started: Vec<u64>,
    tallies: Vec<(CaseKind, Tally)>,
    /// Number of failures by kind and phase.
    failure_counts: HashMap<(&'static str, &'static str), u64>,
}

/// Consecutive cases of one kind, run by one thread.
struct CaseBlock {
    /// Index of the kind among the kinds that run.
    kind_index: usize,
    kind: CaseKind,
    seeds: Range<u64>,
    optimized: bool,
}

impl Soak {
    /// Runs cases until the time is over, all cases have run, or [`SoakRun::observe`] ends the run.
    pub(crate) fn run(self, failures: Failures, journal: &Path) -> Result<ExitCode> {
        std::panic::set_hook(Box::new(|_| {}));
        let interrupted = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&interrupted))?;
        let progress = SoakProgress {
            started: vec![0; self.kinds.len()],
            tallies: self.kinds.iter().map(|kind| (*kind, Tally::default())).collect(),
            failure_counts: HashMap::new(),
        };
        let run = SoakRun {
            end: Instant::now() + Duration::from_secs_f64(60.0 * self.minutes),
            watch: Watch::new(self.threads, journal)?,
            failures,
            is_stopping: AtomicBool::new(false),
            running_threads: AtomicUsize::new(self.threads),
            progress: Mutex::new(progress),
            soak: self,
        };
        std::thread::scope(|scope| {
            for thread in 0..run.soak.threads {
                let run = &run;
                let worker = move || {
                    while let Some(block) = run.next_block() {
                        run.run_block(thread, &block);
                    }
                    run.running_threads.fetch_sub(1, Ordering::Relaxed);
                };
                let builder = std::thread::Builder::new().stack_size(STACK);
                builder.spawn_scoped(scope, worker).expect("the system can start a thread");
            }
            run.observe(&interrupted);
        });
        Ok(run.finish())
    }
}

impl SoakRun {
    /// Takes the next block of the kind that is the farthest behind its share.
    fn next_block(&self) -> Option<CaseBlock> {
        if self.is_stopping.load(Ordering::Relaxed) || Instant::now() >= self.end {
            return None;
        }
        let soak = &self.soak;
        let mut progress = self.progress.lock().expect("no thread has panicked");
        let candidates = (0..soak.kinds.len()).filter(|index| progress.started[*index] < soak.max_cases);
        // Compares started / share without a division.
        let kind_index = candidates.min_by(|a, b| {
            let scaled = |index: usize, other: usize| {
                u128::from(progress.started[index]) * u128::from(soak.kinds[other].share())
            };
            scaled(*a, *b).cmp(&scaled(*b, *a))
        })?;
        let started = progress.started[kind_index];
        let end = (started + BLOCK_CASES).min(soak.max_cases);
        progress.started[kind_index] = end;
        let seeds = soak.first + started..soak.first + end;
        Some(CaseBlock {
            kind_index,
            kind: soak.kinds[kind_index],
            seeds,
            optimized: (started / BLOCK_CASES).is_multiple_of(soak.optimized_interval),
        })
    }

    fn run_block(&self, thread: usize, block: &CaseBlock) {
        let CaseBlock { kind_index, kind, optimized, .. } = *block;
        let mut tally = Tally::default();
        for seed in block.seeds.clone() {
            optimizing::select_kernels(if optimized { KernelSelection::All(seed) } else { KernelSelection::None });
            match self.run_case(thread, kind, seed) {
                Verdict::Agreed => tally.agreed += 1,
                Verdict::Skipped => tally.skipped += 1,
                Verdict::Failed(failure) => {
                    tally.failed += 1;
                    self.report(thread, kind, seed, failure);
                }
            }
        }
        let step = ThreadStep { kind, seed: block.seeds.start, task: StepTask::Compile };
        self.watch.begin(thread, step, LONG_FACTOR * self.soak.case_limit);
        let result = optimizing::check_recorded();
        tally.kernels += result.kernels;
        for (label, message) in result.failures {
            tally.failed += 1;
            tally.agreed = tally.agreed.saturating_sub(1);
            self.report_kernel(thread, kind, label.unwrap_or(block.seeds.start), message);
        }
        self.watch.end(thread);
        let mut progress = self.progress.lock().expect("no thread has panicked");
        let total = &mut progress.tallies[kind_index].1;
        total.agreed += tally.agreed;
        total.skipped += tally.skipped;
        total.failed += tally.failed;
        total.kernels += tally.kernels;
        total.seeds.add(block.seeds.clone());
    }

    fn run_case(&self, thread: usize, kind: CaseKind, seed: u64) -> Verdict {
        self.watch.begin(thread, ThreadStep { kind, seed, task: StepTask::Run }, self.soak.case_limit);
        match run_phase("outside of phases", || Ok(kind.run(seed))) {
            Ok(verdict) => verdict,
            Err(failure) => {
                let (phase, message) = (failure.phase, failure.message);
                let shrink = Box::new(|| "no smaller case was searched for".to_owned());
                Verdict::Failed(CaseFailure { phase, message, shrink })
            }
        }
    }

    /// Reports a kernel that fails in the C tier. Searches for a smaller case if the seed also
    /// fails without the other cases of its block.
    fn report_kernel(&self, thread: usize, kind: CaseKind, seed: u64, message: String) {
        optimizing::select_kernels(KernelSelection::Each);
        match run_phase("outside of phases", || Ok(kind.run(seed))) {
            Ok(Verdict::Failed(failure)) => self.report(thread, kind, seed, failure),
            _ => {
                let shrink = Box::new(|| "the seed fails only together with the other cases of its block".to_owned());
                self.report(thread, kind, seed, CaseFailure { phase: "optimizing tier", message, shrink });
            }
        }
    }

    /// Reports a case that fails, then a smaller case that fails in the same phase. Only the first
    /// [`MAX_SHRUNK`] failures of a kind and phase are shrunk.
    fn report(&self, thread: usize, kind: CaseKind, seed: u64, failure: CaseFailure) {
        let CaseFailure { phase, message, shrink } = failure;
        let title = format!("{}, seed {seed}: {phase}", kind.name());
        let count = {
            let mut progress = self.progress.lock().expect("no thread has panicked");
            let count = progress.failure_counts.entry((kind.name(), phase)).or_default();
            *count += 1;
            *count
        };
        if count > MAX_SHRUNK {
            return self.failures.print(&title, &message);
        }
        self.failures
            .print(&title, &format!("{}\nsearching for a smaller case", message.lines().next().unwrap_or_default()));
        self.watch.begin(thread, ThreadStep { kind, seed, task: StepTask::Shrink }, LONG_FACTOR * self.soak.case_limit);
        let smaller = run_phase(phase, || Ok(shrink()));
        let text = smaller.unwrap_or_else(|failure| format!("{message}\nno smaller case: {}", failure.message));
        self.failures.print(&format!("{title}, shrunk"), &text);
    }

    /// Watches the threads until all have ended. Reports the progress, and ends the process if a
    /// case hangs. The first Ctrl-C, or the end of the parent process, ends the run after the
    /// current blocks; a second Ctrl-C ends the process at once.
    fn observe(&self, interrupted: &AtomicBool) {
        let parent = parent_process();
        let (start, mut reported) = (Instant::now(), Instant::now());
        while self.running_threads.load(Ordering::Relaxed) > 0 {
            std::thread::sleep(TICK);
            let hanging = self.watch.hanging_steps();
            if !hanging.is_empty() {
                for step in hanging {
                    self.failures.print(&format!("hang in {}", step.name()), &step.kind.text(step.seed));
                }
                self.finish();
                std::process::exit(1);
            }
            if interrupted.swap(false, Ordering::Relaxed) {
                if self.is_stopping.swap(true, Ordering::Relaxed) {
                    self.finish();
                    std::process::exit(INTERRUPTED);
                }
                eprintln!("finishing the current blocks; press Ctrl-C again to stop at once");
            }
            if parent != parent_process() {
                self.is_stopping.store(true, Ordering::Relaxed);
            }
            if reported.elapsed() >= INTERVAL {
                reported = Instant::now();
                let tallies = &self.progress.lock().expect("no thread has panicked").tallies;
                eprintln!("{:.0} min: {}", start.elapsed().as_secs_f64() / 60.0, progress(tallies));
            }
        }
    }

    /// Prints the counts; returns the status of the process.
    fn finish(&self) -> ExitCode {
        let tallies = &self.progress.lock().expect("no thread has panicked").tallies;
        println!("{}", table(tallies));
        if tallies.iter().any(|(_, tally)| tally.failed > 0) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Returns the id of the parent process. The id changes when the parent ends.
#[cfg(unix)]
fn parent_process() -> u32 {
    std::os::unix::process::parent_id()
}

#[cfg(not(unix))]
fn parent_process() -> u32 {
    0
}
