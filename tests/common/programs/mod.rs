//! Random programs for all engines: drawing, running, coverage, and shrinking of failures.

mod check;
mod cover;
pub mod draw;
mod shrink;

pub use check::{Checked, Outcome, run};
pub use cover::{cover, expected};
pub use draw::{Case, Config, Refusal, Tensor, random_case, redraw_formats};
pub use shrink::smallest_failure;
