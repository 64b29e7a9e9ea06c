//! Physical plans: what the optimizer hands to the engines.
//!
//! A [`PhysicalPlan`] is a sequence of queries; a [`PhysicalQuery`] is one loop nest. Its outputs share the loops: each
//! is a value written at every place of the loops, plainly or folded into what is there. Temporaries are scalars that
//! are computed by loops of their own where the loops outside have just bound their fields. So a residual `b - A x`, a
//! row normalisation, and sum, count and minimum of one pass are one query each. Temporaries that start further out go on
//! from round to round: scans.

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
pub use nodes::*;
pub use read::parse;
pub use text::FormatWords;
