//! Tests of lowering that need no kernels. Some parts of lowering have tests beside their code. The
//! tests of the expansion of operators are in the crate `kernels`. The other tests are in the crate
//! `devices`, which runs lowered functions on every backend.

mod golden;
