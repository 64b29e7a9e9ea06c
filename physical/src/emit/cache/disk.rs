//! The cache of compiled kernels on disk.
//!
//! In the folder of the cache an entry is a folder named by its key, which holds one file, a library or a note, named by the
//! checksum of its bytes. Both appear by renaming, so that a reader sees a whole library or none, whatever other processes
//! do and wherever they are killed. What does not match its checksum is removed. Entries that were not used for the longest
//! time go first when the folder grows beyond its limit.
//!
//! The folder may hold other things, which are left alone: only what has the name of an entry, of its file or of a work
//! folder, is of that kind and belongs to this user is loaded, removed or changed. Code that others could have put there is
//! not loaded: folder, entry and file must belong to this user, and others must not be able to write them.

use super::owner::{RANDOM, Trust, make_private, private_file, private_folder, trust};
use super::{is_checksum, is_key};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// How names of folders start that compilations work in.
const WORK: &str = "redpoll-work-";
/// Folders of compilations that were killed are removed after this time.
const STALE: Duration = Duration::from_secs(3600);

/// A folder of entries.
#[derive(Debug)]
pub(in crate::emit) struct Disk {
    folder: PathBuf,
    limit: u64,
    /// Why an entry was not used, the first time that one was not.
    refused: OnceLock<String>,
}

/// What a folder holds.
struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl Disk {
    /// The cache in a folder, which is made if need be, of at most that many bytes.
    ///
    /// # Errors
    /// Why the folder cannot be used: it cannot be made, it belongs to another user, or others can write it.
    pub(in crate::emit) fn open(folder: &Path, limit: u64) -> Result<Disk, String> {
        let named = |e: io::Error| format!("the cache folder {} cannot be used: {e}", folder.display());
        make_private(folder).map_err(named)?;
        trust(folder, Trust::Folder).map_err(named)?;
        Ok(Disk { folder: folder.to_owned(), limit, refused: OnceLock::new() })
    }

    /// A folder to compile in, from where a library can be renamed into the cache.
    pub(in crate::emit) fn work_folder(&self) -> io::Result<TempDir> {
        private_folder(WORK, &self.folder)
    }

    /// Why an entry that is there was not used.
    pub(in crate::emit) fn refused(&self) -> Option<&str> {
        self.refused.get().map(String::as_str)
    }

    /// The library of a key, if there is one and it is what was written.
    pub(in crate::emit) fn find(&self, key: &str) -> Option<PathBuf> {
        let entry = self.folder.join(key);
        fs::symlink_metadata(&entry).ok()?;
        trust(&entry, Trust::Folder).map_err(|e| self.refuse(&entry, &e)).ok()?;
        for path in files(&entry) {
            if trust(&path, Trust::File).map_err(|e| self.refuse(&path, &e)).is_err() {
                continue;
            }
            let whole = fs::read(&path).is_ok_and(|bytes| path.file_name() == Some(file_name(&bytes).as_ref()));
            if whole {
                // When it was last used; not being able to say so is no fault.
                let _ = fs::File::open(&entry).and_then(|f| f.set_modified(SystemTime::now()));
                return Some(path);
            }
            let _ = fs::remove_file(&path);
        }
        None
    }

    fn refuse(&self, path: &Path, why: &io::Error) {
        let _ = self.refused.set(format!("{} in the cache of kernels is not used: {why}", path.display()));
    }

    /// Moves a library into the cache; where it is then. Of two at the same time the later one stays.
    ///
    /// # Errors
    /// When the system refuses, or what has the name of the entry is not to be trusted.
    pub(in crate::emit) fn keep(&self, key: &str, library: &Path) -> io::Result<PathBuf> {
        debug_assert!(is_key(key), "{key} is not recognized as a key");
        let entry = self.folder.join(key);
        let target = entry.join(file_name(&fs::read(library)?));
        make_private(&entry)?;
        trust(&entry, Trust::Folder)?;
        private_file(library)?;
        fs::rename(library, &target)?;
        self.shrink();
        Ok(target)
    }

    /// The text that is noted under a key, if there is one and it is what was written.
    pub(in crate::emit) fn note(&self, key: &str) -> Option<String> {
        fs::read_to_string(self.find(key)?).ok()
    }

    /// Notes a text under a key, in place of an earlier one.
    pub(in crate::emit) fn keep_note(&self, key: &str, text: &str) -> io::Result<()> {
        let work = self.work_folder()?;
        let file = work.path().join("note");
        fs::write(&file, text)?;
        // A reader that looks in between finds nothing.
        remove(&self.folder.join(key));
        self.keep(key, &file).map(drop)
    }

    /// Removes what was not used for the longest time until three quarters of the limit are left, if the limit is exceeded,
    /// and what killed compilations have left. Other processes may do the same; what is gone is gone.
    fn shrink(&self) {
        let now = SystemTime::now();
        let mut entries = Vec::new();
        for found in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let (path, name) = (found.path(), found.file_name());
            let name = name.to_string_lossy();
            let work = name.strip_prefix(WORK).is_some_and(is_random);
            if !work && !is_key(&name) || trust(&path, Trust::Owned).is_err() {
                continue;
            }
            let Ok(used) = found.metadata().and_then(|m| m.modified()) else { continue };
            if work {
                if now.duration_since(used).is_ok_and(|age| age > STALE) {
                    let _ = fs::remove_dir_all(&path);
                }
                continue;
            }
            let bytes = files(&path).filter_map(|file| fs::metadata(file).ok()).map(|m| m.len()).sum();
            entries.push(Entry { path, bytes, used });
        }
        let mut total: u64 = entries.iter().map(|e| e.bytes).sum();
        if total <= self.limit {
            return;
        }
        entries.sort_by_key(|e| e.used);
        for entry in entries {
            if total <= self.limit / 4 * 3 {
                break;
            }
            remove(&entry.path);
            total -= entry.bytes;
        }
    }
}

/// Whether that is how names of work folders end.
fn is_random(end: &str) -> bool {
    end.len() == RANDOM && end.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// The files of an entry, and nothing else that may be there.
fn files(entry: &Path) -> impl Iterator<Item = PathBuf> {
    let ours = |name: &str| name.strip_suffix(std::env::consts::DLL_SUFFIX).is_some_and(is_checksum);
    let found = fs::read_dir(entry).into_iter().flatten().flatten();
    found.filter(move |f| f.file_name().to_str().is_some_and(ours)).map(|f| f.path())
}

/// Removes an entry, or of what only has the name of one what was put there.
fn remove(entry: &Path) {
    files(entry).filter(|file| trust(file, Trust::Owned).is_ok()).for_each(|file| drop(fs::remove_file(file)));
    // Where something else is left, the folder stays.
    let _ = fs::remove_dir(entry);
}

/// The name of a library with that content.
fn file_name(bytes: &[u8]) -> String {
    format!("{}{}", blake3::hash(bytes).to_hex(), std::env::consts::DLL_SUFFIX)
}
