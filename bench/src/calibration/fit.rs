//! Least squares with non-negative coefficients.

/// Largest number of sweeps over all coefficients.
const SWEEPS: usize = 20_000;

/// An equation: the numbers of events of a plan, and its time.
#[derive(Clone, Debug)]
pub struct Equation {
    /// Number of events of each kind.
    pub counts: Vec<f64>,
    /// Time in seconds.
    pub time: f64,
    /// The weight of the equation.
    pub weight: f64,
}

impl Equation {
    /// Returns the time predicted by the coefficients.
    pub fn predict(&self, coefficients: &[f64]) -> f64 {
        self.counts.iter().zip(coefficients).map(|(count, x)| count * x).sum()
    }
}

/// Number of iterations that update the weights.
const ROUNDS: usize = 30;
/// Predictions that are off by more than this factor get less weight, because their measurements
/// may have been disturbed.
const OUTLIER_FACTOR: f64 = 1.4;

/// Returns the non-negative coefficients that minimize the sum of the squares of
/// `ln(predicted / time)`, with Huber's weights. The prior adds one equation of weight `weight` for
/// each coefficient: the coefficient divided by its prior is 1. A coefficient without events
/// therefore keeps its prior.
///
/// Each round solves linear least squares. The weights are such that, at the previous predictions,
/// the squared differences have the same derivatives as the squared logarithms.
pub fn fit(rows: &[Equation], prior: &[f64], weight: f64) -> Vec<f64> {
    let mut coefficients = prior.to_vec();
    for _ in 0..ROUNDS {
        let weighted = |row: &Equation| {
            let predicted = row.predict(&coefficients).max(1e-3 * row.time);
            let factor = (predicted / row.time).ln();
            let slope = if factor.abs() < 1e-6 { 1.0 / predicted } else { factor / (predicted - row.time) };
            (row.weight * slope / predicted / (factor.abs() / OUTLIER_FACTOR.ln()).max(1.0)).sqrt()
        };
        let scales: Vec<f64> = rows.iter().map(weighted).collect();
        coefficients = solve(rows, &scales, prior, weight);
    }
    coefficients
}

/// Solves weighted least squares by coordinate descent: each step takes the minimum along one
/// coefficient, or 0 if the minimum is negative. Source: Franc, Hlavac, Navara, "Sequential
/// Coordinate-wise Algorithm for the Non-negative Least Squares Problem".
fn solve(rows: &[Equation], scales: &[f64], prior: &[f64], weight: f64) -> Vec<f64> {
    let n = prior.len();
    // In units of the prior, all coefficients are about 1.
    let in_units = |(row, scale): (&Equation, &f64)| row.counts.iter().zip(prior).map(|(c, p)| c * p * scale).collect();
    let scaled: Vec<Vec<f64>> = rows.iter().zip(scales).map(in_units).collect();
    let times: Vec<f64> = rows.iter().zip(scales).map(|(row, scale)| row.time * scale).collect();
    let gram = |a: usize, b: usize| scaled.iter().map(|row| row[a] * row[b]).sum::<f64>();
    let mut matrix: Vec<Vec<f64>> = (0..n).map(|a| (0..n).map(|b| gram(a, b)).collect()).collect();
    let mut target: Vec<f64> = (0..n).map(|a| scaled.iter().zip(&times).map(|(row, t)| row[a] * t).sum()).collect();
    for k in 0..n {
        matrix[k][k] += weight;
        target[k] += weight;
    }
    let mut x = vec![1.0; n];
    for _ in 0..SWEEPS {
        let mut change = 0.0f64;
        for k in 0..n {
            let gradient = matrix[k].iter().zip(&x).map(|(m, x)| m * x).sum::<f64>() - target[k];
            let next = (x[k] - gradient / matrix[k][k]).max(0.0);
            change = change.max((next - x[k]).abs());
            x[k] = next;
        }
        if change < 1e-10 {
            break;
        }
    }
    x.iter().zip(prior).map(|(x, p)| x * p).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(counts: [f64; 3], time: f64) -> Equation {
        Equation { counts: counts.to_vec(), time, weight: 1.0 }
    }

    fn check(found: &[f64], expected: [f64; 3]) {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    }

    #[test]
    fn exact_times_reproduce_their_constants() {
        let exact = |counts: [f64; 3]| row(counts, 2.0 * counts[0] + 0.5 * counts[1] + 7.0 * counts[2]);
        let rows = [exact([1.0, 0.0, 3.0]), exact([1e6, 5e5, 0.0]), exact([0.0, 4.0, 1.0]), exact([3.0, 1.0, 1.0])];
        check(&fit(&rows, &[1.0, 1.0, 1.0], 0.0), [2.0, 0.5, 7.0]);
        check(&fit(&rows, &[3.0, 0.1, 9.0], 0.0), [2.0, 0.5, 7.0]);
    }

    #[test]
    fn constants_are_not_negative_and_keep_their_prior_without_events() {
        // The best line through these points has a negative second coefficient.
        let rows = [row([1.0, 1.0, 0.0], 1.0), row([1.0, 2.0, 0.0], 0.8)];
        let found = fit(&rows, &[1.0, 1.0, 4.0], 1e-9);
        assert!(found[1].abs() < 1e-6 && (found[2] - 4.0).abs() < 1e-6, "{found:?}");
        // The geometric mean differs from both times by the same factor.
        assert!((found[0] - 0.8f64.sqrt()).abs() < 1e-3, "{found:?}");
    }

    /// A row of weight 3 acts like three equal rows.
    #[test]
    fn weights_act_like_repeated_rows() {
        let slow = row([1.0, 0.0, 0.0], 1.1);
        let few = [Equation { weight: 3.0, ..slow.clone() }, row([1.0, 0.0, 0.0], 1.0)];
        let many = [slow.clone(), slow.clone(), slow, row([1.0, 0.0, 0.0], 1.0)];
        let [few, many] = [&few[..], &many].map(|rows| fit(rows, &[1.0; 3], 1e-9)[0]);
        assert!((few - many).abs() < 1e-9 && few > 1.06, "{few} {many}");
    }

    /// One row with a disturbed time does not dominate the fit.
    #[test]
    fn outliers_do_not_dominate() {
        let mut rows = vec![row([1.0, 0.0, 0.0], 1.0); 9];
        rows.push(row([1.0, 0.0, 0.0], 100.0));
        let found = fit(&rows, &[1.0; 3], 1e-9);
        assert!(found[0] < 1.3, "{found:?}");
    }
}
