//! Flattens a plan into a join: its leaves, equalities and comparisons, and the columns of the plan
//! in terms of leaf columns.

use super::reason::Reason;
use super::region::{Comparison, Role};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, NullEquality, TableReference};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Join, JoinType, LogicalPlan, Operator};

/// A join of any number of plans, without an order.
#[derive(Clone, Default, Debug)]
pub(super) struct FlatJoin {
    /// The plans.
    pub(super) leaves: Vec<(LogicalPlan, Role)>,
    /// Pairs of equal expressions, each of one leaf.
    pub(super) equalities: Vec<(Expr, Expr, NullEquality)>,
    /// The outer joins, each after those below it.
    pub(super) outers: Vec<FlatOuter>,
    /// Comparisons of two expressions, each of one leaf.
    pub(super) comparisons: Vec<(Expr, Comparison, Expr)>,
    /// Conditions on the rows of one leaf.
    pub(super) conditions: Vec<(usize, Expr)>,
    /// Other conditions over several leaves.
    pub(super) spanning: Vec<Expr>,
    /// The reasons why joins could not be flattened and became leaves.
    pub(super) declined: Vec<Reason>,
}

/// An outer join of two leaves; in a full join, both are padded.
#[derive(Clone, Debug)]
pub(super) struct FlatOuter {
    /// The leaf all of whose rows are kept.
    pub(super) kept: usize,
    /// The leaf whose columns are NULL if it has no matching row.
    pub(super) padded: usize,
    /// Pairs of equal expressions, that of the kept leaf first.
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
pub(super) fn in_plan(expr: &Expr, plan: &LogicalPlan) -> Expr {
    let back = |e: Expr| {
        let Expr::Column(column) = &e else { return Ok(Transformed::no(e)) };
        Ok(match as_leaf_column(column) {
            Some((_, index)) => Transformed::yes(Expr::Column(Column::from(plan.schema().qualified_field(index)))),
            None => Transformed::no(e),
        })
    };
    expr.clone().transform(back).data().expect("renaming columns does not fail")
}

/// Checks that an expression can be computed for each row of a leaf before the join.
pub(super) fn check_plain(expr: &Expr) -> Result<(), Reason> {
    if expr.is_volatile() {
        return Err(Reason::Volatile(expr.to_string()));
    }
    let mut subquery = false;
    expr.apply(|e| {
        let nested = matches!(
            e,
            Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::OuterReferenceColumn(..)
        );
        subquery |= nested;
        Ok(if nested { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })
    .expect("looking at an expression does not fail");
    if subquery { Err(Reason::Subquery(expr.to_string())) } else { Ok(()) }
}

impl FlatJoin {
    /// Flattens a plan; a plan that cannot be flattened becomes a leaf.
    pub(super) fn add(&mut self, plan: &LogicalPlan) -> Columns {
        let before = self.clone();
        match self.open(plan) {
            Ok(Some(columns)) => columns,
            Ok(None) => self.leaf(plan, Role::Joins),
            Err(reason) => {
                *self = before;
                self.declined.push(reason);
                self.leaf(plan, Role::Joins)
            }
        }
    }

    fn leaf(&mut self, plan: &LogicalPlan, role: Role) -> Columns {
        let leaf = self.leaves.len();
        self.leaves.push((plan.clone(), role));
        (0..plan.schema().fields().len()).map(|k| leaf_column(leaf, k)).collect()
    }

    /// Flattens a plan and returns its columns; `None` if the plan is no join and has none below.
    fn open(&mut self, plan: &LogicalPlan) -> Result<Option<Columns>, Reason> {
        match plan {
            LogicalPlan::SubqueryAlias(alias) if opens(&alias.input) => Ok(Some(self.add(&alias.input))),
            LogicalPlan::Projection(projection) if opens(&projection.input) => {
                let input = self.add(&projection.input);
                let columns = projection.expr.iter().map(|e| {
                    let e = substitute(e, &projection.input, &input);
                    check_plain(&e)?;
                    Ok(e)
                });
                columns.collect::<Result<_, Reason>>().map(Some)
            }
            LogicalPlan::Filter(filter) if opens(&filter.input) => {
                let input = self.add(&filter.input);
                for conjunct in split_conjunction(&filter.predicate) {
                    self.condition(&substitute(conjunct, &filter.input, &input))?;
                }
                Ok(Some(input))
            }
            LogicalPlan::Join(join) => self.join(join),
            _ => Ok(None),
        }
    }

    fn join(&mut self, join: &Join) -> Result<Option<Columns>, Reason> {
        if join.null_aware {
            return Ok(None);
        }
        use JoinType::{Full, Inner, Left, LeftAnti, LeftSemi, Right, RightAnti, RightSemi};
        // A side with a role becomes a leaf of that role; the other sides are flattened.
        let (left, right) = match join.join_type {
            Inner => (None, None),
            Left => (None, Some(Role::Joins)),
            Right => (Some(Role::Joins), None),
            Full => (Some(Role::Joins), Some(Role::Joins)),
            LeftSemi => (None, Some(Role::Filters)),
            RightSemi => (Some(Role::Filters), None),
            LeftAnti => (None, Some(Role::Excludes)),
            RightAnti => (Some(Role::Excludes), None),
            _ => return Ok(None),
        };
        let mut side = |plan: &LogicalPlan, role: Option<Role>| match role {
            None => self.add(plan),
            Some(role) => self.leaf(plan, role),
        };
        let opens_right_alone = left.is_some() && right.is_none();
        let right_first = opens_right_alone.then(|| side(&join.right, right));
        let left = side(&join.left, left);
        let right = right_first.unwrap_or_else(|| side(&join.right, right));
        match join.join_type {
            Left | Right | Full => self.outer(join, &left, &right)?,
            _ => self.conditions_of(join, &left, &right)?,
        }
        Ok(Some(match join.join_type {
            LeftSemi | LeftAnti => left,
            RightSemi | RightAnti => right,
            _ => [left, right].concat(),
        }))
    }

    /// Adds an outer join, whose condition must be equalities between one leaf of each side.
    fn outer(&mut self, join: &Join, left: &Columns, right: &Columns) -> Result<(), Reason> {
        let declined = || Reason::Outer(join.filter.as_ref().map_or_else(|| "true".into(), ToString::to_string));
        if join.filter.is_some() || join.on.is_empty() || join.null_equality == NullEquality::NullEqualsNull {
            return Err(declined());
        }
        let swapped = join.join_type == JoinType::Right;
        let mut keys = Vec::new();
        let mut leaves = Vec::new();
        for (l, r) in &join.on {
            let (l, r) = (substitute(l, &join.left, left), substitute(r, &join.right, right));
            let (kept, padded) = if swapped { (r, l) } else { (l, r) };
            for side in [&kept, &padded] {
                check_plain(side)?;
                if leaves_of(side).len() != 1 {
                    return Err(self.spans(side));
                }
            }
            leaves.push((leaves_of(&kept)[0], leaves_of(&padded)[0]));
            keys.push((kept, padded));
        }
        leaves.dedup();
        let [(kept, padded)] = leaves[..] else { return Err(declined()) };
        self.outers.push(FlatOuter { kept, padded, keys, full: join.join_type == JoinType::Full });
        Ok(())
    }

    /// Returns whether the columns of a leaf are NULL if it has no matching row.
    pub(super) fn is_padded(&self, leaf: usize) -> bool {
        self.outers.iter().any(|outer| outer.padded == leaf || outer.full && outer.kept == leaf)
    }

    /// Adds a condition on the rows of one leaf, which is applied before the join.
    fn condition_of(&mut self, leaf: usize, condition: &Expr) -> Result<(), Reason> {
        if self.is_padded(leaf) {
            return Err(Reason::Outer(self.named(condition).to_string()));
        }
        self.conditions.push((leaf, condition.clone()));
        Ok(())
    }

    fn conditions_of(&mut self, join: &Join, left: &Columns, right: &Columns) -> Result<(), Reason> {
        for (l, r) in &join.on {
            let (l, r) = (substitute(l, &join.left, left), substitute(r, &join.right, right));
            self.equality(l, r, join.null_equality)?;
        }
        let both = [left.clone(), right.clone()].concat();
        for conjunct in join.filter.iter().flat_map(split_conjunction) {
            // The schema of a semi-join lacks one side, so names are looked up in both inputs.
            let conjunct = replace_columns(conjunct, |column| {
                let at = join.left.schema().maybe_index_of_column(column);
                let right = || join.right.schema().maybe_index_of_column(column).map(|k| k + left.len());
                at.or_else(right).map(|k| both[k].clone())
            });
            // An anti-join keeps rows that fail a condition on the kept side, so the condition is
            // no filter of them.
            let anti = matches!(join.join_type, JoinType::LeftAnti | JoinType::RightAnti);
            if anti && !leaves_of(&conjunct).iter().any(|&leaf| self.leaves[leaf].1 == Role::Excludes) {
                return Err(self.spans(&conjunct));
            }
            self.condition(&conjunct)?;
        }
        Ok(())
    }

    fn equality(&mut self, left: Expr, right: Expr, nulls: NullEquality) -> Result<(), Reason> {
        for side in [&left, &right] {
            check_plain(side)?;
            if leaves_of(side).len() != 1 {
                return Err(self.spans(side));
            }
        }
        self.equalities.push((left, right, nulls));
        Ok(())
    }

    /// Returns the expression with the column names of the leaves' plans.
    pub(super) fn named(&self, expr: &Expr) -> Expr {
        replace_columns(expr, |column| {
            let (leaf, index) = as_leaf_column(column)?;
            Some(Expr::Column(Column::from(self.leaves[leaf].0.schema().qualified_field(index))))
        })
    }

    fn spans(&self, expr: &Expr) -> Reason {
        Reason::Spans(self.named(expr).to_string())
    }

    /// Adds a condition over several leaves that is no comparison of two expressions.
    fn spanning(&mut self, condition: &Expr) -> Result<(), Reason> {
        // The condition would be checked once per row of a semi-join or anti-join leaf, which must
        // count once.
        if leaves_of(condition).iter().any(|&leaf| self.leaves[leaf].1 != Role::Joins) {
            return Err(self.spans(condition));
        }
        self.spanning.push(condition.clone());
        Ok(())
    }

    /// Adds a condition that rows must pass.
    fn condition(&mut self, condition: &Expr) -> Result<(), Reason> {
        check_plain(condition)?;
        match leaves_of(condition)[..] {
            [] => match (0..self.leaves.len()).find(|&l| self.leaves[l].1 == Role::Joins && !self.is_padded(l)) {
                Some(leaf) => self.condition_of(leaf, condition)?,
                None => return Err(self.spans(condition)),
            },
            [leaf] => self.condition_of(leaf, condition)?,
            _ => {
                let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else {
                    return self.spanning(condition);
                };
                if leaves_of(left).len() != 1 || leaves_of(right).len() != 1 {
                    return self.spanning(condition);
                }
                let (left, right) = (left.as_ref().clone(), right.as_ref().clone());
                let comparison = match op {
                    Operator::Eq => return self.equality(left, right, NullEquality::NullEqualsNothing),
                    Operator::Lt => Comparison::Lt,
                    Operator::LtEq => Comparison::Le,
                    Operator::Gt => Comparison::Gt,
                    Operator::GtEq => Comparison::Ge,
                    Operator::NotEq => Comparison::Ne,
                    _ => return self.spanning(condition),
                };
                // Leaves of semi-joins and anti-joins must count once per row, so two of them
                // cannot be compared.
                let filters = |e: &Expr| leaves_of(e).iter().any(|&l| self.leaves[l].1 != Role::Joins);
                if filters(&left) && filters(&right) {
                    return Err(self.spans(condition));
                }
                self.comparisons.push((left, comparison, right));
            }
        }
        Ok(())
    }
}

/// Returns whether a join lies below, reached through nodes that can be flattened.
fn opens(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => opens(&alias.input),
        LogicalPlan::Projection(projection) => opens(&projection.input),
        LogicalPlan::Filter(filter) => opens(&filter.input),
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

/// Replaces the columns of an expression, and removes its aliases.
pub(super) fn replace_columns(expr: &Expr, of: impl Fn(&Column) -> Option<Expr>) -> Expr {
    let replace = |e: Expr| {
        let found = match &e {
            Expr::Column(column) => of(column),
            // The alias names a column of the plan that was flattened.
            Expr::Alias(alias) => return Ok(Transformed::yes(alias.expr.as_ref().clone())),
            _ => None,
        };
        Ok(found.map_or_else(|| Transformed::no(e), Transformed::yes))
    };
    expr.clone().transform_up(replace).data().expect("replacing columns does not fail")
}
