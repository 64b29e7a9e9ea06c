//! An upper bound of the number of rows of a join, computed from the number of rows with equal keys
//! in each leaf.

use super::EncodedJoin;
use super::domain::MISSING;
use crate::claim::{FieldId, GroupedJoin, LeafId, LeafRole};
use crate::error::Result;
use datafusion::common::HashMap;
use std::cmp::Reverse;

impl EncodedJoin {
    /// Returns an upper bound of the number of rows of the join, which is computed once.
    ///
    /// # Errors
    /// If a tensor cannot be read.
    pub fn max_rows(&self, join: &GroupedJoin) -> Result<u128> {
        if let Some(rows) = self.max_rows.get() {
            return Ok(*rows);
        }
        let rows = self.compute_max_rows(join)?;
        Ok(*self.max_rows.get_or_init(|| rows))
    }

    /// Computes the bound: the number of rows of a starting leaf, times a factor for each further
    /// leaf. The factor of a leaf is the largest number of its rows that have equal values in all
    /// fields that the leaf shares with earlier leaves. Leaves of semi-joins and anti-joins are
    /// ignored, because they add no rows.
    ///
    /// Each leaf in turn is the starting leaf, the longest first, until the least bound is at most
    /// the number of rows of the longest leaf. If the keys of all other leaves are unique, the
    /// longest leaf gives such a bound, so the keys of the longest leaf are not counted.
    ///
    /// # Errors
    /// If a tensor cannot be read.
    fn compute_max_rows(&self, join: &GroupedJoin) -> Result<u128> {
        let joins = (0..join.leaves.len()).filter(|&leaf| join.leaves[leaf].role == LeafRole::Join);
        let mut cache = HashMap::new();
        let rows = joins.map(|leaf| Ok((self.repeats(join, leaf, &[], &mut cache)?, leaf)));
        let mut rows = rows.collect::<Result<Vec<(u64, LeafId)>>>()?;
        rows.sort_unstable_by_key(|&(rows, leaf)| (Reverse(rows), leaf));
        let leaves: Vec<LeafId> = rows.iter().map(|&(_, leaf)| leaf).collect();
        let longest = rows.first().map_or(0, |&(rows, _)| u128::from(rows));
        let mut max_rows = u128::MAX;
        for (rows, start) in rows {
            if max_rows <= longest {
                break;
            }
            let mut rows = u128::from(rows);
            let mut bound_fields: Vec<FieldId> = join.fields_of(start).collect();
            let mut rest: Vec<LeafId> = leaves.iter().copied().filter(|&leaf| leaf != start).collect();
            while !rest.is_empty() {
                let mut next: Option<(u64, usize)> = None;
                for (k, &leaf) in rest.iter().enumerate() {
                    let shared: Vec<FieldId> = join.fields_of(leaf).filter(|f| bound_fields.contains(f)).collect();
                    let repeats = self.repeats(join, leaf, &shared, &mut cache)?;
                    next = next.into_iter().chain([(repeats, k)]).min();
                }
                let Some((repeats, k)) = next else { break };
                rows = rows.saturating_mul(u128::from(repeats));
                bound_fields.extend(join.fields_of(rest.swap_remove(k)));
            }
            max_rows = max_rows.min(rows);
        }
        Ok(max_rows)
    }

    /// Returns the largest number of rows of a leaf with equal values in `fields`, or an upper
    /// bound of this number.
    fn repeats(
        &self,
        join: &GroupedJoin,
        leaf: LeafId,
        fields: &[FieldId],
        cache: &mut HashMap<(LeafId, Vec<FieldId>), u64>,
    ) -> Result<u64> {
        let key = (leaf, fields.to_vec());
        if let Some(repeats) = cache.get(&key) {
            return Ok(*repeats);
        }
        let repeats = match (self.rows(leaf), join.tensor(leaf)) {
            (Some(rows), _) if fields.is_empty() => rows.len() as u64,
            (Some(rows), _) => {
                let codes: Vec<&[u64]> = fields.iter().map(|&field| rows.codes(field)).collect();
                let shape: Vec<u64> = fields.iter().map(|&field| self.domain(join, field).size()).collect();
                max_equal_rows(&codes, &shape)
            }
            // A coordinate has at most one entry.
            (None, Some((table, _))) if fields.len() == table.shape().len() => 1,
            (None, Some((table, _))) => table.tensor()?.count_stored()?,
            (None, None) => 0,
        };
        cache.insert(key, repeats);
        Ok(repeats)
    }
}

/// Returns the largest number of rows with equal codes, or an upper bound of this number. Rows with
/// a missing code do not count.
fn max_equal_rows(codes: &[&[u64]], shape: &[u64]) -> u64 {
    max_equal_rows_dense(codes, shape).unwrap_or_else(|| match codes {
        [codes] => max_equal_codes(codes),
        // Rows with equal codes in all fields have equal codes in each field, so the least count of
        // a single field is a bound.
        _ => codes.iter().zip(shape).map(|(codes, size)| max_equal_rows(&[*codes], &[*size])).min().unwrap_or(0),
    })
}

/// Counts the rows of each combination of codes, and returns the largest count. Returns `None` if
/// the counters would not be cheap: there are far more combinations than rows, and more than
/// [`CHEAP_COUNTERS`].
fn max_equal_rows_dense(codes: &[&[u64]], shape: &[u64]) -> Option<u64> {
    let rows = codes.first().map_or(0, |list| list.len());
    let counters = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d))?;
    if counters > CHEAP_COUNTERS.max(COUNTERS_PER_ROW * rows as u64) {
        return None;
    }
    let index = |row: usize| {
        let mut index = 0;
        for (list, size) in codes.iter().zip(shape) {
            if list[row] == MISSING {
                return None;
            }
            index = index * size + list[row];
        }
        Some(index)
    };
    let mut counts = vec![0u32; counters as usize];
    (0..rows).filter_map(index).for_each(|index| counts[index as usize] += 1);
    Some(counts.into_iter().max().unwrap_or(0).into())
}

/// Returns the largest number of rows with the same code.
fn max_equal_codes(codes: &[u64]) -> u64 {
    let mut counts: HashMap<u64, u64> = HashMap::with_capacity(codes.len());
    codes.iter().filter(|&&code| code != MISSING).for_each(|&code| *counts.entry(code).or_default() += 1);
    counts.into_values().max().unwrap_or(0)
}

/// The largest number of counters that is cheap for any number of rows.
const CHEAP_COUNTERS: u64 = 1 << 16;

/// The largest number of counters per row that is cheap.
const COUNTERS_PER_ROW: u64 = 4;
