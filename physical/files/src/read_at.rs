//! Reading at an offset, independent of the file position that all users of an open file share.

use std::fs::File;
use std::io;

/// Fills the buffer with the bytes of the file from an offset on.
///
/// # Errors
/// Returns the error of the system, or `UnexpectedEof` if the file ends before the buffer is full.
#[cfg(unix)]
pub fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

/// Fills the buffer with the bytes of the file from an offset on.
///
/// # Errors
/// Returns the error of the system, or `UnexpectedEof` if the file ends before the buffer is full.
#[cfg(windows)]
pub fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                buffer = &mut buffer[read..];
                offset += read as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
