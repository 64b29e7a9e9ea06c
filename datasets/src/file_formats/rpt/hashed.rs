//! Reading and hashing of arrays in pieces, on several threads.

use arrow_buffer::{Buffer, MutableBuffer};
use redpoll_files::read_exact_at;
use std::fs::File;
use std::io;
use std::thread;

/// Number of bytes of a piece. A piece is small enough to stay in the cache of a core between
/// reading and hashing.
const PIECE: usize = 1 << 20;

/// Returns the hash of an array: the hash of the hashes of its pieces.
pub(super) fn hash_of(bytes: &[u8]) -> blake3::Hash {
    let count = thread_count(bytes.len());
    let share = share(bytes.len(), count);
    let hashes = thread::scope(|scope| {
        let parts: Vec<_> = bytes.chunks(share).map(|part| scope.spawn(move || hash_pieces(part))).collect();
        parts.into_iter().flat_map(|part| part.join().expect("hashing does not panic")).collect::<Vec<_>>()
    });
    combine(&hashes)
}

/// Reads an array, and returns it with its hash.
pub(super) fn read_hashed(file: &File, offset: u64, bytes: usize) -> io::Result<(Buffer, blake3::Hash)> {
    // The constructor of the buffer aborts the process if the allocation fails, so the size is
    // tried first.
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut buffer = MutableBuffer::from_len_zeroed(bytes);
    let share = share(bytes, thread_count(bytes));
    let hashes = thread::scope(|scope| {
        let read = |(k, part): (usize, &mut [u8])| -> io::Result<Vec<blake3::Hash>> {
            let pieces = part.chunks_mut(PIECE).enumerate().map(|(j, piece)| {
                read_exact_at(file, piece, offset + (k * share + j * PIECE) as u64)?;
                Ok(blake3::hash(piece))
            });
            pieces.collect()
        };
        let parts: Vec<_> =
            buffer.as_slice_mut().chunks_mut(share).enumerate().map(|part| scope.spawn(move || read(part))).collect();
        let parts = parts.into_iter().map(|part| part.join().expect("reading does not panic"));
        parts.collect::<io::Result<Vec<_>>>()
    })?;
    Ok((buffer.into(), combine(&hashes.concat())))
}

fn hash_pieces(bytes: &[u8]) -> Vec<blake3::Hash> {
    bytes.chunks(PIECE).map(blake3::hash).collect()
}

fn combine(hashes: &[blake3::Hash]) -> blake3::Hash {
    let all: Vec<u8> = hashes.iter().flat_map(|hash| *hash.as_bytes()).collect();
    blake3::hash(&all)
}

/// Returns the number of threads for an array: one for every few pieces, but at most one for each
/// core.
fn thread_count(bytes: usize) -> usize {
    const PIECES: usize = 4;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    (bytes / (PIECES * PIECE)).clamp(1, cores)
}

/// Returns the number of bytes for each thread, in whole pieces.
fn share(bytes: usize, threads: usize) -> usize {
    bytes.div_ceil(threads).next_multiple_of(PIECE).max(PIECE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Asserts that the hash of an array does not depend on the number of threads, and that reading
    /// an array returns the same hash.
    #[test]
    fn read_arrays_have_the_hash_of_their_bytes() {
        for length in [0, 1, PIECE - 1, PIECE, 9 * PIECE + 5] {
            let bytes: Vec<u8> = (0..length).map(|k| ((k * k) >> 3) as u8).collect();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(b"before").unwrap();
            file.write_all(&bytes).unwrap();
            let (read, hash) = read_hashed(&file, 6, length).unwrap();
            assert_eq!((read.as_slice(), hash), (&bytes[..], hash_of(&bytes)));
            assert_eq!(hash, combine(&hash_pieces(&bytes)));
            assert!(read_hashed(&file, 7, length).is_err() || length == 0);
        }
    }
}
