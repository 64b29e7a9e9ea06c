//! Measures the constants of the optimizer's cost model.
//!
//! The model is linear: the cost of a plan is the sum over all kinds of events of their number,
//! counted by the optimizer, times a constant. `plans` has small plans with events of few kinds
//! each. Their times and events are the rows of a system of equations. `fit` solves the system by
//! least squares of relative errors, with non-negative constants.

pub mod fit;
pub mod plans;
