//! Sorting of rows by their codes.

use std::cmp::Ordering;

/// Compares the codes of two rows.
pub(super) fn compare(codes: &[&[u64]], a: usize, b: usize) -> Ordering {
    codes.iter().map(|codes| codes[a].cmp(&codes[b])).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Sorts `count` rows by their codes; rows with equal codes keep their order. `None`, as argument
/// and as result, means all rows in the order of the table.
///
/// Tables are often stored in the order of their first key. If such a table has few rows per key,
/// only the rows of each key are sorted.
pub(super) fn sort_rows(rows: Option<Vec<u32>>, count: usize, codes: &[&[u64]], shape: &[u64]) -> Option<Vec<u32>> {
    let row = |k: usize| rows.as_ref().map_or(k, |rows| rows[k] as usize);
    let Some((first, rest)) = codes.split_first() else { return rows };
    let (mut sorted, mut first_sorted, mut key_count) = (true, true, 1);
    for k in 1..count {
        let (a, b) = (row(k - 1), row(k));
        first_sorted &= first[a] <= first[b];
        if !first_sorted {
            sorted = false;
            break;
        }
        key_count += usize::from(first[a] != first[b]);
        sorted = sorted && (first[a] != first[b] || compare(rest, a, b).is_le());
    }
    if sorted {
        return rows;
    }
    let mut rows = rows.unwrap_or_else(|| (0..count as u32).collect());
    if first_sorted && key_count * MAX_ROWS_PER_KEY >= count {
        for same in rows.chunk_by_mut(|&a, &b| first[a as usize] == first[b as usize]) {
            same.sort_unstable_by(|&a, &b| compare(rest, a as usize, b as usize).then(a.cmp(&b)));
        }
        return Some(rows);
    }
    let Some(size) = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d)) else {
        rows.sort_unstable_by(|&a, &b| compare(codes, a as usize, b as usize).then(a.cmp(&b)));
        return Some(rows);
    };
    let key = |row: &u32| codes.iter().zip(shape).fold(0, |at, (c, n)| at * n + c[*row as usize]);
    Some(match size <= count.max(MIN_RADIX_ROWS) as u64 {
        true => counting_sort(key, &rows, size as usize),
        false => radix_sort(rows.iter().map(key).collect(), rows, size),
    })
}

/// The largest mean number of rows per key for which the rows of each key are sorted by comparison.
const MAX_ROWS_PER_KEY: usize = 16;

/// Number of bits of a digit of [`radix_sort`], chosen so that the counters fit the first-level
/// cache.
const DIGIT: u32 = 11;

/// The smallest number of rows for which radix sort is used, and the number of keys up to which
/// counting sort is used for any number of rows.
const MIN_RADIX_ROWS: usize = 256;

/// Sorts rows by `key`, the linear index of their codes, which is below `bound`. The sort is
/// stable (counting sort).
fn counting_sort(key: impl Fn(&u32) -> u64, rows: &[u32], bound: usize) -> Vec<u32> {
    let mut starts = vec![0u32; bound];
    rows.iter().for_each(|row| starts[key(row) as usize] += 1);
    let mut sum = 0;
    for start in &mut starts {
        sum += std::mem::replace(start, sum);
    }
    let mut sorted = vec![0; rows.len()];
    for row in rows {
        let at = &mut starts[key(row) as usize];
        sorted[*at as usize] = *row;
        *at += 1;
    }
    sorted
}

/// Sorts rows by `keys` as [`counting_sort`] does (radix sort, least significant digit first). The
/// time grows with the number of digits of `bound`, not with `bound` itself. Fewer than
/// [`MIN_RADIX_ROWS`] rows, which must ascend, are sorted by comparison.
fn radix_sort(mut keys: Vec<u64>, mut rows: Vec<u32>, bound: u64) -> Vec<u32> {
    if keys.len() < MIN_RADIX_ROWS {
        let mut pairs: Vec<(u64, u32)> = keys.into_iter().zip(rows).collect();
        pairs.sort_unstable();
        return pairs.into_iter().map(|(_, row)| row).collect();
    }
    let (mut next_keys, mut next_rows) = (vec![0; keys.len()], vec![0; rows.len()]);
    let bits = u64::BITS - bound.leading_zeros();
    for shift in (0..bits).step_by(DIGIT as usize) {
        let digit = |key: u64| (key >> shift) as usize & ((1 << DIGIT) - 1);
        let mut starts = [0u32; 1 << DIGIT];
        keys.iter().for_each(|&key| starts[digit(key)] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        for (&key, &row) in keys.iter().zip(&rows) {
            let at = &mut starts[digit(key)];
            (next_keys[*at as usize], next_rows[*at as usize]) = (key, row);
            *at += 1;
        }
        std::mem::swap(&mut keys, &mut next_keys);
        std::mem::swap(&mut rows, &mut next_rows);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorting is stable with any number of digits, so that sums of floats do not depend on the
    /// algorithm.
    #[test]
    fn rows_are_sorted_and_rows_of_one_key_keep_their_order() {
        for (count, bound) in [(5, 10), (1000, 7), (1000, 3000), (5000, 1 << 40), (300, u64::MAX)] {
            let mut state = 1u64;
            let key = |_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 1) % bound
            };
            let keys: Vec<u64> = (0..count).map(key).collect();
            let mut pairs: Vec<(u64, u32)> = keys.iter().copied().zip(0..).collect();
            pairs.sort_unstable();
            let expected: Vec<u32> = pairs.into_iter().map(|(_, row)| row).collect();
            let rows: Vec<u32> = (0..count).collect();
            if bound <= 3000 {
                assert_eq!(counting_sort(|row| keys[*row as usize], &rows, bound as usize), expected);
            }
            assert_eq!(radix_sort(keys, rows, bound), expected, "{count} below {bound}");
        }
    }
}
