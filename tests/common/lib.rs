//! What the differential tests share: a seeded generator, random data, the engines, and their comparison. It is a crate, so
//! that the tests of the workspace and the soak of `bench` are one code.
#![allow(missing_docs, reason = "the fields of cases and reports say what they hold by their names")]

pub mod arrays;
pub mod counted;
pub mod data;
pub mod device;
pub mod engines;
pub mod formats;
pub mod optimizing;
pub mod program;
pub mod programs;
pub mod random;
pub mod rng;
#[cfg(feature = "sql")]
pub mod sql;
