//! Tests of lowering that need no kernels; the other tests of lowering are in the crate `devices`,
//! which runs lowered functions on every backend.

mod golden;
