//! Translation of a region, with the encoded rows of its leaves, to a Logic plan.
//!
//! A field of the region is a field of the plan if the field joins leaves, groups rows or is
//! compared, or if its distinct values are aggregated. Each mode of a leaf that is a tensor is also
//! a field of the plan. Most folds over the rows of the join are one aggregate over a mapjoin of
//! the leaves:
//!
//! - the number of rows is the sum of the product of the leaves' numbers of rows;
//! - in a sum of products, the sum of a factor takes the place of the number of rows of the
//!   factor's leaf;
//! - the existence of a row is an `or` over rows of an `and` over leaves;
//! - a minimum or maximum is a `max` of codes over rows, where codes are assigned so that the
//!   wanted value has the largest code. The code of a row is a `min` over leaves: the leaf of the
//!   column has the code of its value, and any other leaf has the largest `u64`, or 0 if it has no
//!   row;
//! - a fold over a semiring is a `plus` over rows of the `times` of the arguments.
//!
//! Distinct values take two aggregates: an `or` shows for each value whether a row has it, and the
//! values with a row are then counted or added.
//!
//! A semi-join or anti-join leaf counts once: fields that only this leaf has are folded with `or`
//! first.
//!
//! A leaf with exactly one row for every combination of codes is the factor 1 in a product, unless
//! the fold reads a column of the leaf. Sums of products, numbers of rows and tests for the
//! existence of rows omit this factor if the other factors determine which groups have rows.
//! Examples of such leaves are a table whose keys other tables refer to, and a table of all
//! elements of a matrix.

mod all_true;
mod describe;
mod fold;
mod folds;
mod leaf_tables;
mod order;

pub use describe::describe;
pub use fold::JoinFold;
pub use folds::{FoldId, FoldList, RegionFolds};
pub(crate) use leaf_tables::{LeafTables, combine};

use crate::claim::GroupedJoin;
use crate::encode::EncodedJoin;
use crate::error::{Error, Result};
use redpoll_logic::{Alias, Expr, Field, Node, Plan, Query};
use redpoll_storage::Tensor;
use std::collections::BTreeSet;

/// A Logic plan with the tensors that it reads.
#[derive(Debug)]
pub struct RegionProgram {
    /// The plan, which produces one result per fold, in order.
    pub plan: Plan,
    /// The tensors.
    pub bindings: Vec<(Alias, Tensor)>,
    /// For each mode of each result, the index of its field in [`GroupedJoin::group_fields`].
    pub modes: Vec<Vec<usize>>,
}

/// Builds the program that computes the folds of a region.
///
/// # Errors
/// If a tensor cannot be built, or the result would not list exactly the groups with rows.
///
/// ```
/// use redpoll_sql::Allowance;
/// use redpoll_sql::claim::claim_aggregate;
/// use redpoll_sql::datafusion::arrow::compute::concat_batches;
/// use redpoll_sql::datafusion::logical_expr::LogicalPlan;
/// use redpoll_sql::datafusion::prelude::SessionContext;
/// use redpoll_sql::encode::EncodedJoin;
/// use redpoll_sql::program::{RegionFolds, build_program};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let context = SessionContext::new();
/// context.sql("CREATE TABLE t (k BIGINT) AS VALUES (1), (2), (2)").await?.collect().await?;
/// let query = "SELECT a.k, count(*) FROM t a JOIN t b ON a.k = b.k GROUP BY a.k";
/// let plan = context.sql(query).await?.into_optimized_plan()?;
/// let mut node = &plan;
/// while !matches!(node, LogicalPlan::Aggregate(_)) {
///     node = node.inputs()[0];
/// }
/// let claim = claim_aggregate(node).expect("an aggregate over a join");
/// let mut inputs = Vec::new();
/// for input in claim.inputs {
///     let rows = context.execute_logical_plan(input).await?.collect().await?;
///     inputs.push(concat_batches(&rows[0].schema(), &rows)?.into());
/// }
/// let join = &claim.region.join;
/// let encoded = EncodedJoin::new(join, &inputs, &Allowance::unlimited())?;
/// let folds = RegionFolds::new(&claim.region, &encoded)?;
/// let program = build_program(join, &encoded, &folds)?;
/// assert_eq!((folds.folds.iter().len(), program.plan.queries.len()), (1, 1));
/// # Ok(())
/// # }
/// ```
pub fn build_program(join: &GroupedJoin, encoded: &EncodedJoin, folds: &RegionFolds) -> Result<RegionProgram> {
    let mut leaves = LeafTables::new(join, encoded);
    let groups: Vec<Field> = join.group_fields().iter().map(|&f| leaves.field(f).clone()).collect();
    let mut queries = Vec::new();
    let mut modes = Vec::new();
    for (k, fold) in folds.folds.iter().enumerate() {
        let expr = fold.expr(&mut leaves)?;
        if folds.presence.map(FoldId::index) == Some(k) && !all_true::is_zero(&expr.info().fill) {
            return Err(Error::UnlistedGroups);
        }
        let group_index =
            |field: &Field| groups.iter().position(|g| g == field).expect("fields that are not groups are folded");
        modes.push(expr.info().fields.iter().map(group_index).collect());
        queries.push(Query { alias: Alias::from(format!("q{k}")), expr });
    }
    let produces = queries.iter().map(|q| q.alias.clone()).collect();
    let mut read = BTreeSet::new();
    queries.iter().for_each(|query| collect_tables(&query.expr, &mut read));
    let bindings = leaves.into_bindings().into_iter().filter(|(alias, _)| read.contains(alias)).collect();
    Ok(RegionProgram { plan: Plan { queries, produces }, bindings, modes })
}

/// Collects the tables that an expression reads.
fn collect_tables(expr: &Expr, read: &mut BTreeSet<Alias>) {
    if let Node::Table { tensor, .. } = expr.node() {
        read.insert(tensor.clone());
    }
    expr.node().args().iter().for_each(|arg| collect_tables(arg, read));
}
