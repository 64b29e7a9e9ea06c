//! Code shared by the differential tests and the binary `soak` of `bench`: a seeded generator;
//! random data, plans, programs, arrays and SQL queries; runs in all backends and interpreters; and
//! the comparison of their results.
#![allow(missing_docs, reason = "the names of the fields describe them")]

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
