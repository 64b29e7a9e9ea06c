//! SQL over sparse tables: redpoll inside DataFusion.
//!
//! DataFusion parses, plans and runs everything. An optimizer rule ([`claim`]) finds regions of a plan that are a set of
//! aggregates over one join, and replaces each by one node ([`RegionNode`]). When it runs, the rows of its inputs are
//! encoded as tensors ([`encode`]), tensors among them are bound as they are, one Logic plan is made of the region
//! ([`program`]), and an [`Engine`] runs it. What is not claimed runs in DataFusion unchanged.
//!
//! The way of a query, one file or folder a step:
//!
//! | step | from | to |
//! |---|---|---|
//! | `statement`, `correlated` | SQL | DataFusion's logical plan, with what it would get wrong put right |
//! | `claim` | DataFusion's logical plan | regions, or the reasons why not |
//! | `node`, `planner` | region | extension node, execution plan |
//! | `encode` | record batches | tensors over codes, dictionaries |
//! | `program` | region, tensors | Logic plan |
//! | `decode` | results | record batches |
//!
//! This crate does not know what runs Logic plans: that is an [`Engine`], which the session of the crate `redpoll` is.

#![forbid(unsafe_code)]

mod background;
mod cache;
mod call;
pub mod claim;
mod compressed;
mod correlated;
mod cost;
mod database;
mod decode;
pub mod encode;
mod engine;
mod engines;
mod error;
mod exec;
mod fallback;
mod files;
mod guard;
mod ipc;
mod job;
mod memory;
mod metrics;
mod node;
mod options;
mod planner;
pub mod program;
mod rows;
mod run;
mod semiring;
mod sources;
mod statement;
mod table;
mod tables;

pub use database::Database;
pub use engine::{Engine, Outcome, RunError, Stop};
pub use error::{Error, Left, message};
pub use exec::RegionExec;
pub use guard::silence_guarded_panics;
pub use memory::Allowance;
pub use node::RegionNode;
pub use options::{First, Policy, RedpollOptions, RunsOn};
pub use semiring::Semiring;
pub use statement::{STACK, deep};
pub use table::{Compute, TensorTable};

/// The query engine that redpoll is inside of.
pub use datafusion;
