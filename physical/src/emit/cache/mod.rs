//! Where compiled kernels are kept between processes, whatever compiled them.

mod disk;

pub(super) use disk::Disk;

use std::path::PathBuf;

/// The size that the cache on disk may grow to.
pub(super) const MOST_BYTES: u64 = 256 << 20;

/// Where compiled kernels are kept between processes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum CacheFolder {
    /// In the user's cache folder, or where the environment variable `REDPOLL_CACHE` says: a folder, or `off`.
    #[default]
    User,
    /// In that folder.
    At(PathBuf),
    /// Nowhere.
    Off,
}

/// The cache on disk, of at most so many bytes, or why it cannot be used; `None` when there is to be none.
pub(super) fn open(cache: &CacheFolder, limit: u64) -> Option<Result<Disk, String>> {
    Some(folder(cache)?.and_then(|folder| Disk::open(&folder, limit)))
}

/// The key of what this version of the crate makes of some texts.
pub(super) fn key<const N: usize>(texts: [&str; N]) -> String {
    let mut hash = blake3::Hasher::new();
    for text in [env!("CARGO_PKG_VERSION")].iter().chain(&texts) {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.finalize().to_hex().to_string()
}

/// The folder of the cache on disk; `None` when there is to be none.
fn folder(cache: &CacheFolder) -> Option<Result<PathBuf, String>> {
    match cache {
        CacheFolder::Off => None,
        CacheFolder::At(folder) => Some(Ok(folder.clone())),
        CacheFolder::User => match std::env::var_os("REDPOLL_CACHE") {
            Some(off) if off == "off" => None,
            Some(folder) if !folder.is_empty() => Some(Ok(folder.into())),
            _ => {
                use etcetera::BaseStrategy;
                let base = etcetera::choose_base_strategy();
                let folder = base.map(|b| b.cache_dir().join("redpoll").join("kernels"));
                Some(folder.map_err(|e| format!("there is no cache folder: {e}")))
            }
        },
    }
}
