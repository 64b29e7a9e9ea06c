//! The suite of kernels on a device: products of sparse matrices and tensors over uniform,
//! power-law and blocked data.
//!
//! `problems` generates the data from a seed. `measure` runs a problem on a device, checks the
//! result against the CPU, and reports times by the device's clock. `handover` writes data and
//! times for peers.

mod handover;
mod measure;
mod problems;

pub use handover::Handover;
pub use measure::{ProblemTimes, compare, measure, results};
pub use problems::{EntryDistribution, GpuData, KERNELS, KernelInput, KernelProblem, STRUCTURES};
