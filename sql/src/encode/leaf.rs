//! The rows of a leaf: its columns, and the codes of its fields.

use super::domain::MISSING;
use crate::claim::FieldId;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::record_batch::RecordBatch;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rows of a leaf.
#[derive(Debug)]
pub struct LeafRows {
    batch: RecordBatch,
    codes: BTreeMap<FieldId, Arc<Vec<u64>>>,
}

impl LeafRows {
    /// The rows of a batch whose columns are those of the leaf.
    pub fn new(batch: RecordBatch) -> LeafRows {
        LeafRows { batch, codes: BTreeMap::new() }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// A column.
    pub fn column(&self, column: usize) -> &ArrayRef {
        self.batch.column(column)
    }

    /// Whether a column has a NULL, in whatever way its array stores it.
    pub fn has_nulls(&self, column: usize) -> bool {
        self.column(column).logical_null_count() > 0
    }

    /// Adds the codes of a field in one of its columns; columns of one field have equal values in the rows that count.
    pub fn add_codes(&mut self, field: FieldId, codes: Arc<Vec<u64>>) {
        match self.codes.get_mut(&field) {
            None => {
                self.codes.insert(field, codes);
            }
            Some(before) => {
                let differ = Arc::make_mut(before).iter_mut().zip(&*codes).filter(|(a, b)| **a != **b);
                differ.for_each(|(code, _)| *code = MISSING);
            }
        }
    }

    /// The codes of a field.
    ///
    /// # Panics
    /// When the leaf has no column of it.
    pub fn codes(&self, field: FieldId) -> &[u64] {
        &self.codes[&field]
    }

    /// The rows that have all of those codes, and values in those columns, ascending; `None` when all have.
    pub fn passing(&self, codes: &[&[u64]], valid: &[usize]) -> Option<Vec<u32>> {
        let columns: Vec<_> = valid.iter().filter_map(|&c| self.column(c).logical_nulls()).collect();
        let passes =
            |&k: &usize| codes.iter().all(|c| c[k] != MISSING) && columns.iter().all(|nulls| nulls.is_valid(k));
        let count = (0..self.len()).filter(passes).count();
        if count == self.len() {
            return None;
        }
        let mut rows = Vec::with_capacity(count);
        rows.extend((0..self.len()).filter(passes).map(|k| k as u32));
        Some(rows)
    }
}
