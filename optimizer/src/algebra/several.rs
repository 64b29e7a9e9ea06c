//! Nests with several outputs: rewrites each output separately, then merges outputs that still have
//! the same loops.
//!
//! Each output has a graph of its own, so that a limit reached by one output does not affect
//! another. Terms shared by several outputs are chosen by class alone and become equal terms:
//! within one nest they are computed once, and stored subterms are stored together. An output joins
//! a nest, in its rewritten or original form, where that is cheaper than a nest of its own. So the
//! outputs cost at most as much as the original nest, and at most as much as separate nests.

use super::extract::Extraction;
use super::{Candidate, GAIN, applies, best, saturated};
use crate::adaptive::Waiting;
use crate::config::Choice;
use crate::context::Context;
use crate::loop_order::order_loops_below;
use crate::merge::join_outside;
use crate::term::Nest;

/// Largest number of outputs of a nest that is rewritten; each output is compared with those before
/// it.
const MOST_OUTPUTS: usize = 12;

/// Outputs that are computed in one nest.
struct Group {
    /// Indices of the outputs in the original nest.
    outputs: Vec<usize>,
    made: Candidate,
}

/// Rewrites the nest, which costs about `before`, to nests that cost less in total, if there are
/// any.
pub(super) fn rewrite(cx: &mut Context, nest: Nest, before: f64) -> Vec<Waiting> {
    let alone: Vec<Nest> = (0..nest.outputs.len()).map(|k| some(&nest, &[k])).collect();
    if alone.len() > MOST_OUTPUTS || !alone.iter().all(applies) {
        return vec![nest.into()];
    }
    let mut found: Vec<Group> = Vec::new();
    for (k, own) in alone.into_iter().enumerate() {
        let Some(made) = rewritten(cx, own) else { return vec![nest.into()] };
        put(cx, &nest, &mut found, Group { outputs: vec![k], made });
    }
    let cost: f64 = found.iter().map(|group| group.made.cost).sum();
    cx.memo.hold(&nest.sizes, &nest.pins);
    let untouched = found.len() == 1 && found[0].made.rules.is_empty();
    if untouched || cx.config.choice == Choice::Cheapest && order_loops_below(cx, &nest, cost / GAIN).is_some() {
        return vec![nest.into()];
    }
    let made = found.into_iter().map(|group| group.made).collect();
    Candidate::take_all(made, cx, before, &format!("{} outputs, each in a graph of its own", nest.outputs.len()))
}

/// Returns the nest restricted to some outputs.
fn some(nest: &Nest, outputs: &[usize]) -> Nest {
    Nest { outputs: outputs.iter().map(|k| nest.outputs[*k].clone()).collect(), ..nest.clone() }
}

/// Returns the cheapest nest that is equal to a nest with one output, which may be the nest itself.
fn rewritten(cx: &Context, nest: Nest) -> Option<Candidate> {
    let saturated = saturated(cx, &nest);
    let extraction = Extraction::new(&saturated.graph, cx);
    let mut planned = best(cx, &nest, extraction, (saturated.root, &saturated.fields)).planned;
    let found = (!planned.is_empty()).then(|| planned.remove(0));
    if cx.config.choice != Choice::Cheapest && found.is_some() {
        return found;
    }
    let most = found.as_ref().map_or(f64::INFINITY, |found| found.cost / GAIN);
    priced(cx, nest, Vec::new(), most).or(found)
}

/// Returns a nest with its cost, if that is below `most`.
fn priced(cx: &Context, nest: Nest, rules: Vec<&'static str>, most: f64) -> Option<Candidate> {
    cx.memo.hold(&nest.sizes, &nest.pins);
    let cost = order_loops_below(cx, &nest, most)?.work.cost();
    cost.is_finite().then_some(Candidate { nest, cost, rules })
}

/// Joins outputs to the group where that saves most, or adds them as a group of their own if no
/// join pays.
fn put(cx: &Context, nest: &Nest, found: &mut Vec<Group>, new: Group) {
    let mut least: Option<(usize, f64, Group)> = None;
    for (at, group) in found.iter().enumerate() {
        let outputs = [&group.outputs[..], &new.outputs].concat();
        let apart = group.made.cost + new.made.cost;
        let rules = group.made.rules.iter().chain(&new.made.rules).copied().collect();
        let joined = join_outside(&group.made.nest, &new.made.nest, cx.mode());
        let joined = joined.and_then(|joined| priced(cx, joined, rules, apart));
        let most = joined.as_ref().map_or(apart, |joined| joined.cost);
        let Some(made) = priced(cx, some(nest, &outputs), Vec::new(), most).or(joined) else { continue };
        let saved = apart - made.cost;
        if least.as_ref().is_none_or(|(_, most, _)| saved > *most) {
            least = Some((at, saved, Group { outputs, made }));
        }
    }
    match least {
        Some((at, _, group)) => found[at] = group,
        None => found.push(new),
    }
}
