//! The origin of a leaf's rows, in a form that does not depend on the leaf's alias.

use super::join::{as_leaf_column, replace_columns, to_plan_columns};
use datafusion::catalog::TableProvider;
use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableScan, TableScanBuilder};
use std::sync::Arc;

/// The rows of a leaf, and the expressions that are computed from these rows.
#[derive(Clone, Debug)]
pub(super) struct LeafOrigin {
    rows: LeafRowsPlan,
    /// Conditions that rows must pass.
    conditions: Vec<Expr>,
    /// The expressions, one per column.
    exprs: Vec<Expr>,
}

/// The plan of the rows.
#[derive(Clone, Debug)]
enum LeafRowsPlan {
    /// A table; conditions and expressions may read all its columns.
    Scan(TableScan, Arc<dyn TableProvider>),
    /// Any other plan.
    Plan(LogicalPlan),
}

impl LeafOrigin {
    /// Returns the rows of a leaf's plan that pass the conditions, and the leaf's expressions over
    /// these rows.
    pub(super) fn new<'a>(
        plan: &LogicalPlan,
        conditions: impl Iterator<Item = &'a Expr> + Clone,
        exprs: &[Expr],
    ) -> (LeafOrigin, Vec<Expr>) {
        if let Some((scan, provider, filters)) = find_scan(plan) {
            let of_table =
                |e: &Expr| replace_columns(e, |column| as_leaf_column(column).map(|(_, k)| scan_column(&scan, k)));
            let conditions = filters.into_iter().chain(conditions.clone().map(of_table)).collect();
            let exprs = exprs.iter().map(of_table).collect();
            return (LeafOrigin { rows: LeafRowsPlan::Scan(scan, provider), conditions, exprs: Vec::new() }, exprs);
        }
        let plan = strip_aliases(plan);
        let conditions = conditions.map(|c| to_plan_columns(c, plan)).collect();
        let exprs = exprs.iter().map(|e| to_plan_columns(e, plan)).collect();
        (LeafOrigin { rows: LeafRowsPlan::Plan(plan.clone()), conditions, exprs: Vec::new() }, exprs)
    }

    /// Returns whether both origins are known to give the same rows; false if a condition or the
    /// plan of the rows has a volatile expression.
    pub(super) fn has_same_rows(&self, other: &LeafOrigin) -> bool {
        let rows = match (&self.rows, &other.rows) {
            (LeafRowsPlan::Scan(a, p), LeafRowsPlan::Scan(b, q)) => {
                a.table_name == b.table_name && a.filters == b.filters && Arc::ptr_eq(p, q)
            }
            (LeafRowsPlan::Plan(a), LeafRowsPlan::Plan(b)) => have_same_rows(a, b),
            _ => false,
        };
        rows && self.conditions == other.conditions && !self.conditions.iter().any(Expr::is_volatile)
    }

    /// Returns the index of the column of an expression; adds a column if the expression has none.
    pub(super) fn column(&mut self, expr: Expr) -> usize {
        self.exprs.iter().position(|e| *e == expr).unwrap_or_else(|| self.add_column(expr))
    }

    /// Adds a column for an expression, even if the expression has a column already. In the rows
    /// that an outer join adds, the key columns get the keys of the other leaf, so other uses of
    /// the same expression need a column of their own.
    pub(super) fn add_column(&mut self, expr: Expr) -> usize {
        self.exprs.push(expr);
        self.exprs.len() - 1
    }

    /// Returns the scanned table and all conditions on its rows; `None` if the rows come from any
    /// other plan.
    pub(super) fn scan(&self) -> Option<(&Arc<dyn TableProvider>, Vec<&Expr>)> {
        match &self.rows {
            LeafRowsPlan::Scan(scan, provider) => {
                Some((provider, scan.filters.iter().chain(&self.conditions).collect()))
            }
            LeafRowsPlan::Plan(_) => None,
        }
    }

    /// Returns the plan that computes the columns.
    pub(super) fn plan(self) -> Result<LogicalPlan> {
        let read_exprs = self.exprs.iter().chain(&self.conditions);
        let mut builder = LogicalPlanBuilder::from(match self.rows {
            LeafRowsPlan::Plan(plan) => plan,
            LeafRowsPlan::Scan(scan, _) => {
                let schema = scan.source.schema();
                let is_read = |k: &usize| {
                    let name = schema.field(*k).name();
                    read_exprs.clone().any(|e| e.column_refs().iter().any(|column| column.name == *name))
                };
                let projection: Vec<usize> = (0..schema.fields().len()).filter(is_read).collect();
                let scan = TableScanBuilder::new(scan.table_name, scan.source).with_filters(scan.filters);
                LogicalPlan::TableScan(scan.with_projection(Some(projection)).build()?)
            }
        });
        for condition in self.conditions {
            builder = builder.filter(condition)?;
        }
        let mut exprs = self.exprs;
        if exprs.is_empty() {
            exprs.push(Expr::Literal(ScalarValue::from(true), None));
        }
        builder.project(exprs.into_iter().enumerate().map(|(k, e)| e.alias(format!("c{k}"))))?.build()
    }
}

/// Returns the plan below its aliases, which has the same columns in the same order.
fn strip_aliases(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => strip_aliases(&alias.input),
        plan => plan,
    }
}

/// Returns the scan below aliases and filters, the scanned table, and the filters over the columns
/// of the scan; `None` for other plans, and for a scan with a limit. Aliases and filters do not
/// change the columns.
fn find_scan(plan: &LogicalPlan) -> Option<(TableScan, Arc<dyn TableProvider>, Vec<Expr>)> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => find_scan(&alias.input),
        LogicalPlan::Filter(filter) => {
            let (scan, provider, mut filters) = find_scan(&filter.input)?;
            let schema = filter.input.schema();
            for condition in split_conjunction(&filter.predicate) {
                filters.push(replace_columns(condition, |column| {
                    schema.maybe_index_of_column(column).map(|k| scan_column(&scan, k))
                }));
            }
            Some((scan, provider, filters))
        }
        LogicalPlan::TableScan(scan) if scan.fetch.is_none() => {
            let provider = source_as_provider(&scan.source).ok()?;
            Some((scan.clone(), provider, Vec::new()))
        }
        _ => None,
    }
}

/// Returns column `k` of a scan, by its name in the table.
fn scan_column(scan: &TableScan, k: usize) -> Expr {
    let schema = scan.source.schema();
    let index = scan.projection.as_ref().map_or(k, |projection| projection[k]);
    Expr::Column(Column::new(Some(scan.table_name.clone()), schema.field(index).name()))
}

/// Returns whether two plans are known to give the same rows: they are equal and have no volatile
/// expression. Equal plans may read different tables of the same name, so the tables are compared,
/// too.
fn have_same_rows(a: &LogicalPlan, b: &LogicalPlan) -> bool {
    let tables = |plan: &LogicalPlan| {
        let mut tables = Some(Vec::new());
        plan.apply(|node| {
            if node.expressions().iter().any(Expr::is_volatile) {
                tables = None;
            }
            if let LogicalPlan::TableScan(scan) = node {
                let provider = source_as_provider(&scan.source).ok();
                tables = tables.take().zip(provider).map(|(tables, provider)| [tables, vec![provider]].concat());
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .expect("visiting a plan cannot fail");
        tables
    };
    let same = |(a, b): (Vec<_>, Vec<_>)| a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| Arc::ptr_eq(a, b));
    a == b && tables(a).zip(tables(b)).is_some_and(same)
}
