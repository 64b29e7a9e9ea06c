//! Random programs as cases of the engines: how they are drawn, how they run, what they cover, and how failures are shrunk.

mod check;
mod cover;
pub mod draw;
mod shrink;

pub use check::{Checked, Outcome, run};
pub use cover::{cover, expected};
pub use draw::{Case, Config, Refusal, Tensor, random_case, redraw_formats};
pub use shrink::smallest_failure;
