//! Sorting of entries by their storage coordinates.
//!
//! The coordinates of an entry are packed into one key, a bit field a mode. Entries are first dealt into buckets by the
//! leading bits of the key, which keeps the rest in cache; then each bucket is sorted. Where the rest of the key and
//! the entry's number fit into 64 bits together, a bucket is plain `u64`s. Equal keys stay in the order of entry.

use super::array::filled_vec;
use crate::Error;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Entries in ascending order of their coordinates.
pub(crate) struct Sorted {
    /// The coordinates, one list a storage mode.
    pub(crate) columns: Vec<Vec<u64>>,
    /// The number that each entry had before; `None` when they were sorted already.
    pub(crate) order: Option<Vec<u64>>,
}

/// Sorts entries, given by one list of coordinates a storage mode, each below its dimension.
pub(crate) fn sort_entries(columns: Vec<Cow<'_, [u64]>>, dimensions: &[u64]) -> Result<Sorted, Error> {
    let n = columns.first().map_or(0, |c| c.len());
    if is_sorted(&columns, n) {
        return Ok(Sorted { columns: columns.into_iter().map(Cow::into_owned).collect(), order: None });
    }
    let widths: Vec<u32> = dimensions.iter().map(|&d| bits_below(d)).collect();
    match widths.iter().sum() {
        bits @ 0..=64 => sort_keys::<u64>(&columns, &widths, bits, n),
        bits @ 65..=128 => sort_keys::<u128>(&columns, &widths, bits, n),
        _ => sort_columns(&columns, n),
    }
}

fn is_sorted(columns: &[Cow<'_, [u64]>], n: usize) -> bool {
    (1..n).all(|k| columns.iter().map(|c| c[k - 1].cmp(&c[k])).find(|o| o.is_ne()).is_none_or(Ordering::is_lt))
}

/// The number of bits that coordinates below `dimension` take.
fn bits_below(dimension: u64) -> u32 {
    u64::BITS - dimension.saturating_sub(1).leading_zeros()
}

/// A packed key.
trait Key: Copy + Ord + Default {
    /// The key with a coordinate of `bits` bits appended.
    fn push(self, coordinate: u64, bits: u32) -> Self;
    /// The key shifted right by `shift`, its lower 64 bits.
    fn shifted(self, shift: u32) -> u64;
    /// The key whose lowest `bits` bits are `rest` and whose higher ones are `bucket`.
    fn from_parts(bucket: usize, bits: u32, rest: u64) -> Self;
}

macro_rules! impl_key {
    ($t:ty) => {
        impl Key for $t {
            fn push(self, coordinate: u64, bits: u32) -> $t {
                self.checked_shl(bits).unwrap_or(0) | <$t>::from(coordinate)
            }

            fn shifted(self, shift: u32) -> u64 {
                self.checked_shr(shift).unwrap_or(0) as u64
            }

            fn from_parts(bucket: usize, bits: u32, rest: u64) -> $t {
                (bucket as $t).checked_shl(bits).unwrap_or(0) | <$t>::from(rest)
            }
        }
    };
}
impl_key!(u64);
impl_key!(u128);

/// The lowest `bits` bits set.
fn mask(bits: u32) -> u64 {
    u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0)
}

/// Buckets have around this many entries, so that sorting one stays in the nearest cache.
const BUCKET_ENTRIES_LOG2: u32 = 10;
/// More buckets than this would have scattered writes miss the translation cache.
const MAX_BUCKET_BITS: u32 = 12;

fn sort_keys<K: Key>(columns: &[Cow<'_, [u64]>], widths: &[u32], bits: u32, n: usize) -> Result<Sorted, Error> {
    let mut keys = filled_vec(K::default(), n as u64)?;
    for (column, &width) in columns.iter().zip(widths) {
        for (key, &i) in keys.iter_mut().zip(column.iter()) {
            *key = key.push(i, width);
        }
    }
    let bucket_bits = bits_below(n as u64).saturating_sub(BUCKET_ENTRIES_LOG2).min(MAX_BUCKET_BITS).min(bits);
    let rest = bits - bucket_bits;
    let number_bits = bits_below(n as u64);
    let bucket = |key: K| if bucket_bits == 0 { 0 } else { key.shifted(rest) as usize };
    let mut unpacked = Unpacked::new(widths, n)?;
    if rest + number_bits <= u64::BITS {
        let pack = |key: K, k: usize| (key.shifted(0) & mask(rest)).checked_shl(number_bits).unwrap_or(0) | k as u64;
        sort_in_buckets(&keys, bucket_bits, bucket, pack, |b, packed| {
            let low = packed.checked_shr(number_bits).unwrap_or(0);
            unpacked.push(K::from_parts(b, rest, low), packed & mask(number_bits));
        })?;
    } else {
        sort_in_buckets(&keys, bucket_bits, bucket, |key, k| (key, k as u64), |_, (key, k)| unpacked.push(key, k))?;
    }
    Ok(Sorted { columns: unpacked.columns, order: Some(unpacked.order) })
}

/// Sorted keys, taken apart again: this reads and writes in order, where to gather coordinates by number would not.
struct Unpacked {
    columns: Vec<Vec<u64>>,
    order: Vec<u64>,
    /// Where each coordinate is in the key: the bits below it, and its own.
    fields: Vec<(u32, u64)>,
}

impl Unpacked {
    fn new(widths: &[u32], n: usize) -> Result<Unpacked, Error> {
        let mut below = widths.iter().sum();
        let field = |&width: &u32| {
            below -= width;
            (below, mask(width))
        };
        let empty = || {
            let mut list = Vec::new();
            list.try_reserve_exact(n).map_err(|_| Error::TooLarge { elements: n as u64, bytes: size_of::<u64>() })?;
            Ok::<_, Error>(list)
        };
        let columns = widths.iter().map(|_| empty()).collect::<Result<_, _>>()?;
        Ok(Unpacked { columns, order: empty()?, fields: widths.iter().map(field).collect() })
    }

    fn push<K: Key>(&mut self, key: K, number: u64) {
        for (column, &(below, mask)) in self.columns.iter_mut().zip(&self.fields) {
            column.push(key.shifted(below) & mask);
        }
        self.order.push(number);
    }
}

/// Deals `entry(key, k)` for each key into buckets, sorts each bucket, and calls `visit(bucket, entry)` in order.
fn sort_in_buckets<K: Copy, E: Copy + Ord + Default>(
    keys: &[K],
    bucket_bits: u32,
    bucket: impl Fn(K) -> usize,
    entry: impl Fn(K, usize) -> E,
    mut visit: impl FnMut(usize, E),
) -> Result<(), Error> {
    let mut ends = vec![0usize; (1 << bucket_bits) + 1];
    keys.iter().for_each(|&key| ends[bucket(key) + 1] += 1);
    for b in 1..ends.len() {
        ends[b] += ends[b - 1];
    }
    let mut next = ends.clone();
    let mut entries = filled_vec(E::default(), keys.len() as u64)?;
    for (k, &key) in keys.iter().enumerate() {
        let at = &mut next[bucket(key)];
        entries[*at] = entry(key, k);
        *at += 1;
    }
    for (b, pair) in ends.windows(2).enumerate() {
        let entries = &mut entries[pair[0]..pair[1]];
        entries.sort_unstable();
        entries.iter().for_each(|&e| visit(b, e));
    }
    Ok(())
}

/// Sorts entries whose keys are too long to be packed.
fn sort_columns(columns: &[Cow<'_, [u64]>], n: usize) -> Result<Sorted, Error> {
    let mut order = filled_vec(0u64, n as u64)?;
    order.iter_mut().zip(0..).for_each(|(o, k)| *o = k);
    order.sort_unstable_by(|&a, &b| {
        let by_column = columns.iter().map(|c| c[a as usize].cmp(&c[b as usize])).find(|o| o.is_ne());
        by_column.unwrap_or_else(|| a.cmp(&b))
    });
    let columns = columns.iter().map(|c| order.iter().map(|&k| c[k as usize]).collect()).collect();
    Ok(Sorted { columns, order: Some(order) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(columns: &[Vec<u64>], dimensions: &[u64]) {
        let n = columns[0].len();
        let rows = |columns: &[Vec<u64>]| (0..n).map(|k| columns.iter().map(|c| c[k]).collect()).collect();
        let mut expected: Vec<(Vec<u64>, u64)> = Vec::<Vec<u64>>::into_iter(rows(columns)).zip(0..).collect();
        expected.sort();
        let sorted = sort_entries(columns.iter().map(|c| Cow::Borrowed(&c[..])).collect(), dimensions).unwrap();
        let order = sorted.order.unwrap_or_else(|| (0..n as u64).collect());
        let found: Vec<(Vec<u64>, u64)> = Vec::<Vec<u64>>::into_iter(rows(&sorted.columns)).zip(order).collect();
        assert!(found == expected, "dimensions {dimensions:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Protects each width of keys: packed with the number, `u64`, `u128` and unpacked.
        #[test]
        fn sorts_any_dimensions(
            bits in proptest::collection::vec(0u32..64, 1..6),
            n in prop_oneof![0usize..50, Just(5000)],
            seed in any::<u64>(),
        ) {
            let mut state = seed | 1;
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            let dimensions: Vec<u64> = bits.iter().map(|&b| 1 << b).collect();
            let few = next() & 7;
            let columns: Vec<Vec<u64>> =
                dimensions.iter().map(|d| (0..n).map(|_| (next() & (d - 1)) >> few).collect()).collect();
            check(&columns, &dimensions);
        }
    }
}
