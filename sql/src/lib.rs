//! SQL over sparse tables: redpoll inside DataFusion.
//!
//! DataFusion parses and plans every statement. An optimizer rule ([`ClaimRegions`]) finds the
//! regions of a plan ([`claim`]), which are aggregates over one join. By default, the rule claims
//! the regions that are estimated to pay, and replaces each by one node ([`RegionNode`]). At run
//! time, the rows of the region's inputs are encoded as tensors ([`encode`]); tables that are
//! tensors are bound unchanged where possible. One Logic plan computes the region ([`program`]),
//! and an [`Engine`] runs this plan. The rest of the statement's plan runs in DataFusion unchanged.
//!
//! The steps of a query, with the modules of each:
//!
//! | step | from | to |
//! |---|---|---|
//! | `statement`, `correlated`, `dictionaries` | SQL | DataFusion's logical plan, with mistakes of DataFusion corrected |
//! | `claim`, `aggregates` | DataFusion's logical plan | regions, or the reason why an aggregate is in no region |
//! | `node`, `planner` | region | extension node, execution plan |
//! | `policy` | execution plan | the engine that answers a call: redpoll, DataFusion, or the first to finish |
//! | `spread` | region | regions over partitions of the rows, and the merge of their results |
//! | `encode` | record batches | tensors over codes, the domains of the codes |
//! | `program` | region, tensors | Logic plan |
//! | `decode`, `results` | results | record batches |
//!
//! This crate runs Logic plans through the trait [`Engine`], which the session of the crate
//! `redpoll` implements.
//!
//! ```
//! use redpoll::Session;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let database = Session::default().database();
//! let edges = "CREATE TABLE e (src BIGINT, dst BIGINT) AS VALUES (0, 1), (1, 2), (2, 0), (2, 3)";
//! database.sql(edges).await?.collect().await?;
//! database.sql("SET redpoll.claim = 'always'").await?.collect().await?;
//! let triangles = "SELECT count(*) FROM e a, e b, e c
//!                  WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src";
//! let plan = database.sql(triangles).await?.into_optimized_plan()?;
//! assert!(plan.display_indent().to_string().contains("Redpoll: groups=[], aggregates=[count(*)]"));
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod added_tables;
pub mod aggregates;
pub mod claim;
#[cfg(feature = "cluster")]
mod cluster;
pub mod columns;
mod comparisons;
mod compressed;
mod correlated;
mod database;
mod decode;
mod dictionaries;
pub mod encode;
mod engine;
mod engines;
mod error;
mod exec;
mod files;
mod guard;
mod input_tables;
mod ipc;
mod json;
mod memory;
mod metrics;
mod node;
mod number;
mod open_quotes;
mod options;
mod plain_words;
mod planner;
mod policy;
pub mod program;
mod results;
mod row_format;
mod run;
mod run_ends;
mod same_names;
mod semiring;
mod spread;
mod statement;
mod summarize;
mod table;
mod tables;
mod text_columns;
mod unique_name;
mod value_errors;

#[cfg(feature = "cluster")]
pub use cluster::{Cluster, Worker};
pub use database::Database;
pub use engine::{Engine, Outcome, RunError, RunLimits};
pub use error::{Error, FallbackReason, message};
pub use exec::RegionExec;
pub use guard::silence_guarded_panics;
pub use memory::Allowance;
pub use node::RegionNode;
pub use number::Number;
pub use options::{FirstAnswer, Policy, RedpollOptions, Spread, TargetCheck, TargetChoice};
pub use policy::ClaimRegions;
pub use semiring::Semiring;
pub use spread::Load;
pub use statement::{STACK_SIZE, with_deep_stack};
pub use table::{ComputeFn, ModeRange, TensorColumn, TensorTable};

/// DataFusion, the query engine that redpoll extends.
pub use datafusion;
