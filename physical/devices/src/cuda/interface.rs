//! The operations of a device: memory, copies, launches. The CUDA driver implements these
//! operations; in tests, the host implements them.

use super::launch::Argument;
use std::fmt;
use std::time::Duration;

/// An address in the memory of a device.
pub(crate) type Address = u64;

/// A block of device memory, freed on drop.
pub(crate) trait DeviceBlock: Send + Sync {
    /// Returns the address of the first byte, a multiple of 64.
    fn address(&self) -> Address;
}

/// The failure of an operation of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum DeviceFailure {
    /// The memory of the device is exhausted.
    OutOfMemory,
    /// A failure with the message of the driver.
    Driver(String),
}

/// A device.
pub(crate) trait DeviceInterface: Send + Sync {
    /// Returns the number of the device.
    fn ordinal(&self) -> u32;

    /// Allocates `bytes` uninitialized bytes; `bytes` must be at least 1.
    fn allocate(&self, bytes: usize) -> Result<Box<dyn DeviceBlock>, DeviceFailure>;

    /// Copies bytes from the host to an address.
    fn upload(&self, bytes: &[u8], to: Address) -> Result<(), DeviceFailure>;

    /// Copies bytes from an address to the host.
    fn download(&self, from: Address, to: &mut [u8]) -> Result<(), DeviceFailure>;

    /// Copies `bytes` bytes from one address to another; the ranges do not overlap.
    fn copy(&self, from: Address, to: Address, bytes: usize) -> Result<(), DeviceFailure>;

    /// Sets the `bytes` bytes that begin at address `at` to the value `byte`.
    fn set(&self, at: Address, bytes: usize, byte: u8) -> Result<(), DeviceFailure>;

    /// Runs the kernel of `stitch.cu` with the argument `stitch`, and waits until the kernel ends.
    /// The argument refers to a table of moves, each of which copies elements; `moves` is the
    /// number of moves.
    fn stitch(&self, stitch: &Argument, moves: usize) -> Result<(), DeviceFailure>;
}

/// A compiled kernel of a device.
pub(crate) trait DeviceKernel: Send + Sync {
    /// Runs the kernel on at least as many teams as `shape` has, and waits until the kernel ends.
    /// Once `cancelled` returns `true`, the cancellation word of the argument is set. Returns the
    /// time between two events of the device, recorded before and after the kernel.
    fn launch(
        &self,
        argument: &Argument,
        shape: LaunchShape,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Duration, DeviceFailure>;
}

/// The shape of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaunchShape {
    /// Number of lanes of a team.
    pub(crate) lanes: u32,
    /// Number of teams.
    pub(crate) teams: usize,
    /// Bytes of block memory for each team.
    pub(crate) share: usize,
}

impl fmt::Display for DeviceFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceFailure::OutOfMemory => f.write_str("the memory of the device is exhausted"),
            DeviceFailure::Driver(message) => f.write_str(message),
        }
    }
}
