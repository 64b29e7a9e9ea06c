//! Random programs for all engines: drawing, running, coverage, and shrinking of failures.

mod check;
mod cover;
pub mod draw;
mod shrink;

pub use check::{ProgramOutcome, ProgramReport, run};
pub use cover::{cover, expected};
pub use draw::{ProgramCase, ProgramConfig, ProgramTensor, Rejection, random_case, redraw_formats};
pub use shrink::smallest_failure;

/// Stack of a thread that runs random programs, in bytes: the code of a program can be deeply
/// nested.
pub const STACK: usize = 256 << 20;
