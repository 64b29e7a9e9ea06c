//! Identities of files: a file with the same identity has the same content, unless the clock of the
//! system was set back, or the content changed again within one step of that clock.

use std::fs::Metadata;

/// The identity of a file: device, inode, size, times and number of names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileIdentity {
    /// The device and the inode.
    inode: (u64, u64),
    /// The number of bytes.
    size: u64,
    /// The time of the last modification of the content, in seconds and nanoseconds.
    modified: (i64, i64),
    /// The time of the last change of content or attributes. Programs cannot set this time.
    changed: (i64, i64),
    /// The number of names (hard links) of the file.
    links: u64,
}

impl FileIdentity {
    /// Returns the identity of a file; `None` on systems that do not number files.
    #[cfg(unix)]
    pub fn of(file: &Metadata) -> Option<FileIdentity> {
        use std::os::unix::fs::MetadataExt;
        Some(FileIdentity {
            inode: (file.dev(), file.ino()),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
            links: file.nlink(),
        })
    }

    /// Returns the identity of a file; `None` on systems that do not number files.
    #[cfg(not(unix))]
    pub fn of(_: &Metadata) -> Option<FileIdentity> {
        None
    }

    /// Returns the number of bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns whether the file still has the content that it had with an earlier identity. A new
    /// time of change counts as a change of the content, unless the number of names has changed
    /// too: adding or removing a name sets that time, but leaves the content as it is.
    pub fn has_content_of(&self, earlier: &FileIdentity) -> bool {
        let same_times =
            self.modified == earlier.modified && (self.changed == earlier.changed || self.links != earlier.links);
        self.inode == earlier.inode && self.size == earlier.size && same_times
    }

    /// Returns the identity as text, without the number of names, for comparison with a record.
    pub fn to_text(&self) -> String {
        let FileIdentity { inode: (device, inode), size, modified, changed, .. } = self;
        format!("{device} {inode} {size} {}.{:09} {}.{:09}", modified.0, modified.1, changed.0, changed.1)
    }
}
