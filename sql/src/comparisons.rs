//! Comparisons of texts, dates, times and timestamps with numbers.
//!
//! To compare a text with a number, DataFusion casts the text to a number. If a text is no number,
//! the query fails while it runs, with an error that names neither the comparison nor its columns.
//! This module adds the comparisons to the error.
//!
//! To compare a date with a number, DataFusion casts the date to the number of days since 1970, so
//! `day > 2011` is true for nearly all dates. This module refuses such comparisons, and comparisons
//! of times and timestamps with numbers.

use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::{Between, Case, Cast, InList, InSubquery};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::sql::unparser::expr_to_sql;
use std::iter;

/// Adds to the error of a failed cast a description of each comparison of a text with a number in
/// the plan. Most often, the cast failed because a text is no number. Other errors, and errors of
/// plans without such a comparison, are returned unchanged.
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

/// Describes the comparisons of a text with a number that binary operators and keys of joins make
/// in a plan and its subqueries.
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
    if !is_comparison(op) {
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

/// Returns whether an operator compares two values of one type.
fn is_comparison(op: Operator) -> bool {
    use Operator::*;
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Checks that a plan, whose types are not coerced yet, compares no date, time or timestamp with a
/// number.
///
/// # Errors
/// If there is such a comparison.
pub(crate) fn check_dates(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        if let LogicalPlan::Join(join) = node {
            for (left, right) in &join.on {
                let operands = [Operand::new(left, &schema), Operand::new(right, &schema)];
                check_operands(&operands, |operands| format!("{} = {}", operands[0], operands[1]))?;
            }
        }
        node.apply_expressions(|expr| {
            expr.apply(|part| check_comparison(part, &schema).map(|()| TreeNodeRecursion::Continue))
        })
    })?;
    Ok(())
}

/// An operand of a comparison.
struct Operand<'e> {
    expr: &'e Expr,
    /// The type; `None` if the expression has no type before types are coerced.
    ty: Option<DataType>,
}

impl<'e> Operand<'e> {
    fn new(expr: &'e Expr, schema: &DFSchema) -> Operand<'e> {
        Operand { expr, ty: expr.get_type(schema).ok() }
    }
}

/// Checks the operands of an expression if the expression is a comparison.
fn check_comparison(expr: &Expr, schema: &DFSchema) -> Result<()> {
    let not = |negated: bool| if negated { "NOT " } else { "" };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            let operands = [Operand::new(left, schema), Operand::new(right, schema)];
            check_operands(&operands, |operands| format!("{} {op} {}", operands[0], operands[1]))
        }
        Expr::Between(Between { expr, negated, low, high }) => {
            let operands = [expr, low, high].map(|operand| Operand::new(operand, schema));
            let not = not(*negated);
            check_operands(&operands, |operands| {
                format!("{} {not}BETWEEN {} AND {}", operands[0], operands[1], operands[2])
            })
        }
        Expr::InList(InList { expr, list, negated }) => {
            let operands: Vec<Operand<'_>> =
                iter::once(&**expr).chain(list).map(|operand| Operand::new(operand, schema)).collect();
            let not = not(*negated);
            check_operands(&operands, |operands| format!("{} {not}IN ({})", operands[0], operands[1..].join(", ")))
        }
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            let selected = subquery.subquery.schema();
            let columns: Vec<Expr> = selected.columns().into_iter().map(Expr::Column).collect();
            let [column] = &columns[..] else { return Ok(()) };
            let operands = [Operand::new(expr, schema), Operand::new(column, selected)];
            let not = not(*negated);
            check_operands(&operands, |operands| format!("{} {not}IN (SELECT {} ..)", operands[0], operands[1]))
        }
        Expr::Case(Case { expr: Some(expr), when_then_expr, .. }) => {
            let values = when_then_expr.iter().map(|(value, _)| &**value);
            let operands: Vec<Operand<'_>> =
                iter::once(&**expr).chain(values).map(|operand| Operand::new(operand, schema)).collect();
            check_operands(&operands, |operands| {
                format!("CASE {} WHEN {} ..", operands[0], operands[1..].join(" .. WHEN "))
            })
        }
        _ => Ok(()),
    }
}

/// Checks that a comparison of the first operand with the other operands does not compare a date,
/// time or timestamp with a number. `write` returns the text of the comparison for given texts of
/// the operands.
fn check_operands(operands: &[Operand<'_>], write: impl Fn(&[String]) -> String) -> Result<()> {
    let [first, others @ ..] = operands else { return Ok(()) };
    for other in others {
        let (Some(first_type), Some(other_type)) = (&first.ty, &other.ty) else { continue };
        let (date, date_type, number) = if other_type.is_numeric() {
            (first.expr, first_type, other.expr)
        } else if first_type.is_numeric() {
            (other.expr, other_type, first.expr)
        } else {
            continue;
        };
        let (kind, part, value) = match date_type {
            DataType::Date32 | DataType::Date64 => ("date", "year", "DATE '2024-01-31'"),
            DataType::Timestamp(..) => ("timestamp", "year", "TIMESTAMP '2024-01-31 12:00:00'"),
            DataType::Time32(_) | DataType::Time64(_) => ("time", "hour", "TIME '12:00:00'"),
            _ => continue,
        };
        let plain: Vec<String> = operands.iter().map(|operand| sql_of(operand.expr)).collect();
        let extracted = operands.iter().zip(&plain).map(|(operand, text)| match operand.ty.as_ref() {
            Some(ty) if ty == date_type => format!("extract({part} FROM {text})"),
            _ => text.clone(),
        });
        let extracted: Vec<String> = extracted.collect();
        let (comparison, advice) = (write(&plain), write(&extracted));
        let (date, number) = (sql_of(date), sql_of(number));
        return Err(DataFusionError::Plan(format!(
            "`{comparison}` compares the {kind} {date} with the number {number}: write `{advice}`, or compare with a \
             {kind} such as `{value}`"
        )));
    }
    Ok(())
}

/// Returns an expression in SQL, or in DataFusion's own notation if the expression has no SQL form.
fn sql_of(expr: &Expr) -> String {
    match expr {
        Expr::Column(column) => column.quoted_flat_name(),
        Expr::Literal(value, _) => match value.try_as_str() {
            Some(Some(text)) => format!("'{text}'"),
            _ => value.to_string(),
        },
        // DataFusion has no SQL for the type of times.
        Expr::Cast(Cast { expr, field }) if matches!(field.data_type(), DataType::Time32(_) | DataType::Time64(_)) => {
            format!("CAST({} AS TIME)", sql_of(expr))
        }
        expr => expr_to_sql(expr).map_or_else(|_| expr.to_string(), |sql| sql.to_string()),
    }
}
