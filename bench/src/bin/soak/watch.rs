//! The current step of each thread. A thread of this process finds steps that hang. If this process
//! crashes, the parent process reads from the journal which steps were running.

use crate::kinds::CaseKind;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Number of bytes of the line that each thread has in the journal.
const LINE: usize = 64;

/// The steps of all threads.
pub(crate) struct Watch {
    journal: Mutex<File>,
    threads: Vec<Mutex<Option<(ThreadStep, Instant)>>>,
}

/// The current step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadStep {
    pub(crate) kind: CaseKind,
    /// The seed of the case, or the first seed of its block.
    pub(crate) seed: u64,
    pub(crate) task: StepTask,
}

/// The work on a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StepTask {
    Run,
    Shrink,
    /// The kernels of the block are compiled by the C tier.
    Compile,
}

impl ThreadStep {
    /// Returns the description of a step in the titles of failures.
    pub(crate) fn name(self) -> String {
        let ThreadStep { kind, seed, task } = self;
        let task = match task {
            StepTask::Run => "",
            StepTask::Shrink => ", shrinking",
            StepTask::Compile => " and its block, C tier",
        };
        format!("{}, seed {seed}{task}", kind.name())
    }
}

impl Watch {
    /// Returns a watch over a number of threads, with a journal at a path.
    pub(crate) fn new(threads: usize, journal: &Path) -> Result<Watch> {
        let journal = File::options().write(true).open(journal).context("cannot open the journal of the soak")?;
        Ok(Watch { journal: Mutex::new(journal), threads: (0..threads).map(|_| Mutex::new(None)).collect() })
    }

    /// Records that a thread begins a step with a time limit.
    pub(crate) fn begin(&self, thread: usize, step: ThreadStep, limit: Duration) {
        self.write(thread, &format!("{} {}", step.kind.name(), step.seed));
        *self.threads[thread].lock().expect("no thread has panicked") = Some((step, Instant::now() + limit));
    }

    /// Records that a thread is idle.
    pub(crate) fn end(&self, thread: usize) {
        self.write(thread, "");
        *self.threads[thread].lock().expect("no thread has panicked") = None;
    }

    /// Returns the steps that take too long.
    pub(crate) fn hanging_steps(&self) -> Vec<ThreadStep> {
        let now = Instant::now();
        let steps = self.threads.iter().filter_map(|step| *step.lock().expect("no thread has panicked"));
        steps.filter(|(_, deadline)| *deadline < now).map(|(step, _)| step).collect()
    }

    /// Writes the line of a thread. If writing fails, a crash may be reported without a seed, or
    /// with the seed of an earlier step.
    fn write(&self, thread: usize, name: &str) {
        let line = format!("{name:<width$}\n", width = LINE - 1);
        let mut journal = self.journal.lock().expect("no thread has panicked");
        let offset = SeekFrom::Start((thread * LINE) as u64);
        let _ = journal.seek(offset).and_then(|_| journal.write_all(&line.as_bytes()[..LINE]));
    }
}

/// Returns the kinds and seeds in the text of a journal.
pub(crate) fn parse_journal(text: &str) -> Vec<(CaseKind, u64)> {
    let case = |line: &str| {
        let (kind, seed) = line.trim().split_once(' ')?;
        let kind = CaseKind::ALL.iter().copied().find(|candidate| candidate.name() == kind)?;
        Some((kind, seed.parse().ok()?))
    };
    text.lines().filter_map(case).collect()
}
