//! Buffers allocated outside of kernels, charged to a memory budget during their lifetime.

use super::{Account, MemoryBudget};
use arrow::buffer::Buffer;
use bytes::Bytes;
use std::sync::Arc;

/// A buffer that releases its bytes to a budget when its last user drops it.
struct ChargedBuffer {
    buffer: Buffer,
    budget: Arc<MemoryBudget>,
}

impl AsRef<[u8]> for ChargedBuffer {
    fn as_ref(&self) -> &[u8] {
        self.buffer.as_slice()
    }
}

impl Drop for ChargedBuffer {
    fn drop(&mut self) {
        self.budget.release(self.buffer.len());
    }
}

/// Charges the buffer to the budget; returns `None` if too few bytes of the budget are left.
pub fn charge_buffer(buffer: Buffer, budget: &Arc<MemoryBudget>) -> Option<Buffer> {
    budget.charge(buffer.len()).then(|| Bytes::from_owner(ChargedBuffer { buffer, budget: budget.clone() }).into())
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
