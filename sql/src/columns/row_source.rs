//! Rows of a table that a region reads. Regions share the codes of the table's columns.

use super::file_scan::LoadedRows;
use super::identity::{ColumnIdentity, WeakColumns};
use super::store::{ColumnCodes, ColumnStore};
use crate::encode::EncodedColumns;
use crate::error::Result;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::execution::memory_pool::MemoryPool;
use std::sync::Arc;

/// A selection of the rows of a table. `columns` maps each column of these rows to its column in
/// the table.
#[derive(Debug)]
pub struct RowSource {
    pub(super) chunks: Vec<RecordBatch>,
    /// The column of the table for each column of the rows; `None` for computed columns.
    pub(super) columns: Vec<Option<usize>>,
    /// The numbers of the selected rows, counted through all chunks; `None` if all rows are
    /// selected.
    pub(super) selection: Option<Vec<u32>>,
    pub(super) store: Arc<ColumnStore>,
    pub(super) pool: Arc<dyn MemoryPool>,
    /// The columns of a file, whose memory stays reserved.
    pub(super) _loaded: Option<Arc<LoadedRows>>,
}

/// The codes of columns of a table, and whether they were encoded for this request.
#[derive(Clone, Debug)]
pub(crate) struct SharedCodes {
    pub(crate) codes: Arc<ColumnCodes>,
    pub(crate) is_new: bool,
}

impl RowSource {
    /// Returns the numbers of the selected rows of the table; `None` if all rows are selected.
    pub(crate) fn selection(&self) -> Option<&[u32]> {
        self.selection.as_deref()
    }

    /// Returns the codes of columns in all rows of the table. Returns `None` if a column is
    /// computed, if there are no chunks or no columns, or if regions have read so few rows until
    /// now that it is cheaper to encode the selected rows alone ([`ColumnStore::shall_encode`]).
    ///
    /// # Errors
    /// If Arrow refuses a computation.
    pub(crate) fn codes(&self, columns: &[usize]) -> Result<Option<SharedCodes>> {
        let Some(columns) = columns.iter().map(|&k| self.columns[k]).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        if self.chunks.is_empty() || columns.is_empty() {
            return Ok(None);
        }
        let tuple = |chunk: &RecordBatch| columns.iter().map(|&k| chunk.column(k).clone()).collect();
        let tuples: Vec<Vec<ArrayRef>> = self.chunks.iter().map(tuple).collect();
        let identity = ColumnIdentity::of(tuples.iter().flatten());
        if let Some(codes) = self.store.codes(&identity) {
            return Ok(Some(SharedCodes { codes, is_new: false }));
        }
        let total_rows = self.chunks.iter().map(RecordBatch::num_rows).sum();
        let rows = self.selection.as_ref().map_or(total_rows, Vec::len);
        if !self.store.shall_encode(&identity, rows, total_rows) {
            return Ok(None);
        }
        let encoded = EncodedColumns::new(&tuples)?;
        let columns = WeakColumns::of(tuples.iter().flatten());
        let codes = self.store.insert_codes(identity, columns, encoded, &self.pool);
        Ok(Some(SharedCodes { codes, is_new: true }))
    }
}
