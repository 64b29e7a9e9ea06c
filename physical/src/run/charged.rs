//! Buffers that were made outside of kernels, charged to a memory budget while they live.

use super::{Account, MemoryBudget};
use arrow::buffer::Buffer;
use bytes::Bytes;
use std::sync::Arc;

/// A buffer that gives its bytes back to a budget when its last user is gone.
struct Charged {
    buffer: Buffer,
    budget: Arc<MemoryBudget>,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        self.buffer.as_slice()
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        self.budget.release(self.buffer.len());
    }
}

/// The buffer, charged to the budget; `None` when its bytes are not left.
pub(crate) fn charged(buffer: Buffer, budget: &Arc<MemoryBudget>) -> Option<Buffer> {
    budget.charge(buffer.len()).then(|| Bytes::from_owner(Charged { buffer, budget: budget.clone() }).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_taken_and_given_back() {
        let budget = Arc::new(MemoryBudget::new(100));
        let buffer = || Buffer::from_vec(vec![1u64; 10]);
        let first = charged(buffer(), &budget).unwrap();
        assert_eq!((first.as_slice(), budget.used()), (buffer().as_slice(), 80));
        assert_eq!(first.as_ptr().align_offset(8), 0);
        assert!(charged(buffer(), &budget).is_none());
        let second = first.clone();
        drop(first);
        assert_eq!(budget.used(), 80);
        drop(second);
        assert_eq!(budget.used(), 0);
    }
}
