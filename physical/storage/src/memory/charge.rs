//! Buffers allocated outside of kernels, charged to a memory budget during their lifetime.

use super::{Account, MemoryBudget};
use arrow_buffer::Buffer;
use bytes::Bytes;
use std::sync::Arc;

/// Bytes that are charged to a budget until the charge is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    bytes: usize,
    budget: Arc<MemoryBudget>,
}

impl Charge {
    /// Charges bytes to the budget; returns `None` if too few bytes of the budget are left.
    pub(crate) fn new(bytes: usize, budget: &Arc<MemoryBudget>) -> Option<Arc<Charge>> {
        budget.charge(bytes).then(|| Arc::new(Charge { bytes, budget: budget.clone() }))
    }

    /// Returns the number of charged bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the buffer, whose bytes stay charged as long as they are referenced.
    pub(crate) fn attach_to(self: Arc<Charge>, buffer: Buffer) -> Buffer {
        Bytes::from_owner(ChargedBuffer { buffer, _charge: self }).into()
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.release(self.bytes);
    }
}

/// A buffer with the charge for its bytes.
struct ChargedBuffer {
    buffer: Buffer,
    _charge: Arc<Charge>,
}

impl AsRef<[u8]> for ChargedBuffer {
    fn as_ref(&self) -> &[u8] {
        self.buffer.as_slice()
    }
}

/// Charges the buffer to the budget as long as its bytes are referenced, and returns it; `None` if
/// too few bytes of the budget are left.
pub fn charge_buffer(buffer: Buffer, budget: &Arc<MemoryBudget>) -> Option<Buffer> {
    Some(Charge::new(buffer.len(), budget)?.attach_to(buffer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_charged_and_released() {
        let budget = Arc::new(MemoryBudget::new(100));
        let buffer = || Buffer::from_vec(vec![1u64; 10]);
        let first = charge_buffer(buffer(), &budget).unwrap();
        assert_eq!((first.as_slice(), budget.used()), (buffer().as_slice(), 80));
        assert_eq!(first.as_ptr().align_offset(8), 0);
        assert!(charge_buffer(buffer(), &budget).is_none());
        let second = first.clone();
        drop(first);
        assert_eq!(budget.used(), 80);
        drop(second);
        assert_eq!(budget.used(), 0);
    }
}
