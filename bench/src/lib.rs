//! Benchmarks of redpoll: its kernels beside hand-written loops of the same algorithm over the same arrays, and the way
//! from the text of a plan to its first answer.
//!
//! The binary `ratios` prints the table of interleaved pairs, `latency` the phases of every program; the criterion
//! benchmarks under `benches/` follow single kernels and phases over time.

pub mod arrays;
pub mod cases;
pub mod files;
pub mod hand;
pub mod machine;
pub mod pairs;
pub mod plans;
pub mod random;
pub mod runnable;
