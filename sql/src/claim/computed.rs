//! Expressions over several leaves that are not sums of products, and conditions over several
//! leaves that are not comparisons. The region gets an additional leaf, with a row for each
//! combination of the values that such an expression or condition reads. The columns of the leaf
//! have these values and the results of the expressions. Combinations that fail the condition have
//! no row.

use super::builder::RegionBuilder;
use super::grouped_join::{ColumnInfo, Combinations, Leaf, LeafColumn, LeafRole, LeafSource, NullTreatment};
use super::join::{as_leaf_column, leaf_column, leaves_of, replace_columns, to_plan_columns};
use super::reason::UnclaimedReason;
use super::terms::ExprTerms;
use super::types::is_ordered;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, TableReference};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::{Case, Cast};
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{BinaryExpr, EmptyRelation, Expr, LogicalPlan, Operator};
use std::collections::HashMap;
use std::sync::Arc;

/// A leaf of combinations, for a region under construction.
#[derive(Clone)]
pub(super) struct ComputedLeaf {
    /// The index of the leaf.
    pub(super) leaf: usize,
    /// The columns of other leaves whose values are combined, one tuple of columns for each of
    /// these leaves.
    sources: Vec<Vec<LeafColumn>>,
    /// The condition that combinations must pass, over the columns [`Combinations::column`].
    condition: Option<Expr>,
    /// The expressions of the results, over the columns [`Combinations::column`]. Other expressions
    /// refer to result `k` as column `k` of the leaf.
    results: Vec<Expr>,
    /// The text of the condition, or of each result, with columns under the names that they have in
    /// the query.
    texts: Vec<String>,
}

impl RegionBuilder {
    /// Adds a computed leaf for each condition over several leaves.
    pub(super) fn add_conditions(&mut self) -> Result<(), UnclaimedReason> {
        for condition in std::mem::take(&mut self.join.spanning) {
            let text = self.source_text(&condition);
            let (sources, condition) = self.cut(&condition)?;
            self.add_computed_leaf(sources, Some(condition), text)?;
        }
        Ok(())
    }

    /// Splits an expression with `split`. If the split fails, replaces parts by columns of computed
    /// leaves as [`RegionBuilder::compute_parts`] does, and splits the result. If this split fails,
    /// too, computes the whole expression as one column.
    pub(crate) fn split_or_compute(
        &mut self,
        expr: &Expr,
        split: impl Fn(&RegionBuilder, &Expr) -> Result<ExprTerms, UnclaimedReason>,
    ) -> Result<ExprTerms, UnclaimedReason> {
        if let Ok(terms) = split(self, expr) {
            return Ok(terms);
        }
        let saved = self.clone();
        let terms = self.compute_parts(expr).and_then(|expr| split(self, &expr));
        terms.or_else(|_| {
            *self = saved;
            let computed = self.compute(expr)?;
            split(self, &computed)
        })
    }

    /// Replaces parts of an expression by columns of computed leaves: the largest parts that read
    /// several leaves and are neither `+`, `-`, `*`, `/`, casts nor `CASE`. In the conditions of a
    /// `CASE`, these parts are the conjuncts that read several leaves.
    fn compute_parts(&mut self, expr: &Expr) -> Result<Expr, UnclaimedReason> {
        if leaves_of(expr).len() < 2 {
            return Ok(expr.clone());
        }
        use Operator::{Divide, Minus, Multiply, Plus};
        let mut part = |e: &Expr| self.compute_parts(e).map(Box::new);
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Plus | Minus | Multiply | Divide), right }) => {
                Expr::BinaryExpr(BinaryExpr { left: part(left)?, op: *op, right: part(right)? })
            }
            Expr::Negative(arg) => Expr::Negative(part(arg)?),
            Expr::Cast(cast) => Expr::Cast(Cast { expr: part(&cast.expr)?, ..cast.clone() }),
            Expr::Case(case) => {
                let mut branches = Vec::new();
                for (when, then) in &case.when_then_expr {
                    let when = match &case.expr {
                        Some(base) => base.as_ref().clone().eq(when.as_ref().clone()),
                        None => when.as_ref().clone(),
                    };
                    let then = part(then)?;
                    branches.push((when, then));
                }
                let else_expr = case.else_expr.as_deref().map(part).transpose()?;
                let mut when_then_expr = Vec::new();
                for (when, then) in branches {
                    when_then_expr.push((Box::new(self.compute_conjuncts(&when)?), then));
                }
                Expr::Case(Case { expr: None, when_then_expr, else_expr })
            }
            _ => self.compute(expr)?,
        })
    }

    /// Replaces the conjuncts of a condition that read several leaves by columns of computed
    /// leaves.
    fn compute_conjuncts(&mut self, condition: &Expr) -> Result<Expr, UnclaimedReason> {
        let conjuncts = split_conjunction(condition).into_iter().map(|conjunct| match leaves_of(conjunct).len() {
            0 | 1 => Ok(conjunct.clone()),
            _ => self.compute(conjunct),
        });
        let conjuncts = conjuncts.collect::<Result<Vec<_>, _>>()?;
        Ok(conjunction(conjuncts).expect("a condition has a conjunct"))
    }

    /// Returns the column of a computed leaf that has the values of an expression over several
    /// leaves. Expressions that read the same columns share a leaf.
    ///
    /// # Errors
    /// If the expression is volatile or contains a subquery, if one of the leaves belongs to a
    /// semi-join or an anti-join, if the type of a part that reads one leaf has no order, or if
    /// DataFusion rejects a schema.
    pub(crate) fn compute(&mut self, expr: &Expr) -> Result<Expr, UnclaimedReason> {
        self.check_computable(expr)?;
        let (text, ty) = (self.source_text(expr), self.type_of(expr)?);
        if leaves_of(expr).iter().any(|&leaf| self.join.leaves[leaf].1 != LeafRole::Join) {
            return Err(UnclaimedReason::SeveralTables(text));
        }
        let (sources, result) = self.cut(expr)?;
        let existing = self.computed.iter().position(|c| c.condition.is_none() && c.sources == sources);
        let number = match existing {
            Some(number) => number,
            None => self.add_computed_leaf(sources, None, text.clone())?,
        };
        let computed = &mut self.computed[number];
        let leaf = computed.leaf;
        if let Some(index) = computed.results.iter().position(|other| *other == result) {
            return Ok(leaf_column(leaf, index));
        }
        let index = computed.results.len();
        computed.results.push(result);
        computed.texts.truncate(index);
        computed.texts.push(text);
        self.join.leaves[leaf].0 = names_plan(&computed.texts).map_err(|e| planning(&e))?;
        let column = leaf_column(leaf, index);
        let Expr::Column(name) = &column else { unreachable!("a leaf column is a column") };
        let field = (name.relation.clone(), Arc::new(Field::new(&name.name, ty, true)));
        let added = DFSchema::new_with_metadata(vec![field], HashMap::new()).map_err(|e| planning(&e))?;
        self.schema = self.schema.join(&added).map_err(|e| planning(&e))?;
        Ok(column)
    }

    /// Adds a leaf of combinations; returns its number among the computed leaves.
    fn add_computed_leaf(
        &mut self,
        sources: Vec<Vec<LeafColumn>>,
        condition: Option<Expr>,
        text: String,
    ) -> Result<usize, UnclaimedReason> {
        let leaf = self.join.leaves.len();
        self.join.leaves.push((names_plan(&[]).map_err(|e| planning(&e))?, LeafRole::Join));
        self.leaf_exprs.push(Vec::new());
        for (source, tuple) in sources.iter().enumerate() {
            let parts = 0..tuple.len();
            let parts = parts.map(|part| self.supply_new(leaf, &Expr::Column(Combinations::column(source, part))));
            let parts: Vec<LeafColumn> = parts.collect();
            let existing = self.fields.iter().position(|field| field.columns.contains(tuple));
            let field =
                existing.unwrap_or_else(|| self.add_field(vec![tuple.clone()], text.clone(), NullTreatment::Keep));
            self.fields[field].columns.push(parts);
        }
        self.computed.push(ComputedLeaf { leaf, sources, condition, results: Vec::new(), texts: vec![text] });
        Ok(self.computed.len() - 1)
    }

    /// Cuts an expression into its largest parts that read one leaf. Returns the columns of these
    /// parts, a tuple for each leaf, and the expression over [`Combinations::column`].
    fn cut(&mut self, expr: &Expr) -> Result<(Vec<Vec<LeafColumn>>, Expr), UnclaimedReason> {
        let mut tuples: Vec<(usize, Vec<LeafColumn>)> = Vec::new();
        let mut refusal = None;
        let cut = |e: Expr| {
            let [leaf] = leaves_of(&e)[..] else { return Ok(Transformed::no(e)) };
            match self.type_of(&e) {
                Ok(ty) if is_ordered(&ty) => {}
                Ok(ty) => refusal = Some(UnclaimedReason::CombinedType { expr: self.source_text(&e), ty }),
                Err(reason) => refusal = Some(reason),
            }
            let column = self.supply(leaf, &e);
            let source = tuples.iter().position(|(l, _)| *l == leaf).unwrap_or_else(|| {
                tuples.push((leaf, Vec::new()));
                tuples.len() - 1
            });
            let tuple = &mut tuples[source].1;
            let part = tuple.iter().position(|c| *c == column).unwrap_or_else(|| {
                tuple.push(column);
                tuple.len() - 1
            });
            let column = Expr::Column(Combinations::column(source, part));
            Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
        };
        let expr = expr.clone().transform_down(cut).data().map_err(|e| planning(&e))?;
        match refusal {
            Some(reason) => Err(reason),
            None => Ok((tuples.into_iter().map(|(_, tuple)| tuple).collect(), expr)),
        }
    }
}

impl ComputedLeaf {
    /// Returns the leaf, whose columns are `exprs`. `type_of` returns the type of an expression,
    /// and `source_column` returns the name and type of a column of another leaf.
    pub(super) fn finish(
        self,
        plan: &LogicalPlan,
        exprs: &[Expr],
        type_of: impl Fn(&Expr) -> Result<DataType, UnclaimedReason>,
        source_column: impl Fn(LeafColumn) -> ColumnInfo,
    ) -> Result<Leaf, UnclaimedReason> {
        let part = |e: &Expr| {
            let Expr::Column(column) = e else { return None };
            Combinations::as_part(column).map(|(source, part)| self.sources[source][part])
        };
        let columns = exprs.iter().map(|e| match part(e) {
            Some(column) => Ok(source_column(column)),
            None => Ok(ColumnInfo { name: to_plan_columns(e, plan).to_string(), ty: type_of(e)? }),
        });
        let columns = columns.collect::<Result<_, UnclaimedReason>>()?;
        let result = |e: &Expr| {
            replace_columns(e, |column| as_leaf_column(column).map(|(_, index)| self.results[index].clone()))
        };
        let exprs = exprs.iter().map(result).collect();
        let ComputedLeaf { sources, condition, texts, .. } = self;
        let source = LeafSource::Computed(Combinations { sources, condition, exprs });
        let (name, role) = (texts.join(", "), LeafRole::Join);
        Ok(Leaf { name, source, role, columns, required: Vec::new(), padding: Vec::new() })
    }
}

/// Returns a plan whose columns have the given names.
fn names_plan(names: &[String]) -> Result<LogicalPlan, DataFusionError> {
    let field = |name: &String| (None::<TableReference>, Arc::new(Field::new(name, DataType::Null, true)));
    let schema = DFSchema::new_with_metadata(names.iter().map(field).collect(), HashMap::new())?;
    Ok(LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema: Arc::new(schema) }))
}

fn planning(error: &DataFusionError) -> UnclaimedReason {
    UnclaimedReason::Planning(error.to_string())
}
