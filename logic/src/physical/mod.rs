//! Physical plans: the output of the optimizer, which engines run.
//!
//! A [`PhysicalPlan`] is a sequence of queries; a [`PhysicalQuery`] is one loop nest. All outputs
//! of a query share its loops: each iteration writes a value per output, or folds the value into
//! the stored value. A temporary is a scalar that inner loops compute at a given depth of the
//! surrounding loops. At this depth, all indices on which the temporary depends are bound. So each
//! of these is a single query: a residual `b - A x`; the normalization of rows; the sum, count and
//! minimum of a tensor in one pass. A temporary whose fold starts at a smaller depth accumulates
//! across iterations, which expresses scans.

mod accesses;
mod conversion;
pub mod interp;
mod nodes;
mod read;
#[cfg(test)]
mod read_tests;
mod text;
pub mod verify;
#[cfg(test)]
mod verify_tests;

pub use crate::affine::Subscript;
pub use crate::text::format::FormatDisplay;
pub use nodes::*;
pub use read::parse;
