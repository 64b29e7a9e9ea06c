//! Guards around file readers. They turn panics into errors, because a damaged file is no bug of
//! the program. They also add the name of the file to errors of readers, and check Arrow files and
//! the quotes of delimited text.

use crate::error::Error;
use crate::ipc;
use crate::json::{JsonFiles, json_error, placed_rows};
use crate::open_quotes::{TextFiles, checked_rows, without_parts};
use crate::value_errors::name_value;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Statistics;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{FutureExt, Stream};
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

thread_local! {
    /// Number of nested guards around the code that this thread runs.
    static GUARD_DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Installs a panic hook that prints nothing for panics that guards turn into errors.
pub fn silence_guarded_panics() {
    let previous_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if GUARD_DEPTH.get() == 0 {
            previous_hook(info);
        }
    }));
}

/// Calls a function and turns its panic into an error.
fn catch_panic<T>(input: &str, call: impl FnOnce() -> T) -> Result<T> {
    GUARD_DEPTH.set(GUARD_DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(call));
    GUARD_DEPTH.set(GUARD_DEPTH.get() - 1);
    result.map_err(|panic| panic_error(input, &*panic).into())
}

fn panic_error(input: &str, panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panic without a message");
    Error::Damaged { input: input.to_owned(), cause: text.to_owned() }
}

/// Awaits a future and turns its panic into an error.
pub(crate) async fn guard_future<T>(input: &str, future: impl Future<Output = Result<T>>) -> Result<T> {
    let mut future = pin!(future.fuse());
    poll_fn(|context| match catch_panic(input, || future.as_mut().poll(context)) {
        Ok(poll) => poll,
        Err(error) => Poll::Ready(Err(error)),
    })
    .await
}

/// Adds the name of the input to an error of the readers of Parquet, JSON and CSV, which do not
/// name the file. Other errors are returned unchanged.
pub(crate) fn name_input(input: &str, error: DataFusionError) -> DataFusionError {
    let damaged = |cause: String| Error::Damaged { input: input.to_owned(), cause }.into();
    match error {
        DataFusionError::ParquetError(error) => damaged(error.to_string()),
        DataFusionError::ArrowError(error, trace) => match *error {
            ArrowError::JsonError(cause) => json_error(input, None, &cause).into(),
            ArrowError::CsvError(cause) => {
                DataFusionError::ArrowError(Box::new(ArrowError::CsvError(format!("{input}: {cause}"))), trace)
            }
            error => DataFusionError::ArrowError(Box::new(error), trace),
        },
        error => error,
    }
}

/// Returns the plan with a guard around each scan of files. A scan of delimited text with a limit
/// reads each file as a whole (see [`without_parts`]).
pub(crate) fn guard_scans(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let guard = |plan: Arc<dyn ExecutionPlan>| {
        let scan = plan.downcast_ref::<DataSourceExec>();
        let config = scan.and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        Ok(match scan.zip(config) {
            None => Transformed::no(plan),
            Some((scan, config)) => {
                let whole = without_parts(config).map(Arc::new);
                let config = whole.as_deref().unwrap_or(config);
                let files = config.file_groups.iter().flat_map(FileGroup::files);
                let mut files: Vec<String> = files.map(|file| format!("/{}", file.object_meta.location)).collect();
                files.sort();
                files.dedup();
                let input = match &files[..] {
                    [file] => format!("the file {file}"),
                    files => format!("one of {} files", files.len()),
                };
                let is_local = config.object_store_url.as_str().starts_with("file:");
                let is_arrow = config.file_source().file_type() == "arrow";
                let arrow_files =
                    if is_local && is_arrow { files.into_iter().map(PathBuf::from).collect() } else { Vec::new() };
                let text_files = TextFiles::of(config).map(Arc::new);
                let json_files = JsonFiles::of(config, &scan.schema()).map(Arc::new);
                let mut ranges = config.file_groups.iter().flat_map(FileGroup::files).map(|file| file.range.as_ref());
                let reads_from_start = ranges.all(|range| range.is_none_or(|range| range.start == 0));
                let file_schema = config.file_schema().clone();
                let scan: Arc<dyn ExecutionPlan> = match whole {
                    Some(whole) => Arc::new(scan.clone().with_data_source(whole)),
                    None => plan,
                };
                let guarded =
                    GuardedScan { scan, input, arrow_files, text_files, json_files, file_schema, reads_from_start };
                Transformed::yes(Arc::new(guarded) as Arc<dyn ExecutionPlan>)
            }
        })
    };
    plan.transform_up(guard).data()
}

/// A scan of files that checks Arrow files and the quotes of delimited text, and returns panics of
/// the inner scan as errors.
#[derive(Debug)]
struct GuardedScan {
    scan: Arc<dyn ExecutionPlan>,
    input: String,
    /// The local Arrow files, which are checked before they are read.
    arrow_files: Vec<PathBuf>,
    /// The local files of delimited text, whose quotes are checked (see [`checked_rows`]); `None`
    /// if the scan reads no such files.
    text_files: Option<Arc<TextFiles>>,
    /// The local files of JSON, in which the lines of errors are searched; `None` if the scan reads
    /// no such files.
    json_files: Option<Arc<JsonFiles>>,
    /// The columns of the files.
    file_schema: SchemaRef,
    /// True if each file is read from its start.
    reads_from_start: bool,
}

impl DisplayAs for GuardedScan {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.scan.fmt_as(format, f)
    }
}

impl ExecutionPlan for GuardedScan {
    fn name(&self) -> &str {
        self.scan.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.scan.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.scan.apply_expressions(f)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let scan = self.scan.clone().reset_state()?;
        Ok(Arc::new(GuardedScan {
            scan,
            input: self.input.clone(),
            arrow_files: self.arrow_files.clone(),
            text_files: self.text_files.clone(),
            json_files: self.json_files.clone(),
            file_schema: self.file_schema.clone(),
            reads_from_start: self.reads_from_start,
        }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.arrow_files.iter().try_for_each(|file| ipc::check(file))?;
        let rows = catch_panic(&self.input, || self.scan.execute(partition, context))??;
        let rows = match self.json_files.clone() {
            Some(files) => placed_rows(rows, files),
            None => rows,
        };
        let rows: SendableRecordBatchStream = Box::pin(GuardedRows {
            rows: Some(rows),
            schema: self.schema(),
            input: self.input.clone(),
            file_schema: self.file_schema.clone(),
            reads_from_start: self.reads_from_start,
        });
        Ok(match self.text_files.clone() {
            Some(files) => checked_rows(rows, files),
            None => rows,
        })
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.scan.metrics()
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        self.scan.statistics_from_inputs(inputs, args)
    }
}

/// The rows of a scan, which end with an error if the scan panics.
struct GuardedRows {
    /// The stream of rows; `None` after a panic.
    rows: Option<SendableRecordBatchStream>,
    schema: SchemaRef,
    input: String,
    /// The columns of the files.
    file_schema: SchemaRef,
    /// True if each file is read from its start.
    reads_from_start: bool,
}

impl GuardedRows {
    /// Adds the input, and the column and line of a wrong value, to an error.
    fn name_input(&self, error: DataFusionError) -> DataFusionError {
        match error {
            DataFusionError::ArrowError(error, trace) => {
                let error = name_value(&self.input, &self.file_schema, self.reads_from_start, *error);
                name_input(&self.input, DataFusionError::ArrowError(Box::new(error), trace))
            }
            error => name_input(&self.input, error),
        }
    }
}

impl Stream for GuardedRows {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let GuardedRows { rows: Some(rows), input, .. } = &mut *self else { return Poll::Ready(None) };
        match catch_panic(input, || rows.as_mut().poll_next(context)) {
            Ok(polled) => polled.map_err(|error| self.name_input(error)),
            Err(error) => {
                self.rows = None;
                Poll::Ready(Some(Err::<RecordBatch, DataFusionError>(error)))
            }
        }
    }
}

impl RecordBatchStream for GuardedRows {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
