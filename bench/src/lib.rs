//! Benchmarks of redpoll.
//!
//! The binary `redpoll-bench` is the harness, which compares redpoll with other engines. The other
//! binaries print tables:
//!
//! - `ratios`: kernels next to hand-written loops of the same algorithm over the same arrays
//! - `tiers`: the optimizing tier next to the instant tier
//! - `latency`: the phases from the text of a plan to its first result
//! - `layouts`: the optimizer's choices next to all others
//! - `calibrate`: the constants of the cost model
//! - `gpu`: kernels on a device
//!
//! The criterion benchmarks under `benches/` track single kernels over time.

pub mod arrays;
pub mod bound_kernel;
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
pub mod pairs;
pub mod peers;
pub mod plans;
pub mod process;
pub mod protocol;
pub mod redpoll_server;
pub mod report;
pub mod results;
pub mod runner;
#[cfg(feature = "sql")]
pub mod session;
pub mod statistics;
pub mod workload;
pub mod workloads;
