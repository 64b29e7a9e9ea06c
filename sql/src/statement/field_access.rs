//! Errors on `boat.id` within a subquery over a table that has a column `boat`. DataFusion takes
//! `boat.id` for a field of this column, although the user means a column of the outer table
//! `boat`.

use super::{normalized, visit};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr as AstExpr, ObjectNamePart, TableFactor, VisitorMut};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The start of DataFusion's message on a field of a value that has no fields.
const NO_FIELDS: &str = "Cannot access field at argument ";

/// Checks that a plan accesses only fields of values that have fields. DataFusion's own check runs
/// after planning, when the names of the statement are lost.
///
/// # Errors
/// If a value has no fields.
pub(super) fn check_fields(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        node.apply_expressions(|expr| {
            expr.apply(|part| match part {
                Expr::ScalarFunction(function) if function.name() == "get_field" => match part.get_type(&schema) {
                    Err(error) if has_no_fields(&error) => Err(error),
                    _ => Ok(TreeNodeRecursion::Continue),
                },
                _ => Ok(TreeNodeRecursion::Continue),
            })
        })
    })?;
    Ok(())
}

fn has_no_fields(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::Plan(text) | DataFusionError::Execution(text) => text.starts_with(NO_FIELDS),
        _ => false,
    }
}

/// Replaces the error on a value that has no fields by advice, if the statement has a name
/// `table.column` whose table has the same name as a column. Other errors are returned unchanged.
/// `columns` are the columns of all tables of the statement.
pub(super) fn with_outer_table(
    statement: &mut Statement,
    error: DataFusionError,
    columns: &BTreeSet<String>,
) -> DataFusionError {
    if !has_no_fields(&error) {
        return error;
    }
    let mut names = QualifiedNames { tables: BTreeSet::new(), names: Vec::new() };
    visit(statement, &mut names);
    let QualifiedNames { tables, names } = names;
    let ambiguous = names.iter().find(|(table, _)| tables.contains(table) && columns.contains(table));
    let Some((table, column)) = ambiguous else { return error };
    DataFusionError::Plan(format!(
        "`{table}.{column}` in a subquery is read as the field `{column}` of a column `{table}`; give the table \
         `{table}` another name, as in `FROM {table} AS outer_{table}`, and write `outer_{table}.{column}`"
    ))
}

/// The visitor that finds the names of tables, and pairs of names `table.column`.
struct QualifiedNames {
    tables: BTreeSet<String>,
    names: Vec<(String, String)>,
}

impl VisitorMut for QualifiedNames {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let name = match &*factor {
            TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
                Some(normalized(&alias.name))
            }
            TableFactor::Table { name, .. } => name.0.last().and_then(ObjectNamePart::as_ident).map(normalized),
            _ => None,
        };
        self.tables.extend(name);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut AstExpr) -> ControlFlow<()> {
        if let AstExpr::CompoundIdentifier(parts) = expr
            && let [table, column] = &parts[..]
        {
            self.names.push((normalized(table), normalized(column)));
        }
        ControlFlow::Continue(())
    }
}
