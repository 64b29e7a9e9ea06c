//! The conclusions of the experiment: the times of the free choices relative to the fastest plans,
//! and the correlation of costs and times.

use super::measure::GroupOutcome;
use crate::statistics::rank_correlation;
use std::fmt::Write;

/// The summary of the groups of one workload.
pub struct WorkloadSummary {
    /// The workload.
    pub workload: String,
    /// Number of groups.
    pub groups: usize,
    /// Number of candidates with a time; equal plans count more than once.
    pub plans: usize,
    /// The share of groups whose free choice takes at most 1.2 times as long as the fastest plan.
    pub near_share: f64,
    /// The largest time of a free choice relative to the fastest plan of its group.
    pub worst_ratio: f64,
    /// The rank correlation of cost and time over all candidates with a time.
    pub correlation: f64,
    /// The median over groups of the rank correlation within a group.
    pub group_correlation: f64,
}

impl GroupOutcome {
    /// Returns the time of the free choice relative to the fastest plan.
    pub fn ratio(&self) -> f64 {
        let times = self.candidates.iter().filter_map(|c| c.time);
        self.candidates[0].time.unwrap_or(f64::NAN) / times.fold(f64::INFINITY, f64::min)
    }

    /// Returns the costs and times of the candidates that have both.
    pub fn points(&self) -> Vec<(f64, f64)> {
        self.candidates.iter().filter_map(|c| Some((c.cost?, c.time?))).collect()
    }

    fn fastest(&self) -> &str {
        let timed = self.candidates.iter().filter_map(|c| Some((c.time?, &c.name)));
        timed.min_by(|a, b| a.0.total_cmp(&b.0)).map_or("", |(_, name)| name)
    }
}

/// Returns a summary for each workload, in order of first occurrence.
pub fn summaries(outcomes: &[GroupOutcome]) -> Vec<WorkloadSummary> {
    let mut names: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if !names.contains(&outcome.workload.as_str()) {
            names.push(&outcome.workload);
        }
    }
    names.into_iter().map(|name| summary(name, outcomes)).collect()
}

fn summary(workload: &str, outcomes: &[GroupOutcome]) -> WorkloadSummary {
    let own: Vec<&GroupOutcome> = outcomes.iter().filter(|o| o.workload == workload).collect();
    let points: Vec<(f64, f64)> = own.iter().flat_map(|o| o.points()).collect();
    let mut correlations: Vec<f64> = own.iter().filter_map(|o| rank_correlation(&o.points())).collect();
    correlations.sort_by(f64::total_cmp);
    WorkloadSummary {
        workload: workload.to_owned(),
        groups: own.len(),
        plans: points.len(),
        near_share: own.iter().filter(|o| o.ratio() <= 1.2).count() as f64 / own.len().max(1) as f64,
        worst_ratio: own.iter().map(|o| o.ratio()).fold(1.0, f64::max),
        correlation: rank_correlation(&points).unwrap_or(f64::NAN),
        group_correlation: correlations.get(correlations.len() / 2).copied().unwrap_or(f64::NAN),
    }
}

/// The heading of [`row`].
pub const HEADING: &str =
    "| workload | data | formats | choice ms | best ms | ratio | fastest | rho | plans | size error |
|---|---|---|---|---|---|---|---|---|---|";

/// Returns a group as a row of a table.
pub fn row(outcome: &GroupOutcome) -> String {
    let points = outcome.points();
    let best = points.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
    let choice = outcome.candidates[0].time.unwrap_or(f64::NAN);
    let fastest = match outcome.fastest() {
        "" => "the choice",
        name => name,
    };
    let rho = rank_correlation(&points).map_or("-".into(), |rho| format!("{rho:.2}"));
    let error = outcome.size_error.map_or("-".into(), |error| format!("{error:.1}"));
    let GroupOutcome { workload, data, formats, candidates, .. } = outcome;
    format!(
        "| {workload} | {data} | {formats} | {:.3} | {:.3} | {:.2} | {fastest} | {rho} | {} of {} | {error} |",
        1e3 * choice,
        1e3 * best,
        outcome.ratio(),
        points.len(),
        candidates.len()
    )
}

/// Returns the summaries as a table.
pub fn table(outcomes: &[GroupOutcome]) -> String {
    let mut text = String::from(
        "| workload | groups | plans run | choice within 1.2 | worst ratio | rho | median rho within groups |\n|---|---|---|---|---|---|---|\n",
    );
    for s in summaries(outcomes) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.0}% | {:.2} | {:.3} | {:.2} |",
            s.workload,
            s.groups,
            s.plans,
            100.0 * s.near_share,
            s.worst_ratio,
            s.correlation,
            s.group_correlation
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layouts::measure::CandidateTimes;

    fn outcome(data: &str, points: &[(f64, f64)]) -> GroupOutcome {
        let candidate = |(cost, time): &(f64, f64)| CandidateTimes {
            name: String::new(),
            cost: Some(*cost),
            time: time.is_finite().then_some(*time),
            reason: None,
            events: Vec::new(),
        };
        let candidates = points.iter().map(candidate).collect();
        let (choice, size_error) = (String::new(), None);
        GroupOutcome { workload: "w".into(), data: data.into(), formats: "csr".into(), choice, size_error, candidates }
    }

    #[test]
    fn choices_are_compared_with_the_fastest_plan() {
        let good = outcome("a", &[(1.0, 1.1), (2.0, 1.0), (3.0, 4.0), (9.0, f64::INFINITY)]);
        let bad = outcome("b", &[(1.0, 3.0), (2.0, 1.0)]);
        let [summary] = &summaries(&[good, bad])[..] else { panic!("one workload") };
        assert_eq!((summary.groups, summary.plans, summary.near_share, summary.worst_ratio), (2, 5, 0.5, 3.0));
        assert_eq!(summary.group_correlation, 0.5);
    }
}
