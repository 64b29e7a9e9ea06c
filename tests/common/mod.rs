//! What the differential tests share: a seeded generator, random data, the engines, and their comparison.
#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod counted;
pub(crate) mod data;
pub(crate) mod device;
pub(crate) mod engines;
pub(crate) mod formats;
pub(crate) mod optimizing;
pub(crate) mod program;
pub(crate) mod random;
pub(crate) mod rng;
