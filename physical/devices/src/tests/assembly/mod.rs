//! Every backend of Assembly against the interpreter: every operator on edge values, random
//! functions.

mod backends;
mod instant;
mod operators;
pub(crate) mod random;
mod stop;
