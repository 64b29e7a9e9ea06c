//! The driver: plans the nests of a plan one after the other, and keeps the facts, the plan so far
//! and the report together.
//!
//! [`queries`] runs over the nests, and [`query`] runs the passes for one nest. [`layout`] plans
//! the queries again in orders and formats that are chosen together. While a plan runs,
//! [`adaptive`] replans the queries that have not yet run.

mod adaptive;
mod layout;
mod planner;
mod queries;
mod query;
mod state;

pub use adaptive::{AdaptivePlan, WrittenTensor};

pub(crate) use layout::lay_out;
pub(crate) use planner::Planner;
pub(crate) use queries::{Rewrite, cheapest_plan, plan_queries};
