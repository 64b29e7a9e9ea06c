//! Measures the constants of the optimizer's cost model.
//!
//! The model is linear: the cost of a plan is a sum over the kinds of events. Each term is the
//! number of events of a kind, counted by the optimizer, times the constant of this kind. `plans`
//! has small plans with few kinds of events each. Each plan gives an equation between its numbers
//! of events and its measured time. `fit` finds the non-negative constants that minimize the sum of
//! the squares of `ln(predicted / measured)`.

pub mod fit;
pub mod plans;
