//! Candidates: plans with a fixed loop order and a fixed format of the output, and the plan that
//! the optimizer chooses freely.

use super::problems::{LayoutWorkload, PlanText};
use redpoll_logic::{Alias, Field, Format, LeafKind, LevelKind};
use redpoll_optimizer::OptimizerConfig;

/// A plan with a fixed loop order and a fixed format of the output, or with a free choice of both.
pub struct LayoutCandidate {
    /// The plan.
    pub plan: &'static str,
    /// A description of the fixed choices; empty for the free choice.
    pub name: String,
    /// The configuration of the optimizer.
    pub config: OptimizerConfig,
}

/// The level kinds of the innermost level of an output.
const KINDS: [LevelKind; 4] = [LevelKind::Dense, LevelKind::SparseList, LevelKind::ByteMap, LevelKind::Hash];

/// Returns the free choice, followed by all combinations of loop orders and formats.
pub fn candidates(workload: &LayoutWorkload) -> Vec<LayoutCandidate> {
    let free =
        LayoutCandidate { plan: workload.plans[0].plan, name: String::new(), config: OptimizerConfig::default() };
    let mut all = vec![free];
    for (number, text) in workload.plans.iter().enumerate() {
        all.extend(fixed_candidates(number, text));
    }
    all
}

fn fixed_candidates(number: usize, text: &PlanText) -> Vec<LayoutCandidate> {
    let mut all = Vec::new();
    for (alias, free, reduced) in text.queries {
        let loops: Vec<&str> = free.iter().chain(*reduced).copied().collect();
        for order in permutations(&loops) {
            for format in formats(free, &order) {
                let mut config = OptimizerConfig::default();
                config.loop_orders.insert(Alias::from(*alias), order.iter().map(|f| Field::from(*f)).collect());
                let kind = format.levels.last().map_or("scalar", |l| l.kind.traits().name);
                config.formats.insert(Alias::from(*alias), format);
                let plan = if number == 0 { String::new() } else { format!("plan {} ", number + 1) };
                all.push(LayoutCandidate {
                    plan: text.plan,
                    name: format!("{plan}{} to {kind}", order.join(" ")),
                    config,
                });
            }
        }
    }
    all
}

/// Returns formats of an output with the modes of `fields`: a dense format, and formats that are
/// dense except for the innermost level. This level stores the mode with the innermost loop.
fn formats(fields: &[&str], order: &[&str]) -> Vec<Format> {
    let rank = fields.len();
    if rank == 0 {
        return vec![Format::dense(0)];
    }
    let mut modes: Vec<usize> = (0..rank).collect();
    modes.sort_by_key(|mode| order.iter().position(|f| *f == fields[*mode]));
    let format = |kind: LevelKind| match kind {
        LevelKind::Dense => Format::dense(rank),
        _ => {
            let mut kinds = vec![LevelKind::Dense; rank];
            kinds[rank - 1] = kind;
            Format::of_kinds(&kinds, LeafKind::Element).permuted(&modes)
        }
    };
    KINDS.into_iter().map(format).collect()
}

/// Returns all permutations of loops.
fn permutations<'w>(loops: &[&'w str]) -> Vec<Vec<&'w str>> {
    if loops.is_empty() {
        return vec![Vec::new()];
    }
    let with_first = |k: usize| {
        let mut rest = loops.to_vec();
        let first = rest.remove(k);
        permutations(&rest).into_iter().map(move |rest| [vec![first], rest].concat())
    };
    (0..loops.len()).flat_map(with_first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layouts::problems::WORKLOADS;

    #[test]
    fn all_orders_and_formats_occur_once() {
        let counts: Vec<usize> = WORKLOADS.iter().map(|w| candidates(w).len()).collect();
        // The free choice, then orders times formats.
        assert_eq!(counts, [1 + 2 * 4, 1 + 6 * 4, 1 + 2 * 4 + 6 * 4, 1 + 24 * 4, 1 + 6, 1 + 24 * 4 + 2 * 6 * 4]);
        let names: std::collections::BTreeSet<String> = candidates(&WORKLOADS[1]).into_iter().map(|c| c.name).collect();
        assert_eq!(names.len(), 25);
    }

    #[test]
    fn modes_follow_the_loops() {
        let list = &formats(&["i", "j"], &["j", "k", "i"])[1];
        assert_eq!(*list, Format::csc());
    }
}
