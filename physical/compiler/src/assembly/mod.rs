//! Assembly: typed imperative code on buffers, the last language before machine code.
//!
//! A [`Function`] works on numbered buffers and locals. Expressions are pure and total except for
//! loads out of bounds, which the interpreter reports and lowering must not produce. Index
//! arithmetic is `i64`; the width of an index array exists only in its [`BufferDecl`]. The
//! operators are those of a machine ([`UnaryOp`], [`BinaryOp`], [`CompareOp`], casts and
//! [`MathFn`]). Lowering expands richer operators, so that code generators decide nothing.

mod buffers;
pub mod build;
pub mod eval;
mod extension;
mod interp;
mod math;
mod nodes;
mod resolved;
mod signature;
pub mod text;
mod typing;
mod vec_buffers;
mod verify;
mod visit;

pub use buffers::Buffers;
pub use extension::{Extension, Serial};
pub use interp::{Counts, InterpFault, Interpreter, interpret};
pub use math::MathImpl;
pub use nodes::*;
pub use redpoll_storage::Status;
pub use resolved::{ExprMemory, ResolvedExpr};
pub use signature::Signature;
pub use vec_buffers::VecBuffers;
pub use verify::{RuleViolation, verify};
