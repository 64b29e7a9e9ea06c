//! Rows that outer joins add: a leaf gets a row for each key that only the other leaf has. Each
//! column of this row that is not a key has the value of its expression over a row of NULLs.

use super::domain::without_dictionary;
use super::leaf::LeafRows;
use crate::claim::GroupedJoin;
use crate::error::{Error, FallbackReason, Result};
use crate::memory::Allowance;
use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array};
use datafusion::arrow::compute::{cast, concat, filter_record_batch, take};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::row::{Row, RowConverter, Rows, SortField};
use datafusion::common::{HashSet, ScalarValue};
use std::sync::Arc;

/// Adds the rows of outer joins to their leaves, and removes the rows with a NULL key from the
/// padded leaf of a left or right join.
///
/// # Errors
/// If both sides of a full outer join have a NULL in a key, because the rows with a NULL would
/// match each other. Also if Arrow refuses a computation, or the allowance is exhausted.
pub(super) fn add_outer_rows(join: &GroupedJoin, leaves: &mut [Option<LeafRows>], allowance: &Allowance) -> Result<()> {
    for outer in &join.outers {
        let side = |leaf: usize, columns: Vec<usize>| {
            let batch = leaves[leaf].as_ref().expect("the leaves of outer joins have rows").batch().clone();
            OuterSide { batch, columns, padding: &join.leaves[leaf].padding }
        };
        let (kept_columns, padded_columns): (Vec<usize>, Vec<usize>) = outer.keys.iter().copied().unzip();
        let (kept, padded) = (side(outer.kept, kept_columns), side(outer.padded, padded_columns));
        let types = kept.columns.iter().map(|&c| SortField::new(without_dictionary(kept.batch.column(c).data_type())));
        let converter = RowConverter::new(types.collect())?;
        let (kept_keys, padded_keys) = (kept.keys(&converter)?, padded.keys(&converter)?);
        let mut sides = Vec::new();
        if outer.full {
            if kept_keys.has_nulls() && padded_keys.has_nulls() {
                let column = join.leaves[outer.kept].columns[kept.columns[0]].name.clone();
                return Err(FallbackReason::Null { column }.into());
            }
            sides.push((outer.kept, kept.append_keys(&padded, &padded_keys.missing_keys(&kept_keys))?));
            sides.push((outer.padded, padded.append_keys(&kept, &kept_keys.missing_keys(&padded_keys))?));
        } else {
            let batch = filter_record_batch(&padded.batch, &padded_keys.valid)?;
            let padded = OuterSide { batch, ..padded };
            sides.push((outer.padded, padded.append_keys(&kept, &kept_keys.missing_keys(&padded_keys))?));
        }
        for (leaf, batch) in sides {
            allowance.reserve("the rows of outer joins", batch.get_array_memory_size())?;
            leaves[leaf] = Some(LeafRows::new(batch));
        }
    }
    Ok(())
}

/// A side of an outer join.
struct OuterSide<'r> {
    batch: RecordBatch,
    /// The key columns.
    columns: Vec<usize>,
    /// The value of each column in added rows.
    padding: &'r [ScalarValue],
}

/// The keys of the rows of a side.
struct SideKeys {
    rows: Rows,
    /// True for rows without a NULL in the key.
    valid: BooleanArray,
}

impl OuterSide<'_> {
    fn keys(&self, converter: &RowConverter) -> Result<SideKeys> {
        let columns = self.columns.iter().map(|&c| self.batch.column(c));
        let values = columns.clone().map(|column| cast(column, &without_dictionary(column.data_type())));
        let rows = converter.convert_columns(&values.collect::<Result<Vec<_>, _>>()?)?;
        let nulls: Vec<_> = columns.filter_map(Array::logical_nulls).collect();
        let valid = (0..self.batch.num_rows()).map(|row| Some(nulls.iter().all(|nulls| nulls.is_valid(row))));
        Ok(SideKeys { rows, valid: valid.collect() })
    }

    /// Returns the rows of this side, followed by an added row for each of the rows `rows` of the
    /// other side. An added row has the same key as the row of the other side.
    fn append_keys(&self, other: &OuterSide<'_>, rows: &UInt64Array) -> Result<RecordBatch> {
        let (mut columns, mut fields) = (Vec::new(), Vec::new());
        for (k, (column, field)) in self.batch.columns().iter().zip(self.batch.schema().fields()).enumerate() {
            let added = match self.columns.iter().position(|&c| c == k) {
                Some(key) => take(other.batch.column(other.columns[key]), rows, None)?,
                None => repeat(&self.padding[k], rows.len())?,
            };
            columns.push(concat(&[column, &cast(&added, column.data_type())?])?);
            fields.push(Field::new(field.name(), column.data_type().clone(), true));
        }
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
    }
}

/// Returns an array that repeats a value. DataFusion cannot build a run-end encoded array without
/// rows, so the value inside a run-end encoded scalar is repeated instead.
fn repeat(value: &ScalarValue, count: usize) -> Result<ArrayRef> {
    let value = if let ScalarValue::RunEndEncoded(_, _, value) = value { value } else { value };
    value.to_array_of_size(count).map_err(|e| Error::Read(Box::new(e)))
}

impl SideKeys {
    fn has_nulls(&self) -> bool {
        self.valid.has_false()
    }

    /// Returns the index of the first row of each key that `others` does not have. A key with a
    /// NULL never matches a key of `others`.
    fn missing_keys(&self, others: &SideKeys) -> UInt64Array {
        let other_keys: HashSet<Row<'_>> = others
            .rows
            .iter()
            .zip(others.valid.iter())
            .filter(|(_, valid)| *valid == Some(true))
            .map(|(row, _)| row)
            .collect();
        let mut added: HashSet<Row<'_>> = HashSet::default();
        let missing = |(k, row)| (!other_keys.contains(&row) && added.insert(row)).then_some(k);
        UInt64Array::from_iter_values((0..).zip(&self.rows).filter_map(missing))
    }
}
