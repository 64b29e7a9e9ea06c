//! Finch-Logic: a language that says what to compute, over tables with named fields.
//!
//! This crate defines dtypes and [`Scalar`]s, [`Field`]s, operators and their properties ([`Op`]),
//! Logic expressions and plans, format descriptors ([`Format`]), and physical plans, the output of
//! the optimizer. It also contains the text forms, the verifiers and the interpreters of both kinds
//! of plans, the derivatives of Logic plans, and the interface for statistics of tensors. It does
//! no IO and has no unsafe code.

#![forbid(unsafe_code)]

mod affine;
mod congruent;
pub mod cursor;
pub mod dtype;
mod error;
pub mod expr;
mod field;
pub mod format;
mod format_check;
pub mod gradient;
pub mod interp;
mod level;
pub mod literal;
mod masks;
mod mode;
pub mod op;
pub mod physical;
mod plan;
mod scalar;
pub mod sexpr;
mod special;
pub mod statistics;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
pub mod text;
mod verify;

pub use affine::{Affine, Parameter, Subscript, is_ascending_mixed_radix};
pub use dtype::{DType, Prim, StructType};
pub use error::{Error, plural};
pub use expr::{ComputedFills, Expr, IndexMap, Info, LiftedConstant, LiftedPlan, Node};
pub use field::{Alias, Field};
pub use format::{Format, LeafKind, StorageMode, TensorType};
pub use format_check::FormatError;
pub use level::{LevelFormat, LevelKind, LevelTraits, Lookup, WalkStep, WriteMethod};
pub use masks::check_masks;
pub use mode::FloatMode;
pub use op::Op;
pub use plan::{Plan, Query};
pub use scalar::Scalar;
pub use special::Special;
pub use verify::verify;
