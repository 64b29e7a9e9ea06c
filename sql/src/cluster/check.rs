//! Checks of decoded messages. A region, a division or a scan of a message may break the rules that
//! hold for those that are planned, and the modules that run them rely on these rules: indices are
//! in range, and lists have the lengths that belong together.

use super::message::malformed;
use crate::aggregates::{
    Aggregate, Count, Distinct, Extreme, MomentFunction, Moments, SemiringFold, Sum, SumOfProducts, SumTerm,
};
use crate::claim::{
    Combinations, GroupColumn, GroupedJoin, Leaf, LeafColumn, LeafId, LeafSource, Mask, OuterJoin, Region, RegionField,
};
use crate::number::Number;
use crate::spread::{Division, PartitionRows};
use crate::table::{ModeRange, ScanPart, TensorColumn, TensorTable};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// Returns an error that states the rule, unless the rule holds.
fn require(holds: bool, rule: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(malformed(format!("it breaks the rule that {rule}"))) }
}

/// Checks a region without its inputs.
///
/// # Errors
/// If the region breaks a rule.
pub(super) fn check_region(region: &Region) -> Result<()> {
    let Region { join, aggregates } = region;
    require(!join.leaves.is_empty(), "a region has a leaf")?;
    require(!join.groups.is_empty() || !aggregates.is_empty(), "a region has a column")?;
    (0..join.leaves.len()).try_for_each(|leaf| check_leaf(join, leaf))?;
    join.outers.iter().try_for_each(|outer| check_outer(join, outer))?;
    join.fields.iter().try_for_each(|field| check_field(join, field))?;
    join.masks.iter().try_for_each(|mask| check_mask(join, mask))?;
    check_columns(join, join.non_null.iter().chain(&join.float_keys))?;
    join.groups.iter().try_for_each(|group| check_group(join, group))?;
    aggregates.iter().try_for_each(|aggregate| check_aggregate(join, aggregate))
}

/// Checks that columns exist.
fn check_columns<'a>(join: &GroupedJoin, columns: impl IntoIterator<Item = &'a LeafColumn>) -> Result<()> {
    let exists = |c: &LeafColumn| join.leaves.get(c.leaf).is_some_and(|leaf| c.column < leaf.columns.len());
    require(columns.into_iter().all(exists), "columns exist")
}

/// Returns whether a leaf has rows before computed leaves are added.
fn reads_input(join: &GroupedJoin, leaf: LeafId) -> bool {
    join.leaves.get(leaf).is_some_and(|leaf| matches!(leaf.source, LeafSource::Input { .. }))
}

fn is_tensor(join: &GroupedJoin, leaf: LeafId) -> bool {
    matches!(join.leaves[leaf].source, LeafSource::Tensor { .. })
}

fn check_leaf(join: &GroupedJoin, number: LeafId) -> Result<()> {
    let Leaf { source, columns, required, padding, .. } = &join.leaves[number];
    require(required.iter().all(|&column| column < columns.len()), "required columns exist")?;
    require(padding.is_empty() || padding.len() == columns.len(), "each column of a padded leaf has a value")?;
    let width = match source {
        LeafSource::Input { columns, .. } => columns.len(),
        LeafSource::Tensor { table, columns, ranges } => {
            let rank = table.shape().len();
            let exists = |column: &TensorColumn| !matches!(column, TensorColumn::Mode(mode) if *mode >= rank);
            require(columns.iter().all(exists), "columns are modes of their tensor")?;
            check_ranges(table, ranges)?;
            columns.len()
        }
        LeafSource::Computed(combinations) => {
            check_combinations(join, (number, combinations))?;
            combinations.exprs.len()
        }
    };
    require(width == columns.len(), "each column of a leaf has a source")
}

fn check_ranges(table: &TensorTable, ranges: &[ModeRange]) -> Result<()> {
    let fits = |range: &ModeRange| {
        table.shape().get(range.mode).is_some_and(|&size| range.low <= range.high && range.high <= size)
    };
    require(ranges.iter().all(fits), "ranges of coordinates are within their modes")
}

/// Checks the sources of a computed leaf. A source is an input, a computed leaf before this one, or
/// a mode of a tensor.
fn check_combinations(join: &GroupedJoin, (leaf, combinations): (LeafId, &Combinations)) -> Result<()> {
    let Combinations { sources, exprs, .. } = combinations;
    check_columns(join, sources.iter().flatten())?;
    for (source, tuple) in sources.iter().enumerate() {
        let Some(first) = tuple.first() else { return require(false, "a source has a column") };
        require(tuple.iter().all(|column| column.leaf == first.leaf), "the columns of a source are of one leaf")?;
        let is_known = match &join.leaves[first.leaf].source {
            LeafSource::Input { .. } => true,
            LeafSource::Computed(_) => first.leaf < leaf,
            LeafSource::Tensor { columns, .. } => {
                tuple.len() == 1 && matches!(columns.get(first.column), Some(TensorColumn::Mode(_)))
            }
        };
        require(is_known, "a computed leaf reads inputs, modes of tensors, and computed leaves before it")?;
        let mut parts = (0..tuple.len()).map(|part| Expr::Column(Combinations::column(source, part)));
        require(parts.all(|part| exprs.contains(&part)), "a computed leaf has the values of its sources")?;
    }
    Ok(())
}

fn check_outer(join: &GroupedJoin, outer: &OuterJoin) -> Result<()> {
    let OuterJoin { kept, padded, keys, full } = outer;
    require(reads_input(join, *kept) && reads_input(join, *padded), "outer joins join inputs")?;
    let is_padded = |leaf: LeafId| join.leaves[leaf].padding.len() == join.leaves[leaf].columns.len();
    require(is_padded(*padded) && (!full || is_padded(*kept)), "each column of a padded leaf has a value")?;
    require(!keys.is_empty(), "an outer join has a key")?;
    let column = |leaf, column| LeafColumn { leaf, column };
    let columns: Vec<LeafColumn> = keys.iter().flat_map(|&(a, b)| [column(*kept, a), column(*padded, b)]).collect();
    check_columns(join, &columns)
}

fn check_field(join: &GroupedJoin, field: &RegionField) -> Result<()> {
    check_columns(join, field.columns.iter().flatten())?;
    let width = arity(join, field.domain);
    for tuple in &field.columns {
        require(tuple.iter().all(|column| column.leaf == tuple[0].leaf), "the columns of a tuple are of one leaf")?;
        require(!tuple.is_empty() && Some(tuple.len()) == width, "the tuples of a domain have one length")?;
    }
    Ok(())
}

/// Returns the number of columns of the tuples of a domain; `None` if the domain has no tuple.
fn arity(join: &GroupedJoin, domain: usize) -> Option<usize> {
    join.fields.iter().filter(|field| field.domain == domain).find_map(|field| field.columns.first()).map(Vec::len)
}

fn check_mask(join: &GroupedJoin, mask: &Mask) -> Result<()> {
    let (left, right) = (join.fields.get(mask.left), join.fields.get(mask.right));
    let is_comparable = left.zip(right).is_some_and(|(left, right)| left.domain == right.domain);
    require(is_comparable, "comparisons compare fields of one domain")?;
    require(mask.excluding_leaf.is_none_or(|leaf| leaf < join.leaves.len()), "the leaf of a comparison exists")
}

fn check_group(join: &GroupedJoin, group: &GroupColumn) -> Result<()> {
    let width = join.fields.get(group.field).and_then(|field| arity(join, field.domain));
    require(width.is_some_and(|width| group.part < width), "group columns exist")
}

fn check_aggregate(join: &GroupedJoin, aggregate: &Aggregate) -> Result<()> {
    match aggregate {
        Aggregate::Count(Count { cases }) => check_columns(join, cases.iter().flatten())?,
        Aggregate::Sum(Sum { sum, .. }) => check_sum(join, sum)?,
        Aggregate::Extreme(Extreme { column, valid, .. }) => check_columns(join, valid.iter().chain([column]))?,
        Aggregate::Distinct(Distinct { field, column, valid, .. }) => {
            check_columns(join, valid.iter().chain([column]))?;
            let columns = join.fields.get(*field).map(|field| field.columns.iter().flatten());
            require(columns.is_some_and(|mut all| all.any(|c| c == column)), "a distinct column is of its field")?;
        }
        Aggregate::Moments(moments) => check_moments(join, moments)?,
        Aggregate::Semiring(SemiringFold { factors, valid, .. }) => {
            check_columns(join, factors.iter().chain(valid))?;
            require(!factors.is_empty(), "a function over a semiring has an argument")?;
        }
    }
    let rows = aggregate.as_dyn().row_columns();
    require(rows.iter().all(|column| !is_tensor(join, column.leaf)), "columns that are read by row are of no tensor")
}

fn check_sum(join: &GroupedJoin, sum: &SumOfProducts) -> Result<()> {
    for case in &sum.cases {
        check_columns(join, case.guards.iter().chain(&case.valid))?;
    }
    check_columns(join, sum.terms().flat_map(|term| &term.factors))?;
    check_columns(join, sum.narrow.iter().flat_map(|narrow| &narrow.products).flatten())?;
    match sum.ty {
        Number::Decimal(scale) => sum.terms().try_for_each(|term| check_decimals(join, term, scale)),
        Number::I64 | Number::U64 | Number::F64 => Ok(()),
    }
}

/// Checks a product of decimals, whose scale is at most the scale of the sum.
fn check_decimals(join: &GroupedJoin, term: &SumTerm, scale: i8) -> Result<()> {
    let scales = term.factors.iter().map(|&factor| match join.column(factor).ty {
        DataType::Decimal128(_, scale) if !is_tensor(join, factor.leaf) => Some(i32::from(scale)),
        _ => None,
    });
    let total = scales.sum::<Option<i32>>().filter(|_| !term.factors.is_empty());
    require(total.is_some_and(|total| total <= i32::from(scale)), "a sum of decimals has products of decimals")
}

fn check_moments(join: &GroupedJoin, moments: &Moments) -> Result<()> {
    let Moments { function, args, product, valid } = moments;
    check_columns(join, args.iter().flat_map(|arg| [&arg.column, &arg.square]).chain(product).chain(valid))?;
    let count = match function {
        MomentFunction::Variance(_) | MomentFunction::Deviation(_) => 1,
        MomentFunction::Covariance(_) | MomentFunction::Correlation => 2,
    };
    let is_complete = args.len() == count && product.is_empty() == (count == 1);
    require(is_complete, "a variance has one argument, and a covariance has two arguments and their product")
}

/// Checks that a schema has the columns of a region.
///
/// # Errors
/// If the schema has another number of columns.
pub(super) fn check_schema(region: &Region, schema: &Schema) -> Result<()> {
    let width = region.join.groups.len() + region.aggregates.len();
    require(schema.fields().len() == width, "the rows of a region have its columns")
}

/// Checks the division of a region and the inputs of its partitions.
///
/// # Errors
/// If the region or the division breaks a rule.
pub(super) fn check_division(
    region: &Region,
    division: &Division,
    schema: &Schema,
    inputs: &[Arc<dyn ExecutionPlan>],
) -> Result<()> {
    let Division { inputs: of_partition, fields, null_if_zero, .. } = division;
    require(of_partition.len() == inputs.len(), "each input of a partition has a plan")?;
    require(fields.iter().all(|(field, _)| *field < region.join.fields.len()), "divided fields exist")?;
    require(null_if_zero.iter().all(|&column| column < schema.fields().len()), "columns of counts exist")?;
    let schemas: Vec<_> = inputs.iter().map(|input| input.schema()).collect();
    for (input, schema) in of_partition.iter().zip(&schemas) {
        let width = schema.fields().len();
        let exists = match &input.rows {
            PartitionRows::All => true,
            PartitionRows::OfKey(column) => *column < width,
            PartitionRows::OfCell(columns) => {
                let has_cell = schema.fields().last().is_some_and(|field| *field.data_type() == DataType::UInt64);
                has_cell && columns.len() == fields.len() && columns.iter().flatten().all(|&column| column + 1 < width)
            }
        };
        require(exists, "the inputs of a partition have the columns that divide them")?;
    }
    for leaf in &region.join.leaves {
        if let LeafSource::Input { input, columns } = &leaf.source {
            let width = schemas.get(*input).map(|schema| schema.fields().len());
            let exist = width.is_some_and(|width| columns.iter().all(|&column| column < width));
            require(exist, "the columns of leaves are columns of their inputs")?;
        }
    }
    Ok(())
}

/// Checks the copies of rows for cells: each cell has a number.
///
/// # Errors
/// If a column does not exist, a field has no part, or there are fewer numbers than cells.
pub(super) fn check_replication(divisions: &[(Option<usize>, usize)], numbers: &[u64], schema: &Schema) -> Result<()> {
    let exist = divisions.iter().all(|(column, _)| column.is_none_or(|column| column < schema.fields().len()));
    require(exist, "the columns of divided fields exist")?;
    let cells = divisions.iter().try_fold(1, |cells: usize, (_, parts)| cells.checked_mul(*parts));
    require(cells.is_some_and(|cells| (1..=numbers.len()).contains(&cells)), "each cell has a number")
}

/// Checks the part of a tensor that a scan reads.
///
/// # Errors
/// If a range is outside of the tensor, or a column does not exist.
pub(super) fn check_scan(table: &TensorTable, part: &ScanPart) -> Result<()> {
    check_ranges(table, &part.ranges)?;
    let width = datafusion::catalog::TableProvider::schema(table).fields().len();
    require(part.projection.iter().all(|&column| column < width), "the columns of a scan exist")
}
