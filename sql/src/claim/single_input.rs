//! The reason not to claim an aggregate that reads no join.

use super::reason::UnclaimedReason;
use datafusion::logical_expr::{Distinct, JoinType, LogicalPlan};

/// Returns the reason not to claim an aggregate over `input`, which could not be flattened to a
/// join of several inputs.
pub(super) fn single_input_reason(input: &LogicalPlan) -> UnclaimedReason {
    use UnclaimedReason::{PartOfCondition, SingleInput, SingleTable};
    match input {
        LogicalPlan::SubqueryAlias(alias) => single_input_reason(&alias.input),
        LogicalPlan::Projection(projection) => single_input_reason(&projection.input),
        LogicalPlan::Filter(filter) => single_input_reason(&filter.input),
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => single_input_reason(&sort.input),
        LogicalPlan::Repartition(repartition) => single_input_reason(&repartition.input),
        LogicalPlan::Subquery(subquery) => single_input_reason(&subquery.subquery),
        LogicalPlan::TableScan(_) | LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => SingleTable,
        LogicalPlan::Join(join) if matches!(join.join_type, JoinType::LeftMark | JoinType::RightMark) => {
            PartOfCondition
        }
        // An extension is an aggregate that was claimed.
        LogicalPlan::Aggregate(_) | LogicalPlan::Extension(_) | LogicalPlan::Distinct(Distinct::All(_)) => {
            SingleInput("a GROUP BY or DISTINCT")
        }
        LogicalPlan::Distinct(Distinct::On(_)) => SingleInput("a DISTINCT ON"),
        LogicalPlan::Union(_) => SingleInput("a UNION"),
        LogicalPlan::Window(_) => SingleInput("window functions"),
        LogicalPlan::Limit(_) | LogicalPlan::Sort(_) => SingleInput("a LIMIT"),
        LogicalPlan::Unnest(_) => SingleInput("an unnested list"),
        LogicalPlan::RecursiveQuery(_) => SingleInput("a recursive query"),
        _ => SingleInput("one subquery"),
    }
}
