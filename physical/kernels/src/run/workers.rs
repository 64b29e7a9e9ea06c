//! The threads that run the chunks of kernels.

use super::crew;
use crate::Error;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ffi::OsStr;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Minimum work of a chunk, in steps of loops: a fraction of a millisecond, several times the cost
/// of waking a thread.
const GRAIN: u64 = 1 << 16;

/// Parses the number of threads in a variable; returns `None` if the variable is empty.
fn threads_of(value: &OsStr) -> Result<Option<NonZero<usize>>, String> {
    let fault = || {
        let value = value.display();
        format!(
            "invalid REDPOLL_THREADS `{value}`: expected a number of threads, at least 1; correct or unset the variable"
        )
    };
    match value.to_str() {
        Some("") => Ok(None),
        text => text.and_then(|text| text.trim().parse().ok()).map(Some).ok_or_else(fault),
    }
}

/// A set of threads that includes the caller's thread. The other threads start when they first have
/// work, and then wait for more work. All sessions with the same workers share these threads.
#[derive(Debug)]
pub struct Workers {
    threads: NonZero<usize>,
    grain: u64,
    helpers: OnceLock<Option<ThreadPool>>,
}

impl Workers {
    /// Makes workers with this many threads.
    pub fn new(threads: NonZero<usize>) -> Workers {
        Workers { threads, grain: GRAIN, helpers: OnceLock::new() }
    }

    /// Returns the workers of this process. The number of threads is the value of the environment
    /// variable `REDPOLL_THREADS`, or else the available parallelism of the machine. An invalid
    /// number is ignored here; [`Workers::from_environment`] reports it.
    pub fn host() -> &'static Arc<Workers> {
        static HOST: OnceLock<Arc<Workers>> = OnceLock::new();
        let requested = || Workers::from_environment().ok().flatten();
        let all = || std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        HOST.get_or_init(|| Arc::new(Workers::new(requested().unwrap_or_else(all))))
    }

    /// Returns the number of threads in the environment variable `REDPOLL_THREADS`; `None` if the
    /// variable is not set or empty.
    ///
    /// # Errors
    /// When the value is not a whole number of at least 1.
    pub fn from_environment() -> Result<Option<NonZero<usize>>, &'static str> {
        static REQUESTED: OnceLock<Result<Option<NonZero<usize>>, String>> = OnceLock::new();
        let requested =
            REQUESTED.get_or_init(|| std::env::var_os("REDPOLL_THREADS").map_or(Ok(None), |value| threads_of(&value)));
        requested.as_ref().copied().map_err(String::as_str)
    }

    /// Returns workers with only the caller's thread.
    pub fn caller() -> &'static Arc<Workers> {
        static CALLER: OnceLock<Arc<Workers>> = OnceLock::new();
        CALLER.get_or_init(|| Arc::new(Workers::new(NonZero::<usize>::MIN)))
    }

    /// Returns workers that cut every loop of two or more rounds that can be cut, even if cutting
    /// does not pay. For tests.
    #[must_use]
    pub fn without_grain(self) -> Workers {
        Workers { grain: 0, ..self }
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.threads.get()
    }

    /// Returns whether threads other than the caller's have started.
    #[cfg(test)]
    pub(crate) fn have_started(&self) -> bool {
        self.helpers.get().is_some()
    }

    /// Returns the minimum work of a chunk, in steps of loops; 0 for workers
    /// [`without_grain`](Workers::without_grain).
    pub(crate) fn grain(&self) -> u64 {
        self.grain
    }

    /// Processes all items, in any order and in parallel.
    ///
    /// # Errors
    /// The error of the first failed item, in order. Once an item fails, threads take no further
    /// items.
    pub fn for_each<T: Send>(
        &self,
        items: impl IntoIterator<Item = T>,
        work: impl Fn(T) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
        let next = AtomicUsize::new(0);
        let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let run = || {
            loop {
                let k = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(k) else { return };
                let item = item.lock().unwrap_or_else(PoisonError::into_inner).take().expect("each item is taken once");
                if let Err(error) = work(item) {
                    next.store(items.len(), Ordering::Relaxed);
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    if failed.as_ref().is_none_or(|(first, _)| k < *first) {
                        *failed = Some((k, error));
                    }
                }
            }
        };
        let helpers = self.threads.get().min(items.len()).saturating_sub(1);
        // Threads start with the first work that they can share.
        match if helpers > 0 { self.helpers() } else { None } {
            Some(pool) => crew::run(pool, helpers, &run),
            None => run(),
        }
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Returns the threads other than the caller's; `None` if there are none or the system cannot
    /// start them.
    fn helpers(&self) -> Option<&ThreadPool> {
        let helpers = self.threads.get() - 1;
        let start =
            || ThreadPoolBuilder::new().num_threads(helpers).thread_name(|k| format!("redpoll-{k}")).build().ok();
        self.helpers.get_or_init(|| (helpers > 0).then(start).flatten()).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_compiler::assembly::Status;

    /// An invalid number of threads in the environment is an error.
    #[test]
    fn the_environment_variable_is_a_number_of_threads_or_empty() {
        let parsed = |value: &str| threads_of(OsStr::new(value)).map(|n| n.map(NonZero::get));
        assert_eq!((parsed(""), parsed("3"), parsed(" 8 ")), (Ok(None), Ok(Some(3)), Ok(Some(8))));
        for wrong in ["abc", "0", "-1", "2.5", "4 cores", "99999999999999999999999"] {
            assert!(parsed(wrong).unwrap_err().contains(&format!("`{wrong}`")), "{wrong}");
        }
    }

    /// Each item is processed once, for any number of threads. After a failure, the error of the
    /// first failed item is returned, and no item is processed twice.
    #[test]
    fn each_item_is_done_once() {
        for threads in [1, 2, 5] {
            let workers = Workers::new(NonZero::new(threads).unwrap());
            let done: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
            let all = workers.for_each(0..100, |k: usize| {
                done[k].fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
            assert!(all.is_ok() && done.iter().all(|d| d.load(Ordering::Relaxed) == 1));
            let begun: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
            let failed = workers.for_each(0..100, |k: usize| {
                begun[k].fetch_add(1, Ordering::Relaxed);
                match k {
                    40 => Err(Error::KernelStopped(Status::Cancelled)),
                    41.. => Err(Error::KernelStopped(Status::OutOfMemory)),
                    _ => Ok(()),
                }
            });
            assert!(matches!(failed, Err(Error::KernelStopped(Status::Cancelled))), "{failed:?}");
            let begun: Vec<usize> = begun.into_iter().map(AtomicUsize::into_inner).collect();
            assert!(begun[..=40].iter().all(|times| *times == 1) && begun.iter().all(|times| *times <= 1));
            assert!(threads > 1 || begun[41..].iter().all(|times| *times == 0));
            assert!(workers.for_each(0..0, |_: usize| Err(Error::KernelStopped(Status::Cancelled))).is_ok());
        }
    }
}
