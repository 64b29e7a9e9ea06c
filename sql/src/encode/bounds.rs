//! How many rows a join can have at most, from what its leaves are found to be.

use super::Encoded;
use super::domain::MISSING;
use crate::claim::{FieldId, LeafId, Region, Role};
use crate::error::Result;
use datafusion::common::HashMap;

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
    /// values in the fields that those before have. Of all leaves to begin with the best is taken.
    ///
    /// # Errors
    /// When a tensor cannot be read.
    fn bound_rows(&self, region: &Region) -> Result<u128> {
        let leaves: Vec<LeafId> =
            (0..region.leaves.len()).filter(|&leaf| region.leaves[leaf].role == Role::Joins).collect();
        let mut known = HashMap::new();
        let mut most = u128::MAX;
        for &start in &leaves {
            let mut rows = u128::from(self.repeats(region, start, &[], &mut known)?);
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
            (None, Some((table, _))) => table.tensor()?.count_stored(),
            (None, None) => 0,
        };
        known.insert(key, repeats);
        Ok(repeats)
    }
}

/// How many rows have the same codes at most; rows without one are none.
fn most_alike(codes: &[&[u64]], shape: &[u64]) -> u64 {
    let rows = codes.first().map_or(0, |list| list.len());
    let Some(places) = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d)) else {
        // No bound that is not counted is better than all rows.
        return rows as u64;
    };
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
    if places <= DENSE.max(4 * rows as u64) {
        let mut counts = vec![0u32; places as usize];
        (0..rows).filter_map(place).for_each(|place| counts[place as usize] += 1);
        return counts.into_iter().max().unwrap_or(0).into();
    }
    let mut counts: HashMap<u64, u32> = HashMap::with_capacity(rows);
    (0..rows).filter_map(place).for_each(|place| *counts.entry(place).or_default() += 1);
    counts.into_values().max().unwrap_or(0).into()
}

/// So many counts are cheap whatever the number of rows.
const DENSE: u64 = 1 << 16;
