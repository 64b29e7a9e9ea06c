//! One call of a region: redpoll answers in place, or DataFusion answers while redpoll prepares the
//! region.

use crate::background::{Background, Due};
use crate::cache::{Cache, Ready};
use crate::cost::Price;
use crate::error::Error;
use crate::exec::{Reuse, Told};
use crate::fallback::Fallback;
use crate::job::Job;
use crate::memory::Allowance;
use crate::metrics::Metrics;
use crate::options::{First, Policy, RedpollOptions};
use crate::run::{Answer, Run, all_rows, read_error};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use futures::future::{Either, select, try_join_all};
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

/// One call of a region.
pub(crate) struct Call {
    pub(crate) run: Run,
    pub(crate) options: RedpollOptions,
    pub(crate) cache: Arc<Cache>,
    pub(crate) fallback: Option<Fallback>,
    /// The cache key and version of the region; `None` if it cannot be cached.
    pub(crate) keep: Option<Reuse>,
    pub(crate) price: Price,
    pub(crate) context: Arc<TaskContext>,
    pub(crate) metrics: Metrics,
    pub(crate) told: Arc<Mutex<Option<Told>>>,
}

/// The rows of a call.
pub(crate) type Batches = BoxStream<'static, Result<RecordBatch>>;

/// The engine that answers a call.
pub(crate) enum Way {
    /// Redpoll, with the cached region, if there is one.
    InPlace(Option<Arc<Ready>>),
    /// DataFusion; nothing is prepared.
    Theirs(Fallback),
    /// DataFusion, unless redpoll finishes first.
    Meanwhile(Fallback, Arc<Background>, Due),
}

impl Call {
    /// Returns the engine that answers this call.
    pub(crate) fn way(&self, background: &Weak<Background>) -> Way {
        let Some(fallback) = self.fallback.clone() else { return Way::InPlace(None) };
        if !self.options.enabled {
            return Way::Theirs(fallback);
        }
        // A region that cannot be cached is not prepared in the background.
        let Some(reuse) = &self.keep else { return Way::InPlace(None) };
        if let Some(ready) = self.cache.find(&reuse.key, &reuse.version) {
            return Way::InPlace(Some(ready));
        }
        let due = match (self.options.first, self.options.claim) {
            (First::Claim, _) | (First::Auto, Policy::Always) => return Way::InPlace(None),
            (First::Auto, Policy::Cost) if self.price.is_small() => return Way::InPlace(None),
            (First::Auto, Policy::Cost) => Due::At(Instant::now() + self.price.prepare()),
            (First::Prepare, _) => Due::Answered,
        };
        match background.upgrade() {
            Some(background) => Way::Meanwhile(fallback, background, due),
            None => Way::Theirs(fallback),
        }
    }

    /// Answers with redpoll. `inputs` are empty if the region is `kept`, that is, was found in the
    /// cache.
    pub(crate) async fn in_place(
        self,
        inputs: Vec<SendableRecordBatchStream>,
        kept: Option<Arc<Ready>>,
    ) -> Result<Batches> {
        let cancelled = Arc::<AtomicBool>::default();
        let cancel = CancelOnDrop(cancelled.clone());
        let allowance = || Allowance::of_pool(self.context.memory_pool(), self.cache.clone(), cancelled.clone());
        let (encoding, running) = (allowance(), allowance());
        let inputs = try_join_all(inputs.into_iter().map(|input| all_rows(input, &encoding))).await;
        let (run, policy) = (self.run.clone(), self.options.claim);
        let was_kept = kept.is_some();
        let work = move || {
            let inputs = inputs.map_err(read_error)?;
            let ready = match kept {
                Some(ready) => ready,
                None => Arc::new(run.prepare(&inputs, &encoding)?),
            };
            let answer = run.run(&ready, running)?;
            let worth = match policy {
                Policy::Cost if answer.cached => ready.ran(&run.region, answer.warm()),
                _ => Ok(()),
            };
            Ok::<_, Error>((answer, worth))
        };
        let done = tokio::task::spawn_blocking(work).await.map_err(|e| DataFusionError::External(Box::new(e)))?;
        drop(cancel);
        match (done, &self.fallback) {
            (Ok((answer, worth)), fallback) => {
                if let (Err(why), Some(fallback)) = (worth, fallback) {
                    fallback.remember(&self.cache, &why, &self.context);
                } else if let Some(reuse) = self.keep.as_ref().filter(|_| !was_kept) {
                    let limit = self.context.memory_pool().memory_limit();
                    self.cache.keep(reuse.key.clone(), reuse.version.clone(), answer.ready.clone(), &limit);
                }
                match was_kept {
                    true => self.metrics.time("was_encoded_in", answer.ready.encode),
                    false => self.metrics.time("encode_time", answer.ready.encode),
                }
                self.tell(if was_kept { Told::Kept } else { Told::InPlace });
                Ok(self.rows(Arc::new(answer)))
            }
            (Err(Error::Left(why)), Some(fallback)) => {
                self.metrics.count("left_to_datafusion", 1);
                fallback.remember(&self.cache, &why, &self.context);
                self.tell(Told::Left);
                Ok(fallback.stream(self.run.schema.clone(), self.context.clone()).await?.boxed())
            }
            (Err(error), _) => Err(DataFusionError::from(error)),
        }
    }

    /// Answers with DataFusion.
    pub(crate) async fn theirs(self, fallback: Fallback) -> Result<Batches> {
        self.tell(Told::Left);
        Ok(fallback.stream(self.run.schema.clone(), self.context.clone()).await?.boxed())
    }

    /// Answers with DataFusion, or with redpoll if the region is prepared and has run first.
    pub(crate) async fn meanwhile(
        self,
        fallback: Fallback,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        (background, due): (Arc<Background>, Due),
    ) -> Result<Batches> {
        let waiting = self.job(&fallback, inputs).and_then(|job| background.prepare(job, due));
        // Without this reference, the session may end while the query waits.
        drop(background);
        let Some(mut waiting) = waiting else {
            self.tell(Told::Unprepared);
            self.metrics.count("answered_by_datafusion", 1);
            return Ok(fallback.stream(self.run.schema.clone(), self.context.clone()).await?.boxed());
        };
        let mut theirs = fallback.stream(self.run.schema.clone(), self.context.clone()).await?;
        let start = Instant::now();
        let first = match select(theirs.next(), &mut waiting.rows).await {
            Either::Left((first, _)) => first,
            Either::Right((Ok(answer), _)) => return Ok(self.sooner(&answer)),
            // The region cannot be prepared.
            Either::Right((Err(_), next)) => next.await,
        };
        match first {
            Some(Err(error)) if matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)) => {
                // The region may need less memory than DataFusion's plan.
                waiting.answered(start.elapsed());
                match (&mut waiting.rows).await {
                    Ok(answer) => Ok(self.sooner(&answer)),
                    Err(_) => Err(error),
                }
            }
            Some(Err(error)) => Err(error),
            first => {
                waiting.answered(start.elapsed());
                self.metrics.count("answered_by_datafusion", 1);
                self.metrics.time("datafusion_time", start.elapsed());
                self.tell(Told::Meanwhile);
                Ok(stream::iter(first).chain(theirs).boxed())
            }
        }
    }

    /// Returns the rows of a region that was ready before DataFusion answered.
    fn sooner(self, answer: &Arc<Answer>) -> Batches {
        self.metrics.time("encode_time", answer.ready.encode);
        self.tell(Told::Sooner);
        self.rows(answer.clone())
    }

    /// Returns the rows as a stream, which keeps their memory reserved until it is dropped.
    fn rows(&self, answer: Arc<Answer>) -> Batches {
        self.metrics.answer(&answer);
        let slices = answer.slices(self.context.session_config().batch_size());
        let held = move |batch| {
            let _ = &answer;
            Ok(batch)
        };
        stream::iter(slices.into_iter().map(held)).boxed()
    }

    fn tell(&self, told: Told) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
    }

    /// Returns the job that prepares the region; `None` if it cannot be cached.
    fn job(&self, fallback: &Fallback, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Option<Job> {
        let reuse = self.keep.as_ref()?;
        Some(Job {
            key: reuse.key.clone(),
            version: reuse.version.clone(),
            run: self.run.clone(),
            inputs,
            context: Arc::new(without_regions(&self.context)),
            cache: self.cache.clone(),
            claimed: fallback.plan.clone(),
            policy: self.options.claim,
            cancelled: Arc::default(),
        })
    }
}

/// Returns the same context with claiming disabled: regions among the inputs run once, which does
/// not pay for preparation.
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

/// A guard that asks a run to stop when the caller drops its future.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
