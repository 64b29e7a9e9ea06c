//! Types and functions that several level kinds share.

pub(crate) mod blocks;
pub(crate) mod fibers;
pub(crate) mod list;
pub(crate) mod runs;
