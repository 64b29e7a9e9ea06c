//! Comparison of the tiers and of grids with the interpreter of Assembly: on small kernels, on
//! every operator at edge values, and on random functions. `stop` tests that kernels end when they
//! are cancelled.

mod backends;
mod instant;
mod operators;
pub(crate) mod random;
mod stop;
