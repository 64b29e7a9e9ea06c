//! Measures the constants of the optimizer's cost model.
//!
//! The model is linear: the cost of a plan is a sum over the kinds of events. Each term is the
//! number of events of a kind, counted by the optimizer, times the constant of this kind. `plans`
//! has small plans with events of few kinds each. Their times and events are the rows of a system
//! of equations. `fit` finds the non-negative constants that minimize the squares of the logarithms
//! of predicted relative to measured times.

pub mod fit;
pub mod plans;
