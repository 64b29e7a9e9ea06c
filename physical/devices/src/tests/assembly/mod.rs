//! Comparison of every backend of Assembly with the interpreter, on every operator at edge values
//! and on random functions.

mod backends;
mod instant;
mod operators;
pub(crate) mod random;
mod stop;
