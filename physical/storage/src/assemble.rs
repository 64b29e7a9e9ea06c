//! The construction of a tensor's arrays from sorted entries.

use super::Tensor;
use super::array::{Array, filled_vec, match_width, prim_bits};
use super::summary::FillTest;
use super::values::{Values, gather};
use crate::Error;
use crate::levels::{CoordinateRun, RunLevel, level};
use redpoll_logic::{LeafKind, TensorType};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Entries of a tensor in storage order, with distinct coordinates.
pub(crate) struct SortedEntries<'a> {
    /// The storage coordinates, one list for each level.
    pub(crate) columns: Vec<Cow<'a, [u64]>>,
    /// The number of entries.
    pub(crate) len: usize,
    /// The index of each entry's value in `values`; `None` if the values are in storage order, too.
    pub(crate) order: Option<Cow<'a, [u64]>>,
    /// The values.
    pub(crate) values: Cow<'a, Values>,
}

/// Builds the arrays level by level, then stores each value at its leaf position; other positions
/// have the fill value. A pattern leaf stores no values.
pub(crate) fn assemble(ty: Arc<TensorType>, mut entries: SortedEntries<'_>) -> Result<Tensor, Error> {
    let LevelArrays { arrays, positions, len } = assemble_levels(&ty, &mut entries)?;
    let leaf = match ty.format.leaf {
        LeafKind::Pattern => Vec::new(),
        LeafKind::Element => scatter_values(&ty, &entries, &positions, len)?,
    };
    Ok(Tensor::new_unchecked(ty, arrays, leaf))
}

/// The levels of a tensor without its leaf.
pub(super) struct LevelArrays {
    /// The arrays of each level.
    pub(super) arrays: Vec<Vec<Array>>,
    /// The leaf position of each entry.
    pub(super) positions: Vec<u64>,
    /// The number of leaf positions.
    pub(super) len: u64,
}

/// Builds the arrays level by level. Drops the entries of each run except the entries at the first
/// coordinate of the run. If a format with runs has a full last level, also drops the entries with
/// the fill value.
pub(super) fn assemble_levels(ty: &TensorType, entries: &mut SortedEntries<'_>) -> Result<LevelArrays, Error> {
    let has_runs = ty.format.levels.iter().any(|l| l.kind.traits().runs);
    let lists_entries = ty.format.levels.last().is_some_and(|l| !l.kind.traits().full);
    if has_runs && !lists_entries {
        entries.drop_fills(ty);
    }
    let mut positions = filled_vec(0u64, entries.len as u64)?;
    let mut parents = 1;
    let mut levels = Vec::with_capacity(entries.columns.len());
    while levels.len() < ty.format.levels.len() {
        let k = levels.len();
        let group = group_at(ty, k);
        if let Some(kind) = level(ty.format.levels[k].kind).as_runs() {
            let (arrays, own) = build_runs(ty, kind, (k, parents), entries, &mut positions)?;
            levels.push(arrays);
            parents = own;
            continue;
        }
        if ty.format.levels[k].kind.traits().single {
            check_single(ty, k, entries, &positions)?;
        }
        let columns = &entries.columns[group.clone()];
        parents = build_group(ty, group, parents, columns, &mut positions, &mut levels)?;
    }
    Ok(LevelArrays { arrays: levels, positions, len: parents })
}

/// Builds the levels of a group (see [`group_at`]) below `parents` positions from the coordinates
/// of sorted entries. In `positions`, replaces the parent position of each entry with its position
/// in the last level of the group. Appends the arrays to `levels`, and returns the number of
/// positions of that last level.
pub(super) fn build_group(
    ty: &TensorType,
    group: Range<usize>,
    mut parents: u64,
    columns: &[Cow<'_, [u64]>],
    positions: &mut [u64],
    levels: &mut Vec<Vec<Array>>,
) -> Result<u64, Error> {
    let dimensions = ty.format.storage_shape(&ty.shape);
    let mut build = |columns: &[Cow<'_, [u64]>], positions: &mut [u64]| {
        for (k, column) in group.clone().zip(columns) {
            let format = ty.format.levels[k];
            let (arrays, own) = level(format.kind).build(format, dimensions[k], parents, column, positions)?;
            levels.push(arrays);
            parents = own;
        }
        Ok::<(), Error>(())
    };
    if group.len() == 1 || group.end == ty.format.levels.len() {
        build(columns, positions)?;
        return Ok(parents);
    }
    let same = |k: usize| positions[k - 1] == positions[k] && columns.iter().all(|c| c[k - 1] == c[k]);
    let starts: Vec<usize> = (0..positions.len()).filter(|&k| k == 0 || !same(k)).collect();
    let first: Vec<Cow<'_, [u64]>> = columns.iter().map(|c| starts.iter().map(|&k| c[k]).collect()).collect();
    let mut group_positions: Vec<u64> = starts.iter().map(|&k| positions[k]).collect();
    build(&first, &mut group_positions)?;
    let ends = starts.iter().skip(1).copied().chain([positions.len()]);
    starts.iter().zip(ends).zip(group_positions).for_each(|((&lo, hi), p)| positions[lo..hi].fill(p));
    Ok(parents)
}

/// Returns the group of levels from level `k` up to the first unique level. Only the coordinates of
/// the whole group identify a position, since a level that is not unique has one position for each
/// entry of the singletons below.
pub(super) fn group_at(ty: &TensorType, k: usize) -> Range<usize> {
    let levels = &ty.format.levels;
    let end = (k..levels.len()).find(|&l| levels[l].unique).expect("the last level of a valid format is unique");
    k..end + 1
}

/// Builds level `k`, a level of runs. Adjacent coordinates with equal children form one run, which
/// keeps the entries of its first coordinate; the other entries are dropped. A second run in a
/// fiber is an error if the level stores only one per fiber.
fn build_runs(
    ty: &TensorType,
    kind: &dyn RunLevel,
    (k, parents): (usize, u64),
    entries: &mut SortedEntries<'_>,
    positions: &mut Vec<u64>,
) -> Result<(Vec<Array>, u64), Error> {
    let mut runs: Vec<CoordinateRun> = Vec::new();
    // `retained` has the entries that stay, `of_run` the run of each of them, and `last` the
    // retained entries of the last run.
    let (mut retained, mut of_run): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut last = 0..0;
    let mut lo = 0;
    while lo < entries.len {
        let (parent, left) = (positions[lo], entries.columns[k][lo]);
        let same = |e: &usize| positions[*e] == parent && entries.columns[k][*e] == left;
        let hi = lo + (lo..entries.len).take_while(same).count();
        let before = runs.last_mut().filter(|run| run.parent == parent);
        match before {
            Some(run) if run.right == left && entries.equal_below(k, &last, &(lo..hi)) => run.right += 1,
            Some(_) if ty.format.levels[k].kind.traits().single => {
                return Err(Error::SecondRun { level: k, coordinates: entries.tensor_coordinates(ty, lo) });
            }
            _ => {
                retained.extend(lo..hi);
                of_run.extend(std::iter::repeat_n(runs.len(), hi - lo));
                runs.push(CoordinateRun { parent, left, right: left + 1 });
                last = lo..hi;
            }
        }
        lo = hi;
    }
    let dimension = ty.format.modes[k].dimension(&ty.shape);
    let mut own = Vec::with_capacity(runs.len());
    let built = kind.build_runs(dimension, parents, &runs, &mut own)?;
    entries.retain_entries(&retained);
    *positions = of_run.into_iter().map(|run| own[run]).collect();
    Ok(built)
}

/// Checks that no fiber of level `k` has two coordinates, since the level stores only one per
/// fiber.
fn check_single(ty: &TensorType, k: usize, entries: &SortedEntries<'_>, positions: &[u64]) -> Result<(), Error> {
    let column = &entries.columns[k];
    let second = |e: &usize| positions[*e] == positions[e - 1] && column[*e] != column[e - 1];
    match (1..entries.len).find(second) {
        Some(entry) => Err(Error::SecondEntry { level: k, coordinates: entries.tensor_coordinates(ty, entry) }),
        None => Ok(()),
    }
}

impl SortedEntries<'_> {
    /// Returns the tensor coordinates of an entry.
    fn tensor_coordinates(&self, ty: &TensorType, entry: usize) -> Vec<u64> {
        let storage: Vec<u64> = self.columns.iter().map(|c| c[entry]).collect();
        let mut coordinates = vec![0; ty.shape.len()];
        ty.format.tensor_coordinates(&ty.shape, &storage, &mut coordinates);
        coordinates
    }

    /// Returns whether two ranges of entries are equal below level `k`: the same coordinates, and
    /// the same values in the sense of [`Values::are_same`].
    fn equal_below(&self, k: usize, a: &Range<usize>, b: &Range<usize>) -> bool {
        let value = |e: usize| self.order.as_ref().map_or(e, |order| order[e] as usize);
        let equal = |(x, y): (usize, usize)| {
            self.columns[k + 1..].iter().all(|c| c[x] == c[y]) && self.values.are_same(value(x), value(y))
        };
        a.len() == b.len() && a.clone().zip(b.clone()).all(equal)
    }

    /// Drops the entries with the fill value, which are redundant if the last level stores every
    /// coordinate.
    fn drop_fills(&mut self, ty: &TensorType) {
        let test = FillTest::new(self.values.columns(), &ty.fill);
        let value = |e: usize| self.order.as_ref().map_or(e as u64, |order| order[e]);
        let retained: Vec<usize> = (0..self.len).filter(|&e| !test.is_fill(value(e))).collect();
        self.retain_entries(&retained);
    }

    /// Drops all entries except `retained`, which ascends.
    fn retain_entries(&mut self, retained: &[usize]) {
        if retained.len() == self.len {
            return;
        }
        let pick = |list: &Cow<'_, [u64]>| retained.iter().map(|&e| list[e]).collect();
        self.columns.iter_mut().for_each(|c| *c = pick(c));
        self.order = Some(match &self.order {
            Some(order) => pick(order),
            None => retained.iter().map(|&e| e as u64).collect(),
        });
        self.len = retained.len();
    }
}

fn scatter_values(
    ty: &TensorType,
    entries: &SortedEntries<'_>,
    positions: &[u64],
    len: u64,
) -> Result<Vec<Array>, Error> {
    let in_order = len == positions.len() as u64 && positions.iter().zip(0..).all(|(&p, k)| p == k);
    let scatter = |(column, fill): (&Array, _)| match &entries.order {
        None if in_order && column.len() == positions.len() => Ok(column.clone()),
        Some(order) if in_order => gather(column, order),
        order => {
            let (prim, bits) = prim_bits(&fill);
            match_width!(prim, W => {
                let words = column.words::<W>();
                let mut out = filled_vec(bits as W, len)?;
                match order {
                    None => positions.iter().zip(words).for_each(|(&p, &w)| out[p as usize] = w),
                    Some(order) => positions.iter().zip(&order[..]).for_each(|(&p, &k)| out[p as usize] = words[k as usize]),
                }
                Ok(Array::from_words(prim, out))
            })
        }
    };
    entries.values.columns().iter().zip(ty.fill.flatten()).map(scatter).collect()
}
