//! Comparisons of texts with numbers, in errors on texts that are no numbers.
//!
//! DataFusion compares a text with a number as two numbers. If a text is no number, the query fails
//! while it runs, with an error that names neither the comparison nor its columns.

use datafusion::arrow::error::ArrowError;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};

/// Adds the comparisons of texts with numbers in a plan to the error on a text that is no number.
/// Other errors are returned unchanged.
pub(crate) fn with_comparisons(error: DataFusionError, plan: &LogicalPlan) -> DataFusionError {
    let DataFusionError::ArrowError(cause, _) = error.find_root() else { return error };
    let ArrowError::CastError(text) = &**cause else { return error };
    let mut comparisons = mixed_comparisons(plan).unwrap_or_default();
    if comparisons.is_empty() {
        return error;
    }
    comparisons.dedup();
    DataFusionError::Execution(format!("{text}; {}", comparisons.join("; ")))
}

/// Describes the comparisons of a text with a number in a plan and its subqueries.
fn mixed_comparisons(plan: &LogicalPlan) -> Result<Vec<String>> {
    let mut found = Vec::new();
    plan.apply_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        if let LogicalPlan::Join(join) = node {
            found.extend(join.on.iter().filter_map(|(left, right)| mixed(left, Operator::Eq, right, &schema)));
        }
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if let Expr::BinaryExpr(BinaryExpr { left, op, right }) = part {
                    found.extend(mixed(left, *op, right, &schema));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(found)
}

/// Describes a comparison if it compares a text with a number.
fn mixed(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<String> {
    use Operator::*;
    if !matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq) {
        return None;
    }
    let (left_type, right_type) = (left.get_type(schema).ok()?, right.get_type(schema).ok()?);
    let [left, right] = [left, right].map(sql_of);
    let (text, number, textual) = if left_type.is_string() && right_type.is_numeric() {
        (&left, &right, format!("{left} {op} CAST({right} AS VARCHAR)"))
    } else if left_type.is_numeric() && right_type.is_string() {
        (&right, &left, format!("CAST({left} AS VARCHAR) {op} {right}"))
    } else {
        return None;
    };
    Some(format!("`{left} {op} {right}` compares the text {text} with the number {number}: write `{textual}`"))
}

/// Returns a column or a literal in SQL; for other expressions, DataFusion's text.
fn sql_of(expr: &Expr) -> String {
    match expr {
        Expr::Column(column) => column.quoted_flat_name(),
        Expr::Literal(value, _) => match value.try_as_str() {
            Some(Some(text)) => format!("'{text}'"),
            _ => value.to_string(),
        },
        expr => expr.to_string(),
    }
}
