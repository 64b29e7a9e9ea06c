//! Whom folders and files of the cache belong to: what others could have written is not loaded.

use std::fs;
use std::io;
use std::path::Path;
use tempfile::TempDir;

/// How many letters and digits names of new folders end with.
pub(super) const RANDOM: usize = 6;

/// What something on disk must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// A folder of this user that nobody else can write.
    Folder,
    /// A file of this user that nobody else can write.
    File,
    /// A folder or file of this user, no link.
    Owned,
}

/// Makes a folder that nobody else can write or read; one that is there stays as it is.
#[cfg(unix)]
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// A new folder with a name that begins so, which nobody else can write or read whatever the mask of modes says.
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

/// Takes a file from everybody else, whatever the mask of modes says.
#[cfg(unix)]
pub(super) fn private_file(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
pub(super) fn private_file(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Checks that something on disk is what it must be.
///
/// # Errors
/// What it is instead.
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
