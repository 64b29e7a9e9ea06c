//! The experiment on layouts: every order of loops and every format of the output beside what the optimizer chooses.
//!
//! A group is a workload over an input stored in one way. Its candidates are all plans that the optimizer makes when the
//! order of the loops and the format of the output are given, conversions of inputs included; the choice is the plan that
//! it makes freely. `problems` has the workloads, `candidates` what is given, `measure` the clock, `watch` ends what
//! takes too long, `summary` says what comes of it.

pub mod candidates;
pub mod measure;
pub mod problems;
pub mod summary;
pub mod watch;
