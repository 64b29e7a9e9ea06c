//! Support for tests of other crates.

pub mod case;
pub mod sanitized;
