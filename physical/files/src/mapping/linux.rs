//! Files mapped into memory. This file and `faults.rs` have the only unsafe code for mappings.
//!
//! Bytes of a mapping change when another process writes the file, and reading a page that a file
//! no longer has raises a signal. Therefore:
//!
//! - A mapping is for bytes on whose values no memory access depends, such as floats. Arrays that
//!   hold positions, coordinates or flags are read into memory instead, and checked there.
//! - Faults of mapped pages are handled in this process: `faults.rs` replaces lost pages by zeros.
//! - [`MappedFile::check`] reports lost pages and changes, and is called after each use.

use super::faults::{self, FaultGuard};
use crate::{FileChange, FileIdentity};
use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A file mapped into memory, read-only.
#[derive(Debug)]
pub struct MappedFile {
    // Dropped before the mapping, so that no guard covers the addresses of a later mapping.
    guard: FaultGuard,
    map: Mmap,
    file: File,
    identity: FileIdentity,
}

impl MappedFile {
    /// Whether files are mapped on this system.
    pub const IS_SUPPORTED: bool = true;

    /// Maps a whole file that was opened for reading. Returns `None` if the file is empty or cannot
    /// be mapped, and an error if its metadata cannot be read.
    pub fn open(file: File) -> io::Result<Option<Arc<MappedFile>>> {
        let Some(identity) = FileIdentity::of(&file.metadata()?) else { return Ok(None) };
        let Ok(size) = usize::try_from(identity.size()) else { return Ok(None) };
        if size == 0 || !faults::are_handled() {
            return Ok(None);
        }
        // SAFETY: the mapping is only read, as floats and through raw bytes, and no address or
        // length is computed from its content; every bit pattern is a float. Lost pages become
        // zeros. Another process may change bytes while they are read; the read element is then the
        // old element, the new element or a mixture of both, and `check` reports the change.
        let Ok(map) = (unsafe { MmapOptions::new().len(size).map(&file) }) else { return Ok(None) };
        let Some(guard) = FaultGuard::new(map.as_ptr().addr(), size) else { return Ok(None) };
        Ok(Some(Arc::new(MappedFile { guard, map, file, identity })))
    }

    /// Returns the identity that the file had when it was mapped.
    pub fn identity(&self) -> &FileIdentity {
        &self.identity
    }

    /// Returns a part of the file; `None` if the part exceeds the file.
    pub fn range(self: &Arc<MappedFile>, range: Range<u64>) -> Option<MappedRange> {
        let range = usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?;
        self.map.get(range.clone())?;
        Some(MappedRange { file: self.clone(), range })
    }

    /// Checks that all bytes read so far are those that the file had when it was mapped.
    ///
    /// # Errors
    /// Returns the change of the file.
    pub fn check(&self) -> Result<(), FileChange> {
        if self.guard.has_lost_pages() {
            return Err(FileChange::Lost);
        }
        let identity = self.file.metadata().ok().as_ref().and_then(FileIdentity::of);
        match identity.is_some_and(|now| now.has_content_of(&self.identity)) {
            true => Ok(()),
            false => Err(FileChange::Changed),
        }
    }
}

/// A part of a mapped file.
#[derive(Clone, Debug)]
pub struct MappedRange {
    file: Arc<MappedFile>,
    range: Range<usize>,
}

impl AsRef<[u8]> for MappedRange {
    fn as_ref(&self) -> &[u8] {
        &self.file.map[self.range.clone()]
    }
}
