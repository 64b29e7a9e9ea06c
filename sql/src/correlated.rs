//! Plans for which DataFusion would return wrong rows without an error, or fail with an unclear
//! error. This module corrects these plans before DataFusion optimizes them, or refuses them.
//!
//! - DataFusion turns a correlated subquery into a join on the columns that the subquery compares
//!   with the outer query. These columns lose the names of their tables, so `a.u` and `b.u` become
//!   one column. The rule of this module gives the columns unique names below the condition that
//!   reads them.
//! - In `x NOT IN (SELECT y .. WHERE y = x ..)`, the subquery returns no NULL, so `NOT IN` is
//!   equivalent to `NOT EXISTS`. DataFusion takes the condition `y = x` for the equality of
//!   `NOT IN` itself, drops the condition, and then finds NULLs in rows that the condition
//!   excludes.
//! - In `x IN (SELECT k FROM t)`, `k` may be a column of the outer query, if `t` has no such
//!   column. DataFusion cannot plan such a subquery, which is in most cases a mistake in the name.
//! - DataFusion reads the column `k` of a right or full join `USING (k)` from the left table, where
//!   the column is NULL in rows without a match. [`crate::statement`] rewrites such joins to
//!   `ON` where possible; the other such joins are refused here.

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinConstraint, JoinType};
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::{Alias, Cast, Exists, InSubquery};
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, Join, LogicalPlan, Operator, Projection, Subquery};
use datafusion::optimizer::AnalyzerRule;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The rule that replaces `NOT IN` by `NOT EXISTS` where both are equivalent, and gives unique
/// names to the columns of correlated subqueries. The rule refuses merged columns that would lose
/// values, and it refuses subqueries of `IN` that select an outer column.
#[derive(Debug)]
pub(crate) struct RenameCorrelated;

impl AnalyzerRule for RenameCorrelated {
    fn name(&self) -> &str {
        "rename_correlated_columns"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut count = 0;
        let rename = |node: LogicalPlan| match node {
            LogicalPlan::Subquery(subquery) => rename_columns(subquery, &mut count),
            LogicalPlan::Join(join) => check_merged(&join).map(|()| Transformed::no(LogicalPlan::Join(join))),
            node => Ok(Transformed::no(node)),
        };
        plan.apply_with_subqueries(|node| node.apply_expressions(|expr| expr.apply(check_selected)))?;
        let plan = plan.transform_up_with_subqueries(|node| node.map_expressions(replace_not_in))?.data;
        plan.transform_up_with_subqueries(rename).data()
    }
}

/// Refuses `IN` with a subquery that selects a column of the outer query.
fn check_selected(expr: &Expr) -> Result<TreeNodeRecursion> {
    if let Expr::InSubquery(InSubquery { subquery, .. }) = expr
        && let LogicalPlan::Projection(projection) = subquery.subquery.as_ref()
        && let [selected] = &projection.expr[..]
        && let Expr::OuterReferenceColumn(_, column) = without_cast(selected)
    {
        let (name, outer) = (&column.name, column.quoted_flat_name());
        return Err(DataFusionError::Plan(format!(
            "`IN (SELECT {name} ..)` selects {outer} of the outer query, and no column of its own tables; correct the \
             name, or write `{outer} = ..` in place of IN"
        )));
    }
    Ok(TreeNodeRecursion::Continue)
}

/// Returns an expression without the casts and aliases around it.
fn without_cast(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(Cast { expr, .. }) | Expr::Alias(Alias { expr, .. }) => without_cast(expr),
        expr => expr,
    }
}

/// Replaces `NOT IN` by `NOT EXISTS` if the equality that `NOT IN` tests is also a condition of the
/// subquery.
fn replace_not_in(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_up(|e| match e {
        Expr::InSubquery(InSubquery { expr, subquery, negated: true }) if has_equality(&subquery, &expr) => {
            Ok(Transformed::yes(Expr::Exists(Exists { subquery, negated: true })))
        }
        Expr::Not(inner) => Ok(match *inner {
            Expr::InSubquery(InSubquery { expr, subquery, negated: false }) if has_equality(&subquery, &expr) => {
                Transformed::yes(Expr::Exists(Exists { subquery, negated: true }))
            }
            inner => Transformed::no(Expr::Not(Box::new(inner))),
        }),
        e => Ok(Transformed::no(e)),
    })
}

/// Returns whether a condition of the subquery requires that the subquery's only result column
/// equals the outer column `wanted`.
fn has_equality(subquery: &Subquery, wanted: &Expr) -> bool {
    let LogicalPlan::Projection(projection) = subquery.subquery.as_ref() else { return false };
    let (LogicalPlan::Filter(filter), [output], Expr::Column(wanted)) =
        (projection.input.as_ref(), &projection.expr[..], wanted)
    else {
        return false;
    };
    split_conjunction(&filter.predicate).into_iter().any(|conjunct| {
        let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = conjunct else { return false };
        let is_wanted = |e: &Expr| matches!(e, Expr::OuterReferenceColumn(_, column) if column == wanted);
        left.as_ref() == output && is_wanted(right) || right.as_ref() == output && is_wanted(left)
    })
}

/// Refuses right and full joins with merged columns, which DataFusion would read from the left
/// table.
fn check_merged(join: &Join) -> Result<()> {
    if join.join_constraint == JoinConstraint::On || !matches!(join.join_type, JoinType::Right | JoinType::Full) {
        return Ok(());
    }
    let columns = join.on.iter().map(|(left, _)| left.qualified_name().1).collect::<Vec<_>>().join(", ");
    let kind = join.join_type;
    Err(DataFusionError::Plan(format!(
        "the columns of this {kind} join USING ({columns}) cannot be merged here; give its tables aliases, or write `ON` and \
         `coalesce`"
    )))
}

/// Renames the columns of a subquery that are compared with the outer query, if one of them has the
/// name of another such column, or of another result column.
fn rename_columns(subquery: Subquery, count: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let plan = subquery.subquery.as_ref();
    let mut compared = BTreeSet::new();
    plan.apply(|node| {
        if let LogicalPlan::Filter(filter) = node {
            compared.extend(compared_columns(filter));
        }
        Ok(match node {
            LogicalPlan::Subquery(_) => TreeNodeRecursion::Jump,
            _ => TreeNodeRecursion::Continue,
        })
    })?;
    let outputs = output_columns(plan);
    let collides = |column: &Column| {
        let other = |(name, own): &(String, Option<Column>)| *name == column.name && own.as_ref() != Some(column);
        outputs.iter().any(other) || compared.iter().any(|c| c.name == column.name && c != column)
    };
    if !compared.iter().any(collides) {
        return Ok(Transformed::no(LogicalPlan::Subquery(subquery)));
    }
    let plan = rename_compared(plan.clone(), count)?;
    Ok(Transformed::yes(LogicalPlan::Subquery(Subquery { subquery: Arc::new(plan), ..subquery })))
}

/// Returns the names of the result columns of a plan. A name comes with the input column that a
/// projection passes unchanged, or with `None` if the result column is renamed or computed, or the
/// plan is no projection.
fn output_columns(plan: &LogicalPlan) -> Vec<(String, Option<Column>)> {
    let names = plan.schema().fields().iter().map(|field| field.name().clone());
    match plan {
        LogicalPlan::Projection(projection) => {
            let column = |e: &Expr| if let Expr::Column(column) = e { Some(column.clone()) } else { None };
            names.zip(projection.expr.iter().map(column)).collect()
        }
        _ => names.map(|name| (name, None)).collect(),
    }
}

/// Returns the inner columns that a condition compares with the outer query.
fn compared_columns(filter: &Filter) -> BTreeSet<Column> {
    let correlated = split_conjunction(&filter.predicate).into_iter().filter(|e| e.contains_outer());
    correlated.flat_map(Expr::column_refs).cloned().collect()
}

/// Gives unique names to the columns that conditions of the plan compare with the outer query.
fn rename_compared(plan: LogicalPlan, count: &mut usize) -> Result<LogicalPlan> {
    if let LogicalPlan::Subquery(_) = plan {
        return Ok(plan);
    }
    let plan =
        plan.map_children(|child| rename_compared(child, count).map(Transformed::yes)).data()?.recompute_schema()?;
    let LogicalPlan::Filter(filter) = plan else { return Ok(plan) };
    let compared = compared_columns(&filter);
    if compared.is_empty() {
        return Ok(LogicalPlan::Filter(filter));
    }
    let mut names = BTreeMap::new();
    let mut columns: Vec<Expr> = filter.input.schema().columns().into_iter().map(Expr::Column).collect();
    for column in compared {
        *count += 1;
        let name = format!("__compared_{count}");
        columns.push(Expr::Column(column.clone()).alias(name.clone()));
        names.insert(column, Expr::Column(Column::new_unqualified(name)));
    }
    let rename = |e: Expr| {
        let name = if let Expr::Column(column) = &e { names.get(column) } else { None };
        Ok(name.cloned().map_or_else(|| Transformed::no(e), Transformed::yes))
    };
    let conjuncts = split_conjunction(&filter.predicate).into_iter().cloned().map(|e| match e.contains_outer() {
        true => e.transform(rename).data(),
        false => Ok(e),
    });
    let predicate = conjunction(conjuncts.collect::<Result<Vec<_>>>()?).expect("a condition has at least one conjunct");
    let input = LogicalPlan::Projection(Projection::try_new(columns, filter.input)?);
    Ok(LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?))
}
