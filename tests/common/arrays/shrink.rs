//! Reduction of a failing program to the smallest program found that fails in the same phase. The
//! reduction removes or lowers some choices of the program.

use super::choices::RecordedChoices;
use super::program::{ArrayOutcome, ArrayReport, run};

/// Largest number of programs to run.
const MAX_RUNS: usize = 1200;

/// Returns the smallest program found that fails in the same phase; `None` if the given program
/// does not fail again.
pub fn smallest_failure(choices: &[u64], phase: &str) -> Option<ArrayReport> {
    let mut remaining = MAX_RUNS;
    let mut fails = |choices: Vec<u64>| {
        remaining = remaining.checked_sub(1)?;
        let report = run(RecordedChoices::from_list(choices));
        matches!(&report.outcome, ArrayOutcome::Failed(f) if f.phase == phase).then_some(report)
    };
    let mut found = fails(choices.to_vec())?;
    loop {
        let before = (found.choices.len(), found.choices.iter().sum::<u64>());
        // Remove whole operations. Then remove or zero ranges of 16, 4 and 1 choices, and lower
        // single choices.
        let mut at = 0;
        while at < found.starts.len() {
            let end = found.starts.get(at + 1).copied().unwrap_or(found.choices.len());
            match fails(remove_range(&found.choices, found.starts[at], end)).filter(|next| is_smaller(next, &found)) {
                Some(next) => found = next,
                None => at += 1,
            }
        }
        for piece in [16, 4, 1] {
            let mut at = 0;
            while at < found.choices.len() {
                let end = (at + piece).min(found.choices.len());
                let mut zeros = found.choices.clone();
                zeros[at..end].fill(0);
                let halved = (piece == 1).then(|| {
                    let mut next = found.choices.clone();
                    next[at] /= 2;
                    next
                });
                let decremented = (piece == 1 && found.choices[at] > 0).then(|| {
                    let mut next = found.choices.clone();
                    next[at] -= 1;
                    next
                });
                let candidates = [Some(remove_range(&found.choices, at, end)), Some(zeros), halved, decremented];
                let candidates = candidates.into_iter().flatten().filter(|next| *next != found.choices);
                let better =
                    candidates.into_iter().find_map(|next| fails(next).filter(|next| is_smaller(next, &found)));
                match better {
                    Some(next) => found = next,
                    None => at += piece,
                }
            }
        }
        if (found.choices.len(), found.choices.iter().sum::<u64>()) == before {
            return Some(found);
        }
    }
}

fn remove_range(choices: &[u64], from: usize, to: usize) -> Vec<u64> {
    [&choices[..from], &choices[to..]].concat()
}

/// Returns whether a program has fewer operations than another program. If both programs have the
/// same number of operations, the length of the text decides, and then the sum of the choices.
fn is_smaller(one: &ArrayReport, other: &ArrayReport) -> bool {
    let size = |c: &ArrayReport| (c.operations.len(), c.text.len(), c.choices.iter().sum::<u64>());
    size(one) < size(other)
}
