//! The rows of an input of a region. Filtered and projected rows of one table are read as a
//! selection of the table's rows, so that codes of whole columns can be used.

use super::file_scan::{FileScan, LoadedRows};
use super::row_source::RowSource;
use super::store::ColumnStore;
use crate::input_tables::Version;
use crate::memory::Allowance;
use datafusion::arrow::array::{Array, AsArray, BooleanArray};
use datafusion::arrow::compute::{concat_batches, filter_record_batch, prep_null_mask_filter};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::{DataSource, DataSourceExec};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use futures::TryStreamExt;
use std::sync::Arc;

/// The rows of an input.
#[derive(Clone, Debug)]
pub struct InputRows {
    batch: RecordBatch,
    source: Option<Arc<RowSource>>,
}

impl From<RecordBatch> for InputRows {
    fn from(batch: RecordBatch) -> InputRows {
        InputRows { batch, source: None }
    }
}

impl InputRows {
    /// Returns the rows.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Returns the table from which the rows are selected. Returns `None` in three cases: the rows
    /// do not come from one table, the columns of a table of files cannot be kept, or the table has
    /// 2^32 rows or more.
    pub fn source(&self) -> Option<&Arc<RowSource>> {
        self.source.as_ref()
    }

    /// Returns the size of the rows in bytes, excluding columns whose memory belongs to a table.
    pub(crate) fn bytes(&self) -> usize {
        let is_shared = |k: usize| {
            self.source.as_ref().is_some_and(|source| {
                source.chunks.len() == 1 && source.selection.is_none() && source.columns[k].is_some()
            })
        };
        let columns = self.batch.columns().iter().enumerate();
        columns.filter(|(k, _)| !is_shared(*k)).map(|(_, column)| column.get_array_memory_size()).sum()
    }
}

/// A step from the rows of a table to the rows of an input.
enum Step<'p> {
    Filter(&'p FilterExec),
    Project(&'p ProjectionExec),
}

/// The scan of a table below an input.
enum InputScan<'p> {
    File(&'p FileScan),
    Memory(&'p MemorySourceConfig),
}

/// Reads the rows of an input; `version` is the version of the tables that the input scans.
///
/// # Errors
/// If the rows cannot be read, or the allowance is exhausted.
pub(crate) async fn read_input(
    plan: &Arc<dyn ExecutionPlan>,
    context: &Arc<TaskContext>,
    (store, version): (&Arc<ColumnStore>, Option<&Version>),
    allowance: &Allowance,
) -> Result<InputRows> {
    let mut steps = Vec::new();
    let (chunks, loaded) = match find_input_scan(plan, &mut steps) {
        Some(InputScan::File(scan)) => match scan.rows(context).await? {
            Some(loaded) => (vec![loaded.batch.clone()], Some(loaded)),
            None => return Ok(read_rows(plan.execute(0, context.clone())?, allowance).await?.into()),
        },
        Some(InputScan::Memory(memory)) => (table_chunks(memory, version)?, None),
        None => return Ok(read_rows(plan.execute(0, context.clone())?, allowance).await?.into()),
    };
    let table = (chunks, loaded);
    select(table, &steps, &plan.schema(), (store, context), allowance)
}

/// Returns the scan below filters and projections, and adds the filters and projections to `steps`,
/// from the top of the plan down. Skips nodes that pass all rows. Returns `None` if there are other
/// nodes, or a limit.
fn find_input_scan<'p>(plan: &'p Arc<dyn ExecutionPlan>, steps: &mut Vec<Step<'p>>) -> Option<InputScan<'p>> {
    if let Some(scan) = plan.downcast_ref::<FileScan>() {
        return Some(InputScan::File(scan));
    }
    if let Some(source) = plan.downcast_ref::<DataSourceExec>() {
        let memory = source.data_source().downcast_ref::<MemorySourceConfig>()?;
        return memory.fetch().is_none().then_some(InputScan::Memory(memory));
    }
    let passes_all_rows =
        plan.is::<CoalescePartitionsExec>() || plan.is::<RepartitionExec>() || plan.is::<CooperativeExec>();
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        steps.push(Step::Filter(filter));
    } else if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        steps.push(Step::Project(projection));
    } else if !passes_all_rows {
        return None;
    }
    if plan.fetch().is_some() {
        return None;
    }
    match plan.children()[..] {
        [input] => find_input_scan(input, steps),
        _ => None,
    }
}

/// Returns the projected batches of a table in memory. If `version` contains the table, the batches
/// are in the order of the table. Otherwise, they are in the order of the plan, which splits the
/// batches and distributes the parts over partitions.
fn table_chunks(memory: &MemorySourceConfig, version: Option<&Version>) -> Result<Vec<RecordBatch>> {
    let batches = version.and_then(|version| version.batches_of(memory.partitions()));
    let batches = batches.unwrap_or_else(|| memory.partitions().iter().flatten().cloned().collect());
    let projected = batches.into_iter().filter(|batch| batch.num_rows() > 0).map(|batch| match memory.projection() {
        Some(columns) => Ok(batch.project(columns)?),
        None => Ok(batch),
    });
    projected.collect()
}

/// Applies filters and projections to the rows of a table.
fn select(
    (chunks, loaded): (Vec<RecordBatch>, Option<Arc<LoadedRows>>),
    steps: &[Step<'_>],
    schema: &SchemaRef,
    (store, context): (&Arc<ColumnStore>, &Arc<TaskContext>),
    allowance: &Allowance,
) -> Result<InputRows> {
    let total_rows: usize = chunks.iter().map(RecordBatch::num_rows).sum();
    let mut columns: Vec<Option<usize>> = match chunks.first() {
        Some(chunk) => (0..chunk.num_columns()).map(Some).collect(),
        None => vec![None; schema.fields().len()],
    };
    let mut batches = chunks.clone();
    let mut selections: Option<Vec<Vec<u32>>> = None;
    for step in steps.iter().rev() {
        match step {
            Step::Filter(filter) => {
                let mut passing = Vec::with_capacity(batches.len());
                // Row numbers have 32 bits. If there are more rows, the numbers wrap, and `source`
                // below is `None`.
                let mut first_row = 0u32;
                for (k, batch) in batches.iter_mut().enumerate() {
                    let mask = mask(filter.predicate(), batch)?;
                    let rows = mask.values().set_indices().map(|row| row as u32);
                    passing.push(match &selections {
                        Some(selections) => rows.map(|row| selections[k][row as usize]).collect::<Vec<u32>>(),
                        None => rows.map(|row| first_row.wrapping_add(row)).collect(),
                    });
                    first_row = first_row.wrapping_add(batch.num_rows() as u32);
                    let projected = match filter.projection() {
                        Some(columns) => batch.project(columns)?,
                        None => batch.clone(),
                    };
                    *batch = filter_record_batch(&projected, &mask)?;
                }
                selections = Some(passing);
                if let Some(projection) = filter.projection() {
                    columns = projection.iter().map(|&k| columns.get(k).copied().flatten()).collect();
                }
            }
            Step::Project(projection) => {
                let exprs = projection.expr();
                for batch in &mut batches {
                    let rows = batch.num_rows();
                    let values = exprs.iter().map(|e| e.expr.evaluate(batch)?.into_array(rows));
                    let options = RecordBatchOptions::new().with_row_count(Some(rows));
                    let values = values.collect::<Result<Vec<_>>>()?;
                    *batch = RecordBatch::try_new_with_options(projection.schema(), values, &options)?;
                }
                let source = |expr: &Arc<dyn PhysicalExpr>| {
                    columns.get(expr.downcast_ref::<Column>()?.index()).copied().flatten()
                };
                columns = exprs.iter().map(|e| source(&e.expr)).collect();
            }
        }
    }
    let selection = selections.map(|rows| rows.concat()).filter(|rows| rows.len() < total_rows);
    let batch = match &batches[..] {
        [batch] => batch.clone(),
        batches => concat_batches(schema, batches)?,
    };
    let source = RowSource {
        chunks,
        columns,
        selection,
        store: store.clone(),
        pool: context.memory_pool().clone(),
        _loaded: loaded,
    };
    let source = u32::try_from(total_rows).is_ok().then(|| Arc::new(source));
    let rows = InputRows { batch, source };
    allowance.reserve("the rows", rows.bytes())?;
    Ok(rows)
}

/// Returns a mask of the rows of a batch that pass a condition. The mask has no NULL.
fn mask(predicate: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray> {
    let values = predicate.evaluate(batch)?.into_array(batch.num_rows())?;
    let Some(mask) = values.as_boolean_opt() else {
        return Err(DataFusionError::Internal(format!("a condition has the type {}", values.data_type())));
    };
    Ok(if mask.null_count() > 0 { prep_null_mask_filter(mask) } else { mask.clone() })
}

/// Reads all rows of a stream into one batch.
///
/// # Errors
/// If the rows cannot be read, or the allowance is exhausted.
pub(crate) async fn read_rows(mut stream: SendableRecordBatchStream, allowance: &Allowance) -> Result<RecordBatch> {
    let schema = stream.schema();
    let (mut batches, mut bytes) = (Vec::new(), 0);
    while let Some(batch) = stream.try_next().await? {
        let size = batch.get_array_memory_size();
        allowance.reserve("the rows", size)?;
        bytes += size;
        batches.push(batch);
    }
    if let [_] = batches[..] {
        return Ok(batches.swap_remove(0));
    }
    // During concatenation, the batches and their copy exist at once.
    allowance.reserve("the rows", bytes)?;
    let batch = concat_batches(&schema, &batches)?;
    allowance.release(2 * bytes);
    allowance.reserve("the rows", batch.get_array_memory_size())?;
    Ok(batch)
}
