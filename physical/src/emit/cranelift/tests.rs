//! Machine code against the interpreter: golden kernels, every operator on edge values, random programs.

mod golden;
mod operators;
mod random;
