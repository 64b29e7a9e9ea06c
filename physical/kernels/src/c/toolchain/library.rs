//! Shared libraries in memory.

use crate::run::EntryPoint;
use crate::{CompiledKernel, Error};
use redpoll_compiler::assembly::Signature;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// A loaded library of kernels.
#[derive(Debug)]
pub(super) struct Library {
    handle: libloading::Library,
    /// The temporary folder of the library's file, on systems where a loaded library needs its
    /// file. The field follows the handle, so that the handle is dropped first.
    _folder: Option<TempDir>,
}

impl Library {
    /// Loads a library compiled by redpoll.
    ///
    /// # Errors
    /// [`Error::LoadLibrary`] with the message of the loader.
    pub(super) fn load(path: &Path, folder: Option<TempDir>) -> Result<Library, Error> {
        // SAFETY: the C text of the library has no code that runs on loading, unless the user has
        // edited the text. A library from the cache was compiled by a process of this user, and its
        // checksum was verified.
        let handle = unsafe { libloading::Library::new(path) };
        let handle = handle.map_err(|e| load_error(path, &e))?;
        // On Unix a loaded library does not need its file; elsewhere the file stays until the
        // library is dropped.
        Ok(Library { handle, _folder: folder.filter(|_| !cfg!(unix)) })
    }

    /// Returns the kernel that the library exports under a name, for invocations of `signature`.
    ///
    /// # Errors
    /// [`Error::LoadLibrary`] if the library does not export the name.
    pub(super) fn kernel(self: &Arc<Self>, name: &str, signature: &Arc<Signature>) -> Result<CompiledKernel, Error> {
        // SAFETY: functions that units export under the names of kernels have the parameters,
        // result and calling convention of `EntryPoint`.
        let entry = unsafe { self.handle.get::<EntryPoint>(name.as_bytes()) };
        let entry = entry.map_err(|e| load_error(Path::new(name), &e))?;
        Ok(CompiledKernel::new(*entry, signature.clone(), self.clone()))
    }
}

fn load_error(path: &Path, error: &libloading::Error) -> Error {
    let mut message = error.to_string();
    if let Some(cause) = std::error::Error::source(error) {
        message = format!("{message}: {cause}");
    }
    Error::LoadLibrary { path: path.to_owned(), message }
}
