//! Files mapped into memory, on systems where mapping is safe.

#[cfg(not(target_os = "linux"))]
mod absent;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use absent::{MappedFile, MappedRange};
#[cfg(target_os = "linux")]
pub use linux::{MappedFile, MappedRange};
