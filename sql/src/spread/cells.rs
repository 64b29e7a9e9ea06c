//! The cells in the rows of one partition.
//!
//! If each cell has a partition of its own, a partition has the rows of at most one cell. On a
//! cluster, DataFusion may hash two cells into one partition. The rows of two cells must not be
//! joined, because both cells may have copies of the same row.

use super::key::{PartitionInput, PartitionRows};
use crate::columns::InputRows;
use crate::error::{Error, Result};
use crate::memory::Allowance;
use datafusion::arrow::array::{AsArray, UInt64Array};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::compute::kernels::cmp::eq;
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::error::DataFusionError;
use std::collections::BTreeSet;

/// Returns the rows of each cell of a partition, in the order of the cells' numbers. The rows of
/// inputs that are not divided belong to all cells. A partition without rows has one empty cell.
/// The memory of copied rows is reserved in the allowance.
///
/// # Errors
/// If the rows of cells lack their column of cell numbers, or the allowance is exhausted.
pub(super) fn rows_by_cell(
    inputs: &[PartitionInput],
    rows: Vec<InputRows>,
    allowance: &Allowance,
) -> Result<Vec<Vec<InputRows>>> {
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
            let batch = filter_record_batch(rows.batch(), &mask)?;
            allowance.reserve("the rows of a cell", batch.get_array_memory_size())?;
            of_cell[k] = batch.into();
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
    column.ok_or_else(|| {
        let error = DataFusionError::Internal("the rows of cells have no column of cell numbers".into());
        Error::Read(Box::new(error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Cache;
    use datafusion::arrow::array::{ArrayRef, Int64Array};
    use datafusion::arrow::record_batch::RecordBatch;
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};
    use std::sync::Arc;

    /// The rows of several cells are copied, and their memory is reserved.
    #[test]
    fn copies_for_cells_are_reserved() {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let cells: ArrayRef = Arc::new((0..1000).map(|k| Some(k % 3)).collect::<UInt64Array>());
        let rows = RecordBatch::try_from_iter([("v", values), ("cell", cells)]).unwrap();
        let inputs = [PartitionInput { input: 0, rows: PartitionRows::OfCell(vec![Some(0)]) }];
        let split = |bytes: usize| {
            let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(bytes));
            let allowance = Allowance::from_pool(&pool, Arc::<Cache>::default(), Arc::default());
            let cells = rows_by_cell(&inputs, vec![rows.clone().into()], &allowance)?;
            Ok::<_, Error>((cells.iter().map(|cell| cell[0].batch().num_rows()).collect::<Vec<_>>(), pool.reserved()))
        };
        let (counts, reserved) = split(1 << 20).unwrap();
        assert_eq!(counts, [334, 333, 333]);
        assert!(reserved >= 1000 * 2 * size_of::<u64>(), "{reserved}");
        assert!(matches!(split(10_000), Err(Error::Memory { .. })));
    }
}
