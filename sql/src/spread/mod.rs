//! Regions in partitions: each partition is a region over a part of the rows, and the results of
//! the partitions are merged.
//!
//! The rows of a join are divided by the values of fields, so that each row of the join belongs to
//! exactly one partition:
//!
//! - By the hash of one field, the key. A leaf with the key has the rows of one partition, and any
//!   other leaf has all its rows.
//! - Into cells (HyperCube). The values of several fields are divided into parts, and a cell has
//!   one part of each field. A row of a leaf belongs to all cells that have the parts of its
//!   values, so the row is copied for each combination of parts of the fields that the leaf lacks.
//!
//! If the key is a group field, no group is in two partitions, and the rows of the partitions are
//! the rows of the region. Otherwise the partitions return the states of DataFusion's aggregate
//! functions, and DataFusion merges the states.
//!
//! [`DividedRegion`] chooses the key or the numbers of parts, and `cost` chooses among the
//! divisions on a cluster. `load` counts the rows that workers would receive. The plan of a region
//! in partitions has these nodes, from the inputs to the result:
//!
//! - a [`ReplicateExec`] copies rows for cells;
//! - DataFusion partitions the rows by the hash of the key, or of a number that stands for the
//!   cell;
//! - a [`PartitionExec`] runs the region of each partition;
//! - DataFusion's aggregate merges states, unless each group is in one partition;
//! - a [`SpreadExec`] returns the rows, or leaves the whole region to DataFusion if the rows of a
//!   partition must be left to DataFusion. On a cluster, DataFusion's plan of the region is a
//!   second input of this node.

mod cells;
mod cluster_size;
mod cost;
mod key;
mod load;
mod partial;
mod partition;
mod plan;
mod replicate;
mod verdict;

pub(crate) use cluster_size::ClusterSize;
pub(crate) use key::DividedRegion;
#[cfg(feature = "cluster")]
pub(crate) use key::{Division, PartitionRows};
pub use load::Load;
pub(crate) use partition::PartitionExec;
pub(crate) use plan::{divide, plan_divided};
pub(crate) use replicate::ReplicateExec;
pub(crate) use verdict::{DataFusionPlan, SpreadExec};
