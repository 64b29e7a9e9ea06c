//! Queries on a cluster of processes, by `datafusion-distributed`.
//!
//! A coordinator plans a query and divides the execution plan into stages. Each stage has one task
//! per worker at most. The tasks of a stage send their rows to the tasks of the next stage, and the
//! last stage runs in the coordinator. A region is divided into partitions as in
//! [`spread`](crate::spread), which explains the divisions.
//!
//! | file | contents |
//! |---|---|
//! | `coordinator.rs` | [`Cluster`], and a database on a cluster |
//! | `planner.rs` | what is added to execution plans before and after their division into stages |
//! | `leaves.rs` | tables in memory, of which each task reads a part |
//! | `codec.rs`, `message.rs`, `region_message.rs` | the messages in which redpoll's nodes travel |
//! | `check.rs` | the checks of decoded messages |
//! | `session_header.rs` | the settings, the float mode and the semirings of a session, for the tasks of its queries |
//! | `worker.rs` | [`Worker`], which runs the tasks |
//! | `connection.rs`, `task_rows.rs` | connections to workers, over sockets or within the process, and requests for rows over them |
//! | `failure.rs`, `retry.rs` | errors of connections, and queries that are planned again without a lost worker |

mod check;
mod codec;
mod connection;
mod coordinator;
mod failure;
mod leaves;
mod message;
mod planner;
mod region_message;
mod retry;
mod session_header;
mod task_rows;
mod worker;

pub use coordinator::Cluster;
pub use worker::Worker;
