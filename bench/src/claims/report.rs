//! The table of queries, and a summary that compares the times with their targets.

use super::QueryTimes;
use crate::report::table::{cell, time};
use crate::statistics::{Ratio, Summary};
use std::fmt::Write;

/// Queries that take DataFusion longer than this, in seconds, are listed individually.
const LONG_QUERY: f64 = 5e-3;
/// Target for warm runs of claimed queries: largest time relative to the time of DataFusion.
const MAX_WARM_RATIO: f64 = 1.2;
/// Target for cold runs of claimed queries: largest time relative to the time of DataFusion.
const MAX_COLD_RATIO: f64 = 2.0;

fn median(seconds: &[f64]) -> f64 {
    Summary::of(seconds).map_or(0.0, |s| s.median)
}

impl QueryTimes {
    /// Returns the median time of DataFusion alone.
    fn datafusion_time(&self) -> f64 {
        median(&self.plain)
    }

    /// Returns the median of the ratios of warm times to the times of DataFusion.
    fn warm_ratio(&self) -> f64 {
        Ratio::of_rounds(&self.warm, &self.plain).map_or(0.0, |r| r.median)
    }

    /// Returns the median of the ratios of cold times to the times of DataFusion in new sessions.
    fn cold_ratio(&self) -> f64 {
        Ratio::of_rounds(&self.cold, &self.plain_cold).map_or(0.0, |r| r.median)
    }
}

/// Returns one line about a query.
pub fn line(m: &QueryTimes) -> String {
    if let Some(fault) = &m.fault {
        return format!("{}: failed: {fault}", m.name);
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
    let claimed = if m.claimed == 0 { "not claimed".to_owned() } else { format!("claimed {}", m.claimed) };
    format!(
        "{}: {claimed}, DataFusion {}, warm {} ({:.2}) [{}], cold {} ({:.2}) [{}]",
        m.name,
        time(m.datafusion_time()),
        time(median(&m.warm)),
        m.warm_ratio(),
        phases(m.warm_phases),
        time(median(&m.cold)),
        m.cold_ratio(),
        phases(m.cold_phases)
    )
}

/// Returns a Markdown report with a summary, followed by the tables of queries.
pub fn report(all: &[QueryTimes]) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = summary(&mut text, all);
    let _ = table(&mut text, all);
    text
}

fn summary(out: &mut String, all: &[QueryTimes]) -> std::fmt::Result {
    let claimed: Vec<&QueryTimes> = all.iter().filter(|m| m.claimed > 0 && m.fault.is_none()).collect();
    let (long, short): (Vec<&QueryTimes>, Vec<&QueryTimes>) =
        claimed.iter().partition(|m| m.datafusion_time() > LONG_QUERY);
    let quantile = |ratios: &[f64], fraction: f64| {
        let mut ratios = ratios.to_vec();
        ratios.sort_by(f64::total_cmp);
        let rank = ((ratios.len() as f64 - 1.0) * fraction).ceil() as usize;
        ratios.get(rank).copied().unwrap_or(0.0)
    };
    let line = |out: &mut String, label: &str, ratios: &[f64], target: f64| {
        let above = ratios.iter().filter(|r| **r > target).count();
        writeln!(
            out,
            "| {label} | {} | {:.2} | {:.2} | {:.2} | {above} above {target} |",
            ratios.len(),
            quantile(ratios, 0.5),
            quantile(ratios, 0.9),
            quantile(ratios, 1.0)
        )
    };
    writeln!(out, "{} queries, {} claimed.\n", all.len(), claimed.len())?;
    writeln!(out, "| claimed queries | count | median ratio | 90% | maximum | target |\n|---|---|---|---|---|---|")?;
    let ratios =
        |list: &[&QueryTimes], ratio: fn(&QueryTimes) -> f64| list.iter().map(|m| ratio(m)).collect::<Vec<_>>();
    line(out, "above 5 ms, warm", &ratios(&long, QueryTimes::warm_ratio), MAX_WARM_RATIO)?;
    line(out, "above 5 ms, cold", &ratios(&long, QueryTimes::cold_ratio), MAX_COLD_RATIO)?;
    line(out, "below 5 ms, warm", &ratios(&short, QueryTimes::warm_ratio), MAX_WARM_RATIO)?;
    line(out, "below 5 ms, cold", &ratios(&short, QueryTimes::cold_ratio), MAX_COLD_RATIO)?;
    let total = |list: &[&QueryTimes], time: fn(&QueryTimes) -> f64| list.iter().map(|m| time(m)).sum::<f64>();
    let (plain, plain_cold) = (total(&short, QueryTimes::datafusion_time), total(&short, |m| median(&m.plain_cold)));
    let (warm, cold) = (total(&short, |m| median(&m.warm)), total(&short, |m| median(&m.cold)));
    writeln!(
        out,
        "\nSum of the queries below 5 ms: warm {}, DataFusion {} ({:.2}); cold {}, DataFusion {} ({:.2}).",
        time(warm),
        time(plain),
        warm / plain,
        time(cold),
        time(plain_cold),
        cold / plain_cold
    )?;
    let faults: Vec<&QueryTimes> = all.iter().filter(|m| m.fault.is_some()).collect();
    if !faults.is_empty() {
        writeln!(out, "\n## Failures\n")?;
        for m in faults {
            writeln!(out, "- `{}`: {}", m.name, m.fault.as_deref().unwrap_or_default())?;
        }
    }
    Ok(())
}

fn table(out: &mut String, all: &[QueryTimes]) -> std::fmt::Result {
    let phases = |p: super::Phases| [p.plan, p.encode, p.compile, p.kernel, p.decode].map(time).join(", ");
    writeln!(out, "\n## Claimed queries above 5 ms, by descending ratio of warm times\n")?;
    writeln!(out, "Phases: planning, encoding, compilation, kernels, decoding.\n")?;
    writeln!(
        out,
        "| query | rows | DataFusion | warm | cold | warm phases | cold phases |\n|---|---|---|---|---|---|---|"
    )?;
    let mut claimed: Vec<&QueryTimes> =
        all.iter().filter(|m| m.claimed > 0 && m.datafusion_time() > LONG_QUERY).collect();
    claimed.sort_by(|a, b| b.warm_ratio().total_cmp(&a.warm_ratio()));
    for m in claimed {
        writeln!(
            out,
            "| {} | {} | {} | {} ({:.2}) | {} ({:.2}) | {} | {} |",
            cell(&m.name),
            m.rows,
            time(m.datafusion_time()),
            time(median(&m.warm)),
            m.warm_ratio(),
            time(median(&m.cold)),
            m.cold_ratio(),
            phases(m.warm_phases),
            phases(m.cold_phases)
        )?;
    }
    writeln!(out, "\n## Queries not claimed, above 5 ms\n\n| query | DataFusion | reasons |\n|---|---|---|")?;
    for m in all.iter().filter(|m| m.claimed == 0 && m.datafusion_time() > LONG_QUERY) {
        writeln!(out, "| {} | {} | {} |", cell(&m.name), time(m.datafusion_time()), cell(&m.reasons.join("; ")))?;
    }
    Ok(())
}
