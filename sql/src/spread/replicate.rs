//! The execution plan that sends the rows of an input to the cells of a divided region.

use super::key::DividedRegion;
use datafusion::arrow::array::{ArrayRef, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Distribution, EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::metrics::Time;
use datafusion::physical_plan::repartition::BatchPartitioner;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt;
use std::sync::Arc;

/// The name of the column with the number of the cell.
const CELL: &str = "redpoll_cell";

/// The execution plan that returns each row once for each cell that the row belongs to, with a
/// column that decides the partition of the row.
#[derive(Debug)]
pub(crate) struct ReplicateExec {
    input: Arc<dyn ExecutionPlan>,
    /// For each divided field, the column with its values, and the number of parts.
    divisions: Vec<(Option<usize>, usize)>,
    /// For each cell, a number whose hash gives the partition of the cell.
    numbers: Arc<[u64]>,
    properties: Arc<PlanProperties>,
}

impl ReplicateExec {
    /// Returns the plan for an input with the given columns of the divided fields; the region runs
    /// in `partitions` partitions, at least one for each cell.
    ///
    /// # Errors
    /// If DataFusion refuses to partition numbers.
    pub(crate) fn new(
        input: Arc<dyn ExecutionPlan>,
        region: &DividedRegion,
        columns: &[Option<usize>],
        partitions: usize,
    ) -> Result<ReplicateExec> {
        let divisions = columns.iter().copied().zip(region.division.fields.iter().map(|(_, parts)| *parts)).collect();
        Ok(ReplicateExec::over(input, divisions, partition_numbers(partitions)?))
    }

    /// Returns the plan with the columns and parts of the divided fields, and the number of each
    /// cell.
    pub(crate) fn over(
        input: Arc<dyn ExecutionPlan>,
        divisions: Vec<(Option<usize>, usize)>,
        numbers: Arc<[u64]>,
    ) -> ReplicateExec {
        let mut fields = input.schema().fields().to_vec();
        fields.push(Arc::new(Field::new(CELL, DataType::UInt64, false)));
        let schema = Schema::new(fields);
        let of_input = input.properties();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::new(schema)),
            Partitioning::UnknownPartitioning(of_input.partitioning.partition_count()),
            of_input.emission_type,
            of_input.boundedness,
        );
        ReplicateExec { input, divisions, numbers, properties: Arc::new(properties) }
    }
}

#[cfg(feature = "cluster")]
impl ReplicateExec {
    /// Returns the column with the values of each divided field, and the number of parts.
    pub(crate) fn divisions(&self) -> &[(Option<usize>, usize)] {
        &self.divisions
    }

    /// Returns the number of each cell.
    pub(crate) fn numbers(&self) -> &[u64] {
        &self.numbers
    }
}

/// Returns, for each partition, a number that DataFusion's hash sends to the partition.
fn partition_numbers(partitions: usize) -> Result<Arc<[u64]>> {
    let schema = Arc::new(Schema::new(vec![Field::new(CELL, DataType::UInt64, false)]));
    let column = Arc::new(Column::new(CELL, 0)) as Arc<dyn PhysicalExpr>;
    let mut partitioner = BatchPartitioner::new_hash_partitioner(vec![column], partitions, Time::new())?;
    let mut found: Vec<Option<u64>> = vec![None; partitions];
    // Most often, a few numbers for each partition are enough.
    let mut begin = 0;
    while found.iter().any(Option::is_none) {
        let end = begin + 8 * partitions as u64;
        let numbers = Arc::new(UInt64Array::from_iter_values(begin..end)) as ArrayRef;
        partitioner.partition(RecordBatch::try_new(schema.clone(), vec![numbers])?, |partition, batch| {
            let numbers = batch.column(0).as_any().downcast_ref::<UInt64Array>();
            if let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) {
                found[partition].get_or_insert(numbers.value(0));
            }
            Ok(())
        })?;
        begin = end;
    }
    Ok(found.into_iter().flatten().collect())
}

/// Returns the copies of the rows of a batch, one batch for each combination of parts of the fields
/// that the input lacks.
fn replicate(
    batch: &RecordBatch,
    divisions: &[(Option<usize>, usize)],
    numbers: &[u64],
    schema: &SchemaRef,
) -> Result<Vec<RecordBatch>> {
    // The number of a cell has a digit for each field.
    let (mut cells, mut copies, mut stride) = (vec![0usize; batch.num_rows()], vec![0usize], 1);
    for (k, &(column, parts)) in divisions.iter().enumerate() {
        match column {
            Some(column) => {
                let mut hashes = vec![0; batch.num_rows()];
                create_hashes([batch.column(column)], &RandomState::with_seed(k as u64 + 1), &mut hashes)?;
                for (cell, hash) in cells.iter_mut().zip(hashes) {
                    *cell += stride * (hash % parts as u64) as usize;
                }
            }
            None => copies = (0..parts).flat_map(|part| copies.iter().map(move |c| c + stride * part)).collect(),
        }
        stride *= parts;
    }
    let copy = |first: usize| {
        let cell = UInt64Array::from_iter_values(cells.iter().map(|cell| numbers[cell + first]));
        let columns = batch.columns().iter().cloned().chain([Arc::new(cell) as ArrayRef]);
        Ok(RecordBatch::try_new(schema.clone(), columns.collect())?)
    };
    copies.into_iter().map(copy).collect()
}

impl DisplayAs for ReplicateExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let copies: usize =
            self.divisions.iter().filter(|(column, _)| column.is_none()).map(|(_, parts)| parts).product();
        write!(f, "RedpollReplicateExec: each row to {copies} cells")
    }
}

impl ExecutionPlan for ReplicateExec {
    fn name(&self) -> &str {
        "RedpollReplicateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::UnspecifiedDistribution])
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let input = inputs.pop().filter(|_| inputs.is_empty());
        let input = input.ok_or_else(|| DataFusionError::Internal("rows of one input are replicated".into()))?;
        Ok(Arc::new(ReplicateExec::over(input, self.divisions.clone(), self.numbers.clone())))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?;
        let (divisions, numbers, schema) = (self.divisions.clone(), self.numbers.clone(), self.schema());
        let copies = rows.map(move |batch| {
            let copies = replicate(&batch?, &divisions, &numbers, &schema)?;
            Ok::<_, DataFusionError>(stream::iter(copies.into_iter().map(Ok)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), copies.try_flatten())))
    }
}
