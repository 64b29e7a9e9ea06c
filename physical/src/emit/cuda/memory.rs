//! Device memory under a limit: arrays of inputs, which are uploaded once, and results of kernels.
//!
//! An array of an input stays on the device as long as the host has it, and a result as long as its
//! tensor lives. If an allocation does not fit, the least recently used entries leave first: copies
//! of inputs are dropped, results are fetched to the host. Memory that a launch uses cannot leave.

use super::machine::{Address, Block, Machine, Trouble};
use crate::Error;
use crate::assembly::Status;
use crate::run::MemoryBudget;
use crate::storage::{Away, Remote};
use arrow::buffer::Buffer;
use lru::LruCache;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Bytes copied to or from a device at a time. Cancellation is checked between two pieces, and the
/// driver's own staging memory for a copy is no larger than a piece.
pub(crate) const PIECE: usize = 32 << 20;

/// Bytes of repeated elements that are uploaded; the device copies the rest from them.
const FIRST: usize = 64 << 10;

/// The byte in poisoned memory: its numbers are larger than any that tests compute, and its
/// positions beyond any array.
pub(crate) const POISON: u8 = 0x7f;

/// The memory of a device.
pub(crate) struct DeviceMemory {
    machine: Arc<dyn Machine>,
    /// Bytes that may be in use at one time.
    limit: usize,
    /// Set when new memory is filled with [`POISON`].
    poisons: AtomicBool,
    state: Mutex<State>,
}

struct State {
    /// Bytes in use.
    used: usize,
    kept: LruCache<Key, Kept>,
    /// The number of the next result.
    next: u64,
}

/// The key of an entry: the address and length of an array, or the number of a result. An array
/// that is kept does not move, and its bytes do not change.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Input(usize, usize),
    Result(u64),
}

enum Kept {
    Input { array: Buffer, held: Arc<Held> },
    Result(Weak<Away>),
}

/// Device memory that counts against the limit.
pub(crate) struct Held {
    block: Box<dyn Block>,
    bytes: usize,
    memory: Arc<DeviceMemory>,
}

impl Held {
    /// Returns the address of the first byte.
    pub(crate) fn address(&self) -> Address {
        self.block.address()
    }

    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.memory.locked().used -= self.bytes;
    }
}

/// The requester of memory: the name of its kernel, for errors; the limit of its bytes in use; and
/// whether it is cancelled.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) kernel: &'a str,
    pub(crate) limit: usize,
    pub(crate) cancelled: &'a dyn Fn() -> bool,
}

/// A result of a kernel.
struct Resident {
    memory: Arc<DeviceMemory>,
    held: Mutex<Option<Arc<Held>>>,
    /// Offset in bytes of the result in its memory.
    offset: usize,
    bytes: usize,
    number: u64,
    kernel: String,
}

impl Resident {
    fn held(&self) -> Option<Arc<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Resident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of kernel `{}` on CUDA device {}", self.bytes, self.kernel, self.memory.machine.ordinal())
    }
}

impl Remote for Resident {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn fetch(&self, to: &mut [u8]) -> Result<(), Error> {
        let held = self.held().expect("what is forgotten was fetched before");
        let asker = Asker { kernel: &self.kernel, limit: usize::MAX, cancelled: &|| false };
        self.memory.take(held.address() + self.offset as u64, to, asker)
    }

    fn forget(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(held);
    }
}

impl DeviceMemory {
    /// Creates the memory of a device with a limit of bytes in use.
    pub(crate) fn of(machine: Arc<dyn Machine>, limit: usize) -> Arc<DeviceMemory> {
        let state = State { used: 0, kept: LruCache::unbounded(), next: 0 };
        Arc::new(DeviceMemory { machine, limit, poisons: AtomicBool::new(false), state: Mutex::new(state) })
    }

    /// Turns on or off the filling of new memory with [`POISON`].
    pub(crate) fn poison(&self, poisons: bool) {
        self.poisons.store(poisons, Ordering::Relaxed);
    }

    /// Returns the device.
    pub(crate) fn machine(&self) -> &dyn Machine {
        &*self.machine
    }

    /// Returns the bytes available to windows: all except those that cannot leave.
    pub(crate) fn room(&self, limit: usize) -> usize {
        let state = self.locked();
        let leaves = |kept: &Kept| match kept {
            Kept::Input { held, .. } => held.bytes,
            Kept::Result(away) => away.upgrade().map_or(0, |away| away.bytes()),
        };
        let may_leave: usize = state.kept.iter().map(|(_, kept)| leaves(kept)).sum();
        self.limit.min(limit).saturating_sub(state.used.saturating_sub(may_leave))
    }

    /// Converts a failure of the device to an error of a kernel.
    pub(crate) fn error(&self, kernel: &str, trouble: &Trouble) -> Error {
        Error::Device { ordinal: self.machine.ordinal(), kernel: kernel.to_owned(), message: trouble.to_string() }
    }

    /// Allocates memory.
    ///
    /// # Errors
    /// [`Error::DeviceMemory`] if the memory is not available even after all evictions;
    /// [`Error::Device`] with the message of the driver.
    pub(crate) fn allocate(self: &Arc<Self>, bytes: usize, asker: Asker<'_>) -> Result<Arc<Held>, Error> {
        // The driver cannot allocate zero bytes.
        let bytes = bytes.max(1);
        let limit = self.limit.min(asker.limit);
        loop {
            if self.reserve(bytes, limit) {
                match self.machine.allocate(bytes) {
                    Ok(block) => return self.poisoned(Held { block, bytes, memory: self.clone() }, asker),
                    Err(trouble) => {
                        self.locked().used -= bytes;
                        if trouble != Trouble::Full {
                            return Err(self.error(asker.kernel, &trouble));
                        }
                    }
                }
            }
            if !self.make_room()? {
                let (ordinal, kernel) = (self.machine.ordinal(), asker.kernel.to_owned());
                return Err(Error::DeviceMemory { ordinal, kernel, asked: bytes, used: self.locked().used, limit });
            }
        }
    }

    /// Fills new memory with [`POISON`] if that is turned on.
    fn poisoned(&self, held: Held, asker: Asker<'_>) -> Result<Arc<Held>, Error> {
        if self.poisons.load(Ordering::Relaxed) {
            self.repeat(&held, &[POISON], asker)?;
        }
        Ok(Arc::new(held))
    }

    /// Fills memory with repetitions of an element of 1, 2, 4 or 8 bytes. If the bytes of the
    /// element differ, only the first elements are uploaded, and the device copies the rest from
    /// them.
    fn repeat(&self, held: &Held, element: &[u8], asker: Asker<'_>) -> Result<(), Error> {
        let trouble = |trouble: Trouble| self.error(asker.kernel, &trouble);
        if element.iter().all(|byte| *byte == element[0]) {
            return self.machine.set(held.address(), held.bytes, element[0]).map_err(trouble);
        }
        let first: Vec<u8> = element.iter().copied().cycle().take(held.bytes.min(FIRST)).collect();
        self.put(&first, held.address(), asker)?;
        let mut done = first.len();
        while done < held.bytes {
            asker.goes_on()?;
            let bytes = done.min(held.bytes - done);
            self.machine.copy(held.address(), held.address() + done as u64, bytes).map_err(trouble)?;
            done += bytes;
        }
        Ok(())
    }

    /// Allocates elements of 1, 2, 4 or 8 bytes, each set to the low bytes of a fill value.
    ///
    /// # Errors
    /// The errors of [`DeviceMemory::allocate`]; [`Error::KernelStopped`] if the requester is
    /// cancelled.
    pub(crate) fn filled(
        self: &Arc<Self>,
        (elements, size): (usize, usize),
        fill: u64,
        asker: Asker<'_>,
    ) -> Result<Arc<Held>, Error> {
        let held = self.allocate(elements.saturating_mul(size), asker)?;
        self.repeat(&held, &fill.to_le_bytes()[..size], asker)?;
        Ok(held)
    }

    /// Copies bytes to an address, piece by piece.
    ///
    /// # Errors
    /// [`Error::Device`] with the message of the driver; [`Error::KernelStopped`] if the requester
    /// is cancelled.
    pub(crate) fn put(&self, bytes: &[u8], to: Address, asker: Asker<'_>) -> Result<(), Error> {
        for (piece, to) in bytes.chunks(PIECE).zip((to..).step_by(PIECE)) {
            asker.goes_on()?;
            self.machine.upload(piece, to).map_err(|trouble| self.error(asker.kernel, &trouble))?;
        }
        Ok(())
    }

    /// Copies bytes from an address, piece by piece.
    ///
    /// # Errors
    /// The errors of [`DeviceMemory::put`].
    pub(crate) fn take(&self, from: Address, to: &mut [u8], asker: Asker<'_>) -> Result<(), Error> {
        for (piece, from) in to.chunks_mut(PIECE).zip((from..).step_by(PIECE)) {
            asker.goes_on()?;
            self.machine.download(from, piece).map_err(|trouble| self.error(asker.kernel, &trouble))?;
        }
        Ok(())
    }

    /// Returns the memory of an array of an input, after uploading it if necessary. Copies of
    /// arrays that the host has dropped are freed.
    ///
    /// # Errors
    /// The errors of [`DeviceMemory::allocate`] and [`DeviceMemory::put`].
    pub(crate) fn input(self: &Arc<Self>, array: &Buffer, asker: Asker<'_>) -> Result<Arc<Held>, Error> {
        let key = Key::of(array);
        if let Some(Kept::Input { held, .. }) = self.locked().kept.get(&key) {
            return Ok(held.clone());
        }
        self.forget_what_is_gone();
        let held = self.allocate(array.len(), asker)?;
        self.put(array, held.address(), asker)?;
        // Another thread may have uploaded the array meanwhile; the later copy stays.
        let before = self.locked().kept.put(key, Kept::Input { array: array.clone(), held: held.clone() });
        drop(before);
        Ok(held)
    }

    /// Returns whether the device has an array of an input.
    pub(crate) fn has(&self, array: &Buffer) -> bool {
        self.locked().kept.contains(&Key::of(array))
    }

    /// Registers a result, which stays on the device until it is fetched.
    ///
    /// # Errors
    /// The errors of [`Away::new`].
    pub(crate) fn leave(
        self: &Arc<Self>,
        held: &Arc<Held>,
        (offset, bytes): (usize, usize),
        (kernel, budget): (&str, &Arc<MemoryBudget>),
    ) -> Result<Arc<Away>, Error> {
        let number = {
            let mut state = self.locked();
            state.next += 1;
            state.next
        };
        let held = Mutex::new(Some(held.clone()));
        let resident = Resident { memory: self.clone(), held, offset, bytes, number, kernel: kernel.to_owned() };
        let away = Away::new(Box::new(resident), budget)?;
        self.locked().kept.put(Key::Result(number), Kept::Result(Arc::downgrade(&away)));
        Ok(away)
    }

    /// Returns the memory and address of a result on this device; `None` if the result was fetched
    /// to the host or is on another device.
    pub(crate) fn resident(&self, away: &Away) -> Option<(Arc<Held>, Address)> {
        let there: &dyn Any = away.there();
        let resident = there.downcast_ref::<Resident>().filter(|r| std::ptr::eq(&*r.memory, self))?;
        let held = resident.held()?;
        self.locked().kept.promote(&Key::Result(resident.number));
        let address = held.address() + resident.offset as u64;
        Some((held, address))
    }

    /// Reserves bytes of the limit, if they are available.
    fn reserve(&self, bytes: usize, limit: usize) -> bool {
        let mut state = self.locked();
        let total = state.used.checked_add(bytes).filter(|total| *total <= limit);
        state.used = total.unwrap_or(state.used);
        total.is_some()
    }

    /// Evicts the least recently used entry; returns `false` if there is none.
    fn make_room(&self) -> Result<bool, Error> {
        // Dropping the entry gives its bytes back, which takes the lock.
        let left = self.locked().kept.pop_lru();
        match left {
            None => return Ok(false),
            Some((_, Kept::Input { .. })) => {}
            Some((_, Kept::Result(away))) => {
                if let Some(away) = away.upgrade() {
                    away.come_home()?;
                }
            }
        }
        Ok(true)
    }

    /// Drops copies of arrays that the host has dropped, and results whose tensors are gone.
    fn forget_what_is_gone(&self) {
        let gone: Vec<Kept> = {
            let kept = &mut self.locked().kept;
            // Several arrays may be slices of one allocation.
            let mut own: HashMap<_, usize> = HashMap::new();
            for (_, kept) in kept.iter() {
                if let Kept::Input { array, .. } = kept {
                    *own.entry(array.data_ptr()).or_default() += 1;
                }
            }
            let is_gone = |kept: &Kept| match kept {
                Kept::Input { array, .. } => array.strong_count() == own[&array.data_ptr()],
                Kept::Result(away) => away.strong_count() == 0,
            };
            let keys: Vec<Key> = kept.iter().filter(|(_, kept)| is_gone(kept)).map(|(key, _)| *key).collect();
            keys.iter().filter_map(|key| kept.pop(key)).collect()
        };
        drop(gone);
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asker<'_> {
    fn goes_on(&self) -> Result<(), Error> {
        if (self.cancelled)() { Err(Error::KernelStopped(Status::Cancelled)) } else { Ok(()) }
    }
}

impl Key {
    fn of(array: &Buffer) -> Key {
        Key::Input(array.as_ptr().addr(), array.len())
    }
}

#[cfg(test)]
mod tests;
