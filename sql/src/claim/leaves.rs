//! The leaves of a region: tensors, bound unchanged, or columns of inputs.
//!
//! Leaves that read the same rows under different names share one input, which is read and encoded
//! once. The columns that such leaves share have one domain.

use super::build::{Builder, Claim};
use super::contradiction::is_contradiction;
use super::join::{in_plan, replace_columns};
use super::origin::Origin;
use super::reason::Reason;
use super::region::{
    Aggregate, ColumnInfo, GroupColumn, Leaf, LeafColumn, Number, Region, RegionField, Role, Source, TensorColumn,
};
use crate::table::{TensorTable, range_of};
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
pub(super) fn finish(builder: Builder, groups: Vec<GroupColumn>, aggregates: Vec<Aggregate>) -> Result<Claim, Reason> {
    let Builder { join, schema, supplied, fields, masks, conditions, required, total, outers, .. } = builder;
    let mut tensors = Vec::new();
    for (leaf, ((plan, role), supplied)) in join.leaves.iter().zip(&supplied).enumerate() {
        // An anti-join keeps coordinates beyond the dimensions of the excluding tensor; outer joins
        // add rows.
        if *role == Role::Excludes || outers.iter().any(|outer| [outer.kept, outer.padded].contains(&leaf)) {
            tensors.push(None);
            continue;
        }
        let conditions: Vec<&Expr> = join.conditions.iter().filter(|(l, _)| *l == leaf).map(|(_, c)| c).collect();
        let used = Used::of(leaf, &fields, &aggregates);
        tensors.push(as_tensor(plan, &conditions, supplied, &used));
    }
    give_up_mixed_domains(&fields, &mut tensors);
    let mut shared: Vec<Origin> = Vec::new();
    // The inputs of padded leaves, which get added rows and are not shared.
    let mut single: Vec<usize> = Vec::new();
    let mut leaves = Vec::new();
    for (leaf, ((plan, role), supplied)) in join.leaves.iter().zip(&supplied).enumerate() {
        let shown: Vec<Expr> = supplied.iter().map(|e| in_plan(e, plan)).collect();
        let columns = supplied.iter().zip(&shown).map(|(e, shown)| {
            let ty = e.get_type(&schema).map_err(|e| Reason::Node(e.to_string()))?;
            Ok(ColumnInfo { name: shown.to_string(), ty })
        });
        let columns = columns.collect::<Result<Vec<_>, Reason>>()?;
        let source = match tensors[leaf].take() {
            Some(tensor) => tensor,
            None => {
                let conditions = join.conditions.iter().filter(|(l, _)| *l == leaf).map(|(_, c)| c);
                let (origin, exprs) = Origin::new(plan, conditions, supplied);
                let padded = join.is_padded(leaf);
                let known = (0..shared.len()).find(|k| !single.contains(k) && shared[*k].same_rows(&origin));
                let input = known.filter(|_| !padded).unwrap_or_else(|| {
                    shared.push(origin);
                    shared.len() - 1
                });
                if padded {
                    single.push(input);
                }
                let supplies = &mut shared[input];
                let column = |e| if padded { supplies.column_anew(e) } else { supplies.column(e) };
                Source::Input { input, columns: exprs.into_iter().map(column).collect() }
            }
        };
        let required = required.iter().filter(|c| c.leaf == leaf).map(|c| c.column).collect();
        let absent = match join.is_padded(leaf) {
            true => supplied.iter().map(|e| absent(e, &schema)).collect::<Result<_, _>>()?,
            false => Vec::new(),
        };
        leaves.push(Leaf { name: name_of(plan, leaf), source, role: *role, columns, required, absent });
    }
    let inputs = shared.into_iter().map(|origin| origin.plan().map_err(|e| Reason::Node(e.to_string())));
    let inputs = inputs.collect::<Result<_, _>>()?;
    let mut region = Region { leaves, outers, fields, masks, conditions, total, groups, aggregates };
    if is_contradiction(&region) {
        return Err(Reason::Contradiction);
    }
    share_domains(&mut region);
    Ok(Claim { region, inputs, declined: join.declined })
}

/// Returns the value of a leaf's expression in a row whose columns are all NULL.
fn absent(expr: &Expr, schema: &DFSchema) -> Result<ScalarValue, Reason> {
    let computed = || {
        let ty = expr.get_type(schema)?;
        let nothing = replace_columns(expr, |column| {
            let (_, field) = schema.qualified_field_from_column(column).ok()?;
            Some(Expr::Literal(ScalarValue::try_from(field.data_type()).ok()?, None))
        });
        let (empty, options) = (DFSchema::empty(), RecordBatchOptions::new().with_row_count(Some(1)));
        let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
        let computed =
            create_physical_expr(&nothing, &empty, &ExecutionProps::new(), &PhysicalPlanningContext::default())?;
        ScalarValue::try_from_array(&computed.evaluate(&row)?.into_array(1)?, 0)?.cast_to(&ty)
    };
    computed().map_err(|e: DataFusionError| Reason::Node(e.to_string()))
}

/// The uses of a leaf's columns, as column indices.
struct Used {
    /// Columns in fields.
    keys: Vec<usize>,
    /// Columns that are factors of sums.
    factors: Vec<usize>,
    /// True if a use needs rows: an extreme, a fold over a semiring, or two columns of one field.
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
                    let factors = sum.terms().flat_map(|term| &term.factors);
                    let factors = factors.chain(sum.narrow.iter().flat_map(|narrow| &narrow.products).flatten());
                    used.factors.extend(factors.filter(own).map(|c| c.column));
                }
                Aggregate::Extreme { column, .. } => used.as_rows |= column.leaf == leaf,
                Aggregate::Fold { factors, .. } => used.as_rows |= factors.iter().any(|c| c.leaf == leaf),
                Aggregate::Count(_) | Aggregate::CountDistinct { .. } | Aggregate::OverDistinct { .. } => {}
            }
        }
        used
    }
}

/// Returns the tensor that a plan scans, if keys are modes, factors are values, and conditions are
/// ranges of coordinates.
fn as_tensor(plan: &LogicalPlan, conditions: &[&Expr], supplied: &[Expr], used: &Used) -> Option<Source> {
    if used.as_rows {
        return None;
    }
    let (origin, exprs) = Origin::new(plan, conditions.iter().copied(), supplied);
    let (provider, conditions) = origin.scan()?;
    let table = provider.downcast_ref::<TensorTable>()?.clone();
    let ranges = conditions.iter().map(|c| range_of(c, &table)).collect::<Option<Vec<_>>>()?;
    let columns = exprs.iter().map(|e| tensor_column(&table, e)).collect::<Option<Vec<_>>>()?;
    let modes = used.keys.iter().all(|&k| matches!(columns[k], TensorColumn::Mode(_)));
    let values = used.factors.iter().all(|&k| columns[k] == TensorColumn::Value);
    let all = (0..columns.len()).all(|k| used.keys.contains(&k) || used.factors.contains(&k));
    (modes && values && all).then_some(Source::Tensor { table, columns, ranges })
}

/// Returns the mode or value that an expression reads, if it does nothing else. A cast of the value
/// to a number is allowed if it is exact or converts as kernels do.
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
    let (found, ty) = (table.column(index), schema.field(index).data_type());
    let keeps = |to: &DataType| {
        ty.is_integer() && *ty != DataType::UInt64 && *to != DataType::UInt64
            || ty.is_numeric() && *to == DataType::Float64
    };
    match to {
        None => Some(found),
        Some(to) => (found == TensorColumn::Value && keeps(to)).then_some(found),
    }
}

/// Gives up tensors whose modes share a domain with columns of rows. The codes of a tensor are its
/// coordinates, but rows may have values beyond its dimensions, so all values must be encoded.
fn give_up_mixed_domains(fields: &[RegionField], tensors: &mut [Option<Source>]) {
    loop {
        let mut mixed = None;
        for field in fields {
            let of_domain = || fields.iter().filter(|f| f.domain == field.domain);
            let leaves = || of_domain().flat_map(|f| f.columns.iter().flatten()).map(|c| c.leaf);
            if of_domain().count() > 1 && leaves().any(|l| tensors[l].is_none()) {
                mixed = mixed.or(leaves().find(|&l| tensors[l].is_some()));
            }
        }
        match mixed {
            Some(leaf) => tensors[leaf] = None,
            None => return,
        }
    }
}

/// Gives each column of an input one domain across all leaves that read it.
fn share_domains(region: &mut Region) {
    let of_tensors = |region: &Region, domain: usize| {
        let mut columns = region.fields.iter().filter(|f| f.domain == domain).flat_map(|f| f.columns.iter().flatten());
        columns.any(|c| region.tensor(c.leaf).is_some())
    };
    let mut domains: HashMap<(usize, usize), usize> = HashMap::new();
    for field in 0..region.fields.len() {
        let single = region.fields.iter().filter(|f| f.domain == region.fields[field].domain);
        if single.flat_map(|f| &f.columns).any(|tuple| tuple.len() > 1) {
            continue;
        }
        for column in region.fields[field].columns.clone().into_iter().flatten() {
            let own = region.fields[field].domain;
            let Some(key) = region.input_column(column) else { continue };
            let first = *domains.entry(key).or_insert(own);
            if first != own && !of_tensors(region, first) && !of_tensors(region, own) {
                region.fields.iter_mut().filter(|f| f.domain == own).for_each(|f| f.domain = first);
                domains.values_mut().filter(|d| **d == own).for_each(|d| *d = first);
            }
        }
    }
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

/// Returns whether kernels have a number type for `ty`.
fn is_machine_number(ty: &DataType) -> bool {
    !matches!(Number::of(ty), None | Some(Number::Decimal(_)))
}
