//! The names of tables and functions that a statement uses.

use redpoll::sql::datafusion::common::TableReference;
use redpoll::sql::datafusion::error::Result;
use redpoll::sql::datafusion::execution::SessionState;
use redpoll::sql::datafusion::prelude::SessionContext;
use redpoll::sql::datafusion::sql::parser::{CopyToSource, Statement};
use redpoll::sql::datafusion::sql::sqlparser::ast::{
    self, Expr, ObjectName, ObjectType, TableObject, Visit, visit_expressions,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The names that a statement uses, each with a flag that is true if the database has the name.
pub(super) struct Names {
    pub(super) tables: BTreeMap<String, bool>,
    pub(super) functions: BTreeMap<String, bool>,
}

/// Returns the unqualified names of the tables and functions that a statement uses. The names
/// exclude common table expressions, and the tables that a statement creates, fills or drops.
///
/// # Errors
/// If a name has more parts than catalog, schema and table.
pub(super) fn names_of(context: &SessionContext, statement: &Statement) -> Result<Names> {
    let state = context.state();
    let targets = targets_of(statement);
    let mut tables = BTreeMap::new();
    for reference in state.resolve_table_references(statement)? {
        if let TableReference::Bare { table } = &reference
            && !targets.contains(&table.to_string())
        {
            let is_known = context.table_exist(reference.clone()).unwrap_or(false);
            tables.insert(table.to_string(), is_known);
        }
    }
    let mut functions = BTreeMap::new();
    each_function(statement, &mut |name| {
        let is_known = has_function(&state, &name);
        functions.insert(name, is_known);
    });
    Ok(Names { tables, functions })
}

fn has_function(state: &SessionState, name: &str) -> bool {
    state.scalar_functions().contains_key(name)
        || state.aggregate_functions().contains_key(name)
        || state.window_functions().contains_key(name)
        || state.higher_order_functions().contains_key(name)
        || state.table_functions().contains_key(name)
}

/// Calls `found` with the unqualified name of each function that an expression of a statement
/// calls. The options of `CREATE EXTERNAL TABLE` are not searched.
fn each_function(statement: &Statement, found: &mut impl FnMut(String)) {
    match statement {
        Statement::Statement(statement) => visit_functions(&**statement, found),
        Statement::Explain(explain) => each_function(&explain.statement, found),
        Statement::CopyTo(copy) => {
            if let CopyToSource::Query(query) = &copy.source {
                visit_functions(&**query, found);
            }
        }
        Statement::CreateExternalTable(_) | Statement::Reset(_) => {}
    }
}

fn visit_functions(tree: &impl Visit, found: &mut impl FnMut(String)) {
    let _ = visit_expressions(tree, |expr| {
        if let Expr::Function(function) = expr
            && let Some(name) = bare_name(&function.name)
        {
            found(name);
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Returns the unqualified names of the tables that a `CREATE TABLE`, `CREATE EXTERNAL TABLE`,
/// `CREATE VIEW`, `INSERT` or `DROP` creates, fills or drops, explained or not; nothing for other
/// statements.
fn targets_of(statement: &Statement) -> Vec<String> {
    let statement = match statement {
        Statement::Statement(statement) => statement,
        Statement::Explain(explain) => return targets_of(&explain.statement),
        Statement::CreateExternalTable(create) => return bare_name(&create.name).into_iter().collect(),
        Statement::CopyTo(_) | Statement::Reset(_) => return Vec::new(),
    };
    let names: Vec<&ObjectName> = match &**statement {
        ast::Statement::CreateTable(create) => vec![&create.name],
        ast::Statement::CreateView(create) => vec![&create.name],
        ast::Statement::Insert(insert) => match &insert.table {
            TableObject::TableName(name) => vec![name],
            _ => Vec::new(),
        },
        ast::Statement::Drop { object_type: ObjectType::Table | ObjectType::View, names, .. } => names.iter().collect(),
        _ => Vec::new(),
    };
    names.into_iter().filter_map(bare_name).collect()
}

/// Returns an unqualified name, in lower case unless the name is quoted; `None` for a qualified
/// name, or a name that is no identifier.
fn bare_name(name: &ObjectName) -> Option<String> {
    let [part] = &name.0[..] else { return None };
    let ident = part.as_ident()?;
    Some(match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    })
}
