//! Random numbers that are the same on every machine, and distributions of them.
//!
//! The generator is ChaCha with 8 rounds (D. J. Bernstein, "ChaCha, a variant of Salsa20", 2008),
//! as in the `rand_chacha` crate. The key is the seed in the first 8 of 32 bytes, little-endian,
//! followed by zeros. The 64-bit block counter starts at 0, and the stream number has 64 bits. The
//! functions of this file consume the 64-bit words of the generator in order.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A source of random numbers.
pub struct Random(ChaCha8Rng);

impl Random {
    /// Returns the source with the given seed and stream.
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut source = ChaCha8Rng::from_seed(key);
        source.set_stream(stream);
        Random(source)
    }

    /// Returns the next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a number below `n`; all such numbers are equally likely. Returns 0 if `n` is 0.
    ///
    /// Source: D. Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29 (2019),
    /// algorithm 5.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            let low = product as u64;
            if low >= n || low >= n.wrapping_neg().checked_rem(n).unwrap_or(0) {
                return (product >> 64) as u64;
            }
        }
    }

    /// Draws a number below `n`, which may exceed 64 bits; all such numbers are equally likely. For
    /// a wide `n`, draws numbers below the next power of two until one is below `n`.
    pub fn below_wide(&mut self, n: u128) -> u128 {
        if let Ok(n) = u64::try_from(n) {
            return u128::from(self.below(n));
        }
        let mask = u128::MAX >> (n - 1).leading_zeros();
        loop {
            let number = (u128::from(self.bits()) << 64 | u128::from(self.bits())) & mask;
            if number < n {
                return number;
            }
        }
    }

    /// Draws a number from 0 (included) to 1 (excluded) with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws a normally distributed number of mean 0 and deviation 1.
    ///
    /// Source: G. E. P. Box and M. E. Muller, "A Note on the Generation of Random Normal Deviates",
    /// Annals of Mathematical Statistics 29 (1958). Only the cosine of each pair is used.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Returns the numbers below `n` in random order (Fisher-Yates shuffle in Durstenfeld's form).
    pub fn permutation(&mut self, n: u64) -> Vec<u64> {
        let mut numbers: Vec<u64> = (0..n).collect();
        for last in (1..numbers.len()).rev() {
            numbers.swap(last, self.below(last as u64 + 1) as usize);
        }
        numbers
    }
}

/// An alias table that draws `k` with probability proportional to its weight, in constant time.
///
/// Source: M. D. Vose, "A Linear Algorithm for Generating Random Numbers with a Given
/// Distribution", IEEE Transactions on Software Engineering 17 (1991).
pub(super) struct AliasTable {
    /// For column `k`, the probability of drawing `k`, and the number that is drawn otherwise.
    columns: Vec<(f64, u32)>,
}

impl AliasTable {
    /// Builds the table of positive weights, fewer than 2^32 of them.
    pub(super) fn new(weights: &[f64]) -> AliasTable {
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut columns: Vec<(f64, u32)> = weights.iter().enumerate().map(|(k, w)| (w / mean, k as u32)).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..weights.len() as u32).partition(|&k| columns[k as usize].0 < 1.0);
        while let (Some(&s), Some(&l)) = (small.last(), large.last()) {
            small.pop();
            columns[s as usize].1 = l;
            let left = columns[l as usize].0 - (1.0 - columns[s as usize].0);
            columns[l as usize].0 = left;
            if left < 1.0 {
                large.pop();
                small.push(l);
            }
        }
        // The remaining probabilities differ from 1 only by rounding.
        for k in small.into_iter().chain(large) {
            columns[k as usize].0 = 1.0;
        }
        AliasTable { columns }
    }

    pub(super) fn draw(&self, random: &mut Random) -> usize {
        let k = random.below(self.columns.len() as u64) as usize;
        let (probability, other) = self.columns[k];
        if random.unit() < probability { k } else { other as usize }
    }
}

/// Returns the weights of a power law: the weight of `k`, counted from 0, is `(k + 1)^-skew`.
pub(super) fn power_law(n: u64, skew: f64) -> Vec<f64> {
    (0..n).map(|k| libm::pow((k + 1) as f64, -skew)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that the source returns the words of the ChaCha8 test vector for an all-zero key
    /// (draft-strombergson-chacha-test-vectors-01, TC1, 8 rounds).
    #[test]
    fn the_source_is_chacha8() {
        let mut random = Random::new(0, 0);
        let bytes: Vec<u8> = (0..2).flat_map(|_| random.bits().to_le_bytes()).collect();
        let expected: [u8; 16] =
            [0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6, 0x7f, 0x5b, 0xb8, 0xe8, 0x1f, 0x09, 0xa5, 0xa1];
        assert_eq!(bytes, expected);
        assert_ne!(Random::new(0, 1).bits(), Random::new(0, 0).bits());
    }

    #[test]
    fn numbers_below_are_uniform() {
        let mut random = Random::new(1, 0);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[random.below(7) as usize] += 1);
        // Six deviations of a binomial count of 10000.
        assert!(counts.iter().all(|c| c.abs_diff(10_000) < 560), "{counts:?}");
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        let n = (1u128 << 70) + 5;
        assert!((0..1000).all(|_| random.below_wide(n) < n));
    }

    #[test]
    fn normal_numbers_have_mean_and_deviation() {
        let mut random = Random::new(2, 0);
        let drawn: Vec<f64> = (0..40_000).map(|_| random.normal()).collect();
        let mean = drawn.iter().sum::<f64>() / 40_000.0;
        let square = drawn.iter().map(|x| x * x).sum::<f64>() / 40_000.0;
        assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.05, "{mean} {square}");
    }

    #[test]
    fn draws_follow_the_weights() {
        let mut random = Random::new(3, 0);
        let table = AliasTable::new(&[1.0, 5.0, 0.5, 3.5]);
        let mut counts = [0i32; 4];
        (0..40_000).for_each(|_| counts[table.draw(&mut random)] += 1);
        for (count, expected) in counts.into_iter().zip([4000, 20_000, 2000, 14_000]) {
            assert!((count - expected).abs() < 600, "{counts:?}");
        }
    }
}
