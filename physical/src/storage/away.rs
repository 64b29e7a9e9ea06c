//! Arrays whose bytes are in the memory of a device, until somebody looks at them.
//!
//! What a kernel on a device leaves stays there: a later kernel on the same device reads it where it is, and its bytes come
//! here at most once, when they are first asked for. They are charged to the memory limit from the start, as if they were
//! here, so looking at them fails only with the device.

use crate::Error;
use crate::assembly::Status;
use crate::run::{Account, MemoryBudget};
use arrow::buffer::{Buffer, MutableBuffer};
use bytes::Bytes;
use std::any::Any;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Bytes in another memory.
pub(crate) trait Remote: Any + Debug + Send + Sync {
    /// How many.
    fn bytes(&self) -> usize;

    /// Copies all of them to a place of that size.
    ///
    /// # Errors
    /// What the device says.
    fn fetch(&self, to: &mut [u8]) -> Result<(), Error>;

    /// Gives the other memory back, once the bytes are here.
    fn forget(&self);
}

/// The bytes of an array that were left in another memory.
#[derive(Debug)]
pub(crate) struct Away {
    there: Box<dyn Remote>,
    here: OnceLock<Buffer>,
    /// Held while the bytes are fetched.
    fetching: Mutex<()>,
    charge: Arc<Charge>,
}

/// Bytes that are charged to a budget.
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

/// Bytes that were fetched, charged for as long as anybody has them.
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
    /// Bytes in another memory, charged to a budget.
    ///
    /// # Errors
    /// [`Error::KernelStopped`] when the budget does not have them.
    pub(crate) fn new(there: Box<dyn Remote>, budget: &Arc<MemoryBudget>) -> Result<Arc<Away>, Error> {
        let bytes = there.bytes();
        if !budget.charge(bytes) {
            return Err(Error::KernelStopped(Status::OutOfMemory));
        }
        let charge = Arc::new(Charge { bytes, budget: budget.clone() });
        Ok(Arc::new(Away { there, here: OnceLock::new(), fetching: Mutex::new(()), charge }))
    }

    /// The other memory.
    pub(crate) fn there(&self) -> &dyn Remote {
        &*self.there
    }

    /// How many bytes there are.
    pub(crate) fn bytes(&self) -> usize {
        self.charge.bytes
    }

    /// Whether the bytes are here.
    pub(crate) fn is_here(&self) -> bool {
        self.here.get().is_some()
    }

    /// The bytes, which are fetched by who asks first.
    ///
    /// # Errors
    /// What the device says.
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

    /// Fetches the bytes, and gives the other memory back.
    ///
    /// # Errors
    /// What the device says.
    pub(crate) fn come_home(&self) -> Result<(), Error> {
        self.fetch()?;
        self.there.forget();
        Ok(())
    }
}
