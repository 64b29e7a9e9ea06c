//! The smallest program that fails in the phase in which a program fails: some of its choices are left out or become first
//! ones.

use super::choices::Choices;
use super::program::{Checked, Outcome, run};

/// No more programs are run.
const MOST: usize = 1200;

/// Returns the smallest program that was found to fail in the same phase; nothing if the program does not fail again.
pub fn smallest_failure(choices: &[u64], phase: &str) -> Option<Checked> {
    let mut left = MOST;
    let mut fails = |choices: Vec<u64>| {
        left = left.checked_sub(1)?;
        let checked = run(Choices::of_list(choices));
        matches!(&checked.outcome, Outcome::Failed(f) if f.phase == phase).then_some(checked)
    };
    let mut found = fails(choices.to_vec())?;
    loop {
        let before = (found.choices.len(), found.choices.iter().sum::<u64>());
        // Whole operations, then ever smaller pieces, left out and set to the first choice.
        let mut at = 0;
        while at < found.starts.len() {
            let end = found.starts.get(at + 1).copied().unwrap_or(found.choices.len());
            match fails(without(&found.choices, found.starts[at], end)).filter(|next| is_less(next, &found)) {
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
                let less = (piece == 1 && found.choices[at] > 0).then(|| {
                    let mut next = found.choices.clone();
                    next[at] -= 1;
                    next
                });
                let candidates = [Some(without(&found.choices, at, end)), Some(zeros), halved, less];
                let candidates = candidates.into_iter().flatten().filter(|next| *next != found.choices);
                let better = candidates.into_iter().find_map(|next| fails(next).filter(|next| is_less(next, &found)));
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

fn without(choices: &[u64], from: usize, to: usize) -> Vec<u64> {
    [&choices[..from], &choices[to..]].concat()
}

/// Whether a program has fewer operations, or as many and less text or lower choices.
fn is_less(one: &Checked, other: &Checked) -> bool {
    let size = |c: &Checked| (c.operations.len(), c.text.len(), c.choices.iter().sum::<u64>());
    size(one) < size(other)
}
