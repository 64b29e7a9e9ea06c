//! Nests with several outputs: rewrites each output separately, then joins outputs into one nest
//! where that is cheaper.
//!
//! Each output has a graph of its own, so that a limit reached by one output does not affect
//! another. The choice for a subterm does not depend on the output, so a subterm that several
//! outputs share becomes an equal term in each of them. Within one nest, equal terms are computed
//! once, and stored subterms are stored together. An output joins a nest, in its rewritten or
//! original form, if the joint nest is cheaper than two separate nests. So the outputs cost at most
//! as much as separate nests, unless the original nest costs nearly as little and is kept
//! ([`MAX_COST_RATIO`]).

use super::extract::Extraction;
use super::{CandidateNest, MAX_COST_RATIO, Replacement, best_terms, is_rewritable, replacement, saturate_nest};
use crate::config::Choice;
use crate::facts::Facts;
use crate::normalize::merge::join_outside;
use crate::order::search::order_loops_below;
use crate::term::Nest;

/// Largest number of outputs of a nest that is rewritten; each output is compared with the groups
/// of earlier outputs.
const MAX_OUTPUTS: usize = 12;

/// Outputs that are computed in one nest.
struct OutputGroup {
    /// Indices of the outputs in the original nest.
    outputs: Vec<usize>,
    candidate: CandidateNest,
}

/// Rewrites the nest, which costs about `original_cost`, to nests that cost less in total, if there
/// are any.
pub(super) fn rewrite(facts: &Facts, nest: Nest, original_cost: f64) -> Replacement {
    let nests: Vec<Nest> = (0..nest.outputs.len()).map(|k| restrict_outputs(&nest, &[k])).collect();
    if nests.len() > MAX_OUTPUTS || !nests.iter().all(is_rewritable) {
        return nest.into();
    }
    let mut groups: Vec<OutputGroup> = Vec::new();
    for (k, own) in nests.into_iter().enumerate() {
        let Some(candidate) = cheapest_nest(facts, own) else { return nest.into() };
        add_group(facts, &nest, &mut groups, OutputGroup { outputs: vec![k], candidate });
    }
    let cost: f64 = groups.iter().map(|group| group.candidate.cost).sum();
    facts.memo.retain_for(&nest.sizes, &nest.pins);
    let is_unchanged = groups.len() == 1 && groups[0].candidate.rules.is_empty();
    if is_unchanged
        || facts.config.choice == Choice::Cheapest && order_loops_below(facts, &nest, cost / MAX_COST_RATIO).is_some()
    {
        return nest.into();
    }
    let candidates = groups.into_iter().map(|group| group.candidate).collect();
    let graph_size = format!("{} outputs, one graph each", nest.outputs.len());
    replacement(candidates, original_cost, &graph_size)
}

/// Returns the nest restricted to some outputs.
fn restrict_outputs(nest: &Nest, outputs: &[usize]) -> Nest {
    Nest { outputs: outputs.iter().map(|k| nest.outputs[*k].clone()).collect(), ..nest.clone() }
}

/// Returns the cheapest nest that is equal to a nest with one output, or the nest itself if it
/// costs nearly as little. `None` if neither has an order of finite cost.
fn cheapest_nest(facts: &Facts, nest: Nest) -> Option<CandidateNest> {
    let saturated = saturate_nest(facts, &nest);
    let extraction = Extraction::new(&saturated.graph, facts);
    let mut planned = best_terms(facts, &nest, extraction, (saturated.root, &saturated.fields)).planned;
    let found = (!planned.is_empty()).then(|| planned.remove(0));
    if facts.config.choice != Choice::Cheapest && found.is_some() {
        return found;
    }
    let limit = found.as_ref().map_or(f64::INFINITY, |found| found.cost / MAX_COST_RATIO);
    price_nest(facts, nest, Vec::new(), limit).or(found)
}

/// Returns a nest with its cost, if the cost is below `limit`.
fn price_nest(facts: &Facts, nest: Nest, rules: Vec<&'static str>, limit: f64) -> Option<CandidateNest> {
    facts.memo.retain_for(&nest.sizes, &nest.pins);
    let cost = order_loops_below(facts, &nest, limit)?.work.cost();
    cost.is_finite().then_some(CandidateNest { nest, cost, rules })
}

/// Joins outputs to the group for which joining saves most, or adds the outputs as a group of their
/// own if no join pays.
fn add_group(facts: &Facts, nest: &Nest, groups: &mut Vec<OutputGroup>, new: OutputGroup) {
    let mut best_join: Option<(usize, f64, OutputGroup)> = None;
    for (at, group) in groups.iter().enumerate() {
        let outputs = [&group.outputs[..], &new.outputs].concat();
        let separate_cost = group.candidate.cost + new.candidate.cost;
        let rules = group.candidate.rules.iter().chain(&new.candidate.rules).copied().collect();
        let joined = join_outside(&group.candidate.nest, &new.candidate.nest, facts.mode());
        let joined = joined.and_then(|joined| price_nest(facts, joined, rules, separate_cost));
        let limit = joined.as_ref().map_or(separate_cost, |joined| joined.cost);
        let Some(candidate) = price_nest(facts, restrict_outputs(nest, &outputs), Vec::new(), limit).or(joined) else {
            continue;
        };
        let savings = separate_cost - candidate.cost;
        if best_join.as_ref().is_none_or(|(_, best, _)| savings > *best) {
            best_join = Some((at, savings, OutputGroup { outputs, candidate }));
        }
    }
    match best_join {
        Some((at, _, group)) => groups[at] = group,
        None => groups.push(new),
    }
}
