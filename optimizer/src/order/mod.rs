//! The choice of loop orders, with splits into blocks and loops along diagonals, and the work of
//! each choice.

pub(crate) mod lines;
pub(crate) mod pricing;
pub(crate) mod search;
pub(crate) mod skew;
pub(crate) mod split;
mod stored;
pub(crate) mod windows;
pub(crate) mod writes;
