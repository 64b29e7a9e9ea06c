//! How long each phase took.

use std::fmt;
use std::time::{Duration, Instant};

/// A phase between the text of a plan and its results.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// From text to a Logic plan.
    Parse,
    /// The rules of Logic plans.
    Verify,
    /// From the Logic plan to a physical plan.
    Optimize,
    /// From physical queries to Notation in normal form.
    Notation,
    /// From Notation to Assembly to machine code.
    Compile,
    /// The kernels.
    Run,
}

impl Phase {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Parse => "parse",
            Phase::Verify => "verify",
            Phase::Optimize => "optimize",
            Phase::Notation => "notation",
            Phase::Compile => "compile",
            Phase::Run => "run",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Times by phase, in the order in which the phases ran.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timings(Vec<(Phase, Duration)>);

impl Timings {
    /// The time of a phase, zero if it did not run.
    pub fn of(&self, phase: Phase) -> Duration {
        self.0.iter().filter(|(p, _)| *p == phase).map(|(_, t)| *t).sum()
    }

    /// The time of all phases.
    pub fn total(&self) -> Duration {
        self.0.iter().map(|(_, t)| *t).sum()
    }

    /// All phases that ran.
    pub fn iter(&self) -> impl Iterator<Item = (Phase, Duration)> {
        self.0.iter().copied()
    }

    pub(crate) fn time<T>(&mut self, phase: Phase, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.0.push((phase, start.elapsed()));
        result
    }
}
