//! The summary: redpoll compared with every peer, and the workloads where redpoll is slower.

use crate::results::{Outcome, Results, Side, Status};
use crate::statistics::Ratio;
use crate::workload::Suite;
use clap::ValueEnum;
use std::fmt::Write;

/// A peer is clearly faster below this ratio.
const BEHIND: f64 = 0.8;

/// Returns the ratios of all peers that ran.
fn ratios(results: &Results) -> Vec<(&Outcome, &Side, Ratio)> {
    let of = |outcome: &'_ Outcome, side: &'_ Side| match side.status {
        Status::Ran => outcome.ratio(side),
        _ => None,
    };
    let sides = results.outcomes.iter().flat_map(|outcome| outcome.peers().map(move |side| (outcome, side)));
    sides.filter_map(|(outcome, side)| Some((outcome, side, of(outcome, side)?))).collect()
}

/// Writes the means by suite and peer, and the list of workloads where a peer is clearly faster.
pub(super) fn write(out: &mut String, results: &Results) -> std::fmt::Result {
    let all = ratios(results);
    let mut peers: Vec<&str> = Vec::new();
    for (_, side, _) in &all {
        if !peers.contains(&side.peer.as_str()) {
            peers.push(&side.peer);
        }
    }
    if peers.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## Summary\n")?;
    writeln!(
        out,
        "Geometric means of how many times as long as redpoll (optimizing tier, cached) a peer takes, and in how many workloads it takes longer.\n"
    )?;
    writeln!(out, "| suite | {} |\n|---|{}", peers.join(" | "), "---|".repeat(peers.len()))?;
    for suite in Suite::value_variants() {
        let cell = |peer: &&str| {
            let here = all.iter().filter(|(outcome, side, _)| outcome.suite == *suite && side.peer == **peer);
            mean(&here.map(|(_, _, ratio)| ratio.median).collect::<Vec<f64>>())
        };
        let cells: Vec<String> = peers.iter().map(cell).collect();
        if cells.iter().any(|cell| cell != "-") {
            writeln!(out, "| {} | {} |", suite.name(), cells.join(" | "))?;
        }
    }
    let mut behind: Vec<_> = all.iter().filter(|(_, _, ratio)| ratio.median < BEHIND).collect();
    behind.sort_by(|a, b| a.2.median.total_cmp(&b.2.median));
    if !behind.is_empty() {
        writeln!(out, "\nWhere a peer takes less than {BEHIND} of redpoll's time:\n")?;
    }
    for (outcome, side, ratio) in behind {
        let Ratio { median, low, high, .. } = ratio;
        writeln!(out, "- `{}`, {}: {median:.2} [{low:.2}, {high:.2}]", outcome.id, side.peer)?;
    }
    Ok(())
}

/// Formats the geometric mean and the number of ratios above 1.
fn mean(ratios: &[f64]) -> String {
    if ratios.is_empty() {
        return "-".into();
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let longer = ratios.iter().filter(|ratio| **ratio > 1.0).count();
    format!("{mean:.2} ({longer} of {})", ratios.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_geometric() {
        assert_eq!(mean(&[0.5, 8.0, 2.0]), "2.00 (2 of 3)");
        assert_eq!(mean(&[]), "-");
    }
}
