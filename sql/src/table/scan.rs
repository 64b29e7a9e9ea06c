//! Scans of tensors' tables: the rows of a window, up to a limit.

use super::ranges::window;
use super::{ModeRange, TensorTable};
use crate::error::Error;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A scan of the rows within ranges of coordinates.
#[derive(Debug)]
pub(crate) struct TensorScan {
    table: TensorTable,
    part: ScanPart,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// The part of a tensor's table that a scan reads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ScanPart {
    /// The ranges of coordinates.
    pub(crate) ranges: Vec<ModeRange>,
    /// The largest number of rows; `None` for all rows.
    pub(crate) limit: Option<usize>,
    /// The columns to read.
    pub(crate) projection: Vec<usize>,
}

impl TensorScan {
    /// Returns the scan of the projected columns, of at most `limit` rows within all ranges.
    ///
    /// # Errors
    /// If a column of the projection does not exist.
    pub(crate) fn new(
        table: TensorTable,
        projection: Option<&Vec<usize>>,
        ranges: Vec<ModeRange>,
        limit: Option<usize>,
    ) -> Result<TensorScan> {
        let projection = projection.cloned().unwrap_or_else(|| (0..table.schema().fields().len()).collect());
        TensorScan::of_part(table, ScanPart { ranges, limit, projection })
    }

    /// Returns the scan of a part of a table.
    ///
    /// # Errors
    /// If a column of the projection does not exist.
    pub(crate) fn of_part(table: TensorTable, part: ScanPart) -> Result<TensorScan> {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::new(table.schema().project(&part.projection)?)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(TensorScan { table, part, properties: Arc::new(properties), metrics })
    }

    /// Returns the table.
    #[cfg(feature = "cluster")]
    pub(crate) fn table(&self) -> &TensorTable {
        &self.table
    }

    /// Returns the part of the table that the scan reads.
    #[cfg(feature = "cluster")]
    pub(crate) fn part(&self) -> &ScanPart {
        &self.part
    }
}

impl DisplayAs for TensorScan {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.table.schema();
        let ScanPart { ranges, limit, projection } = &self.part;
        let ranges = ranges.iter().map(|r| format!("{} in {}..{}", schema.field(r.mode).name(), r.low, r.high));
        let ranges = ranges.collect::<Vec<_>>().join(", ");
        let limit = limit.map(|limit| limit.to_string());
        let parts = [("within", Some(ranges).filter(|text| !text.is_empty())), ("limit", limit)];
        let parts = parts.into_iter().filter_map(|(name, text)| Some((name, text?)));
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let columns: Vec<&str> = projection.iter().map(|&k| schema.field(k).name().as_str()).collect();
                write!(f, "TensorScan: columns=[{}]", columns.join(", "))?;
                parts.into_iter().try_for_each(|(name, text)| write!(f, ", {name}=[{text}]"))
            }
            DisplayFormatType::TreeRender => {
                parts.into_iter().try_for_each(|(name, text)| writeln!(f, "{name}={text}"))
            }
        }
    }
}

impl ExecutionPlan for TensorScan {
    fn name(&self) -> &'static str {
        "TensorScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return Err(DataFusionError::Internal(format!(
                "a tensor has one partition; there is no partition {partition}"
            )));
        }
        let rows = context.session_config().batch_size().max(1);
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let (table, part) = (self.table.clone(), self.part.clone());
        let batches = stream::once(async move {
            let timer = metrics.elapsed_compute().timer();
            let batch = read(&table, &part).and_then(|rows| Ok(rows.project(&part.projection)?));
            timer.done();
            let batch = batch.map_err(DataFusionError::from)?;
            metrics.record_output(batch.num_rows());
            let starts = (0..batch.num_rows()).step_by(rows);
            let parts: Vec<_> = starts.map(|k| Ok(batch.slice(k, rows.min(batch.num_rows() - k)))).collect();
            Ok::<_, DataFusionError>(stream::iter(parts))
        });
        let batches = batches.try_flatten().boxed();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let ScanPart { ranges, limit, projection } = &self.part;
        Ok(Arc::new(statistics(&self.table, ranges, *limit).project(Some(projection))))
    }

    fn fetch(&self) -> Option<usize> {
        self.part.limit
    }
}

/// Reads the rows of a part, with all columns. A scan of all rows caches the rows in the table.
fn read(table: &TensorTable, part: &ScanPart) -> Result<RecordBatch, Error> {
    let limit = part.limit.unwrap_or(usize::MAX);
    if part.ranges.is_empty() && (part.limit.is_none() || table.cached_rows().is_some()) {
        let rows = table.rows()?;
        return Ok(rows.slice(0, limit.min(rows.num_rows())));
    }
    table.rows_within(&window(table.shape(), &part.ranges), limit)
}

/// Estimates the statistics of at most `limit` rows within all ranges. Without ranges, the number
/// of rows is exact if the table has cached its rows.
pub(super) fn statistics(table: &TensorTable, ranges: &[ModeRange], limit: Option<usize>) -> Statistics {
    let window = window(table.shape(), ranges);
    // The entries are assumed to be spread evenly over the modes.
    let share = |(part, size): (&Range<u64>, &u64)| (part.end - part.start) as f64 / (*size).max(1) as f64;
    let share: f64 = window.iter().zip(table.shape()).map(share).product();
    let part = |rows: usize| (rows as f64 * share).ceil() as usize;
    let rows = match table.cached_rows() {
        Some(rows) if ranges.is_empty() => Precision::Exact(rows.num_rows()),
        Some(rows) => Precision::Inexact(part(rows.num_rows())),
        None => match table.max_entries() {
            Some(entries) => Precision::Inexact(part(usize::try_from(entries).unwrap_or(usize::MAX))),
            None => Precision::Absent,
        },
    };
    let rows = match (rows, limit) {
        (Precision::Exact(rows), Some(limit)) => Precision::Exact(rows.min(limit)),
        (Precision::Inexact(rows), Some(limit)) => Precision::Inexact(rows.min(limit)),
        (rows, _) => rows,
    };
    let coordinate = |at: u64| Precision::Inexact(ScalarValue::Int64(Some(i64::try_from(at).unwrap_or(i64::MAX))));
    let column = |k: usize| {
        let mut column = ColumnStatistics { null_count: Precision::Exact(0), ..ColumnStatistics::default() };
        if let Some(part) = window.get(k).filter(|part| !part.is_empty()) {
            column.min_value = coordinate(part.start);
            column.max_value = coordinate(part.end - 1);
            let max_values = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
            column.distinct_count = match rows {
                Precision::Exact(rows) | Precision::Inexact(rows) => Precision::Inexact(rows.min(max_values)),
                Precision::Absent => Precision::Inexact(max_values),
            };
        }
        column
    };
    let column_statistics = (0..table.schema().fields().len()).map(column).collect();
    Statistics { num_rows: rows, total_byte_size: Precision::Absent, column_statistics }
}
