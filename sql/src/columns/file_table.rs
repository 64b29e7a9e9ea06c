//! Tables of files whose columns are read when a query first needs them, and then kept for later
//! queries.
//!
//! The [`ColumnStore`] keeps the columns until other entries need the memory, a file is added or
//! removed, or the size or modification time of a file changes. Columns that do not fit the limit
//! of the store are read by each query, as in DataFusion.

use super::file_scan::{FileScan, FileScanFacts, LoadedRows};
use super::store::{ColumnStore, FileColumn, TableId};
use crate::guard::guard_scans;
use crate::memory::cache_capacity;
use crate::spread::ClusterSize;
use async_trait::async_trait;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::runtime::JoinSet;
use datafusion::common::stats::Precision;
use datafusion::common::{Constraints, Statistics};
use datafusion::datasource::listing::ListingTable;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::TryStreamExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// A table of files. Clones are the same table.
#[derive(Clone, Debug)]
pub(crate) struct FileTable(Arc<FileTableData>);

#[derive(Debug)]
pub(super) struct FileTableData {
    id: TableId,
    listing: Arc<ListingTable>,
    store: Arc<ColumnStore>,
    /// A lock that is held while columns are read, so that two queries do not read the same
    /// columns.
    reading: tokio::sync::Mutex<()>,
    facts: Mutex<FileFacts>,
}

/// Facts about the files of a table, valid for one version.
#[derive(Clone, Debug, Default)]
struct FileFacts {
    version: Option<Arc<FileVersion>>,
    /// The number of rows; `None` before a column has been read.
    rows: Option<usize>,
    /// DataFusion's statistics of all columns; `None` before a scan has been planned.
    statistics: Option<Arc<Statistics>>,
    /// True if columns did not fit the store.
    is_too_large: bool,
}

/// The files of a table, each with its size and modification time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileVersion(Vec<(PathBuf, u64, SystemTime)>);

/// A plan that reads columns of a table.
#[derive(Clone, Debug)]
pub(super) struct ColumnReader {
    /// The columns that the plan returns.
    pub(super) columns: Vec<usize>,
    pub(super) plan: Arc<dyn ExecutionPlan>,
}

impl FileVersion {
    /// Returns the version of a table's files; `None` if a file is remote, cannot be read, or is
    /// given by a pattern.
    pub(crate) fn of(listing: &ListingTable) -> Option<FileVersion> {
        let mut files = Vec::new();
        for url in listing.table_paths() {
            if url.scheme() != "file" || url.get_glob().is_some() {
                return None;
            }
            add_files(&url.get_url().to_file_path().ok()?, &mut files)?;
        }
        files.sort();
        Some(FileVersion(files))
    }

    /// Returns the size of all files in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|(_, bytes, _)| bytes).sum()
    }
}

/// Adds a file, or all files below a folder.
fn add_files(path: &Path, files: &mut Vec<(PathBuf, u64, SystemTime)>) -> Option<()> {
    let metadata = std::fs::metadata(path).ok()?;
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path).ok()? {
            add_files(&entry.ok()?.path(), files)?;
        }
        return Some(());
    }
    files.push((path.to_owned(), metadata.len(), metadata.modified().ok()?));
    Some(())
}

impl FileTable {
    /// Returns a table that keeps the columns of `listing` in `store`.
    pub(crate) fn new(listing: Arc<ListingTable>, store: Arc<ColumnStore>) -> FileTable {
        static LAST_ID: AtomicU64 = AtomicU64::new(0);
        let id = LAST_ID.fetch_add(1, Ordering::Relaxed);
        FileTable(Arc::new(FileTableData { id, listing, store, reading: Default::default(), facts: Mutex::default() }))
    }

    /// Returns DataFusion's table of the files.
    pub(crate) fn listing(&self) -> &Arc<ListingTable> {
        &self.0.listing
    }

    /// Returns the number of rows, if a column of the current files has been read.
    pub(crate) fn rows(&self) -> Option<usize> {
        self.0.rows_of(&FileVersion::of(&self.0.listing)?)
    }
}

impl FileTableData {
    /// Returns the facts about a version of the files.
    fn facts(&self, version: &FileVersion) -> FileFacts {
        let facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        if facts.version.as_deref() == Some(version) { facts.clone() } else { FileFacts::default() }
    }

    /// Returns the number of rows of a version of the files, if a column has been read.
    pub(super) fn rows_of(&self, version: &FileVersion) -> Option<usize> {
        self.facts(version).rows
    }

    /// Changes the facts about a version of the files, and drops the facts about other versions.
    fn record(&self, version: &Arc<FileVersion>, change: impl FnOnce(&mut FileFacts)) {
        let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        if facts.version.as_ref() != Some(version) {
            *facts = FileFacts { version: Some(version.clone()), ..FileFacts::default() };
        }
        change(&mut facts);
    }

    /// Returns whether columns may be kept. Tables with partition columns, a declared order or a
    /// declared partitioning need DataFusion's own scans.
    fn can_keep(&self) -> bool {
        let options = self.listing.options();
        options.table_partition_cols.is_empty()
            && options.file_sort_order.is_empty()
            && options.output_partitioning.is_none()
    }

    fn kept(&self, version: &FileVersion, columns: &[usize]) -> Vec<Option<Arc<FileColumn>>> {
        columns.iter().map(|&column| self.store.file_column(self.id, version, column)).collect()
    }

    fn missing(&self, version: &FileVersion, columns: &[usize]) -> Vec<usize> {
        let kept = self.kept(version, columns);
        columns.iter().zip(kept).filter(|(_, kept)| kept.is_none()).map(|(&column, _)| column).collect()
    }

    /// Returns the rows of columns that are kept.
    fn loaded(
        &self,
        (schema, rows): (SchemaRef, usize),
        columns: Vec<Arc<FileColumn>>,
        read: usize,
    ) -> Result<Arc<LoadedRows>> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let arrays = columns.iter().map(|column| column.array.clone()).collect();
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
        Ok(Arc::new(LoadedRows { batch, read, _columns: columns }))
    }

    /// Returns the statistics of some columns of a version of the files.
    async fn statistics(
        &self,
        state: &dyn Session,
        version: &Arc<FileVersion>,
        columns: &[usize],
    ) -> Result<Arc<Statistics>> {
        let facts = self.facts(version);
        let all = match facts.statistics {
            Some(statistics) => statistics,
            None => {
                let scan = self.listing.scan(state, None, &[], None).await?;
                let statistics = scan.statistics_from_inputs(&[], &StatisticsArgs::new())?;
                self.record(version, |facts| facts.statistics = Some(statistics.clone()));
                statistics
            }
        };
        let num_rows = facts.rows.map_or(all.num_rows, Precision::Exact);
        Ok(Arc::new(Statistics { num_rows, ..all.as_ref().clone().project(Some(&columns.to_vec())) }))
    }

    /// Returns the plan that reads the `missing` columns; `None` if these columns do not fit the
    /// store. A file that is not Parquet is treated as text, which is parsed as a whole. So only
    /// the first read of such a file is limited to the missing columns; each later read takes all
    /// columns that are not kept.
    async fn reader(
        &self,
        state: &dyn Session,
        version: &FileVersion,
        missing: Vec<usize>,
    ) -> Result<Option<ColumnReader>> {
        let listing = &self.listing;
        let is_text = listing.options().format.get_ext() != "parquet";
        let was_read = self.facts(version).rows.is_some();
        let all = || (0..listing.schema().fields().len()).collect::<Vec<_>>();
        let columns = if is_text && was_read { self.missing(version, &all()) } else { missing };
        let plan = listing.scan(state, Some(&columns), &[], None).await?;
        let capacity = cache_capacity(&state.runtime_env().memory_pool.memory_limit()) as u64;
        let statistics = plan.statistics_from_inputs(&[], &StatisticsArgs::new())?;
        let bytes = match statistics.total_byte_size {
            Precision::Exact(bytes) | Precision::Inexact(bytes) => bytes as u64,
            Precision::Absent => version.bytes(),
        };
        if bytes > capacity {
            return Ok(None);
        }
        let (partitions, options) = (state.config().target_partitions(), state.config_options());
        let in_parts = match options.optimizer.repartition_file_scans {
            true => plan.repartitioned(partitions, options)?,
            false => None,
        };
        let plan = in_parts.unwrap_or(plan);
        Ok(Some(ColumnReader { columns, plan: guard_scans(plan)? }))
    }

    /// Reads and keeps the missing columns of a scan, and returns the rows of all columns of the
    /// scan. Returns `None` if the columns cannot be kept, if a column was dropped after the scan
    /// was planned, or if the files changed while they were read.
    ///
    /// # Errors
    /// If the files cannot be read.
    pub(super) async fn load(&self, scan: &FileScan, context: &Arc<TaskContext>) -> Result<Option<Arc<LoadedRows>>> {
        let FileScanFacts { version, columns, .. } = scan.facts();
        let _reading = self.reading.lock().await;
        let mut kept = self.kept(version, columns);
        let mut read = 0;
        if kept.iter().any(Option::is_none) {
            let reader = scan.reader().filter(|reader| {
                kept.iter().zip(columns).all(|(kept, column)| kept.is_some() || reader.columns.contains(column))
            });
            let Some(reader) = reader else { return Ok(None) };
            let Some((arrays, rows)) = self.read(&reader.plan, context).await? else {
                self.record(version, |facts| facts.is_too_large = true);
                return Ok(None);
            };
            read = reader.columns.len();
            let is_same = FileVersion::of(&self.listing).as_ref() == Some(&**version)
                && self.facts(version).rows.is_none_or(|before| before == rows);
            if !is_same {
                // The files have changed while they were read.
                self.store.remove_table(self.id);
                return Ok(None);
            }
            self.record(version, |facts| facts.rows = Some(rows));
            for (&column, array) in reader.columns.iter().zip(arrays) {
                let column_values =
                    self.store.insert_file_column((self.id, column), version, array, context.memory_pool());
                if let Some(at) = columns.iter().position(|&wanted| wanted == column) {
                    kept[at] = column_values;
                }
            }
        }
        let Some(columns) = kept.into_iter().collect::<Option<Vec<_>>>() else {
            self.record(version, |facts| facts.is_too_large = true);
            return Ok(None);
        };
        let Some(rows) = self.facts(version).rows else { return Ok(None) };
        self.loaded((scan.schema(), rows), columns, read).map(Some)
    }

    /// Runs a plan and returns its columns, with rows in the order of partitions, and the number of
    /// rows; `None` if the columns exceed the store's capacity or the memory. The plan may have run
    /// before: a scan of files keeps a queue of the parts that are left to read, so the state of
    /// the plan is reset.
    async fn read(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
    ) -> Result<Option<(Vec<ArrayRef>, usize)>> {
        let plan = reset_plan_states(plan.clone())?;
        let pool = context.memory_pool();
        let reserved = Arc::new(MemoryConsumer::new("redpoll: columns that are read").register(pool));
        let capacity = cache_capacity(&pool.memory_limit());
        let mut tasks = JoinSet::new();
        for partition in 0..plan.output_partitioning().partition_count() {
            let mut rows = plan.execute(partition, context.clone())?;
            let (store, reserved) = (self.store.clone(), reserved.clone());
            tasks.spawn(async move {
                let mut batches = Vec::new();
                while let Some(batch) = rows.try_next().await? {
                    let bytes = batch.get_array_memory_size();
                    if reserved.size() + bytes > capacity || !grow(&reserved, bytes, &store) {
                        return Ok(None);
                    }
                    batches.push(batch);
                }
                Ok::<_, DataFusionError>(Some((partition, batches)))
            });
        }
        let mut parts = Vec::new();
        while let Some(part) = tasks.join_next().await {
            match part.map_err(|e| DataFusionError::External(Box::new(e)))?? {
                Some(part) => parts.push(part),
                // Dropping `tasks` ends the other tasks.
                None => return Ok(None),
            }
        }
        parts.sort_unstable_by_key(|(partition, _)| *partition);
        let batches: Vec<RecordBatch> = parts.into_iter().flat_map(|(_, batches)| batches).collect();
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        // While batches are concatenated, the batches and the columns exist at once.
        if batches.len() > 1 && !grow(&reserved, reserved.size(), &self.store) {
            return Ok(None);
        }
        let schema = plan.schema();
        let column = |k: usize| match &batches[..] {
            [] => Ok(datafusion::arrow::array::new_empty_array(schema.field(k).data_type())),
            [batch] => Ok(batch.column(k).clone()),
            batches => concat(&batches.iter().map(|batch| batch.column(k).as_ref()).collect::<Vec<_>>()),
        };
        let columns = (0..schema.fields().len()).map(column).collect::<Result<Vec<_>, _>>()?;
        Ok(Some((columns, rows)))
    }
}

/// Reserves memory, and drops kept columns and codes until there is room; returns whether the
/// memory is reserved.
fn grow(reserved: &MemoryReservation, bytes: usize, store: &ColumnStore) -> bool {
    while reserved.try_grow(bytes).is_err() {
        if !store.evict_oldest() {
            return false;
        }
    }
    true
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        self.listing().schema()
    }

    fn constraints(&self) -> Option<&Constraints> {
        self.listing().constraints()
    }

    fn table_type(&self) -> TableType {
        self.listing().table_type()
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.listing().get_table_definition()
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.listing().get_column_default(column)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let data = &self.0;
        // On a cluster, workers read the files themselves.
        if ClusterSize::of(state.config()).is_some() {
            return data.listing.scan(state, projection, filters, limit).await;
        }
        let version =
            FileVersion::of(&data.listing).filter(|version| data.can_keep() && !data.facts(version).is_too_large);
        let Some(version) = version.map(Arc::new) else {
            return data.listing.scan(state, projection, filters, limit).await;
        };
        let columns = projection.cloned().unwrap_or_else(|| (0..self.schema().fields().len()).collect());
        let schema = Arc::new(self.schema().project(&columns)?);
        let facts = FileScanFacts {
            statistics: data.statistics(state, &version, &columns).await?,
            schema: schema.clone(),
            columns,
            version,
        };
        let kept = data.kept(&facts.version, &facts.columns);
        if let (Some(rows), Some(columns)) =
            (data.rows_of(&facts.version), kept.into_iter().collect::<Option<Vec<_>>>())
        {
            let loaded = data.loaded((schema, rows), columns, 0)?;
            return Ok(Arc::new(FileScan::of_kept(data.clone(), facts, loaded)));
        }
        let scan = data.listing.scan(state, projection, filters, limit).await?;
        let missing = data.missing(&facts.version, &facts.columns);
        // A scan with a limit may read only a small part of the files, and a scan without columns
        // reads only the number of rows.
        if limit.is_some() || missing.is_empty() {
            return Ok(scan);
        }
        match data.reader(state, &facts.version, missing).await? {
            Some(reader) => Ok(Arc::new(FileScan::new(data.clone(), facts, guard_scans(scan)?, reader))),
            None => Ok(scan),
        }
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        self.listing().supports_filters_pushdown(filters)
    }

    fn statistics(&self) -> Option<Statistics> {
        let rows = self.rows()?;
        Some(Statistics { num_rows: Precision::Exact(rows), ..Statistics::new_unknown(&self.schema()) })
    }

    async fn insert_into(
        &self,
        state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        insert_op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if let [file] = &self.listing().table_paths()[..]
            && !file.is_collection()
        {
            return Err(DataFusionError::Plan(format!(
                "rows cannot be inserted into the file /{}; insert them into a copy in memory, `CREATE TABLE t AS \
                 SELECT * FROM ..`, and write the copy by `COPY t TO 'FILE'`",
                file.prefix()
            )));
        }
        self.listing().insert_into(state, input, insert_op).await
    }
}
