//! The rows of a leaf, which is one table of a region's join: the columns of the leaf, and the
//! codes of its fields.

use super::columns::EncodedColumns;
use super::domain::MISSING;
use crate::claim::FieldId;
use crate::columns::{InputRows, RowSource};
use crate::error::Result;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::record_batch::RecordBatch;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rows of a leaf with the codes of its fields.
#[derive(Debug)]
pub struct LeafRows {
    batch: RecordBatch,
    codes: BTreeMap<FieldId, Arc<Vec<u64>>>,
    /// The table from which the rows are selected, as in [`InputRows::source`].
    source: Option<Arc<RowSource>>,
    /// Tuples of columns that are encoded already.
    encodings: Vec<(Vec<usize>, Arc<EncodedColumns>)>,
}

impl LeafRows {
    /// Returns the rows of `batch`, without codes. The columns of `batch` are the columns of the
    /// leaf.
    pub fn new(batch: RecordBatch) -> LeafRows {
        LeafRows { batch, codes: BTreeMap::new(), source: None, encodings: Vec::new() }
    }

    /// Returns the rows of an input, projected to the columns of the leaf.
    ///
    /// # Errors
    /// If a column does not exist.
    pub fn of_input(rows: &InputRows, columns: &[usize]) -> Result<LeafRows> {
        Ok(LeafRows { source: rows.source().cloned(), ..LeafRows::new(rows.batch().project(columns)?) })
    }

    /// Returns the table from which the rows are selected, as in [`InputRows::source`]; `None` if
    /// the rows are not those of an input.
    pub(super) fn source(&self) -> Option<&Arc<RowSource>> {
        self.source.as_ref()
    }

    /// Adds the codes of a tuple of columns.
    pub(super) fn add_encoding(&mut self, columns: Vec<usize>, encoded: Arc<EncodedColumns>) {
        self.encodings.push((columns, encoded));
    }

    /// Returns the codes of a tuple of columns, if they were added.
    pub(super) fn encoding(&self, columns: &[usize]) -> Option<&Arc<EncodedColumns>> {
        self.encodings.iter().find(|(of, _)| of == columns).map(|(_, encoded)| encoded)
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the columns as a batch.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Returns a column.
    pub fn column(&self, column: usize) -> &ArrayRef {
        self.batch.column(column)
    }

    /// Returns whether a column has a NULL. Some arrays, such as dictionaries, have NULLs without a
    /// validity bitmap; those NULLs count, too.
    pub fn has_nulls(&self, column: usize) -> bool {
        self.column(column).logical_null_count() > 0
    }

    /// Adds the codes of one of the field's tuples of columns. If the field has several tuples in
    /// the leaf, a row in which the codes of the tuples differ gets the code [`MISSING`].
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

    /// Returns the codes of a field.
    ///
    /// # Panics
    /// If the leaf has no column of the field.
    pub fn codes(&self, field: FieldId) -> &[u64] {
        &self.codes[&field]
    }

    /// Returns the rows that have no missing code in `codes` and no NULL in the columns `valid`, in
    /// ascending order. Returns `None` if every row passes.
    pub fn passing_rows(&self, codes: &[&[u64]], valid: &[usize]) -> Option<Vec<u32>> {
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
