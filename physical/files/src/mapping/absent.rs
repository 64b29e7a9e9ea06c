//! The interface of mapped files on systems where files are read into memory instead.

use crate::{FileChange, FileIdentity};
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A file mapped into memory; no such file exists on this system.
#[derive(Debug)]
pub struct MappedFile(Infallible);

impl MappedFile {
    /// Whether files are mapped on this system.
    pub const IS_SUPPORTED: bool = false;

    /// Returns `None`: files are read into memory instead.
    pub fn open(_: File) -> io::Result<Option<Arc<MappedFile>>> {
        Ok(None)
    }

    /// Returns the identity that the file had when it was mapped.
    pub fn identity(&self) -> &FileIdentity {
        match self.0 {}
    }

    /// Returns a part of the file; `None` if the part exceeds the file.
    pub fn range(self: &Arc<MappedFile>, _: Range<u64>) -> Option<MappedRange> {
        match self.0 {}
    }

    /// Checks that all bytes read so far are those that the file had when it was mapped.
    ///
    /// # Errors
    /// Returns the change of the file.
    pub fn check(&self) -> Result<(), FileChange> {
        match self.0 {}
    }
}

/// A part of a mapped file; no such part exists on this system.
#[derive(Clone, Debug)]
pub struct MappedRange(Infallible);

impl AsRef<[u8]> for MappedRange {
    fn as_ref(&self) -> &[u8] {
        match self.0 {}
    }
}
