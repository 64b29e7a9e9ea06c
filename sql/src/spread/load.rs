//! The rows that the workers of a cluster would receive for a region, counted exactly without a
//! cluster.

use super::key::PartitionRows;
use super::replicate::ReplicateExec;
use super::{ClusterSize, DividedRegion, cost};
use crate::Database;
use crate::node::RegionNode;
use datafusion::arrow::array::Array;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::metrics::Time;
use datafusion::physical_plan::repartition::BatchPartitioner;
use datafusion::physical_plan::{ExecutionPlan, collect};
use std::num::NonZero;
use std::sync::Arc;

/// The rows that the workers of a cluster receive for a region.
#[derive(Clone, PartialEq, Debug)]
pub struct Load {
    /// The fields that divide the rows, each with its number of parts, such as `a.src in 4`; a key
    /// is a field alone. Empty if one worker reads all rows.
    pub division: String,
    /// True for the division that `redpoll.spread = 'auto'` chooses.
    pub is_chosen: bool,
    /// The number of rows that all workers receive.
    pub rows: u64,
    /// The size of these rows in bytes, without compression.
    pub bytes: u64,
    /// The number of rows of the worker that receives most rows.
    pub largest: u64,
}

impl Database {
    /// Counts the rows that each of `workers` workers would receive for the first region of a
    /// query, for each division of the region. The inputs of the region are computed in this
    /// process, and their rows are hashed as on a cluster.
    ///
    /// ```
    /// use std::num::NonZero;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let database = redpoll::Session::default().database();
    /// for statement in [
    ///     "SET redpoll.claim = 'always'",
    ///     "CREATE TABLE e (src BIGINT, dst BIGINT) AS SELECT value % 50, value % 49 FROM generate_series(1, 1000)",
    /// ] {
    ///     database.sql(statement).await?.collect().await?;
    /// }
    /// let triangles = "SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src";
    /// let loads = database.loads(triangles, NonZero::new(4).unwrap()).await?;
    /// // One worker reads the table once; with a key, each worker also reads a whole copy of it.
    /// assert_eq!((loads[0].division.as_str(), loads[0].rows), ("", 1000));
    /// assert_eq!(loads[1].rows, 2 * 1000 + 4 * 1000);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the query cannot be planned or has no region, or its inputs cannot be computed.
    pub async fn loads(&self, query: &str, workers: NonZero<usize>) -> Result<Vec<Load>> {
        let plan = self.sql(query).await?.into_optimized_plan()?;
        let mut node = None;
        plan.apply(|plan| {
            if let LogicalPlan::Extension(extension) = plan {
                node = extension.node.as_any().downcast_ref::<RegionNode>().cloned();
            }
            Ok(if node.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        let node = node.ok_or_else(|| DataFusionError::Plan("redpoll claims no region of the query".into()))?;
        let state = self.context().state();
        let mut inputs = Vec::new();
        for input in datafusion::logical_expr::UserDefinedLogicalNodeCore::inputs(&node) {
            let plan = state.create_physical_plan(input).await?;
            let rows = collect(plan.clone(), self.context().task_ctx()).await?;
            inputs.push(MemorySourceConfig::try_new_from_batches(plan.schema(), rows)? as Arc<dyn ExecutionPlan>);
        }
        let size = ClusterSize { workers };
        let partitions =
            workers.get().saturating_mul(state.config().target_partitions().max(ClusterSize::MIN_PARTITIONS));
        let region = node.region();
        let rows_of =
            |input: usize| memory(&inputs[input]).map_or(0, |rows| rows.iter().map(RecordBatch::num_rows).sum()) as f64;
        let divisions = DividedRegion::candidates(region, partitions, rows_of);
        let chosen = cost::cheapest(divisions.iter().cloned(), (workers.get(), partitions), rows_of);
        let mut loads = Vec::new();
        for divided in &divisions {
            let mut load = load(divided, &inputs, (size, partitions), &self.context().task_ctx()).await?;
            load.is_chosen = chosen.as_ref().is_some_and(|chosen| chosen.division.fields == divided.division.fields);
            loads.push(load);
        }
        Ok(loads)
    }
}

/// Returns the rows of an input in memory.
fn memory(input: &Arc<dyn ExecutionPlan>) -> Option<&[RecordBatch]> {
    let source = input.downcast_ref::<datafusion::datasource::source::DataSourceExec>()?;
    source.data_source().downcast_ref::<MemorySourceConfig>()?.partitions().first().map(Vec::as_slice)
}

/// Counts the rows of each worker. The partitions are divided evenly among the workers.
async fn load(
    divided: &DividedRegion,
    inputs: &[Arc<dyn ExecutionPlan>],
    (size, partitions): (ClusterSize, usize),
    context: &Arc<TaskContext>,
) -> Result<Load> {
    let workers = size.workers.get();
    let mut of_worker = vec![0; workers];
    let mut bytes = 0;
    for input in &divided.division.inputs {
        let plan = &inputs[input.input];
        let (plan, key) = match &input.rows {
            PartitionRows::All => (plan.clone(), None),
            PartitionRows::OfKey(column) => (plan.clone(), Some(*column)),
            PartitionRows::OfCell(columns) => {
                let plan = ReplicateExec::new(plan.clone(), divided, columns, partitions)?;
                let cell = plan.schema().fields().len() - 1;
                (Arc::new(plan) as Arc<dyn ExecutionPlan>, Some(cell))
            }
        };
        for batch in collect(plan, context.clone()).await? {
            let size = size_of(&batch)?;
            match key {
                Some(key) => {
                    bytes += size;
                    count(&batch, key, partitions, |partition, rows| {
                        of_worker[partition * workers / partitions] += rows;
                    })?;
                }
                // Without a division, one worker reads the rows; with one, all do.
                None => {
                    let readers = if divided.division.fields.is_empty() { 1 } else { workers };
                    bytes += size * readers as u64;
                    of_worker[..readers].iter_mut().for_each(|rows| *rows += batch.num_rows() as u64);
                }
            }
        }
    }
    let join = &divided.region.join;
    let field = |(field, parts): &(usize, usize)| match parts {
        0 => join.fields[*field].name.clone(),
        parts => format!("{} in {parts}", join.fields[*field].name),
    };
    Ok(Load {
        division: divided.division.fields.iter().map(field).collect::<Vec<_>>().join(", "),
        is_chosen: false,
        rows: of_worker.iter().sum(),
        bytes,
        largest: of_worker.iter().copied().max().unwrap_or(0),
    })
}

/// Counts the rows of a batch in each partition by the hash of a column.
fn count(batch: &RecordBatch, column: usize, partitions: usize, mut add: impl FnMut(usize, u64)) -> Result<()> {
    let name = batch.schema().field(column).name().clone();
    let column = Arc::new(Column::new(&name, column)) as Arc<dyn PhysicalExpr>;
    let mut partitioner = BatchPartitioner::new_hash_partitioner(vec![column], partitions, Time::new())?;
    partitioner.partition(batch.clone(), |partition, rows| {
        add(partition, rows.num_rows() as u64);
        Ok(())
    })
}

/// Returns the size of the rows of a batch in bytes.
fn size_of(batch: &RecordBatch) -> Result<u64> {
    let sizes = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size());
    Ok(sizes.sum::<Result<usize, _>>()? as u64)
}
