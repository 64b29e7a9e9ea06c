//! The choice of a folder for compiled kernels.

use std::path::PathBuf;

/// Size limit of the cache on disk, in bytes.
pub const MAX_CACHE_BYTES: u64 = 256 << 20;

/// The folder of compiled kernels that are kept between processes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum CacheFolder {
    /// The user's cache folder, unless the environment variable `REDPOLL_CACHE` names another
    /// folder, or is `off`.
    #[default]
    User,
    /// A given folder.
    At(PathBuf),
    /// No cache on disk.
    Off,
}
