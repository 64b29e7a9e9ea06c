//! Pairs of measurements of two sides in turns, so that noise of the machine affects both sides
//! alike.

use std::time::{Duration, Instant};

/// The times of two sides that ran in turns.
pub struct Pairs {
    times: Vec<(Duration, Duration)>,
}

impl Pairs {
    /// Runs both sides in turns, in alternating order: at least `min_rounds` rounds, then further
    /// rounds until the budget is used up or 1000 rounds are done. Both sides first run once
    /// unmeasured.
    pub fn measure(budget: Duration, min_rounds: usize, mut first: impl FnMut(), mut second: impl FnMut()) -> Pairs {
        let clock = |side: &mut dyn FnMut()| {
            let start = Instant::now();
            side();
            start.elapsed()
        };
        clock(&mut first);
        clock(&mut second);
        let (start, mut times) = (Instant::now(), Vec::new());
        while times.len() < min_rounds || (start.elapsed() < budget && times.len() < 1000) {
            if times.len() % 2 == 0 {
                let a = clock(&mut first);
                times.push((a, clock(&mut second)));
            } else {
                let b = clock(&mut second);
                times.push((clock(&mut first), b));
            }
        }
        Pairs { times }
    }

    /// Returns the number of rounds.
    pub fn rounds(&self) -> usize {
        self.times.len()
    }

    /// Returns the median over rounds of the first side's time divided by the second side's time.
    pub fn median_ratio(&self) -> f64 {
        median(self.times.iter().map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()))
    }

    /// Returns the best time of the first side divided by the best time of the second side.
    pub fn best_ratio(&self) -> f64 {
        self.best().0.as_secs_f64() / self.best().1.as_secs_f64()
    }

    /// Returns the best time of each side.
    pub fn best(&self) -> (Duration, Duration) {
        let best = |side: fn(&(Duration, Duration)) -> Duration| self.times.iter().map(side).min().unwrap_or_default();
        (best(|t| t.0), best(|t| t.1))
    }
}

/// Returns the median of numbers: for an even count, the larger of the two middle numbers, and NaN
/// if there are no numbers.
pub fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_first_to_second() {
        let ms = Duration::from_millis;
        let pairs = Pairs { times: vec![(ms(2), ms(1)), (ms(9), ms(3)), (ms(8), ms(8))] };
        assert_eq!((pairs.median_ratio(), pairs.best_ratio(), pairs.rounds()), (2.0, 2.0, 3));
    }
}
