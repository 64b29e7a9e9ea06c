//! Preparation of regions while DataFusion answers, or afterwards, so that the next call finds them
//! ready. Each session has one thread of low priority, which prepares one region at a time.
//!
//! A process ends without waiting for this thread. The thread ends if there is nothing to do; its
//! work is cancelled when the session is dropped.

use crate::cache::Key;
use crate::job::Job;
use crate::run::Answer;
use crate::sources::Version;
use futures::channel::oneshot;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The regions that a session prepares; dropping it cancels them.
#[derive(Debug, Default)]
pub(crate) struct Background(Arc<Queue>);

/// Regions to prepare, and the one that is being prepared.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Signalled whenever the state changes.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Entry>,
    /// The id of the last entry.
    next: u64,
    /// True if the thread runs.
    works: bool,
    closed: bool,
    /// Regions that could not be prepared, newest first, with the number of tries.
    failed: Vec<(Key, Version, u32)>,
    /// Callers of [`Background::idle`].
    idle: Vec<oneshot::Sender<()>>,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    key: Key,
    version: Version,
    /// The job; `None` once it has begun.
    job: Option<Box<Job>>,
    due: Due,
    /// The queries that take the rows if they come first.
    waiting: Vec<oneshot::Sender<Arc<Answer>>>,
    /// The shortest time in which DataFusion has answered, once it has.
    theirs: Option<Duration>,
    cancelled: Arc<AtomicBool>,
}

/// The time at which preparation begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// The given time, or the time when DataFusion has answered if that is earlier.
    At(Instant),
    /// The time when DataFusion has answered.
    Answered,
}

/// Number of times that preparing a region over the same version of its tables may fail.
const MOST_TRIES: u32 = 3;

/// Number of regions that could not be prepared and are remembered.
const MOST_FAILED: usize = 64;

/// A query that waits for the rows of a region until DataFusion has answered it.
#[derive(Debug)]
pub(crate) struct Waiting {
    queue: Arc<Queue>,
    id: u64,
    /// The rows; an error if the region cannot be prepared.
    pub(crate) rows: oneshot::Receiver<Arc<Answer>>,
}

impl Background {
    /// Queues a region, or joins an entry of the same region, and returns a handle for its rows;
    /// `None` if it failed [`MOST_TRIES`] times or no thread can be started.
    pub(crate) fn prepare(&self, job: Job, due: Due) -> Option<Waiting> {
        let queue = &self.0;
        let mut state = queue.lock();
        let (sender, rows) = oneshot::channel();
        let waiting = |id| Some(Waiting { queue: queue.clone(), id, rows });
        let known = |e: &&mut Entry| e.version == job.version && e.key == job.key;
        if let Some(entry) = state.entries.iter_mut().find(known).filter(|e| !e.cancelled.load(Ordering::Relaxed)) {
            entry.waiting.push(sender);
            if let (Due::At(own), Due::At(other)) = (due, entry.due) {
                entry.due = Due::At(own.min(other));
            }
            queue.changed.notify_all();
            return waiting(entry.id);
        }
        let tries = state.failed.iter().find(|(key, version, _)| *version == job.version && *key == job.key);
        if tries.is_some_and(|(.., tries)| *tries >= MOST_TRIES) {
            return None;
        }
        if !state.works {
            let queue = queue.clone();
            // Without a thread, nothing is prepared, and DataFusion answers.
            std::thread::Builder::new().name("redpoll-prepare".into()).spawn(move || work(&queue)).ok()?;
            state.works = true;
        }
        state.next += 1;
        let id = state.next;
        let (key, version, cancelled) = (job.key.clone(), job.version.clone(), job.cancelled.clone());
        let job = Some(Box::new(job));
        state.entries.push(Entry { id, key, version, job, due, waiting: vec![sender], theirs: None, cancelled });
        queue.changed.notify_all();
        waiting(id)
    }

    /// Waits until there is nothing to prepare.
    pub(crate) async fn idle(&self) {
        let end = {
            let mut state = self.0.lock();
            if !state.works {
                return;
            }
            let (sender, end) = oneshot::channel();
            state.idle.push(sender);
            end
        };
        // The sender is dropped when the session is.
        let _ = end.await;
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed = true;
        state.entries.iter().for_each(|entry| entry.cancelled.store(true, Ordering::Relaxed));
        self.0.changed.notify_all();
    }
}

impl Waiting {
    /// Records that DataFusion answered after `took`.
    pub(crate) fn answered(&self, took: Duration) {
        let mut state = self.queue.lock();
        if let Some(entry) = state.entry(self.id) {
            entry.theirs = Some(entry.theirs.map_or(took, |least| least.min(took)));
        }
        self.queue.changed.notify_all();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.rows.close();
        let mut state = self.queue.lock();
        if let Some(entry) = state.entry(self.id)
            && entry.theirs.is_none()
            && entry.waiting.iter().all(oneshot::Sender::is_canceled)
        {
            // No caller wants the answer, and the user who ended the query expects free processors.
            entry.cancelled.store(true, Ordering::Relaxed);
            self.queue.changed.notify_all();
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change of the state, until the given time at most.
    fn wait<'a>(&self, state: MutexGuard<'a, State>, until: Option<Instant>) -> MutexGuard<'a, State> {
        match until {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }

    /// Waits for the next job that is due; returns `None` if nothing is left to do.
    fn next(&self) -> Option<(u64, Box<Job>)> {
        let mut state = self.lock();
        loop {
            state.entries.retain(|entry| !entry.cancelled.load(Ordering::Relaxed));
            if state.closed || state.entries.is_empty() {
                state.works = false;
                // A receiver that is gone needs no message.
                state.idle.drain(..).for_each(|waiting| waiting.send(()).unwrap_or_default());
                return None;
            }
            let now = Instant::now();
            if let Some(entry) = state.entries.iter_mut().find(|entry| entry.is_due(now)) {
                return entry.job.take().map(|job| (entry.id, job));
            }
            let next = state.entries.iter().filter_map(|entry| match entry.due {
                Due::At(time) => Some(time),
                Due::Answered => None,
            });
            let next = next.min();
            state = self.wait(state, next);
        }
    }

    /// Sends rows to the waiting queries. Returns whether a query took them, and the time of
    /// DataFusion, if it has answered.
    pub(crate) fn give(&self, id: u64, answer: &Arc<Answer>) -> (Taken, Option<Duration>) {
        let mut state = self.lock();
        let Some(entry) = state.entry(id) else { return (Taken::No, None) };
        let taken = entry.waiting.drain(..).filter(|waiting| !waiting.is_canceled());
        let taken = taken.filter_map(|waiting| waiting.send(answer.clone()).ok()).count();
        (if taken > 0 { Taken::Yes } else { Taken::No }, entry.theirs)
    }

    /// Runs `run` and sets `cancel` if it takes longer than `most` of DataFusion's time. Also
    /// returns DataFusion's time if `cancel` was set for that reason.
    pub(crate) fn within<T>(
        &self,
        id: u64,
        most: impl Fn(Duration) -> Duration + Sync,
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
                let theirs = state.entry(id).and_then(|entry| entry.theirs);
                let end = theirs.and_then(|theirs| start.checked_add(most(theirs)));
                if let Some(theirs) = theirs.filter(|_| end.is_some_and(|end| end <= Instant::now())) {
                    cancel.store(true, Ordering::Relaxed);
                    return Some(theirs);
                }
                state = self.wait(state, end);
            }
        };
        std::thread::scope(|scope| {
            let watching = std::thread::Builder::new().name("redpoll-watch".into()).spawn_scoped(scope, watch);
            let end = EndOfWatch { queue: self, done: &done };
            let result = run();
            drop(end);
            // If no watching thread could be started, `run` is not limited.
            let late = watching.ok().and_then(|watching| watching.join().ok().flatten());
            (result, late)
        })
    }

    /// Removes an entry whose job has ended, and counts a failure.
    fn end(&self, id: u64, outcome: Outcome) {
        let mut state = self.lock();
        let Some(at) = state.entries.iter().position(|entry| entry.id == id) else { return };
        let Entry { key, version, .. } = state.entries.remove(at);
        if outcome == Outcome::Failed {
            let before = state.failed.iter().position(|(k, v, _)| *v == version && *k == key);
            let tries = before.map_or(0, |before| state.failed.remove(before).2);
            state.failed.insert(0, (key, version, tries + 1));
            state.failed.truncate(MOST_FAILED);
        }
        self.changed.notify_all();
    }
}

/// A guard that ends the watching thread, also if `run` panics.
struct EndOfWatch<'a> {
    queue: &'a Queue,
    done: &'a AtomicBool,
}

impl Drop for EndOfWatch<'_> {
    fn drop(&mut self) {
        // The watching thread checks `done` under the lock before it waits.
        let _state = self.queue.lock();
        self.done.store(true, Ordering::Relaxed);
        self.queue.changed.notify_all();
    }
}

/// The fate of rows: `Yes` if a query took them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    Yes,
    No,
}

/// The outcome of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// The region is ready or left to DataFusion, or the job was cancelled.
    Done,
    /// The region could not be prepared, which counts as a try.
    Failed,
}

impl State {
    fn entry(&mut self, id: u64) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.id == id)
    }
}

impl Entry {
    fn is_due(&self, now: Instant) -> bool {
        let due = match self.due {
            Due::At(time) => time <= now,
            Due::Answered => false,
        };
        due || self.theirs.is_some()
    }
}

/// Runs the jobs that are due, until none is left.
fn work(queue: &Arc<Queue>) {
    lower_priority();
    while let Some((id, job)) = queue.next() {
        // A region whose job panics must not keep others from being prepared.
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| job.run(id, queue)));
        queue.end(id, done.unwrap_or(Outcome::Failed));
    }
}

/// Lowers the priority of this thread.
fn lower_priority() {
    // On Linux, this sets the priority of the thread; elsewhere, it would be that of the process.
    #[cfg(target_os = "linux")]
    // If this is refused, the thread keeps its priority.
    let _ = rustix::process::setpriority_process(None, 10);
}
