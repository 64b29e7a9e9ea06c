//! Builds a region from an aggregate over a flat join.

use super::join::{FlatJoin, FlatOuter, check_plain, leaf_column, leaves_of, substitute};
use super::leaves::finish;
use super::reason::Reason;
use super::region::{
    Aggregate, Case, Comparison, Condition, End, FieldId, GroupColumn, LeafColumn, Mask, Narrow, Nulls, Number, Outer,
    Region, RegionField, Role, Sum, Term,
};
use super::sums::{coalesce_of, is_total, strict_parts, terms};
use super::types::{is_key, is_ordered};
use crate::semiring::{Function, Semiring};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, NullEquality, ScalarValue, TableReference};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Aggregate as AggregateNode, Expr, ExprSchemable, LogicalPlan, when};
use std::collections::HashMap;
use std::sync::Arc;

/// A region with the plans of its inputs.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The region.
    pub region: Region,
    /// The plans of the leaves that are no tensors.
    pub inputs: Vec<LogicalPlan>,
    /// The reasons why joins below could not be flattened and became leaves.
    pub declined: Vec<Reason>,
}

/// Builds the region of an aggregate.
pub(super) fn build(node: &AggregateNode) -> Result<Claim, Reason> {
    let mut join = FlatJoin::default();
    let columns = join.add(&node.input);
    let of_leaves = |e: &Expr| substitute(e, &node.input, &columns);
    let mut builder = Builder::new(join)?;
    builder.join_fields()?;
    builder.conditions()?;
    let groups = node.group_expr.iter().map(|e| match e {
        Expr::GroupingSet(_) => Err(Reason::GroupingSets),
        e => Ok(of_leaves(e)),
    });
    let groups = builder.group_by(&groups.collect::<Result<Vec<_>, _>>()?)?;
    let aggregates = node.aggr_expr.iter().map(|e| builder.aggregate(&of_leaves(e))).collect::<Result<Vec<_>, _>>()?;
    finish(builder, groups, aggregates)
}

/// A key that rows are grouped by.
enum GroupKey {
    Column(LeafColumn),
    /// The field of two keys of an outer join, of which the first that is not NULL is the group
    /// key.
    Coalesced(FieldId),
}

pub(super) struct Builder {
    pub(super) join: FlatJoin,
    /// The columns of all leaves, under the names that expressions use.
    pub(super) schema: DFSchema,
    /// The expressions that each leaf computes, one per column.
    pub(super) supplied: Vec<Vec<Expr>>,
    pub(super) fields: Vec<RegionField>,
    pub(super) masks: Vec<Mask>,
    pub(super) conditions: Vec<Condition>,
    /// Columns of excluding leaves that must not be NULL.
    pub(super) required: Vec<LeafColumn>,
    /// Columns that must not be NULL in any row.
    pub(super) total: Vec<LeafColumn>,
    pub(super) outers: Vec<Outer>,
    /// The leaf that computes expressions without columns.
    home: usize,
}

impl Builder {
    fn new(join: FlatJoin) -> Result<Builder, Reason> {
        let mut fields = Vec::new();
        for (leaf, (plan, _)) in join.leaves.iter().enumerate() {
            let padded = join.is_padded(leaf);
            for (k, field) in plan.schema().fields().iter().enumerate() {
                let nullable = padded || field.is_nullable();
                let field = field.as_ref().clone().with_name(k.to_string()).with_nullable(nullable);
                let Expr::Column(column) = leaf_column(leaf, k) else { unreachable!("it is a column") };
                fields.push((column.relation.or_else(|| Some(TableReference::bare(""))), Arc::new(field)));
            }
        }
        let schema = DFSchema::new_with_metadata(fields, HashMap::new()).map_err(|e| Reason::Node(e.to_string()))?;
        let joins = |leaf: &usize| join.leaves[*leaf].1 == Role::Joins;
        let mut leaves = (0..join.leaves.len()).filter(joins);
        let home = leaves.clone().find(|leaf| !join.is_padded(*leaf)).or_else(|| leaves.next()).unwrap_or(0);
        let supplied = vec![Vec::new(); join.leaves.len()];
        Ok(Builder {
            join,
            schema,
            supplied,
            fields: Vec::new(),
            masks: Vec::new(),
            conditions: Vec::new(),
            required: Vec::new(),
            total: Vec::new(),
            outers: Vec::new(),
            home,
        })
    }

    /// Returns the column of a leaf that computes an expression, and adds it if there is none.
    fn supply(&mut self, leaf: usize, expr: &Expr) -> LeafColumn {
        let known = (0..self.supplied[leaf].len())
            .find(|&column| self.supplied[leaf][column] == *expr && !self.is_padding_key(LeafColumn { leaf, column }));
        match known {
            Some(column) => LeafColumn { leaf, column },
            None => self.supply_anew(leaf, expr),
        }
    }

    fn supply_anew(&mut self, leaf: usize, expr: &Expr) -> LeafColumn {
        self.supplied[leaf].push(expr.clone());
        LeafColumn { leaf, column: self.supplied[leaf].len() - 1 }
    }

    /// Returns whether a column has the keys of an outer join. It also has values in rows that the
    /// join adds, where the expression itself is NULL.
    fn is_padding_key(&self, column: LeafColumn) -> bool {
        self.outers.iter().any(|outer| {
            let is = |leaf: usize, own: usize| column == LeafColumn { leaf, column: own };
            outer.keys.iter().any(|(kept, padded)| is(outer.padded, *padded) || outer.full && is(outer.kept, *kept))
        })
    }

    /// Returns the column of an expression that reads one leaf at most.
    fn column(&mut self, expr: &Expr) -> Result<LeafColumn, Reason> {
        check_plain(expr)?;
        match leaves_of(expr)[..] {
            [] => Ok(self.supply(self.home, expr)),
            [leaf] => Ok(self.supply(leaf, expr)),
            _ => Err(Reason::Spans(self.shown(expr))),
        }
    }

    fn type_of(&self, expr: &Expr) -> Result<DataType, Reason> {
        expr.get_type(&self.schema).map_err(|e| Reason::Node(e.to_string()))
    }

    /// Like [`Builder::column`], for an expression whose type can be a key.
    fn key(&mut self, expr: &Expr) -> Result<LeafColumn, Reason> {
        self.check_key(expr)?;
        self.column(expr)
    }

    fn check_key(&self, expr: &Expr) -> Result<(), Reason> {
        let ty = self.type_of(expr)?;
        // Floats cast from integers have one zero and no NaN.
        let of_integers = matches!(expr, Expr::Cast(cast) if self.type_of(&cast.expr)?.is_integer());
        if !(is_key(&ty) || ty == DataType::Float64 && of_integers) {
            return Err(Reason::Type { what: format!("the key `{}`", self.shown(expr)), ty });
        }
        Ok(())
    }

    /// Returns the expression as the user wrote it.
    fn shown(&self, expr: &Expr) -> String {
        self.join.named(expr).to_string()
    }

    fn field_of(&self, column: LeafColumn) -> Option<FieldId> {
        self.fields.iter().position(|f| f.columns.iter().any(|tuple| tuple[..] == [column]))
    }

    fn field_or_new(&mut self, column: LeafColumn, expr: &Expr, nulls: Nulls) -> FieldId {
        self.field_of(column).unwrap_or_else(|| self.new_field(vec![vec![column]], self.shown(expr), nulls))
    }

    fn new_field(&mut self, columns: Vec<Vec<LeafColumn>>, name: String, nulls: Nulls) -> FieldId {
        let field = self.fields.len();
        self.fields.push(RegionField { name, columns, domain: field, nulls });
        field
    }

    /// Makes the fields of equalities, outer joins and comparisons.
    fn join_fields(&mut self) -> Result<(), Reason> {
        for (left, right, nulls) in std::mem::take(&mut self.join.equalities) {
            let nulls = match nulls {
                NullEquality::NullEqualsNothing => Nulls::Drop,
                NullEquality::NullEqualsNull => Nulls::Keep,
            };
            self.same_type(&left, &right)?;
            let (a, b) = (self.key(&left)?, self.key(&right)?);
            let excluding = [a, b].into_iter().find(|c| self.join.leaves[c.leaf].1 == Role::Excludes);
            if let Some(column) = excluding {
                let other = if a == column { b } else { a };
                // Values that equal the same column of an excluding leaf need not equal each other.
                if self.field_of(column).is_some_and(|field| self.field_of(other) != Some(field)) {
                    return Err(Reason::Spans(self.shown(&left)));
                }
                if nulls == Nulls::Drop {
                    self.required.push(column);
                }
            }
            let (a, b) = (self.field_or_new(a, &left, Nulls::Keep), self.field_or_new(b, &right, Nulls::Keep));
            self.unite(a, b);
            // Against an excluding leaf, rows with a NULL match nothing and stay.
            if nulls == Nulls::Drop && excluding.is_none() {
                let field = a.min(b);
                self.fields[field].nulls = Nulls::Drop;
            }
        }
        self.outer_fields()?;
        for (left, comparison, right) in std::mem::take(&mut self.join.comparisons) {
            self.same_type(&left, &right)?;
            let (a, b) = (self.key(&left)?, self.key(&right)?);
            // A row with a NULL matches no row of the excluding leaf.
            let excludes = |c: LeafColumn| self.join.leaves[c.leaf].1 == Role::Excludes;
            let excluding = [a, b].into_iter().find(|&c| excludes(c));
            if let Some(column) = excluding {
                self.required.push(column);
                self.total.push(if a == column { b } else { a });
            }
            let (left, right) = (self.field_or_new(a, &left, Nulls::Drop), self.field_or_new(b, &right, Nulls::Drop));
            // Rows with a NULL match no row of the excluding leaf, and stay.
            for field in [left, right].into_iter().filter(|_| excluding.is_none()) {
                self.fields[field].nulls = Nulls::Drop;
            }
            if left == right {
                // Both sides are equal, so all rows pass the comparison or none does.
                if !matches!(comparison, Comparison::Le | Comparison::Ge) {
                    let leaf = excluding.map_or(self.home, |column| column.leaf);
                    self.join.conditions.push((leaf, Expr::Literal(ScalarValue::from(false), None)));
                }
                continue;
            }
            let (from, to) = (self.fields[right].domain, self.fields[left].domain);
            self.fields.iter_mut().filter(|f| f.domain == from).for_each(|f| f.domain = to);
            self.masks.push(Mask { left, comparison, right, within: excluding.map(|column| column.leaf) });
        }
        Ok(())
    }

    /// Makes the fields of outer joins. A row with a NULL key is kept, and joins a row that is
    /// added for it.
    fn outer_fields(&mut self) -> Result<(), Reason> {
        for FlatOuter { kept, padded, keys, full } in self.join.outers.clone() {
            let mut columns = Vec::new();
            for (left, right) in &keys {
                self.same_type(left, right)?;
                self.check_key(left)?;
                self.check_key(right)?;
                let a = if full { self.supply_anew(kept, left) } else { self.column(left)? };
                let b = self.supply_anew(padded, right);
                let (a_field, b_field) = (
                    self.field_or_new(a, left, Nulls::Keep),
                    self.new_field(vec![vec![b]], self.shown(right), Nulls::Keep),
                );
                self.unite(a_field, b_field);
                columns.push((a.column, b.column));
            }
            self.outers.push(Outer { kept, padded, keys: columns, full });
        }
        Ok(())
    }

    /// Returns the field of the two keys of an outer join of which `expr` is the first that is not
    /// NULL.
    fn coalesced(&self, expr: &Expr) -> Option<FieldId> {
        let (x, y) = coalesce_of(expr)?;
        for (flat, outer) in self.join.outers.iter().zip(&self.outers) {
            let is = |(a, b): &(Expr, Expr)| a == x && b == y || a == y && b == x;
            if let Some(k) = flat.keys.iter().position(is) {
                return self.field_of(LeafColumn { leaf: outer.padded, column: outer.keys[k].1 });
            }
        }
        None
    }

    /// Splits conditions over several leaves: the parts that read one leaf become the tuple of a
    /// field.
    fn conditions(&mut self) -> Result<(), Reason> {
        for condition in std::mem::take(&mut self.join.spanning) {
            let name = self.shown(&condition);
            let mut tuples: Vec<(usize, Vec<LeafColumn>)> = Vec::new();
            let mut fault = None;
            let cut = |e: Expr| {
                let [leaf] = leaves_of(&e)[..] else { return Ok(Transformed::no(e)) };
                match self.type_of(&e) {
                    Ok(ty) if is_ordered(&ty) => {}
                    Ok(ty) => fault = Some(Reason::Type { what: format!("`{}` of a condition", self.shown(&e)), ty }),
                    Err(reason) => fault = Some(reason),
                }
                let column = self.supply(leaf, &e);
                let field = tuples.iter().position(|(l, _)| *l == leaf).unwrap_or_else(|| {
                    tuples.push((leaf, Vec::new()));
                    tuples.len() - 1
                });
                let tuple = &mut tuples[field].1;
                let part = tuple.iter().position(|c| *c == column).unwrap_or_else(|| {
                    tuple.push(column);
                    tuple.len() - 1
                });
                let column = Expr::Column(Condition::column(field, part));
                Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
            };
            let expr = condition.transform_down(cut).data().map_err(|e| Reason::Node(e.to_string()))?;
            if let Some(reason) = fault {
                return Err(reason);
            }
            let mut fields = Vec::new();
            for (_, tuple) in tuples {
                let known = self.fields.iter().position(|f| f.columns.contains(&tuple));
                fields.push(known.unwrap_or_else(|| self.new_field(vec![tuple], name.clone(), Nulls::Keep)));
            }
            self.conditions.push(Condition { fields, expr, name });
        }
        Ok(())
    }

    fn same_type(&self, left: &Expr, right: &Expr) -> Result<(), Reason> {
        let (a, b) = (self.type_of(left)?, self.type_of(right)?);
        if a == b { Ok(()) } else { Err(Reason::Type { what: format!("`{}` beside {a}", self.shown(right)), ty: b }) }
    }

    /// Unites two fields. At this point all fields come from equalities, and each has its own
    /// domain.
    fn unite(&mut self, a: FieldId, b: FieldId) {
        if a == b {
            return;
        }
        let (kept, gone) = (a.min(b), a.max(b));
        let field = self.fields.remove(gone);
        self.fields[kept].columns.extend(field.columns);
        if field.nulls == Nulls::Drop {
            self.fields[kept].nulls = Nulls::Drop;
        }
        self.fields.iter_mut().enumerate().for_each(|(k, f)| f.domain = k);
    }

    /// Makes the fields of the group keys. Columns of one leaf that are group keys only form one
    /// field.
    fn group_by(&mut self, exprs: &[Expr]) -> Result<Vec<GroupColumn>, Reason> {
        let mut keys = Vec::new();
        for expr in exprs {
            keys.push(match self.coalesced(expr) {
                Some(field) => GroupKey::Coalesced(field),
                None => GroupKey::Column(self.key(expr)?),
            });
        }
        let mut bundles: Vec<(usize, FieldId)> = Vec::new();
        let mut groups = Vec::new();
        for (key, expr) in keys.iter().zip(exprs) {
            let column = match key {
                GroupKey::Column(column) => column,
                GroupKey::Coalesced(field) => {
                    groups.push(GroupColumn { field: *field, part: 0 });
                    continue;
                }
            };
            if let Some(field) = self.field_of(*column).filter(|f| bundles.iter().all(|(_, b)| b != f)) {
                groups.push(GroupColumn { field, part: 0 });
                continue;
            }
            let shown = self.shown(expr);
            match bundles.iter().find(|(leaf, _)| *leaf == column.leaf) {
                None => {
                    let field = self.new_field(vec![vec![*column]], shown, Nulls::Keep);
                    bundles.push((column.leaf, field));
                    groups.push(GroupColumn { field, part: 0 });
                }
                Some(&(_, field)) => {
                    let bundle = &mut self.fields[field];
                    let tuple = &mut bundle.columns[0];
                    let part = tuple.iter().position(|c| c == column).unwrap_or_else(|| {
                        tuple.push(*column);
                        bundle.name = format!("{}, {shown}", bundle.name);
                        tuple.len() - 1
                    });
                    groups.push(GroupColumn { field, part });
                }
            }
        }
        Ok(groups)
    }

    fn aggregate(&mut self, expr: &Expr) -> Result<Aggregate, Reason> {
        let Expr::AggregateFunction(call) = expr else { return Err(Reason::Function(expr.to_string())) };
        let (name, params) = (call.func.name(), &call.params);
        let modifier = |modifier| Reason::Modifier { aggregate: expr.to_string(), modifier };
        if !params.order_by.is_empty() {
            return Err(modifier("ORDER BY"));
        }
        if params.null_treatment.is_some() {
            return Err(modifier("a treatment of NULL"));
        }
        let mut valid = Vec::new();
        for conjunct in params.filter.iter().flat_map(|f| split_conjunction(f)) {
            valid.push(self.passing(conjunct)?);
        }
        let distinct = params.distinct && !matches!(name, "min" | "max" | "bool_or" | "bool_and");
        let arg = params.args.first().ok_or_else(|| Reason::Function(name.to_string()))?;
        match name {
            "count" if distinct => {
                if params.args.len() > 1 {
                    return Err(modifier("DISTINCT of several"));
                }
                let column = self.key(arg)?;
                let field = self.field_or_new(column, arg, Nulls::Drop);
                Ok(Aggregate::CountDistinct { field, column, valid })
            }
            "sum" | "avg" if distinct => {
                let column = self.key(arg)?;
                let of = self.type_of(arg)?;
                let ty = Number::of(&of).ok_or_else(|| Reason::Type { what: format!("the sum of `{arg}`"), ty: of })?;
                let field = self.field_or_new(column, arg, Nulls::Drop);
                Ok(Aggregate::OverDistinct { field, column, valid, ty, mean: name == "avg" })
            }
            _ if distinct => Err(modifier("DISTINCT")),
            "count" => {
                for arg in &params.args {
                    self.require(arg, &mut valid)?;
                }
                Ok(Aggregate::Count(valid))
            }
            "sum" => Ok(Aggregate::Sum(self.sum(arg, &valid)?)),
            "avg" => match self.type_of(arg)? {
                DataType::Float64 | DataType::Decimal128(..) => Ok(Aggregate::Average(self.sum(arg, &valid)?)),
                ty => Err(Reason::Type { what: format!("the average of `{}`", self.shown(arg)), ty }),
            },
            "min" | "bool_and" | "max" | "bool_or" => {
                let end = if matches!(name, "min" | "bool_and") { End::Min } else { End::Max };
                let ty = self.type_of(arg)?;
                if !is_ordered(&ty) {
                    return Err(Reason::Type { what: format!("`{}` of an extreme", self.shown(arg)), ty });
                }
                Ok(Aggregate::Extreme { end, column: self.column(arg)?, valid })
            }
            _ => match call.func.inner().downcast_ref::<Function>() {
                Some(function) => self.fold(&function.semiring, &params.args, valid),
                None => Err(Reason::Function(name.to_string())),
            },
        }
    }

    fn fold(&mut self, semiring: &Semiring, args: &[Expr], mut valid: Vec<LeafColumn>) -> Result<Aggregate, Reason> {
        let mut factors: Vec<LeafColumn> = Vec::new();
        for arg in args {
            let column = self.column(arg)?;
            if factors.iter().any(|c| c.leaf == column.leaf) {
                return Err(Reason::Function(format!("{} of several columns of a table", self.shown(arg))));
            }
            factors.push(column);
            valid.push(column);
        }
        Ok(Aggregate::Fold { semiring: semiring.clone(), factors, valid })
    }

    /// Adds the columns that must not be NULL for an expression not to be NULL.
    fn require(&mut self, expr: &Expr, valid: &mut Vec<LeafColumn>) -> Result<(), Reason> {
        let parts = strict_parts(expr, self.home).map_err(|_| Reason::Spans(self.shown(expr)))?;
        for (leaf, part) in parts {
            check_plain(&part)?;
            if !is_total(&part, &self.schema) {
                valid.push(self.supply(leaf, &part));
            }
        }
        valid.sort_unstable();
        valid.dedup();
        Ok(())
    }

    fn sum(&mut self, arg: &Expr, filter: &[LeafColumn]) -> Result<Sum, Reason> {
        check_plain(arg)?;
        let ty = self.type_of(arg)?;
        let number = Number::of(&ty).ok_or_else(|| Reason::Type { what: format!("the sum of `{arg}`"), ty })?;
        let found = terms(arg, number, &self.schema, self.home).map_err(|_| Reason::Spans(self.shown(arg)))?;
        let mut sum = Sum { cases: Vec::new(), covers: found.covers, narrow: Vec::new(), ty: number };
        for case in found.cases {
            let mut guards = filter.to_vec();
            for (_, condition) in &case.guards {
                guards.push(self.passing(condition)?);
            }
            let mut valid = Vec::new();
            for (leaf, value) in case.values() {
                if !is_total(value, &self.schema) {
                    valid.push(self.supply(*leaf, value));
                }
            }
            let mut terms = Vec::new();
            for product in case.products {
                let factors = product.factors.iter().map(|(leaf, factor)| self.supply(*leaf, factor));
                let mut factors: Vec<LeafColumn> = factors.collect();
                factors.sort_unstable();
                terms.push(Term { negative: product.negative, factors });
            }
            for list in [&mut guards, &mut valid] {
                list.sort_unstable();
                list.dedup();
            }
            sum.cases.push(Case { guards, valid, terms });
        }
        for narrow in found.narrow {
            let factors = |product: Vec<(usize, Expr)>| {
                product.into_iter().map(|(leaf, factor)| self.supply(leaf, &factor)).collect()
            };
            let products = narrow.products.into_iter().map(factors).collect();
            sum.narrow.push(Narrow { products, most: narrow.most });
        }
        sum.covers &= filter.is_empty();
        Ok(sum)
    }

    /// Returns the column that is not NULL where a condition on one leaf is true.
    fn passing(&mut self, condition: &Expr) -> Result<LeafColumn, Reason> {
        let passes = when(condition.clone(), Expr::Literal(ScalarValue::from(true), None)).end();
        self.column(&passes.map_err(|e| Reason::Node(e.to_string()))?)
    }
}
