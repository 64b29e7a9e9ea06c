//! How many rows a join can have at most, from what its leaves are found to be.

use super::Encoded;
use super::domain::MISSING;
use crate::claim::{FieldId, LeafId, Region, Role};
use crate::error::Result;
use datafusion::common::HashMap;
use std::cmp::Reverse;

impl Encoded {
    /// How many rows the join has at most, computed once.
    ///
    /// # Errors
    /// When a tensor cannot be read.
    pub fn most_rows(&self, region: &Region) -> Result<u128> {
        if let Some(rows) = self.most_rows.get() {
            return Ok(*rows);
        }
        let rows = self.bound_rows(region)?;
        Ok(*self.most_rows.get_or_init(|| rows))
    }

    /// How many rows the join has at most: those of one leaf, times, for each leaf more, how many of its rows have the same
    /// values in the fields that those before have. Of all leaves to begin with the best is taken, the longest first: where
    /// others are looked up in them by their keys, the join has no more rows than the longest, and the keys of that one need
    /// not be counted.
    ///
    /// # Errors
    /// When a tensor cannot be read.
    fn bound_rows(&self, region: &Region) -> Result<u128> {
        let joins = (0..region.leaves.len()).filter(|&leaf| region.leaves[leaf].role == Role::Joins);
        let mut known = HashMap::new();
        let rows = joins.map(|leaf| Ok((self.repeats(region, leaf, &[], &mut known)?, leaf)));
        let mut rows = rows.collect::<Result<Vec<(u64, LeafId)>>>()?;
        rows.sort_unstable_by_key(|&(rows, leaf)| (Reverse(rows), leaf));
        let leaves: Vec<LeafId> = rows.iter().map(|&(_, leaf)| leaf).collect();
        let longest = rows.first().map_or(0, |&(rows, _)| u128::from(rows));
        let mut most = u128::MAX;
        for (rows, start) in rows {
            if most <= longest {
                break;
            }
            let mut rows = u128::from(rows);
            let mut met: Vec<FieldId> = region.fields_of(start).collect();
            let mut rest: Vec<LeafId> = leaves.iter().copied().filter(|&leaf| leaf != start).collect();
            while !rest.is_empty() {
                let mut next: Option<(u64, usize)> = None;
                for (k, &leaf) in rest.iter().enumerate() {
                    let shared: Vec<FieldId> = region.fields_of(leaf).filter(|f| met.contains(f)).collect();
                    let repeats = self.repeats(region, leaf, &shared, &mut known)?;
                    next = next.into_iter().chain([(repeats, k)]).min();
                }
                let Some((repeats, k)) = next else { break };
                rows = rows.saturating_mul(u128::from(repeats));
                met.extend(region.fields_of(rest.swap_remove(k)));
            }
            most = most.min(rows);
        }
        Ok(most)
    }

    /// How many rows of a leaf have the same values in some fields at most.
    fn repeats(
        &self,
        region: &Region,
        leaf: LeafId,
        fields: &[FieldId],
        known: &mut HashMap<(LeafId, Vec<FieldId>), u64>,
    ) -> Result<u64> {
        let key = (leaf, fields.to_vec());
        if let Some(repeats) = known.get(&key) {
            return Ok(*repeats);
        }
        let repeats = match (self.rows(leaf), region.tensor(leaf)) {
            (Some(rows), _) if fields.is_empty() => rows.len() as u64,
            (Some(rows), _) => {
                let codes: Vec<&[u64]> = fields.iter().map(|&field| rows.codes(field)).collect();
                let shape: Vec<u64> = fields.iter().map(|&field| self.domain(region, field).size()).collect();
                most_alike(&codes, &shape)
            }
            // A place has one entry.
            (None, Some((table, _))) if fields.len() == table.shape().len() => 1,
            (None, Some((table, _))) => table.tensor()?.count_stored()?,
            (None, None) => 0,
        };
        known.insert(key, repeats);
        Ok(repeats)
    }
}

/// How many rows have the same codes at most, or a bound of that; rows without one are none.
fn most_alike(codes: &[&[u64]], shape: &[u64]) -> u64 {
    most_counted(codes, shape).unwrap_or_else(|| match codes {
        [codes] => most_repeated(codes),
        // Rows that are alike in all fields are alike in each, which takes no table of tuples to find.
        _ => codes.iter().zip(shape).map(|(codes, size)| most_alike(&[*codes], &[*size])).min().unwrap_or(0),
    })
}

/// How many rows have the same codes at most, by a count for each place; `None` where there are far more places than rows.
fn most_counted(codes: &[&[u64]], shape: &[u64]) -> Option<u64> {
    let rows = codes.first().map_or(0, |list| list.len());
    let places = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d))?;
    if places > DENSE.max(SPREAD * rows as u64) {
        return None;
    }
    let place = |row: usize| {
        let mut place = 0;
        for (list, size) in codes.iter().zip(shape) {
            if list[row] == MISSING {
                return None;
            }
            place = place * size + list[row];
        }
        Some(place)
    };
    let mut counts = vec![0u32; places as usize];
    (0..rows).filter_map(place).for_each(|place| counts[place as usize] += 1);
    Some(counts.into_iter().max().unwrap_or(0).into())
}

/// How many rows have the same code at most.
fn most_repeated(codes: &[u64]) -> u64 {
    let mut counts: HashMap<u64, u64> = HashMap::with_capacity(codes.len());
    codes.iter().filter(|&&code| code != MISSING).for_each(|&code| *counts.entry(code).or_default() += 1);
    counts.into_values().max().unwrap_or(0)
}

/// So many counts are cheap whatever the number of rows.
const DENSE: u64 = 1 << 16;

/// So many counts a row are.
const SPREAD: u64 = 4;
