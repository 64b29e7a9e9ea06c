//! Lazy arrays compared with plain `ndarray` arithmetic: operations with oracles, random operands,
//! and random programs.

mod choices;
pub mod draw;
pub mod functions;
pub mod indexing;
pub mod oracle;
pub mod products;
mod program;
pub mod reductions;
pub mod shapes;
mod shrink;

pub use choices::Choices;
pub use program::{Checked, GROUPS, Outcome, run, text};
pub use shrink::smallest_failure;

use draw::{Dense, Draw};
use redpoll::Array;

/// An operation: its name, and a function that draws operands and returns the lazy and the expected
/// result.
pub type Operation = (&'static str, fn(&mut Draw) -> (Array, Dense));
