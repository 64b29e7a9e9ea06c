//! Claiming: the regions of plans, or the reason why an aggregate is none.

mod build;
mod builder;
mod contradiction;
mod grouped_join;
mod join;
mod leaves;
mod origin;
mod reason;
mod region;
mod terms;
mod types;

pub(crate) use builder::RegionBuilder;
pub use grouped_join::{
    ColumnInfo, Comparison, Condition, FieldId, GroupColumn, GroupedJoin, Leaf, LeafColumn, LeafId, LeafRole,
    LeafSource, Mask, NullTreatment, OuterJoin, RegionField,
};
pub(crate) use join::check_computable;
pub use reason::UnclaimedReason;
pub use region::{Claim, Region};
pub(crate) use terms::{is_never_null, split_terms, strict_parts};
pub(crate) use types::is_ordered;

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
    let leaves = &claim.region.join.leaves;
    let tensors = leaves.iter().any(|leaf| matches!(leaf.source, LeafSource::Tensor { .. }));
    if leaves.len() < 2 && !tensors {
        return Err(claim.unflattened.into_iter().next().unwrap_or(UnclaimedReason::SingleTable));
    }
    Ok(claim)
}
