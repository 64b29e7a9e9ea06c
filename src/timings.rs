//! Elapsed times of the phases.

use std::fmt;
use std::time::{Duration, Instant};

/// A phase from the text of a plan or program to its results.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// Parsing of a plan or a program.
    Parse,
    /// Verification of plans.
    Verify,
    /// Optimization of the Logic plan to a physical plan.
    Optimize,
    /// Translation of physical queries, or of a program, to Notation in normal form.
    Notation,
    /// Compilation of Notation to Assembly and machine code.
    Compile,
    /// Execution of the queries: kernels, interpreters and conversions of storage.
    Run,
}

impl Phase {
    /// Returns the name used in messages.
    ///
    /// ```
    /// assert_eq!(redpoll::Phase::Optimize.name(), "optimize");
    /// ```
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

/// Times by phase, in execution order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timings(Vec<(Phase, Duration)>);

impl Timings {
    /// Returns the time of a phase, or zero if the phase did not run.
    ///
    /// ```
    /// use redpoll::Phase;
    ///
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// println!("compiled in {:?}", prepared.timings().of(Phase::Compile));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn of(&self, phase: Phase) -> Duration {
        self.0.iter().filter(|(p, _)| *p == phase).map(|(_, t)| *t).sum()
    }

    /// Returns the time of all phases.
    ///
    /// ```
    /// use redpoll::Phase;
    ///
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// let timings = prepared.timings();
    /// assert!(timings.of(Phase::Optimize) <= timings.total());
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn total(&self) -> Duration {
        self.0.iter().map(|(_, t)| *t).sum()
    }

    /// Iterates over the phases that ran with their times, in execution order. A phase may occur
    /// several times.
    ///
    /// ```
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// for (phase, time) in prepared.timings().iter() {
    ///     println!("{phase}: {time:?}");
    /// }
    /// # Ok::<(), redpoll::Error>(())
    /// ```
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
