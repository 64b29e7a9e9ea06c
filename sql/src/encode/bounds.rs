//! How many rows a join can have at most, from what its leaves are found to be.

use super::Encoded;
use super::domain::MISSING;
use crate::claim::{FieldId, LeafId, Region, Role};
use crate::error::Result;
use std::collections::HashMap;

impl Encoded {
    /// How many rows the join has at most: those of one leaf, times, for each leaf more, how many of its rows have the same
    /// values in the fields that those before have. Of all leaves to begin with the best is taken.
    ///
    /// # Errors
    /// When a tensor cannot be read.
    pub fn most_rows(&self, region: &Region) -> Result<u128> {
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
                let mut counts: HashMap<Vec<u64>, u64> = HashMap::new();
                for row in 0..rows.len() {
                    let codes: Vec<u64> = codes.iter().map(|codes| codes[row]).collect();
                    if !codes.contains(&MISSING) {
                        *counts.entry(codes).or_default() += 1;
                    }
                }
                counts.into_values().max().unwrap_or(0)
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
