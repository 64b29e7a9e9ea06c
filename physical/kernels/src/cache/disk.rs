//! The cache of compiled kernels on disk.
//!
//! An entry is a folder named by its key, inside the folder of the cache. The entry holds a library
//! or a note, in a file named by the checksum of its bytes. A note is a text: the description of a
//! C compiler, or PTX. A complete file is moved into the entry by renaming, so a reader sees a
//! complete file or none, even if other processes write to the cache or are killed. Concurrent
//! compilations may leave several libraries in an entry, any of which serves. A file that does not
//! match its checksum is removed. When the cache exceeds its limit, the least recently used entries
//! are removed first.
//!
//! The folder may contain other files and folders, which stay untouched. The cache loads, removes
//! and changes only entries, the files of entries, and work folders. The cache recognizes its files
//! and folders by their names, by their types (file or folder), and by their owner, which must be
//! this user. Code that other users could have written is not loaded: folder, entry and file must
//! belong to this user and must not be writable by others.

use super::{is_checksum, is_key};
use redpoll_files::{RANDOM_LETTERS, Requirement, check_ownership, make_private, private_file, private_folder};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};
use std::{fs, io};
use tempfile::TempDir;

/// Prefix of the names of work folders, in which kernels are compiled.
const WORK_PREFIX: &str = "redpoll-work-";
/// Age from which the folder of a killed compilation is removed.
const STALE_AGE: Duration = Duration::from_secs(3600);

/// A folder of entries.
#[derive(Debug)]
pub struct DiskCache {
    folder: PathBuf,
    limit: u64,
    /// The reason for the first refusal of an entry or its file.
    refused: OnceLock<String>,
}

/// An entry with its size and its last use, for the removal of the least recently used entries.
struct DiskEntry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl DiskCache {
    /// Opens the cache in a folder, which is created if absent, with a limit of `limit` bytes.
    ///
    /// # Errors
    /// The reason why the folder cannot be used: it cannot be created, is not a folder, belongs to
    /// another user, or can be written to by others.
    pub(crate) fn open(folder: &Path, limit: u64) -> Result<DiskCache, String> {
        let error = |e: io::Error| format!("the cache folder {} cannot be used: {e}", folder.display());
        make_private(folder).map_err(error)?;
        check_ownership(folder, Requirement::PrivateFolder).map_err(error)?;
        Ok(DiskCache { folder: folder.to_owned(), limit, refused: OnceLock::new() })
    }

    /// Creates a folder to compile in, from which a library can be renamed into the cache.
    pub(crate) fn work_folder(&self) -> io::Result<TempDir> {
        private_folder(WORK_PREFIX, &self.folder)
    }

    /// Returns the reason for the first refusal of an existing entry or its file.
    pub(crate) fn refused_entry(&self) -> Option<&str> {
        self.refused.get().map(String::as_str)
    }

    /// Returns an intact file of the entry with this key, if there is one. The entry and the file
    /// must belong to this user, and others must not be able to write to them. Removes the files
    /// that are not intact.
    pub(crate) fn find(&self, key: &str) -> Option<PathBuf> {
        let entry = self.folder.join(key);
        fs::symlink_metadata(&entry).ok()?;
        check_ownership(&entry, Requirement::PrivateFolder).map_err(|e| self.refuse(&entry, &e)).ok()?;
        for path in files(&entry) {
            if check_ownership(&path, Requirement::PrivateFile).map_err(|e| self.refuse(&path, &e)).is_err() {
                continue;
            }
            let is_intact = fs::read(&path).is_ok_and(|bytes| path.file_name() == Some(file_name(&bytes).as_ref()));
            if is_intact {
                // Records the time of the last use; a failure is harmless.
                let _ = fs::File::open(&entry).and_then(|f| f.set_modified(SystemTime::now()));
                return Some(path);
            }
            let _ = fs::remove_file(&path);
        }
        None
    }

    fn refuse(&self, path: &Path, reason: &io::Error) {
        let _ = self.refused.set(format!("the entry {} of the cache of kernels is not used: {reason}", path.display()));
    }

    /// Moves a library or a note into the cache and returns its new path. Other files of the entry
    /// stay.
    ///
    /// # Errors
    /// The error of the file system, or the reason why an existing entry of that name is not
    /// trusted.
    pub(crate) fn insert(&self, key: &str, library: &Path) -> io::Result<PathBuf> {
        debug_assert!(is_key(key), "{key} is not a key");
        let entry = self.folder.join(key);
        let target = entry.join(file_name(&fs::read(library)?));
        make_private(&entry)?;
        check_ownership(&entry, Requirement::PrivateFolder)?;
        private_file(library)?;
        fs::rename(library, &target)?;
        self.shrink();
        Ok(target)
    }

    /// Returns the text of the note with a key, if the note exists and is intact.
    pub fn read_note(&self, key: &str) -> Option<String> {
        fs::read_to_string(self.find(key)?).ok()
    }

    /// Stores a text as the note with a key, in place of an earlier note.
    pub fn write_note(&self, key: &str, text: &str) -> io::Result<()> {
        let work = self.work_folder()?;
        let file = work.path().join("note");
        fs::write(&file, text)?;
        // A reader finds nothing until the new note is in place.
        remove(&self.folder.join(key));
        self.insert(key, &file).map(drop)
    }

    /// Removes stale work folders. If the limit is exceeded, also removes the least recently used
    /// entries, until the remaining entries take at most three quarters of the limit. Other
    /// processes may remove entries at the same time; failures are ignored.
    fn shrink(&self) {
        let now = SystemTime::now();
        let mut entries = Vec::new();
        for found in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let (path, name) = (found.path(), found.file_name());
            let name = name.to_string_lossy();
            let is_work_folder = name.strip_prefix(WORK_PREFIX).is_some_and(is_random);
            if !is_work_folder && !is_key(&name) || check_ownership(&path, Requirement::Owned).is_err() {
                continue;
            }
            let Ok(used) = found.metadata().and_then(|m| m.modified()) else { continue };
            if is_work_folder {
                if now.duration_since(used).is_ok_and(|age| age > STALE_AGE) {
                    let _ = fs::remove_dir_all(&path);
                }
                continue;
            }
            let bytes = files(&path).filter_map(|file| fs::metadata(file).ok()).map(|m| m.len()).sum();
            entries.push(DiskEntry { path, bytes, used });
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

/// Returns whether `end` has the form of the random suffix of a work folder's name.
fn is_random(end: &str) -> bool {
    end.len() == RANDOM_LETTERS && end.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Returns the files of an entry, skipping anything else in its folder.
fn files(entry: &Path) -> impl Iterator<Item = PathBuf> {
    let is_own = |name: &str| name.strip_suffix(std::env::consts::DLL_SUFFIX).is_some_and(is_checksum);
    let found = fs::read_dir(entry).into_iter().flatten().flatten();
    found.filter(move |f| f.file_name().to_str().is_some_and(is_own)).map(|f| f.path())
}

/// Removes the entry's own files, and its folder if nothing else is in it.
fn remove(entry: &Path) {
    files(entry)
        .filter(|file| check_ownership(file, Requirement::Owned).is_ok())
        .for_each(|file| drop(fs::remove_file(file)));
    let _ = fs::remove_dir(entry);
}

/// Returns the file name of a library or a note with these bytes.
fn file_name(bytes: &[u8]) -> String {
    format!("{}{}", blake3::hash(bytes).to_hex(), std::env::consts::DLL_SUFFIX)
}
