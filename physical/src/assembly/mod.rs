//! Assembly: typed imperative code on buffers, the last language before machine code.
//!
//! A [`Function`] works on numbered buffers and locals. Expressions are pure and total: the only thing that can go
//! wrong in one is a load out of bounds, which the interpreter catches and lowering must not produce. Index arithmetic
//! is `i64`; the width of an index array exists only in its [`BufferDecl`]. Operators here are those of a machine
//! ([`UnaryOp`], [`BinaryOp`], [`CompareOp`], casts and [`MathFn`]); richer operators are expanded when lowering, so
//! that code generators decide nothing.

mod nodes;

pub use nodes::*;
