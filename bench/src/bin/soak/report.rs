//! The output of a run: failures as they are found, and the counts and seeds of each kind.

use crate::kinds::CaseKind;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

/// The destinations of failures: standard output, and a file if there is one.
pub(crate) struct Failures {
    file: Option<Mutex<File>>,
}

impl Failures {
    /// Opens the file to which failures are appended.
    pub(crate) fn open(path: Option<&Path>) -> Result<Failures> {
        let open = |path: &Path| {
            let file = File::options().append(true).create(true).open(path);
            file.with_context(|| format!("cannot append failures to {}", path.display()))
        };
        Ok(Failures { file: path.map(open).transpose()?.map(Mutex::new) })
    }

    /// Prints a failure under a title and appends it to the file.
    pub(crate) fn print(&self, title: &str, text: &str) {
        let text = format!("--- {title}\n{}\n", text.trim_end());
        println!("{text}");
        if let Some(file) = &self.file {
            let mut file = file.lock().expect("no thread has panicked");
            if let Err(error) = writeln!(file, "{text}").and_then(|()| file.flush()) {
                eprintln!("cannot append the failure to the file: {error}");
            }
        }
    }
}

/// The counts of a kind.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub(crate) agreed: u64,
    /// Cases that are rejected, have undefined results, or have no claimed region.
    pub(crate) skipped: u64,
    pub(crate) failed: u64,
    /// Kernels that were compiled and checked in the C tier.
    pub(crate) kernels: u64,
    /// The seeds of the cases.
    pub(crate) seeds: Seeds,
}

/// Seeds in disjoint ranges, in ascending order.
#[derive(Clone, Default)]
pub(crate) struct Seeds(Vec<Range<u64>>);

impl Seeds {
    /// Adds a range of seeds, which must not overlap the ranges that were added before.
    pub(crate) fn add(&mut self, seeds: Range<u64>) {
        let index = self.0.partition_point(|range| range.start < seeds.start);
        self.0.insert(index, seeds);
        self.0.dedup_by(|next, range| {
            let is_adjacent = range.end == next.start;
            if is_adjacent {
                range.end = next.end;
            }
            is_adjacent
        });
    }

    /// Returns the ranges as text.
    fn text(&self) -> String {
        let ranges = self.0.iter().map(|range| format!("{}..{}", range.start, range.end));
        ranges.collect::<Vec<_>>().join(", ")
    }
}

/// Returns the counts in a line.
pub(crate) fn progress(tallies: &[(CaseKind, Tally)]) -> String {
    let count = |(kind, tally): &(CaseKind, Tally)| {
        let cases = tally.agreed + tally.skipped + tally.failed;
        format!("{} {cases} ({} failed)", kind.name(), tally.failed)
    };
    tallies.iter().map(count).collect::<Vec<_>>().join(", ")
}

/// Returns the counts as a table in Markdown.
pub(crate) fn table(tallies: &[(CaseKind, Tally)]) -> String {
    let mut text =
        "| kind | cases | failed | rejected, undefined or not claimed | kernels in the C tier | seeds |\n|---|---|---|---|---|---|"
            .to_owned();
    for (kind, Tally { agreed, skipped, failed, kernels, seeds }) in tallies {
        let cases = agreed + skipped + failed;
        text += &format!("\n| {} | {cases} | {failed} | {skipped} | {kernels} | {} |", kind.name(), seeds.text());
    }
    text
}
