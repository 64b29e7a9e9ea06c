//! Crews: a thread calls a function, and threads of a pool may call the function too, until the
//! work is done.
//!
//! A scope of the pool waits for all spawned tasks. So a scope waits for threads that have not
//! woken up or are not scheduled yet, even if the work is already done. A crew does not wait for
//! threads that come too late.

use rayon::ThreadPool;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Number of checks of the state before the waiting thread sleeps. The checks take some tens of
/// microseconds.
const SPINS: u32 = 64;

/// Calls `work` on this thread and on up to `helpers` threads of a pool in parallel, and returns
/// when no thread is in `work`. `work` must return when nothing is left to do.
///
/// # Panics
/// When `work` panics, on any thread.
pub(super) fn run(pool: &ThreadPool, helpers: usize, work: &(dyn Fn() + Sync)) {
    // SAFETY: only the lifetime is changed. A thread calls the work only between `enter` and
    // `leave`. The borrow of the work lasts until `guard` is dropped. The drop lets no further
    // thread enter, and waits until no thread is between `enter` and `leave`.
    let work = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(work) };
    let crew = Arc::new(Crew {
        work,
        state: Mutex::new(CrewState { is_open: true, active: 0, panic: None }),
        departed: Condvar::new(),
    });
    let guard = CrewGuard(&crew);
    for _ in 0..helpers {
        let crew = crew.clone();
        pool.spawn(move || crew.help());
    }
    work();
    drop(guard);
    if let Some(panic) = crew.state().panic.take() {
        resume_unwind(panic);
    }
}

struct Crew {
    work: &'static (dyn Fn() + Sync),
    state: Mutex<CrewState>,
    /// Signalled when a thread has left.
    departed: Condvar,
}

struct CrewState {
    /// True while threads may still enter.
    is_open: bool,
    /// Number of threads in `work`, apart from the caller's.
    active: usize,
    /// The payload of a thread's panic.
    panic: Option<Box<dyn std::any::Any + Send>>,
}

impl Crew {
    fn state(&self) -> MutexGuard<'_, CrewState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn help(&self) {
        if !self.enter() {
            return;
        }
        let outcome = catch_unwind(AssertUnwindSafe(self.work));
        self.leave(outcome.err());
    }

    fn enter(&self) -> bool {
        let mut state = self.state();
        state.active += usize::from(state.is_open);
        state.is_open
    }

    fn leave(&self, panic: Option<Box<dyn std::any::Any + Send>>) {
        let mut state = self.state();
        state.active -= 1;
        state.panic = state.panic.take().or(panic);
        self.departed.notify_all();
    }
}

/// A guard that closes a crew on drop and waits for the threads inside.
struct CrewGuard<'a>(&'a Crew);

impl Drop for CrewGuard<'_> {
    fn drop(&mut self) {
        self.0.state().is_open = false;
        // The other threads usually finish sooner than a sleeping thread would wake up.
        for _ in 0..SPINS {
            if self.0.state().active == 0 {
                return;
            }
            for _ in 0..16 {
                std::hint::spin_loop();
            }
        }
        let mut state = self.0.state();
        while state.active > 0 {
            state = self.0.departed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// No thread is in the work when `run` returns, and a panic in the work becomes a panic of
    /// `run`.
    #[test]
    fn no_thread_works_after_the_end() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for round in 0..200 {
            let (remaining, active) = (AtomicUsize::new(round), AtomicUsize::new(0));
            let work = || {
                active.fetch_add(1, Ordering::SeqCst);
                while remaining.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok() {}
                active.fetch_sub(1, Ordering::SeqCst);
            };
            run(&pool, 3, &work);
            assert_eq!((remaining.load(Ordering::SeqCst), active.load(Ordering::SeqCst)), (0, 0));
        }
        let panicked = catch_unwind(AssertUnwindSafe(|| run(&pool, 3, &|| panic!("the work has a fault"))));
        assert!(panicked.is_err());
    }
}
