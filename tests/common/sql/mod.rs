//! SQL compared with plain DataFusion: test databases, the comparison of results, random tables and
//! queries, the queries of an imitated session, and the reduction of failing cases. This module
//! needs the feature `sql`.

pub mod arrays;
mod compare;
mod draw;
mod query;
mod runner;
mod session;
mod shrink;
mod table;

#[cfg(feature = "cluster")]
pub use compare::on_workers;
pub use compare::{Cell, agree, check, claims, compare_rows, database, rows, run, run_in_partitions};
pub use draw::{GROUP, declarations, query};
pub use query::{JoinClause, RandomQuery, WhereCondition};
pub use runner::{CaseRunner, CaseStep, SqlCase, SqlOutcome};
pub use session::{session_queries, session_tables};
pub use shrink::smallest_failure;
pub use table::{COLUMNS, Declaration, SqlValue, TableColumn, TextArray};
