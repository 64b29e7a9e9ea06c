//! One array of a tensor: a typed view of an Arrow buffer.

use arrow::buffer::Buffer;
use redpoll_logic::Prim;

/// An array of primitives in an Arrow buffer, shared when cloned.
#[derive(Clone, Debug)]
pub struct Array {
    prim: Prim,
    buffer: Buffer,
}

impl Array {
    /// The first `len` elements of `buffer` as `prim`s; `None` when the buffer is too short or not aligned.
    pub fn new(prim: Prim, buffer: Buffer, len: usize) -> Option<Array> {
        let bytes = len.checked_mul(prim.bytes())?;
        let aligned = buffer.as_ptr().align_offset(prim.bytes()) == 0;
        (bytes <= buffer.len() && aligned).then(|| Array { prim, buffer: buffer.slice_with_length(0, bytes) })
    }

    /// The type of an element.
    pub fn prim(&self) -> Prim {
        self.prim
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.buffer.len() / self.prim.bytes()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The bytes.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }
}
