//! Tables in Markdown.

use super::plot::{by_workload, points};
use crate::protocol::Memory;
use crate::results::{Outcome, Results, Side, Status};
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
    let _ = head(out, results);
    let _ = super::summary::write(out, results);
    for suite in Suite::value_variants() {
        let outcomes: Vec<&Outcome> = results.outcomes.iter().filter(|o| o.suite == *suite).collect();
        if !outcomes.is_empty() {
            let _ = section(out, *suite, &outcomes, results.machine.copy_bandwidth);
            for file in figures.get(suite).into_iter().flatten() {
                let _ = writeln!(out, "\n![{file}]({file})");
            }
        }
    }
    text
}

/// Returns one line about an outcome, printed as soon as it is measured.
pub fn line(outcome: &Outcome) -> String {
    if let Some(reason) = &outcome.skipped {
        return format!("{}: skipped, {reason}", outcome.id);
    }
    let mut line = format!("{}:", outcome.id);
    for side in &outcome.sides {
        let label = if side.is_ours() { &side.way } else { &side.peer };
        match (&side.status, side.summary()) {
            (Status::Ran, Some(summary)) => {
                let _ = write!(line, " {label} {}", time(summary.median));
                let ratio = if outcome.compared.is_empty() { outcome.ratio(side) } else { outcome.gain(side) };
                let told = !side.is_ours() || outcome.compared.iter().skip(1).any(|c| c.name == side.way);
                if let Some(ratio) = ratio.filter(|_| told) {
                    let _ = write!(line, " ({:.2}x)", ratio.median);
                }
            }
            (Status::Unsupported(_), _) => continue,
            (Status::Slow(_), _) => line += &format!(" {label} TOO SLOW"),
            (Status::Mismatch(_), _) => line += &format!(" {label} DIFFERS"),
            _ => line += &format!(" {label} FAILED"),
        }
        line.push(',');
    }
    line.trim_end_matches(',').to_owned()
}

/// Formats a time with three digits and its unit.
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

fn head(out: &mut String, results: &Results) -> std::fmt::Result {
    let machine = &results.machine;
    let size = if results.settings.quick { "small data (`--quick`)" } else { "full data" };
    writeln!(out, "# Benchmarks of {}\n", machine.date)?;
    writeln!(out, "{}; {}; {}.", machine.processor, machine.system, machine.compilers.join("; "))?;
    writeln!(out, "Load average at the start: {}.", machine.load)?;
    writeln!(
        out,
        "Copy {:.1} GB/s, read {:.1} GB/s; a bare gather loop does {:.0} million a second from an array in cache, {:.0} from one that no cache holds.",
        machine.copy_bandwidth / 1e9,
        machine.read_bandwidth / 1e9,
        machine.gathers[0] / 1e6,
        machine.gathers[1] / 1e6
    )?;
    writeln!(out, "{size}, {} thread(s) a side.\n", results.settings.threads)?;
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

fn section(out: &mut String, suite: Suite, outcomes: &[&Outcome], copy: f64) -> std::fmt::Result {
    writeln!(out, "\n## {}\n", suite.name())?;
    if suite == Suite::Structure {
        super::structure::table(out, outcomes)?;
        return left_out(out, outcomes);
    }
    if suite == Suite::Sql {
        super::sql::table(out, outcomes)?;
        preparation(out, outcomes)?;
        gave_up(out, outcomes)?;
        return left_out(out, outcomes);
    }
    writeln!(
        out,
        "| workload | data | instant | optimizing | kernel, by tier | cold | cold optimizing | peers, as a multiple of redpoll | bandwidth |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|")?;
    for outcome in outcomes.iter().filter(|o| o.skipped.is_none()) {
        row(out, outcome, copy)?;
    }
    preparation(out, outcomes)?;
    if suite == Suite::Scale {
        slopes(out, outcomes)?;
    }
    gave_up(out, outcomes)?;
    left_out(out, outcomes)
}

/// Writes the peers that failed or were too slow.
fn gave_up(out: &mut String, outcomes: &[&Outcome]) -> std::fmt::Result {
    let failed = outcomes.iter().flat_map(|outcome| {
        outcome.peers().filter_map(|side| match &side.status {
            Status::Failed(what) | Status::Slow(what) => Some(format!("- `{}`, {}: {what}", outcome.id, side.peer)),
            _ => None,
        })
    });
    let failed: Vec<String> = failed.collect();
    if !failed.is_empty() {
        writeln!(out, "\nPeers that gave up:\n\n{}", failed.join("\n"))?;
    }
    Ok(())
}

/// Writes the workloads that did not run, with reasons.
fn left_out(out: &mut String, outcomes: &[&Outcome]) -> std::fmt::Result {
    let waiting: Vec<_> = outcomes.iter().filter_map(|o| Some((&o.id, o.skipped.as_ref()?))).collect();
    if !waiting.is_empty() {
        writeln!(out, "\nDid not run:\n")?;
        for (id, reason) in waiting {
            writeln!(out, "- `{id}`: {reason}")?;
        }
    }
    Ok(())
}

/// Writes the slopes of the logarithm of time over the logarithm of size; 1 is linear growth.
fn slopes(out: &mut String, outcomes: &[&Outcome]) -> std::fmt::Result {
    writeln!(
        out,
        "\nSlopes of growth, 1 being linear:\n\n| workload | optimizing | instant | peers |\n|---|---|---|---|"
    )?;
    for (name, group) in by_workload(outcomes) {
        let of = |of: &dyn Fn(&Side) -> bool| {
            let points: Vec<(f64, f64)> = points(&group, of).iter().map(|(x, y)| (x.ln(), y.ln())).collect();
            slope(&points)
        };
        let ours = |way: &str| {
            let slope = of(&|side| side.is_ours() && side.way == way);
            slope.map_or("-".into(), |slope| format!("{slope:.2}"))
        };
        let mut names: Vec<&str> = Vec::new();
        for peer in group.iter().flat_map(|outcome| outcome.peers()) {
            if !names.contains(&peer.peer.as_str()) {
                names.push(&peer.peer);
            }
        }
        let peers = names.iter().filter_map(|n| Some(format!("{n} {:.2}", of(&|side| side.peer == *n)?)));
        let peers: Vec<String> = peers.collect();
        writeln!(out, "| {name} | {} | {} | {} |", ours("optimizing"), ours("instant"), peers.join("; "))?;
    }
    Ok(())
}

/// Writes the preparation of each side: times of reading files and building formats, and peak
/// memory of its process. For redpoll also writes the peak allocation of a run, the memory of its
/// results, and the ratio of both.
fn preparation(out: &mut String, outcomes: &[&Outcome]) -> std::fmt::Result {
    writeln!(out, "\n<details><summary>Loading, building, first runs, memory</summary>\n")?;
    writeln!(
        out,
        "| workload | data | side | load | build | first run | process MiB | held MiB | results MiB | times |\n|---|---|---|---|---|---|---|---|---|---|"
    )?;
    for outcome in outcomes {
        let sides = outcome.reference().into_iter().chain(outcome.peers().filter(|side| side.status == Status::Ran));
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
                mebibytes(side.peak),
                side.memory.map_or("- | - | -".into(), |Memory { held, results }| {
                    let times = held as f64 / results as f64;
                    format!("{:.2} | {:.2} | {times:.1}", mebibytes(held), mebibytes(results))
                })
            )?;
        }
    }
    writeln!(out, "\n</details>")
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn row(out: &mut String, outcome: &Outcome, copy: f64) -> std::fmt::Result {
    let of = |way: &str| {
        let summary = outcome.ours(way).filter(|s| s.status == Status::Ran).and_then(Side::summary);
        summary.map_or("-".into(), |s| format!("{} ({}) ±{:.0}%", time(s.median), time(s.best), 50.0 * s.spread))
    };
    let reference = outcome.reference();
    let kernel = reference.and_then(|side| Summary::of(&side.kernel));
    let ours = ["instant", "optimizing"].into_iter().filter_map(|way| outcome.ours(way));
    let kernels: Vec<String> = ours.filter_map(|s| Some(time(Summary::of(&s.kernel)?.best))).collect();
    let mut peers: Vec<String> = Vec::new();
    for side in outcome.peers() {
        match (&side.status, outcome.ratio(side)) {
            (Status::Ran, Some(r)) => {
                peers.push(format!("{} {:.2} [{:.2}, {:.2}]", side.peer, r.median, r.low, r.high));
            }
            (Status::Ran | Status::Unsupported(_), _) => {}
            (Status::Failed(_), _) => peers.push(format!("{} failed", side.peer)),
            (Status::Slow(_), _) => peers.push(format!("{} too slow", side.peer)),
            (Status::Mismatch(_), _) => peers.push(format!("{} DIFFERS", side.peer)),
        }
    }
    writeln!(
        out,
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        outcome.name,
        cell(&outcome.words),
        of("instant"),
        of("optimizing"),
        kernels.join(", "),
        of("cold"),
        of("cold optimizing"),
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
