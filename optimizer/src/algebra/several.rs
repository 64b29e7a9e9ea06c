//! Nests with several outputs: each output is rewritten for itself, and those that still go through the same loops are one
//! nest again.
//!
//! Each output has a graph of its own, so that a limit does not lose for one what it leaves to another. What is equal in
//! several is chosen by its class alone, and comes out as equal terms: those of one nest are computed once, and what has to
//! be stored for them is stored together. Outputs join a nest where that is priced lower than a pass of their own, as they
//! were rewritten or as they were written; so all outputs cost at most what they cost in the nest that they came in, and at
//! most what each costs alone.

use super::extract::Extraction;
use super::{Candidate, GAIN, applies, best, saturated};
use crate::adaptive::Waiting;
use crate::config::Choice;
use crate::context::Context;
use crate::loop_order::order_loops_below;
use crate::merge::join_outside;
use crate::term::Nest;

/// Nests of more outputs than this are left as they are: each output is planned for itself, and beside those before it.
const MOST_OUTPUTS: usize = 12;

/// Outputs that are computed in one nest.
struct Group {
    /// Which of the nest's they are.
    outputs: Vec<usize>,
    made: Candidate,
}

/// The nest, which costs about `before`, as nests that cost less all together, if there are some.
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

/// The nest with those of its outputs.
fn some(nest: &Nest, outputs: &[usize]) -> Nest {
    Nest { outputs: outputs.iter().map(|k| nest.outputs[*k].clone()).collect(), ..nest.clone() }
}

/// The cheapest nest that is equal to one of one output, the nest itself included.
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

/// A nest with its cost, if that is below `most`.
fn priced(cx: &Context, nest: Nest, rules: Vec<&'static str>, most: f64) -> Option<Candidate> {
    cx.memo.hold(&nest.sizes, &nest.pins);
    let cost = order_loops_below(cx, &nest, most)?.work.cost();
    cost.is_finite().then_some(Candidate { nest, cost, rules })
}

/// Puts outputs into the group with which they cost least, or beside all others where none is cheaper than that.
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
