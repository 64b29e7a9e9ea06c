//! Claiming: the regions of plans, or the reason why an aggregate is none.

mod build;
mod contradiction;
mod join;
mod leaves;
mod origin;
mod reason;
mod region;
mod sums;
mod types;

pub use build::Claim;
pub use reason::UnclaimedReason;
pub use region::{
    Aggregate, ColumnInfo, Comparison, Condition, Extremum, FieldId, GroupColumn, Leaf, LeafColumn, LeafId, LeafRole,
    LeafSource, Mask, NarrowSum, NullTreatment, OuterJoin, Region, RegionField, SumCase, SumOfProducts, SumTerm,
};

pub use crate::number::Number;
pub use crate::table::{ModeRange, TensorColumn};

use datafusion::logical_expr::LogicalPlan;

/// Builds the region of the top node of a plan.
///
/// # Errors
/// The reason why the node cannot be claimed.
pub fn claim_aggregate(plan: &LogicalPlan) -> Result<Claim, UnclaimedReason> {
    let LogicalPlan::Aggregate(aggregate) = plan else {
        return Err(UnclaimedReason::Node(plan.display().to_string()));
    };
    let claim = build::build_claim(aggregate)?;
    let tensors = claim.region.leaves.iter().any(|leaf| matches!(leaf.source, LeafSource::Tensor { .. }));
    if claim.region.leaves.len() < 2 && !tensors {
        return Err(claim.unflattened.into_iter().next().unwrap_or(UnclaimedReason::SingleTable));
    }
    Ok(claim)
}
