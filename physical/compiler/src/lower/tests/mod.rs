//! Tests of lowering that need no kernels; the others are in the crate `devices`, which runs its
//! functions on every backend.

mod golden;
