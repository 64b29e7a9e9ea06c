//! Statistics that need a pass over the stored elements of a tensor. They are computed on demand
//! and cached in the tensor.
//!
//! Modes are storage modes, except in a [`Fact`], which has tensor modes. Tensors are immutable, so
//! statistics stay valid while a clone of the tensor exists.

use super::sort::{bits_below, sort_numbers};
use super::statistics_cache::{Census, StoredCounts, get_or_compute};
use super::structure::{row_major, symmetry};
use super::{Array, MatrixSymmetry, Tensor};
use crate::levels::{RunLevel, level};
use redpoll_logic::statistics::{Answer, Fact, ModeSet, Weights};
use redpoll_logic::{Prim, Scalar, Special, StorageMode};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Number of coordinates up to which every mode has counts and a marginal. A longer mode has them
/// only if the tensor has at least as many bytes as the mode has coordinates, since the counts take
/// memory for each coordinate.
const SMALL_DIMENSION: u64 = 1 << 16;
/// Maximum average number of elements per innermost position for which a census of modes with runs
/// is taken. A census visits each coordinate of each run, so a census of longer runs would be slow.
const MAX_RUN_LENGTH: u64 = 64;
/// Number of rows beyond which a matrix is sorted to test it for symmetry.
const MAX_MATCHED_ROWS: u64 = 1 << 26;

/// Returns the value of an integer or `bool`, if it fits an `i64`.
fn as_i64(value: &Scalar) -> Option<i64> {
    match value {
        Scalar::U64(v) => i64::try_from(*v).ok(),
        Scalar::F32(_) | Scalar::F64(_) | Scalar::Struct(..) => None,
        other => match other.cast(Prim::I64) {
            Some(Scalar::I64(v)) => Some(v),
            _ => None,
        },
    }
}

impl Tensor {
    /// Returns the special values among the stored values; the first call searches for them. A
    /// tensor on a device, or in a file that cannot be loaded, counts as having none, unless its
    /// special values are known.
    pub fn special(&self) -> Special {
        let special_of = |array: &Array| match array.prim() {
            Prim::F32 => array.as_slice::<f32>().map_or(Special::NONE, Special::of_values),
            Prim::F64 => array.as_slice::<f64>().map_or(Special::NONE, Special::of_values),
            _ => Special::NONE,
        };
        if let Some(special) = self.special.get() {
            return *special;
        }
        if !self.is_on_host() || self.load_files().is_err() {
            return Special::NONE;
        }
        *self.special.get_or_init(|| self.leaf.iter().fold(Special::NONE, |set, array| set.union(special_of(array))))
    }

    /// Marks the tensor as having no special values. Kernels still compute with its actual values
    /// by IEEE 754: a product of zero with an infinity or NaN is NaN.
    #[must_use]
    pub fn assume_regular(self) -> Tensor {
        Tensor { special: Arc::new(OnceLock::from(Special::NONE)), copies: Arc::default(), ..self }
    }

    /// Records that the tensor has no special values other than these, unless its special values
    /// are already known.
    pub fn with_special(self, special: Special) -> Tensor {
        self.special.get_or_init(|| special);
        self
    }

    /// Returns the special values among the stored values, if known.
    pub(super) fn cached_special(&self) -> Option<Special> {
        self.special.get().copied()
    }

    /// Returns the least and the greatest value among the fill value and all values of the leaf,
    /// including values at unused positions. `None` for floats, structs, patterns, values that do
    /// not fit an `i64`, and tensors on a device or in a file that cannot be loaded.
    pub fn value_range(&self) -> Option<(i64, i64)> {
        if !self.is_on_host() || self.load_files().is_err() {
            return None;
        }
        *self.statistics.values.get_or_init(|| self.find_value_range())
    }

    fn find_value_range(&self) -> Option<(i64, i64)> {
        let fill = as_i64(&self.ty.fill)?;
        macro_rules! range_of {
            ($array:expr, $t:ty) => {{
                let values = $array.words::<$t>();
                let (least, greatest) = (values.iter().min(), values.iter().max());
                least.zip(greatest).map(|(a, b)| Some((i64::try_from(*a).ok()?, i64::try_from(*b).ok()?)))
            }};
        }
        let [array] = &self.leaf[..] else { return None };
        let stored = match array.prim() {
            Prim::Bool | Prim::U8 => range_of!(array, u8),
            Prim::I8 => range_of!(array, i8),
            Prim::I16 => range_of!(array, i16),
            Prim::U16 => range_of!(array, u16),
            Prim::I32 => range_of!(array, i32),
            Prim::U32 => range_of!(array, u32),
            Prim::I64 => range_of!(array, i64),
            Prim::U64 => range_of!(array, u64),
            Prim::F32 | Prim::F64 => return None,
        };
        let (least, greatest) = stored.unwrap_or(Some((fill, fill)))?;
        Some((least.min(fill), greatest.max(fill)))
    }

    /// Returns the number of distinct coordinates of the stored elements, including padding, in
    /// some storage modes. Returns `None` if the levels cannot be fetched. May return `None` if the
    /// product of the dimensions of these modes overflows, or if runs are too long to be counted.
    pub fn distinct(&self, modes: ModeSet) -> Option<u64> {
        self.fetch_levels().ok()?;
        if let Some(counts) = self.counts(modes) {
            return Some(count_nonzero(counts));
        }
        Some(self.census(modes)?.distinct)
    }

    /// Returns the number of distinct coordinates in `of` among the stored elements with the same
    /// coordinate in `given`: the mean as the estimate, the maximum as the bound. `None` as for
    /// [`Tensor::distinct`].
    pub fn degree(&self, of: ModeSet, given: ModeSet) -> Option<Answer> {
        self.fetch_levels().ok()?;
        let both = self.census(of.union(given))?;
        let answer = |groups: u64, max: u64| Answer::new(both.distinct as f64 / groups.max(1) as f64, max as f64);
        if let Some(counts) = self.counts(given) {
            let mode = given.iter().next().expect("the set has one mode");
            let among = self.counts_of_mode(&both, mode).expect("the mode has counts");
            return Some(answer(count_nonzero(counts), among.iter().copied().max().unwrap_or(0).into()));
        }
        if both.by_mode.is_none() {
            let given = self.census(given)?;
            return Some(answer(given.distinct, given.max_count));
        }
        get_or_compute(&self.statistics.degrees, (of, given), || {
            let keys = self.keys(&[given, of])?;
            let (mut groups, mut max_count, mut count) = (0u64, 0u64, 0);
            for (k, key) in keys.iter().enumerate() {
                let same = k > 0 && keys[k - 1].0 == key.0;
                count = if same { count + 1 } else { 1 };
                groups += u64::from(!same);
                max_count = max_count.max(count);
            }
            Some(answer(groups, max_count))
        })
    }

    /// Returns the distribution of the distinct coordinates in the storage modes `of` over the
    /// coordinates of `mode`, which is one of these modes: the count for each coordinate divided by
    /// the mean. `None` if `of` lacks the mode, if the mode is too long, or as for
    /// [`Tensor::distinct`].
    pub fn marginal(&self, of: ModeSet, mode: usize) -> Option<Weights> {
        self.fetch_levels().ok()?;
        let dimension = *self.ty.format.storage_shape(&self.ty.shape).get(mode)?;
        if !self.can_count_coordinates(dimension) || !of.contains(mode) {
            return None;
        }
        get_or_compute(&self.statistics.marginals, (of, mode), || {
            let mut counts = vec![0f32; dimension as usize];
            match self.counts(of) {
                Some(all) => counts.iter_mut().zip(all).for_each(|(count, n)| *count = f32::from(u8::from(*n > 0))),
                None => {
                    let census = self.census(of)?;
                    let own = self.counts_of_mode(&census, mode)?;
                    counts.iter_mut().zip(own).for_each(|(count, n)| *count = *n as f32);
                }
            }
            let mean = counts.iter().map(|c| f64::from(*c)).sum::<f64>() / counts.len().max(1) as f64;
            if mean > 0.0 {
                counts.iter_mut().for_each(|c| *c = (f64::from(*c) / mean) as f32);
            }
            Some(counts.into())
        })
    }

    /// Returns the number of stored elements for each coordinate of a storage mode, including
    /// padding. `None` if the set does not have exactly one mode, or if its mode is too long.
    fn counts(&self, modes: ModeSet) -> Option<&[u32]> {
        let [mode] = modes.iter().collect::<Vec<_>>()[..] else { return None };
        self.all_counts().by_mode.get(mode)?.as_deref()
    }

    fn all_counts(&self) -> &StoredCounts {
        self.statistics.counts.get_or_init(|| {
            let mut by_mode = self.zeros();
            let all = match self.element_count() > 0 && !by_mode.is_empty() {
                true => self.count_below(0, 0..1, &mut by_mode),
                false => self.element_count(),
            };
            // If the last level stores runs, `count_below` gives the differences between the counts
            // of adjacent coordinates of the last mode. The counts are the prefix sums of these
            // differences.
            if let Some(Some(counts)) = by_mode.last_mut().filter(|_| self.last_runs().is_some()) {
                let mut sum = 0u32;
                counts.iter_mut().for_each(|count| {
                    sum = sum.wrapping_add(*count);
                    *count = sum;
                });
            }
            StoredCounts { all, by_mode }
        })
    }

    /// Returns a zero for each coordinate of each storage mode that is not too long.
    fn zeros(&self) -> Vec<Option<Vec<u32>>> {
        let sizes = self.ty.format.storage_shape(&self.ty.shape);
        let zeros = |n: &u64| self.can_count_coordinates(*n).then(|| vec![0u32; *n as usize]);
        sizes.iter().map(zeros).collect()
    }

    /// Returns the census of a set of modes; `None` as for [`Tensor::distinct`].
    ///
    /// If the set contains all modes, or a mode in which no two elements share a coordinate, the
    /// counts of elements already give the census.
    fn census(&self, modes: ModeSet) -> Option<Arc<Census>> {
        get_or_compute(&self.statistics.censuses, modes, || {
            let all = self.all_counts();
            if modes.is_empty() {
                let by_mode = Some(Vec::new());
                return Some(Arc::new(Census { distinct: all.all.min(1), max_count: all.all, by_mode }));
            }
            let is_distinct = |counts: &Vec<u32>| counts.iter().all(|n| *n <= 1);
            let is_distinguishing =
                |mode: usize| all.by_mode.get(mode).and_then(Option::as_ref).is_some_and(is_distinct);
            if modes.contains_all(ModeSet::prefix(self.levels.len())) || modes.iter().any(is_distinguishing) {
                return Some(Arc::new(Census { distinct: all.all, max_count: all.all.min(1), by_mode: None }));
            }
            self.compute_census(modes).map(Arc::new)
        })
    }

    fn compute_census(&self, modes: ModeSet) -> Option<Census> {
        let shape = self.ty.format.storage_shape(&self.ty.shape);
        let modes: Vec<usize> = modes.iter().filter(|m| *m < shape.len()).collect();
        modes.iter().try_fold(1u64, |n, m| n.checked_mul(shape[*m].max(1)))?;
        let depth = modes.iter().max().map_or(0, |last| last + 1);
        if self.ty.format.levels[..depth].iter().any(|l| l.kind.traits().runs) {
            let positions = self.level_positions().ok()?.last().copied().unwrap_or(1);
            if self.all_counts().all / MAX_RUN_LENGTH > positions {
                return None;
            }
        }
        let mut counts = self.zeros();
        let (mut distinct, mut max_count) = (0, 0);
        let mut record = |mut key: u64, elements: u64| {
            distinct += 1;
            max_count = max_count.max(elements);
            for &mode in modes.iter().rev() {
                let i = key % shape[mode];
                key /= shape[mode];
                if let Some(counts) = &mut counts[mode] {
                    counts[i as usize] += 1;
                }
            }
        };
        let is_whole = depth == self.levels.len();
        if let Some(keys) = is_whole.then(|| self.linear_indices(&modes, &shape)).flatten() {
            keys.chunk_by(|a, b| a == b).for_each(|same| record(same[0], same.len() as u64));
        } else {
            let mut keys: Vec<(u64, u64)> = Vec::new();
            let mut storage = vec![0; depth];
            let mut unused = vec![None; self.levels.len() - depth];
            self.walk_levels(0, 0..1, &mut storage, &mut |storage, positions| {
                let below = self.count_below(depth, positions, &mut unused);
                let key = modes.iter().fold(0, |n, m| n * shape[*m] + storage[*m]);
                match keys.last_mut() {
                    Some((last, elements)) if *last == key => *elements += below,
                    _ if below > 0 => keys.push((key, below)),
                    _ => {}
                }
            });
            if !keys.is_sorted() {
                keys.sort_unstable();
            }
            keys.chunk_by(|a, b| a.0 == b.0).for_each(|same| record(same[0].0, same.iter().map(|k| k.1).sum()));
        }
        let by_mode = (distinct < self.all_counts().all).then_some(counts);
        Some(Census { distinct, max_count, by_mode })
    }

    /// Returns the number of distinct coordinates of a census for each coordinate of a mode; `None`
    /// if the mode is too long.
    fn counts_of_mode<'c>(&'c self, census: &'c Census, mode: usize) -> Option<&'c [u32]> {
        census.by_mode.as_ref().unwrap_or(&self.all_counts().by_mode).get(mode)?.as_deref()
    }

    /// Returns whether a mode with this many coordinates is short enough for one counter per
    /// coordinate.
    fn can_count_coordinates(&self, coordinates: u64) -> bool {
        coordinates <= SMALL_DIMENSION.max(self.bytes())
    }

    /// Returns the last level if it stores runs.
    fn last_runs(&self) -> Option<&'static dyn RunLevel> {
        level(self.ty.format.levels.last()?.kind).as_runs()
    }

    /// Counts the elements below the positions `fiber`, and returns their total number. Adds to
    /// `counts` the number of elements at each coordinate of each mode from `depth` on. If the last
    /// level stores runs, the last of `counts` has the differences between the counts of adjacent
    /// coordinates instead.
    fn count_below(&self, depth: usize, fiber: Range<u64>, counts: &mut [Option<Vec<u32>>]) -> u64 {
        let Some((own, inner)) = counts.split_first_mut() else { return fiber.end - fiber.start };
        let kind = level(self.ty.format.levels[depth].kind);
        let mut all = 0;
        if let Some(runs) = self.last_runs().filter(|_| inner.is_empty()) {
            for parent in fiber {
                runs.for_each_run(self.level(depth), parent, &mut |run, _| {
                    all += run.end - run.start;
                    if let Some(own) = own {
                        own[run.start as usize] = own[run.start as usize].wrapping_add(1);
                        if let Some(after) = own.get_mut(run.end as usize) {
                            *after = after.wrapping_sub(1);
                        }
                    }
                });
            }
            return all;
        }
        if let (Some(own), true) = (own.as_mut(), inner.is_empty()) {
            return kind.tally(self.level(depth), fiber, own);
        }
        kind.for_each(self.level(depth), fiber, &mut |i, positions| {
            let below = self.count_below(depth + 1, positions, inner);
            all += below;
            if let Some(own) = own {
                own[i as usize] = own[i as usize].saturating_add(u32::try_from(below).unwrap_or(u32::MAX));
            }
        });
        all
    }

    /// Returns whether a fact is true of the tensor. Also returns `false` if the test exhausts
    /// memory, if the arrays cannot be fetched, or if a symmetric tensor stores a fill value at
    /// some coordinates but no element at the exchanged coordinates.
    pub fn holds(&self, fact: Fact) -> bool {
        if self.fetch().is_err() {
            return false;
        }
        get_or_compute(&self.statistics.facts, fact, || match fact {
            Fact::Symmetric(a, b) => {
                let shape = &self.ty.shape;
                let sizes_agree = shape.get(a).is_some_and(|n| shape.get(b) == Some(n));
                sizes_agree && self.is_symmetric_in_order().unwrap_or_else(|| self.is_symmetric_by_sorting(a, b))
            }
            Fact::OffDiagonal(a, b) => {
                let (mut off, fill) = (true, self.fill_test());
                self.for_each_stored(|coordinates, p| off &= coordinates[a] != coordinates[b] || fill.is_fill(p));
                off
            }
        })
    }

    fn is_symmetric_by_sorting(&self, a: usize, b: usize) -> bool {
        row_major(self).and_then(|entries| symmetry(&entries, a, b)).is_ok_and(|s| s == MatrixSymmetry::Exact)
    }

    /// Returns whether a square matrix with entries stored in order equals its transpose; `None`
    /// for other tensors, and for more than [`MAX_MATCHED_ROWS`] rows. In storage order, the
    /// entries of column `j` match those of row `j` one after the other, so one traversal suffices.
    fn is_symmetric_in_order(&self) -> Option<bool> {
        let ([n, _], [StorageMode::Whole { .. }, StorageMode::Whole { .. }]) =
            (&self.ty.shape[..], &self.ty.format.modes[..])
        else {
            return None;
        };
        let rows = usize::try_from(*n).ok().filter(|n| *n as u64 <= MAX_MATCHED_ROWS)?;
        let mut entries: Vec<(u32, u32, usize)> = Vec::new();
        let mut ordered = true;
        let mut storage = [0; 2];
        self.walk(0, 0..1, &mut storage, &mut |at, p| {
            let entry = (at[0] as u32, at[1] as u32, p as usize);
            ordered &= entries.last().is_none_or(|last| (last.0, last.1) < (entry.0, entry.1));
            entries.push(entry);
        });
        if !ordered {
            return None;
        }
        // The start of each row, advanced as its entries are matched.
        let mut next = vec![0usize; rows + 1];
        entries.iter().for_each(|e| next[e.0 as usize + 1] += 1);
        (0..rows).for_each(|i| next[i + 1] += next[i]);
        let same = |p: usize, q: usize| {
            self.leaf.iter().all(|a| a.bits(p) == a.bits(q) || a.scalar(p).is_nan() && a.scalar(q).is_nan())
        };
        Some(entries.iter().all(|(i, j, p)| {
            let mirrored = next[*j as usize];
            next[*j as usize] += 1;
            entries.get(mirrored).is_some_and(|(k, l, q)| k == j && l == i && same(*p, *q))
        }))
    }

    /// Calls `visit` with the storage coordinates of each stored element, including padding.
    fn for_each_storage(&self, mut visit: impl FnMut(&[u64])) {
        if self.element_count() > 0 {
            let mut storage = vec![0; self.levels.len()];
            self.walk(0, 0..1, &mut storage, &mut |storage, _| visit(storage));
        }
    }

    /// Returns the distinct coordinates of the stored elements in sets of modes, as sorted pairs. A
    /// pair has the linear index in the modes of the first set, and the linear index in the modes
    /// of all other sets. `None` if an index would overflow.
    pub(super) fn keys(&self, sets: &[ModeSet]) -> Option<Vec<(u64, u64)>> {
        let shape = self.ty.format.storage_shape(&self.ty.shape);
        let modes = |sets: &[ModeSet]| -> Option<Vec<usize>> {
            let modes: Vec<usize> = sets.iter().flat_map(|s| s.iter()).filter(|m| *m < shape.len()).collect();
            modes.iter().try_fold(1u64, |n, m| n.checked_mul(shape[*m].max(1)))?;
            Some(modes)
        };
        let (first, rest) = sets.split_first()?;
        let (first, rest) = (modes(std::slice::from_ref(first))?, modes(rest)?);
        let size: u64 = rest.iter().map(|m| shape[*m].max(1)).product();
        let both = [&first[..], &rest].concat();
        if let Some(mut keys) = self.linear_indices(&both, &shape) {
            keys.dedup();
            return Some(keys.into_iter().map(|key| (key / size, key % size)).collect());
        }
        let number = |storage: &[u64], modes: &[usize]| modes.iter().fold(0, |n, m| n * shape[*m] + storage[*m]);
        let mut keys: Vec<(u64, u64)> = Vec::new();
        self.for_each_storage(|storage| {
            let key = (number(storage, &first), number(storage, &rest));
            if keys.last() != Some(&key) {
                keys.push(key);
            }
        });
        if !keys.is_sorted() {
            keys.sort_unstable();
        }
        keys.dedup();
        Some(keys)
    }

    /// Returns the linear index of each stored element in some modes, sorted. The coordinates are
    /// read level by level. `None` if an index would overflow, if a mode of the tensor is too long
    /// for 32-bit coordinates, or if memory is exhausted. Also `None` if positions do not match the
    /// stored elements one to one and in order.
    fn linear_indices(&self, modes: &[usize], shape: &[u64]) -> Option<Vec<u64>> {
        modes.iter().try_fold(1u64, |n, m| n.checked_mul(shape[*m].max(1)))?;
        let has_no_runs = self.ty.format.levels.iter().all(|level| !level.kind.traits().runs);
        let n = self.exact_positions().filter(|_| has_no_runs && shape.iter().all(|&size| size <= 1 << 32))?;
        let columns = self.coordinates(n).ok()??;
        let mut keys = vec![0u64; n];
        for &mode in modes {
            keys.iter_mut().zip(&columns[mode]).for_each(|(key, &i)| *key = *key * shape[mode] + u64::from(i));
        }
        let size = modes.iter().map(|m| shape[*m]).product();
        match keys.is_sorted() {
            true => Some(keys),
            false => sort_numbers(keys, bits_below(size)).ok(),
        }
    }
}

/// Returns the number of coordinates with a nonzero count.
fn count_nonzero(counts: &[u32]) -> u64 {
    counts.iter().filter(|n| **n > 0).count() as u64
}
