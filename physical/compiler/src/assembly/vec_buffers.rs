//! Memory in plain vectors, for the interpreter without the runtime of kernels.

use super::{Buffer, BufferDecl, BufferRole, Buffers, Signature, Status};
use crate::Error;
use std::ops::Range;
use std::sync::Arc;

/// Buffers in plain vectors, for programs that are interpreted without the runtime of kernels.
#[derive(Clone, Debug)]
pub struct VecBuffers {
    signature: Arc<Signature>,
    params: Vec<i64>,
    arrays: Vec<Vec<u64>>,
    /// Largest total size of the owned buffers, in bytes.
    limit: usize,
}

impl VecBuffers {
    /// Makes the buffers of a function. `inputs` has the elements of each input, in the order of
    /// the declarations. Owned buffers start empty and may grow to `limit` bytes together.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the number of inputs or parameters differs from the
    /// signature.
    pub fn new(
        signature: &Arc<Signature>,
        inputs: Vec<Vec<u64>>,
        params: Vec<i64>,
        limit: usize,
    ) -> Result<VecBuffers, Error> {
        signature.check_counts(inputs.len(), params.len())?;
        let mut inputs = inputs.into_iter();
        let array = |decl: &BufferDecl| match decl.role {
            BufferRole::Input => inputs.next().expect("inputs were counted above"),
            BufferRole::Owned => Vec::new(),
        };
        let arrays = signature.buffers.iter().map(array).collect();
        Ok(VecBuffers { signature: signature.clone(), params, arrays, limit })
    }

    /// Returns the elements of a buffer.
    pub fn elements(&self, buffer: Buffer) -> &[u64] {
        &self.arrays[buffer.index()]
    }

    fn owned_bytes(&self) -> usize {
        let owned = self.signature.buffers.iter().zip(&self.arrays).filter(|(decl, _)| decl.role == BufferRole::Owned);
        owned.map(|(decl, array)| array.len() * decl.prim.bytes()).sum()
    }
}

impl Buffers for VecBuffers {
    fn signature(&self) -> &Arc<Signature> {
        &self.signature
    }

    fn params(&self) -> &[i64] {
        &self.params
    }

    fn len(&self, buffer: Buffer) -> usize {
        self.arrays[buffer.index()].len()
    }

    fn read(&self, buffer: Buffer, at: usize) -> u64 {
        self.arrays[buffer.index()][at]
    }

    fn write(&mut self, buffer: Buffer, at: usize, bits: u64) {
        self.arrays[buffer.index()][at] = self.signature.buffers[buffer.index()].stored(bits);
    }

    fn grow(&mut self, buffer: Buffer, len: i64) -> Status {
        let decl = &self.signature.buffers[buffer.index()];
        let fill = decl.fill.to_bits().expect("fills of buffers are primitives");
        let now = self.len(buffer);
        let Ok(len) = usize::try_from(len) else { return Status::OutOfMemory };
        let added = len.saturating_sub(now).saturating_mul(decl.prim.bytes());
        if self.owned_bytes().saturating_add(added) > self.limit {
            return Status::OutOfMemory;
        }
        let fill = decl.stored(fill);
        self.arrays[buffer.index()].resize(len.max(now), fill);
        Status::Done
    }

    fn sort(&mut self, buffer: Buffer, range: Range<usize>) {
        // Signed elements are extended to the bits of an `i64`.
        let unsigned = !self.signature.buffers[buffer.index()].prim.is_signed();
        let elements = &mut self.arrays[buffer.index()][range];
        if unsigned { elements.sort_unstable() } else { elements.sort_unstable_by_key(|bits| *bits as i64) }
    }

    fn sort_by(&mut self, perm: Buffer, major: Buffer, minor: Buffer, range: Range<usize>) {
        let unsigned = !self.signature.buffers[perm.index()].prim.is_signed();
        let mut numbers = self.arrays[perm.index()][range.clone()].to_vec();
        let key = |buffer: Buffer, k: u64| self.arrays[buffer.index()][k as usize] as i64;
        let own = |k: u64| if unsigned { i128::from(k) } else { i128::from(k as i64) };
        numbers.sort_unstable_by_key(|k| (key(major, *k), key(minor, *k), own(*k)));
        self.arrays[perm.index()][range].copy_from_slice(&numbers);
    }

    fn swap(&mut self, a: Buffer, b: Buffer) {
        let is_owned = |buffer: Buffer| self.signature.buffers[buffer.index()].role == BufferRole::Owned;
        assert!(is_owned(a) && is_owned(b), "the verifier admits swaps of owned buffers only");
        self.arrays.swap(a.index(), b.index());
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}
