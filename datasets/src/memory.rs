//! Memory limits for reading, storing and writing.
//!
//! All memory that grows with a file is charged here before it is allocated: the file and its
//! decompressed bytes, entries while they are read, sorted and stored, and dense arrays to be
//! written. While entries are read, memory is charged only for as many entries as the file has room
//! for, whatever size its header gives. The exception is a tensor of Binsparse with `iso` values,
//! which are one value for all entries: its entries are expanded to the size in the header.

use crate::error::Fault;
use redpoll_storage::{Account, MemoryBudget};
use std::io::{self, Read};
use std::sync::Arc;

/// A limited number of bytes that may be in use at one time. Clones share the limit.
#[derive(Clone, Debug)]
pub struct Memory {
    budget: Arc<MemoryBudget>,
    /// The budget that messages report. For the memory of a scope, it is the budget around all
    /// scopes, whose bytes in use include the bytes of every scope. Otherwise, it is `budget`.
    outermost: Arc<MemoryBudget>,
}

impl Memory {
    /// Creates a limit of the given bytes.
    pub fn limited(bytes: usize) -> Memory {
        Memory::of(Arc::new(MemoryBudget::new(bytes)))
    }

    /// Wraps a budget that other code may charge as well.
    pub fn of(budget: Arc<MemoryBudget>) -> Memory {
        Memory { outermost: budget.clone(), budget }
    }

    /// Returns the limit, in bytes.
    pub fn limit(&self) -> usize {
        self.budget.limit()
    }

    /// Returns the number of bytes in use.
    pub fn used(&self) -> usize {
        self.budget.used()
    }

    /// Returns the budget.
    pub(crate) fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    /// Charges bytes. If this is the memory of a [`MemoryScope`], the scope releases the bytes at
    /// its end.
    ///
    /// # Errors
    /// [`Fault::MemoryLimit`] if the bytes exceed the limit.
    pub(crate) fn charge(&self, purpose: &'static str, bytes: u64) -> Result<(), Fault> {
        let requested = usize::try_from(bytes).unwrap_or(usize::MAX);
        if self.budget.charge(requested) {
            return Ok(());
        }
        let (used, limit) = (self.outermost.used() as u64, self.outermost.limit() as u64);
        Err(Fault::MemoryLimit { purpose, bytes, used, limit })
    }

    /// Releases charged bytes.
    pub(crate) fn release(&self, bytes: u64) {
        self.budget.release(bytes as usize);
    }

    /// Allocates an empty vector with capacity for the given number of elements.
    ///
    /// # Errors
    /// Fails if the bytes exceed the limit, or the system refuses the allocation.
    pub(crate) fn allocate<T>(&self, purpose: &'static str, elements: usize) -> Result<Vec<T>, Fault> {
        let bytes = bytes_of(elements, size_of::<T>());
        self.charge(purpose, bytes)?;
        let mut list = Vec::new();
        list.try_reserve_exact(elements).map_err(|_| Fault::NoMemory { purpose, bytes })?;
        Ok(list)
    }
}

impl Default for Memory {
    /// Creates a limit of `isize::MAX` bytes, the maximum size of an allocation.
    fn default() -> Memory {
        Memory::limited(isize::MAX as usize)
    }
}

/// Returns the bytes of `elements` elements, or `u64::MAX` if they exceed 64 bits.
pub(crate) fn bytes_of(elements: usize, element_bytes: usize) -> u64 {
    (elements as u64).saturating_mul(element_bytes as u64)
}

/// Memory that is charged within a scope, and released when the scope is dropped.
#[derive(Debug)]
pub(crate) struct MemoryScope(Memory);

impl MemoryScope {
    /// Creates a scope that charges the given memory.
    pub(crate) fn new(memory: &Memory) -> MemoryScope {
        let budget = MemoryBudget::with_accounts(memory.limit(), vec![memory.budget.clone()]);
        MemoryScope(Memory { budget: Arc::new(budget), outermost: memory.outermost.clone() })
    }

    /// Returns the memory that work within the scope charges.
    pub(crate) fn memory(&self) -> &Memory {
        &self.0
    }
}

impl Drop for MemoryScope {
    fn drop(&mut self) {
        self.0.budget.release(self.0.budget.used());
    }
}

/// Capacity of vectors that grow together, entry by entry.
pub(crate) struct Growth<'a> {
    memory: &'a Memory,
    purpose: &'static str,
    /// The bytes of an entry in all vectors.
    entry_bytes: usize,
    capacity: usize,
}

impl<'a> Growth<'a> {
    pub(crate) fn new(memory: &'a Memory, purpose: &'static str, entry_bytes: usize) -> Growth<'a> {
        Growth { memory, purpose, entry_bytes, capacity: 0 }
    }

    /// Prepares for one more entry than `entries`. If the capacity is exhausted, charges the memory
    /// of further entries, and returns the number of elements that the caller must reserve in each
    /// vector with [`Growth::reserve`]; otherwise returns `None`.
    #[inline]
    pub(crate) fn charge_entry(&mut self, entries: usize) -> Result<Option<usize>, Fault> {
        if entries < self.capacity { Ok(None) } else { self.grow(entries).map(Some) }
    }

    #[cold]
    fn grow(&mut self, entries: usize) -> Result<usize, Fault> {
        const MIN_CAPACITY: usize = 64;
        let capacity = self.capacity.saturating_mul(2).max(MIN_CAPACITY);
        // The old vectors exist until the new ones are filled.
        self.memory.charge(self.purpose, bytes_of(capacity, self.entry_bytes))?;
        self.memory.release(bytes_of(self.capacity, self.entry_bytes));
        self.capacity = capacity;
        Ok(capacity - entries)
    }

    /// Reserves memory for more elements of a vector.
    pub(crate) fn reserve<T>(&self, list: &mut Vec<T>, more: usize) -> Result<(), Fault> {
        let bytes = bytes_of(self.capacity, size_of::<T>());
        list.try_reserve_exact(more).map_err(|_| Fault::NoMemory { purpose: self.purpose, bytes })
    }
}

/// Error of reading a stream to its end.
pub(crate) enum ReadError {
    Io(io::Error),
    Fault(Fault),
}

/// Reads all bytes of a stream.
pub(crate) fn read_all(stream: &mut dyn Read, purpose: &'static str, memory: &Memory) -> Result<Vec<u8>, ReadError> {
    read_expected(stream, purpose, memory, 1 << 16)
}

/// Reads all bytes of a stream. The first capacity of the buffer is `capacity` bytes. It should
/// exceed the length of the stream, so that the buffer does not grow.
pub(crate) fn read_expected(
    stream: &mut dyn Read,
    purpose: &'static str,
    memory: &Memory,
    capacity: usize,
) -> Result<Vec<u8>, ReadError> {
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let (old, new) = (bytes.capacity(), bytes.capacity().saturating_mul(2).max(capacity));
        memory.charge(purpose, new as u64).map_err(ReadError::Fault)?;
        let reserved = bytes.try_reserve_exact(new - bytes.len());
        reserved.map_err(|_| ReadError::Fault(Fault::NoMemory { purpose, bytes: new as u64 }))?;
        memory.release(old as u64);
        let free = (bytes.capacity() - bytes.len()) as u64;
        let read = stream.take(free).read_to_end(&mut bytes).map_err(|e| match e.kind() {
            io::ErrorKind::OutOfMemory => ReadError::Fault(Fault::NoMemory { purpose, bytes: new as u64 }),
            _ => ReadError::Io(e),
        })?;
        if (read as u64) < free {
            return Ok(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that scopes release exactly the charged memory.
    #[test]
    fn scopes_release_their_memory() {
        let memory = Memory::limited(1 << 20);
        let scope = MemoryScope::new(&memory);
        let list: Vec<u64> = scope.memory().allocate("numbers", 1000).unwrap();
        assert_eq!((list.capacity(), memory.budget().used()), (1000, 8000));
        let fault = scope.memory().allocate::<u64>("numbers", 1 << 20).unwrap_err();
        let Fault::MemoryLimit { bytes, used, limit, .. } = fault else { panic!("{fault}") };
        assert_eq!((bytes, used, limit), (8 << 20, 8000, 1 << 20));
        // The bytes in use around a scope count, too.
        memory.charge("a file", 500_000).unwrap();
        let fault = MemoryScope::new(&memory).memory().charge("entries", 600_000).unwrap_err();
        assert!(matches!(fault, Fault::MemoryLimit { used: 508_000, .. }), "{fault}");
        memory.release(500_000);
        drop(scope);
        assert_eq!(memory.budget().used(), 0);
    }

    #[test]
    fn streams_are_read_within_the_limit() {
        let text = vec![7u8; 300_000];
        let memory = Memory::limited(1 << 20);
        let scope = MemoryScope::new(&memory);
        assert!(read_all(&mut &text[..], "text", scope.memory()).is_ok_and(|read| read == text));
        drop(scope);
        let few = Memory::limited(200_000);
        assert!(matches!(read_all(&mut &text[..], "text", &few), Err(ReadError::Fault(Fault::MemoryLimit { .. }))));
    }
}
