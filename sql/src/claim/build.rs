//! Builds the region of an aggregate node: its flat join, fields, groups and aggregates, in this
//! order. Fields and columns of leaves are numbered in the order in which they are added.

use super::builder::RegionBuilder;
use super::join::{FlatJoin, substitute};
use super::leaves::finish_region;
use super::reason::UnclaimedReason;
use super::region::Claim;
use crate::aggregates::claim_call;
use datafusion::logical_expr::{Aggregate, Expr};

/// Builds the region of an aggregate.
pub(super) fn build_claim(node: &Aggregate) -> Result<Claim, UnclaimedReason> {
    let mut join = FlatJoin::default();
    let columns = join.flatten(&node.input);
    let of_leaves = |e: &Expr| substitute(e, &node.input, &columns);
    let mut builder = RegionBuilder::new(join)?;
    builder.add_join_fields()?;
    builder.add_conditions()?;
    let groups = node.group_expr.iter().map(|e| match e {
        Expr::GroupingSet(_) => Err(UnclaimedReason::GroupingSets),
        e => Ok(of_leaves(e)),
    });
    let groups = builder.group_by(&groups.collect::<Result<Vec<_>, _>>()?)?;
    let aggregates =
        node.aggr_expr.iter().map(|e| claim_call(&of_leaves(e), &mut builder)).collect::<Result<Vec<_>, _>>()?;
    finish_region(builder, groups, aggregates)
}
