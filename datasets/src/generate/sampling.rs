//! Sampling of sorted, distinct positions (numbers below a bound), and their conversion to
//! coordinates.

use super::random::Random;

/// Visits each number below `n` with probability `p`, independently, in ascending order. The time
/// is linear in the number of visits: gaps are drawn from their geometric distribution.
///
/// Source: V. Batagelj and U. Brandes, "Efficient Generation of Large Random Networks", Physical
/// Review E 71 (2005), algorithm 1.
pub(super) fn visit_sampled(n: u128, p: f64, random: &mut Random, mut visit: impl FnMut(u128)) {
    if p >= 1.0 {
        (0..n).for_each(visit);
    } else if p > 0.0 {
        let scale = 1.0 / libm::log1p(-p);
        let mut next = 0u128;
        loop {
            // A cast of a large float saturates, which ends the loop.
            next = next.saturating_add((libm::log(1.0 - random.unit()) * scale) as u128);
            if next >= n {
                return;
            }
            visit(next);
            next += 1;
        }
    }
}

/// An integer type that is wide enough for the positions of a tensor.
pub(super) trait PositionNumber: Copy + Ord {
    /// Draws a number below `n`; all such numbers are equally likely.
    fn draw(n: u128, random: &mut Random) -> Self;
    /// Converts to a wide number.
    fn to_wide(self) -> u128;
    /// Converts from a wide number that fits.
    fn from_wide(wide: u128) -> Self;
}

impl PositionNumber for u64 {
    fn draw(n: u128, random: &mut Random) -> u64 {
        random.below(n as u64)
    }

    fn to_wide(self) -> u128 {
        self.into()
    }

    fn from_wide(wide: u128) -> u64 {
        wide as u64
    }
}

impl PositionNumber for u128 {
    fn draw(n: u128, random: &mut Random) -> u128 {
        random.below_wide(n)
    }

    fn to_wide(self) -> u128 {
        self
    }

    fn from_wide(wide: u128) -> u128 {
        wide
    }
}

/// Draws exactly `count` different numbers below `n`, and returns them sorted. All sets of `count`
/// numbers are equally likely. Calls `report` at intervals with the count of numbers drawn so far.
///
/// Each round draws as many numbers as are missing, until `count` different numbers are found. If
/// `count` is more than half of `n`, the complement of the set is drawn.
pub(super) fn choose<P: PositionNumber>(
    n: u128,
    count: usize,
    random: &mut Random,
    report: &mut dyn FnMut(u64),
) -> Vec<P> {
    if count as u128 * 2 > n {
        let excluded = choose_few::<P>(n, (n - count as u128) as usize, random, report);
        let mut excluded = excluded.into_iter().map(P::to_wide).peekable();
        return (0..n).filter(|k| excluded.next_if_eq(k).is_none()).map(P::from_wide).collect();
    }
    choose_few(n, count, random, report)
}

fn choose_few<P: PositionNumber>(n: u128, count: usize, random: &mut Random, report: &mut dyn FnMut(u64)) -> Vec<P> {
    const PERIOD: usize = 1 << 16;
    let mut chosen: Vec<P> = Vec::with_capacity(count);
    while chosen.len() < count {
        for k in chosen.len()..count {
            if k.is_multiple_of(PERIOD) {
                report(k as u64);
            }
            chosen.push(P::draw(n, random));
        }
        chosen.sort_unstable();
        chosen.dedup();
    }
    chosen
}

/// Appends the coordinates of a row-major position in a tensor of the given shape, one per mode.
pub(super) fn push_coordinates(shape: &[u64], position: u128, coordinates: &mut [Vec<u64>]) {
    if let Ok(mut rest) = u64::try_from(position) {
        for (mode, &dimension) in shape.iter().enumerate().rev() {
            coordinates[mode].push(rest % dimension);
            rest /= dimension;
        }
    } else {
        let mut rest = position;
        for (mode, &dimension) in shape.iter().enumerate().rev() {
            coordinates[mode].push((rest % u128::from(dimension)) as u64);
            rest /= u128::from(dimension);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_equally_likely() {
        let mut random = Random::new(4, 0);
        let (mut visited, mut few, mut many) = ([0u32; 10], [0u32; 10], [0u32; 10]);
        for _ in 0..20_000 {
            visit_sampled(10, 0.3, &mut random, |k| visited[k as usize] += 1);
            choose::<u64>(10, 3, &mut random, &mut |_| ()).into_iter().for_each(|k| few[k as usize] += 1);
            choose::<u128>(10, 8, &mut random, &mut |_| ()).into_iter().for_each(|k| many[k as usize] += 1);
        }
        // Six deviations of binomial counts.
        assert!(visited.iter().chain(&few).all(|c| c.abs_diff(6000) < 390), "{visited:?} {few:?}");
        assert!(many.iter().all(|c| c.abs_diff(16_000) < 340), "{many:?}");
    }

    #[test]
    fn edges_of_the_range() {
        let mut random = Random::new(5, 0);
        let count = |n, p, random: &mut Random| {
            let mut count = 0;
            visit_sampled(n, p, random, |_| count += 1);
            count
        };
        assert_eq!((count(9, 1.0, &mut random), count(9, 0.0, &mut random), count(0, 0.5, &mut random)), (9, 0, 0));
        assert_eq!(count(u128::MAX, 1e-300, &mut random), 0);
        assert_eq!(choose::<u64>(5, 5, &mut random, &mut |_| ()), [0, 1, 2, 3, 4]);
        assert!(choose::<u64>(0, 0, &mut random, &mut |_| ()).is_empty());
        let wide = choose::<u128>(1 << 90, 100, &mut random, &mut |_| ());
        assert!(wide.len() == 100 && wide.is_sorted_by(|a, b| a < b) && wide[50] > 1 << 80);
    }
}
