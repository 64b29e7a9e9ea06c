//! Physical plans: the output of the optimizer, which engines run.
//!
//! A [`PhysicalPlan`] is a sequence of queries; a [`PhysicalQuery`] is one loop nest. All outputs
//! of a query share its loops: each iteration writes a value per output, or folds the value into
//! the stored value. A temporary is a scalar that inner loops compute at a given depth of the
//! surrounding loops, which have bound the indices on which the temporary depends. Therefore, a
//! residual `b - A x`, a row normalization, or the sum, count and minimum of one pass is a single
//! query. A temporary whose fold starts at a smaller depth accumulates across iterations, which
//! expresses scans.

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
