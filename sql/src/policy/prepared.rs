//! A prepared region, and the times of its runs.

use super::cost::{is_competitive, max_datafusion_time};
use crate::claim::Region;
use crate::encode::EncodedJoin;
use crate::error::FallbackReason;
use crate::program::{RegionFolds, RegionProgram};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A region with its encoded rows and its program, ready to run.
#[derive(Debug)]
pub(crate) struct PreparedRegion {
    pub(crate) encoded: EncodedJoin,
    pub(crate) folds: RegionFolds,
    pub(crate) program: RegionProgram,
    /// Time to encode the rows and build the program.
    pub(crate) encode_time: Duration,
    runs: Mutex<RunTimes>,
}

/// The times of earlier runs.
#[derive(Clone, Copy, Default, Debug)]
struct RunTimes {
    /// Number of runs with everything cached.
    count: u32,
    /// The fastest of these runs.
    best: Duration,
    /// Time of DataFusion's own plan; `None` if the plan has not run.
    datafusion_time: Option<Duration>,
}

/// Number of runs after which the fastest one is compared with DataFusion, because other work
/// disturbs single runs.
pub(crate) const TRIAL_RUNS: u32 = 3;

impl PreparedRegion {
    /// Returns a region that took `encode_time` to prepare.
    pub(crate) fn new(
        encoded: EncodedJoin,
        folds: RegionFolds,
        program: RegionProgram,
        encode_time: Duration,
    ) -> PreparedRegion {
        PreparedRegion { encoded, folds, program, encode_time, runs: Mutex::default() }
    }

    /// Records the time of DataFusion's own plan.
    pub(crate) fn record_datafusion_time(&self, time: Duration) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).datafusion_time = Some(time);
    }

    /// Records the time of a run with everything cached.
    ///
    /// # Errors
    /// If there were at least [`TRIAL_RUNS`] runs, and the fastest run does not pay, compared with
    /// the time that DataFusion took. If DataFusion has not run, an upper bound of its time is
    /// used.
    pub(crate) fn record_run(&self, region: &Region, time: Duration) -> Result<(), FallbackReason> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.best = if runs.count == 0 { time } else { runs.best.min(time) };
        runs.count += 1;
        if runs.count < TRIAL_RUNS {
            return Ok(());
        }
        // If the bound cannot be computed, the region stays.
        let datafusion_time = runs
            .datafusion_time
            .unwrap_or_else(|| max_datafusion_time(&region.join, &self.encoded).unwrap_or(Duration::MAX));
        if is_competitive(runs.best, datafusion_time) {
            Ok(())
        } else {
            Err(FallbackReason::Slower { redpoll_time: runs.best, datafusion_time })
        }
    }

    /// Returns the size of the region's rows, codes and tensors in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let tensors = self.program.bindings.iter().map(|(_, tensor)| tensor.bytes()).sum::<u64>();
        self.encoded.bytes().saturating_add(usize::try_from(tensors).unwrap_or(usize::MAX))
    }
}
