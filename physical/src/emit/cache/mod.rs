//! Storage of compiled kernels between processes, for all compilers.

mod disk;
mod owner;
#[cfg(test)]
mod tests;

pub(super) use disk::Disk;
pub(super) use owner::private_folder;

use super::cache_folder::CacheFolder;
use std::path::PathBuf;

/// Opens the cache on disk, of at most `limit` bytes; the error is the reason why the folder cannot
/// be used. Returns `None` if there is to be no cache.
pub(super) fn open(cache: &CacheFolder, limit: u64) -> Option<Result<Disk, String>> {
    Some(folder(cache)?.and_then(|folder| Disk::open(&folder, limit)))
}

/// The kind of an entry, which determines the prefix of its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A library of kernels.
    Kernels,
    /// A note on a C compiler.
    Compiler,
    /// The PTX of a unit.
    Ptx,
}

/// The kinds with the prefixes of their entries' names.
const KINDS: [(Kind, &str); 3] = [(Kind::Kernels, "kernels-"), (Kind::Compiler, "compiler-"), (Kind::Ptx, "ptx-")];

/// Returns the key of the result that this version of the crate computes from some texts.
pub(super) fn key<const N: usize>(kind: Kind, texts: [&str; N]) -> String {
    let mut hash = blake3::Hasher::new();
    for text in [env!("CARGO_PKG_VERSION")].iter().chain(&texts) {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    let (_, prefix) = KINDS.iter().find(|(known, _)| *known == kind).expect("all kinds are listed");
    format!("{prefix}{}", hash.finalize().to_hex())
}

/// Returns whether `name` is the name of an entry. Earlier versions named libraries by the hash
/// alone.
fn is_key(name: &str) -> bool {
    let hash = KINDS.iter().find_map(|(_, prefix)| name.strip_prefix(prefix)).unwrap_or(name);
    is_checksum(hash)
}

/// Returns whether `text` has the form of a hash in keys and names of files.
fn is_checksum(text: &str) -> bool {
    text.len() == 2 * blake3::OUT_LEN && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the folder of the cache on disk; `None` if there is to be no cache.
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
