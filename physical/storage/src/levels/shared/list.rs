//! Lists of coordinates (`ptr` and `idx`), shared by sparse lists, hash levels and byte maps. Also
//! has checks and searches that other kinds use.

use super::blocks::check_offsets;
use crate::levels::{ArrayClass, Fibers, LevelData, array_prim};
use crate::{Array, Error, Indices, filled_vec};
use redpoll_logic::{LevelFormat, plural};
use std::ops::Range;

/// The arrays `ptr` and `idx`, and the number of entries.
pub(crate) struct ListArrays {
    pub(crate) ptr: Array,
    pub(crate) idx: Array,
    pub(crate) entries: u64,
}

/// Builds the lists from entries that are sorted by parent position and coordinate. Equal entries
/// are merged if the level is unique. Replaces each parent position in `positions` with the own
/// position of the entry.
pub(crate) fn build_list(
    format: LevelFormat,
    dimension: u64,
    parents: u64,
    coordinates: &[u64],
    positions: &mut [u64],
) -> Result<ListArrays, Error> {
    let mut ptr = filled_vec(0u64, parents + 1)?;
    let mut entries = 0;
    let mut last = None;
    for (p, &i) in positions.iter_mut().zip(coordinates) {
        if !format.unique || last != Some((*p, i)) {
            last = Some((*p, i));
            ptr[*p as usize + 1] += 1;
            entries += 1;
        }
        *p = entries - 1;
    }
    let prim = array_prim(ArrayClass::Coordinate, dimension, entries);
    let idx = if entries == positions.len() as u64 {
        Array::from_indices(prim, coordinates.iter().copied())
    } else {
        let firsts = (0..positions.len()).filter(|&k| k == 0 || positions[k] != positions[k - 1]);
        Array::from_indices(prim, firsts.map(|k| coordinates[k]))
    };
    let mut sum = 0;
    let sums = ptr.iter().map(|&n| {
        sum += n;
        sum
    });
    let ptr = Array::from_indices(array_prim(ArrayClass::Position, dimension, entries), sums);
    Ok(ListArrays { ptr, idx, entries })
}

/// Returns the entries of all fibers: from the first to the last element of `ptr`.
pub(crate) fn all_entries(data: LevelData<'_>) -> Range<u64> {
    let ptr = data.arrays[0].indices();
    match ptr.len() {
        0 => 0..0,
        len => ptr.get(0)..ptr.get(len - 1),
    }
}

/// Checks `ptr` and `idx`, and returns the end of the last fiber in `idx`. Appends the runs of
/// equal coordinates to `runs`, which the caller passes if the level is not unique.
pub(crate) fn check_list(data: LevelData<'_>, parents: u64, runs: Option<&mut Vec<Range<u64>>>) -> Result<u64, String> {
    let (ptr, idx) = (data.arrays[0].indices(), data.arrays[1].indices());
    let end = check_ptr(ptr, parents, ("coordinates of idx", idx.len()))?;
    let mut runs = runs;
    for p in 0..parents {
        check_fiber(data, idx, ptr.get(p)..ptr.get(p + 1), runs.as_deref_mut())?;
    }
    Ok(end)
}

/// Checks `ptr` against an array of `len` elements, called `elements` in messages, and returns the
/// end of the last fiber.
pub(crate) fn check_ptr(ptr: Indices<'_>, parents: u64, (elements, len): (&str, u64)) -> Result<u64, String> {
    check_len("ptr", ptr.len(), parents.checked_add(1).ok_or("too many parent positions")?)?;
    let end = check_offsets("ptr", ptr, parents)?;
    if end > len {
        return Err(format!("ptr ends at {end}, beyond the {len} {elements}"));
    }
    Ok(end)
}

/// Checks the coordinates of one fiber against the dimension and the flags of the level. Appends
/// the runs of equal coordinates to `runs`.
pub(crate) fn check_fiber(
    data: LevelData<'_>,
    idx: Indices<'_>,
    fiber: Range<u64>,
    runs: Option<&mut Vec<Range<u64>>>,
) -> Result<(), String> {
    let LevelData { format, dimension, .. } = data;
    let mut last = None;
    for k in fiber.clone() {
        let i = idx.get(k);
        if i >= dimension {
            return Err(format!("idx[{k}] = {i} is out of range, the dimension is {dimension}"));
        }
        match last {
            Some(l) if format.ordered && l > i => {
                return Err(format!("idx must ascend in each fiber, but idx[{}] = {l} and idx[{k}] = {i}", k - 1));
            }
            Some(l) if format.unique && l == i => return Err(repeated_coordinate(i, k)),
            _ => last = Some(i),
        }
    }
    if format.unique && !format.ordered {
        let mut sorted: Vec<(u64, u64)> = fiber.clone().map(|k| (idx.get(k), k)).collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(repeated_coordinate(pair[1].0, pair[1].1));
        }
    }
    if let Some(runs) = runs {
        visit_runs(idx, fiber, &mut |_, run| runs.push(run));
    }
    Ok(())
}

fn repeated_coordinate(coordinate: u64, k: u64) -> String {
    format!("idx[{k}] = {coordinate} repeats a coordinate of its fiber, but the level is unique")
}

/// Checks that an array has exactly `expected` elements.
pub(crate) fn check_len(name: &str, found: u64, expected: u64) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{name} must have {expected} {}, found {found}", plural(expected, "element", "elements")))
}

/// Checks that an array has at least `positions` elements, one for each position.
pub(crate) fn check_has_positions(name: &str, found: u64, positions: u64) -> Result<(), String> {
    if found >= positions {
        return Ok(());
    }
    let elements = plural(positions, "element", "elements");
    Err(format!("{name} must have {positions} {elements}, one for each position, found {found}"))
}

/// Returns the fibers that a level passes to the next level: one fiber for each position if the
/// level is unique, otherwise one for each run of equal coordinates.
pub(crate) fn child_fibers(format: LevelFormat, positions: u64, runs: Vec<Range<u64>>) -> Fibers {
    if format.unique { Fibers::single(positions) } else { Fibers::runs(positions, runs) }
}

/// Calls `visit(coordinate, positions)` for each run of equal coordinates in `idx[fiber]`.
pub(crate) fn visit_runs(idx: Indices<'_>, fiber: Range<u64>, visit: &mut dyn FnMut(u64, Range<u64>)) {
    let mut lo = fiber.start;
    while lo < fiber.end {
        let i = idx.get(lo);
        let mut hi = lo + 1;
        while hi < fiber.end && idx.get(hi) == i {
            hi += 1;
        }
        visit(i, lo..hi);
        lo = hi;
    }
}

/// Adds 1 to the count of each coordinate in `idx[fiber]`, and returns the length of `fiber`.
pub(crate) fn tally(idx: Indices<'_>, fiber: Range<u64>, counts: &mut [u32]) -> u64 {
    let mut count = |i: usize| counts[i] = counts[i].saturating_add(1);
    let (start, end) = (fiber.start as usize, fiber.end as usize);
    match idx {
        Indices::U32(idx) => idx[start..end].iter().for_each(|i| count(*i as usize)),
        _ => fiber.clone().for_each(|k| count(idx.get(k) as usize)),
    }
    fiber.end - fiber.start
}

/// Returns the first run of `coordinate` in `idx[fiber]`; `None` if the coordinate is not there.
/// With `ordered`, the coordinates must ascend.
pub(crate) fn find_run(ordered: bool, idx: Indices<'_>, fiber: Range<u64>, coordinate: u64) -> Option<Range<u64>> {
    let start = if ordered {
        lower_bound(fiber.clone(), |k| idx.get(k) < coordinate)
    } else {
        fiber.clone().find(|&k| idx.get(k) == coordinate)?
    };
    let run = (start..fiber.end).take_while(|&k| idx.get(k) == coordinate).count() as u64;
    (run > 0).then(|| start..start + run)
}

/// Returns the first number of `range` for which `below` is false, or the end of the range. `below`
/// must be true for all earlier numbers, and false for all later ones.
pub fn lower_bound(range: Range<u64>, below: impl Fn(u64) -> bool) -> u64 {
    let Range { start: mut lo, end: mut hi } = range;
    while lo < hi {
        let mid = lo + (hi - lo) / 2;
        if below(mid) { lo = mid + 1 } else { hi = mid }
    }
    lo
}
