//! Ownership of folders and files of the cache: nothing that other users could have written is
//! loaded.

use std::fs;
use std::io;
use std::path::Path;
use tempfile::TempDir;

/// Number of random letters and digits at the end of the names of new folders.
pub(super) const RANDOM: usize = 6;

/// Requirements on a file or folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// A folder of this user that nobody else can write to.
    Folder,
    /// A file of this user that nobody else can write to.
    File,
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
pub(in crate::emit) fn private_folder(prefix: &str, within: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).rand_bytes(RANDOM);
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
pub(super) fn trust(path: &Path, trust: Trust) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::symlink_metadata(path)?;
    let kind = match trust {
        Trust::Folder if !found.is_dir() => Some("it is no folder"),
        Trust::File if !found.is_file() => Some("it is no file"),
        Trust::Owned if !found.is_dir() && !found.is_file() => Some("it is a link"),
        _ => None,
    };
    if let Some(kind) = kind {
        return Err(io::Error::other(kind));
    }
    let denied = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    let user = rustix::process::geteuid().as_raw();
    if found.uid() != user {
        return denied(format!("it belongs to user {}, not to user {user}", found.uid()));
    }
    if trust != Trust::Owned && found.mode() & 0o022 != 0 {
        let mode = found.mode() & 0o7777;
        return denied(format!(
            "others can write to it (its mode is {mode:o}); take that from them with `chmod go-w`, or name another folder in REDPOLL_CACHE"
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn trust(path: &Path, _: Trust) -> io::Result<()> {
    fs::symlink_metadata(path).map(drop)
}
