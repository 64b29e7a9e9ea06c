//! The choice of a folder for compiled kernels.

use std::path::PathBuf;

/// Default size limit of the cache on disk, in bytes.
pub const MAX_CACHE_BYTES: u64 = 256 << 20;

/// The folder of compiled kernels that are kept between processes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum CacheFolder {
    /// The folder that the environment variable `REDPOLL_CACHE` names; if the variable is not set
    /// or empty, a folder in the user's cache folder. There is no cache if the variable is `off`.
    #[default]
    User,
    /// A given folder.
    At(PathBuf),
    /// No cache on disk.
    Off,
}
