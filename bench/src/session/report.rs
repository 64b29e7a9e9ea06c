//! The report of sessions: sums of first and of second calls, compared with the other engines.

use super::SessionTimes;
use std::fmt::Write;

/// Returns a table of the sums of all sessions, in Markdown. Each ratio is redpoll's sum divided by
/// the sum of the engine in the row.
pub fn report(sessions: &[SessionTimes]) -> String {
    let mut text = String::from(
        "| session | tables | engine | first calls | redpoll / engine | second calls | redpoll / engine |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for session in sessions {
        let SessionTimes { workload, source, engine, unavailable, fault, .. } = session;
        if let Some(reason) = fault.as_ref().or(unavailable.as_ref()) {
            let _ = writeln!(text, "| {workload} | {source} | {engine} | {reason} | | | |");
            continue;
        }
        let own = sessions.iter().find(|other| other.workload == *workload && other.source == *source);
        let cells = [(&session.first, own.map(|own| &own.first)), (&session.second, own.map(|own| &own.second))];
        let cells = cells.map(|(rounds, own)| {
            let (sum, own) = (median_sum(rounds), own.map(|own| median_sum(own)));
            format!("{sum:.3} s | {}", own.map_or_else(String::new, |own| format!("{:.2}", own / sum)))
        });
        let _ = writeln!(text, "| {workload} | {source} | {engine} | {} |", cells.join(" | "));
    }
    text
}

/// Returns the median over rounds of the sum of the times of all queries.
fn median_sum(rounds: &[Vec<f64>]) -> f64 {
    let mut sums: Vec<f64> = rounds.iter().map(|round| round.iter().sum()).collect();
    sums.sort_by(f64::total_cmp);
    sums.get(sums.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::super::TableSource;
    use super::*;

    /// Ratios compare sums of the same session. The row of an engine that cannot run shows the
    /// reason.
    #[test]
    fn ratios_are_those_of_sums() {
        let session = |engine: &str, first: f64, fault: Option<&str>| SessionTimes {
            workload: "joins".into(),
            source: TableSource::Memory,
            engine: engine.into(),
            first: vec![vec![first, 1.0], vec![9.0, 9.0], vec![first, 1.0]],
            second: vec![vec![0.5]],
            unavailable: fault.map(str::to_owned),
            fault: None,
        };
        let text =
            report(&[session("redpoll", 1.0, None), session("peer", 3.0, None), session("other", 1.0, Some("no"))]);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| joins | memory | redpoll | 2.000 s | 1.00 | 0.500 s | 1.00 |",
                "| joins | memory | peer | 4.000 s | 0.50 | 0.500 s | 1.00 |",
                "| joins | memory | other | no | | | |",
            ]
        );
    }
}
