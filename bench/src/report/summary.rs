//! The summary: redpoll compared with every peer, and the workloads where a peer is clearly faster.

use crate::results::{Results, SideOutcome, SideStatus, WorkloadOutcome};
use crate::statistics::Ratio;
use crate::workload::Suite;
use clap::ValueEnum;
use std::fmt::Write;

/// Below this ratio, a peer is clearly faster.
const CLEARLY_FASTER: f64 = 0.8;

/// Returns the ratios of all peers that ran.
fn ratios(results: &Results) -> Vec<(&WorkloadOutcome, &SideOutcome, Ratio)> {
    let ratio = |outcome: &'_ WorkloadOutcome, side: &'_ SideOutcome| match side.status {
        SideStatus::Ran => outcome.ratio(side),
        _ => None,
    };
    let sides = results.outcomes.iter().flat_map(|outcome| outcome.peers().map(move |side| (outcome, side)));
    sides.filter_map(|(outcome, side)| Some((outcome, side, ratio(outcome, side)?))).collect()
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
        "Geometric means of the times of peers relative to redpoll (optimizing tier, cached), and the number of workloads in which the peer is slower.\n"
    )?;
    writeln!(out, "| suite | {} |\n|---|{}", peers.join(" | "), "---|".repeat(peers.len()))?;
    for suite in Suite::value_variants() {
        let cell = |peer: &&str| {
            let own = all.iter().filter(|(outcome, side, _)| outcome.suite == *suite && side.peer == **peer);
            format_mean(&own.map(|(_, _, ratio)| ratio.median).collect::<Vec<f64>>())
        };
        let cells: Vec<String> = peers.iter().map(cell).collect();
        if cells.iter().any(|cell| cell != "-") {
            writeln!(out, "| {} | {} |", suite.name(), cells.join(" | "))?;
        }
    }
    let mut faster: Vec<_> = all.iter().filter(|(_, _, ratio)| ratio.median < CLEARLY_FASTER).collect();
    faster.sort_by(|a, b| a.2.median.total_cmp(&b.2.median));
    if !faster.is_empty() {
        writeln!(out, "\nWorkloads in which a peer takes less than {CLEARLY_FASTER} of redpoll's time:\n")?;
    }
    for (outcome, side, ratio) in faster {
        let Ratio { median, low, high, .. } = ratio;
        writeln!(out, "- `{}`, {}: {median:.2} [{low:.2}, {high:.2}]", outcome.id, side.peer)?;
    }
    Ok(())
}

/// Formats the geometric mean and the number of ratios above 1.
fn format_mean(ratios: &[f64]) -> String {
    if ratios.is_empty() {
        return "-".into();
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let slower = ratios.iter().filter(|ratio| **ratio > 1.0).count();
    format!("{mean:.2} ({slower} of {})", ratios.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_geometric() {
        assert_eq!(format_mean(&[0.5, 8.0, 2.0]), "2.00 (2 of 3)");
        assert_eq!(format_mean(&[]), "-");
    }
}
