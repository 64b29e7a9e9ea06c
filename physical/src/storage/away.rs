//! Arrays whose bytes stay in the memory of a device until they are read.
//!
//! Results of a kernel on a device stay there: a later kernel on the same device reads them in
//! place. They are copied to the host at most once, when they are first read. The memory limit is
//! charged for them from the start, so reading fails only if the device does.

use crate::Error;
use crate::assembly::Status;
use crate::run::{Account, MemoryBudget};
use arrow::buffer::{Buffer, MutableBuffer};
use bytes::Bytes;
use std::any::Any;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Bytes in device memory.
pub(crate) trait Remote: Any + Debug + Send + Sync {
    /// Returns the number of bytes.
    fn bytes(&self) -> usize;

    /// Copies all bytes to `to`, which has that length.
    ///
    /// # Errors
    /// The error of the device.
    fn fetch(&self, to: &mut [u8]) -> Result<(), Error>;

    /// Frees the device memory, once the bytes are on the host.
    fn forget(&self);
}

/// The bytes of an array that were left in device memory.
#[derive(Debug)]
pub(crate) struct Away {
    there: Box<dyn Remote>,
    here: OnceLock<Buffer>,
    /// Locked while the bytes are fetched.
    fetching: Mutex<()>,
    charge: Arc<Charge>,
}

/// Bytes that are charged to a budget until dropped.
#[derive(Debug)]
struct Charge {
    bytes: usize,
    budget: Arc<MemoryBudget>,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.release(self.bytes);
    }
}

/// Fetched bytes, which stay charged as long as they are referenced.
struct Fetched {
    bytes: Buffer,
    _charge: Arc<Charge>,
}

impl AsRef<[u8]> for Fetched {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Away {
    /// Wraps bytes in device memory and charges them to a budget.
    ///
    /// # Errors
    /// [`Error::KernelStopped`] if the budget is exceeded.
    pub(crate) fn new(there: Box<dyn Remote>, budget: &Arc<MemoryBudget>) -> Result<Arc<Away>, Error> {
        let bytes = there.bytes();
        if !budget.charge(bytes) {
            return Err(Error::KernelStopped(Status::OutOfMemory));
        }
        let charge = Arc::new(Charge { bytes, budget: budget.clone() });
        Ok(Arc::new(Away { there, here: OnceLock::new(), fetching: Mutex::new(()), charge }))
    }

    /// Returns the device memory.
    pub(crate) fn there(&self) -> &dyn Remote {
        &*self.there
    }

    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.charge.bytes
    }

    /// Returns whether the bytes have been copied to the host.
    pub(crate) fn is_here(&self) -> bool {
        self.here.get().is_some()
    }

    /// Returns the bytes, which the first call fetches.
    ///
    /// # Errors
    /// The error of the device.
    pub(crate) fn fetch(&self) -> Result<&Buffer, Error> {
        if let Some(here) = self.here.get() {
            return Ok(here);
        }
        let _fetching = self.fetching.lock().unwrap_or_else(PoisonError::into_inner);
        if self.here.get().is_none() {
            let mut bytes = MutableBuffer::from_len_zeroed(self.bytes());
            self.there.fetch(bytes.as_slice_mut())?;
            let fetched = Fetched { bytes: bytes.into(), _charge: self.charge.clone() };
            let _ = self.here.set(Bytes::from_owner(fetched).into());
        }
        Ok(self.here.get().expect("it was set"))
    }

    /// Fetches the bytes and frees the device memory.
    ///
    /// # Errors
    /// The error of the device.
    pub(crate) fn come_home(&self) -> Result<(), Error> {
        self.fetch()?;
        self.there.forget();
        Ok(())
    }
}
