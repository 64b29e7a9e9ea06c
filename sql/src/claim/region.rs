//! Regions, which are aggregates over one join, and claims: regions with DataFusion's plans of
//! their inputs.

use super::grouped_join::GroupedJoin;
use super::reason::UnclaimedReason;
use crate::aggregates::Aggregate;
use datafusion::logical_expr::LogicalPlan;

/// Aggregates over one join. The columns of the result are the groups of the join, then the
/// aggregates.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Region {
    /// The join.
    pub join: GroupedJoin,
    /// The columns of the result that are not groups, in order.
    pub aggregates: Vec<Aggregate>,
}

/// A region with the plans of its inputs.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The region.
    pub region: Region,
    /// The plans of the inputs, from which leaves read rows unless they are tensors or computed.
    pub inputs: Vec<LogicalPlan>,
    /// The reasons why joins below the aggregates could not be flattened and became leaves.
    pub unflattened: Vec<UnclaimedReason>,
}
