//! The options and the counters of a toolchain.

use crate::{CacheFolder, MAX_CACHE_BYTES};
use std::path::PathBuf;
use std::time::Duration;

/// The options of a toolchain.
#[derive(Clone, Debug)]
pub struct ToolchainOptions {
    /// The compiler. `None` stands for the compiler that the environment names, in `CC` or a
    /// variant such as `HOST_CC`. If the environment names none, `None` stands for the usual
    /// compiler of the target.
    pub compiler: Option<PathBuf>,
    /// The cache on disk.
    pub cache: CacheFolder,
    /// Size limit of the cache on disk, in bytes.
    pub cache_bytes: u64,
    /// Time limit for the compilation of one unit, and for each call by which the compiler is
    /// identified. If the compiler exceeds the limit, the compilation fails. The compiler is then
    /// killed, unless the crate `cc` has started it.
    pub compiler_time: Duration,
}

impl Default for ToolchainOptions {
    fn default() -> ToolchainOptions {
        ToolchainOptions {
            compiler: None,
            cache: CacheFolder::User,
            cache_bytes: MAX_CACHE_BYTES,
            compiler_time: Duration::from_secs(120),
        }
    }
}

/// Counters of a toolchain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ToolchainCounters {
    /// Libraries found in memory.
    pub memory: u64,
    /// Libraries found on disk.
    pub disk: u64,
    /// Libraries that the compiler had to build, because they were neither in memory nor on disk.
    pub compiled: u64,
}
