//! Preparation of regions while DataFusion answers, or afterwards, so that the next call finds its
//! region prepared.
//!
//! Each region is prepared by a thread of its own. While a query waits for the region, the thread
//! has the priority of other threads; once DataFusion has answered, the thread has a low priority
//! (on Linux). Preparations that begin when no query waits for their regions run one at a time. A
//! process ends without waiting for these threads; their work is cancelled when the session is
//! dropped.

use super::cache::RegionKey;
use super::job::Job;
use super::priority::ThreadPriority;
use crate::input_tables::Version;
use crate::run::RegionResult;
use futures::channel::oneshot;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The regions that a session prepares. Dropping this value cancels their preparation.
#[derive(Debug, Default)]
pub(crate) struct BackgroundJobs(Arc<JobQueue>);

/// Regions to prepare, and regions in preparation.
#[derive(Debug, Default)]
pub(crate) struct JobQueue {
    state: Mutex<QueueState>,
    /// Signalled whenever the state changes.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    entries: Vec<QueueEntry>,
    /// The id of the last entry.
    last_id: u64,
    /// True while the thread that starts due jobs is running.
    is_running: bool,
    /// True while a job is running that began without a waiting query.
    has_unawaited_job: bool,
    is_closed: bool,
    /// Regions that could not be prepared, newest first, with the number of tries.
    failures: Vec<(RegionKey, Version, u32)>,
    /// Callers of [`BackgroundJobs::wait_until_idle`].
    idle_waiters: Vec<oneshot::Sender<()>>,
}

#[derive(Debug)]
struct QueueEntry {
    id: u64,
    key: RegionKey,
    version: Version,
    /// The job; `None` after the job has begun.
    job: Option<Box<Job>>,
    /// The priority of the thread that runs the job; `None` before the thread runs.
    priority: Option<ThreadPriority>,
    start_time: StartTime,
    /// The queries that take redpoll's rows, if redpoll finishes before DataFusion.
    senders: Vec<oneshot::Sender<Arc<RegionResult>>>,
    /// The shortest time in which DataFusion has answered; `None` before DataFusion has answered.
    datafusion_time: Option<Duration>,
    cancelled: Arc<AtomicBool>,
}

/// The time at which preparation begins, ordered from early to late.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum StartTime {
    /// The given time, or the time when DataFusion has answered if that time is earlier.
    At(Instant),
    /// The time when DataFusion has answered.
    AfterDataFusion,
}

/// The number of failures after which a region over the same version of its tables is not prepared
/// again.
const MAX_TRIES: u32 = 3;

/// The largest number of remembered regions that could not be prepared.
const MAX_FAILURES: usize = 64;

/// The state of a region's preparation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Preparation {
    /// No call has asked for the region, or its preparation has ended.
    Unqueued,
    /// The region is being prepared, or is queued for preparation.
    Queued,
    /// The region cannot be prepared: it cannot be cached, preparation has failed [`MAX_TRIES`]
    /// times, or the session has ended.
    Impossible,
}

/// A query that waits for redpoll's rows of a region until DataFusion has answered.
#[derive(Debug)]
pub(crate) struct PendingResult {
    queue: Arc<JobQueue>,
    id: u64,
    /// The rows; an error if the job ends without rows, because it fails, is cancelled or leaves
    /// the region to DataFusion.
    pub(crate) rows: oneshot::Receiver<Arc<RegionResult>>,
}

impl BackgroundJobs {
    /// Queues a region, or joins an entry of the same region, and returns a handle for its rows.
    /// Returns `None` if preparation has failed [`MAX_TRIES`] times or no thread can be started.
    pub(crate) fn prepare(&self, job: Job, start_time: StartTime) -> Option<PendingResult> {
        let queue = &self.0;
        let mut state = queue.lock();
        let (sender, rows) = oneshot::channel();
        let pending = |id| Some(PendingResult { queue: queue.clone(), id, rows });
        let is_same = |e: &&mut QueueEntry| e.version == job.version && e.key == job.key;
        if let Some(entry) = state.entries.iter_mut().find(is_same).filter(|e| !e.cancelled.load(Ordering::Relaxed)) {
            entry.senders.push(sender);
            entry.start_time = entry.start_time.min(start_time);
            queue.changed.notify_all();
            return pending(entry.id);
        }
        if state.tries(&job.key, &job.version) >= MAX_TRIES {
            return None;
        }
        if !state.is_running {
            let queue = queue.clone();
            // Without a thread, nothing is prepared, and DataFusion answers.
            std::thread::Builder::new().name("redpoll-queue".into()).spawn(move || start_jobs(&queue)).ok()?;
            state.is_running = true;
        }
        state.last_id += 1;
        let id = state.last_id;
        let (key, version, cancelled) = (job.key.clone(), job.version.clone(), job.cancelled.clone());
        let job = Some(Box::new(job));
        state.entries.push(QueueEntry {
            id,
            key,
            version,
            job,
            priority: None,
            start_time,
            senders: vec![sender],
            datafusion_time: None,
            cancelled,
        });
        queue.changed.notify_all();
        pending(id)
    }

    /// Returns the state of a region's preparation.
    pub(crate) fn preparation(&self, key: &RegionKey, version: &Version) -> Preparation {
        let state = self.0.lock();
        let is_same = |e: &QueueEntry| e.version == *version && e.key == *key;
        let is_queued = |e: &QueueEntry| is_same(e) && !e.cancelled.load(Ordering::Relaxed);
        match state.entries.iter().any(is_queued) {
            true => Preparation::Queued,
            false if state.tries(key, version) >= MAX_TRIES => Preparation::Impossible,
            false => Preparation::Unqueued,
        }
    }

    /// Waits until there is nothing to prepare.
    pub(crate) async fn wait_until_idle(&self) {
        let receiver = {
            let mut state = self.0.lock();
            if !state.is_running {
                return;
            }
            let (sender, receiver) = oneshot::channel();
            state.idle_waiters.push(sender);
            receiver
        };
        // If the session ends first, the sender may be dropped without a message.
        let _ = receiver.await;
    }
}

impl Drop for BackgroundJobs {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        state.entries.iter().for_each(|entry| entry.cancelled.store(true, Ordering::Relaxed));
        self.0.changed.notify_all();
    }
}

impl PendingResult {
    /// Records that DataFusion answered after `time`. The job is then due, or its thread gets a low
    /// priority if the job is running.
    pub(crate) fn record_datafusion_time(&self, time: Duration) {
        let mut state = self.queue.lock();
        if let Some(entry) = state.entry(self.id) {
            entry.datafusion_time = Some(entry.datafusion_time.map_or(time, |least| least.min(time)));
            entry.priority.iter().for_each(ThreadPriority::lower);
        }
        self.queue.changed.notify_all();
    }

    /// Makes the job due now, because DataFusion cannot answer.
    pub(crate) fn begin(&self) {
        if let Some(entry) = self.queue.lock().entry(self.id) {
            entry.start_time = StartTime::At(Instant::now());
        }
        self.queue.changed.notify_all();
    }
}

impl Drop for PendingResult {
    fn drop(&mut self) {
        self.rows.close();
        let mut state = self.queue.lock();
        if let Some(entry) = state.entry(self.id)
            && entry.datafusion_time.is_none()
            && entry.senders.iter().all(oneshot::Sender::is_canceled)
        {
            // No caller wants the answer, and the user who ended the query expects free processors.
            entry.cancelled.store(true, Ordering::Relaxed);
            self.queue.changed.notify_all();
        }
    }
}

impl JobQueue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change of the state, until the given time at most.
    fn wait<'a>(&self, state: MutexGuard<'a, QueueState>, until: Option<Instant>) -> MutexGuard<'a, QueueState> {
        match until {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(until) => {
                let timeout = until.saturating_duration_since(Instant::now());
                self.changed.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }

    /// Waits for the next job that is due, and returns it with its id and whether a query waits for
    /// it; returns `None` if no entry is left or the session has ended. While a job is running that
    /// began without a waiting query, only jobs for which a query waits are returned.
    fn next_job(&self) -> Option<(u64, Box<Job>, Waiting)> {
        let mut state = self.lock();
        loop {
            // An entry whose job has begun is removed when the job ends.
            state.entries.retain(|entry| entry.job.is_none() || !entry.cancelled.load(Ordering::Relaxed));
            if state.is_closed || state.entries.is_empty() {
                state.is_running = false;
                // A receiver that is gone needs no message.
                state.idle_waiters.drain(..).for_each(|sender| sender.send(()).unwrap_or_default());
                return None;
            }
            let now = Instant::now();
            let is_free = !state.has_unawaited_job;
            let can_start =
                |entry: &&mut QueueEntry| entry.is_due(now) && (entry.waiting() == Waiting::Query || is_free);
            if let Some(entry) = state.entries.iter_mut().find(can_start) {
                let (id, waiting) = (entry.id, entry.waiting());
                let job = entry.job.take().expect("a job that is due has not begun");
                state.has_unawaited_job |= waiting == Waiting::Nobody;
                return Some((id, job, waiting));
            }
            let next =
                state.entries.iter().filter(|entry| entry.job.is_some()).filter_map(|entry| match entry.start_time {
                    StartTime::At(time) => Some(time).filter(|&time| time > now),
                    StartTime::AfterDataFusion => None,
                });
            let next = next.min();
            state = self.wait(state, next);
        }
    }

    /// Sends rows to the waiting queries. Returns whether a query took the rows, and the time of
    /// DataFusion, if DataFusion has answered.
    pub(crate) fn deliver(&self, id: u64, result: &Arc<RegionResult>) -> (Delivery, Option<Duration>) {
        let mut state = self.lock();
        let Some(entry) = state.entry(id) else { return (Delivery::Undelivered, None) };
        let waiting = entry.senders.drain(..).filter(|sender| !sender.is_canceled());
        let delivered = waiting.filter_map(|sender| sender.send(result.clone()).ok()).count();
        (if delivered > 0 { Delivery::Delivered } else { Delivery::Undelivered }, entry.datafusion_time)
    }

    /// Runs `run`, and sets `cancel` if DataFusion has answered after a time `t` and `run` takes
    /// longer than `time_limit(t)`. Returns the result of `run`, and `t` if `cancel` was set for
    /// that reason.
    pub(crate) fn run_with_limit<T>(
        &self,
        id: u64,
        time_limit: impl Fn(Duration) -> Duration + Sync,
        cancel: &AtomicBool,
        run: impl FnOnce() -> T,
    ) -> (T, Option<Duration>) {
        let (start, done) = (Instant::now(), AtomicBool::new(false));
        let watch = || {
            let mut state = self.lock();
            loop {
                if done.load(Ordering::Relaxed) {
                    return None;
                }
                let datafusion_time = state.entry(id).and_then(|entry| entry.datafusion_time);
                let deadline =
                    datafusion_time.and_then(|datafusion_time| start.checked_add(time_limit(datafusion_time)));
                if let Some(datafusion_time) =
                    datafusion_time.filter(|_| deadline.is_some_and(|deadline| deadline <= Instant::now()))
                {
                    cancel.store(true, Ordering::Relaxed);
                    return Some(datafusion_time);
                }
                state = self.wait(state, deadline);
            }
        };
        std::thread::scope(|scope| {
            let watcher = std::thread::Builder::new().name("redpoll-watch".into()).spawn_scoped(scope, watch);
            let guard = WatchGuard { queue: self, done: &done };
            let result = run();
            drop(guard);
            // If no watching thread could be started, `run` is not limited.
            let late = watcher.ok().and_then(|watcher| watcher.join().ok().flatten());
            (result, late)
        })
    }

    /// Records the priority of the thread that runs a job, and lowers it if no query waits for the
    /// job.
    fn record_priority(&self, id: u64, priority: ThreadPriority) {
        if let Some(entry) = self.lock().entry(id) {
            // DataFusion may have answered since the thread was started.
            if entry.waiting() == Waiting::Nobody {
                priority.lower();
            }
            entry.priority = Some(priority);
        }
    }

    /// Removes an entry whose job has ended, and counts the failure if the job has failed.
    fn finish(&self, id: u64, waiting: Waiting, outcome: JobOutcome) {
        let mut state = self.lock();
        if waiting == Waiting::Nobody {
            state.has_unawaited_job = false;
        }
        self.changed.notify_all();
        let Some(at) = state.entries.iter().position(|entry| entry.id == id) else { return };
        let QueueEntry { key, version, .. } = state.entries.remove(at);
        if outcome == JobOutcome::Failed {
            let before = state.failures.iter().position(|(k, v, _)| *v == version && *k == key);
            let tries = before.map_or(0, |before| state.failures.remove(before).2);
            state.failures.insert(0, (key, version, tries + 1));
            state.failures.truncate(MAX_FAILURES);
        }
    }
}

/// A guard that ends the watching thread, also if `run` panics.
struct WatchGuard<'a> {
    queue: &'a JobQueue,
    done: &'a AtomicBool,
}

impl Drop for WatchGuard<'_> {
    fn drop(&mut self) {
        // The watching thread checks `done` under the lock before it waits.
        let _state = self.queue.lock();
        self.done.store(true, Ordering::Relaxed);
        self.queue.changed.notify_all();
    }
}

/// The delivery of the rows of a region: `Delivered` if a query took the rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Delivery {
    Delivered,
    Undelivered,
}

/// The callers that wait for a region: `Query` if a query waits for the region and DataFusion has
/// not answered yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waiting {
    Query,
    Nobody,
}

/// The outcome of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JobOutcome {
    /// The region is prepared or left to DataFusion, its rows were delivered, or the job was
    /// cancelled.
    Done,
    /// The region could not be prepared, which counts as a try.
    Failed,
}

impl QueueState {
    /// Returns the number of failed preparations of a region.
    fn tries(&self, key: &RegionKey, version: &Version) -> u32 {
        let is_same = |(k, v, _): &&(RegionKey, Version, u32)| v == version && k == key;
        self.failures.iter().find(is_same).map_or(0, |(.., tries)| *tries)
    }

    fn entry(&mut self, id: u64) -> Option<&mut QueueEntry> {
        self.entries.iter_mut().find(|entry| entry.id == id)
    }
}

impl QueueEntry {
    fn waiting(&self) -> Waiting {
        match self.datafusion_time.is_none() && self.senders.iter().any(|sender| !sender.is_canceled()) {
            true => Waiting::Query,
            false => Waiting::Nobody,
        }
    }

    /// Returns whether the job has not begun, and its time has come or DataFusion has answered.
    fn is_due(&self, now: Instant) -> bool {
        let is_due = match self.start_time {
            StartTime::At(time) => time <= now,
            StartTime::AfterDataFusion => false,
        };
        self.job.is_some() && (is_due || self.datafusion_time.is_some())
    }
}

/// Starts jobs when they are due, until no job is left.
fn start_jobs(queue: &Arc<JobQueue>) {
    while let Some((id, job, waiting)) = queue.next_job() {
        let of_thread = queue.clone();
        let run = move || {
            of_thread.record_priority(id, ThreadPriority::of_this_thread());
            // A region whose job panics must not keep other regions from being prepared.
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| job.run(id, waiting, &of_thread)));
            of_thread.finish(id, waiting, outcome.unwrap_or(JobOutcome::Failed));
        };
        if std::thread::Builder::new().name("redpoll-prepare".into()).spawn(run).is_err() {
            queue.finish(id, waiting, JobOutcome::Failed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smaller of two start times is the earlier one; `AfterDataFusion` is the latest.
    #[test]
    fn start_times_are_ordered() {
        let early = Instant::now();
        let late = early + Duration::from_secs(1);
        assert_eq!(StartTime::AfterDataFusion.min(StartTime::At(late)), StartTime::At(late));
        assert_eq!(StartTime::At(late).min(StartTime::At(early)), StartTime::At(early));
    }
}
