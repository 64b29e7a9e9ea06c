//! Benchmarks of redpoll: the harness that measures it beside other engines, its kernels beside hand-written loops of the
//! same algorithm over the same arrays, and the way from the text of a plan to its first answer.
//!
//! The binary `redpoll-bench` is the harness; `ratios` prints the table of kernels and loops by hand, `tiers` that of both
//! tiers, `latency` the phases of every program, `layouts` the optimizer's choices beside all others, `calibrate` the
//! constants of its cost model, `gpu` kernels on a device; the criterion benchmarks under `benches/` follow single kernels over time.

pub mod arrays;
pub mod calibration;
pub mod cases;
pub mod checks;
#[cfg(feature = "sql")]
pub mod claims;
pub mod data;
pub mod files;
pub mod gpu;
pub mod hand;
pub mod harness;
pub mod layouts;
pub mod machine;
pub mod npy;
pub mod ours;
pub mod pairs;
pub mod peers;
pub mod plans;
pub mod process;
pub mod protocol;
pub mod report;
pub mod results;
pub mod runnable;
pub mod runner;
pub mod statistics;
pub mod workload;
pub mod workloads;
