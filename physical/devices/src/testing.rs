//! Support for tests: an emulated device, for this and other crates, and functions whose windows
//! grow, for this crate.

pub mod device;
#[cfg(test)]
pub(crate) mod windows;
