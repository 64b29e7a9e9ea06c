//! The table of queries: warm and cold, over record batches and over tensors, next to the engines
//! that take SQL.

use super::table::{cell, time};
use crate::results::{Outcome, Side, Status};
use std::fmt::Write;

/// The engines that have their own column.
const ENGINES: [&str; 2] = ["datafusion", "duckdb"];

/// Writes a row for each query.
pub(super) fn table(out: &mut String, outcomes: &[&Outcome]) -> std::fmt::Result {
    writeln!(
        out,
        "Median times. *warm*: everything cached, encoded tables included. *cold*: a new session, which encodes, plans and compiles. *tensors*: over tables that are tensors, which need no encoding; all other sides read the same record batches. In parentheses: as a multiple of redpoll, warm in the optimizing tier; a cold time stands as a multiple of DataFusion's, where below 1 is faster.\n"
    )?;
    writeln!(
        out,
        "| query | data | warm, optimizing | kernel | warm, instant | warm, tensors | cold | cold, optimizing | cold, tensors | DataFusion | DuckDB |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|")?;
    for outcome in outcomes.iter().filter(|o| o.skipped.is_none()) {
        let plain = outcome.peers().find(|side| side.peer == "datafusion").and_then(Side::summary);
        let ours = |way: &str| {
            let Some(side) = outcome.ours(way) else { return "-".to_owned() };
            match (&side.status, side.summary()) {
                (Status::Ran, Some(s)) => match &plain {
                    Some(plain) if way.starts_with("cold") => {
                        format!("{} ({:.2})", time(s.median), s.median / plain.median)
                    }
                    _ => time(s.median),
                },
                (status, _) => told(status),
            }
        };
        let peers = ENGINES.map(|engine| {
            let Some(side) = outcome.peers().find(|side| side.peer == engine) else { return "-".to_owned() };
            match (&side.status, side.summary(), outcome.ratio(side)) {
                (Status::Ran, Some(s), Some(r)) => format!("{} ({:.1})", time(s.median), r.median),
                (status, ..) => told(status),
            }
        });
        let kernel = outcome.reference().and_then(|side| crate::statistics::Summary::of(&side.kernel));
        let kernel = kernel.map_or("-".to_owned(), |s| time(s.median));
        let data = cell(&outcome.words);
        let (warm, instant, tensors) = (ours("optimizing"), ours("instant"), ours("tensors"));
        let (cold, c, bound) = (ours("cold"), ours("cold optimizing"), ours("cold tensors"));
        let [datafusion, duckdb] = peers;
        writeln!(
            out,
            "| {} | {data} | {warm} | {kernel} | {instant} | {tensors} | {cold} | {c} | {bound} | {datafusion} | {duckdb} |",
            outcome.name
        )?;
    }
    Ok(())
}

fn told(status: &Status) -> String {
    match status {
        Status::Ran => "-",
        Status::Unsupported(_) => "cannot",
        Status::Failed(_) => "failed",
        Status::Slow(_) => "too slow",
        Status::Mismatch(_) => "DIFFERS",
    }
    .to_owned()
}
