//! The suite of kernels on a device: products of sparse matrices and tensors over uniform, power-law and blocked data.
//!
//! `problems` makes the data anew from a seed, `measure` runs a problem on a device, checks it against the CPU, and tells its
//! time by the clock of the device, `handover` leaves data and times for peers.

mod handover;
mod measure;
mod problems;

pub use handover::Handover;
pub use measure::{Measured, compare, measure, results};
pub use problems::{Data, Input, KERNELS, Problem, SHAPES, Structure};
