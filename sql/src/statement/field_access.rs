//! Errors on `boat.id` within a subquery over a table that has a column `boat`. DataFusion takes
//! the name for a field of this column, although it names a column of the outer table `boat`.

use super::{normalized, visit};
use datafusion::error::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, ObjectNamePart, TableFactor, VisitorMut};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The start of DataFusion's message on a field of a value that has no fields.
const NO_FIELDS: &str = "Cannot access field at argument ";

/// Names the column of a table that has the name of a column, in the error on a value that has no
/// fields. Other errors are returned unchanged. `columns` are the columns of all tables of the
/// statement.
pub(super) fn with_outer_table(
    statement: &mut Statement,
    error: DataFusionError,
    columns: &BTreeSet<String>,
) -> DataFusionError {
    if !matches!(error.find_root(), DataFusionError::Execution(text) if text.starts_with(NO_FIELDS)) {
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

/// The visitor that finds the names of tables, and the names of columns with their tables.
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

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [table, column] = &parts[..]
        {
            self.names.push((normalized(table), normalized(column)));
        }
        ControlFlow::Continue(())
    }
}
