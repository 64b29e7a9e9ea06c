//! The job of preparing a region in the background: encode its rows, compile and run its program,
//! and compare the time of the run with that of DataFusion.

use crate::background::{Outcome, Queue, Taken};
use crate::cache::{Cache, ENOUGH_RUNS, Kept, Key, most_kept};
use crate::cost::{is_worth, most_trial};
use crate::engine::RunError;
use crate::error::{Error, Left};
use crate::fallback::forms;
use crate::memory::Allowance;
use crate::options::Policy;
use crate::run::{Run, all_rows, read_error};
use crate::sources::{Sources, Version};
use datafusion::arrow::record_batch::RecordBatch;
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
    pub(crate) key: Key,
    /// The version of its tables.
    pub(crate) version: Version,
    pub(crate) run: Run,
    pub(crate) inputs: Vec<Arc<dyn ExecutionPlan>>,
    pub(crate) context: Arc<TaskContext>,
    pub(crate) cache: Arc<Cache>,
    /// The plan before it was claimed.
    pub(crate) claimed: Arc<LogicalPlan>,
    /// `Cost` if the region is cached only if it pays.
    pub(crate) policy: Policy,
    /// Set to cancel the job.
    pub(crate) cancelled: Arc<AtomicBool>,
}

impl Job {
    /// Prepares the region and inserts it into the cache.
    pub(crate) fn run(&self, id: u64, queue: &Queue) -> Outcome {
        // The version is taken before the rows are read, so a verdict cannot be recorded for a
        // later version.
        let version = Sources::of(&[&self.claimed]).and_then(|sources| sources.version());
        match self.prepare(id, queue) {
            Ok(Kept::Yes) => Outcome::Done,
            Ok(Kept::No) => Outcome::Failed,
            Err(Error::Left(why)) => match version {
                Some(version) => {
                    self.cache.leave(forms(&self.claimed, &self.context), &version, self.key.runs_on, &why);
                    Outcome::Done
                }
                None => Outcome::Failed,
            },
            Err(Error::Run(RunError::Cancelled)) => Outcome::Done,
            Err(_) => Outcome::Failed,
        }
    }

    fn prepare(&self, id: u64, queue: &Queue) -> Result<Kept, Error> {
        let limit = self.context.memory_pool().memory_limit();
        let most = most_kept(&limit);
        let allowance = || Allowance::in_background(self.context.memory_pool(), most, self.cancelled.clone());
        let encoding = allowance();
        let inputs = self.read(&encoding)?;
        let ready = Arc::new(self.run.prepare(&inputs, &encoding)?);
        drop(inputs);
        let most = |theirs| match self.policy {
            // A run that is far slower than DataFusion is stopped early.
            Policy::Cost => most_trial(theirs),
            Policy::Always => Duration::MAX,
        };
        for _ in 0..=ENOUGH_RUNS {
            let (answer, late) = queue.within(id, most, &self.cancelled, || self.run.run(&ready, allowance()));
            if let Some(theirs) = late {
                return Err(Left::Cost { ours: most_trial(theirs), theirs }.into());
            }
            let answer = Arc::new(answer?);
            let (taken, theirs) = queue.give(id, &answer);
            let Some(theirs) = theirs.filter(|_| taken == Taken::No) else { break };
            ready.theirs(theirs);
            if self.policy == Policy::Always || is_worth(answer.warm(), theirs) {
                break;
            }
            if answer.cached {
                ready.ran(&self.run.region, answer.warm())?;
            }
        }
        Ok(self.cache.keep(self.key.clone(), self.version.clone(), ready, &limit))
    }

    /// Reads all rows of the inputs.
    fn read(&self, allowance: &Allowance) -> Result<Vec<RecordBatch>, Error> {
        let failed = |e: std::io::Error| Error::Read(Box::new(e.into()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let rows = runtime.block_on(async {
            let streams = self.inputs.iter().map(|input| input.execute(0, self.context.clone()));
            let streams = streams.collect::<Result<Vec<_>, _>>()?;
            try_join_all(streams.into_iter().map(|stream| all_rows(stream, allowance))).await
        });
        // Does not wait for tasks that still read.
        runtime.shutdown_background();
        match self.cancelled.load(Ordering::Relaxed) {
            true => Err(RunError::Cancelled.into()),
            false => rows.map_err(read_error),
        }
    }
}
