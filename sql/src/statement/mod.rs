//! From a statement to DataFusion's plan. Merged columns and names in another case are corrected
//! first.

mod deep;
mod merged;
mod names;

pub(crate) use deep::on_deep_stack;
pub use deep::{STACK, deep};

use crate::database::Database;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, VisitMut, VisitorMut};
use futures::FutureExt;
use futures::future::BoxFuture;
use merged::Merge;
use std::collections::{BTreeSet, HashMap};

/// The largest number of names that are respelled in one statement.
const MOST_NAMES: usize = 1000;

impl Database {
    /// Plans a statement.
    ///
    /// # Errors
    /// If the statement does not fit the registered tables.
    pub(crate) fn plan(&self, mut statement: Statement) -> BoxFuture<'_, Result<LogicalPlan>> {
        let planned = async move {
            let mut first = None;
            for _ in 0..MOST_NAMES {
                let merged = self.with_merged_columns(&statement).await?;
                let error = match self.context().state().statement_to_plan(merged).await {
                    Ok(plan) => return Ok(plan),
                    Err(error) => error,
                };
                // No table has the name in lower case, so another spelling is tried.
                let columns = self.columns_of(&statement).await;
                let found = names::respell(&mut statement, &error, &columns);
                let error = first.get_or_insert(error);
                if !found {
                    return Err(std::mem::replace(error, DataFusionError::Plan(String::new())));
                }
            }
            Err(first.unwrap_or_else(|| DataFusionError::Plan("the statement names too many columns".into())))
        };
        planned.boxed()
    }

    /// Returns the columns of all tables that a statement reads.
    async fn columns_of(&self, statement: &Statement) -> BTreeSet<String> {
        let mut columns = BTreeSet::new();
        for table in self.context().state().resolve_table_references(statement).unwrap_or_default() {
            if let Ok(provider) = self.context().table_provider(table).await {
                columns.extend(provider.schema().fields().iter().map(|field| field.name().clone()));
            }
        }
        columns
    }

    /// Returns the statement with the columns of `USING` merged where DataFusion would take those
    /// of one table.
    async fn with_merged_columns(&self, statement: &Statement) -> Result<Statement> {
        let mut statement = statement.clone();
        if !merged::has_merged_columns(&mut statement) {
            return Ok(statement);
        }
        let mut known = HashMap::new();
        loop {
            let mut attempt = statement.clone();
            let mut merge = Merge::new(&known);
            visit(&mut attempt, &mut merge);
            if merge.wanted.is_empty() {
                if let Some(selection) = merge.refused {
                    return Err(DataFusionError::Plan(format!(
                        "the columns of USING or NATURAL cannot be merged in `{selection}`; give its tables names and name \
                         the columns, or write `ON` and `coalesce`"
                    )));
                }
                statement = attempt;
                return Ok(statement);
            }
            for (text, query) in std::mem::take(&mut merge.wanted) {
                let query = Statement::Statement(Box::new(ast::Statement::Query(Box::new(query))));
                let columns = self.plan(query).await.ok();
                let columns = columns.map(|plan| plan.schema().fields().iter().map(|f| f.name().clone()).collect());
                known.insert(text, columns);
            }
        }
    }
}

/// Visits the SQL syntax trees of a statement.
fn visit<V: VisitorMut<Break = ()>>(statement: &mut Statement, visitor: &mut V) {
    use datafusion::sql::parser::CopyToSource;
    let _ = match statement {
        Statement::Statement(statement) => statement.visit(visitor),
        Statement::Explain(explain) => {
            visit(&mut explain.statement, visitor);
            return;
        }
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.visit(visitor),
            CopyToSource::Relation(_) => return,
        },
        Statement::CreateExternalTable(_) | Statement::Reset(_) => return,
    };
}

/// Returns the name that an identifier stands for: in lower case unless it is quoted.
fn normalized(ident: &ast::Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}
