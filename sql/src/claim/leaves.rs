//! The leaves of a region: tensors that are bound unchanged, columns of inputs, or computed leaves.
//!
//! Leaves that read the same rows under different names share one input, which is read and encoded
//! once. A column that such leaves share has one domain, so equal values have equal codes; domains
//! of tensors and of tuples of columns are not shared. A leaf that an outer join pads has an input
//! of its own.

use super::builder::RegionBuilder;
use super::contradiction::is_contradiction;
use super::grouped_join::{ColumnInfo, GroupColumn, GroupedJoin, Leaf, LeafColumn, LeafRole, LeafSource, RegionField};
use super::join::{replace_columns, to_plan_columns};
use super::origin::LeafOrigin;
use super::reason::UnclaimedReason;
use super::region::{Claim, Region};
use crate::aggregates::Aggregate;
use crate::number::Number;
use crate::table::{TensorColumn, TensorTable, range_of};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::TableProvider;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::physical_expr::create_physical_expr;
use std::collections::HashMap;
use std::sync::Arc;

/// Completes a region: decides the source of each leaf, and shares inputs and domains.
pub(super) fn finish_region(
    builder: RegionBuilder,
    groups: Vec<GroupColumn>,
    aggregates: Vec<Aggregate>,
) -> Result<Claim, UnclaimedReason> {
    let RegionBuilder {
        join, schema, leaf_exprs, fields, masks, computed, required, non_null, outers, float_keys, ..
    } = builder;
    let mut tensors = Vec::new();
    let computed_leaf = |leaf: usize| computed.iter().find(|computed| computed.leaf == leaf);
    for (leaf, ((plan, role), exprs)) in join.leaves.iter().zip(&leaf_exprs).enumerate() {
        if computed_leaf(leaf).is_some() {
            tensors.push(None);
            continue;
        }
        // An anti-join keeps rows whose values lie beyond the dimensions of the excluding tensor,
        // and an outer join adds rows. A tensor that is bound unchanged supports neither.
        if *role == LeafRole::AntiJoin || outers.iter().any(|outer| [outer.kept, outer.padded].contains(&leaf)) {
            tensors.push(None);
            continue;
        }
        let conditions: Vec<&Expr> = join.conditions.iter().filter(|(l, _)| *l == leaf).map(|(_, c)| c).collect();
        let uses = ColumnUses::of(leaf, &fields, &aggregates);
        tensors.push(as_tensor(plan, &conditions, exprs, &uses));
    }
    drop_mixed_tensors(&fields, &mut tensors, |leaf| computed_leaf(leaf).is_some());
    let mut shared: Vec<LeafOrigin> = Vec::new();
    // The inputs of padded leaves. Outer joins add rows to such a leaf, so no other leaf shares its
    // input.
    let mut unshared: Vec<usize> = Vec::new();
    let mut leaves: Vec<Leaf> = Vec::new();
    let type_of = |e: &Expr| e.get_type(&schema).map_err(|error| UnclaimedReason::Planning(error.to_string()));
    for (leaf, ((plan, role), exprs)) in join.leaves.iter().zip(&leaf_exprs).enumerate() {
        if let Some(computed) = computed_leaf(leaf) {
            let source_column = |column: LeafColumn| leaves[column.leaf].columns[column.column].clone();
            leaves.push(computed.clone().finish(plan, exprs, type_of, source_column)?);
            continue;
        }
        let plan_exprs: Vec<Expr> = exprs.iter().map(|e| to_plan_columns(e, plan)).collect();
        let columns = exprs
            .iter()
            .zip(&plan_exprs)
            .map(|(e, plan_expr)| Ok(ColumnInfo { name: plan_expr.to_string(), ty: type_of(e)? }));
        let columns = columns.collect::<Result<Vec<_>, UnclaimedReason>>()?;
        let source = match tensors[leaf].take() {
            Some(tensor) => tensor,
            None => {
                let conditions = join.conditions.iter().filter(|(l, _)| *l == leaf).map(|(_, c)| c);
                let (origin, exprs) = LeafOrigin::new(plan, conditions, exprs);
                let padded = join.is_padded(leaf);
                let existing = (0..shared.len()).find(|k| !unshared.contains(k) && shared[*k].has_same_rows(&origin));
                let input = existing.filter(|_| !padded).unwrap_or_else(|| {
                    shared.push(origin);
                    shared.len() - 1
                });
                if padded {
                    unshared.push(input);
                }
                let shared_input = &mut shared[input];
                let column = |e| if padded { shared_input.add_column(e) } else { shared_input.column(e) };
                LeafSource::Input { input, columns: exprs.into_iter().map(column).collect() }
            }
        };
        let required = required.iter().filter(|c| c.leaf == leaf).map(|c| c.column).collect();
        let padding = match join.is_padded(leaf) {
            true => exprs.iter().map(|e| padding_value(e, &schema)).collect::<Result<_, _>>()?,
            false => Vec::new(),
        };
        leaves.push(Leaf { name: leaf_name(plan, leaf), source, role: *role, columns, required, padding });
    }
    let inputs = shared.into_iter().map(|origin| origin.plan().map_err(|e| UnclaimedReason::Planning(e.to_string())));
    let inputs = inputs.collect::<Result<_, _>>()?;
    let mut grouped_join = GroupedJoin { leaves, outers, fields, masks, non_null, float_keys, groups };
    if is_contradiction(&grouped_join) {
        return Err(UnclaimedReason::Contradiction);
    }
    share_domains(&mut grouped_join);
    Ok(Claim { region: Region { join: grouped_join, aggregates }, inputs, unflattened: join.unflattened })
}

/// Returns the value of a leaf's expression in a row whose columns are all NULL.
fn padding_value(expr: &Expr, schema: &DFSchema) -> Result<ScalarValue, UnclaimedReason> {
    let compute = || {
        let ty = expr.get_type(schema)?;
        let of_nulls = replace_columns(expr, |column| {
            let (_, field) = schema.qualified_field_from_column(column).ok()?;
            Some(Expr::Literal(ScalarValue::try_from(field.data_type()).ok()?, None))
        });
        let (empty, options) = (DFSchema::empty(), RecordBatchOptions::new().with_row_count(Some(1)));
        let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
        let physical =
            create_physical_expr(&of_nulls, &empty, &ExecutionProps::new(), &PhysicalPlanningContext::default())?;
        ScalarValue::try_from_array(&physical.evaluate(&row)?.into_array(1)?, 0)?.cast_to(&ty)
    };
    compute().map_err(|e: DataFusionError| UnclaimedReason::Planning(e.to_string()))
}

/// The uses of a leaf's columns, as column indices.
struct ColumnUses {
    /// Columns that belong to fields of the join.
    keys: Vec<usize>,
    /// Columns that are factors of sums.
    factors: Vec<usize>,
    /// True if a use needs rows: an extremum, a fold over a semiring, or two columns of one field.
    needs_rows: bool,
}

impl ColumnUses {
    fn of(leaf: usize, fields: &[RegionField], aggregates: &[Aggregate]) -> ColumnUses {
        let is_own = |c: &&LeafColumn| c.leaf == leaf;
        let mut uses = ColumnUses { keys: Vec::new(), factors: Vec::new(), needs_rows: false };
        for field in fields {
            let before = uses.keys.len();
            uses.keys.extend(field.columns.iter().flatten().filter(is_own).map(|c| c.column));
            uses.needs_rows |= uses.keys.len() > before + 1;
        }
        for aggregate in aggregates.iter().map(Aggregate::as_dyn) {
            uses.factors.extend(aggregate.factors().iter().filter(is_own).map(|c| c.column));
            uses.needs_rows |= aggregate.row_columns().iter().any(|c| c.leaf == leaf);
        }
        uses
    }
}

/// Returns the tensor that a plan scans, if all conditions are ranges of coordinates and no use of
/// a column needs rows. Every column must be a key or a factor, keys must be modes, and factors
/// must be values.
fn as_tensor(plan: &LogicalPlan, conditions: &[&Expr], exprs: &[Expr], uses: &ColumnUses) -> Option<LeafSource> {
    if uses.needs_rows {
        return None;
    }
    let (origin, exprs) = LeafOrigin::new(plan, conditions.iter().copied(), exprs);
    let (provider, conditions) = origin.scan()?;
    let table = provider.downcast_ref::<TensorTable>()?.clone();
    let ranges = conditions.iter().map(|c| range_of(c, &table)).collect::<Option<Vec<_>>>()?;
    let columns = exprs.iter().map(|e| tensor_column(&table, e)).collect::<Option<Vec<_>>>()?;
    let modes = uses.keys.iter().all(|&k| matches!(columns[k], TensorColumn::Mode(_)));
    let values = uses.factors.iter().all(|&k| columns[k] == TensorColumn::Value);
    let all = (0..columns.len()).all(|k| uses.keys.contains(&k) || uses.factors.contains(&k));
    (modes && values && all).then_some(LeafSource::Tensor { table, columns, ranges })
}

/// Returns the mode or value that an expression reads; `None` if the expression computes anything
/// else. A cast of the value to a number is allowed if it is exact or converts as kernels do.
fn tensor_column(table: &TensorTable, expr: &Expr) -> Option<TensorColumn> {
    let (column, to) = match expr {
        Expr::Column(column) => (column, None),
        Expr::Cast(cast) if is_machine_number(cast.field.data_type()) => match cast.expr.as_ref() {
            Expr::Column(column) => (column, Some(cast.field.data_type())),
            _ => return None,
        },
        _ => return None,
    };
    let schema = table.schema();
    let index = schema.index_of(&column.name).ok()?;
    let (tensor_column, ty) = (table.column(index), schema.field(index).data_type());
    let is_exact = |to: &DataType| {
        ty.is_integer() && *ty != DataType::UInt64 && *to != DataType::UInt64
            || ty.is_numeric() && *to == DataType::Float64
    };
    match to {
        None => Some(tensor_column),
        Some(to) => (tensor_column == TensorColumn::Value && is_exact(to)).then_some(tensor_column),
    }
}

/// Drops each tensor that has a mode in the same domain as a column of an input, if the domain has
/// several fields. The leaf is then read as rows. The codes of a tensor are its coordinates, but
/// rows that are compared with the tensor may have values beyond its dimensions, so all values must
/// be encoded. Computed leaves are ignored, because their values come from other leaves.
fn drop_mixed_tensors(fields: &[RegionField], tensors: &mut [Option<LeafSource>], is_computed: impl Fn(usize) -> bool) {
    loop {
        let mut mixed = None;
        for field in fields {
            let of_domain = || fields.iter().filter(|f| f.domain == field.domain);
            let leaves = || of_domain().flat_map(|f| f.columns.iter().flatten()).map(|c| c.leaf);
            if of_domain().count() > 1 && leaves().any(|l| tensors[l].is_none() && !is_computed(l)) {
                mixed = mixed.or(leaves().find(|&l| tensors[l].is_some()));
            }
        }
        match mixed {
            Some(leaf) => tensors[leaf] = None,
            None => return,
        }
    }
}

/// Gives each column of an input one domain across all leaves that read the column. Domains of
/// tensors and of tuples of columns stay as they are.
fn share_domains(join: &mut GroupedJoin) {
    let has_tensors = |join: &GroupedJoin, domain: usize| {
        let mut columns = join.fields.iter().filter(|f| f.domain == domain).flat_map(|f| f.columns.iter().flatten());
        columns.any(|c| join.tensor(c.leaf).is_some())
    };
    let mut domains: HashMap<(usize, usize), usize> = HashMap::new();
    for field in 0..join.fields.len() {
        let single = join.fields.iter().filter(|f| f.domain == join.fields[field].domain);
        if single.flat_map(|f| &f.columns).any(|tuple| tuple.len() > 1) {
            continue;
        }
        for column in join.fields[field].columns.clone().into_iter().flatten() {
            let domain = join.fields[field].domain;
            let Some(key) = join.input_column(column) else { continue };
            let first = *domains.entry(key).or_insert(domain);
            if first != domain && !has_tensors(join, first) && !has_tensors(join, domain) {
                join.fields.iter_mut().filter(|f| f.domain == domain).for_each(|f| f.domain = first);
                domains.values_mut().filter(|d| **d == domain).for_each(|d| *d = first);
            }
        }
    }
}

fn leaf_name(plan: &LogicalPlan, leaf: usize) -> String {
    match plan {
        LogicalPlan::TableScan(scan) => scan.table_name.table().to_string(),
        LogicalPlan::SubqueryAlias(alias) => alias.alias.table().to_string(),
        LogicalPlan::Filter(filter) => leaf_name(&filter.input, leaf),
        LogicalPlan::Projection(projection) => leaf_name(&projection.input, leaf),
        _ => format!("t{leaf}"),
    }
}

/// Returns whether kernels compute with numbers of type `ty` directly, which excludes decimals.
fn is_machine_number(ty: &DataType) -> bool {
    !matches!(Number::of(ty), None | Some(Number::Decimal(_)))
}
