//! The compiler of redpoll: from the loops of a query to code on arrays.
//!
//! A program goes through [`notation`] (its loops, checked and brought into normal form), [`lower`]
//! (looplets take the loops apart) and [`assembly`] (typed code on buffers). The crate has an
//! interpreter of Notation and one of Assembly; it neither reads nor writes files, and has no
//! unsafe code.

#![forbid(unsafe_code)]

pub mod assembly;
mod error;
pub mod lower;
pub mod notation;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;

pub use error::{Error, OutOfBounds};
