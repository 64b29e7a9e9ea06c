//! Planning of a statement by DataFusion, after these corrections:
//!
//! - a `FROM` without a `SELECT` becomes a selection of all columns;
//! - keywords such as `user` become names of columns;
//! - expressions get names;
//! - named files become tables;
//! - merged columns, and names of columns in another case, are corrected.
//!
//! The files of `CREATE EXTERNAL TABLE` and `COPY`, accesses to fields, and comparisons of dates
//! are checked. The plan is then completed: a declared file gets its format and columns, a `COPY`
//! writes one file or a folder, and `RESET` of an option of redpoll becomes `SET`.

mod choices;
mod copy_target;
mod declared_files;
mod deep_stack;
mod described;
mod field_access;
mod file_types;
mod foreign_functions;
mod from_first;
mod function_names;
mod keyword_columns;
mod merged;
mod named_files;
mod names;
mod option_names;
mod place;
mod result_names;
mod wildcards;

pub(crate) use declared_files::declared_input;
pub(crate) use deep_stack::on_deep_stack;
pub use deep_stack::{STACK_SIZE, with_deep_stack};
pub(crate) use described::describe_as_query;
pub(crate) use option_names::changed_option;

use crate::comparisons::check_dates;
use crate::database::Database;
use copy_target::{check_target, with_output_mode};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, VisitMut, VisitorMut};
use field_access::{check_fields, with_outer_table};
use from_first::ColumnSelector;
use futures::FutureExt;
use futures::future::BoxFuture;
use keyword_columns::KeywordColumns;
use merged::ColumnMerger;
use option_names::set_to_default;
use result_names::{name_expressions, number_repeated};
use std::collections::{BTreeSet, HashMap};

/// The largest number of times that names of one statement are corrected after an error of
/// DataFusion.
const MAX_RESPELLINGS: usize = 1000;

impl Database {
    /// Plans a statement.
    ///
    /// # Errors
    /// If the statement does not fit the registered tables, names a file that cannot be read,
    /// writes a file whose type or folder does not exist, or has columns of `USING` that cannot be
    /// merged.
    pub(crate) fn plan(&self, mut statement: Statement) -> BoxFuture<'_, Result<LogicalPlan>> {
        let plan = async move {
            visit(&mut statement, &mut ColumnSelector);
            visit(&mut statement, &mut KeywordColumns(&self.context().state()));
            name_expressions(&mut statement);
            check_target(&self.context().state(), &statement)?;
            self.add_named_files(&mut statement).await?;
            let mut respelled_errors = Vec::new();
            for _ in 0..MAX_RESPELLINGS {
                let merged = self.with_merged_columns(&statement).await?;
                let planned = match self.check_replaced(&merged).await {
                    Ok(()) => self.context().state().statement_to_plan(merged).await,
                    Err(error) => Err(error),
                };
                let error = match planned {
                    Ok(plan) => {
                        if let Err(error) = check_fields(&plan) {
                            let columns = self.columns_of(&statement).await;
                            return Err(with_outer_table(&mut statement, error, &columns));
                        }
                        check_dates(&plan)?;
                        let plan = with_output_mode(&self.context().state(), set_to_default(plan))?;
                        return self.complete_declaration(plan).await;
                    }
                    Err(error) => error,
                };
                if number_repeated(&mut statement, &error) {
                    continue;
                }
                // If a table lacks a name in lower case, another spelling of the name is tried.
                let columns = self.columns_of(&statement).await;
                let respelled = names::respell(&mut statement, &error, &columns);
                if !respelled {
                    // If the other spelling is missing as well, the error names the user's own
                    // spelling.
                    let is_same = |earlier: &DataFusionError| names::misses_same_name(earlier, &error);
                    let earlier = respelled_errors.into_iter().find(is_same);
                    let error = self.with_similar_tables(earlier.unwrap_or(error));
                    return Err(self.with_similar_options(self.with_functions(error)));
                }
                respelled_errors.push(error);
            }
            Err(DataFusionError::Plan(format!(
                "the statement has more than {MAX_RESPELLINGS} column names in another case; quote them"
            )))
        };
        plan.boxed()
    }

    /// Checks that the columns exist that a statement replaces in `* REPLACE (..)`.
    async fn check_replaced(&self, statement: &Statement) -> Result<()> {
        let Some(excluding) = wildcards::with_excluded_replacements(statement) else { return Ok(()) };
        match self.context().state().statement_to_plan(excluding).await {
            Err(error) if names::misses_column(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Adds the tables with similar names to the error for a table that does not exist, and omits
    /// the default catalog and schema from the name of the missing table.
    fn with_similar_tables(&self, error: DataFusionError) -> DataFusionError {
        let DataFusionError::Plan(text) = error.find_root() else { return error };
        let missing = text.strip_prefix("table '").and_then(|rest| rest.strip_suffix("' not found"));
        let Some(missing) = missing else { return error };
        let state = self.context().state();
        let defaults = &state.config_options().catalog;
        let (catalog, schema) = (&defaults.default_catalog, &defaults.default_schema);
        let missing = missing.strip_prefix(&format!("{catalog}.")).unwrap_or(missing);
        let missing = missing.strip_prefix(&format!("{schema}.")).unwrap_or(missing);
        let name = missing.rsplit('.').next().unwrap_or(missing);
        let schema = self.context().catalog(catalog).and_then(|catalog| catalog.schema(schema));
        let tables = schema.map_or_else(Vec::new, |schema| schema.table_names());
        let similar = redpoll_logic::Error::unknown("table", name, tables.iter().map(String::as_str)).to_string();
        let guess = similar.find("; ").map_or("", |at| &similar[at..]);
        DataFusionError::Plan(format!("table '{missing}' not found{guess}"))
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

    /// Returns the statement with the columns of `USING` and `NATURAL` merged, in the selections
    /// that need it (see [`merged`]).
    async fn with_merged_columns(&self, statement: &Statement) -> Result<Statement> {
        let mut statement = statement.clone();
        if !merged::needs_merging(&mut statement) {
            return Ok(statement);
        }
        let mut known_columns = HashMap::new();
        loop {
            let mut attempt = statement.clone();
            let mut merger = ColumnMerger::new(&known_columns);
            visit(&mut attempt, &mut merger);
            if merger.column_queries.is_empty() {
                if let Some(selection) = merger.refused_selection {
                    return Err(DataFusionError::Plan(format!(
                        "the columns of USING or NATURAL cannot be merged in `{selection}`; give its tables aliases and \
                         list the columns, or write `ON` and `coalesce`"
                    )));
                }
                statement = attempt;
                return Ok(statement);
            }
            for (text, query) in std::mem::take(&mut merger.column_queries) {
                let query = Statement::Statement(Box::new(ast::Statement::Query(Box::new(query))));
                let columns = self.plan(query).await.ok();
                let columns = columns.map(|plan| plan.schema().fields().iter().map(|f| f.name().clone()).collect());
                known_columns.insert(text, columns);
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

/// Returns the name that an identifier means. The name is in lower case if the identifier has no
/// quotes.
fn normalized(ident: &ast::Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}
