//! The instant tier: Assembly to machine code in this process, with Cranelift.
//!
//! - The base address of a buffer that the function neither grows nor swaps is loaded once on
//!   entry. In innermost loops, other base addresses are loaded before the loop, and reloaded only
//!   after a swap or a call of `grow`. This call and the reload after it are in cold blocks.
//!   Elsewhere, other base addresses are loaded at each use. So their live ranges end with the
//!   innermost loop, and the register allocator need not weigh loops against each other.
//! - Loops are rotated: a guard, then a body with the test at its bottom.
//! - A conditional assignment of a cheap integer is a select and not a branch, which may be
//!   unpredictable (`stmt`). Loads that a loop repeats are hoisted (`hoist`). Loops over adjacent
//!   elements run on vectors (`maps`, `lanes`).
//! - Every buffer is an alias region of its own, so a store to one does not invalidate loads of
//!   another.
//! - A long kernel whose runs are expected to be short is compiled with less effort (`effort`).
//! - No operation is contracted, reordered or approximated: results are those of the interpreter,
//!   bit for bit, if all NaNs count as equal.

mod cast;
mod effort;
mod expr;
mod function;
mod hoist;
mod lanes;
mod maps;
mod module;
mod rounds;
mod shared;
mod stmt;
mod trampoline;

pub use effort::Effort;
pub use module::{clif, compile, compile_all, disassemble};
pub use shared::compile_shared;
pub(super) use trampoline::address as trampoline;
