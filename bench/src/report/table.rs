//! Tables in Markdown.

use super::plot::{group_by_workload, points};
use crate::protocol::RunMemory;
use crate::results::{Results, SideOutcome, SideStatus, WorkloadOutcome};
use crate::statistics::{Summary, slope};
use crate::workload::Suite;
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns the results of a run as one Markdown document, with the figures of suites.
pub fn document(results: &Results, figures: &BTreeMap<Suite, Vec<String>>) -> String {
    let mut text = String::new();
    let out = &mut text;
    // Writing to a string does not fail.
    let _ = write_head(out, results);
    let _ = super::summary::write(out, results);
    for suite in Suite::value_variants() {
        let outcomes: Vec<&WorkloadOutcome> = results.outcomes.iter().filter(|o| o.suite == *suite).collect();
        if !outcomes.is_empty() {
            let _ = write_section(out, *suite, &outcomes, results.machine.copy_bandwidth);
            for file in figures.get(suite).into_iter().flatten() {
                let _ = writeln!(out, "\n![{file}]({file})");
            }
        }
    }
    text
}

/// Returns one line about an outcome, which the harness prints as soon as the workload is measured.
pub fn line(outcome: &WorkloadOutcome) -> String {
    if let Some(reason) = &outcome.skipped {
        return format!("{}: skipped, {reason}", outcome.id);
    }
    let mut line = format!("{}:", outcome.id);
    for side in &outcome.sides {
        let label = if side.is_redpoll() { &side.mode } else { &side.peer };
        match (&side.status, side.summary()) {
            (SideStatus::Ran, Some(summary)) => {
                let _ = write!(line, " {label} {}", time(summary.median));
                let ratio = if outcome.variants.is_empty() { outcome.ratio(side) } else { outcome.speedup(side) };
                let has_ratio = !side.is_redpoll() || outcome.variants.iter().skip(1).any(|v| v.name == side.mode);
                if let Some(ratio) = ratio.filter(|_| has_ratio) {
                    let _ = write!(line, " ({:.2}x)", ratio.median);
                }
            }
            (SideStatus::Unsupported(_), _) => continue,
            (SideStatus::Slow(_), _) => line += &format!(" {label} TOO SLOW"),
            (SideStatus::Mismatch(_), _) => line += &format!(" {label} DIFFERS"),
            _ => line += &format!(" {label} FAILED"),
        }
        line.push(',');
    }
    line.trim_end_matches(',').to_owned()
}

/// Formats a time with its unit and three digits; from 1000 s on, with all digits of whole seconds.
pub fn time(seconds: f64) -> String {
    let (scale, unit) = match seconds {
        s if s >= 1.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e3, "ms"),
        s if s >= 1e-6 => (1e6, "us"),
        _ => (1e9, "ns"),
    };
    let value = seconds * scale;
    let digits = if value >= 100.0 { 0 } else { 1 + usize::from(value < 10.0) };
    format!("{value:.digits$} {unit}")
}

fn write_head(out: &mut String, results: &Results) -> std::fmt::Result {
    let machine = &results.machine;
    let size = if results.settings.quick { "small data (`--quick`)" } else { "full data" };
    writeln!(out, "# Benchmarks of {}\n", machine.date)?;
    writeln!(out, "{}; {}; {}.", machine.processor, machine.system, machine.compilers.join("; "))?;
    writeln!(out, "Load average at the start: {}.", machine.load)?;
    writeln!(
        out,
        "Copy {:.1} GB/s, read {:.1} GB/s; a bare loop gathers {:.0} million values per second from an array in cache, {:.0} million from an array larger than the caches.",
        machine.copy_bandwidth / 1e9,
        machine.read_bandwidth / 1e9,
        machine.gathers[0] / 1e6,
        machine.gathers[1] / 1e6
    )?;
    writeln!(out, "{size}, {} thread(s) per side.\n", results.settings.threads)?;
    writeln!(out, "| peer | version |\n|---|---|")?;
    for peer in &results.peers {
        match &peer.version {
            Ok(version) => writeln!(out, "| {} | {version} |", peer.name)?,
            Err(reason) => writeln!(out, "| {} | skipped: {} |", peer.name, cell(reason))?,
        }
    }
    let failures = results.outcomes.iter().flat_map(|o| o.failures.iter().map(move |failure| (o, failure)));
    let failures: Vec<_> = failures.collect();
    if !failures.is_empty() {
        writeln!(out, "\n## Failures\n")?;
        for (outcome, failure) in failures {
            writeln!(out, "- `{}`: {failure}", outcome.id)?;
        }
    }
    Ok(())
}

fn write_section(out: &mut String, suite: Suite, outcomes: &[&WorkloadOutcome], copy: f64) -> std::fmt::Result {
    writeln!(out, "\n## {}\n", suite.name())?;
    if suite == Suite::Structure {
        super::structure::table(out, outcomes)?;
        return write_skipped(out, outcomes);
    }
    if suite == Suite::Sql {
        super::sql::table(out, outcomes)?;
        write_preparation(out, outcomes)?;
        write_failed_peers(out, outcomes)?;
        return write_skipped(out, outcomes);
    }
    writeln!(
        out,
        "| workload | data | instant | optimizing | kernel, by tier | cold | cold optimizing | time of peers relative to redpoll | bandwidth |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|")?;
    for outcome in outcomes.iter().filter(|o| o.skipped.is_none()) {
        write_row(out, outcome, copy)?;
    }
    write_preparation(out, outcomes)?;
    if suite == Suite::Scale {
        write_slopes(out, outcomes)?;
    }
    write_failed_peers(out, outcomes)?;
    write_skipped(out, outcomes)
}

/// Writes the peers that failed or were too slow.
fn write_failed_peers(out: &mut String, outcomes: &[&WorkloadOutcome]) -> std::fmt::Result {
    let failed = outcomes.iter().flat_map(|outcome| {
        outcome.peers().filter_map(|side| match &side.status {
            SideStatus::Failed(message) | SideStatus::Slow(message) => {
                Some(format!("- `{}`, {}: {message}", outcome.id, side.peer))
            }
            _ => None,
        })
    });
    let failed: Vec<String> = failed.collect();
    if !failed.is_empty() {
        writeln!(out, "\nPeers that failed or exceeded their time limit:\n\n{}", failed.join("\n"))?;
    }
    Ok(())
}

/// Writes the workloads that did not run, with reasons.
fn write_skipped(out: &mut String, outcomes: &[&WorkloadOutcome]) -> std::fmt::Result {
    let skipped: Vec<_> = outcomes.iter().filter_map(|o| Some((&o.id, o.skipped.as_ref()?))).collect();
    if !skipped.is_empty() {
        writeln!(out, "\nWorkloads that did not run:\n")?;
        for (id, reason) in skipped {
            writeln!(out, "- `{id}`: {reason}")?;
        }
    }
    Ok(())
}

/// Writes the slopes of the logarithm of time over the logarithm of size; 1 is linear growth.
fn write_slopes(out: &mut String, outcomes: &[&WorkloadOutcome]) -> std::fmt::Result {
    writeln!(
        out,
        "\nSlopes of growth; 1 is linear:\n\n| workload | optimizing | instant | peers |\n|---|---|---|---|"
    )?;
    for (name, group) in group_by_workload(outcomes) {
        let slope_of = |select: &dyn Fn(&SideOutcome) -> bool| {
            let points: Vec<(f64, f64)> = points(&group, select).iter().map(|(x, y)| (x.ln(), y.ln())).collect();
            slope(&points)
        };
        let redpoll = |mode: &str| {
            let slope = slope_of(&|side| side.is_redpoll() && side.mode == mode);
            slope.map_or("-".into(), |slope| format!("{slope:.2}"))
        };
        let mut names: Vec<&str> = Vec::new();
        for peer in group.iter().flat_map(|outcome| outcome.peers()) {
            if !names.contains(&peer.peer.as_str()) {
                names.push(&peer.peer);
            }
        }
        let peers = names.iter().filter_map(|n| Some(format!("{n} {:.2}", slope_of(&|side| side.peer == *n)?)));
        let peers: Vec<String> = peers.collect();
        writeln!(out, "| {name} | {} | {} | {} |", redpoll("optimizing"), redpoll("instant"), peers.join("; "))?;
    }
    Ok(())
}

/// Writes the preparation of redpoll and of each peer that ran: times of reading files, building
/// formats and the first run, and peak memory of the process. If redpoll reports the memory of a
/// run, also writes the peak allocation of the run, the memory of its results, and the ratio of the
/// two.
fn write_preparation(out: &mut String, outcomes: &[&WorkloadOutcome]) -> std::fmt::Result {
    writeln!(out, "\n<details><summary>Loading, building, first runs, memory</summary>\n")?;
    writeln!(
        out,
        "| workload | data | side | load | build | first run | process MiB | peak MiB | results MiB | ratio |\n|---|---|---|---|---|---|---|---|---|---|"
    )?;
    for outcome in outcomes {
        let sides =
            outcome.reference().into_iter().chain(outcome.peers().filter(|side| side.status == SideStatus::Ran));
        for side in sides {
            writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {:.0} | {} |",
                outcome.name,
                outcome.data,
                side.peer,
                time(side.load),
                time(side.build),
                time(side.first),
                to_mebibytes(side.peak),
                side.memory.map_or("- | - | -".into(), |RunMemory { peak, results }| {
                    let ratio = peak as f64 / results as f64;
                    format!("{:.2} | {:.2} | {ratio:.1}", to_mebibytes(peak), to_mebibytes(results))
                })
            )?;
        }
    }
    writeln!(out, "\n</details>")
}

fn to_mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn write_row(out: &mut String, outcome: &WorkloadOutcome, copy: f64) -> std::fmt::Result {
    let cell_of = |mode: &str| {
        let summary = outcome.redpoll_side(mode).filter(|s| s.status == SideStatus::Ran).and_then(SideOutcome::summary);
        summary.map_or("-".into(), |s| format!("{} ({}) ±{:.0}%", time(s.median), time(s.best), 50.0 * s.spread))
    };
    let reference = outcome.reference();
    let kernel = reference.and_then(|side| Summary::of(&side.kernel));
    let tiers = ["instant", "optimizing"].into_iter().filter_map(|mode| outcome.redpoll_side(mode));
    let kernels: Vec<String> = tiers.filter_map(|s| Some(time(Summary::of(&s.kernel)?.best))).collect();
    let mut peers: Vec<String> = Vec::new();
    for side in outcome.peers() {
        match (&side.status, outcome.ratio(side)) {
            (SideStatus::Ran, Some(r)) => {
                peers.push(format!("{} {:.2} [{:.2}, {:.2}]", side.peer, r.median, r.low, r.high));
            }
            (SideStatus::Ran | SideStatus::Unsupported(_), _) => {}
            (SideStatus::Failed(_), _) => peers.push(format!("{} failed", side.peer)),
            (SideStatus::Slow(_), _) => peers.push(format!("{} too slow", side.peer)),
            (SideStatus::Mismatch(_), _) => peers.push(format!("{} DIFFERS", side.peer)),
        }
    }
    writeln!(
        out,
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        outcome.name,
        cell(&outcome.description),
        cell_of("instant"),
        cell_of("optimizing"),
        kernels.join(", "),
        cell_of("cold"),
        cell_of("cold optimizing"),
        peers.join("; "),
        kernel.filter(|_| outcome.bytes > 0.0).map_or("-".into(), |s| {
            let rate = outcome.bytes / s.best;
            format!("{:.1} GB/s, {:.2} of copy", rate / 1e9, rate / copy)
        }),
    )
}

/// Returns the text without characters that break a table.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "/").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        assert_eq!(
            [2.5, 0.1234, 0.01234, 1.5e-6, 12e-9].map(time),
            ["2.50 s", "123 ms", "12.3 ms", "1.50 us", "12.0 ns"]
        );
    }
}
