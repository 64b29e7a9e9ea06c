//! Statistics of tensors that take a pass over what they store: counted when they are asked for, and kept with the tensor.
//!
//! Modes are storage modes where a [`ModeSet`] or a position in one says so. Tensors never change, so what was counted once
//! holds as long as there is a clone of the tensor.

use super::structure::{row_major, symmetry};
use super::{Symmetry, Tensor};
use crate::levels::level;
use redpoll_logic::StorageMode;
use redpoll_logic::statistics::{Answer, Fact, ModeSet, Weights};
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A mode with more coordinates than this, and than the tensor has bytes, has no marginal: it would take more memory than it
/// is worth.
const FEW_COORDINATES: u64 = 1 << 16;
/// A matrix of more rows than this is sorted to see whether it is symmetric.
const MOST_ROWS: u64 = 1 << 26;

/// What was counted of a tensor.
#[derive(Debug, Default)]
pub(super) struct Measures {
    /// How many stored places each coordinate of each storage mode has.
    counts: OnceLock<Vec<Option<Vec<u32>>>>,
    distinct: Memo<ModeSet, Option<u64>>,
    degrees: Memo<(ModeSet, ModeSet), Option<Answer>>,
    marginals: Memo<(ModeSet, usize), Option<Weights>>,
    facts: Memo<Fact, bool>,
}

type Memo<K, V> = Mutex<HashMap<K, V>>;

/// What is remembered for a key, or else computed. Two threads may compute the same at one time.
fn remembered<K: Hash + Eq, V: Clone>(memo: &Memo<K, V>, key: K, compute: impl FnOnce() -> V) -> V {
    let lock = || memo.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lock().get(&key) {
        return known.clone();
    }
    let value = compute();
    lock().insert(key, value.clone());
    value
}

impl Tensor {
    /// How many distinct coordinates the stored places have in some storage modes; `None` when there are too many modes to
    /// tell their coordinates apart by a number.
    pub fn distinct(&self, modes: ModeSet) -> Option<u64> {
        if let Some(counts) = self.counts(modes) {
            return Some(counts.iter().filter(|n| **n > 0).count() as u64);
        }
        remembered(&self.measures.distinct, modes, || Some(self.keys(&[modes])?.len() as u64))
    }

    /// How many distinct coordinates in `of` the stored places with one and the same coordinate in `given` have: the mean
    /// is the estimate, the maximum the bound. `None` as for [`Tensor::distinct`].
    pub fn degree(&self, of: ModeSet, given: ModeSet) -> Option<Answer> {
        if let Some(counts) = self.counts(given).filter(|_| of.union(given).len() == self.levels.len()) {
            let (filled, all) =
                counts.iter().fold((0u64, 0u64), |(m, n), c| (m + u64::from(*c > 0), n + u64::from(*c)));
            let most = counts.iter().copied().max().unwrap_or(0);
            return Some(Answer::new(all as f64 / filled.max(1) as f64, f64::from(most)));
        }
        remembered(&self.measures.degrees, (of, given), || {
            let keys = self.keys(&[given, of])?;
            let (mut groups, mut most, mut count) = (0u64, 0u64, 0);
            for (k, key) in keys.iter().enumerate() {
                let same = k > 0 && keys[k - 1].0 == key.0;
                count = if same { count + 1 } else { 1 };
                groups += u64::from(!same);
                most = most.max(count);
            }
            Some(Answer::new(keys.len() as f64 / groups.max(1) as f64, most as f64))
        })
    }

    /// How the distinct coordinates in the storage modes `of` are spread over those of `mode`, which is one of them: for
    /// each coordinate how many there are by the mean of all. `None` when the mode is too long.
    pub fn marginal(&self, of: ModeSet, mode: usize) -> Option<Weights> {
        let dimension = *self.ty.format.storage_shape(&self.ty.shape).get(mode)?;
        if !self.counts_coordinates(dimension) || !of.contains(mode) {
            return None;
        }
        remembered(&self.measures.marginals, (of, mode), || {
            let mut counts = vec![0f32; dimension as usize];
            let only: ModeSet = [mode].into_iter().collect();
            match self.counts(only) {
                Some(all) if of == ModeSet::prefix(self.levels.len()) => {
                    counts.iter_mut().zip(all).for_each(|(count, n)| *count = *n as f32);
                }
                Some(all) if of == only => {
                    counts.iter_mut().zip(all).for_each(|(count, n)| *count = f32::from(u8::from(*n > 0)));
                }
                _ => self.keys(&[only, of])?.iter().for_each(|(at, _)| counts[*at as usize] += 1.0),
            }
            let mean = counts.iter().map(|c| f64::from(*c)).sum::<f64>() / counts.len().max(1) as f64;
            if mean > 0.0 {
                counts.iter_mut().for_each(|c| *c = (f64::from(*c) / mean) as f32);
            }
            Some(counts.into())
        })
    }

    /// How many stored places each coordinate of a storage mode has, padding included; `None` for sets of several modes, and
    /// for modes that are too long.
    fn counts(&self, modes: ModeSet) -> Option<&[u32]> {
        let [mode] = modes.iter().collect::<Vec<_>>()[..] else { return None };
        let all = self.measures.counts.get_or_init(|| {
            let sizes = self.ty.format.storage_shape(&self.ty.shape);
            let zeros = |n: &u64| self.counts_coordinates(*n).then(|| vec![0u32; *n as usize]);
            let mut counts: Vec<_> = sizes.iter().map(zeros).collect();
            if self.places() > 0 && !counts.is_empty() {
                self.count_below(0, 0..1, &mut counts);
            }
            counts
        });
        all.get(mode)?.as_deref()
    }

    /// Whether a number for each of so many coordinates takes memory in proportion to the tensor.
    fn counts_coordinates(&self, coordinates: u64) -> bool {
        coordinates <= FEW_COORDINATES.max(self.bytes())
    }

    /// Counts the places below positions, for each coordinate of each mode from `depth` on; and all of them.
    fn count_below(&self, depth: usize, fiber: Range<u64>, counts: &mut [Option<Vec<u32>>]) -> u64 {
        let Some((own, inner)) = counts.split_first_mut() else { return fiber.end - fiber.start };
        let mut all = 0;
        level(self.ty.format.levels[depth].kind).for_each(self.level(depth), fiber, &mut |i, positions| {
            let below = self.count_below(depth + 1, positions, inner);
            all += below;
            if let Some(own) = own {
                own[i as usize] = own[i as usize].saturating_add(u32::try_from(below).unwrap_or(u32::MAX));
            }
        });
        all
    }

    /// Whether something is true of the tensor; `false` also where that would take more memory than there is.
    pub fn holds(&self, fact: Fact) -> bool {
        remembered(&self.measures.facts, fact, || match fact {
            Fact::Symmetric(a, b) => {
                let shape = &self.ty.shape;
                let sizes_agree = shape.get(a).is_some_and(|n| shape.get(b) == Some(n));
                sizes_agree && self.mirrored().unwrap_or_else(|| self.mirrored_when_sorted(a, b))
            }
            Fact::OffDiagonal(a, b) => {
                let (mut off, fill) = (true, self.fill_test());
                self.for_each_stored(|place, p| off &= place[a] != place[b] || fill.is_fill(p));
                off
            }
        })
    }

    fn mirrored_when_sorted(&self, a: usize, b: usize) -> bool {
        row_major(self).and_then(|entries| symmetry(&entries, a, b)).is_ok_and(|s| s == Symmetry::Exact)
    }

    /// Whether a square matrix whose entries are stored in order equals its transpose; `None` for other tensors. The entries
    /// of column `j` are met in the order of row `j`, so that each row is gone through once.
    fn mirrored(&self) -> Option<bool> {
        let ([n, _], [StorageMode::Whole { .. }, StorageMode::Whole { .. }]) =
            (&self.ty.shape[..], &self.ty.format.modes[..])
        else {
            return None;
        };
        let rows = usize::try_from(*n).ok().filter(|n| *n as u64 <= MOST_ROWS)?;
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
        // Where each row begins, then how far it has been matched.
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

    /// Calls `visit` with the storage coordinates of each stored place, padding included.
    fn for_each_storage(&self, mut visit: impl FnMut(&[u64])) {
        if self.places() > 0 {
            let mut storage = vec![0; self.levels.len()];
            self.walk(0, 0..1, &mut storage, &mut |storage, _| visit(storage));
        }
    }

    /// The distinct coordinates of the stored places in sets of modes, as one number for the first set and one for all
    /// others, sorted; `None` when one would not fit.
    fn keys(&self, sets: &[ModeSet]) -> Option<Vec<(u64, u64)>> {
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
        if let Some(keys) = self.numbers(&both, &shape) {
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

    /// The distinct coordinates of the stored places in some modes as one number each, sorted, found level by level; `None`
    /// when one would not fit, or levels do not list places as they are.
    fn numbers(&self, modes: &[usize], shape: &[u64]) -> Option<Vec<u64>> {
        modes.iter().try_fold(1u64, |n, m| n.checked_mul(shape[*m].max(1)))?;
        let plain = self.ty.format.levels.iter().all(|level| !level.kind.traits().runs);
        let n = self.exact_positions().filter(|_| plain && shape.iter().all(|&size| size <= 1 << 32))?;
        let columns = self.coordinates(n).ok()??;
        let mut keys = vec![0u64; n];
        for &mode in modes {
            keys.iter_mut().zip(&columns[mode]).for_each(|(key, &i)| *key = *key * shape[mode] + u64::from(i));
        }
        if !keys.is_sorted() {
            keys.sort_unstable();
        }
        keys.dedup();
        Some(keys)
    }
}
