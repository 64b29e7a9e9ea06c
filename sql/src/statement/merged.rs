//! Merged columns of `FULL JOIN .. USING (k)` and similar joins.
//!
//! DataFusion takes `k` from the left table, where `k` is NULL in rows that only the right table
//! has. For `*`, DataFusion takes `k` from the table whose name is first in the alphabet. This
//! module rewrites such joins to `ON`, and replaces merged columns by the value that SQL defines.
//! For an inner or left join, this value is the left table's column, and for a right join, the
//! right table's column. For a full join, the value is the first of both columns that is not NULL.
//! A column qualified by a table name stays the column of that table.

use super::names::constraint;
use super::normalized;
use super::wildcards::selected_items;
use datafusion::sql::sqlparser::ast::{
    Cte, Expr, Ident, JoinConstraint, JoinOperator, ObjectName, OrderByKind, Query, Select, SelectItem, SetExpr,
    TableFactor, TableWithJoins, VisitMut, VisitorMut, With,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Returns whether a statement has a selection whose merged columns DataFusion may take from the
/// wrong table or return in the wrong order.
pub(super) fn needs_merging(statement: &mut datafusion::sql::parser::Statement) -> bool {
    struct MergeSearch(bool);
    impl VisitorMut for MergeSearch {
        type Break = ();

        fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
            self.0 |= selection_policy(select).is_some();
            ControlFlow::Continue(())
        }
    }
    let mut search = MergeSearch(false);
    super::visit(statement, &mut search);
    search.0
}

/// The consequence for a selection whose columns cannot be merged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum UnmergedPolicy {
    /// The selection stays: its rows are right, except for the order of columns.
    Keep,
    /// The statement is refused: the rows would be wrong.
    Refuse,
}

/// Returns the consequence for a selection if its columns cannot be merged; `None` if the selection
/// needs no merging.
fn selection_policy(select: &mut Select) -> Option<UnmergedPolicy> {
    let all = select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
    select.from.iter_mut().filter_map(|from| join_policy(from, all)).max()
}

/// Returns the consequence for joined tables, as [`selection_policy`] does for a selection; `all`
/// is true if all columns of the tables are selected.
fn join_policy(from: &mut TableWithJoins, all: bool) -> Option<UnmergedPolicy> {
    let factor_policy = |factor: &mut TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => join_policy(table_with_joins, all),
        _ => None,
    };
    let first = factor_policy(&mut from.relation);
    let joins = from.joins.iter_mut().map(|join| {
        let side = MergeSide::of(&join.join_operator);
        let inner = matches!(join.join_operator, JoinOperator::Join(_) | JoinOperator::Inner(_));
        let policy = match constraint(&mut join.join_operator) {
            Some(JoinConstraint::Using(_) | JoinConstraint::Natural) => match side {
                MergeSide::Right | MergeSide::Both => Some(UnmergedPolicy::Refuse),
                MergeSide::Left if !all => None,
                MergeSide::Left if inner => Some(UnmergedPolicy::Keep),
                MergeSide::Left => Some(UnmergedPolicy::Refuse),
            },
            _ => None,
        };
        policy.max(factor_policy(&mut join.relation))
    });
    joins.fold(first, Option::max)
}

/// The tables from which a merged column takes its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MergeSide {
    Left,
    Right,
    Both,
}

impl MergeSide {
    fn of(join: &JoinOperator) -> MergeSide {
        match join {
            JoinOperator::FullOuter(_) => MergeSide::Both,
            JoinOperator::Right(_)
            | JoinOperator::RightOuter(_)
            | JoinOperator::RightSemi(_)
            | JoinOperator::RightAnti(_) => MergeSide::Right,
            _ => MergeSide::Left,
        }
    }
}

/// The visitor that merges the columns of `USING` and `NATURAL` in a statement, in each selection
/// whose tables have known columns.
pub(super) struct ColumnMerger<'k> {
    /// The columns of each table, by the text of the query that selects all its columns; `None` if
    /// the query cannot be planned.
    known_columns: &'k HashMap<String, Option<Vec<String>>>,
    /// The queries for columns that are not known yet.
    pub(super) column_queries: HashMap<String, Query>,
    /// A selection that is refused, because its columns cannot be merged.
    pub(super) refused_selection: Option<String>,
    /// True if a table of the selection lacks a column of `USING`.
    has_missing_column: bool,
    /// The enclosing queries, outermost first.
    enclosing: Vec<EnclosingQuery>,
    /// The columns that the selection of each enclosing query may read; `None` if the selection is
    /// not merged.
    scopes: Vec<Option<SelectScope>>,
}

/// An enclosing query, with the common table expressions that are visible in it.
struct EnclosingQuery {
    /// Common table expressions of outer queries.
    outer_tables: Vec<Cte>,
    /// The common table expressions of this query.
    with: Option<With>,
}

impl EnclosingQuery {
    /// Returns the common table expressions that an inner query may read. If the inner query is the
    /// definition of a common table expression of this query, only the expressions before this
    /// definition are returned.
    fn visible_in(&self, query: &Query) -> Vec<Cte> {
        let own_tables = self.with.iter().flat_map(|with| &with.cte_tables);
        let own_tables = own_tables.take_while(|table| *table.query != *query).cloned();
        self.outer_tables.iter().cloned().chain(own_tables).collect()
    }
}

impl ColumnMerger<'_> {
    pub(super) fn new(known_columns: &HashMap<String, Option<Vec<String>>>) -> ColumnMerger<'_> {
        ColumnMerger {
            known_columns,
            column_queries: HashMap::new(),
            refused_selection: None,
            has_missing_column: false,
            enclosing: Vec::new(),
            scopes: Vec::new(),
        }
    }

    /// Returns the columns of a table. If the columns are not known, adds the query for the columns
    /// to `column_queries` and returns `None`. Also returns `None` if this query cannot be written
    /// or planned.
    fn columns(&mut self, factor: &TableFactor) -> Option<Vec<String>> {
        let text = format!("SELECT * FROM {factor}");
        let mut query = Parser::new(&GenericDialect).try_with_sql(&text).ok()?.parse_query().ok()?;
        let with = self.enclosing.iter().rev().find_map(|enclosing| enclosing.with.clone());
        let tables = self.enclosing.last().map(|enclosing| {
            let own_tables = enclosing.with.iter().flat_map(|with| &with.cte_tables);
            enclosing.outer_tables.iter().chain(own_tables).cloned().collect::<Vec<_>>()
        });
        if let (Some(with), Some(cte_tables)) = (with, tables.filter(|tables| !tables.is_empty())) {
            query.with = Some(With { cte_tables, ..with });
        }
        let key = query.to_string();
        match self.known_columns.get(&key) {
            Some(columns) => columns.clone(),
            None => {
                self.column_queries.insert(key, *query);
                None
            }
        }
    }

    /// Returns the columns of joined tables, and rewrites their `USING` and `NATURAL` to `ON`;
    /// returns `None` if merging is not possible.
    fn scope(&mut self, from: &mut TableWithJoins) -> Option<SelectScope> {
        let mut scope = self.factor(&mut from.relation)?;
        for join in &mut from.joins {
            let right = self.factor(&mut join.relation)?;
            let side = MergeSide::of(&join.join_operator);
            let semi = matches!(
                join.join_operator,
                JoinOperator::Semi(_)
                    | JoinOperator::Anti(_)
                    | JoinOperator::LeftSemi(_)
                    | JoinOperator::LeftAnti(_)
                    | JoinOperator::RightSemi(_)
                    | JoinOperator::RightAnti(_)
            );
            let mut names = Vec::new();
            let (left, joined) = (scope.clone(), scope.with(&right));
            match constraint(&mut join.join_operator) {
                Some(JoinConstraint::Using(columns)) => {
                    names = columns.iter().map(last_name).collect::<Option<Vec<String>>>()?;
                }
                Some(JoinConstraint::Natural) => {
                    let left = left.visible();
                    names = right.visible().into_iter().filter(|name| left.contains(name)).collect();
                }
                Some(JoinConstraint::On(condition)) => joined.replace_columns(condition),
                _ => {}
            }
            scope = joined;
            if !names.is_empty() {
                let mut equalities = Vec::new();
                for name in names {
                    // DataFusion reports a missing column itself.
                    self.has_missing_column |= [&left, &right].iter().any(|side| !side.visible().contains(&name));
                    let (a, b) = (left.value(&name)?, right.value(&name)?);
                    equalities.push(format!("{} = {}", first_value_text(&a), first_value_text(&b)));
                    scope.merge(&name, side, (&a, &b), left.tables.len());
                }
                *constraint(&mut join.join_operator)? = JoinConstraint::On(parse_expr(&equalities.join(" AND "))?);
            }
            match (semi, side) {
                (true, MergeSide::Right) => scope = right,
                (true, _) => scope = left,
                (false, _) => {}
            }
        }
        Some(scope)
    }

    fn factor(&mut self, factor: &mut TableFactor) -> Option<SelectScope> {
        let name = match factor {
            TableFactor::NestedJoin { table_with_joins, alias: None } => return self.scope(table_with_joins),
            TableFactor::Table { name, alias: None, .. } => last_name(name)?,
            TableFactor::Table { alias: Some(alias), .. }
            | TableFactor::Derived { alias: Some(alias), .. }
            | TableFactor::TableFunction { alias: Some(alias), .. }
            | TableFactor::Function { alias: Some(alias), .. }
            | TableFactor::UNNEST { alias: Some(alias), .. }
            | TableFactor::NestedJoin { alias: Some(alias), .. } => normalized(&alias.name),
            _ => return None,
        };
        let columns = self.columns(factor)?;
        Some(SelectScope { tables: vec![JoinedTable { name, columns }], merged: Vec::new() })
    }

    /// Merges the columns of one selection, and returns the columns that the selection may read;
    /// returns `None` if merging is not possible.
    fn select(&mut self, select: &mut Select) -> Option<SelectScope> {
        let mut from = select.from.clone();
        let mut scope = SelectScope::default();
        for tables in &mut from {
            scope = scope.with(&self.scope(tables)?);
        }
        let mut projection = Vec::new();
        for item in std::mem::take(&mut select.projection) {
            match item {
                SelectItem::Wildcard(options) => match selected_items(&options, scope.all()) {
                    Some(mut items) => {
                        let _ = items.visit(&mut ColumnReplacer { scope: &scope, depth: 0 });
                        projection.extend(items);
                    }
                    None => {
                        select.projection = projection;
                        return None;
                    }
                },
                SelectItem::UnnamedExpr(Expr::Identifier(ident)) if scope.is_merged(&normalized(&ident)) => {
                    let name = normalized(&ident);
                    projection.push(scope.item(&name));
                }
                mut item => {
                    let _ = item.visit(&mut ColumnReplacer { scope: &scope, depth: 0 });
                    projection.push(item);
                }
            }
        }
        // Only conditions, groups and windows are left.
        select.from.clear();
        let _ = select.visit(&mut ColumnReplacer { scope: &scope, depth: 0 });
        select.projection = projection;
        select.from = from;
        Some(scope)
    }
}

impl VisitorMut for ColumnMerger<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let outer_tables = self.enclosing.last().map(|enclosing| enclosing.visible_in(query)).unwrap_or_default();
        self.enclosing.push(EnclosingQuery { outer_tables, with: query.with.clone() });
        self.scopes.push(None);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.enclosing.pop();
        let Some(Some(scope)) = self.scopes.pop() else { return ControlFlow::Continue(()) };
        let SetExpr::Select(select) = query.body.as_ref() else { return ControlFlow::Continue(()) };
        let named: Vec<String> = select.projection.iter().filter_map(output_name).collect();
        if let Some(OrderByKind::Expressions(keys)) = query.order_by.as_mut().map(|order| &mut order.kind) {
            for key in keys {
                match &key.expr {
                    Expr::Identifier(ident) if named.contains(&normalized(ident)) => {}
                    _ => scope.replace_columns(&mut key.expr),
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if let Some(policy) = selection_policy(select) {
            let original = select.clone();
            self.has_missing_column = false;
            let scope = self.select(select);
            if scope.is_none() {
                *select = original;
                if policy == UnmergedPolicy::Refuse && !self.has_missing_column {
                    self.refused_selection = Some(select.to_string());
                }
            }
            if let Some(last) = self.scopes.last_mut() {
                *last = scope;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the name of a result column; `None` for `*`, and for an expression that is neither named
/// nor a column.
fn output_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normalized(alias)),
        SelectItem::UnnamedExpr(Expr::Identifier(ident)) => Some(normalized(ident)),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last().map(normalized),
        _ => None,
    }
}

fn last_name(name: &ObjectName) -> Option<String> {
    name.0.last()?.as_ident().map(normalized)
}

/// A joined table.
#[derive(Clone, Debug)]
struct JoinedTable {
    name: String,
    columns: Vec<String>,
}

/// A merged column of several tables.
#[derive(Clone, Debug)]
struct MergedColumn {
    name: String,
    /// The columns as SQL. The value of the merged column is the first value of these columns that
    /// is not NULL.
    parts: Vec<String>,
    /// The tables that have the column. The first table determines the position of the merged
    /// column.
    tables: Vec<usize>,
}

/// The columns that a selection may read.
#[derive(Clone, Default, Debug)]
struct SelectScope {
    tables: Vec<JoinedTable>,
    merged: Vec<MergedColumn>,
}

impl SelectScope {
    /// Returns the columns of both scopes.
    fn with(&self, other: &SelectScope) -> SelectScope {
        let first = self.tables.len();
        let shifted = other.merged.iter().map(|merged| {
            let tables = merged.tables.iter().map(|table| table + first).collect();
            MergedColumn { tables, ..merged.clone() }
        });
        SelectScope {
            tables: [&self.tables[..], &other.tables[..]].concat(),
            merged: self.merged.iter().cloned().chain(shifted).collect(),
        }
    }

    /// Returns the tables that have an unmerged column of this name.
    fn owners(&self, name: &str) -> Vec<usize> {
        let is_merged = |table: usize| self.merged.iter().any(|m| m.name == name && m.tables.contains(&table));
        let has = |table: &usize| self.tables[*table].columns.iter().any(|column| column == name);
        (0..self.tables.len()).filter(has).filter(|&table| !is_merged(table)).collect()
    }

    fn find(&self, name: &str) -> Option<&MergedColumn> {
        let mut matches = self.merged.iter().filter(|merged| merged.name == name);
        matches.next().filter(|_| matches.next().is_none())
    }

    /// Returns whether a name refers to one merged column and to no other column.
    fn is_merged(&self, name: &str) -> bool {
        self.find(name).is_some() && self.owners(name).is_empty()
    }

    /// Returns the columns that a name stands for; `None` if the name is ambiguous or unknown.
    fn value(&self, name: &str) -> Option<Vec<String>> {
        match (self.find(name), &self.owners(name)[..]) {
            (Some(merged), []) => Some(merged.parts.clone()),
            (None, [table]) => Some(vec![column_text(&self.tables[*table].name, name)]),
            _ => None,
        }
    }

    /// Merges the columns of a name on both sides of a join; tables with index `right` or above are
    /// on the right side.
    fn merge(&mut self, name: &str, side: MergeSide, (a, b): (&[String], &[String]), right: usize) {
        let mut tables: Vec<usize> = self.owners(name);
        self.merged.iter().filter(|m| m.name == name).for_each(|m| tables.extend(&m.tables));
        tables.sort_unstable();
        self.merged.retain(|m| m.name != name);
        debug_assert!(tables.first().is_some_and(|&table| table < right));
        let parts = match side {
            MergeSide::Left => a.to_vec(),
            MergeSide::Right => b.to_vec(),
            MergeSide::Both => [a, b].concat(),
        };
        self.merged.push(MergedColumn { name: name.to_owned(), parts, tables });
    }

    /// Returns the names of all columns; a merged column occurs once.
    fn visible(&self) -> Vec<String> {
        self.each(|_, name, _| name.to_owned())
    }

    /// Returns the names of all columns with the columns as items of a selection.
    fn all(&self) -> Vec<(String, SelectItem)> {
        self.each(|table, name, merged| match merged {
            Some(_) => (name.to_owned(), self.item(name)),
            None => {
                let column = Expr::CompoundIdentifier(vec![quoted(&table.name), quoted(name)]);
                (name.to_owned(), SelectItem::UnnamedExpr(column))
            }
        })
    }

    fn each<T>(&self, make: impl Fn(&JoinedTable, &str, Option<&MergedColumn>) -> T) -> Vec<T> {
        let mut results = Vec::new();
        for (index, table) in self.tables.iter().enumerate() {
            for name in &table.columns {
                let merged = self.merged.iter().find(|m| m.name == *name && m.tables.contains(&index));
                if merged.is_none_or(|merged| merged.tables[0] == index) {
                    results.push(make(table, name, merged));
                }
            }
        }
        results
    }

    /// Returns a merged column as an item of a selection.
    fn item(&self, name: &str) -> SelectItem {
        let expr = self.find(name).and_then(|merged| parse_expr(&first_value_text(&merged.parts)));
        let expr = expr.unwrap_or_else(|| Expr::Identifier(quoted(name)));
        SelectItem::ExprWithAlias { expr, alias: quoted(name) }
    }

    fn replace_columns(&self, expr: &mut Expr) {
        let _ = expr.visit(&mut ColumnReplacer { scope: self, depth: 0 });
    }
}

/// The visitor that replaces the names of merged columns by their values, except in subqueries.
struct ColumnReplacer<'s> {
    scope: &'s SelectScope,
    depth: usize,
}

impl VisitorMut for ColumnReplacer<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let (Expr::Identifier(ident), 0) = (&*expr, self.depth) {
            let name = normalized(ident);
            if self.scope.is_merged(&name)
                && let Some(value) = self.scope.value(&name).and_then(|parts| parse_expr(&first_value_text(&parts)))
            {
                *expr = value;
            }
        }
        ControlFlow::Continue(())
    }
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

fn column_text(table: &str, column: &str) -> String {
    format!("{}.{}", quoted(table), quoted(column))
}

/// Returns the first non-NULL value of columns, as SQL.
fn first_value_text(parts: &[String]) -> String {
    match parts {
        [part] => part.clone(),
        parts => format!("coalesce({})", parts.join(", ")),
    }
}

fn parse_expr(text: &str) -> Option<Expr> {
    Parser::new(&GenericDialect).try_with_sql(text).ok()?.parse_expr().ok()
}
