//! A growable block of memory that can become an Arrow buffer.

use arrow_buffer::ArrowNativeType;
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_storage::{Account, MemoryBudget};
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::ptr::NonNull;
use std::sync::Arc;

/// The alignment that Arrow recommends, a cache line.
const ALIGNMENT: usize = 64;

/// The alignment of all allocations. The system's allocator moves pages on growth and provides
/// zeroed pages only for alignments up to this one; for larger alignments it copies and writes
/// zeros.
const NATURAL: usize = 16;

/// Number of bytes allocated beyond the bytes of a block, so that the block can start at a multiple
/// of [`ALIGNMENT`].
const SLACK: usize = ALIGNMENT - NATURAL;

/// Memory charged to a budget, with a `capacity` up to which it grows without a move. Spare
/// capacity is not charged: the machine allocates no pages for it until it is accessed.
///
/// Invariants:
/// - Either `capacity` is 0 and `base` and `start` dangle, or `base` was allocated by the global
///   allocator with size `capacity + SLACK` and alignment [`NATURAL`].
/// - `bytes` and `capacity` are multiples of [`ALIGNMENT`], and `start` is the first such multiple
///   at or after `base`.
/// - `bytes` is at most `capacity`, and is charged to `budget`. The first `bytes` from `start` are
///   initialized, except bytes added without a fill, which are written before they are read.
/// - If `is_zeroed`, the bytes after the first `bytes` are zero.
pub(super) struct MemoryBlock {
    base: NonNull<u8>,
    start: NonNull<u8>,
    bytes: usize,
    capacity: usize,
    is_zeroed: bool,
    budget: Arc<MemoryBudget>,
}

// SAFETY: a block owns its memory exclusively, like a `Vec<u8>`; all access is by `&` and `&mut`.
unsafe impl Send for MemoryBlock {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for MemoryBlock {}

impl MemoryBlock {
    pub(super) fn new(budget: Arc<MemoryBudget>) -> MemoryBlock {
        let start = NonNull::without_provenance(std::num::NonZero::new(ALIGNMENT).expect("the alignment is not 0"));
        MemoryBlock { base: start, start, bytes: 0, capacity: 0, is_zeroed: false, budget }
    }

    /// Returns the size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the capacity: the size in bytes up to which the block grows without a move.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` is aligned and not null, and points to `bytes` initialized bytes (none if
        // it dangles).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Returns the memory as elements of a native type.
    pub(super) fn as_native<T: ArrowNativeType>(&self) -> &[T] {
        // SAFETY: every bit pattern is a value of a native type, 64 bytes align all native types,
        // and the length is rounded down to whole elements.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes / size_of::<T>()) }
    }

    /// Returns the memory as mutable elements of a native type.
    pub(super) fn as_native_mut<T: ArrowNativeType>(&mut self) -> &mut [T] {
        // SAFETY: as in `as_native`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.bytes / size_of::<T>()) }
    }

    /// Reserves a capacity of `bytes` in a block that has none, if the machine has the memory; with
    /// `zeroed`, the memory is zero.
    pub(super) fn reserve(&mut self, bytes: usize, zeroed: bool) {
        if let Some(capacity) = rounded(bytes)
            && self.capacity == 0
            && capacity > 0
        {
            self.allocate(capacity, zeroed);
        }
    }

    /// Grows to at least `bytes`, rounded up to whole cache lines. New elements of `size` bytes
    /// have the low bytes of `fill`; without a fill they are unspecified, and must be written
    /// before they are read. Returns `false`, with the block unchanged, if the budget or the
    /// machine does not have the memory, or no block can be that large.
    pub(super) fn grow(&mut self, bytes: usize, size: usize, fill: Option<u64>) -> bool {
        let Some(bytes) = rounded(bytes) else { return false };
        let old = self.bytes;
        if bytes <= old {
            return true;
        }
        if !self.budget.charge(bytes - old) {
            return false;
        }
        if bytes > self.capacity && !self.allocate(bytes, fill == Some(0)) {
            self.budget.release(bytes - old);
            return false;
        }
        self.bytes = bytes;
        match fill {
            // In debug builds, a pattern exposes code that reads elements before it writes them.
            None if cfg!(debug_assertions) => self.write_fill(old, 1, 0xA5),
            Some(fill) if !(self.is_zeroed && fill == 0) => self.write_fill(old, size, fill),
            _ => {}
        }
        true
    }

    /// Allocates `capacity` bytes, which are more than the present capacity; with `zeroed`, the
    /// memory of a first allocation is zero. Returns `false`, with the block unchanged, if the
    /// machine does not have the memory.
    fn allocate(&mut self, capacity: usize, zeroed: bool) -> bool {
        let is_zeroed = zeroed && self.capacity == 0;
        let base = if self.capacity == 0 {
            // SAFETY: the size of the layout is not 0.
            unsafe { if zeroed { alloc_zeroed(layout(capacity)) } else { alloc(layout(capacity)) } }
        } else {
            // SAFETY: `base` was allocated with the layout of `self.capacity` bytes, and the new
            // size is valid and not 0.
            unsafe { realloc(self.base.as_ptr(), layout(self.capacity), capacity + SLACK) }
        };
        let Some(base) = NonNull::new(base) else { return false };
        self.set_base(base, self.bytes);
        (self.capacity, self.is_zeroed) = (capacity, is_zeroed);
        true
    }

    /// Takes over the allocation at `base`, which holds the bytes of the previous allocation, and
    /// moves the first `len` bytes of the block to the new start of the block.
    fn set_base(&mut self, base: NonNull<u8>, len: usize) {
        let before = self.start.addr().get() - self.base.addr().get();
        let after = base.addr().get().next_multiple_of(ALIGNMENT) - base.addr().get();
        // SAFETY: allocations have `NATURAL` alignment, so both offsets are at most `SLACK`. The
        // allocation has `SLACK` bytes more than the block, and the first `len` bytes of the block
        // are initialized.
        let start = unsafe {
            let start = base.add(after);
            if before != after && len > 0 {
                start.copy_from(base.add(before), len);
            }
            start
        };
        (self.base, self.start) = (base, start);
    }

    /// Writes the fill to the elements of `size` bytes from byte `from` to the end.
    fn write_fill(&mut self, from: usize, size: usize, fill: u64) {
        fn write<T: Copy>(block: &mut MemoryBlock, from: usize, value: T) {
            for at in from / size_of::<T>()..block.bytes / size_of::<T>() {
                // SAFETY: `at` is below the number of elements of the block, whose start is aligned
                // for every element.
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

    /// Converts the first `bytes` to an Arrow buffer, without a copy; the rest of the memory is
    /// returned to the allocator.
    ///
    /// # Panics
    /// When the block has fewer bytes.
    pub(super) fn into_arrow(mut self, bytes: usize) -> ArrowBuffer {
        if bytes == 0 {
            return ArrowBuffer::default();
        }
        self.truncate(bytes);
        self.shrink();
        let start = self.start;
        // SAFETY: the block owns at least `bytes` initialized bytes from `start`, and the buffer
        // keeps the block alive.
        unsafe { ArrowBuffer::from_custom_allocation(start, bytes, Arc::new(self)) }
    }

    /// Shortens the block to its first `bytes`, rounded up to whole cache lines; the rest becomes
    /// spare capacity.
    ///
    /// # Panics
    /// When the block has fewer bytes.
    pub(super) fn truncate(&mut self, bytes: usize) {
        assert!(bytes <= self.bytes, "{bytes} of {} bytes", self.bytes);
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        self.budget.release(self.bytes - bytes);
        self.is_zeroed &= bytes == self.bytes;
        self.bytes = bytes;
    }

    /// Returns spare capacity to the allocator, unless the block is empty or the reallocation
    /// fails.
    pub(super) fn shrink(&mut self) {
        if self.capacity == self.bytes || self.bytes == 0 {
            return;
        }
        // SAFETY: `base` was allocated with the layout of `self.capacity` bytes, and the new size
        // is not 0.
        let base = unsafe { realloc(self.base.as_ptr(), layout(self.capacity), self.bytes + SLACK) };
        if let Some(base) = NonNull::new(base) {
            self.set_base(base, self.bytes);
            self.capacity = self.bytes;
        }
    }
}

/// Rounds a number of bytes up to whole cache lines; returns `None` if a block cannot be that
/// large.
fn rounded(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(ALIGNMENT).filter(|bytes| *bytes <= isize::MAX as usize - ALIGNMENT)
}

/// Returns the layout of the allocation for a block of `bytes`.
fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes + SLACK, NATURAL).expect("sizes are checked when blocks grow")
}

impl Drop for MemoryBlock {
    fn drop(&mut self) {
        if self.capacity != 0 {
            // SAFETY: `base` was allocated with this layout, and nothing uses it after the drop.
            unsafe { dealloc(self.base.as_ptr(), layout(self.capacity)) };
            self.budget.release(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_survive_any_number_of_moves() {
        let budget = Arc::new(MemoryBudget::new(usize::MAX >> 1));
        let mut blocks: Vec<MemoryBlock> = (0..8).map(|_| MemoryBlock::new(budget.clone())).collect();
        for bytes in (6..22).map(|k| 1 << k) {
            for (k, block) in blocks.iter_mut().enumerate() {
                let old = block.bytes();
                assert!(block.grow(bytes + 64 * k, 8, Some(bytes as u64)));
                assert_eq!(block.as_ptr() as usize % ALIGNMENT, 0);
                assert!(block.as_native::<u64>()[..old / 8].iter().all(|v| *v == 7), "the first {old} bytes");
                assert!(block.as_native::<u64>()[old / 8..].iter().all(|v| *v == bytes as u64));
                block.as_native_mut::<u64>().fill(7);
            }
        }
        for block in blocks {
            assert!(block.into_arrow(72).as_slice().chunks(8).all(|v| v == 7u64.to_ne_bytes()));
        }
        assert_eq!(budget.used(), 0);
    }

    /// Spare capacity is neither charged nor filled before it is used.
    #[test]
    fn capacity_is_charged_when_it_is_used() {
        let budget = Arc::new(MemoryBudget::new(1024));
        for fill in [0, 7] {
            let mut block = MemoryBlock::new(budget.clone());
            block.reserve(4000, fill == 0);
            assert_eq!((block.bytes(), block.capacity(), budget.used()), (0, 4032, 0));
            let start = block.as_ptr();
            for bytes in [64, 640, 1024] {
                assert!(block.grow(bytes, 8, Some(fill)));
                assert_eq!((block.as_ptr(), budget.used()), (start, bytes), "nothing moves");
                assert!(block.as_native::<u64>().iter().all(|v| *v == fill));
            }
            assert!(!block.grow(1025, 8, Some(fill)), "above the budget, within the capacity");
            block.as_native_mut::<u64>().fill(9);
            block.truncate(100);
            assert_eq!((block.bytes(), block.capacity(), budget.used()), (128, 4032, 128));
            assert_eq!(block.as_ptr(), start);
            if fill == 7 {
                block.shrink();
                assert_eq!((block.bytes(), block.capacity(), budget.used()), (128, 128, 128));
            }
            assert!(block.grow(1024, 8, Some(fill)));
            assert!(block.as_native::<u64>()[..16].iter().all(|v| *v == 9));
            assert!(block.as_native::<u64>()[16..].iter().all(|v| *v == fill), "truncated elements are filled again");
            drop(block);
            assert_eq!(budget.used(), 0);
        }
    }

    #[test]
    fn growth_keeps_contents_fills_the_rest_and_charges_the_budget() {
        let budget = Arc::new(MemoryBudget::new(1024));
        for fill in [0, 0x0102_0304_0506_0708, u64::MAX] {
            for size in [1, 2, 4, 8] {
                let mut block = MemoryBlock::new(budget.clone());
                assert!(block.grow(10, size, Some(fill)));
                assert_eq!((block.bytes(), budget.used()), (64, 64));
                block.as_mut_slice()[..8].fill(9);
                assert!(block.grow(65, size, Some(fill)));
                assert_eq!(block.as_slice()[..8], [9; 8]);
                let element = &fill.to_ne_bytes()[..size];
                assert!(block.as_slice()[8..].chunks(size).all(|c| c == element), "fill {fill:x} of {size} bytes");
                assert!(!block.grow(2048, size, Some(fill)), "above the budget");
                assert!(!block.grow(usize::MAX, size, Some(fill)), "above the address space");
                assert_eq!((block.bytes(), block.as_ptr() as usize % ALIGNMENT), (128, 0));
                let arrow = block.into_arrow(3);
                assert_eq!((arrow.as_slice(), budget.used()), (&[9, 9, 9][..], 64));
                drop(arrow);
                assert_eq!(budget.used(), 0);
            }
        }
    }
}
