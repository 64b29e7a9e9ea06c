//! The table of variants: ways to store the inputs and compute the same results, compared with the
//! baseline.

use super::table::{cell, time};
use crate::results::{Outcome, Status};
use crate::statistics::Summary;
use std::fmt::Write;

/// Writes a row for each variant, with its speedup over the baseline and the result of a paper.
pub(super) fn table(out: &mut String, outcomes: &[&Outcome]) -> std::fmt::Result {
    writeln!(
        out,
        "How many times as fast as the baseline, the first way of each, over rounds in turns; results are checked to be equal. Papers compare with baselines of their own, on machines and data of their own.\n"
    )?;
    writeln!(out, "| workload | data | way | time (best) | kernel | times as fast | paper |")?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for outcome in outcomes.iter().filter(|o| o.skipped.is_none()) {
        for (k, way) in outcome.compared.iter().enumerate() {
            let Some(side) = outcome.ours(&way.name) else { continue };
            let (name, words) =
                if k == 0 { (outcome.name.as_str(), cell(&outcome.words)) } else { ("", String::new()) };
            let gain = match (&side.status, outcome.gain(side)) {
                (Status::Ran, _) if k == 0 => "baseline".to_owned(),
                (Status::Ran, Some(r)) => format!("{:.2} [{:.2}, {:.2}]", r.median, r.low, r.high),
                (Status::Mismatch(_), _) => "DIFFERS".to_owned(),
                _ => "failed".to_owned(),
            };
            let took = side.summary().map_or("-".into(), |s| format!("{} ({})", time(s.median), time(s.best)));
            let kernel = Summary::of(&side.kernel).map_or("-".into(), |s| time(s.best));
            let paper = way.paper.as_deref().unwrap_or("");
            writeln!(out, "| {name} | {words} | {} | {took} | {kernel} | {gain} | {} |", way.name, cell(paper))?;
        }
    }
    Ok(())
}
