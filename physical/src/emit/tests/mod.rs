//! Every engine of Assembly against the interpreter: every operator on edge values, random functions.

mod operators;
mod random;
mod stop;
