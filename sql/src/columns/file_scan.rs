//! Scans of tables of files: the columns that the session keeps, or DataFusion's own scan if the
//! columns cannot be kept.

use super::file_table::{ColumnReader, FileTableData, FileVersion};
use super::store::FileColumn;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Statistics;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// The rows that a scan has loaded, or its error. It is `None` if the rows are not kept.
type Loaded = Result<Option<Arc<LoadedRows>>, Arc<DataFusionError>>;

/// A scan of columns of a table of files.
#[derive(Clone, Debug)]
pub(crate) struct FileScan {
    table: Arc<FileTableData>,
    facts: FileScanFacts,
    /// The scan of the files; `None` if all columns were kept when the scan was planned.
    source: Option<FileSource>,
    /// The rows, which are loaded when a partition or a region first asks for rows; `None` if the
    /// rows cannot be kept. An error is kept, too, so that the other partitions do not read the
    /// files again.
    loaded: Arc<OnceCell<Loaded>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// The columns of a scan, with their schema and statistics, and the version of the files.
#[derive(Clone, Debug)]
pub(super) struct FileScanFacts {
    pub(super) columns: Vec<usize>,
    pub(super) schema: SchemaRef,
    pub(super) statistics: Arc<Statistics>,
    pub(super) version: Arc<FileVersion>,
}

/// The plans that read the files of a scan.
#[derive(Clone, Debug)]
struct FileSource {
    /// DataFusion's scan of the same rows, with the filters.
    scan: Arc<dyn ExecutionPlan>,
    /// The plan that reads the columns that were missing when the scan was planned.
    reader: ColumnReader,
}

/// All rows of the columns of a scan, which the session keeps.
#[derive(Debug)]
pub(crate) struct LoadedRows {
    pub(crate) batch: RecordBatch,
    /// Number of columns that were read from files. The number may include columns that the scan
    /// does not return, because a text file is read as a whole.
    pub(super) read: usize,
    /// The columns, whose memory stays reserved while the rows exist.
    pub(super) _columns: Vec<Arc<FileColumn>>,
}

impl FileScan {
    /// Returns a scan that reads columns when it runs.
    pub(super) fn new(
        table: Arc<FileTableData>,
        facts: FileScanFacts,
        scan: Arc<dyn ExecutionPlan>,
        reader: ColumnReader,
    ) -> FileScan {
        let (properties, metrics) = (properties(&facts, 1), ExecutionPlanMetricsSet::new());
        let source = Some(FileSource { scan, reader });
        FileScan { table, facts, source, loaded: Arc::default(), properties, metrics }
    }

    /// Returns the scan of columns that are kept.
    pub(super) fn of_kept(table: Arc<FileTableData>, facts: FileScanFacts, loaded: Arc<LoadedRows>) -> FileScan {
        let (properties, metrics) = (properties(&facts, 1), ExecutionPlanMetricsSet::new());
        let loaded = Arc::new(OnceCell::new_with(Some(Ok(Some(loaded)))));
        FileScan { table, facts, source: None, loaded, properties, metrics }
    }

    pub(super) fn facts(&self) -> &FileScanFacts {
        &self.facts
    }

    pub(super) fn reader(&self) -> Option<&ColumnReader> {
        self.source.as_ref().map(|source| &source.reader)
    }

    /// Returns all rows of the columns; `None` if the columns cannot be kept.
    ///
    /// # Errors
    /// If the files cannot be read.
    pub(super) async fn rows(&self, context: &Arc<TaskContext>) -> Result<Option<Arc<LoadedRows>>> {
        let load = async || {
            let loaded = self.table.load(self, context).await.map_err(Arc::new)?;
            let read = loaded.as_ref().map_or(0, |loaded| loaded.read);
            MetricBuilder::new(&self.metrics).global_counter("columns_read").add(read);
            Ok(loaded)
        };
        self.loaded.get_or_init(load).await.clone().map_err(DataFusionError::Shared)
    }

    fn partitions(&self) -> usize {
        self.properties.partitioning.partition_count()
    }

    /// Returns the rows of a partition.
    async fn partition(
        self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let loaded = match (self.rows(&context).await?, &self.source) {
            (Some(loaded), _) => loaded,
            (None, None) => return Err(DataFusionError::Internal("the rows of kept columns are not loaded".into())),
            (None, Some(FileSource { scan, .. })) => {
                let parts = (partition..scan.output_partitioning().partition_count()).step_by(self.partitions());
                let parts = parts.map(|part| scan.execute(part, context.clone())).collect::<Result<Vec<_>>>()?;
                return Ok(stream::iter(parts).flatten().boxed());
            }
        };
        let rows = loaded.batch.num_rows();
        let bound = |k: usize| (rows as u128 * k as u128 / self.partitions() as u128) as usize;
        let (start, end, step) = (bound(partition), bound(partition + 1), context.session_config().batch_size().max(1));
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let slice = move |at: usize| {
            let batch = loaded.batch.slice(at, step.min(end - at));
            metrics.record_output(batch.num_rows());
            Ok(batch)
        };
        Ok(stream::iter((start..end).step_by(step)).map(slice).boxed())
    }
}

fn properties(facts: &FileScanFacts, partitions: usize) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        EquivalenceProperties::new(facts.schema.clone()),
        Partitioning::UnknownPartitioning(partitions),
        EmissionType::Incremental,
        Boundedness::Bounded,
    ))
}

impl DisplayAs for FileScan {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.facts.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let (prefix, end) =
            if matches!(format, DisplayFormatType::TreeRender) { ("", "\n") } else { ("FileScan: ", "") };
        write!(f, "{prefix}columns=[{}]{end}", names.join(", "))?;
        match &self.source {
            Some(source) if end.is_empty() => {
                f.write_str(", ")?;
                source.scan.fmt_as(format, f)
            }
            Some(source) => source.scan.fmt_as(format, f),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for FileScan {
    fn name(&self) -> &'static str {
        "FileScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        match &self.source {
            Some(source) => source.scan.apply_expressions(f),
            None => Ok(TreeNodeRecursion::Continue),
        }
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(FileSource { scan, reader }) = self.source.clone() else { return Ok(self) };
        let source = Some(FileSource { scan: scan.reset_state()?, reader });
        Ok(Arc::new(FileScan { source, loaded: Arc::default(), ..self.as_ref().clone() }))
    }

    /// Keeps small files in one partition, which preserves the order of their rows.
    fn repartitioned(&self, partitions: usize, options: &ConfigOptions) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if self.facts.version.bytes() < options.optimizer.repartition_file_min_size as u64 {
            return Ok(None);
        }
        let properties = properties(&self.facts, partitions.max(1));
        Ok(Some(Arc::new(FileScan { properties, ..self.clone() })))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = stream::once(self.clone().partition(partition, context)).try_flatten().boxed();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        if args.partition().is_some() {
            return Ok(Arc::new(Statistics::new_unknown(&self.schema())));
        }
        Ok(self.facts.statistics.clone())
    }
}
