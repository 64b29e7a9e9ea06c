//! The algebra phase: rewrites a query's term in an e-graph and plans the cheapest equal term.
//!
//! Input: a nest. Output: the nests that replace it; more than one only if several outputs are
//! cheaper apart. `language` has the nodes, `graph` the analysis of classes and the conversion from
//! terms, `names` the names of fields, and `rules` the rule tables. `saturate` applies the rules,
//! `seed` adds a first good plan, `extract` chooses terms, and `several` handles nests with several
//! outputs.
//!
//! Sources: Willsey et al., "egg: Fast and Extensible Equality Saturation"; Deeds, Ahrens, Suciu,
//! "Galley".

mod extract;
mod graph;
mod language;
mod names;
mod rules;
mod saturate;
mod seed;
mod several;
#[cfg(test)]
mod tests;

use crate::adaptive::Waiting;
use crate::config::{Choice, Subject};
use crate::context::{Close, Context};
use crate::cost::EXHAUSTIVE_LOOPS;
use crate::isolate::root_folds;
use crate::loop_order::order_loops_below;
use crate::report::Rule;
use crate::term::{At, Fold, Nest, NestKind, Node, Read, Target, Term};
use egg::Id;
use extract::{Extracted, Extraction, Pool};
use graph::{Algebra, Graph, insert};
use redpoll_logic::Field;
use rules::Round;
use saturate::{MOST_ITERATIONS, Stop, saturate};
use seed::seed;

/// Largest number of accesses and operators in a term that is rewritten.
const MOST_PARTS: usize = 48;
/// Number of the terms with the lowest estimates that are planned; more for an expensive query.
const MOST_PLANNED: usize = 3;
/// Largest total number of accesses and operators in the terms that are planned.
const MOST_PLANNED_PARTS: usize = 66;
/// Largest number of terms in a class for which all terms are listed.
const MOST_TERMS: usize = 500;
/// Largest ratio of the estimated cost of a planned term to that of the cheapest term.
const NEAR: f64 = 100.0;
/// Query cost that pays for planning one more term, in units of
/// [`Config::worth`](crate::Config::worth).
const PLANNING: f64 = 100.0;
/// Largest ratio of the new cost to the old one for which a term, or a plan, is replaced.
pub(crate) const GAIN: f64 = 0.95;

/// Creates an e-graph in advance, because the first graph of a process calibrates a clock.
pub(crate) fn warm_up() {
    Graph::new(Algebra::new(redpoll_logic::FloatMode::default())).rebuild();
}

/// Runner-up terms that are compared as whole plans: those that cost at most `CLOSE` times the
/// cheapest. At most `MOST_CLOSE` terms, with `MOST_CLOSE_PARTS` accesses and operators in total,
/// for queries that cost at least `COMPARING` times the worth.
const CLOSE: f64 = 1.5;
const MOST_CLOSE: usize = 2;
const MOST_CLOSE_PARTS: usize = 10;
const COMPARING: f64 = 5.0;

/// A nest that is equal to a nest of the plan.
#[derive(Clone)]
pub(crate) struct Candidate {
    nest: Nest,
    cost: f64,
    rules: Vec<&'static str>,
}

impl Candidate {
    /// Returns the nest to plan, and reports the cost of the original nest, the new cost and the
    /// graph.
    pub(crate) fn take(self, cx: &mut Context, (before, found): (f64, &str)) -> Vec<Waiting> {
        Candidate::take_all(vec![self], cx, before, found)
    }

    /// Returns the nests that together replace a nest of the plan, and reports them.
    fn take_all(all: Vec<Candidate>, cx: &mut Context, before: f64, found: &str) -> Vec<Waiting> {
        let cost: f64 = all.iter().map(|made| made.cost).sum();
        let mut text: String = all.iter().map(|made| format!("{}\n", made.nest)).collect();
        text += &format!("; cost about {before:.0} before, {cost:.0} after; {found}\n");
        let used = |made: &[Candidate], rule: &rules::Rule| made.iter().any(|made| made.rules.contains(&rule.name));
        for rule in rules::rules().filter(|rule| used(&all, rule)) {
            text += &format!("; {}: {}\n", rule.name, rule.equation);
        }
        cx.report.phase("algebra", text);
        let waiting = |made: Candidate| {
            let rules = rules::rules().filter(|rule| used(std::slice::from_ref(&made), rule));
            let rules = rules.map(|rule| Rule { name: rule.name, equation: rule.equation }).collect();
            Waiting { rules, ..made.nest.into() }
        };
        all.into_iter().map(waiting).collect()
    }
}

/// Rewrites the nest, which costs about `before`, to an equal one if that costs less. Records
/// runner-up candidates in the context.
pub(crate) fn rewrite(cx: &mut Context, nest: Nest, before: f64) -> Vec<Waiting> {
    if cx.config.subjects.is_empty() {
        return vec![nest.into()];
    }
    if nest.outputs.len() > 1 {
        return several::rewrite(cx, nest, before);
    }
    if !applies(&nest) {
        return vec![nest.into()];
    }
    let Saturated { graph, root, fields, stop } = saturated(cx, &nest);
    let extraction = Extraction::new(&graph, cx);
    let Best { planned, storing, estimate } = best(cx, &nest, extraction, (root, &fields));
    cx.memo.hold(&nest.sizes, &nest.pins);
    let mut planned = planned;
    // If saturation stopped at a limit, the result must not be worse than greedy elimination.
    if stop != Stop::Saturated && cx.config.choice == Choice::Cheapest {
        let most = planned.first().map_or(f64::INFINITY, |first| first.cost);
        planned.splice(0..0, greedy(cx, &nest, (most, CLOSE * estimate)));
    }
    let mut candidates = planned.into_iter();
    let Some(first) = candidates.next() else { return vec![nest.into()] };
    // `stands` is true if some order of the original term costs nearly as little.
    let limit = first.cost / GAIN;
    // A nest with many loops has only the greedy order, and `before` is its cost.
    let ordered = || match nest.loops().len() > EXHAUSTIVE_LOOPS {
        true => before < limit,
        false => order_loops_below(cx, &nest, limit).is_some(),
    };
    let stands = cx.config.choice == Choice::Cheapest && ordered();
    let (nodes, classes) = (graph.total_number_of_nodes(), graph.number_of_classes());
    let found = format!("{nodes} nodes in {classes} classes, {stop}");
    if first.cost >= COMPARING * cx.config.worth.0 {
        let most = if stands { 0 } else { MOST_CLOSE.min(MOST_CLOSE_PARTS / parts(&nest.outputs[0].value)) };
        let close = |other| Close { begun: Box::new(cx.fork()), other, before, found: found.clone() };
        let close: Vec<Close> = candidates.take(most).chain(storing).map(close).collect();
        cx.close.extend(close);
    }
    if stands {
        return vec![nest.into()];
    }
    first.take(cx, (before, &found))
}

/// Returns whether the nest has folds to rewrite and is within the limits.
fn applies(nest: &Nest) -> bool {
    let [target] = &nest.outputs[..] else { return false };
    let names: Vec<Field> = all_fields(nest);
    let mut folds = usize::from(target.fold.is_some());
    target.value.each_fold(&mut |_, _| folds += 1);
    folds > 0
        && nest.kind == NestKind::Query
        && nest.pins.is_empty()
        && target.at.iter().all(|at| at.as_field().is_some())
        && parts(&target.value) <= MOST_PARTS
        && !hides_folds(&target.value, false)
        && names.len() <= usize::from(u8::MAX) / 4
        && names.iter().all(|f| nest.sizes.of(f) > 0)
}

/// Returns whether an opaque part of the term, a scan or a value in a subscript, contains folds.
/// Their fields have unique names, which a duplicated term would contain twice.
fn hides_folds(term: &Term, hidden: bool) -> bool {
    let values = |read: &Read| {
        let value = |at: &At| matches!(at, At::Value(t) if hides_folds(t, true));
        read.at.iter().any(value)
    };
    match term.node() {
        Node::Access(read) => values(read),
        Node::Fold(fold) if fold.is_scan() => !fold.fields.is_empty() || hides_folds(&fold.arg, true),
        Node::Fold(fold) => hidden || hides_folds(&fold.arg, hidden),
        _ => term.children().iter().any(|t| hides_folds(t, hidden)),
    }
}

/// Returns the number of accesses, literals and operators of a term.
fn parts(term: &Term) -> usize {
    1 + term.children().iter().map(parts).sum::<usize>()
}

/// Returns all fields of a nest, including those of folds.
fn all_fields(nest: &Nest) -> Vec<Field> {
    fn bound(term: &Term, names: &mut Vec<Field>) {
        if let Node::Fold(fold) = term.node() {
            names.extend(fold.fields.iter().cloned());
        }
        term.children().iter().for_each(|c| bound(c, names));
    }
    let mut names = nest.loops();
    nest.outputs.iter().for_each(|t| bound(&t.value, &mut names));
    names
}

/// Returns the term of an output, including the output's fold.
fn whole(target: &Target, cx: &Context) -> Term {
    match &target.fold {
        None => target.value.clone(),
        Some((op, fields)) => {
            let (arg, fields) = (target.value.clone(), fields.clone());
            let fold = Fold { op: op.clone(), init: target.fill.clone(), arg, fields, along: Vec::new() };
            Term::fold(fold, target.fill.clone(), cx.mode())
        }
    }
}

/// The saturated e-graph of a nest's term.
struct Saturated {
    graph: Graph,
    /// The class of the term.
    root: Id,
    /// The fields of the class's slots.
    fields: Vec<Field>,
    /// The reason why saturation stopped.
    stop: Stop,
}

/// Returns the nest with its fields eliminated greedily, if it costs less than `most` and its
/// estimate by classes is at most `estimate`.
fn greedy(cx: &Context, nest: &Nest, (most, estimate): (f64, f64)) -> Option<Candidate> {
    let target = &nest.outputs[0];
    let (mut graph, mut names) = (Graph::new(Algebra::new(cx.mode())), fields(target));
    let root = insert(&mut graph, &whole(target, cx), &mut names, &nest.sizes);
    graph.rebuild();
    seed(&mut graph, root.class);
    graph.rebuild();
    let slots: Vec<Field> = root.slots.iter().map(|s| names[usize::from(*s)].clone()).collect();
    let mut extraction = Extraction::new(&graph, cx);
    extraction.choose(root.class);
    let top = extraction.folding_fewest(root.class)?.clone();
    let nodes = extraction.nodes(root.class);
    nodes.iter().find(|(_, node)| *node == top).filter(|(own, _)| *own <= estimate)?;
    let mut extracted = extraction.term(root.class, Some(&top), &slots, pool(nest))?;
    let rules = std::mem::take(&mut extracted.rules);
    let nest = with_value(nest, extracted);
    cx.memo.hold(&nest.sizes, &nest.pins);
    let cost = order_loops_below(cx, &nest, most)?.work.cost();
    Some(Candidate { nest, cost, rules })
}

/// Applies the rules: first those that gather aggregates and products, then those that spread them.
/// Both groups at once would undo each other everywhere.
fn saturated(cx: &Context, nest: &Nest) -> Saturated {
    let target = &nest.outputs[0];
    let mut graph = Graph::new(Algebra::new(cx.mode()));
    let mut names: Vec<Field> = fields(target);
    let term = whole(target, cx);
    let root = insert(&mut graph, &term, &mut names, &nest.sizes);
    graph.rebuild();
    if cx.config.subjects.contains(Subject::Symmetry) {
        let free = fields(target);
        let bound: Vec<Field> = all_fields(nest).into_iter().filter(|f| !free.contains(f)).collect();
        rules::learn(cx, &mut graph, nest, &bound);
    }
    if cx.config.subjects.contains(Subject::Filters) {
        rules::learn_filters(cx, &mut graph, nest);
    }
    let mut stop = Stop::Saturated;
    for round in [Round::Gather, Round::Spread] {
        if round == Round::Spread && cx.config.subjects.contains(Subject::Elimination) {
            seed(&mut graph, root.class);
        }
        stop = saturate(&mut graph, &rules::of_round(cx.config.subjects, round), MOST_ITERATIONS);
    }
    let rules = std::mem::take(&mut graph.analysis.rules);
    let canonical = |node: language::ENode| egg::Language::map_children(node, |id| graph.find(id));
    let rules = rules.into_iter().map(|(node, rule)| (canonical(node), rule)).collect();
    graph.analysis.rules = rules;
    let fields = root.slots.iter().map(|s| names[usize::from(*s)].clone()).collect();
    let root = graph.find(root.class);
    Saturated { graph, root, fields, stop }
}

/// Returns the fields of an output's coordinates.
fn fields(target: &Target) -> Vec<Field> {
    target.at.iter().filter_map(At::as_field).cloned().collect()
}

/// The best terms of a class.
struct Best {
    /// Planned terms: the cheapest first, then the runners-up.
    planned: Vec<Candidate>,
    /// A term with an optional stored subterm. The cost of loops over that subterm is only known
    /// after planning it.
    storing: Option<Candidate>,
    /// The estimated cost of the class.
    estimate: f64,
}

fn best(cx: &Context, nest: &Nest, mut extraction: Extraction<'_, '_>, (root, slots): (Id, &[Field])) -> Best {
    let (mut found, mut storing, mut stored): (Vec<Candidate>, Option<Candidate>, bool) = (Vec::new(), None, false);
    let size = parts(&nest.outputs[0].value);
    let cheapest = cx.config.choice == Choice::Cheapest;
    extraction.choose(root);
    let estimate = extraction.estimate(root);
    let limit = NEAR * estimate;
    let listed = cheapest.then(|| extraction.terms(root, MOST_TERMS, limit)).flatten();
    let compares = listed.is_some();
    let mut plan = |extracted: Option<Extracted>, estimate: f64| {
        let mut extracted = extracted?;
        let rules = std::mem::take(&mut extracted.rules);
        let new = with_value(nest, extracted);
        if stores(&new.outputs[0].value) {
            storing.get_or_insert(Candidate { nest: new, cost: estimate, rules });
            return found.first().map(|first| first.cost);
        }
        cx.memo.hold(&new.sizes, &new.pins);
        let least = found.first().map_or(f64::INFINITY, |first| first.cost);
        let close = if compares && least >= COMPARING * cx.config.worth.0 { CLOSE } else { 1.0 };
        let cost = order_loops_below(cx, &new, close * least).map(|o| o.work.cost()).filter(|cost| cost.is_finite());
        if let Some(cost) = cost {
            let at = found.partition_point(|other| other.cost <= cost);
            found.insert(at, Candidate { nest: new, cost, rules });
            found.retain(|other| other.cost <= close * cost.min(least));
        }
        found.first().map(|first| first.cost)
    };
    match listed {
        Some(terms) => {
            let mut planned = 0;
            for (estimate, choices) in &terms {
                // One term with stored subterms is enough.
                let stores = extraction.stores(choices);
                if stores && std::mem::replace(&mut stored, true) {
                    continue;
                }
                extraction.take(choices);
                let known = plan(extraction.term(root, None, slots, pool(nest)), *estimate);
                planned += usize::from(!stores);
                // Planning a term takes time as well.
                let pays = |cost: f64| cost >= planned as f64 * PLANNING * cx.config.worth.0;
                let long = planned * size >= MOST_PLANNED_PARTS;
                if planned >= MOST_PLANNED && (long || !known.is_none_or(pays)) {
                    break;
                }
            }
        }
        None => {
            let mut planned = 0;
            for (estimate, node) in extraction.nodes(root) {
                let extracted = extraction.term(root, Some(&node), slots, pool(nest));
                planned += usize::from(extracted.as_ref().is_some_and(|e| !stores(&e.term)));
                let known = plan(extracted, estimate);
                if planned >= MOST_PLANNED || known.is_some() && !cheapest {
                    break;
                }
            }
        }
    }
    Best { planned: found, storing, estimate }
}

/// Returns whether a term stores a subterm that could be computed where it is read.
fn stores(term: &Term) -> bool {
    let mut found = false;
    term.each_fold(&mut |_, fold| found |= fold.is_stored() || stores(&fold.arg));
    found
}

/// Returns the names available for fields of folds in other terms of a nest.
fn pool(nest: &Nest) -> Pool {
    let free = fields(&nest.outputs[0]);
    let all = all_fields(nest);
    let names = all.iter().filter(|f| !free.contains(f)).map(|f| (f.clone(), nest.sizes.of(f))).collect();
    Pool { names, reserved: all }
}

/// Returns the nest with another term as its value.
fn with_value(nest: &Nest, Extracted { term, sizes, .. }: Extracted) -> Nest {
    let mut new = nest.clone();
    sizes.each(&mut |field, size| new.sizes.insert(field.clone(), size));
    new.outputs[0].fold = None;
    new.outputs[0].value = term;
    root_folds(new)
}
