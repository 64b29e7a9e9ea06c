//! The job of preparing a region in the background: encode its rows, compile and run its program,
//! and compare the time of the run with the time of DataFusion.

use super::background::{Delivery, JobOutcome, JobQueue, Waiting};
use super::cache::{Cache, Insertion, RegionKey};
use super::cost::{is_competitive, max_trial_time};
use super::fallback::plan_forms;
use super::prepared::TRIAL_RUNS;
use crate::columns::{InputRows, read_input};
use crate::engine::RunError;
use crate::error::{Error, FallbackReason};
use crate::input_tables::{InputTables, Version};
use crate::memory::{Allowance, cache_capacity};
use crate::options::Policy;
use crate::run::{RegionRunner, read_error};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use futures::future::try_join_all;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A region to prepare.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: RegionKey,
    /// The version of the region's tables.
    pub(crate) version: Version,
    pub(crate) runner: RegionRunner,
    pub(crate) inputs: Vec<Arc<dyn ExecutionPlan>>,
    pub(crate) context: Arc<TaskContext>,
    pub(crate) cache: Arc<Cache>,
    /// The claimed aggregate, which DataFusion runs if the region is left to DataFusion.
    pub(crate) claimed_plan: Arc<LogicalPlan>,
    /// The policy of claims; with `Cost`, a region that was slower than DataFusion is not cached.
    pub(crate) policy: Policy,
    /// The flag whose value `true` cancels the job.
    pub(crate) cancelled: Arc<AtomicBool>,
}

impl Job {
    /// Prepares the region and inserts it into the cache, if it fits there. If the region must be
    /// left to DataFusion, records the reason in the cache.
    pub(crate) fn run(&self, id: u64, waiting: Waiting, queue: &JobQueue) -> JobOutcome {
        // The version is taken before the rows are read, so that a fallback to DataFusion is not
        // recorded for a later version of the tables.
        let version = InputTables::of(&[&self.claimed_plan]).and_then(|tables| tables.version());
        match self.prepare(id, waiting, queue) {
            // If rows were delivered, the job has succeeded, even if the region cannot be kept.
            Ok((Insertion::Inserted, _) | (_, Delivery::Delivered)) => JobOutcome::Done,
            Ok((Insertion::TooLarge, Delivery::Undelivered)) => JobOutcome::Failed,
            Err(Error::Fallback(reason)) => match version {
                Some(version) => {
                    self.cache.insert_fallbacks(
                        plan_forms(&self.claimed_plan, &self.context),
                        &version,
                        &self.key.target,
                        &reason,
                    );
                    JobOutcome::Done
                }
                None => JobOutcome::Failed,
            },
            Err(Error::Run(RunError::Cancelled)) => JobOutcome::Done,
            Err(_) => JobOutcome::Failed,
        }
    }

    /// Prepares the region, and returns whether the region is kept and whether a query took the
    /// rows of the last run.
    fn prepare(&self, id: u64, waiting: Waiting, queue: &JobQueue) -> Result<(Insertion, Delivery), Error> {
        let pool = self.context.memory_pool();
        let limit = pool.memory_limit();
        let allowance = || match waiting {
            // The region may use as much memory as if the waiting query prepared it.
            Waiting::Query => Allowance::from_pool(pool, self.cache.clone(), self.cancelled.clone()),
            Waiting::Nobody => Allowance::for_background(pool, cache_capacity(&limit), self.cancelled.clone()),
        };
        let encoding = allowance();
        let inputs = self.read(&encoding)?;
        let prepared = Arc::new(self.runner.prepare(&inputs, &encoding)?);
        drop(inputs);
        let time_limit = |datafusion_time| match self.policy {
            // A run that is far slower than DataFusion is stopped early.
            Policy::Cost => max_trial_time(datafusion_time),
            Policy::Always => Duration::MAX,
        };
        let mut last_delivery = Delivery::Undelivered;
        for _ in 0..=TRIAL_RUNS {
            let (result, late) =
                queue.run_with_limit(id, time_limit, &self.cancelled, || self.runner.run(&prepared, allowance()));
            if let Some(datafusion_time) = late {
                return Err(
                    FallbackReason::Slower { redpoll_time: max_trial_time(datafusion_time), datafusion_time }.into()
                );
            }
            let result = Arc::new(result?);
            let (delivery, datafusion_time) = queue.deliver(id, &result);
            last_delivery = delivery;
            let Some(datafusion_time) = datafusion_time.filter(|_| delivery == Delivery::Undelivered) else { break };
            prepared.record_datafusion_time(datafusion_time);
            if self.policy == Policy::Always || is_competitive(result.warm_time(), datafusion_time) {
                break;
            }
            if result.cached {
                prepared.record_run(&self.runner.region, result.warm_time())?;
            }
        }
        Ok((self.cache.insert(self.key.clone(), self.version.clone(), prepared, &limit), last_delivery))
    }

    /// Reads all rows of the inputs.
    fn read(&self, allowance: &Allowance) -> Result<Vec<InputRows>, Error> {
        let failed = |e: std::io::Error| Error::Read(Box::new(e.into()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let rows = runtime.block_on(async {
            let table = (&self.cache.columns, Some(&self.version));
            try_join_all(self.inputs.iter().map(|input| read_input(input, &self.context, table, allowance))).await
        });
        // Does not wait for tasks that still read.
        runtime.shutdown_background();
        match self.cancelled.load(Ordering::Relaxed) {
            true => Err(RunError::Cancelled.into()),
            false => rows.map_err(read_error),
        }
    }
}
