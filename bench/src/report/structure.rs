//! The table of variants compared with the baseline. Variants differ in the formats of inputs or in
//! the program.

use super::table::{cell, time};
use crate::results::{SideStatus, WorkloadOutcome};
use crate::statistics::Summary;
use std::fmt::Write;

/// Writes the table, with a row for each variant: its speedup over the baseline, and the result of
/// a paper if there is one.
pub(super) fn table(out: &mut String, outcomes: &[&WorkloadOutcome]) -> std::fmt::Result {
    writeln!(
        out,
        "Speedup of each variant over the first one, the baseline, measured in turns; all results are equal. Papers have other baselines, machines and data.\n"
    )?;
    writeln!(out, "| workload | data | variant | time (best) | kernel | speedup | paper |")?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for outcome in outcomes.iter().filter(|o| o.skipped.is_none()) {
        for (k, variant) in outcome.variants.iter().enumerate() {
            let Some(side) = outcome.redpoll_side(&variant.name) else { continue };
            let (name, data) =
                if k == 0 { (outcome.name.as_str(), cell(&outcome.description)) } else { ("", String::new()) };
            let speedup = match (&side.status, outcome.speedup(side)) {
                (SideStatus::Ran, _) if k == 0 => "baseline".to_owned(),
                (SideStatus::Ran, Some(r)) => format!("{:.2} [{:.2}, {:.2}]", r.median, r.low, r.high),
                (SideStatus::Mismatch(_), _) => "DIFFERS".to_owned(),
                _ => "failed".to_owned(),
            };
            let times = side.summary().map_or("-".into(), |s| format!("{} ({})", time(s.median), time(s.best)));
            let kernel = Summary::of(&side.kernel).map_or("-".into(), |s| time(s.best));
            let paper = variant.paper.as_deref().unwrap_or("");
            writeln!(out, "| {name} | {data} | {} | {times} | {kernel} | {speedup} | {} |", variant.name, cell(paper))?;
        }
    }
    Ok(())
}
