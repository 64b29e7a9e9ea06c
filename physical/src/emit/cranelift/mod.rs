//! The instant tier: Assembly to machine code in this process, with Cranelift.
//!
//! - Base addresses of buffers are read once on entry; those of buffers that the function grows are read in front of each
//!   innermost loop, and again only behind a call of `grow`, which stands in a cold block. They live no longer than that, so
//!   that the allocator of registers need not decide between loops.
//! - Loops are rotated: a guard, then a body with the test at its bottom.
//! - What would wait for an unpredictable branch is selected where that is cheap (`stmt`), loads that a loop repeats are
//!   done in front of it (`hoist`), and loops over neighbouring elements run on vectors (`maps`, `lanes`).
//! - Every buffer is an alias region of its own, so a store to one does not spoil loads of another.
//! - A long kernel whose runs are expected to be short is compiled with less effort (`effort`).
//! - No operation is contracted, reordered or approximated: results are those of the interpreter, bit for bit (with one
//!   NaN).

mod cast;
mod effort;
mod expr;
mod function;
mod hoist;
mod lanes;
mod maps;
mod module;
mod rounds;
mod stmt;
#[cfg(test)]
mod tests;
mod trampoline;

pub use effort::Effort;
pub use module::{clif, compile, compile_all, disassemble};
pub(super) use trampoline::address as trampoline;
