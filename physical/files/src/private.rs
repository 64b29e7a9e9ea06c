//! Private folders and files of this user, the folder of the user's caches, and checks that files
//! and folders belong to this user.

use std::path::{Path, PathBuf};
use std::{fs, io};
use tempfile::TempDir;

/// Number of random letters and digits at the end of the names that [`private_folder`] gives.
pub const RANDOM_LETTERS: usize = 6;

/// Requirements on a file or folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requirement {
    /// A folder of this user that nobody else can write to.
    PrivateFolder,
    /// A file of this user that nobody else can write to.
    PrivateFile,
    /// A folder or file of this user, not a link.
    Owned,
}

/// Creates a folder and its missing parents; nobody else can read or write the new folders. An
/// existing folder stays as it is.
#[cfg(unix)]
pub fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Creates a folder and its missing parents. An existing folder stays as it is.
#[cfg(not(unix))]
pub fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Creates a folder inside `within`, with a name that begins with `prefix`; dropping the result
/// removes the folder. On Unix, nobody else can read or write the folder, whatever the umask is.
pub fn private_folder(prefix: &str, within: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).rand_bytes(RANDOM_LETTERS);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o700));
    }
    builder.tempdir_in(within)
}

/// Makes a file private to this user, independent of the umask.
#[cfg(unix)]
pub fn private_file(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o600))
}

/// Does nothing: the system has no file modes.
#[cfg(not(unix))]
pub fn private_file(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns the folder of this user's caches of one kind: below `REDPOLL_CACHE` if that variable is
/// set and not empty, else below `redpoll` in the user's cache folder. Returns `None` if
/// `REDPOLL_CACHE` is `off`, or if the user has no cache folder.
pub fn cache_folder(kind: &str) -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    match std::env::var_os("REDPOLL_CACHE") {
        Some(off) if off == "off" => None,
        Some(folder) if !folder.is_empty() => Some(Path::new(&folder).join(kind)),
        _ => Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("redpoll").join(kind)),
    }
}

/// Checks that a file or folder meets the requirements.
///
/// # Errors
/// Returns the error of the system if the metadata cannot be read, for example because the file is
/// missing. Otherwise, returns an error that names the violated requirement.
#[cfg(unix)]
pub fn check_ownership(path: &Path, requirement: Requirement) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::symlink_metadata(path)?;
    let kind = match requirement {
        Requirement::PrivateFolder if !found.is_dir() => Some("it is not a folder"),
        Requirement::PrivateFile if !found.is_file() => Some("it is not a file"),
        Requirement::Owned if found.is_symlink() => Some("it is a link"),
        Requirement::Owned if !found.is_dir() && !found.is_file() => Some("it is neither a file nor a folder"),
        _ => None,
    };
    if let Some(kind) = kind {
        return Err(io::Error::other(kind));
    }
    let denied = |reason: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    let user = rustix::process::geteuid().as_raw();
    if found.uid() != user {
        return denied(format!("it belongs to user {}, not to user {user}", found.uid()));
    }
    if requirement != Requirement::Owned && found.mode() & 0o022 != 0 {
        let mode = found.mode() & 0o7777;
        return denied(format!(
            "others can write to it (its mode is {mode:o}); run `chmod go-w` on it, or choose another cache folder, for example with REDPOLL_CACHE"
        ));
    }
    Ok(())
}

/// Checks that a file or folder exists; owners are not checked on this system.
#[cfg(not(unix))]
pub fn check_ownership(path: &Path, _: Requirement) -> io::Result<()> {
    fs::symlink_metadata(path).map(drop)
}
