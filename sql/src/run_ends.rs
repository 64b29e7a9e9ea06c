//! Run-end encoded columns, which DataFusion's outer joins pad with wrong values.
//!
//! For a row that an outer join adds, DataFusion calls Arrow's `take` with a NULL index. For
//! run-end encoded arrays, `take` ignores the NULL and returns the first value. So tables in memory
//! store plain arrays instead. A plan is refused if an outer join that DataFusion runs still adds
//! rows to a run-end encoded column.

use crate::error::Error;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::TableProvider;
use datafusion::common::JoinType;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use std::sync::Arc;

/// Returns a table in memory with plain arrays in place of run-end encoded arrays; other tables,
/// and tables that are being written, are returned unchanged.
///
/// # Errors
/// If Arrow cannot decode an array.
pub(crate) fn plain_table(table: Arc<dyn TableProvider>) -> Result<Arc<dyn TableProvider>> {
    let Some(memory) = table.downcast_ref::<MemTable>() else { return Ok(table) };
    let schema = memory.schema();
    if !schema.fields().iter().any(|field| values_type(field.data_type()).is_some()) {
        return Ok(table);
    }
    let mut partitions = Vec::new();
    for partition in &memory.batches {
        let Ok(batches) = partition.try_read() else { return Ok(table.clone()) };
        partitions.push(batches.iter().map(plain_batch).collect::<Result<Vec<_>>>()?);
    }
    let default = |field: &Arc<Field>| Some((field.name().clone(), memory.get_column_default(field.name())?.clone()));
    let plain = MemTable::try_new(plain_schema(&schema), partitions)?
        .with_constraints(memory.constraints().cloned().unwrap_or_default())
        .with_column_defaults(schema.fields().iter().filter_map(default).collect())
        .with_sort_order(memory.sort_order.lock().clone());
    Ok(Arc::new(plain))
}

fn plain_batch(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = plain_schema(&batch.schema());
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| cast(column, field.data_type()));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}

/// Returns the schema with the types of values in place of run-end encoded types.
fn plain_schema(schema: &Schema) -> SchemaRef {
    let plain = |field: &Arc<Field>| match values_type(field.data_type()) {
        Some(ty) => Arc::new(field.as_ref().clone().with_data_type(ty.clone())),
        None => field.clone(),
    };
    let fields: Vec<Arc<Field>> = schema.fields().iter().map(plain).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Returns the type of the values of a run-end encoded type; `None` for other types.
fn values_type(ty: &DataType) -> Option<&DataType> {
    match ty {
        DataType::RunEndEncoded(_, values) => Some(values.data_type()),
        _ => None,
    }
}

/// Checks that no outer join of a plan pads a run-end encoded column. The plan must be optimized,
/// because a plan before optimization also has columns that no node reads.
///
/// # Errors
/// [`Error::RunEndEncoded`] if an outer join pads such a column.
pub(crate) fn check_outer_joins(plan: &LogicalPlan) -> Result<(), Error> {
    let mut encoded_column = None;
    plan.apply_with_subqueries(|node| {
        if let (None, LogicalPlan::Join(join)) = (&encoded_column, node) {
            let padded = match join.join_type {
                JoinType::Left => vec![&join.right],
                JoinType::Right => vec![&join.left],
                JoinType::Full => vec![&join.left, &join.right],
                _ => Vec::new(),
            };
            let mut fields = padded.into_iter().flat_map(|side| side.schema().fields());
            encoded_column =
                fields.find_map(|field| Some((field.name().clone(), values_type(field.data_type())?.clone())));
        }
        Ok(if encoded_column.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })
    .expect("visiting a plan cannot fail");
    match encoded_column {
        Some((column, ty)) => Err(Error::RunEndEncoded { column, ty }),
        None => Ok(()),
    }
}
