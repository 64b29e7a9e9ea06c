//! Storage of compiled kernels between processes, for all compilers.

mod disk;
#[cfg(test)]
mod tests;

pub use disk::DiskCache;
pub(super) use redpoll_files::private_folder;

use crate::CacheFolder;
use std::path::PathBuf;

/// Opens the cache on disk, of at most `limit` bytes; the error is the reason why the folder cannot
/// be used. Returns `None` if the cache is off.
pub fn open(cache: &CacheFolder, limit: u64) -> Option<Result<DiskCache, String>> {
    Some(folder(cache)?.and_then(|folder| DiskCache::open(&folder, limit)))
}

/// The kind of an entry, which determines the prefix of its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryKind {
    /// A library of kernels.
    Kernels,
    /// A note on a C compiler.
    Compiler,
    /// The PTX of a unit.
    Ptx,
}

/// The kinds with the prefixes of their entries' names.
const ENTRY_KINDS: [(EntryKind, &str); 3] =
    [(EntryKind::Kernels, "kernels-"), (EntryKind::Compiler, "compiler-"), (EntryKind::Ptx, "ptx-")];

/// Returns the key of an entry: the prefix of its kind, and a hash of the texts and of the version
/// of this crate.
pub fn key<const N: usize>(kind: EntryKind, texts: [&str; N]) -> String {
    let mut hash = blake3::Hasher::new();
    for text in [env!("CARGO_PKG_VERSION")].iter().chain(&texts) {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    let (_, prefix) = ENTRY_KINDS.iter().find(|(other, _)| *other == kind).expect("all kinds are listed");
    format!("{prefix}{}", hash.finalize().to_hex())
}

/// Returns whether `name` is the name of an entry. Earlier versions named libraries by the hash
/// alone.
fn is_key(name: &str) -> bool {
    let hash = ENTRY_KINDS.iter().find_map(|(_, prefix)| name.strip_prefix(prefix)).unwrap_or(name);
    is_checksum(hash)
}

/// Returns whether `text` has the form of a hash in keys and names of files.
fn is_checksum(text: &str) -> bool {
    text.len() == 2 * blake3::OUT_LEN && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the folder of the cache on disk, or the reason why there is none; `None` if the cache is
/// off.
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
                Some(folder.map_err(|e| {
                    format!("this user has no cache folder: {e}; set REDPOLL_CACHE to a folder, or to `off`")
                }))
            }
        },
    }
}
