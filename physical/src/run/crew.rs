//! Work that threads join while it lasts.
//!
//! A scope waits for all that was spawned in it, and so for threads that have yet to wake up or to be given a processor,
//! although the work is done by then. Here a thread that comes too late is not waited for.

use rayon::ThreadPool;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How often the state is looked at before this thread sleeps: some tens of microseconds.
const SPINS: u32 = 64;

/// Calls `work` on this thread and on up to so many threads of a pool at once, and returns when no thread is in it.
/// `work` returns when nothing is left to do.
///
/// # Panics
/// When `work` does, on any thread.
pub(super) fn run(pool: &ThreadPool, helpers: usize, work: &(dyn Fn() + Sync)) {
    // SAFETY: just the lifetime is changed. A thread calls the work between `enter` and `leave` only, and the work is
    // borrowed until `closed` is dropped, which waits until nobody is between them and lets nobody enter again.
    let work = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(work) };
    let crew = Arc::new(Crew {
        work,
        state: Mutex::new(State { is_open: true, inside: 0, panic: None }),
        left: Condvar::new(),
    });
    let closed = Closed(&crew);
    for _ in 0..helpers {
        let crew = crew.clone();
        pool.spawn(move || crew.help());
    }
    work();
    drop(closed);
    if let Some(panic) = crew.state().panic.take() {
        resume_unwind(panic);
    }
}

struct Crew {
    work: &'static (dyn Fn() + Sync),
    state: Mutex<State>,
    /// Signalled when a thread has left.
    left: Condvar,
}

struct State {
    /// Whether threads may still come.
    is_open: bool,
    /// The threads, but the first, that are at work.
    inside: usize,
    /// What a thread has panicked with.
    panic: Option<Box<dyn std::any::Any + Send>>,
}

impl Crew {
    fn state(&self) -> MutexGuard<'_, State> {
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
        state.inside += usize::from(state.is_open);
        state.is_open
    }

    fn leave(&self, panic: Option<Box<dyn std::any::Any + Send>>) {
        let mut state = self.state();
        state.inside -= 1;
        state.panic = state.panic.take().or(panic);
        self.left.notify_all();
    }
}

/// Closes a crew and waits for those inside when dropped.
struct Closed<'a>(&'a Crew);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.state().is_open = false;
        // What the others are at is about to end, sooner than a thread that sleeps wakes up.
        for _ in 0..SPINS {
            if self.0.state().inside == 0 {
                return;
            }
            for _ in 0..16 {
                std::hint::spin_loop();
            }
        }
        let mut state = self.0.state();
        while state.inside > 0 {
            state = self.0.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Protects the borrow of the work: what threads that came late would call is gone, and a panic waits for the others.
    #[test]
    fn nobody_works_after_the_end() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for round in 0..200 {
            let (left, inside) = (AtomicUsize::new(round), AtomicUsize::new(0));
            let work = || {
                inside.fetch_add(1, Ordering::SeqCst);
                while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok() {}
                inside.fetch_sub(1, Ordering::SeqCst);
            };
            run(&pool, 3, &work);
            assert_eq!((left.load(Ordering::SeqCst), inside.load(Ordering::SeqCst)), (0, 0));
        }
        let panicked = catch_unwind(AssertUnwindSafe(|| run(&pool, 3, &|| panic!("the work has a fault"))));
        assert!(panicked.is_err());
    }
}
