//! Physical plans: the output of the optimizer, which engines run.
//!
//! A [`PhysicalPlan`] is a sequence of queries; a [`PhysicalQuery`] is one loop nest. All outputs
//! of a query share its loops: each iteration writes a value per output, or folds the value into
//! the stored value. Temporaries are scalars that inner loops compute as soon as the surrounding
//! loops have bound the indices on which these scalars depend. A residual `b - A x`, a row
//! normalization, or the sum, count and minimum of one pass is therefore a single query. A
//! temporary that starts further out accumulates across iterations, which expresses scans.

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
