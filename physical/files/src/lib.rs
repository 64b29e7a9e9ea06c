//! Files of a user: private folders and caches, identities of files, files mapped into memory, and
//! reads at an offset.
//!
//! - [`private_folder`] and [`make_private`] create folders that are private to this user on Unix,
//!   [`private_file`] makes a file private on Unix, and [`cache_folder`] returns the folder of the
//!   user's caches. [`check_ownership`] checks on Unix that a file or folder belongs to this user,
//!   and that nobody else can write to a private file or folder.
//! - [`FileIdentity`] identifies a file and its content.
//! - [`MappedFile`] maps a file into memory, on Linux only. If the file is truncated while it is
//!   mapped, reads of the lost part return zeros, [`MappedFile::check`] reports an error, and the
//!   process continues.

mod identity;
mod mapping;
mod private;
mod read_at;

pub use identity::FileIdentity;
pub use mapping::{MappedFile, MappedRange};
pub use private::{
    RANDOM_LETTERS, Requirement, cache_folder, check_ownership, make_private, private_file, private_folder,
};
pub use read_at::read_exact_at;

/// Reason why a mapped file cannot be used any longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileChange {
    /// A part of the file could not be read: the file was truncated, or its device failed.
    Lost,
    /// The file has another size or other times, or its metadata could not be read.
    Changed,
}
