//! Tests of lowering that need no kernels. Some parts of lowering have tests beside their code; the
//! other tests are in the crate `devices`, which runs lowered functions on every backend.

mod golden;
