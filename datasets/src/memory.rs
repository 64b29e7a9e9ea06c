//! How much memory reading, storing and writing may take at one time.
//!
//! Everything that grows with a file is asked for here before it is allocated: files and what they decompress to, entries
//! while they are read, sorted and stored, the places of dense arrays that are written. What a header claims is asked for
//! only as far as the file can hold it.

use crate::error::Fault;
use redpoll_physical::run::{Account, MemoryBudget};
use std::io::{self, Read};
use std::sync::Arc;

/// A number of bytes that may be in use at one time. Clones share it.
#[derive(Clone, Debug)]
pub struct Memory(Arc<MemoryBudget>);

impl Memory {
    /// At most that many bytes.
    pub fn limited(bytes: usize) -> Memory {
        Memory(Arc::new(MemoryBudget::new(bytes)))
    }

    /// The bytes of a budget, which others may charge, too.
    pub fn of(budget: Arc<MemoryBudget>) -> Memory {
        Memory(budget)
    }

    /// The most bytes that may be in use.
    pub fn limit(&self) -> usize {
        self.0.limit()
    }

    /// The bytes that are in use.
    pub fn used(&self) -> usize {
        self.0.used()
    }

    /// The budget.
    pub(crate) fn budget(&self) -> &Arc<MemoryBudget> {
        &self.0
    }

    /// Asks for bytes, which are given back by the scope that this memory is of, at its end.
    ///
    /// # Errors
    /// [`Fault::MemoryLimit`] when they are not left.
    pub(crate) fn ask(&self, what: &'static str, bytes: u64) -> Result<(), Fault> {
        let asked = usize::try_from(bytes).unwrap_or(usize::MAX);
        if self.0.charge(asked) {
            return Ok(());
        }
        Err(Fault::MemoryLimit { what, bytes, used: self.0.used() as u64, limit: self.0.limit() as u64 })
    }

    /// Gives back bytes that were asked for.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.0.release(bytes as usize);
    }

    /// An empty list with room for so many elements.
    ///
    /// # Errors
    /// When their bytes are not left, or the system has none.
    pub(crate) fn room<T>(&self, what: &'static str, elements: usize) -> Result<Vec<T>, Fault> {
        let bytes = bytes_of(elements, size_of::<T>());
        self.ask(what, bytes)?;
        let mut list = Vec::new();
        list.try_reserve_exact(elements).map_err(|_| Fault::NoMemory { what, bytes })?;
        Ok(list)
    }
}

impl Default for Memory {
    /// No limit but the address space.
    fn default() -> Memory {
        Memory::limited(isize::MAX as usize)
    }
}

/// The bytes of so many elements.
pub(crate) fn bytes_of(elements: usize, each: usize) -> u64 {
    (elements as u64).saturating_mul(each as u64)
}

/// What is asked for until some work is done, and given back then.
#[derive(Debug)]
pub(crate) struct Scope(Memory);

impl Scope {
    /// A scope within some memory.
    pub(crate) fn within(memory: &Memory) -> Scope {
        Scope(Memory::of(Arc::new(MemoryBudget::within(memory.0.limit(), vec![memory.0.clone()]))))
    }

    /// What work within the scope asks.
    pub(crate) fn memory(&self) -> &Memory {
        &self.0
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        self.0.0.release(self.0.0.used());
    }
}

/// Lists that grow together, entry by entry.
pub(crate) struct Growth<'a> {
    memory: &'a Memory,
    what: &'static str,
    /// The bytes of an entry in all lists.
    each: usize,
    room: usize,
}

impl<'a> Growth<'a> {
    pub(crate) fn new(memory: &'a Memory, what: &'static str, each: usize) -> Growth<'a> {
        Growth { memory, what, each, room: 0 }
    }

    /// Asks for room for one entry more than there are; how many more may come until it is to be asked again, of which the
    /// lists are to reserve memory with [`Growth::reserve`]. `None` where there is room.
    #[inline]
    pub(crate) fn for_one_more(&mut self, entries: usize) -> Result<Option<usize>, Fault> {
        if entries < self.room { Ok(None) } else { self.grow(entries).map(Some) }
    }

    #[cold]
    fn grow(&mut self, entries: usize) -> Result<usize, Fault> {
        const LEAST: usize = 64;
        let room = self.room.saturating_mul(2).max(LEAST);
        // The old lists are there until the new ones are.
        self.memory.ask(self.what, bytes_of(room, self.each))?;
        self.memory.give_back(bytes_of(self.room, self.each));
        self.room = room;
        Ok(room - entries)
    }

    /// Reserves memory for more elements of a list.
    pub(crate) fn reserve<T>(&self, list: &mut Vec<T>, more: usize) -> Result<(), Fault> {
        let bytes = bytes_of(self.room, size_of::<T>());
        list.try_reserve_exact(more).map_err(|_| Fault::NoMemory { what: self.what, bytes })
    }
}

/// Why a stream was not read to its end.
pub(crate) enum ReadError {
    Io(io::Error),
    Fault(Fault),
}

/// All bytes of a stream.
pub(crate) fn read_all(stream: &mut dyn Read, what: &'static str, memory: &Memory) -> Result<Vec<u8>, ReadError> {
    read_expected(stream, what, memory, 1 << 16)
}

/// All bytes of a stream, of which fewer are expected than a number.
pub(crate) fn read_expected(
    stream: &mut dyn Read,
    what: &'static str,
    memory: &Memory,
    below: usize,
) -> Result<Vec<u8>, ReadError> {
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let (old, new) = (bytes.capacity(), bytes.capacity().saturating_mul(2).max(below));
        memory.ask(what, new as u64).map_err(ReadError::Fault)?;
        let reserved = bytes.try_reserve_exact(new - bytes.len());
        reserved.map_err(|_| ReadError::Fault(Fault::NoMemory { what, bytes: new as u64 }))?;
        memory.give_back(old as u64);
        let room = (bytes.capacity() - bytes.len()) as u64;
        let read = stream.take(room).read_to_end(&mut bytes).map_err(|e| match e.kind() {
            io::ErrorKind::OutOfMemory => ReadError::Fault(Fault::NoMemory { what, bytes: new as u64 }),
            _ => ReadError::Io(e),
        })?;
        if (read as u64) < room {
            return Ok(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects that what was asked for is given back, and nothing more.
    #[test]
    fn scopes_give_back() {
        let memory = Memory::limited(1 << 20);
        let scope = Scope::within(&memory);
        let list: Vec<u64> = scope.memory().room("numbers", 1000).unwrap();
        assert_eq!((list.capacity(), memory.budget().used()), (1000, 8000));
        let fault = scope.memory().room::<u64>("numbers", 1 << 20).unwrap_err();
        let Fault::MemoryLimit { bytes, used, limit, .. } = fault else { panic!("{fault}") };
        assert_eq!((bytes, used, limit), (8 << 20, 8000, 1 << 20));
        drop(scope);
        assert_eq!(memory.budget().used(), 0);
    }

    #[test]
    fn streams_are_read_within_the_limit() {
        let text = vec![7u8; 300_000];
        let memory = Memory::limited(1 << 20);
        let scope = Scope::within(&memory);
        assert!(read_all(&mut &text[..], "text", scope.memory()).is_ok_and(|read| read == text));
        drop(scope);
        let few = Memory::limited(200_000);
        assert!(matches!(read_all(&mut &text[..], "text", &few), Err(ReadError::Fault(Fault::MemoryLimit { .. }))));
    }
}
