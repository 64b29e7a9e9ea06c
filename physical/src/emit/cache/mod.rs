//! Where compiled kernels are kept between processes, whatever compiled them.

mod disk;
mod owner;
#[cfg(test)]
mod tests;

pub(super) use disk::Disk;
pub(super) use owner::private_folder;

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

/// What an entry is for, as its name begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A library of kernels.
    Kernels,
    /// What is known of a C compiler.
    Compiler,
    /// The PTX of a unit.
    Ptx,
}

/// The kinds and how the names of their entries begin.
const KINDS: [(Kind, &str); 3] = [(Kind::Kernels, "kernels-"), (Kind::Compiler, "compiler-"), (Kind::Ptx, "ptx-")];

/// The key of what this version of the crate makes of some texts.
pub(super) fn key<const N: usize>(kind: Kind, texts: [&str; N]) -> String {
    let mut hash = blake3::Hasher::new();
    for text in [env!("CARGO_PKG_VERSION")].iter().chain(&texts) {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    let (_, prefix) = KINDS.iter().find(|(known, _)| *known == kind).expect("all kinds are listed");
    format!("{prefix}{}", hash.finalize().to_hex())
}

/// Whether that is the name of an entry; earlier versions named libraries by the hash alone.
fn is_key(name: &str) -> bool {
    let hash = KINDS.iter().find_map(|(_, prefix)| name.strip_prefix(prefix)).unwrap_or(name);
    is_checksum(hash)
}

/// Whether that is a hash as keys and names of files have it.
fn is_checksum(text: &str) -> bool {
    text.len() == 2 * blake3::OUT_LEN && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
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
