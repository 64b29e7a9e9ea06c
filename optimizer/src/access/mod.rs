//! The ways in which loops meet the levels of accesses.

pub(crate) mod fit;
pub(crate) mod intersection;
