//! The choice of loop orders, and the work that they cost.

pub(crate) mod lines;
pub(crate) mod pricing;
pub(crate) mod search;
pub(crate) mod skew;
pub(crate) mod split;
mod stored;
pub(crate) mod windows;
pub(crate) mod writes;
