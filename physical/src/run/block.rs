//! A growable piece of memory that can become an Arrow buffer.

use super::MemoryBudget;
use arrow::buffer::Buffer as ArrowBuffer;
use arrow::datatypes::ArrowNativeType;
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::ptr::NonNull;
use std::sync::Arc;

/// The alignment that Arrow recommends, a cache line.
const ALIGNMENT: usize = 64;

/// Memory charged to a budget.
///
/// Invariants: `bytes` is 0 and `start` dangles, or `start` was allocated by the global allocator with size `bytes` (a
/// multiple of [`ALIGNMENT`]) and alignment [`ALIGNMENT`]; all bytes are initialized; `bytes` are charged to `budget`.
pub(super) struct Block {
    start: NonNull<u8>,
    bytes: usize,
    budget: Arc<MemoryBudget>,
}

// SAFETY: a block owns its memory alone, like a `Vec<u8>`; access goes through `&` and `&mut`.
unsafe impl Send for Block {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Block {}

impl Block {
    pub(super) fn new(budget: Arc<MemoryBudget>) -> Block {
        let start = NonNull::without_provenance(std::num::NonZero::new(ALIGNMENT).expect("the alignment is not 0"));
        Block { start, bytes: 0, budget }
    }

    /// Size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` is aligned and not null, and `bytes` initialized bytes belong to it (none when it dangles).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `&mut self` makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// The memory as elements of a native type.
    pub(super) fn as_native<T: ArrowNativeType>(&self) -> &[T] {
        // SAFETY: every bit pattern is a value of a native type, 64 bytes align all of them, and the length is rounded
        // down to whole elements.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes / size_of::<T>()) }
    }

    /// The memory as elements of a native type.
    pub(super) fn as_native_mut<T: ArrowNativeType>(&mut self) -> &mut [T] {
        // SAFETY: as in `as_native`, and `&mut self` makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.bytes / size_of::<T>()) }
    }

    /// Grows to `bytes`, rounded up to whole cache lines; new elements of `size` bytes hold the low bytes of `fill`.
    /// `false`, and nothing changed, when the budget or the machine does not have them.
    pub(super) fn grow(&mut self, bytes: usize, size: usize, fill: u64) -> bool {
        let Some(bytes) = bytes.checked_next_multiple_of(ALIGNMENT).filter(|b| *b <= isize::MAX as usize) else {
            return false;
        };
        let old = self.bytes;
        if bytes <= old {
            return true;
        }
        if !self.budget.charge(bytes - old) {
            return false;
        }
        let layout = Layout::from_size_align(bytes, ALIGNMENT).expect("the size was checked above");
        let zeroed = old == 0 && fill == 0;
        let start = if old == 0 {
            // SAFETY: the layout's size is not 0, since it is above `old`.
            unsafe { if zeroed { alloc_zeroed(layout) } else { alloc(layout) } }
        } else {
            // SAFETY: `start` was allocated with the layout of `old` bytes, and the new size is valid and not 0.
            unsafe { realloc(self.start.as_ptr(), self.layout(), bytes) }
        };
        let Some(start) = NonNull::new(start) else {
            self.budget.release(bytes - old);
            return false;
        };
        (self.start, self.bytes) = (start, bytes);
        if !zeroed {
            self.write_fill(old, size, fill);
        }
        true
    }

    /// Writes the fill from byte `from` to the end.
    fn write_fill(&mut self, from: usize, size: usize, fill: u64) {
        fn write<T: Copy>(block: &mut Block, from: usize, value: T) {
            for at in from / size_of::<T>()..block.bytes / size_of::<T>() {
                // SAFETY: `at` is below the number of elements of the block, whose start is aligned for every element.
                unsafe { block.start.as_ptr().cast::<T>().add(at).write(value) };
            }
        }
        match size {
            1 => write(self, from, fill as u8),
            2 => write(self, from, fill as u16),
            4 => write(self, from, fill as u32),
            _ => write(self, from, fill),
        }
    }

    /// The first `bytes` as an Arrow buffer, without a copy; memory behind them is given back to the allocator.
    ///
    /// # Panics
    /// When the block has fewer bytes.
    pub(super) fn into_arrow(mut self, bytes: usize) -> ArrowBuffer {
        assert!(bytes <= self.bytes, "{bytes} of {} bytes", self.bytes);
        if bytes == 0 {
            return ArrowBuffer::default();
        }
        self.shrink(bytes.next_multiple_of(ALIGNMENT));
        let start = self.start;
        // SAFETY: the block owns at least `bytes` initialized bytes from `start`, and the buffer keeps it alive.
        unsafe { ArrowBuffer::from_custom_allocation(start, bytes, Arc::new(self)) }
    }

    /// Shrinks to `bytes`, a multiple of the alignment that is not 0 and at most the size; keeps the size when it cannot.
    fn shrink(&mut self, bytes: usize) {
        if bytes == self.bytes {
            return;
        }
        // SAFETY: `start` was allocated with the layout of `self.bytes` bytes, and the new size is not 0.
        let start = unsafe { realloc(self.start.as_ptr(), self.layout(), bytes) };
        if let Some(start) = NonNull::new(start) {
            self.budget.release(self.bytes - bytes);
            (self.start, self.bytes) = (start, bytes);
        }
    }

    fn layout(&self) -> Layout {
        Layout::from_size_align(self.bytes, ALIGNMENT).expect("the layout was valid at allocation")
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.bytes != 0 {
            // SAFETY: `start` was allocated with this layout, and nothing uses it after the drop.
            unsafe { dealloc(self.start.as_ptr(), self.layout()) };
            self.budget.release(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_keeps_contents_fills_the_rest_and_charges_the_budget() {
        let budget = Arc::new(MemoryBudget::new(1024));
        for fill in [0, 0x0102_0304_0506_0708, u64::MAX] {
            for size in [1, 2, 4, 8] {
                let mut block = Block::new(budget.clone());
                assert!(block.grow(10, size, fill));
                assert_eq!((block.bytes(), budget.used()), (64, 64));
                block.as_mut_slice()[..8].fill(9);
                assert!(block.grow(65, size, fill));
                assert_eq!(block.as_slice()[..8], [9; 8]);
                let element = &fill.to_ne_bytes()[..size];
                assert!(block.as_slice()[8..].chunks(size).all(|c| c == element), "fill {fill:x} of {size} bytes");
                assert!(!block.grow(2048, size, fill), "above the budget");
                assert!(!block.grow(usize::MAX, size, fill), "above the address space");
                assert_eq!((block.bytes(), block.as_ptr() as usize % ALIGNMENT), (128, 0));
                let arrow = block.into_arrow(3);
                assert_eq!((arrow.as_slice(), budget.used()), (&[9, 9, 9][..], 64));
                drop(arrow);
                assert_eq!(budget.used(), 0);
            }
        }
    }
}
