//! One call of a region: redpoll answers in the call itself, DataFusion answers, or DataFusion
//! answers while redpoll prepares the region.

use super::answer_source::AnswerSource;
use super::background::{BackgroundJobs, StartTime};
use super::choice::Choice;
use super::fallback::Fallback;
use super::job::Job;
use super::prepared::PreparedRegion;
use super::region_context::RegionContext;
use crate::columns::read_input;
use crate::error::Error;
use crate::memory::{Allowance, CancelOnDrop};
use crate::metrics::Metrics;
use crate::options::{Policy, RedpollOptions};
use crate::run::{RegionResult, RegionRunner, read_error};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use futures::StreamExt;
use futures::future::{Either, select, try_join_all};
use futures::stream::{self, BoxStream};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// One call of a region.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) runner: RegionRunner,
    pub(crate) options: RedpollOptions,
    pub(crate) region: RegionContext,
    pub(crate) context: Arc<TaskContext>,
    pub(crate) metrics: Metrics,
    pub(crate) source: Arc<Mutex<Option<AnswerSource>>>,
}

/// The rows of a call.
pub(crate) type Batches = BoxStream<'static, Result<RecordBatch>>;

/// The engine that answers a call.
pub(crate) enum AnswerPlan {
    /// Redpoll, with the cached region, if there is one.
    Redpoll(Option<Arc<PreparedRegion>>),
    /// DataFusion; nothing is prepared.
    DataFusion(Fallback),
    /// DataFusion, unless redpoll finishes first.
    Race(Fallback, Arc<BackgroundJobs>, StartTime),
}

impl Call {
    /// Returns the engine that answers this call.
    pub(crate) fn answer_plan(&self) -> AnswerPlan {
        let prepared = self.region.prepared();
        let Some(fallback) = self.region.sound_fallback().cloned() else { return AnswerPlan::Redpoll(prepared) };
        match self.region.choice(&self.options, prepared.is_some()) {
            Choice::Redpoll => AnswerPlan::Redpoll(prepared),
            Choice::DataFusion => AnswerPlan::DataFusion(fallback),
            Choice::Race { head_start } => {
                let start_time = head_start.map(|head_start| StartTime::At(Instant::now() + head_start));
                match self.region.background.upgrade() {
                    Some(background) => {
                        AnswerPlan::Race(fallback, background, start_time.unwrap_or(StartTime::AfterDataFusion))
                    }
                    None => AnswerPlan::DataFusion(fallback),
                }
            }
        }
    }

    /// Answers with redpoll, or with DataFusion if the rows must be left to DataFusion. `inputs` is
    /// empty if the region is `cached`.
    pub(crate) async fn answer_with_redpoll(
        self,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        cached: Option<Arc<PreparedRegion>>,
    ) -> Result<Batches> {
        let cancelled = Arc::<AtomicBool>::default();
        let cancel = CancelOnDrop(cancelled.clone());
        let allowance =
            || Allowance::from_pool(self.context.memory_pool(), self.region.cache.clone(), cancelled.clone());
        let (encoding, running) = (allowance(), allowance());
        let table = (&self.region.cache.columns, self.region.cache_slot.as_ref().map(|slot| &slot.version));
        let inputs = try_join_all(inputs.iter().map(|input| read_input(input, &self.context, table, &encoding))).await;
        let (runner, policy) = (self.runner.clone(), self.options.claim);
        let was_cached = cached.is_some();
        let work = move || {
            let inputs = inputs.map_err(read_error)?;
            let prepared = match cached {
                Some(prepared) => prepared,
                None => Arc::new(runner.prepare(&inputs, &encoding)?),
            };
            let result = runner.run(&prepared, running)?;
            let verdict = match policy {
                Policy::Cost if result.cached => prepared.record_run(&runner.region, result.warm_time()),
                _ => Ok(()),
            };
            Ok::<_, Error>((result, verdict))
        };
        let outcome = tokio::task::spawn_blocking(work).await.map_err(|e| DataFusionError::External(Box::new(e)))?;
        drop(cancel);
        match (outcome, &self.region.fallback) {
            (Ok((result, verdict)), _) => {
                if let (Err(reason), Some(fallback)) = (verdict, self.region.sound_fallback()) {
                    fallback.record(&self.region.cache, &reason, &self.context);
                } else if let Some(cache_slot) = self.region.cache_slot.as_ref().filter(|_| !was_cached) {
                    let limit = self.context.memory_pool().memory_limit();
                    self.region.cache.insert(
                        cache_slot.key.clone(),
                        cache_slot.version.clone(),
                        result.prepared.clone(),
                        &limit,
                    );
                }
                match was_cached {
                    true => self.metrics.add_time("cached_encoding_time", result.prepared.encode_time),
                    false => self.metrics.add_time("encode_time", result.prepared.encode_time),
                }
                self.record_source(if was_cached { AnswerSource::Cached } else { AnswerSource::InCall });
                Ok(self.rows(Arc::new(result)))
            }
            (Err(Error::Fallback(reason)), Some(fallback)) => {
                self.metrics.add_count("left_to_datafusion", 1);
                fallback.record(&self.region.cache, &reason, &self.context);
                self.record_source(AnswerSource::Fallback);
                Ok(fallback.stream(self.runner.schema.clone(), self.context.clone()).await?.boxed())
            }
            (Err(error), _) => Err(DataFusionError::from(error)),
        }
    }

    /// Answers with DataFusion.
    pub(crate) async fn answer_with_datafusion(self, fallback: Fallback) -> Result<Batches> {
        self.record_source(AnswerSource::Fallback);
        Ok(fallback.stream(self.runner.schema.clone(), self.context.clone()).await?.boxed())
    }

    /// Answers with DataFusion, except in two cases: redpoll prepares and runs the region before
    /// DataFusion answers, or DataFusion exhausts the memory before its first rows. Redpoll then
    /// answers, if it has enough memory.
    pub(crate) async fn race(
        self,
        fallback: Fallback,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        (background, start_time): (Arc<BackgroundJobs>, StartTime),
    ) -> Result<Batches> {
        let pending = self.job(&fallback, inputs.clone()).and_then(|job| background.prepare(job, start_time));
        // After this reference is dropped, the session can end while the query waits.
        drop(background);
        let Some(mut pending) = pending else {
            self.record_source(AnswerSource::DataFusionOnly);
            self.metrics.add_count("answered_by_datafusion", 1);
            return Ok(fallback.stream(self.runner.schema.clone(), self.context.clone()).await?.boxed());
        };
        let mut datafusion_rows = fallback.stream(self.runner.schema.clone(), self.context.clone()).await?;
        let start = Instant::now();
        let first = match select(datafusion_rows.next(), &mut pending.rows).await {
            Either::Left((first, _)) => first,
            Either::Right((Ok(result), _)) => return Ok(self.answer_prepared(&result)),
            // The job has ended without rows.
            Either::Right((Err(_), next)) => next.await,
        };
        match first {
            Some(Err(error)) if matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)) => {
                // The region may need less memory than DataFusion's plan.
                pending.begin();
                drop(datafusion_rows);
                match (&mut pending.rows).await {
                    Ok(result) => Ok(self.answer_prepared(&result)),
                    Err(_) => self.answer_alone(fallback, inputs).await,
                }
            }
            Some(Err(error)) => Err(error),
            first => {
                pending.record_datafusion_time(start.elapsed());
                self.metrics.add_count("answered_by_datafusion", 1);
                self.metrics.add_time("datafusion_time", start.elapsed());
                self.record_source(AnswerSource::DataFusionFirst);
                Ok(stream::iter(first).chain(datafusion_rows).boxed())
            }
        }
    }

    /// Answers with redpoll, or with DataFusion if redpoll has not enough memory. Called after
    /// DataFusion has exhausted the memory and preparation in the background has failed.
    async fn answer_alone(self, fallback: Fallback, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Batches> {
        match Box::pin(self.clone().answer_with_redpoll(inputs, None)).await {
            Err(error) if matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)) => {
                self.metrics.add_count("answered_by_datafusion", 1);
                self.record_source(AnswerSource::DataFusionOnly);
                Ok(fallback.stream(self.runner.schema.clone(), self.context.clone()).await?.boxed())
            }
            outcome => outcome,
        }
    }

    /// Returns the rows of a region that was prepared before DataFusion answered.
    fn answer_prepared(self, result: &Arc<RegionResult>) -> Batches {
        self.metrics.add_time("encode_time", result.prepared.encode_time);
        self.record_source(AnswerSource::Background);
        self.rows(result.clone())
    }

    /// Returns the rows as a stream. The memory of the rows stays reserved until the stream is
    /// dropped.
    fn rows(&self, result: Arc<RegionResult>) -> Batches {
        self.metrics.add_result(&result);
        let slices = result.slices(self.context.session_config().batch_size());
        let reserved = move |batch| {
            let _ = &result;
            Ok(batch)
        };
        stream::iter(slices.into_iter().map(reserved)).boxed()
    }

    fn record_source(&self, source: AnswerSource) {
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Some(source);
    }

    /// Returns the job that prepares the region; `None` if the region cannot be cached.
    fn job(&self, fallback: &Fallback, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Option<Job> {
        let cache_slot = self.region.cache_slot.as_ref()?;
        Some(Job {
            key: cache_slot.key.clone(),
            version: cache_slot.version.clone(),
            runner: self.runner.clone(),
            inputs,
            context: Arc::new(without_regions(&self.context)),
            cache: self.region.cache.clone(),
            claimed_plan: fallback.plan.clone(),
            policy: self.options.claim,
            cancelled: Arc::default(),
        })
    }
}

/// Returns the same context with claiming disabled, because a region among the inputs runs only
/// once, which does not pay for its preparation.
fn without_regions(context: &TaskContext) -> TaskContext {
    let mut config = context.session_config().clone();
    let options = RedpollOptions { enabled: false, ..RedpollOptions::default() };
    config.options_mut().extensions.insert(options);
    TaskContext::new(
        context.task_id(),
        context.session_id(),
        config,
        context.scalar_functions().clone(),
        context.higher_order_functions().clone(),
        context.aggregate_functions().clone(),
        context.window_functions().clone(),
        context.runtime_env(),
    )
}
