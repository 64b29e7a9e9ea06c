//! The rows of computed leaves: the combinations of values of other leaves, and expressions over
//! these values.

use super::columns::EncodedColumns;
use super::domain::Domain;
use super::leaf::LeafRows;
use crate::claim::{Combinations, GroupedJoin, LeafColumn, LeafSource};
use crate::error::{FallbackReason, Result};
use crate::memory::Allowance;
use crate::table::TensorColumn;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::DFSchema;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::create_physical_expr;
use std::sync::Arc;

/// The largest number of combinations of a computed leaf.
const MAX_COMBINATIONS: u64 = 1 << 20;

/// Adds the rows of computed leaves.
///
/// # Errors
/// If a leaf has more than `MAX_COMBINATIONS` combinations, an expression fails for a combination,
/// Arrow refuses a computation, or the allowance is exhausted.
pub(super) fn add_computed_rows(
    join: &GroupedJoin,
    leaves: &mut [Option<LeafRows>],
    allowance: &Allowance,
) -> Result<()> {
    for (number, leaf) in join.leaves.iter().enumerate() {
        let LeafSource::Computed(combinations) = &leaf.source else { continue };
        let sources = combinations.sources.iter().map(|tuple| distinct_values(join, leaves, tuple, allowance));
        let sources = sources.collect::<Result<Vec<Domain>>>()?;
        let codes = all_codes(&sources).ok_or_else(|| FallbackReason::TooManyCombinations {
            expr: format!("`{}`", leaf.name),
            max: MAX_COMBINATIONS,
        })?;
        let (codes, columns) = computed_columns(join, combinations, &sources, codes)
            .map_err(|e| FallbackReason::EarlyError { error: e.to_string() })?;
        let rows = codes.first().map_or(0, Vec::len);
        let fields: Vec<Field> = columns.iter().map(|c| Field::new("", c.data_type().clone(), true)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
        allowance.reserve("the combinations", batch.get_array_memory_size() + codes.len() * rows * size_of::<u64>())?;
        let mut leaf_rows = LeafRows::new(batch);
        for (source, (domain, codes)) in sources.into_iter().zip(codes).enumerate() {
            let columns = combinations.columns_of_source(source);
            leaf_rows.add_encoding(columns, Arc::new(EncodedColumns { domain, codes: Arc::new(codes) }));
        }
        leaves[number] = Some(leaf_rows);
    }
    Ok(())
}

/// Returns the distinct values of a tuple of columns of one leaf, and adds the codes of the tuple
/// to the rows of the leaf. For a mode of a tensor, returns all coordinates of the mode.
fn distinct_values(
    join: &GroupedJoin,
    leaves: &mut [Option<LeafRows>],
    tuple: &[LeafColumn],
    allowance: &Allowance,
) -> Result<Domain> {
    let leaf = tuple.first().expect("a source has columns").leaf;
    let Some(rows) = &mut leaves[leaf] else {
        let (table, columns) = join.tensor(leaf).expect("a leaf without rows is a tensor");
        let TensorColumn::Mode(mode) = columns[tuple[0].column] else {
            unreachable!("if other leaves read the values of a tensor, its leaf has rows")
        };
        return Ok(Domain::range((0, table.shape()[mode]), None, DataType::Int64));
    };
    let columns: Vec<usize> = tuple.iter().map(|c| c.column).collect();
    if let Some(encoded) = rows.encoding(&columns) {
        return Ok(encoded.domain.clone());
    }
    let encoded = EncodedColumns::new(&[columns.iter().map(|&c| rows.column(c).clone()).collect()])?;
    allowance.reserve("the codes", encoded.bytes())?;
    let domain = encoded.domain.clone();
    rows.add_encoding(columns, Arc::new(encoded));
    Ok(domain)
}

/// Returns the codes of all combinations of values, a list for each source; `None` if there are too
/// many combinations.
fn all_codes(sources: &[Domain]) -> Option<Vec<Vec<u64>>> {
    let combinations = sources.iter().try_fold(1u64, |n, source| n.checked_mul(source.count()));
    let combinations = combinations.filter(|&n| n <= MAX_COMBINATIONS)?;
    let mut inner = combinations;
    let codes = sources.iter().map(|source| {
        inner /= source.count().max(1);
        (0..combinations).map(|combination| combination / inner.max(1) % source.count()).collect()
    });
    Some(codes.collect())
}

/// Returns the codes of the combinations that pass the condition, and the columns of the leaf.
fn computed_columns(
    join: &GroupedJoin,
    combinations: &Combinations,
    sources: &[Domain],
    codes: Vec<Vec<u64>>,
) -> Result<(Vec<Vec<u64>>, Vec<ArrayRef>), DataFusionError> {
    let mut parts = Parts::new(join, combinations, sources, &codes)?;
    let Some(condition) = &combinations.condition else {
        return Ok((codes, parts.evaluate_all(&combinations.exprs)?));
    };
    let passes = parts.evaluate(condition)?;
    let not_boolean = || DataFusionError::Plan("a condition is not boolean".into());
    let passes = passes.as_boolean_opt().ok_or_else(not_boolean)?;
    let passing: Vec<usize> = (0..passes.len()).filter(|&k| passes.is_valid(k) && passes.value(k)).collect();
    let codes: Vec<Vec<u64>> = codes.iter().map(|list| passing.iter().map(|&k| list[k]).collect()).collect();
    parts = Parts::new(join, combinations, sources, &codes)?;
    Ok((codes, parts.evaluate_all(&combinations.exprs)?))
}

/// The values of the sources in each combination, under the names of [`Combinations::column`].
struct Parts {
    schema: DFSchema,
    batch: RecordBatch,
}

impl Parts {
    fn new(
        join: &GroupedJoin,
        combinations: &Combinations,
        sources: &[Domain],
        codes: &[Vec<u64>],
    ) -> Result<Parts, DataFusionError> {
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (source, (domain, tuple)) in sources.iter().zip(&combinations.sources).enumerate() {
            let all: Vec<u64> = (0..domain.count()).collect();
            let indices = UInt64Array::from(codes[source].clone());
            for (part, (values, column)) in domain.decode(&all)?.iter().zip(tuple).enumerate() {
                let name = Combinations::column(source, part);
                let values = cast(values, &join.column(*column).ty)?;
                fields.push((name.relation, Arc::new(Field::new(name.name, values.data_type().clone(), true))));
                columns.push(take(&values, &indices, None)?);
            }
        }
        let schema = DFSchema::new_with_metadata(fields, Default::default())?;
        let rows = codes.first().map_or(0, Vec::len);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        // Physical expressions refer to columns by index.
        let indexed: Vec<Field> =
            (0..columns.len()).map(|k| Field::new(k.to_string(), columns[k].data_type().clone(), true)).collect();
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(indexed)), columns, &options)?;
        Ok(Parts { schema, batch })
    }

    /// Evaluates an expression for each combination.
    fn evaluate(&self, expr: &Expr) -> Result<ArrayRef, DataFusionError> {
        let (properties, planning) = (ExecutionProps::new(), PhysicalPlanningContext::default());
        let expr = create_physical_expr(expr, &self.schema, &properties, &planning)?;
        expr.evaluate(&self.batch)?.into_array(self.batch.num_rows())
    }

    fn evaluate_all(&self, exprs: &[Expr]) -> Result<Vec<ArrayRef>, DataFusionError> {
        exprs.iter().map(|expr| self.evaluate(expr)).collect()
    }
}
