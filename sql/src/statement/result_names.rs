//! Names of result columns that a statement does not name by `AS`.
//!
//! DataFusion names an expression by its plan, as in `count(*) * Int64(2)`, and refuses two columns
//! of the same name. Here, an expression with literals is named by its SQL instead, and a number is
//! added to a repeated name.

use super::{normalized, visit};
use crate::unique_name::unique_name;
use datafusion::error::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Expr, Ident, Select, SelectItem, SetExpr, VisitorMut, visit_expressions};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The start of DataFusion's message on two columns with the same name.
const REPEATED: &str = "Projections require unique expression names";

/// The largest number of parts of an expression that is named by its SQL.
const MAX_PARTS: usize = 32;

/// Names expressions of a query's selection by their SQL: the expressions without `AS` that
/// [`has_literal`] accepts. Names within subqueries stay, because the statement may refer to them.
pub(super) fn name_expressions(statement: &mut Statement) {
    let Statement::Statement(statement) = statement else { return };
    let ast::Statement::Query(query) = &mut **statement else { return };
    let SetExpr::Select(select) = &mut *query.body else { return };
    let mut names = BTreeSet::new();
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        if has_literal(expr) {
            let expr = expr.clone();
            let name = unique_name(&expr.to_string(), &mut names);
            *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) };
        }
    }
}

/// Returns whether an expression of at most [`MAX_PARTS`] parts contains a literal, and no
/// subquery.
fn has_literal(expr: &Expr) -> bool {
    let (mut has_literal, mut parts) = (false, 0);
    let visited = visit_expressions(expr, |part| {
        parts += 1;
        has_literal |= matches!(part, Expr::Value(_) | Expr::TypedString(_) | Expr::Interval(_));
        match part {
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => ControlFlow::Break(()),
            _ if parts > MAX_PARTS => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    visited.is_continue() && has_literal
}

/// Adds numbers to the names of repeated columns if an error says that a name is repeated. Returns
/// whether the statement was changed.
pub(super) fn number_repeated(statement: &mut Statement, error: &DataFusionError) -> bool {
    if !matches!(error.find_root(), DataFusionError::Plan(text) if text.starts_with(REPEATED)) {
        return false;
    }
    let mut numbering = RepeatedColumns { changed: false };
    visit(statement, &mut numbering);
    numbering.changed
}

/// The visitor that names the repeated columns of each selection.
struct RepeatedColumns {
    changed: bool,
}

impl VisitorMut for RepeatedColumns {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let items = select.projection.iter();
        let mut names: BTreeSet<String> = items
            .filter_map(|item| match item {
                SelectItem::UnnamedExpr(expr) => Some(own_name(expr)),
                SelectItem::ExprWithAlias { alias, .. } => Some(normalized(alias)),
                _ => None,
            })
            .collect();
        let mut selected = BTreeSet::new();
        for item in &mut select.projection {
            let SelectItem::UnnamedExpr(expr) = item else { continue };
            let is_first = match &*expr {
                Expr::Identifier(ident) => selected.insert(normalized(ident)),
                Expr::CompoundIdentifier(parts) => {
                    selected.insert(parts.iter().map(normalized).collect::<Vec<_>>().join("."))
                }
                expr => selected.insert(expr.to_string()),
            };
            if !is_first {
                let expr = expr.clone();
                let name = unique_name(&own_name(&expr), &mut names);
                *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) };
                self.changed = true;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the name of a column, or the SQL of another expression.
fn own_name(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(ident) => normalized(ident),
        Expr::CompoundIdentifier(parts) => parts.last().map(normalized).unwrap_or_default(),
        expr => expr.to_string(),
    }
}
