//! The table of queries, and a summary that compares the times with their targets.

use super::Measured;
use crate::report::table::{cell, time};
use crate::statistics::{Ratio, Summary};
use std::fmt::Write;

/// Queries that take DataFusion longer than this, in seconds, are listed individually.
const LONG: f64 = 5e-3;
/// Target for warm runs of long claimed queries: largest time relative to DataFusion's.
const MOST_WARM: f64 = 1.2;
/// The same target for cold runs.
const MOST_COLD: f64 = 2.0;

fn median(seconds: &[f64]) -> f64 {
    Summary::of(seconds).map_or(0.0, |s| s.median)
}

impl Measured {
    /// Returns the median time of DataFusion alone.
    fn alone(&self) -> f64 {
        median(&self.plain)
    }

    /// Returns the median warm time relative to DataFusion's.
    fn warm_ratio(&self) -> f64 {
        Ratio::of_rounds(&self.warm, &self.plain).map_or(0.0, |r| r.median)
    }

    /// Returns the median cold time relative to DataFusion's in a new session.
    fn cold_ratio(&self) -> f64 {
        Ratio::of_rounds(&self.cold, &self.plain_cold).map_or(0.0, |r| r.median)
    }
}

/// Returns one line about a query.
pub fn line(m: &Measured) -> String {
    if let Some(fault) = &m.fault {
        return format!("{}: FAULT {fault}", m.name);
    }
    let phases = |p: super::Phases| {
        let parts = [
            ("plan", p.plan),
            ("encode", p.encode),
            ("compile", p.compile),
            ("kernel", p.kernel),
            ("decode", p.decode),
        ];
        parts.iter().map(|(name, s)| format!("{name} {}", time(*s))).collect::<Vec<_>>().join(", ")
    };
    let claimed = if m.claimed == 0 { "left".to_owned() } else { format!("claimed {}", m.claimed) };
    format!(
        "{}: {claimed}, DataFusion {}, warm {} ({:.2}) [{}], cold {} ({:.2}) [{}]",
        m.name,
        time(m.alone()),
        time(median(&m.warm)),
        m.warm_ratio(),
        phases(m.warm_phases),
        time(median(&m.cold)),
        m.cold_ratio(),
        phases(m.cold_phases)
    )
}

/// Returns a Markdown report with a summary followed by the table of all queries.
pub fn report(all: &[Measured]) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = summary(&mut text, all);
    let _ = table(&mut text, all);
    text
}

fn summary(out: &mut String, all: &[Measured]) -> std::fmt::Result {
    let claimed: Vec<&Measured> = all.iter().filter(|m| m.claimed > 0 && m.fault.is_none()).collect();
    let (long, short): (Vec<&Measured>, Vec<&Measured>) = claimed.iter().partition(|m| m.alone() > LONG);
    let most = |ratios: &[f64], part: f64| {
        let mut ratios = ratios.to_vec();
        ratios.sort_by(f64::total_cmp);
        let at = ((ratios.len() as f64 - 1.0) * part).ceil() as usize;
        ratios.get(at).copied().unwrap_or(0.0)
    };
    let line = |out: &mut String, what: &str, ratios: &[f64], aim: f64| {
        let above = ratios.iter().filter(|r| **r > aim).count();
        writeln!(
            out,
            "| {what} | {} | {:.2} | {:.2} | {:.2} | {above} above {aim} |",
            ratios.len(),
            most(ratios, 0.5),
            most(ratios, 0.9),
            most(ratios, 1.0)
        )
    };
    writeln!(out, "{} queries, {} claimed.\n", all.len(), claimed.len())?;
    writeln!(out, "| claimed queries | count | median | 90% | most | aim |\n|---|---|---|---|---|---|")?;
    let of = |list: &[&Measured], of: fn(&Measured) -> f64| list.iter().map(|m| of(m)).collect::<Vec<_>>();
    line(out, "above 5 ms, warm", &of(&long, Measured::warm_ratio), MOST_WARM)?;
    line(out, "above 5 ms, cold", &of(&long, Measured::cold_ratio), MOST_COLD)?;
    line(out, "below 5 ms, warm", &of(&short, Measured::warm_ratio), MOST_WARM)?;
    line(out, "below 5 ms, cold", &of(&short, Measured::cold_ratio), MOST_COLD)?;
    let total = |list: &[&Measured], of: fn(&Measured) -> f64| list.iter().map(|m| of(m)).sum::<f64>();
    let (plain, plain_cold) = (total(&short, Measured::alone), total(&short, |m| median(&m.plain_cold)));
    let (warm, cold) = (total(&short, |m| median(&m.warm)), total(&short, |m| median(&m.cold)));
    writeln!(
        out,
        "\nThose below 5 ms as a sum: {} warm beside {} of DataFusion ({:.2}), {} cold beside {} ({:.2}).",
        time(warm),
        time(plain),
        warm / plain,
        time(cold),
        time(plain_cold),
        cold / plain_cold
    )?;
    let faults: Vec<&Measured> = all.iter().filter(|m| m.fault.is_some()).collect();
    if !faults.is_empty() {
        writeln!(out, "\n## Faults\n")?;
        for m in faults {
            writeln!(out, "- `{}`: {}", m.name, m.fault.as_deref().unwrap_or_default())?;
        }
    }
    Ok(())
}

fn table(out: &mut String, all: &[Measured]) -> std::fmt::Result {
    let phases = |p: super::Phases| [p.plan, p.encode, p.compile, p.kernel, p.decode].map(time).join(", ");
    writeln!(out, "\n## Claimed queries above 5 ms, the slowest first by what they gain\n")?;
    writeln!(out, "Phases: planning, encoding, compilation, kernels, decoding.\n")?;
    writeln!(
        out,
        "| query | rows | DataFusion | warm | cold | warm phases | cold phases |\n|---|---|---|---|---|---|---|"
    )?;
    let mut claimed: Vec<&Measured> = all.iter().filter(|m| m.claimed > 0 && m.alone() > LONG).collect();
    claimed.sort_by(|a, b| b.warm_ratio().total_cmp(&a.warm_ratio()));
    for m in claimed {
        writeln!(
            out,
            "| {} | {} | {} | {} ({:.2}) | {} ({:.2}) | {} | {} |",
            cell(&m.name),
            m.rows,
            time(m.alone()),
            time(median(&m.warm)),
            m.warm_ratio(),
            time(median(&m.cold)),
            m.cold_ratio(),
            phases(m.warm_phases),
            phases(m.cold_phases)
        )?;
    }
    writeln!(out, "\n## Left to DataFusion, above 5 ms\n\n| query | DataFusion | why |\n|---|---|---|")?;
    for m in all.iter().filter(|m| m.claimed == 0 && m.alone() > LONG) {
        writeln!(out, "| {} | {} | {} |", cell(&m.name), time(m.alone()), cell(&m.left.join("; ")))?;
    }
    Ok(())
}
