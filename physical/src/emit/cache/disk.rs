//! The cache of compiled kernels on disk.
//!
//! Under the folder of the user (readable by nobody else) an entry is a folder named by its key, which holds one file, a
//! library or a note, named by the checksum of its bytes. Both appear by renaming, so that a reader sees a whole library or
//! none, whatever other processes do and wherever they are killed. What does not match its checksum is removed. Entries that were not used
//! for the longest time go first when the folder grows beyond its limit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// How names of folders start that compilations work in.
const WORK: &str = "work-";
/// Folders of compilations that were killed are removed after this time.
const STALE: Duration = Duration::from_secs(3600);

/// A folder of entries.
#[derive(Debug)]
pub(in crate::emit) struct Disk {
    folder: PathBuf,
    limit: u64,
}

/// What a folder holds.
struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl Disk {
    /// The cache in a folder, which is made if need be, of at most so many bytes.
    ///
    /// # Errors
    /// Why the folder cannot be used: it cannot be made, or it belongs to somebody else.
    pub(in crate::emit) fn open(folder: &Path, limit: u64) -> Result<Disk, String> {
        let named = |e: io::Error| format!("the cache folder {} cannot be used: {e}", folder.display());
        make_private(folder).map_err(named)?;
        check_owner(folder).map_err(named)?;
        Ok(Disk { folder: folder.to_owned(), limit })
    }

    /// A folder to compile in, from where a library can be renamed into the cache.
    pub(in crate::emit) fn work_folder(&self) -> io::Result<TempDir> {
        tempfile::Builder::new().prefix(WORK).tempdir_in(&self.folder)
    }

    /// The library of a key, if there is one and it is what was written.
    pub(in crate::emit) fn find(&self, key: &str) -> Option<PathBuf> {
        let entry = self.folder.join(key);
        for found in fs::read_dir(&entry).ok()?.flatten() {
            let path = found.path();
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

    /// Moves a library into the cache; where it is then. Of two at the same time the later one stays.
    pub(in crate::emit) fn keep(&self, key: &str, library: &Path) -> io::Result<PathBuf> {
        let entry = self.folder.join(key);
        let target = entry.join(file_name(&fs::read(library)?));
        fs::create_dir_all(&entry)?;
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
        // Who looks in between finds nothing.
        let _ = fs::remove_dir_all(self.folder.join(key));
        self.keep(key, &file).map(drop)
    }

    /// Removes what was not used for the longest time until three quarters of the limit are left, if the limit is exceeded,
    /// and what killed compilations have left. Other processes may do the same; what is gone is gone.
    fn shrink(&self) {
        let now = SystemTime::now();
        let mut entries = Vec::new();
        for found in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = found.path();
            let Ok(used) = found.metadata().and_then(|m| m.modified()) else { continue };
            if found.file_name().to_string_lossy().starts_with(WORK) {
                if now.duration_since(used).is_ok_and(|age| age > STALE) {
                    let _ = fs::remove_dir_all(&path);
                }
                continue;
            }
            let files = fs::read_dir(&path).into_iter().flatten().flatten();
            let bytes = files.filter_map(|f| f.metadata().ok()).map(|m| m.len()).sum();
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
            let _ = fs::remove_dir_all(&entry.path);
            total -= entry.bytes;
        }
    }
}

/// The name of a library with that content.
fn file_name(bytes: &[u8]) -> String {
    format!("{}{}", blake3::hash(bytes).to_hex(), std::env::consts::DLL_SUFFIX)
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Code that others can change must not be loaded.
#[cfg(unix)]
fn check_owner(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let found = fs::symlink_metadata(folder)?;
    let user = rustix::process::geteuid().as_raw();
    if !found.is_dir() {
        return Err(io::Error::other("it is no folder"));
    }
    if found.uid() != user {
        let message = format!("it belongs to user {}, not to user {user}", found.uid());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_: &Path) -> io::Result<()> {
    Ok(())
}
