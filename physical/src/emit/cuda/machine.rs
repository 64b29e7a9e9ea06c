//! What a device is asked to do: memory, copies, launches. The driver of CUDA does it, or the host in tests.

use super::launch::Argument;
use std::fmt;
use std::time::Duration;

/// An address in the memory of a device.
pub(crate) type Address = u64;

/// Memory of a device, given back when it is dropped.
pub(crate) trait Block: Send + Sync {
    /// Where it begins: a multiple of 64.
    fn address(&self) -> Address;
}

/// Why a device did not do something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// It has no memory left.
    Full,
    /// The words of the driver.
    Said(String),
}

/// A device.
pub(crate) trait Machine: Send + Sync {
    /// Its number.
    fn ordinal(&self) -> u32;

    /// Memory of so many bytes, at least 1, that hold anything.
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Block>, Trouble>;

    /// Copies bytes to an address.
    fn upload(&self, bytes: &[u8], to: Address) -> Result<(), Trouble>;

    /// Copies bytes from an address.
    fn download(&self, from: Address, to: &mut [u8]) -> Result<(), Trouble>;

    /// Copies so many bytes from one address to another, where they do not overlap.
    fn copy(&self, from: Address, to: Address, bytes: usize) -> Result<(), Trouble>;

    /// Sets so many bytes from an address on.
    fn set(&self, at: Address, bytes: usize, byte: u8) -> Result<(), Trouble>;

    /// Moves elements of so many bytes from place to place, as `stitch.cu` says; the table of moves lies at an address.
    fn stitch(&self, stitch: &Argument, moves: usize) -> Result<(), Trouble>;
}

/// A compiled kernel of a device.
pub(crate) trait Entry: Send + Sync {
    /// Runs it by so many teams of lanes, or more, and waits for its end; where `cancelled` comes to say so meanwhile, the
    /// word of the argument that asks launches to end is set. Gives the time between two events of the device.
    fn launch(&self, argument: &Argument, shape: Shape, cancelled: &dyn Fn() -> bool) -> Result<Duration, Trouble>;
}

/// Who runs a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// The lanes of a team.
    pub(crate) lanes: u32,
    /// The teams.
    pub(crate) teams: usize,
    /// The bytes that each has of the memory of its block.
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
