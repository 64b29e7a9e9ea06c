//! The operations of a device: memory, copies, launches. The driver of CUDA implements them, or the
//! host in tests.

use super::launch::Argument;
use std::fmt;
use std::time::Duration;

/// An address in the memory of a device.
pub(crate) type Address = u64;

/// A block of device memory, freed on drop.
pub(crate) trait Block: Send + Sync {
    /// Returns the address of the first byte, a multiple of 64.
    fn address(&self) -> Address;
}

/// The reason why a device failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// Out of memory.
    Full,
    /// A message of the driver.
    Said(String),
}

/// A device.
pub(crate) trait Machine: Send + Sync {
    /// Returns the number of the device.
    fn ordinal(&self) -> u32;

    /// Allocates `bytes` bytes, at least 1, which are uninitialized.
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Block>, Trouble>;

    /// Copies bytes from the host to an address.
    fn upload(&self, bytes: &[u8], to: Address) -> Result<(), Trouble>;

    /// Copies bytes from an address to the host.
    fn download(&self, from: Address, to: &mut [u8]) -> Result<(), Trouble>;

    /// Copies `bytes` bytes from one address to another; the ranges do not overlap.
    fn copy(&self, from: Address, to: Address, bytes: usize) -> Result<(), Trouble>;

    /// Sets `bytes` bytes from an address on.
    fn set(&self, at: Address, bytes: usize, byte: u8) -> Result<(), Trouble>;

    /// Runs the kernel of `stitch.cu`, which moves elements as its table of `moves` entries
    /// prescribes.
    fn stitch(&self, stitch: &Argument, moves: usize) -> Result<(), Trouble>;
}

/// A compiled kernel of a device.
pub(crate) trait Entry: Send + Sync {
    /// Runs the kernel by at least as many teams as `shape` has, and waits for its end. Once
    /// `cancelled` returns `true`, the cancellation word of the argument is set. Returns the time
    /// between two events of the device.
    fn launch(&self, argument: &Argument, shape: Shape, cancelled: &dyn Fn() -> bool) -> Result<Duration, Trouble>;
}

/// The shape of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// Number of lanes of a team.
    pub(crate) lanes: u32,
    /// Number of teams.
    pub(crate) teams: usize,
    /// Bytes that each team has of the memory of its block.
    pub(crate) share: usize,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Full => f.write_str("its memory is full"),
            Trouble::Said(words) => f.write_str(words),
        }
    }
}
