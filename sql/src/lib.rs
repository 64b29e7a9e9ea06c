//! SQL over sparse tables: redpoll inside DataFusion.
//!
//! DataFusion parses, plans and runs every statement. An optimizer rule ([`claim`]) finds the
//! regions of a plan that are aggregates over one join, and replaces each by one node
//! ([`RegionNode`]). At run time, the rows of the region's inputs are encoded as tensors
//! ([`encode`]); inputs that are tensors are bound unchanged. One Logic plan computes the region
//! ([`program`]), and an [`Engine`] runs it. The rest of the plan runs in DataFusion unchanged.
//!
//! The steps of a query, one file or folder each:
//!
//! | step | from | to |
//! |---|---|---|
//! | `statement`, `correlated` | SQL | DataFusion's logical plan, with mistakes of DataFusion corrected |
//! | `claim` | DataFusion's logical plan | regions, or the reason why an aggregate is none |
//! | `node`, `planner` | region | extension node, execution plan |
//! | `encode` | record batches | tensors over codes, dictionaries |
//! | `program` | region, tensors | Logic plan |
//! | `decode` | results | record batches |
//!
//! This crate runs Logic plans through the trait [`Engine`], which the session of the crate
//! `redpoll` implements.

#![forbid(unsafe_code)]

pub mod aggregates;
pub mod claim;
mod compressed;
mod correlated;
mod database;
mod decode;
pub mod encode;
mod engine;
mod engines;
mod error;
mod exec;
mod files;
mod guard;
mod input_tables;
mod ipc;
mod memory;
mod metrics;
mod node;
mod number;
mod options;
mod planner;
mod policy;
pub mod program;
mod results;
mod row_format;
mod run;
mod semiring;
mod statement;
mod table;
mod tables;

pub use database::Database;
pub use engine::{Engine, Outcome, RunError, RunLimits};
pub use error::{Error, FallbackReason, message};
pub use exec::RegionExec;
pub use guard::silence_guarded_panics;
pub use memory::Allowance;
pub use node::RegionNode;
pub use options::{EngineChoice, FirstAnswer, Policy, RedpollOptions};
pub use policy::ClaimRegions;
pub use semiring::Semiring;
pub use statement::{STACK_SIZE, with_deep_stack};
pub use table::{ComputeFn, TensorTable};

/// DataFusion, the query engine that redpoll extends.
pub use datafusion;
