//! The choice among the divisions of a region by their cost.

use super::DividedRegion;
use super::key::PartitionRows;

/// The cost of dividing a region, in rows that a worker could encode instead: the workers start,
/// shuffle and compile, and the coordinator merges their results.
const DIVISION: f64 = 100_000.0;

/// Returns the cheapest division for a cluster whose workers run `partitions` partitions in all.
/// `rows` returns the estimated number of rows of an input of the region. Of equally cheap
/// divisions, the first is returned.
pub(super) fn cheapest(
    divisions: impl IntoIterator<Item = DividedRegion>,
    (workers, partitions): (usize, usize),
    rows: impl Fn(usize) -> f64,
) -> Option<DividedRegion> {
    let costs =
        divisions.into_iter().map(|division| (rows_of_worker(&division, (workers, partitions), &rows), division));
    costs.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, division)| division)
}

/// Returns the number of rows that one worker receives and encodes, plus the cost of the division.
fn rows_of_worker(divided: &DividedRegion, (workers, partitions): (usize, usize), rows: impl Fn(usize) -> f64) -> f64 {
    let of_input = |rows: f64, of_partition: &PartitionRows| match of_partition {
        PartitionRows::All => rows,
        PartitionRows::OfKey(_) => rows / workers as f64,
        PartitionRows::OfCell(columns) => {
            let fields = columns.iter().zip(&divided.fields).filter(|(column, _)| column.is_some());
            let parts: usize = fields.map(|(_, (_, parts))| *parts).product();
            // A worker has several cells.
            rows / parts as f64 * (partitions as f64 / workers as f64)
        }
    };
    let received: f64 = divided.inputs.iter().map(|input| of_input(rows(input.input), &input.rows)).sum();
    received + if divided.fields.is_empty() { 0.0 } else { DIVISION }
}
