//! Measures the constants of the optimizer's cost model.
//!
//! The model is linear: the cost of a plan is the sum of numbers of events, which the optimizer counts, times a constant for
//! each kind. `plans` has small plans that are made of few kinds of events each; their times and events are rows of a system
//! of equations, which `fit` solves by least squares of relative errors with no constant below zero.

pub mod fit;
pub mod plans;
