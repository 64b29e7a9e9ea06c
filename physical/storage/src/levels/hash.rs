//! Hash levels: stored coordinates in a hash table, sorted when frozen. Writes may come in any
//! order.
//!
//! An entry is a stored pair (parent position, coordinate). Entries are numbered in the order of
//! their insertion. This number is the position of the entry, so that a write never moves the data
//! of the next level. The arrays, for `m` entries:
//!
//! | array | elements | contents |
//! |---|---|---|
//! | `ptr` | parents + 1 | the fiber below `p` has the sorted entries `ptr[p]..ptr[p + 1]`; `ptr[0]` is 0, the last element is `m` |
//! | `idx` | m | `idx[k]` is the coordinate of entry `k` in the order of (parent position, coordinate) |
//! | `pos` | m | `pos[k]` is the number of the same entry |
//! | `table` | 0 or a power of two, at least 2m | each slot has 0, or the number of an entry plus 1 |
//! | `parent` | m | `parent[e]` is the parent position of the entry with number `e` |
//! | `coordinate` | m | `coordinate[e]` is the coordinate of the entry with number `e` |
//!
//! The table is probed linearly. The search for (p, i) starts at [`hash_slot`] and moves to the
//! next slot, cyclically. The search ends at an entry `e` with `parent[e] = p` and
//! `coordinate[e] = i`, or at a 0, where a new entry is inserted. An empty table has no slot to
//! probe. A table that would become more than half full is rebuilt with twice the slots, or with a
//! minimum number if it is empty. Writing maintains `table`, `parent` and `coordinate`; freezing
//! derives `ptr`, `idx` and `pos` from them. Readers walk `idx[ptr[p]..ptr[p + 1]]` together with
//! `pos`, or look coordinates up in the table.

use super::shared::list::{all_entries, build_list, check_len, check_list};
use super::{ArrayClass, ArraySpec, Fibers, Level, LevelData, array_prim};
use crate::{Array, Error, filled_vec};
use redpoll_logic::LevelFormat;
use std::ops::Range;

/// The hash level kind.
pub struct Hash;

impl Hash {
    /// The factor of the parent position in [`hash_slot`].
    pub const PARENT_FACTOR: i64 = 0xC2B2_AE3D_27D4_EB4F_u64 as i64;
    /// The factor of the sum in [`hash_slot`]: 2^64 divided by the golden ratio.
    pub const FACTOR: i64 = 0x9E37_79B9_7F4A_7C15_u64 as i64;
    /// The number of bits that [`hash_slot`] shifts out: the low bits depend only on the low bits
    /// of the key.
    pub const SHIFT: i64 = 32;
}

/// Returns the slot where the search for coordinate `i` below position `p` starts, in a table of
/// `len` slots, a power of two: `(((p * PARENT_FACTOR + i) * FACTOR) >> SHIFT) & (len - 1)`, in
/// wrapping `i64` arithmetic.
#[inline]
pub fn hash_slot(p: i64, i: i64, len: i64) -> i64 {
    let sum = p.wrapping_mul(Hash::PARENT_FACTOR).wrapping_add(i);
    (sum.wrapping_mul(Hash::FACTOR) >> Hash::SHIFT) & (len - 1)
}

/// Returns the smallest number of slots for `entries` entries.
pub fn table_len(entries: u64) -> u64 {
    if entries == 0 { 0 } else { (2 * entries).next_power_of_two() }
}

impl Level for Hash {
    fn arrays(&self) -> &'static [ArraySpec] {
        &[
            ArraySpec { name: "ptr", class: ArrayClass::Position },
            ArraySpec { name: "idx", class: ArrayClass::Coordinate },
            ArraySpec { name: "pos", class: ArrayClass::Position },
            ArraySpec { name: "table", class: ArrayClass::Position },
            ArraySpec { name: "parent", class: ArrayClass::Position },
            ArraySpec { name: "coordinate", class: ArrayClass::Coordinate },
        ]
    }

    fn validate(&self, data: LevelData<'_>, parents: &Fibers) -> Result<Fibers, String> {
        let entries = check_list(data, parents.positions(), None)?;
        let [ptr, idx, pos, table, parent, coordinate] = [0, 1, 2, 3, 4, 5].map(|k| data.arrays[k].indices());
        if ptr.get(0) != 0 {
            return Err(format!("ptr[0] must be 0, found {}", ptr.get(0)));
        }
        for (name, array) in [("idx", idx), ("pos", pos), ("parent", parent), ("coordinate", coordinate)] {
            check_len(name, array.len(), entries)?;
        }
        for p in 0..parents.positions() {
            for k in ptr.get(p)..ptr.get(p + 1) {
                let e = pos.get(k);
                if e >= entries || (parent.get(e), coordinate.get(e)) != (p, idx.get(k)) {
                    let (e, i) = (e as i64, idx.get(k));
                    return Err(format!("pos[{k}] = {e} is not the entry of coordinate {i} below position {p}"));
                }
            }
        }
        let len = table.len();
        if len < table_len(entries) || len > 0 && !len.is_power_of_two() {
            return Err(format!(
                "table must have a power of two of slots, at least {}, found {len}",
                table_len(entries)
            ));
        }
        check_len("the nonzero part of table", (0..len).filter(|&s| table.get(s) != 0).count() as u64, entries)?;
        for e in 0..entries {
            let key = (parent.get(e), coordinate.get(e));
            if probe(data, key) != Some(e) {
                return Err(format!("entry {e}, coordinate {} below position {}, is not in the table", key.1, key.0));
            }
        }
        Ok(Fibers::single(entries))
    }

    fn build(
        &self,
        format: LevelFormat,
        dimension: u64,
        parents: u64,
        coordinates: &[u64],
        positions: &mut [u64],
    ) -> Result<(Vec<Array>, u64), Error> {
        let above = positions.to_vec();
        let list = build_list(format, dimension, parents, coordinates, positions)?;
        let m = list.entries;
        let len = table_len(m);
        let mut table = filled_vec(0u64, len)?;
        let firsts: Vec<usize> = (0..above.len()).filter(|&k| k == 0 || positions[k] != positions[k - 1]).collect();
        for (e, &k) in firsts.iter().enumerate() {
            let mut slot = hash_slot(above[k] as i64, coordinates[k] as i64, len as i64) as usize;
            while table[slot] != 0 {
                slot = (slot + 1) & (len as usize - 1);
            }
            table[slot] = e as u64 + 1;
        }
        let prim = array_prim(ArrayClass::Position, dimension, m.max(parents));
        let arrays = vec![
            list.ptr,
            list.idx.clone(),
            Array::from_indices(prim, 0..m),
            Array::from_indices(prim, table.into_iter()),
            Array::from_indices(prim, firsts.iter().map(|&k| above[k])),
            list.idx,
        ];
        Ok((arrays, m))
    }

    fn entries(&self, data: LevelData<'_>, _: u64) -> Range<u64> {
        all_entries(data)
    }

    fn for_each(&self, data: LevelData<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>)) {
        let [ptr, idx, pos] = [0, 1, 2].map(|k| data.arrays[k].indices());
        for k in ptr.get(fiber.start)..ptr.get(fiber.end) {
            let e = pos.get(k);
            visit(idx.get(k), e..e + 1);
        }
    }

    fn locate(&self, data: LevelData<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>> {
        probe(data, (fiber.start, coordinate)).map(|e| e..e + 1)
    }
}

/// Returns the number of the entry with this parent position and coordinate; `None` if there is no
/// such entry. The search also terminates in a full table.
fn probe(data: LevelData<'_>, key: (u64, u64)) -> Option<u64> {
    let [table, parent, coordinate] = [3, 4, 5].map(|k| data.arrays[k].indices());
    let len = table.len();
    let start = hash_slot(key.0 as i64, key.1 as i64, len as i64) as u64;
    for step in 0..len {
        let e = table.get((start + step) & (len - 1)).checked_sub(1)?;
        if e < parent.len() && (parent.get(e), coordinate.get(e)) == key {
            return Some(e);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generated code probes tables, so the slots are part of the layout.
    #[test]
    fn slots_are_fixed() {
        let slots = [(0, 0, 8), (0, 1, 8), (1, 0, 8), (3, 1 << 40, 1 << 20), (1 << 40, 12345, 1 << 33)];
        let found = slots.map(|(p, i, len)| hash_slot(p, i, len));
        assert_eq!(found, [0, 1, 6, 289_291, 8_199_757_099]);
    }
}
