//! The memory of a device under a limit: arrays of inputs, which are put there once, and what kernels have left.
//!
//! An array of an input stays for as long as somebody has it, and what a kernel has left for as long as its tensor lives. When
//! something does not fit, what was not asked for longest leaves first: copies of inputs are dropped, results come home. What
//! a launch is using cannot leave.

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

/// Bytes that go to a device or come from it in one piece: between two pieces cancellation is heard, and what a driver copies
/// through memory of its own is no more than this.
pub(crate) const PIECE: usize = 32 << 20;

/// The bytes of elements that are all the same that go to a device; it makes all others of them.
const FIRST: usize = 64 << 10;

/// What poisoned memory holds: numbers larger than any that tests compute, and positions that no array has.
pub(crate) const POISON: u8 = 0x7f;

/// The memory of a device.
pub(crate) struct DeviceMemory {
    machine: Arc<dyn Machine>,
    /// The bytes that may be in use at one time.
    limit: usize,
    /// Whether new memory is filled with [`POISON`].
    poisons: AtomicBool,
    state: Mutex<State>,
}

struct State {
    /// The bytes that are in use.
    used: usize,
    kept: LruCache<Key, Kept>,
    /// The number of the next result.
    next: u64,
}

/// What is kept: an array by where it begins and how long it is (it does not move, and its bytes do not change as long as
/// somebody has it, which is the case for those that are kept), or a result by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Input(usize, usize),
    Result(u64),
}

enum Kept {
    Input { array: Buffer, held: Arc<Held> },
    Result(Weak<Away>),
}

/// Memory of a device that counts against its limit.
pub(crate) struct Held {
    block: Box<dyn Block>,
    bytes: usize,
    memory: Arc<DeviceMemory>,
}

impl Held {
    /// Where it begins.
    pub(crate) fn address(&self) -> Address {
        self.block.address()
    }

    /// How many bytes it has.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.memory.locked().used -= self.bytes;
    }
}

/// Who asks for memory: the name of a kernel, for errors, the bytes that may be in use for it, and whether it is to stop.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) kernel: &'a str,
    pub(crate) limit: usize,
    pub(crate) cancelled: &'a dyn Fn() -> bool,
}

/// What a kernel has left.
struct Resident {
    memory: Arc<DeviceMemory>,
    held: Mutex<Option<Arc<Held>>>,
    /// Where it begins in what is held.
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
    /// The memory of a device, of which so many bytes may be in use.
    pub(crate) fn of(machine: Arc<dyn Machine>, limit: usize) -> Arc<DeviceMemory> {
        let state = State { used: 0, kept: LruCache::unbounded(), next: 0 };
        Arc::new(DeviceMemory { machine, limit, poisons: AtomicBool::new(false), state: Mutex::new(state) })
    }

    /// From now on new memory holds [`POISON`], or anything.
    pub(crate) fn poison(&self, poisons: bool) {
        self.poisons.store(poisons, Ordering::Relaxed);
    }

    /// The device.
    pub(crate) fn machine(&self) -> &dyn Machine {
        &*self.machine
    }

    /// The bytes that windows may take: all but what cannot leave.
    pub(crate) fn room(&self, limit: usize) -> usize {
        let state = self.locked();
        let leaves = |kept: &Kept| match kept {
            Kept::Input { held, .. } => held.bytes,
            Kept::Result(away) => away.upgrade().map_or(0, |away| away.bytes()),
        };
        let may_leave: usize = state.kept.iter().map(|(_, kept)| leaves(kept)).sum();
        self.limit.min(limit).saturating_sub(state.used.saturating_sub(may_leave))
    }

    /// What a device says, as an error of a kernel.
    pub(crate) fn error(&self, kernel: &str, trouble: &Trouble) -> Error {
        Error::Device { ordinal: self.machine.ordinal(), kernel: kernel.to_owned(), message: trouble.to_string() }
    }

    /// Memory of so many bytes.
    ///
    /// # Errors
    /// [`Error::DeviceMemory`] when they are not left once all has gone that may; [`Error::Device`] with the words of the
    /// driver.
    pub(crate) fn allocate(self: &Arc<Self>, bytes: usize, asker: Asker<'_>) -> Result<Arc<Held>, Error> {
        // There is no memory of no bytes.
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

    /// The same memory, poisoned where that is asked for.
    fn poisoned(&self, held: Held, asker: Asker<'_>) -> Result<Arc<Held>, Error> {
        if self.poisons.load(Ordering::Relaxed) {
            self.repeat(&held, &[POISON], asker)?;
        }
        Ok(Arc::new(held))
    }

    /// Fills memory with an element of 1, 2, 4 or 8 bytes again and again. Where these differ, what is there is copied behind
    /// itself, so that only the first elements take the way from the host.
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

    /// Memory of elements of 1, 2, 4 or 8 bytes, each with the low bytes of a fill.
    ///
    /// # Errors
    /// As [`DeviceMemory::allocate`]; [`Error::KernelStopped`] when it is cancelled.
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
    /// [`Error::Device`] with the words of the driver; [`Error::KernelStopped`] when it is cancelled.
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
    /// As [`DeviceMemory::put`].
    pub(crate) fn take(&self, from: Address, to: &mut [u8], asker: Asker<'_>) -> Result<(), Error> {
        for (piece, from) in to.chunks_mut(PIECE).zip((from..).step_by(PIECE)) {
            asker.goes_on()?;
            self.machine.download(from, piece).map_err(|trouble| self.error(asker.kernel, &trouble))?;
        }
        Ok(())
    }

    /// The memory of an array of an input, which is put there unless it is. Those that nobody else has leave.
    ///
    /// # Errors
    /// As [`DeviceMemory::allocate`] and [`DeviceMemory::put`].
    pub(crate) fn input(self: &Arc<Self>, array: &Buffer, asker: Asker<'_>) -> Result<Arc<Held>, Error> {
        let key = Key::of(array);
        if let Some(Kept::Input { held, .. }) = self.locked().kept.get(&key) {
            return Ok(held.clone());
        }
        self.forget_what_is_gone();
        let held = self.allocate(array.len(), asker)?;
        self.put(array, held.address(), asker)?;
        // Others may ask meanwhile; of two of one array the later one stays.
        let before = self.locked().kept.put(key, Kept::Input { array: array.clone(), held: held.clone() });
        drop(before);
        Ok(held)
    }

    /// Whether an array of an input is there.
    pub(crate) fn has(&self, array: &Buffer) -> bool {
        self.locked().kept.contains(&Key::of(array))
    }

    /// Bytes of a kernel that stay until somebody looks at them.
    ///
    /// # Errors
    /// As [`Away::new`].
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

    /// The memory with bytes that a kernel has left on this device, and where they begin; `None` where they have come home, or
    /// are on another one.
    pub(crate) fn resident(&self, away: &Away) -> Option<(Arc<Held>, Address)> {
        let there: &dyn Any = away.there();
        let resident = there.downcast_ref::<Resident>().filter(|r| std::ptr::eq(&*r.memory, self))?;
        let held = resident.held()?;
        self.locked().kept.promote(&Key::Result(resident.number));
        let address = held.address() + resident.offset as u64;
        Some((held, address))
    }

    /// Takes bytes from what may be in use, if they are left.
    fn reserve(&self, bytes: usize, limit: usize) -> bool {
        let mut state = self.locked();
        let total = state.used.checked_add(bytes).filter(|total| *total <= limit);
        state.used = total.unwrap_or(state.used);
        total.is_some()
    }

    /// Lets what was not asked for longest leave; `false` when nothing is kept.
    fn make_room(&self) -> Result<bool, Error> {
        // What is dropped gives its bytes back, which takes the lock.
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

    /// Drops arrays that nobody else has, and results whose tensors are gone.
    fn forget_what_is_gone(&self) {
        let gone: Vec<Kept> = {
            let kept = &mut self.locked().kept;
            // Arrays may be parts of one allocation.
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
