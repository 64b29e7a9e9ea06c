//! Arrays in the memory of a device, copied to the host when they are first read.
//!
//! Results of a kernel on a device stay there: a later kernel on the same device reads them in
//! place. Results are copied to the host at most once, when the host first reads them. The memory
//! limit is charged for results from the start, so reading fails only if the device fails.

use super::{MemoryBudget, Status};
use crate::Error;
use crate::memory::Charge;
use arrow_buffer::{Buffer, MutableBuffer};
use std::any::Any;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// An allocation in device memory.
pub trait DeviceBuffer: Any + Debug + Send + Sync {
    /// Returns the number of bytes.
    fn bytes(&self) -> usize;

    /// Copies all bytes to `to`, which has exactly this size.
    ///
    /// # Errors
    /// The error of the device.
    fn fetch(&self, to: &mut [u8]) -> Result<(), Error>;

    /// Frees the device memory. The caller has fetched the bytes, and does not fetch them again.
    fn free(&self);
}

/// The bytes of an array in device memory, copied to the host when they are first read.
#[derive(Debug)]
pub struct DeviceBytes {
    device: Box<dyn DeviceBuffer>,
    host: OnceLock<Buffer>,
    /// Locked while the bytes are fetched.
    fetching: Mutex<()>,
    charge: Arc<Charge>,
}

impl DeviceBytes {
    /// Wraps bytes in device memory and charges them to a budget.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the budget is exceeded.
    pub fn new(device: Box<dyn DeviceBuffer>, budget: &Arc<MemoryBudget>) -> Result<Arc<DeviceBytes>, Error> {
        let charge = Charge::new(device.bytes(), budget).ok_or(Error::Stopped(Status::OutOfMemory))?;
        Ok(Arc::new(DeviceBytes { device, host: OnceLock::new(), fetching: Mutex::new(()), charge }))
    }

    /// Returns the allocation on the device.
    pub fn device_buffer(&self) -> &dyn DeviceBuffer {
        &*self.device
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// Returns whether the bytes have been copied to the host.
    pub fn is_on_host(&self) -> bool {
        self.host.get().is_some()
    }

    /// Returns the bytes, which the first call fetches.
    ///
    /// # Errors
    /// The error of the device.
    pub fn fetch(&self) -> Result<&Buffer, Error> {
        if let Some(host) = self.host.get() {
            return Ok(host);
        }
        let _fetching = self.fetching.lock().unwrap_or_else(PoisonError::into_inner);
        if self.host.get().is_none() {
            let mut bytes = MutableBuffer::from_len_zeroed(self.bytes());
            self.device.fetch(bytes.as_slice_mut())?;
            let _ = self.host.set(self.charge.clone().attach_to(bytes.into()));
        }
        Ok(self.host.get().expect("the bytes were fetched"))
    }

    /// Fetches the bytes and frees the device memory.
    ///
    /// # Errors
    /// The error of the device.
    pub fn move_to_host(&self) -> Result<(), Error> {
        self.fetch()?;
        self.device.free();
        Ok(())
    }
}
