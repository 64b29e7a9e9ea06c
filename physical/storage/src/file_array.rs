//! Arrays in files: loaded when they are first read, or mapped into memory.
//!
//! Kernels trust validated arrays of positions, coordinates, flags and whole numbers, from which
//! addresses are computed. Such an array of a file is loaded into memory, and the loader checks
//! that the bytes have not changed since validation. Floats are mapped: no address is computed from
//! them, and each use is followed by [`SourceFile::check`], which reports changes.

use crate::Error;
use arrow_buffer::Buffer;
use std::fmt::Debug;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A loader of an array from a file.
pub trait ArrayLoader: Debug + Send + Sync {
    /// Returns the number of bytes.
    fn bytes(&self) -> usize;

    /// Reads the bytes into a buffer that is aligned for any element type.
    ///
    /// # Errors
    /// [`Error::InFile`] if the bytes have changed since validation, or cannot be read.
    fn load(&self) -> Result<Buffer, Error>;
}

/// A file whose arrays are mapped into memory.
pub trait SourceFile: Debug + Send + Sync {
    /// Checks that all bytes read so far are those that the file had when it was opened.
    ///
    /// # Errors
    /// [`Error::InFile`] if a part of the file is lost, or the file has changed.
    fn check(&self) -> Result<(), Error>;
}

/// The bytes of an array in a file, loaded when they are first read.
#[derive(Debug)]
pub struct DeferredBytes {
    loader: Box<dyn ArrayLoader>,
    loaded: OnceLock<Buffer>,
    /// Locked while the bytes are loaded.
    loading: Mutex<()>,
}

impl DeferredBytes {
    /// Wraps bytes that `loader` loads.
    pub fn new(loader: Box<dyn ArrayLoader>) -> DeferredBytes {
        DeferredBytes { loader, loaded: OnceLock::new(), loading: Mutex::new(()) }
    }

    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.loader.bytes()
    }

    /// Returns the bytes if they are loaded.
    pub(crate) fn loaded(&self) -> Option<&Buffer> {
        self.loaded.get()
    }

    /// Returns the bytes, which the first call loads.
    pub(crate) fn load(&self) -> Result<&Buffer, Error> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if self.loaded.get().is_none() {
            let _ = self.loaded.set(self.loader.load()?);
        }
        Ok(self.loaded.get().expect("the bytes were loaded"))
    }
}
