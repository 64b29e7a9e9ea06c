//! From an aggregate over a flat join to a region.

use super::join::{FlatJoin, check_plain, in_plan, leaf_column, leaves_of, substitute};
use super::reason::Reason;
use super::region::{
    Aggregate, ColumnInfo, Comparison, End, FieldId, GroupColumn, Leaf, LeafColumn, Mask, Nulls, Number, Region,
    RegionField, Role, Source, Sum, TensorColumn, Term,
};
use super::sums::{is_total, strict_parts, terms};
use crate::table::TensorTable;
use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::TableProvider;
use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::{DFSchema, NullEquality, ScalarValue, TableReference};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Aggregate as AggregateNode, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, when,
};
use std::collections::HashMap;
use std::sync::Arc;

/// A region with the plans of its inputs.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The region.
    pub region: Region,
    /// The plans that supply the columns of the leaves that are no tensors.
    pub inputs: Vec<LogicalPlan>,
    /// Joins below that had to be leaves.
    pub declined: Vec<Reason>,
}

/// Makes a region of an aggregate.
pub(super) fn build(node: &AggregateNode) -> Result<Claim, Reason> {
    let mut join = FlatJoin::default();
    let columns = join.add(&node.input);
    let of_leaves = |e: &Expr| substitute(e, &node.input, &columns);
    let mut builder = Builder::new(join)?;
    builder.join_fields()?;
    let groups = node.group_expr.iter().map(|e| match e {
        Expr::GroupingSet(_) => Err(Reason::GroupingSets),
        e => Ok(of_leaves(e)),
    });
    let groups = builder.group_by(&groups.collect::<Result<Vec<_>, _>>()?)?;
    let aggregates = node.aggr_expr.iter().map(|e| builder.aggregate(&of_leaves(e))).collect::<Result<Vec<_>, _>>()?;
    builder.finish(groups, aggregates)
}

struct Builder {
    join: FlatJoin,
    /// The columns of all leaves, by the names that expressions have for them.
    schema: DFSchema,
    /// The expressions that each leaf supplies.
    supplied: Vec<Vec<Expr>>,
    fields: Vec<RegionField>,
    masks: Vec<Mask>,
    /// The leaf that computes what reads no column.
    home: usize,
}

impl Builder {
    fn new(join: FlatJoin) -> Result<Builder, Reason> {
        let mut fields = Vec::new();
        for (leaf, (plan, _)) in join.leaves.iter().enumerate() {
            for (k, field) in plan.schema().fields().iter().enumerate() {
                let field = field.as_ref().clone().with_name(k.to_string());
                let Expr::Column(column) = leaf_column(leaf, k) else { unreachable!("it is a column") };
                fields.push((column.relation.or_else(|| Some(TableReference::bare(""))), Arc::new(field)));
            }
        }
        let schema = DFSchema::new_with_metadata(fields, HashMap::new()).map_err(|e| Reason::Node(e.to_string()))?;
        let home = join.leaves.iter().position(|(_, role)| *role == Role::Joins).unwrap_or(0);
        let supplied = vec![Vec::new(); join.leaves.len()];
        Ok(Builder { join, schema, supplied, fields: Vec::new(), masks: Vec::new(), home })
    }

    /// The column of a leaf that holds an expression.
    fn supply(&mut self, leaf: usize, expr: &Expr) -> LeafColumn {
        let own = &mut self.supplied[leaf];
        let column = own.iter().position(|e| e == expr).unwrap_or_else(|| {
            own.push(expr.clone());
            own.len() - 1
        });
        LeafColumn { leaf, column }
    }

    /// The column that holds an expression of one leaf.
    fn column(&mut self, expr: &Expr) -> Result<LeafColumn, Reason> {
        check_plain(expr)?;
        match leaves_of(expr)[..] {
            [] => Ok(self.supply(self.home, expr)),
            [leaf] => Ok(self.supply(leaf, expr)),
            _ => Err(Reason::Spans(expr.to_string())),
        }
    }

    fn type_of(&self, expr: &Expr) -> Result<DataType, Reason> {
        expr.get_type(&self.schema).map_err(|e| Reason::Node(e.to_string()))
    }

    /// As [`Builder::column`], of a type that can be a key.
    fn key(&mut self, expr: &Expr) -> Result<LeafColumn, Reason> {
        let ty = self.type_of(expr)?;
        if !is_key(&ty) {
            return Err(Reason::Type { what: format!("the key `{}`", self.shown(expr)), ty });
        }
        self.column(expr)
    }

    /// The expression as users wrote it.
    fn shown(&self, expr: &Expr) -> String {
        match leaves_of(expr)[..] {
            [leaf] => in_plan(expr, &self.join.leaves[leaf].0).to_string(),
            _ => expr.to_string(),
        }
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

    /// The fields of equalities and comparisons.
    fn join_fields(&mut self) -> Result<(), Reason> {
        for (left, right, nulls) in std::mem::take(&mut self.join.equalities) {
            let nulls = match nulls {
                NullEquality::NullEqualsNothing => Nulls::Drop,
                NullEquality::NullEqualsNull => Nulls::Keep,
            };
            self.same_type(&left, &right)?;
            let (a, b) = (self.key(&left)?, self.key(&right)?);
            let (a, b) = (self.field_or_new(a, &left, Nulls::Keep), self.field_or_new(b, &right, Nulls::Keep));
            self.unite(a, b);
            if nulls == Nulls::Drop {
                let field = a.min(b);
                self.fields[field].nulls = Nulls::Drop;
            }
        }
        for (left, comparison, right) in std::mem::take(&mut self.join.comparisons) {
            self.same_type(&left, &right)?;
            let (a, b) = (self.key(&left)?, self.key(&right)?);
            let (left, right) = (self.field_or_new(a, &left, Nulls::Drop), self.field_or_new(b, &right, Nulls::Drop));
            for field in [left, right] {
                self.fields[field].nulls = Nulls::Drop;
            }
            if left == right {
                // Equal anyway: the comparison holds for every row, or for none.
                if !matches!(comparison, Comparison::Le | Comparison::Ge) {
                    self.join.conditions.push((self.home, Expr::Literal(ScalarValue::from(false), None)));
                }
                continue;
            }
            let (from, to) = (self.fields[right].domain, self.fields[left].domain);
            self.fields.iter_mut().filter(|f| f.domain == from).for_each(|f| f.domain = to);
            self.masks.push(Mask { left, comparison, right });
        }
        match is_contradiction(&self.masks, self.fields.len()) {
            true => Err(Reason::Contradiction),
            false => Ok(()),
        }
    }

    fn same_type(&self, left: &Expr, right: &Expr) -> Result<(), Reason> {
        let (a, b) = (self.type_of(left)?, self.type_of(right)?);
        if a == b { Ok(()) } else { Err(Reason::Type { what: format!("`{}` beside {a}", self.shown(right)), ty: b }) }
    }

    /// Makes two fields one; just those of equalities are there yet, each of a domain of its own.
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

    /// The fields of groups. The columns of one leaf that do nothing but group are one field.
    fn group_by(&mut self, exprs: &[Expr]) -> Result<Vec<GroupColumn>, Reason> {
        let columns = exprs.iter().map(|e| self.key(e)).collect::<Result<Vec<_>, _>>()?;
        let mut bundles: Vec<(usize, FieldId)> = Vec::new();
        let mut groups = Vec::new();
        for (column, expr) in columns.iter().zip(exprs) {
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
            let passes = when(conjunct.clone(), Expr::Literal(ScalarValue::from(true), None)).end();
            valid.push(self.column(&passes.map_err(|e| Reason::Node(e.to_string()))?)?);
        }
        let distinct = params.distinct && !matches!(name, "min" | "max" | "bool_or" | "bool_and");
        let arg = params.args.first().ok_or_else(|| Reason::Function(name.to_string()))?;
        match name {
            "count" if distinct => {
                if params.args.len() > 1 || !valid.is_empty() {
                    return Err(modifier("DISTINCT of several, or with FILTER,"));
                }
                let column = self.key(arg)?;
                let field = self.field_or_new(column, arg, Nulls::Drop);
                Ok(Aggregate::CountDistinct { field, column })
            }
            _ if distinct => Err(modifier("DISTINCT")),
            "count" => {
                for arg in &params.args {
                    self.require(arg, &mut valid)?;
                }
                Ok(Aggregate::Count(valid))
            }
            "sum" => Ok(Aggregate::Sum(self.sum(arg, valid)?)),
            "avg" => match self.type_of(arg)? {
                DataType::Float64 | DataType::Decimal128(..) => Ok(Aggregate::Average(self.sum(arg, valid)?)),
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
            _ => Err(Reason::Function(name.to_string())),
        }
    }

    /// Requires that an expression has a value.
    fn require(&mut self, expr: &Expr, valid: &mut Vec<LeafColumn>) -> Result<(), Reason> {
        for (leaf, part) in strict_parts(expr, self.home)? {
            check_plain(&part)?;
            if !is_total(&part, &self.schema) {
                valid.push(self.supply(leaf, &part));
            }
        }
        valid.sort_unstable();
        valid.dedup();
        Ok(())
    }

    fn sum(&mut self, arg: &Expr, mut valid: Vec<LeafColumn>) -> Result<Sum, Reason> {
        check_plain(arg)?;
        let ty = self.type_of(arg)?;
        let number = Number::of(&ty).ok_or_else(|| Reason::Type { what: format!("the sum of `{arg}`"), ty })?;
        let mut sum = Sum { terms: Vec::new(), valid: Vec::new(), ty: number };
        for product in terms(arg, number, &self.schema, self.home)? {
            let mut factors = Vec::new();
            for (leaf, factor) in product.factors {
                let column = self.supply(leaf, &factor);
                factors.push(column);
                if !is_total(&factor, &self.schema) {
                    valid.push(column);
                }
            }
            factors.sort_unstable();
            sum.terms.push(Term { negative: product.negative, factors });
        }
        valid.sort_unstable();
        valid.dedup();
        sum.valid = valid;
        Ok(sum)
    }

    fn finish(self, groups: Vec<GroupColumn>, aggregates: Vec<Aggregate>) -> Result<Claim, Reason> {
        let Builder { join, schema, supplied, fields, masks, .. } = self;
        let mut inputs = Vec::new();
        let mut leaves = Vec::new();
        for (leaf, ((plan, role), supplied)) in join.leaves.iter().zip(&supplied).enumerate() {
            let conditions: Vec<Expr> =
                join.conditions.iter().filter(|(l, _)| *l == leaf).map(|(_, c)| in_plan(c, plan)).collect();
            let exprs: Vec<Expr> = supplied.iter().map(|e| in_plan(e, plan)).collect();
            let columns = supplied.iter().zip(&exprs).map(|(e, shown)| {
                let ty = e.get_type(&schema).map_err(|e| Reason::Node(e.to_string()))?;
                Ok(ColumnInfo { name: shown.to_string(), ty })
            });
            let columns = columns.collect::<Result<Vec<_>, Reason>>()?;
            let used = Used::of(leaf, &fields, &aggregates);
            let tensor = if conditions.is_empty() { as_tensor(plan, &exprs, &used) } else { None };
            let source = match tensor {
                Some((table, columns)) => Source::Tensor { table, columns },
                None => {
                    inputs.push(input(plan, &conditions, exprs).map_err(|e| Reason::Node(e.to_string()))?);
                    Source::Input(inputs.len() - 1)
                }
            };
            leaves.push(Leaf { name: name_of(plan, leaf), source, role: *role, columns });
        }
        let region = Region { leaves, fields, masks, groups, aggregates };
        Ok(Claim { region, inputs, declined: join.declined })
    }
}

/// Whether no values pass all comparisons.
fn is_contradiction(masks: &[Mask], fields: usize) -> bool {
    // Which fields are at most which others, and whether strictly, by the closure of Floyd and Warshall.
    let mut most: Vec<Vec<Option<bool>>> = vec![vec![None; fields]; fields];
    let mut add = |a: FieldId, b: FieldId, strict: bool| most[a][b] = Some(strict || most[a][b] == Some(true));
    for mask in masks {
        match mask.comparison {
            Comparison::Lt => add(mask.left, mask.right, true),
            Comparison::Le => add(mask.left, mask.right, false),
            Comparison::Gt => add(mask.right, mask.left, true),
            Comparison::Ge => add(mask.right, mask.left, false),
            Comparison::Ne => {}
        }
    }
    for k in 0..fields {
        for a in 0..fields {
            for b in 0..fields {
                if let (Some(x), Some(y)) = (most[a][k], most[k][b]) {
                    most[a][b] = Some(x || y || most[a][b] == Some(true));
                }
            }
        }
    }
    let both = |mask: &Mask| most[mask.left][mask.right].is_some() && most[mask.right][mask.left].is_some();
    (0..fields).any(|k| most[k][k] == Some(true))
        || masks.iter().any(|mask| mask.comparison == Comparison::Ne && both(mask))
}

/// The plan that supplies the expressions of a leaf.
fn input(plan: &LogicalPlan, conditions: &[Expr], exprs: Vec<Expr>) -> datafusion::error::Result<LogicalPlan> {
    let mut builder = LogicalPlanBuilder::from(plan.clone());
    for condition in conditions {
        builder = builder.filter(condition.clone())?;
    }
    let exprs = if exprs.is_empty() { vec![Expr::Literal(ScalarValue::from(true), None)] } else { exprs };
    builder.project(exprs.into_iter().enumerate().map(|(k, e)| e.alias(format!("c{k}"))))?.build()
}

/// What the columns of a leaf are used for, by their numbers.
struct Used {
    /// Those in fields.
    keys: Vec<usize>,
    /// Those that are factors of sums.
    factors: Vec<usize>,
    /// Whether one is used in a way that needs rows: an extreme, or two columns in one field.
    as_rows: bool,
}

impl Used {
    fn of(leaf: usize, fields: &[RegionField], aggregates: &[Aggregate]) -> Used {
        let own = |c: &&LeafColumn| c.leaf == leaf;
        let mut used = Used { keys: Vec::new(), factors: Vec::new(), as_rows: false };
        for field in fields {
            let before = used.keys.len();
            used.keys.extend(field.columns.iter().flatten().filter(own).map(|c| c.column));
            used.as_rows |= used.keys.len() > before + 1;
        }
        for aggregate in aggregates {
            match aggregate {
                Aggregate::Sum(sum) | Aggregate::Average(sum) => {
                    let factors = sum.terms.iter().flat_map(|term| &term.factors).filter(own);
                    used.factors.extend(factors.map(|c| c.column));
                }
                Aggregate::Extreme { column, .. } => used.as_rows |= column.leaf == leaf,
                Aggregate::Count(_) | Aggregate::CountDistinct { .. } => {}
            }
        }
        used
    }
}

/// The tensor that a plan scans as it is, where keys are modes and factors are values.
fn as_tensor(plan: &LogicalPlan, exprs: &[Expr], used: &Used) -> Option<(TensorTable, Vec<TensorColumn>)> {
    let scan = match plan {
        LogicalPlan::TableScan(scan) => scan,
        LogicalPlan::SubqueryAlias(alias) => match alias.input.as_ref() {
            LogicalPlan::TableScan(scan) => scan,
            _ => return None,
        },
        _ => return None,
    };
    if !scan.filters.is_empty() || scan.fetch.is_some() || used.as_rows {
        return None;
    }
    let provider = source_as_provider(&scan.source).ok()?;
    let table = provider.downcast_ref::<TensorTable>()?.clone();
    let column_of = |e: &Expr| {
        let column = match e {
            Expr::Column(column) => column,
            // Numbers are cast where they are read.
            Expr::Cast(cast) if is_machine_number(cast.field.data_type()) => match cast.expr.as_ref() {
                Expr::Column(column) => column,
                _ => return None,
            },
            _ => return None,
        };
        let index = plan.schema().maybe_index_of_column(column)?;
        let index = scan.projection.as_ref().map_or(index, |projection| projection[index]);
        let found = table.column(index);
        let schema = table.schema();
        let ty = schema.field(index).data_type();
        match e {
            Expr::Cast(cast) => {
                // Casts that keep every value, which those of kernels do, too.
                let keeps = ty.is_integer() && *ty != DataType::UInt64 && *cast.field.data_type() != DataType::UInt64
                    || ty.is_numeric() && *cast.field.data_type() == DataType::Float64;
                (found == TensorColumn::Value && keeps).then_some(found)
            }
            _ => Some(found),
        }
    };
    let columns = exprs.iter().map(column_of).collect::<Option<Vec<_>>>()?;
    let modes = used.keys.iter().all(|&k| matches!(columns[k], TensorColumn::Mode(_)));
    let values = used.factors.iter().all(|&k| columns[k] == TensorColumn::Value);
    let all = (0..columns.len()).all(|k| used.keys.contains(&k) || used.factors.contains(&k));
    (modes && values && all).then_some((table, columns))
}

fn name_of(plan: &LogicalPlan, leaf: usize) -> String {
    match plan {
        LogicalPlan::TableScan(scan) => scan.table_name.table().to_string(),
        LogicalPlan::SubqueryAlias(alias) => alias.alias.table().to_string(),
        LogicalPlan::Filter(filter) => name_of(&filter.input, leaf),
        LogicalPlan::Projection(projection) => name_of(&projection.input, leaf),
        _ => format!("t{leaf}"),
    }
}

/// Whether kernels have numbers of the type.
fn is_machine_number(ty: &DataType) -> bool {
    !matches!(Number::of(ty), None | Some(Number::Decimal(_)))
}

/// Whether equal values of the type are the same value, so that it can be a key. Zero of a float has two signs.
fn is_key(ty: &DataType) -> bool {
    match ty {
        DataType::Dictionary(_, value) => is_key(value),
        ty => is_ordered(ty) && !ty.is_floating(),
    }
}

/// Whether values of the type have an order that codes can keep.
fn is_ordered(ty: &DataType) -> bool {
    use DataType::*;
    matches!(ty, Boolean | Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | Date32 | Date64)
        || matches!(ty, Timestamp(..) | Time32(_) | Time64(_) | Decimal128(..) | Float32 | Float64)
        || ty.is_integer()
}
