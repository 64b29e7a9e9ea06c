//! Runs the cases on threads: the choice of the next block, the outcome of each case, and the end
//! of the run.

use crate::kinds::{Kind, Verdict, Wrong};
use crate::report::{Failures, Tally, progress, table};
use crate::watch::{Step, Task, Watch};
use anyhow::Result;
use redpoll_testing::engines::phase as in_phase;
use redpoll_testing::optimizing::{self, Taken};
use redpoll_testing::programs::STACK;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Number of cases in a block, whose kernels the C compiler gets at once.
const BLOCK: u64 = 32;
/// Number of blocks of a kind of which one goes through the C tier.
const OPTIMIZED: u64 = 8;
/// Number of failures of a kind in one phase that are shrunk; shrinking all takes too long.
const SHRUNK: u64 = 10;
/// Time limit for shrinking a case, and for compiling the kernels of a block, in time limits of a
/// case.
const LONG: u32 = 20;
/// The time between two reports of the progress.
const INTERVAL: Duration = Duration::from_secs(60);
/// The time between two checks for hanging cases.
const TICK: Duration = Duration::from_millis(200);
/// The status of a process that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

/// The cases to run.
pub(crate) struct Soak {
    pub(crate) kinds: Vec<Kind>,
    /// The first seed of each kind.
    pub(crate) first: u64,
    /// Number of cases of each kind at most.
    pub(crate) most: u64,
    pub(crate) minutes: f64,
    pub(crate) threads: usize,
    /// Time limit of a case.
    pub(crate) patience: Duration,
}

/// State shared by the threads.
struct Shared {
    soak: Soak,
    end: Instant,
    watch: Watch,
    failures: Failures,
    /// Set when no more blocks begin.
    stopping: AtomicBool,
    running: AtomicUsize,
    state: Mutex<State>,
}

struct State {
    /// Number of cases of each kind that have begun.
    begun: Vec<u64>,
    tallies: Vec<(Kind, Tally)>,
    /// Number of failures by kind and phase.
    alike: HashMap<(&'static str, &'static str), u64>,
}

/// Cases of one kind that one thread runs.
struct Block {
    /// Index of the kind among the kinds that run.
    turn: usize,
    kind: Kind,
    seeds: Range<u64>,
    optimized: bool,
}

impl Soak {
    /// Runs the cases until the time is over, all have run, or Ctrl-C is heard.
    pub(crate) fn run(self, failures: Failures, journal: &Path) -> Result<ExitCode> {
        std::panic::set_hook(Box::new(|_| {}));
        let interrupted = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&interrupted))?;
        let state = State {
            begun: vec![0; self.kinds.len()],
            tallies: self.kinds.iter().map(|kind| (*kind, Tally::default())).collect(),
            alike: HashMap::new(),
        };
        let shared = Shared {
            end: Instant::now() + Duration::from_secs_f64(60.0 * self.minutes),
            watch: Watch::new(self.threads, journal)?,
            failures,
            stopping: AtomicBool::new(false),
            running: AtomicUsize::new(self.threads),
            state: Mutex::new(state),
            soak: self,
        };
        std::thread::scope(|scope| {
            for thread in 0..shared.soak.threads {
                let shared = &shared;
                let worker = move || {
                    while let Some(block) = shared.next_block() {
                        shared.run_block(thread, &block);
                    }
                    shared.running.fetch_sub(1, Ordering::Relaxed);
                };
                let builder = std::thread::Builder::new().stack_size(STACK);
                builder.spawn_scoped(scope, worker).expect("a thread starts");
            }
            shared.observe(&interrupted);
        });
        Ok(shared.finish())
    }
}

impl Shared {
    /// Takes the next block of the kind that is the farthest behind its share.
    fn next_block(&self) -> Option<Block> {
        if self.stopping.load(Ordering::Relaxed) || Instant::now() >= self.end {
            return None;
        }
        let soak = &self.soak;
        let mut state = self.state.lock().expect("no thread has panicked");
        let turns = (0..soak.kinds.len()).filter(|turn| state.begun[*turn] < soak.most);
        // Compares begun / share without a division.
        let turn = turns.min_by(|a, b| {
            let scaled =
                |turn: usize, other: usize| u128::from(state.begun[turn]) * u128::from(soak.kinds[other].share());
            scaled(*a, *b).cmp(&scaled(*b, *a))
        })?;
        let begun = state.begun[turn];
        let end = (begun + BLOCK).min(soak.most);
        state.begun[turn] = end;
        let seeds = soak.first + begun..soak.first + end;
        Some(Block { turn, kind: soak.kinds[turn], seeds, optimized: (begun / BLOCK).is_multiple_of(OPTIMIZED) })
    }

    fn run_block(&self, thread: usize, block: &Block) {
        let Block { turn, kind, optimized, .. } = *block;
        let mut tally = Tally::default();
        for seed in block.seeds.clone() {
            optimizing::take(if optimized { Taken::All(seed) } else { Taken::None });
            match self.run_case(thread, kind, seed) {
                Verdict::Sound => tally.sound += 1,
                Verdict::Passed => tally.passed += 1,
                Verdict::Wrong(wrong) => {
                    tally.wrong += 1;
                    self.report(thread, kind, seed, wrong);
                }
            }
        }
        let step = Step { kind, seed: block.seeds.start, task: Task::Compile };
        self.watch.begin(thread, step, LONG * self.soak.patience);
        let checked = optimizing::finish();
        tally.kernels += checked.kernels;
        for (label, what) in checked.failures {
            tally.wrong += 1;
            tally.sound = tally.sound.saturating_sub(1);
            self.report_kernel(thread, kind, label.unwrap_or(block.seeds.start), what);
        }
        self.watch.end(thread);
        let mut state = self.state.lock().expect("no thread has panicked");
        let total = &mut state.tallies[turn].1;
        total.sound += tally.sound;
        total.passed += tally.passed;
        total.wrong += tally.wrong;
        total.kernels += tally.kernels;
        total.seeds.add(block.seeds.clone());
    }

    fn run_case(&self, thread: usize, kind: Kind, seed: u64) -> Verdict {
        self.watch.begin(thread, Step { kind, seed, task: Task::Run }, self.soak.patience);
        match in_phase("outside of phases", || Ok(kind.run(seed))) {
            Ok(verdict) => verdict,
            Err(failure) => {
                let (phase, what) = (failure.phase, failure.what);
                let shrink = Box::new(|| "no smaller case was sought".to_owned());
                Verdict::Wrong(Wrong { phase, what, shrink })
            }
        }
    }

    /// Reports a kernel of the C tier that fails: with a smaller case, if its seed fails alone.
    fn report_kernel(&self, thread: usize, kind: Kind, seed: u64, what: String) {
        optimizing::take(Taken::Each);
        match in_phase("outside of phases", || Ok(kind.run(seed))) {
            Ok(Verdict::Wrong(wrong)) => self.report(thread, kind, seed, wrong),
            _ => {
                let shrink = Box::new(|| "the seed alone does not fail".to_owned());
                self.report(thread, kind, seed, Wrong { phase: "optimizing tier", what, shrink });
            }
        }
    }

    /// Reports a case that fails, then a smaller one that fails in the same phase.
    fn report(&self, thread: usize, kind: Kind, seed: u64, wrong: Wrong) {
        let Wrong { phase, what, shrink } = wrong;
        let title = format!("{}, seed {seed}: {phase}", kind.name());
        let count = {
            let mut state = self.state.lock().expect("no thread has panicked");
            let count = state.alike.entry((kind.name(), phase)).or_default();
            *count += 1;
            *count
        };
        if count > SHRUNK {
            return self.failures.print(&title, &what);
        }
        self.failures.print(&title, &format!("{}\na smaller case is sought", what.lines().next().unwrap_or_default()));
        self.watch.begin(thread, Step { kind, seed, task: Task::MakeSmaller }, LONG * self.soak.patience);
        let smaller = in_phase(phase, || Ok(shrink()));
        let text = smaller.unwrap_or_else(|failure| format!("{what}\nno smaller case: {}", failure.what));
        self.failures.print(&format!("{title}, made smaller"), &text);
    }

    /// Watches the threads until all have ended: ends the process if a case hangs, and reports the
    /// progress. The first Ctrl-C ends the run after the current blocks, the second one at once.
    fn observe(&self, interrupted: &AtomicBool) {
        let parent = parent_process();
        let (start, mut reported) = (Instant::now(), Instant::now());
        while self.running.load(Ordering::Relaxed) > 0 {
            std::thread::sleep(TICK);
            let hanging = self.watch.hanging();
            if !hanging.is_empty() {
                for step in hanging {
                    self.failures.print(&format!("hang in {}", step.name()), &step.kind.text(step.seed));
                }
                self.finish();
                std::process::exit(1);
            }
            if interrupted.swap(false, Ordering::Relaxed) {
                if self.stopping.swap(true, Ordering::Relaxed) {
                    self.finish();
                    std::process::exit(INTERRUPTED);
                }
                eprintln!("ending what has begun; Ctrl-C again ends it at once");
            }
            if parent != parent_process() {
                self.stopping.store(true, Ordering::Relaxed);
            }
            if reported.elapsed() >= INTERVAL {
                reported = Instant::now();
                let tallies = &self.state.lock().expect("no thread has panicked").tallies;
                eprintln!("{:.0} min: {}", start.elapsed().as_secs_f64() / 60.0, progress(tallies));
            }
        }
    }

    /// Prints the counts; returns the status of the process.
    fn finish(&self) -> ExitCode {
        let tallies = &self.state.lock().expect("no thread has panicked").tallies;
        println!("{}", table(tallies));
        if tallies.iter().any(|(_, tally)| tally.wrong > 0) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Returns the process that started this one, whose end ends the run.
#[cfg(unix)]
fn parent_process() -> u32 {
    std::os::unix::process::parent_id()
}

#[cfg(not(unix))]
fn parent_process() -> u32 {
    0
}
