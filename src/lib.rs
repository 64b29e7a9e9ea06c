//! Redpoll: a lazy engine for sparse and structured arrays.
//!
//! Operators on arrays build a plan. [`Array::collect`] compiles the plan to fused kernels, which
//! exploit the sparsity of the operands. The following example reads the friendships in a karate
//! club, and finds the index of the member with the most friends of friends, and the number of
//! triangles:
//!
//! ```
//! use redpoll::prelude::*;
//!
//! # fn main() -> Result<(), Error> {
//! let session = Session::default();
//! let edges = session.sample("karate")?.astype(Prim::I64);
//!
//! // Operators can match modes by position, as in NumPy.
//! let paths = edges.matmul(&edges);
//! let friends_of_friends = paths.greater(0).logical_and(edges.equal(0)).count_nonzero(1);
//! assert_eq!(friends_of_friends.argmax(0).item::<i64>()?, 19);
//!
//! // Operators can also match modes by name. The sum counts each triangle six times.
//! let triangles = (edges.at(["i", "j"]) * edges.at(["j", "k"]) * edges.at(["i", "k"])).sum(..) / 6;
//! assert_eq!(triangles.item::<f64>()?, 45.0);
//! # Ok(())
//! # }
//! ```
//!
//! Operations on arrays are methods of [`Array`], and constructors of arrays are methods of
//! [`Session`]. `src/README.md` compares these methods with the functions of the Python Array API
//! standard.
//!
//! Arrays are built on plans. A [`Session`] takes a Finch-Logic plan, as text or as a
//! [`Plan`](redpoll_logic::Plan), and the tensors for its tables. The session compiles each query
//! of the physical plan to one fused kernel, unless the query only converts a format, and runs the
//! queries:
//!
//! ```
//! use redpoll::{Bindings, Session};
//!
//! # fn main() -> Result<(), redpoll::Error> {
//! let session = Session::default();
//! let edges = session.sample("karate")?.collect()?;
//! let plan = "(plan
//!     (query degree (aggregate + 0 (mapjoin cast-i64 (table E i j)) j))
//!     (query edges (aggregate + 0 (table degree i) i))
//!     (produces edges))";
//! let run = session.prepare(plan, &Bindings::new().with("E", edges))?.run()?;
//! assert_eq!(run.outputs[0].1.sum()?, Some(2.0 * 78.0));
//! # Ok(())
//! # }
//! ```
//!
//! The module `prepare::plan` calls the phases from a plan to kernels in order, and
//! [`Prepared::explain`] shows the output of each phase. Every [`Target`] runs the same prepared
//! plan, so targets can be compared.

mod adapt;
mod array;
mod bindings;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod config;
mod dump;
mod engine;
mod error;
mod executable;
mod explain;
mod flow;
pub mod graph;
#[cfg(feature = "linalg")]
pub mod linalg;
mod notes;
pub mod prelude;
mod prepare;
mod profile;
mod program;
mod run;
mod schedules;
mod session;
#[cfg(feature = "sql")]
pub mod sql;
mod statistics;
mod target;
mod timings;
mod warm_up;

pub use array::{
    Array, ArrayError, Axes, Builder, Cause, Contraction, DuplicatePolicy, Index, Operand, Overlap, RangeValue,
    ScheduledArray, Side, SortOrder, Unique, Value, WithRespectTo, wrt,
};
#[cfg(feature = "files")]
pub use array::{CoordinateNames, FileScan, RandomArray};
pub use bindings::Bindings;
pub use config::Config;
pub use engine::{Placement, Reason, TierChoice};
pub use error::{Error, UnboundTable};
pub use explain::{Detail, Explanation, Section};
pub use flow::{Flow, FlowEdge, FlowGraph, FlowNode, FlowNodeKind, FlowQuery, FlowRead, Size};
pub use notes::Note;
pub use prepare::Prepared;
pub use profile::{OutputProfile, Profile, QueryProfile};
pub use program::Program;
pub use run::Run;
pub use session::Session;
pub use target::{ParseTargetError, Target};
pub use timings::{Phase, Timings};

/// The progress of a run.
pub use redpoll_kernels::run::Progress;

/// Transformations of the loops of a query.
pub use redpoll_compiler::notation::Schedule;

/// Notation, lowering and Assembly.
pub use redpoll_compiler as compiler;
/// Readers and writers of tensor files, and generators.
#[cfg(feature = "files")]
pub use redpoll_datasets as datasets;
/// Grids, their interpreter, and CUDA devices.
pub use redpoll_devices as devices;
/// Kernels: backends, machine code, and the runtime.
pub use redpoll_kernels as kernels;
/// Plans, operators, formats and dtypes.
pub use redpoll_logic as logic;
/// Optimizer from Logic plans to physical plans.
pub use redpoll_optimizer as optimizer;
/// Tensors, level kinds, and memory accounts.
pub use redpoll_storage as storage;
