//! Rows of scans of delimited text, whose files are checked while the rows are read.

use super::{Quoting, Reading, check};
use crate::error::Error;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::{CsvSource, FileGroup, FileScanConfig};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::OnceCell;

/// Size of the largest file, in bytes, that is checked after a scan has returned as many rows as
/// its limit. Such a scan has probably not read the file to its end, and the check of a larger file
/// would take longer than the scan.
const MAX_UNREAD_BYTES: u64 = 16 << 20;

/// The files of delimited text that a scan reads.
#[derive(Debug)]
pub(crate) struct TextFiles {
    quoting: Quoting,
    files: Vec<TextFile>,
    /// The number of rows after which the scan ends; `None` if the scan reads all rows.
    limit: Option<usize>,
    /// Set once all files have passed the check.
    checked: OnceCell<()>,
}

/// A file of a scan.
#[derive(Clone, Debug)]
struct TextFile {
    path: PathBuf,
    bytes: u64,
    reading: Reading,
}

impl TextFiles {
    /// Returns the files of a scan; `None` if the scan reads no local files of delimited text.
    pub(crate) fn of(config: &FileScanConfig) -> Option<TextFiles> {
        let source = config.file_source().downcast_ref::<CsvSource>()?;
        if !config.object_store_url.as_str().starts_with("file:") {
            return None;
        }
        let (mut files, mut paths) = (Vec::new(), HashSet::new());
        for file in config.file_groups.iter().flat_map(FileGroup::files) {
            let (path, bytes) = (PathBuf::from(format!("/{}", file.object_meta.location)), file.object_meta.size);
            let is_whole = |range: &FileRange| range.start == 0 && range.end as u64 >= bytes;
            let reading = if file.range.as_ref().is_none_or(is_whole) { Reading::Whole } else { Reading::InParts };
            if paths.insert(path.clone()) {
                files.push(TextFile { path, bytes, reading });
            }
        }
        Some(TextFiles { quoting: Quoting::of_scan(source), files, limit: config.limit, checked: OnceCell::new() })
    }

    /// Checks all files. After the files have passed the check, further calls return at once.
    async fn check_all(&self) -> Result<()> {
        self.checked.get_or_try_init(|| self.check_files(|_| true)).await.copied()
    }

    /// Checks the files for which `is_checked` returns true, in another thread, which stops if this
    /// future is dropped.
    async fn check_files(&self, is_checked: impl Fn(&TextFile) -> bool) -> Result<()> {
        let files: Vec<TextFile> = self.files.iter().filter(|file| is_checked(file)).cloned().collect();
        let (quoting, cancelled) = (self.quoting, CancelOnDrop::default());
        let flag = cancelled.0.clone();
        let check_file =
            move |file: &TextFile| check(&file.path, quoting, file.reading, || flag.load(Ordering::Relaxed));
        let task = SpawnedTask::spawn_blocking(move || files.iter().try_for_each(check_file));
        let result: Result<(), Error> = task.await.map_err(|e| DataFusionError::External(Box::new(e)))?;
        Ok(result?)
    }
}

/// A flag that is set when the value is dropped.
#[derive(Default)]
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns a scan that reads each file as a whole, so that its first rows are the first rows of the
/// files. Returns `None` unless the given scan reads delimited text in parts and has a limit.
pub(crate) fn without_parts(config: &FileScanConfig) -> Option<FileScanConfig> {
    let in_parts = config.file_groups.iter().flat_map(FileGroup::files).any(|file| file.range.is_some());
    if config.limit.is_none() || !in_parts || !config.file_source().is::<CsvSource>() {
        return None;
    }
    let (mut files, mut paths) = (Vec::new(), HashSet::new());
    for file in config.file_groups.iter().flat_map(FileGroup::files) {
        if paths.insert(&file.object_meta.location) {
            files.push(PartitionedFile { range: None, ..file.clone() });
        }
    }
    // The number of partitions stays the same.
    let empty = (1..config.file_groups.len()).map(|_| FileGroup::new(Vec::new()));
    let mut whole = config.clone();
    whole.file_groups = [FileGroup::new(files)].into_iter().chain(empty).collect();
    Some(whole)
}

/// Returns the rows of a partition, with an error in place of the last rows if the check of a file
/// fails. The files are checked while their rows are read, or afterwards if the scan has a limit.
/// If the partition then has as many rows as the limit, files of more than [`MAX_UNREAD_BYTES`] are
/// not checked. The error of a failed check also replaces an error of the reader.
pub(crate) fn checked_rows(rows: SendableRecordBatchStream, files: Arc<TextFiles>) -> SendableRecordBatchStream {
    let schema = rows.schema();
    let state = RowCheck { rows, files, check: None, held: None, count: 0, has_ended: false };
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
    /// The check of all files in the background; `None` before the check begins, after it was
    /// awaited, and if the scan has a limit.
    check: Option<SpawnedTask<Result<()>>>,
    /// The last rows that were read. They are returned when more rows follow, or when the check has
    /// succeeded.
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
            let files = self.files.clone();
            self.check = Some(SpawnedTask::spawn(async move { files.check_all().await }));
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
                    self.has_ended = true;
                    return Some(Err(self.files.check_all().await.err().unwrap_or(error)));
                }
                None => {
                    self.has_ended = true;
                    let last = self.held.take();
                    return self.check_end().await.map(|()| last).transpose();
                }
            }
        }
    }

    /// Waits for the check of the files after the last row of a partition, or runs the check if the
    /// scan has a limit.
    async fn check_end(&mut self) -> Result<()> {
        let is_full = self.files.limit.is_some_and(|limit| self.count >= limit);
        match self.check.take() {
            Some(check) => check.await.map_err(|e| DataFusionError::External(Box::new(e)))?,
            None if is_full => self.files.check_files(|file| file.bytes <= MAX_UNREAD_BYTES).await,
            None => self.files.check_all().await,
        }
    }
}
