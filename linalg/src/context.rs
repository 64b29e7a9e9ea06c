//! The threads, the memory and the cancel flag of a computation.

use crate::Error;
use faer::Par;
use rayon::{ThreadPool, ThreadPoolBuilder};
use redpoll_storage::{Account, MemoryBudget, Status};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The least number of floating-point operations of a computation that several threads share. A
/// smaller computation stays on the caller's thread.
const SHARED: f64 = 1e7;

/// The number of parts into which faer divides a shared computation. Rounding errors depend on the
/// parts, so their number does not depend on the number of threads.
const PARTS: usize = 16;

/// The limits of a computation.
#[derive(Clone, Debug)]
pub struct Context {
    /// The number of threads.
    pub threads: NonZero<usize>,
    /// The budget to which copies, workspaces, factors and results are charged. Only the factors of
    /// sparse LU factorizations are not charged, because their size is not known in advance.
    pub memory: Arc<MemoryBudget>,
    /// A flag that stops the computation before the next matrix of a stack.
    pub cancel: Arc<AtomicBool>,
}

impl Default for Context {
    /// Returns a context with one thread and without a memory limit.
    fn default() -> Context {
        let memory = Arc::new(MemoryBudget::new(isize::MAX as usize));
        Context { threads: NonZero::<usize>::MIN, memory, cancel: Arc::default() }
    }
}

impl Context {
    /// Runs `work`, which takes about this many floating-point operations, and passes it the
    /// parallelism for faer. The result does not depend on the number of threads.
    pub(crate) fn run<R: Send>(&self, operations: f64, work: impl FnOnce(Par) -> R + Send) -> R {
        match if is_shared(operations) { pool_of(self.threads) } else { None } {
            Some(pool) => pool.install(|| work(Par::rayon(PARTS))),
            None => work(Par::Seq),
        }
    }

    /// Runs calls of the high-level interface of faer in a pool of one thread. That interface
    /// divides its work by the number of threads of the current pool, and rounding errors depend on
    /// the division.
    pub(crate) fn run_on_one_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
        match pool_of(NonZero::<usize>::MIN) {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Returns the thread pool; `None` for one thread, or if the system cannot start threads.
    pub(crate) fn pool(&self) -> Option<Arc<ThreadPool>> {
        if self.threads.get() > 1 { pool_of(self.threads) } else { None }
    }

    /// Fails if the caller has cancelled the computation.
    pub(crate) fn check_cancelled(&self) -> Result<(), Error> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(redpoll_storage::Error::Stopped(Status::Cancelled).into()),
            false => Ok(()),
        }
    }

    /// Charges a workspace of this many elements of type `T` until the reservation is dropped.
    ///
    /// # Errors
    /// When the memory limit is reached.
    pub fn reserve<T>(&self, elements: usize) -> Result<Reservation, Error> {
        let bytes = elements.saturating_mul(size_of::<T>());
        if !self.memory.charge(bytes) {
            return Err(redpoll_storage::Error::Stopped(Status::OutOfMemory).into());
        }
        Ok(Reservation { bytes, memory: self.memory.clone() })
    }
}

/// Returns whether threads share a computation of this many floating-point operations.
pub(crate) fn is_shared(operations: f64) -> bool {
    operations >= SHARED
}

/// Bytes that are charged to a budget until the reservation is dropped.
#[derive(Debug)]
pub struct Reservation {
    bytes: usize,
    memory: Arc<MemoryBudget>,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.memory.release(self.bytes);
    }
}

/// Returns the pool of this many threads, which all computations of the process share; `None` if
/// the system cannot start the threads.
fn pool_of(threads: NonZero<usize>) -> Option<Arc<ThreadPool>> {
    static POOLS: Mutex<BTreeMap<NonZero<usize>, Arc<ThreadPool>>> = Mutex::new(BTreeMap::new());
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&threads) {
        return Some(pool.clone());
    }
    let name = |k| format!("redpoll-linalg-{k}");
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads.get()).thread_name(name).build().ok()?);
    pools.insert(threads, pool.clone());
    Some(pool)
}
