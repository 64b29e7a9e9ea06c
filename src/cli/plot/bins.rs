//! Bins of histograms: single whole numbers, or ranges between powers of two.

use crate::storage::Histogram;

/// Maximum number of bins that hold a single number each.
const MOST_SINGLE: u64 = 32;

/// The bins of a histogram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Bins(Vec<Bin>);

/// A range of numbers, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bin {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Bins {
    /// Returns bins for the numbers of all histograms. If the range from the smallest to the
    /// largest number is short, each number in it has a bin. Otherwise a bin reaches from each
    /// power of two to the number before the next power, and 0 has a bin of its own if it occurs.
    pub(super) fn of(histograms: &[Histogram]) -> Bins {
        let least = histograms.iter().filter_map(|h| h.first_key_value()).map(|(k, _)| *k).min().unwrap_or(0);
        let most = histograms.iter().filter_map(|h| h.last_key_value()).map(|(k, _)| *k).max().unwrap_or(0);
        if most - least < MOST_SINGLE {
            return Bins((least..=most).map(|k| Bin { first: k, last: k }).collect());
        }
        let zero = (least == 0).then_some(Bin { first: 0, last: 0 });
        let power = |k: u32| Bin { first: 1 << k, last: u64::MAX >> (63 - k) };
        Bins(zero.into_iter().chain((least.max(1).ilog2()..=most.ilog2()).map(power)).collect())
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = Bin> {
        self.0.iter().copied()
    }

    /// Returns whether the bins are ranges between powers of two.
    pub(super) fn are_powers(&self) -> bool {
        self.0.iter().any(|bin| bin.first < bin.last)
    }

    /// Counts the numbers of a histogram by bin.
    pub(super) fn counts(&self, histogram: &Histogram) -> Vec<u64> {
        self.iter().map(|bin| histogram.range(bin.first..=bin.last).map(|(_, count)| count).sum()).collect()
    }
}

impl Bin {
    /// Returns the text of the range.
    pub(super) fn range(self) -> String {
        if self.first == self.last { self.first.to_string() } else { format!("{} to {}", self.first, self.last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that every number is in one bin.
    #[test]
    fn bins_cover_the_numbers() {
        let of = |numbers: &[u64]| Bins::of(&[numbers.iter().map(|k| (*k, 1)).collect()]);
        let ranges = |bins: &Bins| bins.iter().map(Bin::range).collect::<Vec<_>>();
        assert_eq!(ranges(&of(&[])), ["0"]);
        assert_eq!(ranges(&of(&[2, 4])), ["2", "3", "4"]);
        assert_eq!(ranges(&of(&[0, 9, 40])), ["0", "1", "2 to 3", "4 to 7", "8 to 15", "16 to 31", "32 to 63"]);
        for numbers in [&[0, u64::MAX][..], &[5, 1000], &[1, 33], &[0, 31], &[0, 32]] {
            let bins = of(numbers);
            let histogram: Histogram = numbers.iter().map(|k| (*k, 1)).collect();
            assert_eq!(bins.counts(&histogram).iter().sum::<u64>(), numbers.len() as u64, "{numbers:?}");
        }
    }
}
