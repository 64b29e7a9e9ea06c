//! Sorting of entries by their storage coordinates, and of numbers.
//!
//! The coordinates of an entry are packed into one key, one bit field for each mode, with the
//! entry's number in the lowest bits. Keys are radix-sorted from the least significant digit: each
//! pass reads the keys in order and distributes them into so few buckets that the ends of the
//! buckets stay in cache. A comparison sort is used instead for few entries, and for entries of
//! [`sort_entries`] whose keys would exceed 128 bits. [`order_of_keys`] sorts such entries in
//! several parts instead, and sorts by a single short mode without packing. The sort is stable, so
//! modes by which entries are sorted already, such as the last modes of a transposition, need no
//! pass.

use super::array::{filled_vec, reserved_vec};
use crate::Error;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Entries in ascending order of their coordinates.
pub(crate) struct SortedCoordinates {
    /// The coordinates, one list for each storage mode.
    pub(crate) columns: Vec<Vec<u64>>,
    /// The previous index of each entry; `None` if the entries were sorted already.
    pub(crate) order: Option<Vec<u64>>,
}

/// Sorts entries, given by one list of coordinates for each storage mode. Coordinates are below the
/// dimension of their mode. Entries that are equal in all modes except the last `in_order` must
/// already be sorted by these last modes.
pub(crate) fn sort_entries(
    columns: Vec<Cow<'_, [u64]>>,
    dimensions: &[u64],
    in_order: usize,
) -> Result<SortedCoordinates, Error> {
    let n = columns.first().map_or(0, |c| c.len());
    let (leading, trailing) = columns.split_at(columns.len() - in_order);
    if is_sorted(leading, n) {
        return Ok(SortedCoordinates { columns: columns.into_iter().map(Cow::into_owned).collect(), order: None });
    }
    let widths: Vec<u32> = dimensions[..leading.len()].iter().map(|&d| bits_below(d)).collect();
    let mut sorted = match widths.iter().sum::<u32>() + bits_below(n as u64) {
        0..=64 => sort_keys::<u64>(leading, &widths, n)?,
        65..=128 => sort_keys::<u128>(leading, &widths, n)?,
        _ => sort_columns(leading, n)?,
    };
    let order = sorted.order.as_ref().expect("the entries were reordered");
    for column in trailing {
        sorted.columns.push(list(n, order.iter().map(|&k| column[k as usize]))?);
    }
    Ok(sorted)
}

/// Returns a list of `n` elements.
fn list(n: usize, elements: impl Iterator<Item = u64>) -> Result<Vec<u64>, Error> {
    let mut list = reserved_vec(n)?;
    list.extend(elements);
    Ok(list)
}

/// Returns whether entries ascend; equal entries are allowed.
fn is_sorted(columns: &[Cow<'_, [u64]>], n: usize) -> bool {
    (1..n).all(|k| columns.iter().map(|c| c[k - 1].cmp(&c[k])).find(|o| o.is_ne()).is_none_or(Ordering::is_lt))
}

/// Returns the number of bits of coordinates below `dimension`.
pub(super) fn bits_below(dimension: u64) -> u32 {
    u64::BITS - dimension.saturating_sub(1).leading_zeros()
}

/// Returns a number whose lowest `bits` bits are set.
fn low_bits(bits: u32) -> u64 {
    u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0)
}

/// A sort key with a number in its lowest bits.
trait SortKey: Copy + Ord + Default {
    /// Returns the key shifted left by `bits`, with `low` in the freed bits.
    fn push(self, low: u64, bits: u32) -> Self;
    /// Returns the lowest 64 bits of the key shifted right by `shift`.
    fn shift_right(self, shift: u32) -> u64;
}

macro_rules! impl_key {
    ($t:ty) => {
        impl SortKey for $t {
            fn push(self, low: u64, bits: u32) -> $t {
                self.checked_shl(bits).unwrap_or(0) | <$t>::from(low)
            }

            fn shift_right(self, shift: u32) -> u64 {
                self.checked_shr(shift).unwrap_or(0) as u64
            }
        }
    };
}
impl_key!(u64);
impl_key!(u128);

/// Limit on the bits of a digit: a pass writes to one cache line for each of at most 2^11 buckets.
const DIGIT_BITS: u32 = 11;
/// Number of keys up to which their indices are sorted by insertion, without packing.
const INSERTION_SORT_ENTRIES: usize = 16;
/// Number of entries up to which a comparison sort is used.
const COMPARISON_SORT_ENTRIES: usize = 1 << 10;

fn sort_keys<K: SortKey>(columns: &[Cow<'_, [u64]>], widths: &[u32], n: usize) -> Result<SortedCoordinates, Error> {
    let number_bits = bits_below(n as u64);
    let mut keys = filled_vec(K::default(), n as u64)?;
    for (column, &width) in columns.iter().zip(widths) {
        for (key, &i) in keys.iter_mut().zip(column.iter()) {
            *key = key.push(i, width);
        }
    }
    keys.iter_mut().zip(0..).for_each(|(key, number)| *key = key.push(number, number_bits));
    let bits = widths.iter().sum();
    if n <= COMPARISON_SORT_ENTRIES {
        keys.sort_unstable();
    } else {
        keys = sort_by_digits(keys, number_bits, bits)?;
    }
    let mut below = bits + number_bits;
    let column = |&width: &u32| {
        below -= width;
        list(n, keys.iter().map(|key| key.shift_right(below) & low_bits(width)))
    };
    let columns = widths.iter().map(column).collect::<Result<_, _>>()?;
    let order = list(n, keys.iter().map(|key| key.shift_right(0) & low_bits(number_bits)))?;
    Ok(SortedCoordinates { columns, order: Some(order) })
}

/// Sorts numbers of at most `bits` bits.
pub(super) fn sort_numbers(mut keys: Vec<u64>, bits: u32) -> Result<Vec<u64>, Error> {
    if keys.len() > COMPARISON_SORT_ENTRIES {
        return sort_by_digits(keys, 0, bits);
    }
    keys.sort_unstable();
    Ok(keys)
}

/// Replaces the contents of `order` with the indices of `keys`, in ascending order of the keys. The
/// indices of equal keys ascend.
///
/// Few keys are sorted by comparison. For more keys, each index is packed into one number with the
/// difference between its key and the least key. The difference takes the higher bits. If 64 bits
/// are too few for both, the lowest bits of the differences are dropped. Indices with equal packed
/// differences are then sorted again by their keys.
///
/// # Errors
/// When memory is exhausted.
pub fn order_of_numbers(keys: &[u64], order: &mut Vec<u64>) -> Result<(), Error> {
    order.clear();
    if keys.len() <= INSERTION_SORT_ENTRIES {
        order.extend(0..keys.len() as u64);
        order.sort_by_key(|index| keys[*index as usize]);
        return Ok(());
    }
    let (Some(min), Some(max)) = (keys.iter().min(), keys.iter().max()) else { return Ok(()) };
    let index_bits = bits_below(keys.len() as u64);
    let key_bits = u64::BITS - (max - min).leading_zeros();
    let dropped_bits = (key_bits + index_bits).saturating_sub(u64::BITS);
    let too_large = |_| Error::TooLarge { elements: keys.len() as u64, bytes: size_of::<u64>() };
    order.try_reserve_exact(keys.len()).map_err(too_large)?;
    order.extend(keys.iter().zip(0..).map(|(key, index)| ((key - min) >> dropped_bits).push(index, index_bits)));
    if order.len() <= COMPARISON_SORT_ENTRIES {
        order.sort_unstable();
    } else {
        *order = sort_by_digits(std::mem::take(order), index_bits, key_bits - dropped_bits)?;
    }
    let index = |packed: u64| packed & low_bits(index_bits);
    if dropped_bits > 0 {
        let (mut part, mut part_order) = (Vec::new(), Vec::new());
        for group in order.chunk_by_mut(|a, b| a.shift_right(index_bits) == b.shift_right(index_bits)) {
            if group.len() > 1 {
                // The indices of a group ascend, so equal keys stay in order.
                part.clear();
                part.extend(group.iter().map(|packed| keys[index(*packed) as usize]));
                order_of_numbers(&part, &mut part_order)?;
                part_order.iter_mut().for_each(|k| *k = group[*k as usize]);
                group.copy_from_slice(&part_order);
            }
        }
    }
    order.iter_mut().for_each(|packed| *packed = index(*packed));
    Ok(())
}

/// Sorts keys by the `bits` bits above the lowest `low` bits. The sort is stable.
fn sort_by_digits<K: SortKey>(mut keys: Vec<K>, low: u32, bits: u32) -> Result<Vec<K>, Error> {
    let passes = bits.div_ceil(DIGIT_BITS);
    let digits: Vec<(u32, u32)> = (0..passes).map(|p| (bits * p / passes, bits * (p + 1) / passes)).collect();
    let digit = |key: K, &(from, to): &(u32, u32)| (key.shift_right(low + from) & low_bits(to - from)) as usize;
    let mut counts: Vec<Vec<usize>> = digits.iter().map(|(from, to)| vec![0; 1 << (to - from)]).collect();
    for &key in &keys {
        counts.iter_mut().zip(&digits).for_each(|(counts, at)| counts[digit(key, at)] += 1);
    }
    let mut other = filled_vec(K::default(), keys.len() as u64)?;
    for (mut next, at) in counts.into_iter().zip(&digits) {
        if next.contains(&keys.len()) {
            continue;
        }
        let mut start = 0;
        for next in &mut next {
            start += std::mem::replace(next, start);
        }
        for &key in &keys {
            let next = &mut next[digit(key, at)];
            other[*next] = key;
            *next += 1;
        }
        std::mem::swap(&mut keys, &mut other);
    }
    Ok(keys)
}

/// Returns the indices of entries in ascending order of the coordinates of the entries. `columns`
/// has one list of coordinates for each mode, `dimensions` the dimension of each mode. The order is
/// stable.
pub(super) fn order_of_keys(columns: &[Vec<u32>], dimensions: &[u64]) -> Result<Vec<u32>, Error> {
    if let ([column], &[dimension, ..]) = (columns, dimensions)
        && dimension <= (MAX_BUCKETS_PER_ENTRY * column.len() as u64).min(MAX_BUCKETS)
    {
        return order_by_buckets(column, dimension);
    }
    let widths: Vec<u32> = dimensions.iter().take(columns.len()).map(|&d| bits_below(d)).collect();
    match widths.iter().sum::<u32>() {
        0..=32 => order_of::<u64>(columns, &widths),
        33..=96 => order_of::<u128>(columns, &widths),
        _ => {
            // Sorts by the trailing modes that fit one key, then by the other modes.
            let split = widths.iter().rev().scan(0, |bits, w| (*bits + w <= 96).then(|| *bits += w)).count();
            let split = columns.len() - split.max(1);
            let low = order_of_keys(&columns[split..], &dimensions[split..])?;
            let gathered = |c: &Vec<u32>| low.iter().map(|&k| c[k as usize]).collect();
            let high: Vec<Vec<u32>> = columns[..split].iter().map(gathered).collect();
            let order = order_of_keys(&high, dimensions)?;
            Ok(order.into_iter().map(|k| low[k as usize]).collect())
        }
    }
}

/// Limit on the number of buckets of a pass: the table of their ends must stay in cache.
const MAX_BUCKETS: u64 = 1 << 20;
/// Limit on the number of buckets per entry, because a pass iterates over all buckets to sum their
/// sizes.
const MAX_BUCKETS_PER_ENTRY: u64 = 2;

fn order_by_buckets(column: &[u32], dimension: u64) -> Result<Vec<u32>, Error> {
    let mut next = filled_vec(0u32, dimension)?;
    column.iter().for_each(|&i| next[i as usize] += 1);
    let mut start = 0;
    for next in &mut next {
        start += std::mem::replace(next, start);
    }
    let mut order = filled_vec(0u32, column.len() as u64)?;
    for (&i, number) in column.iter().zip(0..) {
        let next = &mut next[i as usize];
        order[*next as usize] = number;
        *next += 1;
    }
    Ok(order)
}

fn order_of<K: SortKey>(columns: &[Vec<u32>], widths: &[u32]) -> Result<Vec<u32>, Error> {
    let Some((first, rest)) = columns.split_first() else { return Ok(Vec::new()) };
    let mut keys: Vec<K> = reserved_vec(first.len())?;
    let key = |(k, &i): (usize, &u32)| {
        let all = rest.iter().zip(&widths[1..]);
        all.fold(K::default().push(u64::from(i), widths[0]), |key, (c, &width)| key.push(u64::from(c[k]), width))
    };
    keys.extend(first.iter().enumerate().map(key).zip(0..).map(|(key, number)| key.push(number, u32::BITS)));
    let bits = widths.iter().sum();
    if keys.len() <= COMPARISON_SORT_ENTRIES {
        keys.sort_unstable();
    } else {
        keys = sort_by_digits(keys, u32::BITS, bits)?;
    }
    Ok(keys.iter().map(|key| key.shift_right(0) as u32).collect())
}

/// Sorts entries whose keys are too long to be packed.
fn sort_columns(columns: &[Cow<'_, [u64]>], n: usize) -> Result<SortedCoordinates, Error> {
    let mut order = filled_vec(0u64, n as u64)?;
    order.iter_mut().zip(0..).for_each(|(o, k)| *o = k);
    order.sort_unstable_by(|&a, &b| {
        let by_column = columns.iter().map(|c| c[a as usize].cmp(&c[b as usize])).find(|o| o.is_ne());
        by_column.unwrap_or_else(|| a.cmp(&b))
    });
    let columns = columns.iter().map(|c| order.iter().map(|&k| c[k as usize]).collect()).collect();
    Ok(SortedCoordinates { columns, order: Some(order) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Checks the sort of entries that are already in the order of their last `in_order` columns.
    fn check(mut columns: Vec<Vec<u64>>, dimensions: &[u64], in_order: usize) {
        let n = columns[0].len();
        let rows = |columns: &[Vec<u64>]| -> Vec<Vec<u64>> {
            (0..n).map(|k| columns.iter().map(|c| c[k]).collect()).collect()
        };
        let mut before = rows(&columns);
        before.sort_by_key(|row| row[columns.len() - in_order..].to_vec());
        columns.iter_mut().enumerate().for_each(|(c, column)| *column = before.iter().map(|row| row[c]).collect());
        let mut expected: Vec<(Vec<u64>, u64)> = before.into_iter().zip(0..).collect();
        expected.sort();
        let columns = columns.iter().map(|c| Cow::Borrowed(&c[..])).collect();
        let sorted = sort_entries(columns, dimensions, in_order).unwrap();
        let order = sorted.order.unwrap_or_else(|| (0..n as u64).collect());
        let found: Vec<(Vec<u64>, u64)> = rows(&sorted.columns).into_iter().zip(order).collect();
        assert!(found == expected, "dimensions {dimensions:?}");
    }

    /// Returns a generator of xorshift random numbers.
    fn numbers(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// `order_of_numbers` is correct with and without dropped bits, for few and many equal
        /// keys.
        #[test]
        fn numbers_are_in_order_of_keys(
            high in 0u32..=64,
            low in 0u32..=64,
            offset in any::<u64>(),
            n in prop_oneof![0usize..50, Just(5000)],
            seed in any::<u64>(),
        ) {
            let mut next = numbers(seed);
            // Few high bits and few low bits vary.
            let few = |bits: u64| (bits & low_bits(low)) | (bits.rotate_right(8) & !low_bits(64 - high));
            let keys: Vec<u64> = (0..n).map(|_| few(next()).wrapping_add(offset)).collect();
            let mut expected: Vec<u64> = (0..n as u64).collect();
            expected.sort_by_key(|k| keys[*k as usize]);
            let mut order = vec![7];
            order_of_numbers(&keys, &mut order).unwrap();
            prop_assert!(order == expected);
        }

        /// `order_of_keys` is correct for each width of keys, including keys sorted in several
        /// parts.
        #[test]
        fn numbers_are_in_order_of_any_dimensions(
            bits in proptest::collection::vec(0u32..=32, 0..6),
            n in prop_oneof![0usize..50, Just(3000)],
            few in 0u32..32,
            seed in any::<u64>(),
        ) {
            let mut next = numbers(seed);
            let dimensions: Vec<u64> = bits.iter().map(|&b| 1 << b).collect();
            let columns: Vec<Vec<u32>> =
                dimensions.iter().map(|d| (0..n).map(|_| ((next() & (d - 1)) >> few) as u32).collect()).collect();
            let mut expected: Vec<u32> = (0..if columns.is_empty() { 0 } else { n as u32 }).collect();
            expected.sort_by_key(|&k| columns.iter().map(|c| c[k as usize]).collect::<Vec<_>>());
            prop_assert!(order_of_keys(&columns, &dimensions).unwrap() == expected, "dimensions {dimensions:?}");
        }

        /// `sort_entries` is correct for each width of keys (`u64`, `u128`, unpacked), for few and
        /// many entries.
        #[test]
        fn sorts_any_dimensions(
            bits in proptest::collection::vec(0u32..64, 1..6),
            n in prop_oneof![0usize..50, Just(5000)],
            in_order in 0usize..3,
            seed in any::<u64>(),
        ) {
            let mut next = numbers(seed);
            let dimensions: Vec<u64> = bits.iter().map(|&b| 1 << b).collect();
            let few = next() & 7;
            let columns: Vec<Vec<u64>> =
                dimensions.iter().map(|d| (0..n).map(|_| (next() & (d - 1)) >> few).collect()).collect();
            check(columns, &dimensions, in_order.min(bits.len()));
        }
    }
}
