//! Reports of the progress of runs.

use std::fmt;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

/// The progress of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Progress {
    /// The outputs of the query that runs, separated by commas.
    pub query: Arc<str>,
    /// The number of queries that have run.
    pub finished: usize,
    /// The number of queries of the plan.
    pub queries: usize,
    /// The share of the chunks of the query that have run, from 0 to 1. A query that does not run
    /// in chunks stays at 0.
    pub fraction: f64,
    /// The time since the run started.
    pub elapsed: Duration,
}

/// A callback for the progress of runs. Clones share the callback.
#[derive(Clone)]
pub struct ProgressReporter {
    callback: Arc<dyn Fn(&Progress) + Send + Sync>,
    interval: Duration,
    start: Instant,
    /// The time of the last report; before the first report, the time at which the run started.
    last: Arc<Mutex<Instant>>,
    query: Arc<str>,
    finished: usize,
    queries: usize,
}

impl ProgressReporter {
    /// Returns a reporter that calls back at most once in each interval, on any thread of a run.
    /// Calls of one run do not overlap.
    pub fn new(interval: Duration, callback: impl Fn(&Progress) + Send + Sync + 'static) -> ProgressReporter {
        let now = Instant::now();
        ProgressReporter {
            callback: Arc::new(callback),
            interval,
            start: now,
            last: Arc::new(Mutex::new(now)),
            query: "".into(),
            finished: 0,
            queries: 0,
        }
    }

    /// Returns a reporter for a run that starts now.
    #[must_use]
    pub fn for_one_run(&self) -> ProgressReporter {
        let now = Instant::now();
        ProgressReporter { start: now, last: Arc::new(Mutex::new(now)), ..self.clone() }
    }

    /// Returns a reporter for a query that runs after `finished` queries of the plan.
    #[must_use]
    pub fn for_query(&self, query: &str, finished: usize, queries: usize) -> ProgressReporter {
        ProgressReporter { query: query.into(), finished, queries, ..self.clone() }
    }

    /// Reports the share of the query that has run, unless another thread reports, or less than an
    /// interval has passed since the last report or the start of the run.
    pub fn report(&self, fraction: f64) {
        let mut last = match self.last.try_lock() {
            Ok(last) => last,
            Err(TryLockError::WouldBlock) => return,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        let now = Instant::now();
        if now.duration_since(*last) < self.interval {
            return;
        }
        *last = now;
        (self.callback)(&Progress {
            query: self.query.clone(),
            finished: self.finished,
            queries: self.queries,
            fraction,
            elapsed: now.duration_since(self.start),
        });
    }
}

impl fmt::Debug for ProgressReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressReporter").field("interval", &self.interval).finish_non_exhaustive()
    }
}
