//! Lazy arrays compared with plain `ndarray` arithmetic: operations with oracles, random operands,
//! and random programs.

mod choices;
mod computed;
pub mod draw;
pub mod functions;
pub mod indexing;
pub mod oracle;
pub mod products;
mod program;
pub mod reductions;
pub mod shapes;
mod shrink;

pub use choices::RecordedChoices;
pub use computed::{check_computed, evict_kept};
pub use program::{ArrayOutcome, ArrayReport, GROUPS, program_text, run};
pub use shrink::smallest_failure;

use draw::{DenseArray, OperandSource};
use redpoll::Array;

/// An operation: its name, and a function that draws operands and returns the lazy and the expected
/// result.
pub type Operation = (&'static str, fn(&mut OperandSource) -> (Array, DenseArray));
