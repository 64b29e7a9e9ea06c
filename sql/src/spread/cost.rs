//! The choice among the divisions of a region by their cost.

use super::DividedRegion;
use super::key::{PartitionInput, PartitionRows};
use crate::claim::FieldId;

/// The time of dividing a region, as a number of rows that a worker encodes in this time: the
/// workers start, shuffle and compile, and the coordinator merges their results.
const DIVISION: f64 = 100_000.0;

/// The time to join a row, relative to the time to encode the row. Joins with many matches take
/// longer, so a division is chosen too late rather than too early.
const JOIN: f64 = 4.0;

/// Returns the division with the shortest time on a worker, for a cluster whose workers run
/// `partitions` partitions in all. `rows` returns the estimated number of rows of an input of the
/// region. Of equally good divisions, the first is returned.
pub(super) fn cheapest(
    divisions: impl IntoIterator<Item = DividedRegion>,
    (workers, partitions): (usize, usize),
    rows: impl Fn(usize) -> f64,
) -> Option<DividedRegion> {
    let times = divisions.into_iter().map(|division| (time(&division, (workers, partitions), &rows), division));
    times.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, division)| division)
}

/// Returns the time of a worker, as a number of rows that it encodes in this time.
fn time(divided: &DividedRegion, (workers, partitions): (usize, usize), rows: &impl Fn(usize) -> f64) -> f64 {
    let DividedRegion { region, division } = divided;
    // The rows of an input that one worker receives.
    let received = |input: usize| {
        let PartitionInput { input, rows: of_partition } = &division.inputs[input];
        let rows = rows(*input);
        match of_partition {
            PartitionRows::All => rows,
            PartitionRows::OfKey(_) => rows / workers as f64,
            PartitionRows::OfCell(columns) => {
                let fields = columns.iter().zip(&division.fields).filter(|(column, _)| column.is_some());
                let parts: usize = fields.map(|(_, (_, parts))| *parts).product();
                // A worker has several cells.
                rows / parts as f64 * (partitions as f64 / workers as f64)
            }
        }
    };
    let encoded: f64 = (0..division.inputs.len()).map(received).sum();
    let join = &region.join;
    if division.fields.is_empty() {
        let joined: f64 = (0..join.leaves.len()).filter_map(|leaf| join.input(leaf)).map(received).sum();
        return encoded + JOIN * joined;
    }
    // A worker joins only those rows that match its rows of other inputs, so all workers together
    // join each row about once, although several workers may receive it.
    let all_rows = (0..join.leaves.len()).filter_map(|leaf| Some(rows(division.inputs[join.input(leaf)?].input)));
    let joined = all_rows.sum::<f64>() / workers as f64;
    // The coordinator merges the groups of all workers. A worker has at most as many groups as it
    // receives rows of a leaf with the group field.
    let groups = |field: FieldId| {
        let leaves = join.fields[field].columns.iter().flatten().filter_map(|column| join.input(column.leaf));
        leaves.map(&received).reduce(f64::min).unwrap_or(1.0)
    };
    let merged = match division.has_states {
        true => join.group_fields().into_iter().map(groups).fold(1.0, f64::max),
        false => 0.0,
    };
    encoded + JOIN * joined + merged * workers as f64 + DIVISION
}
