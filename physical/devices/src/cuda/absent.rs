//! Devices of a build without the feature `cuda`: there are none.

use crate::Error;
use crate::grid::{Grid, GridRunner};
use redpoll_storage::Tensor;
use std::sync::Arc;

/// The CUDA device of a build without the feature `cuda`: a type without values.
pub enum Cuda {}

impl Cuda {
    /// Returns [`Error::NoDevice`].
    ///
    /// # Errors
    /// Always.
    pub fn open(ordinal: u32) -> Result<Arc<Cuda>, Error> {
        Err(Error::NoDevice { ordinal, reason: "this build lacks the feature `cuda`".into() })
    }

    /// Turns on or off the poisoning of new memory.
    pub fn set_poison(&self, _: bool) {
        match *self {}
    }

    /// Returns the total number of bytes of those arrays of the tensors that are not in the memory
    /// of this device.
    pub fn missing_bytes(&self, _: &[&Tensor]) -> u64 {
        match *self {}
    }

    /// Compiles grids as one unit; returns their runners.
    pub(crate) fn runners(self: &Arc<Cuda>, _: &[&Grid]) -> Result<Vec<Box<dyn GridRunner>>, Error> {
        match **self {}
    }
}
