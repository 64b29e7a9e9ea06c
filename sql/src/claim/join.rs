//! Flattens a plan into a join: its leaves, equalities and comparisons, and the columns of the plan
//! in terms of leaf columns.

use super::grouped_join::{Comparison, LeafRole};
use super::reason::UnclaimedReason;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, NullEquality, TableReference};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Join, JoinType, LogicalPlan, Operator};

/// A join of any number of plans, in no particular order.
#[derive(Clone, Default, Debug)]
pub(super) struct FlatJoin {
    /// The plans.
    pub(super) leaves: Vec<(LogicalPlan, LeafRole)>,
    /// Pairs of expressions that must be equal; each expression reads one leaf.
    pub(super) equalities: Vec<(Expr, Expr, NullEquality)>,
    /// The outer joins, each after the outer joins below it in the plan.
    pub(super) outers: Vec<FlatOuterJoin>,
    /// Comparisons of two expressions; each expression reads one leaf.
    pub(super) comparisons: Vec<(Expr, Comparison, Expr)>,
    /// Conditions on the rows of one leaf.
    pub(super) conditions: Vec<(usize, Expr)>,
    /// Other conditions over several leaves.
    pub(super) spanning: Vec<Expr>,
    /// The reasons why joins could not be flattened and became leaves.
    pub(super) unflattened: Vec<UnclaimedReason>,
}

/// An outer join of two leaves; in a full join, both are padded.
#[derive(Clone, Debug)]
pub(super) struct FlatOuterJoin {
    /// The leaf whose rows are all kept.
    pub(super) kept: usize,
    /// The leaf whose columns are NULL if it has no matching row.
    pub(super) padded: usize,
    /// Pairs of expressions that must be equal; the expression of the kept leaf comes first.
    pub(super) keys: Vec<(Expr, Expr)>,
    /// True if all rows of the padded leaf are kept, too.
    pub(super) full: bool,
}

/// Each column of a plan as an expression over columns of leaves.
type Columns = Vec<Expr>;

/// The prefix of the relation names of leaves in expressions.
const LEAF: &str = "leaf#";

/// Returns column `index` of a leaf.
pub(super) fn leaf_column(leaf: usize, index: usize) -> Expr {
    Expr::Column(Column::new(Some(TableReference::bare(format!("{LEAF}{leaf}"))), index.to_string()))
}

/// Returns the leaf and the index of a column made by [`leaf_column`].
pub(super) fn as_leaf_column(column: &Column) -> Option<(usize, usize)> {
    let leaf = column.relation.as_ref()?.table().strip_prefix(LEAF)?.parse().ok()?;
    Some((leaf, column.name.parse().ok()?))
}

/// Returns the leaves that an expression reads, ascending.
pub(super) fn leaves_of(expr: &Expr) -> Vec<usize> {
    let mut leaves: Vec<usize> = expr.column_refs().into_iter().filter_map(as_leaf_column).map(|(l, _)| l).collect();
    leaves.sort_unstable();
    leaves.dedup();
    leaves
}

/// Rewrites an expression over leaf columns to the schema of the leaf's plan.
pub(super) fn to_plan_columns(expr: &Expr, plan: &LogicalPlan) -> Expr {
    let back = |e: Expr| {
        let Expr::Column(column) = &e else { return Ok(Transformed::no(e)) };
        Ok(match as_leaf_column(column) {
            Some((_, index)) => Transformed::yes(Expr::Column(Column::from(plan.schema().qualified_field(index)))),
            None => Transformed::no(e),
        })
    };
    expr.clone().transform(back).data().expect("replacing columns cannot fail")
}

impl FlatJoin {
    /// Flattens a plan; a plan that cannot be flattened becomes a leaf.
    pub(super) fn flatten(&mut self, plan: &LogicalPlan) -> Columns {
        let saved = self.clone();
        match self.try_flatten(plan) {
            Ok(Some(columns)) => columns,
            Ok(None) => self.add_leaf(plan, LeafRole::Join),
            Err(reason) => {
                *self = saved;
                self.unflattened.push(reason);
                self.add_leaf(plan, LeafRole::Join)
            }
        }
    }

    fn add_leaf(&mut self, plan: &LogicalPlan, role: LeafRole) -> Columns {
        let leaf = self.leaves.len();
        self.leaves.push((plan.clone(), role));
        (0..plan.schema().fields().len()).map(|k| leaf_column(leaf, k)).collect()
    }

    /// Flattens a plan and returns its columns. The plan must be a supported join, or consist of
    /// aliases, projections and filters above such a join; for other plans, returns `None`. Returns
    /// an error if the join is supported, but one of the expressions is not.
    fn try_flatten(&mut self, plan: &LogicalPlan) -> Result<Option<Columns>, UnclaimedReason> {
        match plan {
            LogicalPlan::SubqueryAlias(alias) if can_flatten(&alias.input) => Ok(Some(self.flatten(&alias.input))),
            LogicalPlan::Projection(projection) if can_flatten(&projection.input) => {
                let input = self.flatten(&projection.input);
                let columns = projection.expr.iter().map(|e| {
                    let e = substitute(e, &projection.input, &input);
                    self.check_computable(&e)?;
                    Ok(e)
                });
                columns.collect::<Result<_, UnclaimedReason>>().map(Some)
            }
            LogicalPlan::Filter(filter) if can_flatten(&filter.input) => {
                let input = self.flatten(&filter.input);
                for conjunct in split_conjunction(&filter.predicate) {
                    self.add_condition(&substitute(conjunct, &filter.input, &input))?;
                }
                Ok(Some(input))
            }
            LogicalPlan::Join(join) => self.flatten_join(join),
            _ => Ok(None),
        }
    }

    fn flatten_join(&mut self, join: &Join) -> Result<Option<Columns>, UnclaimedReason> {
        if join.null_aware {
            return Err(not_in_reason(join));
        }
        use JoinType::{Full, Inner, Left, LeftAnti, LeftSemi, Right, RightAnti, RightSemi};
        // A side with a role becomes a leaf of that role; a side with `None` is flattened.
        let (left, right) = match join.join_type {
            Inner => (None, None),
            Left => (None, Some(LeafRole::Join)),
            Right => (Some(LeafRole::Join), None),
            Full => (Some(LeafRole::Join), Some(LeafRole::Join)),
            LeftSemi => (None, Some(LeafRole::SemiJoin)),
            RightSemi => (Some(LeafRole::SemiJoin), None),
            LeftAnti => (None, Some(LeafRole::AntiJoin)),
            RightAnti => (Some(LeafRole::AntiJoin), None),
            _ => return Ok(None),
        };
        let mut side = |plan: &LogicalPlan, role: Option<LeafRole>| match role {
            None => self.flatten(plan),
            Some(role) => self.add_leaf(plan, role),
        };
        let flattens_only_right = left.is_some() && right.is_none();
        let right_first = flattens_only_right.then(|| side(&join.right, right));
        let left = side(&join.left, left);
        let right = right_first.unwrap_or_else(|| side(&join.right, right));
        match join.join_type {
            Left | Right | Full => self.add_outer_join(join, &left, &right)?,
            _ => self.add_join_conditions(join, &left, &right)?,
        }
        Ok(Some(match join.join_type {
            LeftSemi | LeftAnti => left,
            RightSemi | RightAnti => right,
            _ => [left, right].concat(),
        }))
    }

    /// Adds an outer join, whose condition must consist of equalities by `=` between one leaf of
    /// the left side and one leaf of the right side.
    fn add_outer_join(&mut self, join: &Join, left: &Columns, right: &Columns) -> Result<(), UnclaimedReason> {
        let refusal = || {
            let op = match join.null_equality {
                NullEquality::NullEqualsNothing => "=",
                NullEquality::NullEqualsNull => "IS NOT DISTINCT FROM",
            };
            let keys = join.on.iter().map(|(l, r)| format!("{l} {op} {r}"));
            let conditions = keys.chain(join.filter.iter().map(ToString::to_string)).collect::<Vec<_>>();
            let text = if conditions.is_empty() { "true".to_owned() } else { conditions.join(" AND ") };
            UnclaimedReason::OuterJoin(text)
        };
        if join.filter.is_some() || join.on.is_empty() || join.null_equality == NullEquality::NullEqualsNull {
            return Err(refusal());
        }
        let swapped = join.join_type == JoinType::Right;
        let mut keys = Vec::new();
        let mut leaves = Vec::new();
        for (l, r) in &join.on {
            let (l, r) = (substitute(l, &join.left, left), substitute(r, &join.right, right));
            let (kept, padded) = if swapped { (r, l) } else { (l, r) };
            for side in [&kept, &padded] {
                self.check_computable(side)?;
                if leaves_of(side).len() != 1 {
                    return Err(self.several_tables(side));
                }
            }
            leaves.push((leaves_of(&kept)[0], leaves_of(&padded)[0]));
            keys.push((kept, padded));
        }
        leaves.dedup();
        let [(kept, padded)] = leaves[..] else { return Err(refusal()) };
        self.outers.push(FlatOuterJoin { kept, padded, keys, full: join.join_type == JoinType::Full });
        Ok(())
    }

    /// Returns whether the columns of a leaf are NULL if it has no matching row.
    pub(super) fn is_padded(&self, leaf: usize) -> bool {
        self.outers.iter().any(|outer| outer.padded == leaf || outer.full && outer.kept == leaf)
    }

    /// Adds a condition on the rows of one leaf, which is applied before the join. No outer join
    /// may pad the leaf.
    fn add_leaf_condition(&mut self, leaf: usize, condition: &Expr) -> Result<(), UnclaimedReason> {
        if self.is_padded(leaf) {
            return Err(UnclaimedReason::PaddedTable(self.with_names(condition).to_string()));
        }
        self.conditions.push((leaf, condition.clone()));
        Ok(())
    }

    fn add_join_conditions(&mut self, join: &Join, left: &Columns, right: &Columns) -> Result<(), UnclaimedReason> {
        for (l, r) in &join.on {
            let (l, r) = (substitute(l, &join.left, left), substitute(r, &join.right, right));
            self.add_equality(l, r, join.null_equality)?;
        }
        let both = [left.clone(), right.clone()].concat();
        for conjunct in join.filter.iter().flat_map(split_conjunction) {
            // The schema of a semi-join lacks one side, so names are looked up in both inputs.
            let conjunct = replace_columns(conjunct, |column| {
                let at = join.left.schema().maybe_index_of_column(column);
                let right = || join.right.schema().maybe_index_of_column(column).map(|k| k + left.len());
                at.or_else(right).map(|k| both[k].clone())
            });
            // An anti-join keeps rows that fail a condition on the kept side alone, so such a
            // condition cannot be applied before the join.
            let anti = matches!(join.join_type, JoinType::LeftAnti | JoinType::RightAnti);
            if anti && !leaves_of(&conjunct).iter().any(|&leaf| self.leaves[leaf].1 == LeafRole::AntiJoin) {
                let condition = self.with_names(&conjunct).to_string();
                let problem = "reads no table of the subquery; write it as a condition of the outer query";
                return Err(UnclaimedReason::AntiJoin { condition, problem });
            }
            self.add_condition(&conjunct)?;
        }
        Ok(())
    }

    fn add_equality(&mut self, left: Expr, right: Expr, nulls: NullEquality) -> Result<(), UnclaimedReason> {
        for side in [&left, &right] {
            self.check_computable(side)?;
            if leaves_of(side).len() != 1 {
                return Err(self.several_tables(side));
            }
        }
        self.equalities.push((left, right, nulls));
        Ok(())
    }

    /// Returns the expression with the column names of the leaves' plans.
    pub(super) fn with_names(&self, expr: &Expr) -> Expr {
        replace_columns(expr, |column| {
            let (leaf, index) = as_leaf_column(column)?;
            Some(Expr::Column(Column::from(self.leaves[leaf].0.schema().qualified_field(index))))
        })
    }

    fn several_tables(&self, expr: &Expr) -> UnclaimedReason {
        UnclaimedReason::SeveralTables(self.with_names(expr).to_string())
    }

    /// Adds a condition that reads several leaves, and that is not a comparison of two expressions
    /// of which each reads one leaf.
    fn add_spanning_condition(&mut self, condition: &Expr) -> Result<(), UnclaimedReason> {
        // The leaf of a semi-join or anti-join only decides whether a row of the join passes. If a
        // computed leaf checked the condition, each combination that passes would count.
        if leaves_of(condition).iter().any(|&leaf| self.leaves[leaf].1 != LeafRole::Join) {
            return Err(self.several_tables(condition));
        }
        self.spanning.push(condition.clone());
        Ok(())
    }

    /// Checks that an expression can be computed for each row of a leaf before the join.
    pub(super) fn check_computable(&self, expr: &Expr) -> Result<(), UnclaimedReason> {
        let source_text = || self.with_names(expr).to_string();
        if expr.is_volatile() {
            return Err(UnclaimedReason::Volatile(source_text()));
        }
        let mut subquery = false;
        expr.apply(|e| {
            let has_query = matches!(
                e,
                Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::OuterReferenceColumn(..)
            );
            subquery |= has_query;
            Ok(if has_query { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
        .expect("visiting an expression cannot fail");
        if subquery { Err(UnclaimedReason::Subquery(source_text())) } else { Ok(()) }
    }

    /// Adds a condition that rows must pass.
    fn add_condition(&mut self, condition: &Expr) -> Result<(), UnclaimedReason> {
        self.check_computable(condition)?;
        match leaves_of(condition)[..] {
            [] => match (0..self.leaves.len()).find(|&l| self.leaves[l].1 == LeafRole::Join && !self.is_padded(l)) {
                Some(leaf) => self.add_leaf_condition(leaf, condition)?,
                None => return Err(self.several_tables(condition)),
            },
            [leaf] => self.add_leaf_condition(leaf, condition)?,
            _ => {
                let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else {
                    return self.add_spanning_condition(condition);
                };
                if leaves_of(left).len() != 1 || leaves_of(right).len() != 1 {
                    return self.add_spanning_condition(condition);
                }
                let (left, right) = (left.as_ref().clone(), right.as_ref().clone());
                let comparison = match op {
                    Operator::Eq => return self.add_equality(left, right, NullEquality::NullEqualsNothing),
                    Operator::Lt => Comparison::Lt,
                    Operator::LtEq => Comparison::Le,
                    Operator::Gt => Comparison::Gt,
                    Operator::GtEq => Comparison::Ge,
                    Operator::NotEq => Comparison::Ne,
                    _ => return self.add_spanning_condition(condition),
                };
                // The leaf of a semi-join or anti-join only decides whether a row of the join
                // passes, so two such leaves cannot be compared with each other.
                let filters = |e: &Expr| leaves_of(e).iter().any(|&l| self.leaves[l].1 != LeafRole::Join);
                if filters(&left) && filters(&right) {
                    return Err(self.several_tables(condition));
                }
                self.comparisons.push((left, comparison, right));
            }
        }
        Ok(())
    }
}

/// Returns the reason not to flatten a join that treats NULLs as `NOT IN` does.
fn not_in_reason(join: &Join) -> UnclaimedReason {
    match (join.join_type, &join.on[..]) {
        (JoinType::LeftAnti, [(left, _), ..]) => UnclaimedReason::NotIn(left.to_string()),
        (JoinType::RightAnti, [(_, right), ..]) => UnclaimedReason::NotIn(right.to_string()),
        (JoinType::LeftAnti | JoinType::RightAnti, []) => UnclaimedReason::NotIn("..".to_owned()),
        _ => UnclaimedReason::PartOfCondition,
    }
}

/// Returns whether a plan is a join of a kind that can be flattened, or has such a join below
/// aliases, projections and filters.
fn can_flatten(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => can_flatten(&alias.input),
        LogicalPlan::Projection(projection) => can_flatten(&projection.input),
        LogicalPlan::Filter(filter) => can_flatten(&filter.input),
        LogicalPlan::Join(join) => {
            use JoinType::{Full, Inner, Left, LeftAnti, LeftSemi, Right, RightAnti, RightSemi};
            matches!(join.join_type, Inner | Left | Right | Full | LeftSemi | RightSemi | LeftAnti | RightAnti)
        }
        _ => false,
    }
}

/// Rewrites an expression over the columns of `plan` to columns of leaves.
pub(super) fn substitute(expr: &Expr, plan: &LogicalPlan, columns: &Columns) -> Expr {
    replace_columns(expr, |column| plan.schema().maybe_index_of_column(column).map(|k| columns[k].clone()))
}

/// Replaces the columns of an expression for which `replacement_of` returns a replacement, and
/// removes the aliases of the expression.
pub(super) fn replace_columns(expr: &Expr, replacement_of: impl Fn(&Column) -> Option<Expr>) -> Expr {
    let replace = |e: Expr| {
        let replacement = match &e {
            Expr::Column(column) => replacement_of(column),
            // The alias names a column of the plan that was flattened.
            Expr::Alias(alias) => return Ok(Transformed::yes(alias.expr.as_ref().clone())),
            _ => None,
        };
        Ok(replacement.map_or_else(|| Transformed::no(e), Transformed::yes))
    };
    expr.clone().transform_up(replace).data().expect("replacing columns cannot fail")
}
