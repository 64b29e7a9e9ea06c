//! Device memory under a limit: arrays of inputs, which are uploaded once, and results of kernels.
//!
//! Unless evicted, the copy of an input stays on the device until the first upload after the host
//! has dropped the array, and a result stays as long as its tensor lives. If an allocation does not
//! fit, the least recently used entries are evicted: copies of inputs are dropped, and results are
//! fetched to the host. Memory that a launch uses is freed only after the launch.

use super::interface::{Address, DeviceBlock, DeviceFailure, DeviceInterface};
use crate::Error;
use arrow_buffer::Buffer;
use lru::LruCache;
use redpoll_compiler::assembly::Status;
use redpoll_kernels::Error as KernelError;
use redpoll_storage::{DeviceBuffer, DeviceBytes, MemoryBudget};
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Bytes copied to or from a device at a time. Cancellation is checked between two pieces, and the
/// driver's own staging memory for a copy is no larger than a piece.
pub(crate) const TRANSFER_BYTES: usize = 32 << 20;

/// Maximum number of bytes of repeated elements that are uploaded to fill memory; the device copies
/// these elements to the remaining memory.
const SEED_BYTES: usize = 64 << 10;

/// The byte in poisoned memory. Numbers of 32 and 64 bits made of such bytes are larger than all
/// numbers that tests compute, and positions made of such bytes are beyond any array.
pub(crate) const POISON: u8 = 0x7f;

/// The memory of a device, under a limit of bytes in use.
pub(crate) struct DevicePool {
    device: Arc<dyn DeviceInterface>,
    /// Bytes that may be in use at one time.
    limit: usize,
    /// True if new memory is filled with [`POISON`].
    is_poisoning: AtomicBool,
    state: Mutex<PoolState>,
}

struct PoolState {
    /// Bytes in use.
    used: usize,
    entries: LruCache<EntryKey, EvictableEntry>,
    /// The number of the last result; 0 before the first result.
    last_result: u64,
}

/// The key of an entry: the address and length of an array, or the number of a result. An array
/// in an entry does not move, and its bytes do not change.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum EntryKey {
    Input(usize, usize),
    Result(u64),
}

/// Memory that can be evicted: the copy of an input, or a result.
enum EvictableEntry {
    Input { array: Buffer, allocation: Arc<DeviceAllocation> },
    Result(Weak<DeviceBytes>),
}

/// Device memory that counts against the limit.
pub(crate) struct DeviceAllocation {
    block: Box<dyn DeviceBlock>,
    bytes: usize,
    pool: Arc<DevicePool>,
}

impl DeviceAllocation {
    /// Returns the address of the first byte.
    pub(crate) fn address(&self) -> Address {
        self.block.address()
    }

    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for DeviceAllocation {
    fn drop(&mut self) {
        self.pool.locked().used -= self.bytes;
    }
}

/// The requester of memory: the name of its kernel, for errors; a limit of bytes in use on the
/// device; and whether the requester is cancelled.
#[derive(Clone, Copy)]
pub(crate) struct Requester<'a> {
    pub(crate) kernel: &'a str,
    pub(crate) limit: usize,
    pub(crate) cancelled: &'a dyn Fn() -> bool,
}

/// A result of a kernel.
struct DeviceResult {
    pool: Arc<DevicePool>,
    allocation: Mutex<Option<Arc<DeviceAllocation>>>,
    /// Offset in bytes of the result in its allocation.
    offset: usize,
    bytes: usize,
    number: u64,
    kernel: String,
}

impl DeviceResult {
    fn allocation(&self) -> Option<Arc<DeviceAllocation>> {
        self.allocation.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for DeviceResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of kernel `{}` on CUDA device {}", self.bytes, self.kernel, self.pool.device.ordinal())
    }
}

impl DeviceBuffer for DeviceResult {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn fetch(&self, to: &mut [u8]) -> Result<(), redpoll_storage::Error> {
        let allocation = self.allocation().expect("a result is fetched before it is freed");
        let requester = Requester { kernel: &self.kernel, limit: usize::MAX, cancelled: &|| false };
        Ok(self.pool.download(allocation.address() + self.offset as u64, to, requester)?)
    }

    fn free(&self) {
        let allocation = self.allocation.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(allocation);
    }
}

impl DevicePool {
    /// Creates the memory of a device with a limit for the bytes in use.
    pub(crate) fn of(device: Arc<dyn DeviceInterface>, limit: usize) -> Arc<DevicePool> {
        let state = PoolState { used: 0, entries: LruCache::unbounded(), last_result: 0 };
        Arc::new(DevicePool { device, limit, is_poisoning: AtomicBool::new(false), state: Mutex::new(state) })
    }

    /// Turns on or off the filling of new memory with [`POISON`].
    pub(crate) fn set_poison(&self, enabled: bool) {
        self.is_poisoning.store(enabled, Ordering::Relaxed);
    }

    /// Returns the device.
    pub(crate) fn device(&self) -> &dyn DeviceInterface {
        &*self.device
    }

    /// Returns the number of bytes available to windows under `limit` and the limit of the device.
    /// Copies of inputs and results count as available memory, because they can be evicted.
    pub(crate) fn available(&self, limit: usize) -> usize {
        let state = self.locked();
        let bytes = |entry: &EvictableEntry| match entry {
            EvictableEntry::Input { allocation, .. } => allocation.bytes,
            EvictableEntry::Result(result) => result.upgrade().map_or(0, |bytes| bytes.bytes()),
        };
        let evictable: usize = state.entries.iter().map(|(_, entry)| bytes(entry)).sum();
        self.limit.min(limit).saturating_sub(state.used.saturating_sub(evictable))
    }

    /// Converts a failure of the device to an error of a kernel.
    pub(crate) fn error(&self, kernel: &str, failure: &DeviceFailure) -> Error {
        Error::Device { ordinal: self.device.ordinal(), kernel: kernel.to_owned(), message: failure.to_string() }
    }

    /// Allocates memory.
    ///
    /// # Errors
    /// [`Error::DeviceMemory`] if the memory is not available even after all evictions;
    /// [`Error::Device`] with the message of the driver; the error of moving a result to the host.
    pub(crate) fn allocate(
        self: &Arc<Self>,
        bytes: usize,
        requester: Requester<'_>,
    ) -> Result<Arc<DeviceAllocation>, Error> {
        // The driver cannot allocate zero bytes.
        let bytes = bytes.max(1);
        let limit = self.limit.min(requester.limit);
        loop {
            if self.reserve(bytes, limit) {
                match self.device.allocate(bytes) {
                    Ok(block) => {
                        return self.with_poison(DeviceAllocation { block, bytes, pool: self.clone() }, requester);
                    }
                    Err(failure) => {
                        self.locked().used -= bytes;
                        if failure != DeviceFailure::OutOfMemory {
                            return Err(self.error(requester.kernel, &failure));
                        }
                    }
                }
            }
            if !self.evict_one()? {
                let (ordinal, kernel) = (self.device.ordinal(), requester.kernel.to_owned());
                return Err(Error::DeviceMemory { ordinal, kernel, requested: bytes, used: self.locked().used, limit });
            }
        }
    }

    /// Fills new memory with [`POISON`] if poisoning is turned on.
    fn with_poison(
        &self,
        allocation: DeviceAllocation,
        requester: Requester<'_>,
    ) -> Result<Arc<DeviceAllocation>, Error> {
        if self.is_poisoning.load(Ordering::Relaxed) {
            self.fill(&allocation, &[POISON], requester)?;
        }
        Ok(Arc::new(allocation))
    }

    /// Fills memory with repetitions of an element of 1, 2, 4 or 8 bytes. If the bytes of the
    /// element differ, only the first elements are uploaded, and the device copies them to the
    /// remaining memory.
    fn fill(&self, allocation: &DeviceAllocation, element: &[u8], requester: Requester<'_>) -> Result<(), Error> {
        let failure = |failure: DeviceFailure| self.error(requester.kernel, &failure);
        if element.iter().all(|byte| *byte == element[0]) {
            return self.device.set(allocation.address(), allocation.bytes, element[0]).map_err(failure);
        }
        let first: Vec<u8> = element.iter().copied().cycle().take(allocation.bytes.min(SEED_BYTES)).collect();
        self.upload(&first, allocation.address(), requester)?;
        let mut filled = first.len();
        while filled < allocation.bytes {
            requester.check_cancelled()?;
            let bytes = filled.min(allocation.bytes - filled);
            self.device.copy(allocation.address(), allocation.address() + filled as u64, bytes).map_err(failure)?;
            filled += bytes;
        }
        Ok(())
    }

    /// Allocates elements of 1, 2, 4 or 8 bytes, each set to the low bytes of a fill value.
    ///
    /// # Errors
    /// The errors of [`DevicePool::allocate`]; [`KernelError::KernelStopped`] if the requester is
    /// cancelled.
    pub(crate) fn allocate_filled(
        self: &Arc<Self>,
        (elements, size): (usize, usize),
        fill: u64,
        requester: Requester<'_>,
    ) -> Result<Arc<DeviceAllocation>, Error> {
        let allocation = self.allocate(elements.saturating_mul(size), requester)?;
        self.fill(&allocation, &fill.to_le_bytes()[..size], requester)?;
        Ok(allocation)
    }

    /// Copies bytes to an address, piece by piece.
    ///
    /// # Errors
    /// [`Error::Device`] with the message of the driver; [`KernelError::KernelStopped`] if the
    /// requester is cancelled.
    pub(crate) fn upload(&self, bytes: &[u8], to: Address, requester: Requester<'_>) -> Result<(), Error> {
        for (piece, to) in bytes.chunks(TRANSFER_BYTES).zip((to..).step_by(TRANSFER_BYTES)) {
            requester.check_cancelled()?;
            self.device.upload(piece, to).map_err(|failure| self.error(requester.kernel, &failure))?;
        }
        Ok(())
    }

    /// Copies bytes from an address, piece by piece.
    ///
    /// # Errors
    /// The errors of [`DevicePool::upload`].
    pub(crate) fn download(&self, from: Address, to: &mut [u8], requester: Requester<'_>) -> Result<(), Error> {
        for (piece, from) in to.chunks_mut(TRANSFER_BYTES).zip((from..).step_by(TRANSFER_BYTES)) {
            requester.check_cancelled()?;
            self.device.download(from, piece).map_err(|failure| self.error(requester.kernel, &failure))?;
        }
        Ok(())
    }

    /// Returns the memory of an array of an input, after uploading it if necessary. Before an
    /// upload, copies of arrays that the host has dropped are freed.
    ///
    /// # Errors
    /// The errors of [`DevicePool::allocate`] and [`DevicePool::upload`].
    pub(crate) fn input(
        self: &Arc<Self>,
        array: &Buffer,
        requester: Requester<'_>,
    ) -> Result<Arc<DeviceAllocation>, Error> {
        let key = EntryKey::of(array);
        if let Some(EvictableEntry::Input { allocation, .. }) = self.locked().entries.get(&key) {
            return Ok(allocation.clone());
        }
        self.drop_stale_entries();
        let allocation = self.allocate(array.len(), requester)?;
        self.upload(array, allocation.address(), requester)?;
        // Another thread may have uploaded the array meanwhile; the later copy stays.
        let replaced = self
            .locked()
            .entries
            .put(key, EvictableEntry::Input { array: array.clone(), allocation: allocation.clone() });
        drop(replaced);
        Ok(allocation)
    }

    /// Returns whether the device has an array of an input.
    pub(crate) fn has_input(&self, array: &Buffer) -> bool {
        self.locked().entries.contains(&EntryKey::of(array))
    }

    /// Registers a result, which stays on the device until it is dropped or evicted to the host.
    ///
    /// # Errors
    /// The errors of [`DeviceBytes::new`].
    pub(crate) fn register_result(
        self: &Arc<Self>,
        allocation: &Arc<DeviceAllocation>,
        (offset, bytes): (usize, usize),
        (kernel, budget): (&str, &Arc<MemoryBudget>),
    ) -> Result<Arc<DeviceBytes>, Error> {
        let number = {
            let mut state = self.locked();
            state.last_result += 1;
            state.last_result
        };
        let allocation = Mutex::new(Some(allocation.clone()));
        let resident =
            DeviceResult { pool: self.clone(), allocation, offset, bytes, number, kernel: kernel.to_owned() };
        let bytes = DeviceBytes::new(Box::new(resident), budget)?;
        self.locked().entries.put(EntryKey::Result(number), EvictableEntry::Result(Arc::downgrade(&bytes)));
        Ok(bytes)
    }

    /// Returns the memory and address of a result on this device; `None` if the result was evicted
    /// to the host or is on another device.
    pub(crate) fn resident(&self, bytes: &DeviceBytes) -> Option<(Arc<DeviceAllocation>, Address)> {
        let remote: &dyn Any = bytes.device_buffer();
        let resident = remote.downcast_ref::<DeviceResult>().filter(|r| std::ptr::eq(&*r.pool, self))?;
        let allocation = resident.allocation()?;
        self.locked().entries.promote(&EntryKey::Result(resident.number));
        let address = allocation.address() + resident.offset as u64;
        Some((allocation, address))
    }

    /// Reserves bytes of the limit; returns whether they were available.
    fn reserve(&self, bytes: usize, limit: usize) -> bool {
        let mut state = self.locked();
        let total = state.used.checked_add(bytes).filter(|total| *total <= limit);
        state.used = total.unwrap_or(state.used);
        total.is_some()
    }

    /// Evicts the least recently used entry; returns `false` if there is none.
    fn evict_one(&self) -> Result<bool, Error> {
        // The lock is released at the end of this statement, because dropping the entry takes the
        // lock again.
        let evicted = self.locked().entries.pop_lru();
        match evicted {
            None => return Ok(false),
            Some((_, EvictableEntry::Input { .. })) => {}
            Some((_, EvictableEntry::Result(result))) => {
                if let Some(bytes) = result.upgrade() {
                    bytes.move_to_host()?;
                }
            }
        }
        Ok(true)
    }

    /// Drops copies of arrays that the host has dropped, and results whose tensors are gone.
    fn drop_stale_entries(&self) {
        let stale: Vec<EvictableEntry> = {
            let entries = &mut self.locked().entries;
            // Several arrays may be slices of one allocation.
            let mut references: HashMap<_, usize> = HashMap::new();
            for (_, entry) in entries.iter() {
                if let EvictableEntry::Input { array, .. } = entry {
                    *references.entry(array.data_ptr()).or_default() += 1;
                }
            }
            let is_stale = |entry: &EvictableEntry| match entry {
                EvictableEntry::Input { array, .. } => array.strong_count() == references[&array.data_ptr()],
                EvictableEntry::Result(result) => result.strong_count() == 0,
            };
            let keys: Vec<EntryKey> =
                entries.iter().filter(|(_, entry)| is_stale(entry)).map(|(key, _)| *key).collect();
            keys.iter().filter_map(|key| entries.pop(key)).collect()
        };
        drop(stale);
    }

    fn locked(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Requester<'_> {
    fn check_cancelled(&self) -> Result<(), Error> {
        if (self.cancelled)() { Err(Error::Kernels(KernelError::KernelStopped(Status::Cancelled))) } else { Ok(()) }
    }
}

impl EntryKey {
    fn of(array: &Buffer) -> EntryKey {
        EntryKey::Input(array.as_ptr().addr(), array.len())
    }
}

#[cfg(test)]
mod tests;
