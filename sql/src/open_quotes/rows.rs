//! Rows of scans of delimited text, with the check of the files.

use super::{Quoting, check};
use crate::error::Error;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::physical_plan::{CsvSource, FileScanConfig};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::JoinHandle;

/// The files of delimited text that a scan reads.
#[derive(Debug)]
pub(crate) struct TextFiles {
    quoting: Quoting,
    /// The files of each partition.
    partitions: Vec<Vec<TextFile>>,
    /// The number of rows after which the scan ends.
    limit: Option<usize>,
}

/// The largest file that is checked although the scan has returned as many rows as it may: the file
/// was probably not read to its end, and a check of a larger file takes longer than such a scan.
const MAX_UNREAD_BYTES: u64 = 16 << 20;

/// A file of a partition.
#[derive(Clone, Debug)]
struct TextFile {
    path: PathBuf,
    bytes: u64,
    /// True if the partition reads the file to its end.
    to_end: bool,
}

impl TextFiles {
    /// Returns the files of a scan; `None` if the scan reads no local files of delimited text.
    pub(crate) fn of(config: &FileScanConfig) -> Option<TextFiles> {
        let source = config.file_source().downcast_ref::<CsvSource>()?;
        if !config.object_store_url.as_str().starts_with("file:") {
            return None;
        }
        let file = |file: &datafusion::datasource::listing::PartitionedFile| TextFile {
            path: format!("/{}", file.object_meta.location).into(),
            bytes: file.object_meta.size,
            to_end: file.range.as_ref().is_none_or(|range| range.end >= file.object_meta.size as i64),
        };
        let partitions = config.file_groups.iter().map(|group| group.files().iter().map(file).collect()).collect();
        Some(TextFiles { quoting: Quoting::of_scan(source), partitions, limit: config.limit })
    }

    /// Starts the check of some files of a partition.
    fn start_check(&self, partition: usize, is_checked: impl Fn(&TextFile) -> bool) -> FileCheck {
        let files = self.partitions.get(partition).into_iter().flatten().filter(|file| is_checked(file));
        let (files, quoting): (Vec<PathBuf>, _) = (files.map(|file| file.path.clone()).collect(), self.quoting);
        let cancelled = Arc::<AtomicBool>::default();
        let flag = cancelled.clone();
        let run = move || files.iter().try_for_each(|file| check(file, quoting, || flag.load(Ordering::Relaxed)));
        FileCheck { task: tokio::task::spawn_blocking(run), cancelled }
    }
}

/// A check of files in another thread, which ends early when this handle is dropped.
struct FileCheck {
    task: JoinHandle<Result<(), Error>>,
    cancelled: Arc<AtomicBool>,
}

impl FileCheck {
    async fn result(mut self) -> Result<()> {
        let result = (&mut self.task).await.map_err(|e| DataFusionError::External(Box::new(e)))?;
        Ok(result?)
    }
}

impl Drop for FileCheck {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// Returns the rows of a partition, with an error in place of the last rows if a quoted value never
/// ends. The files are checked while their rows are read, or afterwards if the scan may end before
/// the files do. An error of the reader that is due to
/// such a value is replaced.
pub(crate) fn checked_rows(
    rows: SendableRecordBatchStream,
    files: Arc<TextFiles>,
    partition: usize,
) -> SendableRecordBatchStream {
    let schema = rows.schema();
    let state = RowCheck { rows, files, partition, check: None, held: None, count: 0, has_ended: false };
    let checked = stream::unfold(state, |mut state| async {
        let next = state.next().await?;
        Some((next, state))
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, checked))
}

/// The state of a partition whose files are checked.
struct RowCheck {
    rows: SendableRecordBatchStream,
    files: Arc<TextFiles>,
    partition: usize,
    check: Option<FileCheck>,
    /// The last rows that were read, returned when others follow or the check has ended.
    held: Option<RecordBatch>,
    /// The number of rows that were read.
    count: usize,
    has_ended: bool,
}

impl RowCheck {
    async fn next(&mut self) -> Option<Result<RecordBatch>> {
        if self.has_ended {
            return None;
        }
        if self.check.is_none() && self.files.limit.is_none() {
            self.check = Some(self.files.start_check(self.partition, |file| file.to_end));
        }
        loop {
            match self.rows.next().await {
                Some(Ok(batch)) => {
                    self.count += batch.num_rows();
                    if let Some(before) = self.held.replace(batch) {
                        return Some(Ok(before));
                    }
                }
                Some(Err(error)) => {
                    let cause = self.files.start_check(self.partition, |_| true).result().await;
                    return Some(Err(cause.err().unwrap_or(error)));
                }
                None => {
                    self.has_ended = true;
                    let is_full = self.files.limit.is_some_and(|limit| self.count >= limit);
                    let check = self.check.take().unwrap_or_else(|| {
                        let is_checked = |file: &TextFile| !is_full || file.bytes <= MAX_UNREAD_BYTES;
                        self.files.start_check(self.partition, |file| file.to_end && is_checked(file))
                    });
                    let last = self.held.take();
                    return check.result().await.map(|()| last).transpose();
                }
            }
        }
    }
}
