//! The experiment on layouts: compares the optimizer's choice with every loop order and several
//! formats of the output.
//!
//! A group is a workload over inputs stored in given formats. Its candidates are all plans that the
//! optimizer makes for a fixed loop order and output format, including conversions of inputs. The
//! free choice is the plan that the optimizer makes without fixed choices. `problems` has the
//! workloads, `candidates` the fixed choices, `measure` the times, `watch` the time limits, and
//! `summary` the conclusions.

pub mod candidates;
pub mod measure;
pub mod problems;
pub mod summary;
pub mod watch;
