//! The cells in the rows of one partition.
//!
//! If each cell has a partition of its own, a partition has the rows of at most one cell. On a
//! cluster, DataFusion may hash two cells into one partition. The rows of two cells must not be
//! joined, because both cells may have copies of the same row.

use super::key::{PartitionInput, PartitionRows};
use crate::columns::InputRows;
use datafusion::arrow::array::{AsArray, UInt64Array};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::compute::kernels::cmp::eq;
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::error::{DataFusionError, Result};
use std::collections::BTreeSet;

/// Returns the rows of each cell of a partition, in the order of the cells' numbers. The rows of
/// inputs that are not divided belong to all cells. A partition without rows has one empty cell.
pub(super) fn rows_by_cell(inputs: &[PartitionInput], rows: Vec<InputRows>) -> Result<Vec<Vec<InputRows>>> {
    let mut cells: BTreeSet<u64> = BTreeSet::new();
    for (_, rows) in divided(inputs, &rows) {
        cells.extend(cell_column(rows)?.values());
    }
    if cells.len() <= 1 {
        return Ok(vec![rows]);
    }
    let of_cell = |cell: u64| {
        let mut of_cell = rows.clone();
        for (k, rows) in divided(inputs, &rows) {
            let mask = eq(cell_column(rows)?, &UInt64Array::new_scalar(cell))?;
            of_cell[k] = filter_record_batch(rows.batch(), &mask)?.into();
        }
        Ok(of_cell)
    };
    cells.into_iter().map(of_cell).collect()
}

/// Returns the inputs that are divided into cells, with their indices.
fn divided<'a>(inputs: &'a [PartitionInput], rows: &'a [InputRows]) -> impl Iterator<Item = (usize, &'a InputRows)> {
    let is_divided = |(input, _): &(&PartitionInput, _)| matches!(input.rows, PartitionRows::OfCell(_));
    inputs.iter().zip(rows.iter().enumerate()).filter(is_divided).map(|(_, rows)| rows)
}

/// Returns the column with the number of the cell, which a `ReplicateExec` adds.
fn cell_column(rows: &InputRows) -> Result<&UInt64Array> {
    let column = rows.batch().columns().last().and_then(|column| column.as_primitive_opt::<UInt64Type>());
    column.ok_or_else(|| DataFusionError::Internal("the rows of cells have no column of cell numbers".into()))
}
