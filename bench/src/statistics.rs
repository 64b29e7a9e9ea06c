//! Statistics of repeated measurements: best, median and spread; ratios of rounds with confidence
//! intervals; slopes of lines and rank correlations.

use serde::{Deserialize, Serialize};

/// A summary of measurements of one quantity.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// The smallest measurement.
    pub best: f64,
    /// The median.
    pub median: f64,
    /// The distance between the quartiles, divided by the median.
    pub spread: f64,
    /// Number of measurements.
    pub count: usize,
}

/// The median of ratios, with a confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Ratio {
    /// The median.
    pub median: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// Number of ratios.
    pub count: usize,
}

impl Summary {
    /// Summarizes numbers; `None` if there are none.
    pub fn of(numbers: &[f64]) -> Option<Summary> {
        let sorted = sorted(numbers);
        let best = *sorted.first()?;
        let median = quantile(&sorted, 0.5);
        let spread = (quantile(&sorted, 0.75) - quantile(&sorted, 0.25)) / median;
        Some(Summary { best, median, spread, count: sorted.len() })
    }
}

impl Ratio {
    /// Returns the ratio of two sides that ran in turns, from the ratio of each round; `None`
    /// without rounds.
    ///
    /// The interval is made of order statistics: both ends are measured ratios, and the interval
    /// covers the median of any distribution with a probability of at least 95%. With fewer than
    /// six rounds there is no such interval, so the whole range of the ratios takes its place.
    pub fn of_rounds(numerators: &[f64], denominators: &[f64]) -> Option<Ratio> {
        let ratios: Vec<f64> = numerators.iter().zip(denominators).map(|(a, b)| a / b).collect();
        let sorted = sorted(&ratios);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let (low, high) = match rank_of_interval(sorted.len()) {
            Some(rank) => (sorted[rank], sorted[sorted.len() - 1 - rank]),
            None => (min, max),
        };
        Some(Ratio { median: quantile(&sorted, 0.5), low, high, count: sorted.len() })
    }
}

/// Returns the slope of the least-squares line through points; `None` if they have fewer than two
/// different `x`.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let square: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    let product: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    (points.len() > 1 && square > 0.0).then(|| product / square)
}

/// Returns Spearman's rank correlation of the two coordinates of points, where equal numbers get
/// their mean rank. Returns `None` if a coordinate is constant.
pub fn rank_correlation(points: &[(f64, f64)]) -> Option<f64> {
    let (x, y) = (ranks(points.iter().map(|p| p.0)), ranks(points.iter().map(|p| p.1)));
    let mean = (points.len() as f64 - 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let scale = (product(&x, &x) * product(&y, &y)).sqrt();
    (scale > 0.0).then(|| product(&x, &y) / scale)
}

/// Returns the rank of each number, counted from 0; equal numbers get their mean rank.
fn ranks(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let numbers: Vec<f64> = numbers.collect();
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
    let mut ranks = vec![0.0; numbers.len()];
    let mut first = 0;
    for equal in order.chunk_by(|a, b| numbers[*a] == numbers[*b]) {
        let rank = first as f64 + (equal.len() as f64 - 1.0) / 2.0;
        equal.iter().for_each(|k| ranks[*k] = rank);
        first += equal.len();
    }
    ranks
}

fn sorted(numbers: &[f64]) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns a quantile of non-empty sorted numbers, interpolating linearly between the two nearest.
fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let rank = fraction * (sorted.len() - 1) as f64;
    let (low, high) = (rank.floor() as usize, rank.ceil() as usize);
    sorted[low] + (rank - low as f64) * (sorted[high] - sorted[low])
}

/// Returns the largest `k` such that the `k`-th smallest and `k`-th largest of `n` numbers, counted
/// from 0, enclose the median of their distribution with a probability of at least 95%. Both tails
/// of the binomial distribution are then at most 2.5%. Returns `None` if there is no such `k`.
fn rank_of_interval(n: usize) -> Option<usize> {
    let mut term = 0.5f64.powi(i32::try_from(n).ok()?);
    let (mut tail, mut rank) = (0.0, None);
    for k in 0..n / 2 {
        tail += term;
        if tail > 0.025 {
            break;
        }
        rank = Some(k);
        term *= (n - k) as f64 / (k + 1) as f64;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_have_quartiles() {
        let summary = Summary::of(&[5.0, 1.0, 2.0, 4.0, 3.0]).unwrap();
        assert_eq!(summary, Summary { best: 1.0, median: 3.0, spread: 2.0 / 3.0, count: 5 });
        assert_eq!(Summary::of(&[4.0, 2.0]).unwrap().median, 3.0);
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn intervals_are_order_statistics() {
        // Ranks from published tables for a median at 95%: 1st and 6th of 6, 2nd and 9th of 10, 6th
        // and 15th of 20.
        assert_eq!([5, 6, 10, 20].map(rank_of_interval), [None, Some(0), Some(1), Some(5)]);
        let times: Vec<f64> = (1..=10).map(f64::from).collect();
        let ratio = Ratio::of_rounds(&times, &[1.0; 10]).unwrap();
        assert_eq!((ratio.median, ratio.low, ratio.high), (5.5, 2.0, 9.0));
        // Ratios are taken within rounds, so noise that slows both sides down cancels.
        let shared = Ratio::of_rounds(&[2.0, 20.0, 200.0], &[1.0, 10.0, 100.0]).unwrap();
        assert_eq!((shared.median, shared.low, shared.high), (2.0, 2.0, 2.0));
    }

    #[test]
    fn slope_of_a_line_is_exact() {
        assert_eq!(slope(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]), Some(2.0));
        assert_eq!(slope(&[(1.0, 1.0)]), None);
    }

    #[test]
    fn rank_correlation_depends_only_on_order() {
        let points = |y: &[f64]| (0..).map(f64::from).zip(y.iter().copied()).collect::<Vec<_>>();
        assert_eq!(rank_correlation(&points(&[1.0, 10.0, 1000.0])), Some(1.0));
        assert_eq!(rank_correlation(&points(&[3.0, 2.0, 1.0])), Some(-1.0));
        assert_eq!(rank_correlation(&points(&[1.0, 1.0])), None);
        // The textbook value for one swapped pair of neighbours.
        assert_eq!(rank_correlation(&points(&[1.0, 3.0, 2.0, 4.0])), Some(0.8));
        // Equal numbers get their mean rank.
        let tied = rank_correlation(&points(&[1.0, 2.0, 2.0, 3.0])).unwrap();
        assert!((tied - 0.948_683_298).abs() < 1e-9, "{tied}");
    }
}
