//! The memory that the interpreter of Assembly works on.

use super::{Buffer, Signature, Status};
use std::ops::Range;
use std::sync::Arc;

/// The buffers and parameters of one function, as the interpreter accesses them.
///
/// Elements are passed as `u64`: the bits of a value, zero-extended, or the bits of the `i64` of an
/// index. The interpreter checks bounds before it reads, writes or sorts.
pub trait Buffers {
    /// Returns the signature of the function.
    fn signature(&self) -> &Arc<Signature>;

    /// Returns the parameters.
    fn params(&self) -> &[i64];

    /// Returns the number of elements of a buffer: all elements of an input, or the requested
    /// elements of an owned buffer.
    fn len(&self, buffer: Buffer) -> usize;

    /// Returns an element.
    ///
    /// # Panics
    /// When the buffer does not have the element.
    fn read(&self, buffer: Buffer, at: usize) -> u64;

    /// Sets an element of an owned buffer to the low bytes of a value.
    ///
    /// # Panics
    /// When the buffer does not have the element. An implementation may also panic when the buffer
    /// is an input.
    fn write(&mut self, buffer: Buffer, at: usize, bits: u64);

    /// Makes an owned buffer at least `len` elements long. New elements have the fill of the
    /// buffer's declaration, unless the caller leaves the initial contents of the buffer unset.
    /// Returns [`Status::Done`], or the reason why the buffer did not grow, such as
    /// [`Status::OutOfMemory`].
    fn grow(&mut self, buffer: Buffer, len: i64) -> Status;

    /// Sorts a range of an owned buffer of indices in ascending order.
    ///
    /// # Panics
    /// When the range is out of bounds of the buffer.
    fn sort(&mut self, buffer: Buffer, range: Range<usize>);

    /// Sorts the numbers `k` in a range of `perm` by `(major[k], minor[k], k)`.
    ///
    /// # Panics
    /// When the range is out of bounds of `perm`, or a number is out of bounds of `major` or
    /// `minor`.
    fn sort_by(&mut self, perm: Buffer, major: Buffer, minor: Buffer, range: Range<usize>);

    /// Exchanges the elements and lengths of two owned buffers.
    ///
    /// # Panics
    /// When one of the buffers is an input.
    fn swap(&mut self, a: Buffer, b: Buffer);

    /// Returns whether the run was asked to stop.
    fn is_cancelled(&self) -> bool;
}
