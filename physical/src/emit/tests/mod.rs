//! Every engine of Assembly against the interpreter: every operator on edge values, random
//! functions.

mod operators;
pub(super) mod random;
mod stop;
