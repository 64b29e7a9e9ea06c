//! Support for tests of this and other crates: an emulated device.

pub mod device;
#[cfg(test)]
pub(crate) mod windows;
