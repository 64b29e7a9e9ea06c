//! Support for tests of several crates: many formats of each rank, and tensors whose device is
//! lost.

use crate::{Array, DeviceBuffer, DeviceBytes, Error, MemoryBudget, Tensor};
use redpoll_logic::{Format, LeafKind, LevelFormat, LevelKind, StorageMode};
use std::collections::BTreeSet;
use std::sync::Arc;

/// An array on a device that is lost.
#[derive(Debug)]
struct LostArray(usize);

impl DeviceBuffer for LostArray {
    fn bytes(&self) -> usize {
        self.0
    }

    fn fetch(&self, _: &mut [u8]) -> Result<(), Error> {
        Err(Error::OnDevice("kernel `f` on CUDA device 3: the device is lost".into()))
    }

    fn free(&self) {}
}

/// Returns a tensor of the same type whose arrays cannot be fetched: every fetch fails with
/// [`Error::OnDevice`].
pub fn lost_tensor(tensor: &Tensor) -> Tensor {
    let budget = Arc::new(MemoryBudget::new(usize::MAX));
    let array = |array: &Array| {
        let bytes = DeviceBytes::new(Box::new(LostArray(array.len() * array.prim().bytes())), &budget)
            .expect("the budget is unlimited");
        Array::on_device(array.prim(), bytes)
    };
    let levels = tensor.levels().iter().map(|arrays| arrays.iter().map(array).collect());
    Tensor::new_unchecked(tensor.ty().clone(), levels.collect(), tensor.leaf().iter().map(array).collect())
}

/// Returns formats of a rank, all with an element leaf. Some are nestings of the general level
/// kinds ([`LevelKind::general`]) and of coordinate lists, in all orders of the modes. The others
/// have every mode split into blocks, or a skewed mode. Formats of one or two levels include all
/// nestings of general kinds. Formats of more levels include enough nestings that every pair of
/// levels has every pair of general kinds.
pub fn formats_of_rank(rank: usize) -> Vec<Format> {
    let mut formats: Vec<Format> = Vec::new();
    for order in orders(rank) {
        formats.extend(nestings(rank).into_iter().map(|levels| unsplit_format(levels, &order)));
    }
    formats.extend(blocked(rank));
    formats.extend(skewed(rank));
    formats
}

/// Returns formats with the second mode skewed by the first.
fn skewed(rank: usize) -> Vec<Format> {
    use LevelKind::{Dense, SparseList};
    if rank < 2 {
        return Vec::new();
    }
    let others = (2..rank).map(|mode| (Dense, StorageMode::Whole { mode }));
    let of = |first: (LevelKind, StorageMode), second: (LevelKind, StorageMode)| {
        let (kinds, modes): (Vec<_>, Vec<_>) = [first, second].into_iter().chain(others.clone()).unzip();
        Format { modes, ..Format::of_kinds(&kinds, LeafKind::Element) }
    };
    let (skew, along) = (StorageMode::Skew { mode: 1, by: 0 }, StorageMode::Whole { mode: 0 });
    vec![
        of((SparseList, skew), (Dense, along)),
        of((SparseList, skew), (SparseList, along)),
        of((Dense, along), (SparseList, skew)),
    ]
}

/// Returns the nestings of [`formats_of_rank`] over modes in ascending order.
pub fn concordant_formats_of_rank(rank: usize) -> Vec<Format> {
    let order: Vec<usize> = (0..rank).collect();
    nestings(rank).into_iter().map(|levels| unsplit_format(levels, &order)).collect()
}

fn unsplit_format(levels: Vec<LevelFormat>, order: &[usize]) -> Format {
    let modes = order.iter().map(|&mode| StorageMode::Whole { mode }).collect();
    Format { levels, modes, leaf: LeafKind::Element }
}

/// Returns lists of `rank` levels, including coordinate lists.
fn nestings(rank: usize) -> Vec<Vec<LevelFormat>> {
    let mut all = covering(rank);
    for outer in 0..rank.saturating_sub(1) {
        for singletons in 1..rank - outer {
            let mut list = vec![LevelFormat::new(LevelKind::SparseList).non_unique()];
            list.extend((1..singletons).map(|_| LevelFormat::new(LevelKind::Singleton).non_unique()));
            list.push(LevelFormat::new(LevelKind::Singleton));
            let inners = covering(rank - outer - 1 - singletons);
            for above in covering(outer) {
                all.extend(inners.iter().map(|inner| [&above[..], &list, inner].concat()));
            }
        }
    }
    all
}

/// Returns lists of levels such that any two general kinds occur at any two depths. Each list is a
/// line over the integers modulo a prime. Source: K. A. Bush, "Orthogonal arrays of index unity",
/// 1952.
fn covering(rank: usize) -> Vec<Vec<LevelFormat>> {
    let kinds: Vec<LevelKind> = LevelKind::general().collect();
    let is_prime = |n: &usize| (2..*n).all(|k| !n.is_multiple_of(k));
    let prime = (kinds.len().max(rank)..).find(is_prime).expect("there is a prime above any number");
    let slopes = if rank > 1 { prime } else { 1 };
    let lines = (0..prime).flat_map(|start| (0..slopes).map(move |slope| (start, slope)));
    let level = |number: usize| LevelFormat::new(kinds[number % prime % kinds.len()]);
    let levels = |(start, slope)| (0..rank).map(|depth| level(start + slope * depth)).collect();
    let all: BTreeSet<Vec<LevelFormat>> = lines.map(levels).collect();
    all.into_iter().collect()
}

/// Returns formats with every mode split into blocks, of size 2 for the first mode, 3 for the next,
/// and so on.
fn blocked(rank: usize) -> Vec<Format> {
    use LevelKind::{ByteMap, Dense, Hash, SparseList};
    if rank == 0 {
        return Vec::new();
    }
    let block = |mode| 2 + mode as u64;
    let outer = (0..rank).map(|mode| StorageMode::Outer { mode, block: block(mode) });
    let inner = (0..rank).map(|mode| StorageMode::Inner { mode, block: block(mode) });
    let modes: Vec<StorageMode> = outer.chain(inner).collect();
    let levels = |outer: LevelKind, list: LevelKind, inner: LevelKind| {
        let kinds = (0..rank).map(|k| if k + 1 == rank { list } else { outer }).chain((0..rank).map(|_| inner));
        kinds.map(LevelFormat::new).collect()
    };
    [
        (Dense, SparseList, Dense),
        (SparseList, SparseList, SparseList),
        (Dense, Dense, Dense),
        (Hash, Hash, Dense),
        (Dense, SparseList, ByteMap),
        (Dense, ByteMap, Hash),
    ]
    .into_iter()
    .map(|(o, l, i)| Format { levels: levels(o, l, i), modes: modes.clone(), leaf: LeafKind::Element })
    .collect()
}

/// Returns all orders of the numbers below `n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in orders(n - 1) {
        for at in 0..n {
            let mut order = shorter.clone();
            order.insert(at, n - 1);
            all.push(order);
        }
    }
    all
}
