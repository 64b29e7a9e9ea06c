//! The names that most programs with arrays need: `use redpoll::prelude::*`.

#[cfg(feature = "files")]
pub use crate::FileScan;
pub use crate::logic::op::Builtin;
pub use crate::logic::{DType, Format, LevelKind, Prim, Scalar};
pub use crate::storage::Tensor;
pub use crate::{
    Array, Axes, Config, DuplicatePolicy, Error, Index, Overlap, Session, Side, SortOrder, Target, Value, index, wrt,
};
