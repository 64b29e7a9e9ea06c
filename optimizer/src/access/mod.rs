//! The fit of accesses to loop orders, and the protocols of loops over several lists.

pub(crate) mod fit;
pub(crate) mod intersection;
