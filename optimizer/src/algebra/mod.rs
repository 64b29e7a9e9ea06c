//! The algebra phase: rewrites a query's term in an e-graph and plans the cheapest equal term.
//!
//! Input: a nest. Output: the nests that replace it; more than one only if several outputs are
//! cheaper separately. `language` has the nodes, `graph` the analysis of classes and the conversion
//! from terms, `names` the names of fields, and `rules` the rule tables. `saturate` applies the
//! rules, `seed` adds a first good plan, `extract` chooses terms, `multi_output` handles nests with
//! several outputs, and `replacement` has the types of the result.
//!
//! Sources: Willsey et al., "egg: Fast and Extensible Equality Saturation"; Deeds, Ahrens, Suciu,
//! "Galley".

mod extract;
mod graph;
mod language;
mod multi_output;
mod names;
mod replacement;
mod rules;
mod saturate;
mod seed;
#[cfg(test)]
mod tests;

pub(crate) use replacement::{Replacement, ReplacementChoice, Task};

use crate::config::{Choice, Subject};
use crate::facts::Facts;
use crate::normalize::folds::move_root_folds;
use crate::order::search::order_loops_below;
use crate::report::AppliedRule;
use crate::term::{Fold, ModeCoordinate, Nest, NestKind, Node, Read, Target, Term};
use crate::work::cost::EXHAUSTIVE_LOOPS;
use egg::Id;
use extract::{ExtractedTerm, Extraction};
use graph::{Algebra, AlgebraGraph, insert};
use names::FieldPool;
use redpoll_logic::Field;
use rules::Round;
use saturate::{MAX_ITERATIONS, StopReason, saturate};
use seed::seed;

/// Largest [`term_size`] of a term that is rewritten.
const MAX_TERM_SIZE: usize = 48;
/// Number of terms that are planned, in order of their estimates. An expensive query plans more if
/// all its terms are listed.
const MAX_PLANNED: usize = 3;
/// Total size of the planned terms at which planning stops, once [`MAX_PLANNED`] terms are planned.
/// Each term counts with the [`term_size`] of the original value.
const MAX_PLANNED_SIZE: usize = 66;
/// Largest number of terms in a class for which all terms are listed.
const MAX_LISTED_TERMS: usize = 500;
/// Largest ratio of the estimated cost of a listed term to that of the cheapest term.
const MAX_ESTIMATE_RATIO: f64 = 100.0;
/// Query cost per planned term that pays for planning one more term, in units of
/// [`rewrite_threshold`](crate::OptimizerConfig::rewrite_threshold).
const COST_PER_PLANNED_TERM: f64 = 100.0;
/// Largest ratio of the new cost to the old one for which a term, or a plan, is replaced.
pub(crate) const MAX_COST_RATIO: f64 = 0.95;

/// Creates an e-graph in advance, because the first graph of a process calibrates a clock.
pub(crate) fn warm_up() {
    AlgebraGraph::new(Algebra::new(redpoll_logic::FloatMode::default())).rebuild();
}

/// Largest ratio of the cost of a runner-up term to that of the cheapest term. Whole plans of
/// runner-up terms are compared.
const RUNNER_UP_RATIO: f64 = 1.5;
/// Largest number of runner-up terms, besides a term with a stored subterm.
const MAX_RUNNERS_UP: usize = 2;
/// Largest total size of the terms that [`MAX_RUNNERS_UP`] counts. Each term counts with the
/// [`term_size`] of the original value.
const MAX_RUNNER_UP_SIZE: usize = 10;
/// Least cost of a query whose runner-up terms are compared, in units of
/// [`rewrite_threshold`](crate::OptimizerConfig::rewrite_threshold).
const MIN_COMPARED_COST: f64 = 5.0;

/// A nest that is equal to a nest of the plan.
#[derive(Clone)]
pub(crate) struct CandidateNest {
    nest: Nest,
    cost: f64,
    rules: Vec<&'static str>,
}

/// Returns the candidates as a replacement. The note of the replacement shows the new nests, the
/// costs before and after, the size of the graph and the rules that were used.
fn replacement(candidates: Vec<CandidateNest>, original_cost: f64, graph_size: &str) -> Replacement {
    let cost: f64 = candidates.iter().map(|candidate| candidate.cost).sum();
    let mut text: String = candidates.iter().map(|candidate| format!("{}\n", candidate.nest)).collect();
    text += &format!("; estimated cost {original_cost:.0} before, {cost:.0} after; {graph_size}\n");
    let is_used = |candidates: &[CandidateNest], rule: &rules::RewriteRule| {
        candidates.iter().any(|candidate| candidate.rules.contains(&rule.name))
    };
    for rule in rules::rules().filter(|rule| is_used(&candidates, rule)) {
        text += &format!("; {}: {}\n", rule.name, rule.equation);
    }
    let task = |candidate: CandidateNest| {
        let rules = rules::rules().filter(|rule| is_used(std::slice::from_ref(&candidate), rule));
        let rules = rules.map(|rule| AppliedRule { name: rule.name, equation: rule.equation }).collect();
        Task { rules, ..candidate.nest.into() }
    };
    Replacement { tasks: candidates.into_iter().map(task).collect(), note: Some(text) }
}

/// Rewrites the nest, which costs about `original_cost`, to an equal nest that costs less, if there
/// is one; a nest with several outputs may become several nests. Returns the chosen nest with the
/// runners-up.
pub(crate) fn rewrite(facts: &Facts, nest: Nest, original_cost: f64) -> ReplacementChoice {
    if facts.config.subjects.is_empty() {
        return nest.into();
    }
    if nest.outputs.len() > 1 {
        return multi_output::rewrite(facts, nest, original_cost).into();
    }
    if !is_rewritable(&nest) {
        return nest.into();
    }
    let SaturatedNest { graph, root, fields, stop } = saturate_nest(facts, &nest);
    let extraction = Extraction::new(&graph, facts);
    let BestTerms { planned, storing, estimate } = best_terms(facts, &nest, extraction, (root, &fields));
    facts.memo.retain_for(&nest.sizes, &nest.pins);
    let mut planned = planned;
    // If saturation stopped at a limit, the result must not be worse than greedy elimination.
    if stop != StopReason::Saturated && facts.config.choice == Choice::Cheapest {
        let limit = planned.first().map_or(f64::INFINITY, |first| first.cost);
        planned.splice(0..0, greedy_candidate(facts, &nest, (limit, RUNNER_UP_RATIO * estimate)));
    }
    let mut candidates = planned.into_iter();
    let Some(first) = candidates.next() else { return nest.into() };
    // `keeps_original` is true if some order of the original term costs nearly as little.
    let limit = first.cost / MAX_COST_RATIO;
    // A nest with many loops has only the greedy order, and `original_cost` is its cost.
    let is_cheap = || match nest.loops().len() > EXHAUSTIVE_LOOPS {
        true => original_cost < limit,
        false => order_loops_below(facts, &nest, limit).is_some(),
    };
    let keeps_original = facts.config.choice == Choice::Cheapest && is_cheap();
    let (nodes, classes) = (graph.total_number_of_nodes(), graph.number_of_classes());
    let graph_size = format!("{nodes} nodes in {classes} classes, {stop}");
    let mut runners_up = Vec::new();
    if first.cost >= MIN_COMPARED_COST * facts.config.rewrite_threshold.0 {
        let count = match keeps_original {
            true => 0,
            false => MAX_RUNNERS_UP.min(MAX_RUNNER_UP_SIZE / term_size(&nest.outputs[0].value)),
        };
        let runner_up = |candidate| replacement(vec![candidate], original_cost, &graph_size);
        runners_up = candidates.take(count).chain(storing).map(runner_up).collect();
    }
    let chosen = match keeps_original {
        true => nest.into(),
        false => replacement(vec![first], original_cost, &graph_size),
    };
    ReplacementChoice { chosen, runners_up }
}

/// Returns whether the rules apply to the nest. The nest must be a query with one output and at
/// least one fold, without pinned loops. The coordinates of the output must be fields, no opaque
/// part may contain folds ([`hides_folds`]), and no field may have size 0. The sizes of the term
/// and of the list of fields must be within the limits.
fn is_rewritable(nest: &Nest) -> bool {
    let [target] = &nest.outputs[..] else { return false };
    let names: Vec<Field> = all_fields(nest);
    let mut folds = usize::from(target.fold.is_some());
    target.value.each_fold(&mut |_, _| folds += 1);
    folds > 0
        && nest.kind == NestKind::Query
        && nest.pins.is_empty()
        && target.coordinates.iter().all(|at| at.as_field().is_some())
        && term_size(&target.value) <= MAX_TERM_SIZE
        && !hides_folds(&target.value, false)
        && names.len() <= usize::from(u8::MAX) / 4
        && names.iter().all(|f| nest.sizes.of(f) > 0)
}

/// Returns whether an opaque part of the term, a scan or a value in a subscript, contains folds.
/// The fields of such folds have unique names, which a duplicated term would contain twice.
fn hides_folds(term: &Term, hidden: bool) -> bool {
    let values = |read: &Read| {
        let value = |at: &ModeCoordinate| matches!(at, ModeCoordinate::Value(t) if hides_folds(t, true));
        read.coordinates.iter().any(value)
    };
    match term.node() {
        Node::Access(read) => values(read),
        Node::Fold(fold) if fold.is_scan() => !fold.fields.is_empty() || hides_folds(&fold.arg, true),
        Node::Fold(fold) => hidden || hides_folds(&fold.arg, hidden),
        _ => term.children().iter().any(|t| hides_folds(t, hidden)),
    }
}

/// Returns the number of accesses, literals, coordinates, operators and folds of a term, without
/// those in subscripts.
fn term_size(term: &Term) -> usize {
    1 + term.children().iter().map(term_size).sum::<usize>()
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
fn output_term(target: &Target, facts: &Facts) -> Term {
    match &target.fold {
        None => target.value.clone(),
        Some((op, fields)) => {
            let (arg, fields) = (target.value.clone(), fields.clone());
            let fold = Fold { op: op.clone(), init: target.fill.clone(), arg, fields, along: Vec::new() };
            Term::fold(fold, target.fill.clone(), facts.mode())
        }
    }
}

/// The saturated e-graph of a nest's term.
struct SaturatedNest {
    graph: AlgebraGraph,
    /// The class of the term.
    root: Id,
    /// The fields of the class's slots.
    fields: Vec<Field>,
    /// The reason why the last round of saturation stopped.
    stop: StopReason,
}

/// Returns the nest with its fields eliminated greedily, if it costs less than `limit` and its
/// estimate by classes is at most `estimate`.
fn greedy_candidate(facts: &Facts, nest: &Nest, (limit, estimate): (f64, f64)) -> Option<CandidateNest> {
    let target = &nest.outputs[0];
    let (mut graph, mut names) = (AlgebraGraph::new(Algebra::new(facts.mode())), output_fields(target));
    let root = insert(&mut graph, &output_term(target, facts), &mut names, &nest.sizes);
    graph.rebuild();
    seed(&mut graph, root.class);
    graph.rebuild();
    let slots: Vec<Field> = root.slots.iter().map(|s| names[usize::from(*s)].clone()).collect();
    let mut extraction = Extraction::new(&graph, facts);
    extraction.choose(root.class);
    let top = extraction.smallest_fold(root.class)?.clone();
    let nodes = extraction.priced_nodes(root.class);
    nodes.iter().find(|(_, node)| *node == top).filter(|(own, _)| *own <= estimate)?;
    let mut extracted = extraction.term(root.class, Some(&top), &slots, field_pool(nest))?;
    let rules = std::mem::take(&mut extracted.rules);
    let nest = with_value(nest, extracted);
    facts.memo.retain_for(&nest.sizes, &nest.pins);
    let cost = order_loops_below(facts, &nest, limit)?.work.cost();
    Some(CandidateNest { nest, cost, rules })
}

/// Builds the graph of a nest's term and applies the rules: first those that gather aggregates and
/// products, then those that spread aggregates. Applied together, the rules of one group would undo
/// the rewrites of the other group. Rules of neither group are applied both times.
fn saturate_nest(facts: &Facts, nest: &Nest) -> SaturatedNest {
    let target = &nest.outputs[0];
    let mut graph = AlgebraGraph::new(Algebra::new(facts.mode()));
    let mut names: Vec<Field> = output_fields(target);
    let term = output_term(target, facts);
    let root = insert(&mut graph, &term, &mut names, &nest.sizes);
    graph.rebuild();
    if facts.config.subjects.contains(Subject::Symmetry) {
        let free = output_fields(target);
        let bound: Vec<Field> = all_fields(nest).into_iter().filter(|f| !free.contains(f)).collect();
        rules::find_symmetries(facts, &mut graph, nest, &bound);
    }
    if facts.config.subjects.contains(Subject::Filters) {
        rules::find_filters(facts, &mut graph, nest);
    }
    let mut stop = StopReason::Saturated;
    for round in [Round::Gather, Round::Spread] {
        if round == Round::Spread && facts.config.subjects.contains(Subject::Elimination) {
            seed(&mut graph, root.class);
        }
        stop = saturate(&mut graph, &rules::rules_of_round(facts.config.subjects, round), MAX_ITERATIONS);
    }
    let rules = std::mem::take(&mut graph.analysis.rules);
    let canonical = |node: language::ENode| egg::Language::map_children(node, |id| graph.find(id));
    let rules = rules.into_iter().map(|(node, rule)| (canonical(node), rule)).collect();
    graph.analysis.rules = rules;
    let fields = root.slots.iter().map(|s| names[usize::from(*s)].clone()).collect();
    let root = graph.find(root.class);
    SaturatedNest { graph, root, fields, stop }
}

/// Returns the fields of an output's coordinates.
fn output_fields(target: &Target) -> Vec<Field> {
    target.coordinates.iter().filter_map(ModeCoordinate::as_field).cloned().collect()
}

/// The best terms of a class.
struct BestTerms {
    /// Planned terms: the cheapest first, then the runners-up.
    planned: Vec<CandidateNest>,
    /// A term that stores a subterm although the subterm could be computed in place. The cost of
    /// loops over the stored subterm is known only after the subterm is planned.
    storing: Option<CandidateNest>,
    /// The estimated cost of the class.
    estimate: f64,
}

/// Plans the best terms of a class.
fn best_terms(
    facts: &Facts,
    nest: &Nest,
    mut extraction: Extraction<'_, '_>,
    (root, slots): (Id, &[Field]),
) -> BestTerms {
    let (mut found, mut storing, mut stored): (Vec<CandidateNest>, Option<CandidateNest>, bool) =
        (Vec::new(), None, false);
    let size = term_size(&nest.outputs[0].value);
    let is_cheapest = facts.config.choice == Choice::Cheapest;
    extraction.choose(root);
    let estimate = extraction.estimate(root);
    let limit = MAX_ESTIMATE_RATIO * estimate;
    let listed = is_cheapest.then(|| extraction.terms(root, MAX_LISTED_TERMS, limit)).flatten();
    let compares = listed.is_some();
    let mut plan = |extracted: Option<ExtractedTerm>, estimate: f64| {
        let mut extracted = extracted?;
        let rules = std::mem::take(&mut extracted.rules);
        let new = with_value(nest, extracted);
        if has_stored_subterms(&new.outputs[0].value) {
            storing.get_or_insert(CandidateNest { nest: new, cost: estimate, rules });
            return found.first().map(|first| first.cost);
        }
        facts.memo.retain_for(&new.sizes, &new.pins);
        let lowest = found.first().map_or(f64::INFINITY, |first| first.cost);
        let ratio = if compares && lowest >= MIN_COMPARED_COST * facts.config.rewrite_threshold.0 {
            RUNNER_UP_RATIO
        } else {
            1.0
        };
        let cost =
            order_loops_below(facts, &new, ratio * lowest).map(|o| o.work.cost()).filter(|cost| cost.is_finite());
        if let Some(cost) = cost {
            let at = found.partition_point(|other| other.cost <= cost);
            found.insert(at, CandidateNest { nest: new, cost, rules });
            found.retain(|other| other.cost <= ratio * cost.min(lowest));
        }
        found.first().map(|first| first.cost)
    };
    match listed {
        Some(terms) => {
            let mut planned = 0;
            for (estimate, choices) in &terms {
                // One term with stored subterms is enough.
                let stores = extraction.has_stored_subterms(choices);
                if stores && std::mem::replace(&mut stored, true) {
                    continue;
                }
                extraction.set_choices(choices);
                let best_cost = plan(extraction.term(root, None, slots, field_pool(nest)), *estimate);
                planned += usize::from(!stores);
                // Planning takes time, so only an expensive query plans more terms.
                let pays =
                    |cost: f64| cost >= planned as f64 * COST_PER_PLANNED_TERM * facts.config.rewrite_threshold.0;
                let is_long = planned * size >= MAX_PLANNED_SIZE;
                if planned >= MAX_PLANNED && (is_long || !best_cost.is_none_or(pays)) {
                    break;
                }
            }
        }
        None => {
            let mut planned = 0;
            for (estimate, node) in extraction.priced_nodes(root) {
                let extracted = extraction.term(root, Some(&node), slots, field_pool(nest));
                planned += usize::from(extracted.as_ref().is_some_and(|e| !has_stored_subterms(&e.term)));
                let best_cost = plan(extracted, estimate);
                if planned >= MAX_PLANNED || best_cost.is_some() && !is_cheapest {
                    break;
                }
            }
        }
    }
    BestTerms { planned: found, storing, estimate }
}

/// Returns whether a term stores a subterm that could be computed where it is read.
fn has_stored_subterms(term: &Term) -> bool {
    let mut found = false;
    term.each_fold(&mut |_, fold| found |= fold.is_stored() || has_stored_subterms(&fold.arg));
    found
}

/// Returns the names available for fields of folds in equal terms of a nest.
fn field_pool(nest: &Nest) -> FieldPool {
    let free = output_fields(&nest.outputs[0]);
    let all = all_fields(nest);
    let names = all.iter().filter(|f| !free.contains(f)).map(|f| (f.clone(), nest.sizes.of(f))).collect();
    FieldPool { names, reserved: all }
}

/// Returns the nest with another term as its value.
fn with_value(nest: &Nest, ExtractedTerm { term, sizes, .. }: ExtractedTerm) -> Nest {
    let mut new = nest.clone();
    sizes.each(&mut |field, size| new.sizes.insert(field.clone(), size));
    new.outputs[0].fold = None;
    new.outputs[0].value = term;
    move_root_folds(new)
}
