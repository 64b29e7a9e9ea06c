//! The division of a region: the key or the cells by which its rows are divided, and the inputs of
//! the partitions.

use super::partial::{State, states_of};
use crate::claim::{FieldId, GroupedJoin, LeafId, LeafRole, LeafSource, Region};
use datafusion::arrow::datatypes::DataType;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::sync::Arc;

/// Greatest number of fields that share the cells.
const MAX_DIVIDED: usize = 6;

/// A region that is divided into partitions.
#[derive(Clone, Debug)]
pub(crate) struct DividedRegion {
    /// The region of one partition. Its leaves read the inputs of the partition.
    pub(crate) region: Arc<Region>,
    pub(crate) division: Division,
}

/// The division of the rows of a region.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Division {
    /// The inputs of a partition.
    pub(crate) inputs: Vec<PartitionInput>,
    /// The fields that divide the rows, each with the number of parts. A single field, the key, is
    /// divided by the hash of DataFusion into all partitions, and its number of parts is 0.
    pub(crate) fields: Vec<(FieldId, usize)>,
    /// Whether the aggregates of a partition are states, which are merged. Otherwise no group is in
    /// two partitions.
    pub(crate) has_states: bool,
    /// The columns of the region that are NULL in place of 0.
    pub(crate) null_if_zero: Vec<usize>,
}

/// An input of a partition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct PartitionInput {
    /// The index among the inputs of the region.
    pub(crate) input: usize,
    /// The rows of the input that a partition reads.
    pub(crate) rows: PartitionRows,
}

/// The rows of an input that a partition reads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum PartitionRows {
    /// All rows.
    All,
    /// The rows whose value in this column has the hash of the partition.
    OfKey(usize),
    /// The rows of one cell. For each divided field, the column of the input with its values;
    /// `None` if the input lacks the field, so that a row belongs to the cells of all parts.
    OfCell(Vec<Option<usize>>),
}

/// The rank of a key; the key with the greatest rank is preferred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct KeyRank {
    /// Whether the key is a group field.
    is_group: bool,
    /// Number of leaves that the key divides.
    leaves: usize,
    /// The field; the first of two fields is preferred.
    order: Reverse<FieldId>,
}

/// For each leaf, the column that divides the rows of the leaf by a field, if there is one.
type LeafColumns = Vec<Option<usize>>;

impl DividedRegion {
    /// Returns a region in one partition, which reads all rows of all inputs.
    pub(crate) fn whole(region: &Region) -> DividedRegion {
        divided(region, Vec::new(), None, |_, _| PartitionRows::All)
    }

    /// Returns the region as a whole, divided by each possible key, the preferred key first, and
    /// divided into cells. `rows` is that of [`DividedRegion::by_cells`].
    pub(super) fn candidates(region: &Region, partitions: usize, rows: impl Fn(usize) -> f64) -> Vec<DividedRegion> {
        let mut keys: Vec<(KeyRank, DividedRegion)> = DividedRegion::by_each_key(region).collect();
        keys.sort_by_key(|(rank, _)| Reverse(*rank));
        let keys = keys.into_iter().map(|(_, divided)| divided);
        let whole = [DividedRegion::whole(region)].into_iter();
        whole.chain(keys).chain(DividedRegion::by_cells(region, partitions, rows)).collect()
    }

    /// Divides a region by a key. A group field is preferred, because the results of partitions are
    /// then not merged; among such fields, the one that most leaves have. Returns `None` if the
    /// region cannot be divided by a key.
    pub(crate) fn by_key(region: &Region) -> Option<DividedRegion> {
        DividedRegion::by_each_key(region).max_by_key(|(rank, _)| *rank).map(|(_, divided)| divided)
    }

    /// Divides a region by each key by which it can be divided: a field of a leaf that gives rows,
    /// which can be hashed, and which is a group field unless the states of all aggregates can be
    /// merged. Also returns the rank of the key.
    fn by_each_key(region: &Region) -> impl Iterator<Item = (KeyRank, DividedRegion)> {
        let groups = region.join.group_fields();
        let states = states(region);
        (0..region.join.fields.len()).filter_map(move |key| {
            let is_group = groups.contains(&key);
            let states = if is_group { None } else { Some(states.clone()?) };
            let columns = columns_of_field(&region.join, key)?;
            let rows = |leaf: LeafId, of_leaf: &[usize]| match columns[leaf] {
                Some(column) => PartitionRows::OfKey(of_leaf[column]),
                None => PartitionRows::All,
            };
            let rank = KeyRank { is_group, leaves: columns.iter().flatten().count(), order: Reverse(key) };
            Some((rank, divided(region, vec![(key, 0)], states, rows)))
        })
    }

    /// Divides a region into at most `cells` cells: each cell has one part of the values of each
    /// divided field (HyperCube; Afrati and Ullman, "Optimizing Joins in a Map-Reduce Environment",
    /// 2010). The numbers of parts are those for which a cell reads the fewest rows; `rows` returns
    /// the estimated number of rows of an input. Returns `None` if the region has outer joins,
    /// fewer than two fields would be divided, or the states of an aggregate cannot be merged.
    pub(crate) fn by_cells(region: &Region, cells: usize, rows: impl Fn(usize) -> f64) -> Option<DividedRegion> {
        let states = states(region)?;
        if !region.join.outers.is_empty() {
            return None;
        }
        let candidates = (0..region.join.fields.len()).filter_map(|field| {
            let columns = columns_of_field(&region.join, field)?;
            (columns.iter().flatten().count() > 1).then_some((field, columns))
        });
        let candidates: Vec<(FieldId, LeafColumns)> = candidates.take(MAX_DIVIDED).collect();
        let sizes: Vec<f64> = (0..region.join.leaves.len()).map(|l| region.join.input(l).map_or(0.0, &rows)).collect();
        let parts = best_parts(&candidates, &sizes, cells);
        let fields = candidates.into_iter().zip(parts).filter(|(_, parts)| *parts > 1);
        let (fields, columns): (Vec<(FieldId, usize)>, Vec<LeafColumns>) =
            fields.map(|((field, columns), parts)| ((field, parts), columns)).unzip();
        if fields.len() < 2 {
            return None;
        }
        let rows = |leaf: LeafId, of_leaf: &[usize]| {
            let columns = columns.iter().map(|columns| columns[leaf].map(|column| of_leaf[column]));
            let columns: Vec<Option<usize>> = columns.collect();
            if columns.iter().all(Option::is_none) { PartitionRows::All } else { PartitionRows::OfCell(columns) }
        };
        Some(divided(region, fields, Some(states), rows))
    }
}

/// Returns the states of the aggregates of a region; `None` if an aggregate has no states that can
/// be merged.
fn states(region: &Region) -> Option<Vec<State>> {
    let states: Option<Vec<_>> = region.aggregates.iter().map(states_of).collect();
    Some(states?.concat())
}

/// Returns the region of a partition; `rows` returns the rows that a leaf reads, from the columns
/// of its input.
fn divided(
    region: &Region,
    fields: Vec<(FieldId, usize)>,
    states: Option<Vec<State>>,
    rows: impl Fn(LeafId, &[usize]) -> PartitionRows,
) -> DividedRegion {
    let (mut region, has_states) = (region.clone(), states.is_some());
    let mut null_if_zero = Vec::new();
    if let Some(states) = states {
        let first = region.join.groups.len();
        null_if_zero.extend((first..).zip(&states).filter(|(_, state)| state.is_null_if_zero).map(|(k, _)| k));
        region.aggregates = states.into_iter().map(|state| state.aggregate).collect();
    }
    let mut inputs: Vec<PartitionInput> = Vec::new();
    for (k, leaf) in region.join.leaves.iter_mut().enumerate() {
        let LeafSource::Input { input, columns } = &mut leaf.source else { continue };
        let of_leaf = PartitionInput { input: *input, rows: rows(k, columns) };
        *input = inputs.iter().position(|other| *other == of_leaf).unwrap_or_else(|| {
            inputs.push(of_leaf);
            inputs.len() - 1
        });
    }
    DividedRegion { region: Arc::new(region), division: Division { inputs, fields, has_states, null_if_zero } }
}

/// Returns the column of each leaf that divides the rows of the leaf by a field; `None` if the
/// region cannot be divided by the field.
///
/// A leaf that outer joins pad needs all rows that match the rows of the kept leaf. So it is
/// divided only together with the kept leaf, and only if the field is the key of the outer join. In
/// a full outer join, this also holds for the kept leaf.
fn columns_of_field(join: &GroupedJoin, field: FieldId) -> Option<LeafColumns> {
    let mut columns: LeafColumns = (0..join.leaves.len()).map(|leaf| column_of_leaf(join, field, leaf)).collect();
    loop {
        let before = columns.clone();
        for outer in &join.outers {
            let (kept, padded) = (columns[outer.kept], columns[outer.padded]);
            let share_key = kept.zip(padded).is_some_and(|keys| outer.keys.contains(&keys));
            if !share_key {
                columns[outer.padded] = None;
                if outer.full {
                    columns[outer.kept] = None;
                }
            }
        }
        if columns == before {
            break;
        }
    }
    let divided = || (0..columns.len()).filter_map(|leaf| Some((leaf, columns[leaf]?)));
    let mut types = divided().map(|(leaf, column)| &join.leaves[leaf].columns[column].ty);
    let ty = types.next()?;
    let is_hashable = !ty.is_floating() && !ty.is_nested() && !matches!(ty, DataType::Null);
    let has_rows = divided().any(|(leaf, _)| join.leaves[leaf].role == LeafRole::Join);
    (is_hashable && types.all(|other| other == ty) && has_rows).then_some(columns)
}

/// Returns the first column of a field in a leaf that reads an input. Rows with equal values of the
/// field have equal values of this column.
fn column_of_leaf(join: &GroupedJoin, field: FieldId, leaf: LeafId) -> Option<usize> {
    join.input(leaf)?;
    let mut occurrences = join.fields[field].columns.iter().filter_map(|tuple| tuple.first());
    occurrences.find(|column| column.leaf == leaf).map(|column| column.column)
}

/// Returns the numbers of parts of the fields, with a product of at most `cells`, for which a cell
/// reads the fewest rows: the sum over the leaves of the number of rows divided by the parts of the
/// leaf's fields. All numbers are tried.
fn best_parts(fields: &[(FieldId, LeafColumns)], sizes: &[f64], cells: usize) -> Vec<usize> {
    fn search(
        fields: &[(FieldId, LeafColumns)],
        (rows, cells): (&[f64], usize),
        parts: &mut Vec<usize>,
        best: &mut (f64, Vec<usize>),
    ) {
        let Some(((_, columns), rest)) = fields.split_first() else {
            let total = rows.iter().sum();
            if total < best.0 {
                *best = (total, parts.clone());
            }
            return;
        };
        for count in 1..=cells {
            let divide =
                |(rows, column): (&f64, &Option<usize>)| if column.is_some() { rows / count as f64 } else { *rows };
            let divided: Vec<f64> = rows.iter().zip(columns).map(divide).collect();
            parts.push(count);
            search(rest, (&divided, cells / count), parts, best);
            parts.pop();
        }
    }
    let mut best = (f64::INFINITY, vec![1; fields.len()]);
    search(fields, (sizes, cells), &mut Vec::new(), &mut best);
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a triangle query over equal tables, the parts of the three fields are equal. A table that
    /// is much larger than the others is divided most.
    #[test]
    fn parts_balance_the_rows_of_cells() {
        let triangle =
            [(0, vec![Some(0), None, Some(0)]), (1, vec![Some(1), Some(0), None]), (2, vec![None, Some(1), Some(1)])];
        assert_eq!(best_parts(&triangle, &[1e6; 3], 64), [4, 4, 4]);
        assert_eq!(best_parts(&triangle, &[1e6; 3], 1000), [10, 10, 10]);
        assert_eq!(best_parts(&triangle, &[1e6; 3], 1), [1, 1, 1]);
        let parts = best_parts(&triangle, &[1e9, 1.0, 1.0], 64);
        assert_eq!((parts[0] * parts[1], parts[2]), (64, 1));
    }
}
