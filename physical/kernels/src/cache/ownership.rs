//! Ownership of folders and files of the cache: nothing that other users could have written is
//! loaded.

use std::path::Path;
use std::{fs, io};
use tempfile::TempDir;

/// Number of random letters and digits at the end of the names of new folders.
pub(super) const RANDOM_LETTERS: usize = 6;

/// Requirements on a file or folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Requirement {
    /// A folder of this user that nobody else can write to.
    PrivateFolder,
    /// A file of this user that nobody else can write to.
    PrivateFile,
    /// A folder or file of this user, not a link.
    Owned,
}

/// Creates a folder that nobody else can read or write; an existing folder stays as it is.
#[cfg(unix)]
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Creates a folder with this prefix that nobody else can read or write, independent of the umask.
pub(crate) fn private_folder(prefix: &str, within: &Path) -> io::Result<TempDir> {
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
pub(super) fn private_file(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
pub(super) fn private_file(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Checks that a file or folder meets the requirements.
///
/// # Errors
/// The requirement that is violated.
#[cfg(unix)]
pub(super) fn check_ownership(path: &Path, requirement: Requirement) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::symlink_metadata(path)?;
    let kind = match requirement {
        Requirement::PrivateFolder if !found.is_dir() => Some("it is not a folder"),
        Requirement::PrivateFile if !found.is_file() => Some("it is not a file"),
        Requirement::Owned if !found.is_dir() && !found.is_file() => Some("it is a link"),
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
            "others can write to it (its mode is {mode:o}); run `chmod go-w` on it, or set REDPOLL_CACHE to another folder"
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn check_ownership(path: &Path, _: Requirement) -> io::Result<()> {
    fs::symlink_metadata(path).map(drop)
}
