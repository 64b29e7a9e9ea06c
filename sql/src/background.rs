//! Regions that are made ready while DataFusion answers, or after it has, so that the next call finds them ready: one thread
//! a session, of low priority, and one region after the other.
//!
//! Nobody waits for that thread, a process that ends neither. It ends when there is nothing to do, and what it does ends when
//! the session is dropped.

use crate::cache::Key;
use crate::job::Job;
use crate::run::Answer;
use crate::sources::Version;
use futures::channel::oneshot;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a session prepares; dropping it ends that.
#[derive(Debug, Default)]
pub(crate) struct Background(Arc<Queue>);

/// What is to be prepared, and what is being.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Something in the state is not as it was.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Entry>,
    /// The number of the next entry.
    next: u64,
    /// Whether the thread is there.
    works: bool,
    closed: bool,
    /// What could not be prepared, the newest first, and how often that was tried.
    failed: Vec<(Key, Version, u32)>,
    /// Who waits for the end of all.
    idle: Vec<oneshot::Sender<()>>,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    key: Key,
    version: Version,
    /// What is to be done; `None` once it has begun.
    job: Option<Box<Job>>,
    due: Due,
    /// The queries that would take the rows.
    waiting: Vec<oneshot::Sender<Arc<Answer>>>,
    /// How long DataFusion took at least, once it has answered.
    theirs: Option<Duration>,
    cancelled: Arc<AtomicBool>,
}

/// When to begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// At that time, or when DataFusion has answered, whichever is first.
    At(Instant),
    /// When DataFusion has answered.
    Answered,
}

/// So often is tried to prepare a region over tables as they are.
const MOST_TRIES: u32 = 3;

/// So many regions that could not be prepared are remembered.
const MOST_FAILED: usize = 64;

/// A query that waits for the rows of a region, as long as DataFusion has not answered it.
#[derive(Debug)]
pub(crate) struct Waiting {
    queue: Arc<Queue>,
    id: u64,
    /// The rows; an error when there will be none.
    pub(crate) rows: oneshot::Receiver<Arc<Answer>>,
}

impl Background {
    /// Has a region prepared, once, and waits for its rows; `None` when that was tried often enough.
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
            // Without a thread there is no preparing: DataFusion answers.
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
        // It is dropped without a word when the session is.
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
    /// DataFusion has answered, in so long.
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
            // Nobody wants the answer: who ends a query wants its processors back.
            entry.cancelled.store(true, Ordering::Relaxed);
            self.queue.changed.notify_all();
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change, or until a time.
    fn wait<'a>(&self, state: MutexGuard<'a, State>, until: Option<Instant>) -> MutexGuard<'a, State> {
        match until {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }

    /// Waits for what is due next; `None` when there is nothing left to do.
    fn next(&self) -> Option<(u64, Box<Job>)> {
        let mut state = self.lock();
        loop {
            state.entries.retain(|entry| !entry.cancelled.load(Ordering::Relaxed));
            if state.closed || state.entries.is_empty() {
                state.works = false;
                // Who has gone away needs no word.
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

    /// Hands rows to those who wait for them, and says whether there are any, and how long DataFusion took, if it has
    /// answered somebody.
    pub(crate) fn give(&self, id: u64, answer: &Arc<Answer>) -> (Taken, Option<Duration>) {
        let mut state = self.lock();
        let Some(entry) = state.entry(id) else { return (Taken::No, None) };
        let taken = entry.waiting.drain(..).filter(|waiting| !waiting.is_canceled());
        let taken = taken.filter_map(|waiting| waiting.send(answer.clone()).ok()).count();
        (if taken > 0 { Taken::Yes } else { Taken::No }, entry.theirs)
    }

    /// Does something, and sets the flag when it takes longer than `most` says of how long DataFusion took; with whether it
    /// was set.
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
            // Without a thread nobody watches.
            let late = watching.ok().and_then(|watching| watching.join().ok().flatten());
            (result, late)
        })
    }

    /// What was begun has ended.
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

/// Ends a watch, however what is watched ends.
struct EndOfWatch<'a> {
    queue: &'a Queue,
    done: &'a AtomicBool,
}

impl Drop for EndOfWatch<'_> {
    fn drop(&mut self) {
        // Who watches looks under the lock before it waits.
        let _state = self.queue.lock();
        self.done.store(true, Ordering::Relaxed);
        self.queue.changed.notify_all();
    }
}

/// Whether somebody has taken rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    Yes,
    No,
}

/// What has come of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// The next call knows more than this one: the region is ready, or for DataFusion, or its tables have changed.
    Done,
    /// It does not.
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

/// Does what is to be done until there is nothing.
fn work(queue: &Arc<Queue>) {
    lower_priority();
    while let Some((id, job)) = queue.next() {
        // A region that makes this panic must not keep others from being prepared.
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| job.run(id, queue)));
        queue.end(id, done.unwrap_or(Outcome::Failed));
    }
}

/// Lets other threads go first where both have something to do.
fn lower_priority() {
    // On Linux this is the thread; elsewhere it would be the process.
    #[cfg(target_os = "linux")]
    // Where it is refused, the thread is one like others.
    let _ = rustix::process::setpriority_process(None, 10);
}
