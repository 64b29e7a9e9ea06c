//! Benchmarks of redpoll.
//!
//! The binary `redpoll-bench` is the harness, which compares redpoll with other engines. The other
//! binaries print tables:
//!
//! - `ratios`: kernels next to hand-written loops
//! - `by_hand`: the optimizing tier next to hand-written C
//! - `tiers`: the optimizing tier next to the instant tier
//! - `threads`: workloads on one thread and on several
//! - `optimize`: the time of the optimizer, by the shape of a join
//! - `latency`: the phases from the text of a plan to its first result
//! - `ordered`: functions that depend on the order of values
//! - `mapped`: a matrix in a file, opened and multiplied
//! - `layouts`: the optimizer's choices next to all loop orders and several formats
//! - `calibrate`: the constants of the cost model
//! - `gpu`: kernels on a device
//! - `soak`: random cases for a given time
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
