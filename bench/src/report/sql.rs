//! The table of queries. It shows times of redpoll, warm and cold, over record batches and over
//! tensors, and times of the other engines that take SQL.

use super::table::{cell, time};
use crate::results::{SideOutcome, SideStatus, WorkloadOutcome};
use std::fmt::Write;

/// The engines that have their own column.
const ENGINES: [&str; 2] = ["datafusion", "duckdb"];

/// Writes the table, with a row for each query that was not skipped.
pub(super) fn table(out: &mut String, outcomes: &[&WorkloadOutcome]) -> std::fmt::Result {
    writeln!(
        out,
        "Median times. *warm*: everything is cached, encoded tables included. *cold*: a new session encodes, plans and compiles. *tensors*: the tables are tensors, which need no encoding; otherwise, redpoll and DataFusion read the same record batches, and DuckDB reads its own tables. In parentheses: times of engines relative to redpoll (warm, optimizing tier), and cold times of redpoll relative to DataFusion.\n"
    )?;
    writeln!(
        out,
        "| query | data | warm, optimizing | kernel | warm, instant | warm, tensors | cold | cold, optimizing | cold, tensors | DataFusion | DuckDB |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|")?;
    for outcome in outcomes.iter().filter(|o| o.skipped.is_none()) {
        let plain = outcome.peers().find(|side| side.peer == "datafusion").and_then(SideOutcome::summary);
        let redpoll = |mode: &str| {
            let Some(side) = outcome.redpoll_side(mode) else { return "-".to_owned() };
            match (&side.status, side.summary()) {
                (SideStatus::Ran, Some(s)) => match &plain {
                    Some(plain) if mode.starts_with("cold") => {
                        format!("{} ({:.2})", time(s.median), s.median / plain.median)
                    }
                    _ => time(s.median),
                },
                (status, _) => status_text(status),
            }
        };
        let peers = ENGINES.map(|engine| {
            let Some(side) = outcome.peers().find(|side| side.peer == engine) else { return "-".to_owned() };
            match (&side.status, side.summary(), outcome.ratio(side)) {
                (SideStatus::Ran, Some(s), Some(r)) => format!("{} ({:.1})", time(s.median), r.median),
                (status, ..) => status_text(status),
            }
        });
        let kernel = outcome.reference().and_then(|side| crate::statistics::Summary::of(&side.kernel));
        let kernel = kernel.map_or("-".to_owned(), |s| time(s.median));
        let data = cell(&outcome.description);
        let (warm, instant, tensors) = (redpoll("optimizing"), redpoll("instant"), redpoll("tensors"));
        let (cold, optimizing, cold_tensors) = (redpoll("cold"), redpoll("cold optimizing"), redpoll("cold tensors"));
        let [datafusion, duckdb] = peers;
        writeln!(
            out,
            "| {} | {data} | {warm} | {kernel} | {instant} | {tensors} | {cold} | {optimizing} | {cold_tensors} | {datafusion} | {duckdb} |",
            outcome.name
        )?;
    }
    Ok(())
}

fn status_text(status: &SideStatus) -> String {
    match status {
        SideStatus::Ran => "-",
        SideStatus::Unsupported(_) => "unsupported",
        SideStatus::Failed(_) => "failed",
        SideStatus::Slow(_) => "too slow",
        SideStatus::Mismatch(_) => "DIFFERS",
    }
    .to_owned()
}
