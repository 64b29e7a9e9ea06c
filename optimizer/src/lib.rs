//! Optimizer: turns Logic plans into physical plans.
//!
//! [`optimize()`] rewrites the plan in an e-graph and then makes a physical plan.
//! [`optimize_plain`] makes a physical plan without rewriting.
//! [`optimize_adaptive`] makes a plan that can be replanned between two of its queries.
//!
//! `optimize.rs` lists the passes over the whole plan, `plan/query.rs` those over one nest, both in
//! order; the README of the crate says what each pass does.
//!
//! Each folder uses only the folders above it in this table, and `config`, `error` and `report`:
//!
//! | folder | contents |
//! |---|---|
//! | `work` | kinds of events, their prices, caches |
//! | `term` | nests and terms: the form between Logic and physical plans |
//! | `access` | fit of accesses to loop orders, protocols of loops over several lists |
//! | `facts` | knowledge about tensors: statistics and estimates |
//! | `output` | the storage of outputs |
//! | `normalize` | from Logic to nests |
//! | `order` | loop orders and their work |
//! | `algebra` | the e-graph of equal terms |
//! | `schedule` | folds as temporaries or stored results, copies of discordant tensors |
//! | `emit` | physical queries |
//! | `layout` | loop orders and formats of all queries, chosen together |
//! | `plan` | the driver, which holds the facts, the plan so far and the report |
//!
//! Three types hold the data of planning. `Facts` answers questions about tensors; most passes take
//! only this one of the three. `PlanState` is the plan so far and the nests that remain to be
//! planned. [`Report`] explains the result.
//!
//! Invariants of every physical plan:
//! - Every output is written once, before it is read; produced aliases are written.
//! - The indices of a query's loops, including those of temporaries, are distinct; an index is used
//!   only inside its loop.
//! - A loop over `Extent::Block` is inside the loop of its outer index; a loop over `Extent::Skew`
//!   is inside the loop of the other index.
//! - Each access and output has one subscript for each storage mode; each access also has one
//!   protocol for each storage mode.
//! - The coordinate of a walked or galloped level is an affine form of loop indices. The innermost
//!   loop of these indices is inside the loops that bind the outer levels.
//! - A temporary is listed after the temporaries that it reads.
//! - An output without a fold writes each coordinate at most once; a fold starts from the output's
//!   fill.
//! - Writes into levels that are appended to, such as lists, come in order, or go into a workspace
//!   first. The exception is an output that shares the levels of an operand: its values are written
//!   in any order.
//! - If the operator of an aggregate cannot be regrouped, its reduced loops have the order of the
//!   aggregate's fields.

#![forbid(unsafe_code)]

mod access;
mod algebra;
mod config;
mod emit;
mod error;
mod facts;
mod layout;
mod normalize;
mod optimize;
mod order;
mod output;
mod plan;
mod report;
mod schedule;
mod term;
mod work;

pub use config::{Adaptivity, Choice, CostThreshold, OptimizerConfig, ReorderPolicy, Subject, Subjects};
pub use error::Error;
pub use optimize::{optimize, optimize_adaptive, optimize_plain, warm_up};
pub use plan::{AdaptivePlan, WrittenTensor};
pub use report::{Adaptation, AppliedRule, Decision, Miscount, Origin, OutputDecision, PhaseReport, PhaseText, Report};
pub use work::{Event, Work};
