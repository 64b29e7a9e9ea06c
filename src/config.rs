//! Configuration of sessions.

use crate::error::Error;
use crate::target::Target;
use redpoll_kernels::c::Toolchain;
use redpoll_kernels::run::Workers;
use std::path::PathBuf;
use std::sync::Arc;

/// Options of planning and running.
#[derive(Clone, Debug)]
pub struct Config {
    /// Options of the optimizer. The float mode applies to every phase.
    pub optimizer: redpoll_optimizer::OptimizerConfig,
    /// Target of runs that name no target.
    pub target: Target,
    /// Maximum number of bytes allocated at one time for results, intermediates, workspaces, copies
    /// of inputs, and tensors that are read from files or drawn at random. Results count until they
    /// are dropped. Tensors of computed arrays and kept copies are evicted before the limit stops a
    /// run. `None` means no limit.
    pub memory_limit: Option<usize>,
    /// Maximum number of bytes of CUDA device memory allocated at one time for inputs, results and
    /// workspaces. `None` means three quarters of the device memory, shared by all sessions of the
    /// process.
    pub device_memory_limit: Option<usize>,
    /// Worker threads of kernels; by default the workers of the process. The environment variable
    /// `REDPOLL_THREADS` sets the number of workers of the process; if it is not set, the number is
    /// the parallelism of the machine. Results do not depend on the number of threads.
    pub workers: Arc<Workers>,
    /// Compiler of the optimizing tier; by default the C compiler and the caches of the process.
    pub toolchain: Arc<Toolchain>,
    /// Folder to which every phase is dumped, with a subfolder for each plan and program; by
    /// default the folder in the environment variable `REDPOLL_DUMP`.
    pub dump: Option<PathBuf>,
    /// Folder of an earlier dump, whose C text (possibly edited) replaces the text that the
    /// optimizing tier generates; by default the folder in the environment variable `REDPOLL_LOAD`.
    pub load: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Config {
        let folder = |name| std::env::var_os(name).filter(|f| !f.is_empty()).map(PathBuf::from);
        Config {
            optimizer: redpoll_optimizer::OptimizerConfig::default(),
            target: Target::default(),
            memory_limit: None,
            device_memory_limit: None,
            workers: Workers::host().clone(),
            toolchain: Toolchain::host().clone(),
            dump: folder("REDPOLL_DUMP"),
            load: folder("REDPOLL_LOAD"),
        }
    }
}

impl Config {
    /// Checks the environment variable for the number of threads, if the session uses the workers
    /// of the process.
    pub(crate) fn check_environment(&self) -> Result<(), Error> {
        match Arc::ptr_eq(&self.workers, Workers::host()) {
            true => Workers::from_environment().map(drop).map_err(Error::Environment),
            false => Ok(()),
        }
    }
}
