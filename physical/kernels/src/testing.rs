//! Support for tests of this and other crates.

pub mod case;
pub mod sanitized;
