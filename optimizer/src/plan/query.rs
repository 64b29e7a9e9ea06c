//! Plans one nest: the passes from a nest to its physical query, after the queries that it needs.

use super::planner::Planner;
use crate::algebra::Task;
use crate::emit::emit;
use crate::error::Error;
use crate::facts::Facts;
use crate::normalize::folds::{fold_nest, stored_coordinates};
use crate::normalize::merge::join;
use crate::order::search::{PricedOrder, order_loops_below};
use crate::order::skew::skew_candidates;
use crate::order::split::split_candidates;
use crate::report::{Decision, Origin};
use crate::schedule::concordize::{DiscordantRead, ReplacedReads, concordize, copy_nest, discordant_reads};
use crate::schedule::isolate::{FoldPlacement, isolate};
use crate::term::unify::match_folds;
use crate::term::{Fold, ModeCoordinate, Nest, Node, Read, Term, TypedAlias};
use redpoll_logic::physical::PhysicalQuery;
use redpoll_logic::{Field, FloatMode, Format, TensorType};
use std::sync::Arc;

/// Plans the query of one nest, after the queries that it needs.
pub(crate) fn plan_task(planner: &mut Planner, mut task: Task) -> Result<(), Error> {
    task.nest = planner.facts.resolve(task.nest);
    loop {
        let (nest, ordered) = cheapest_order(&planner.facts, &task.nest)?;
        let order = ordered.order.clone();
        match physical_query(planner, &nest, ordered, &task)? {
            FoldPlacement::Placed(query) => {
                planner.state.push(query, nest, order);
                return Ok(());
            }
            FoldPlacement::StoreFirst(folds) => {
                task.nest = nest;
                store_folds(planner, &mut task, &folds)?;
            }
        }
    }
}

/// Returns the nest and the loop order with the lowest cost, among the given nest and the
/// candidates that split fields or replace fields by diagonals. Fails if no loop order has a finite
/// cost.
fn cheapest_order(facts: &Facts, nest: &Nest) -> Result<(Nest, PricedOrder), Error> {
    facts.memo.retain_for(&nest.sizes, &nest.pins);
    let split = split_candidates(nest, facts.mode());
    let candidates = split.iter().flat_map(|nest| skew_candidates(nest, facts.mode()));
    let mut best: Option<(Nest, PricedOrder)> = None;
    for candidate in candidates {
        let limit = best.as_ref().map_or(f64::INFINITY, |(_, ordered)| ordered.work.cost());
        // A fold without a valid order costs infinity.
        let ordered = order_loops_below(facts, &candidate, limit).filter(|o| o.work.cost().is_finite());
        best = ordered.map(|ordered| (candidate, ordered)).or(best);
    }
    best.ok_or_else(|| Error::NoLoopOrder { query: nest.name().clone() })
}

/// Returns the query of a nest in the given loop order, after planning the copies that it reads; or
/// the folds to store first.
pub(crate) fn physical_query(
    planner: &mut Planner,
    nest: &Nest,
    ordered: PricedOrder,
    task: &Task,
) -> Result<FoldPlacement<(PhysicalQuery, Decision)>, Error> {
    if ordered.stores_folds {
        return Ok(FoldPlacement::StoreFirst(inner_folds(nest)));
    }
    let nest = nest.with_dense_outputs(&ordered.dense);
    let schedule = match isolate(&planner.facts, &mut planner.state.names, &nest, &ordered.order) {
        FoldPlacement::Placed(schedule) => schedule,
        FoldPlacement::StoreFirst(folds) => return Ok(FoldPlacement::StoreFirst(folds)),
    };
    let discordant = discordant_reads(&planner.facts, &schedule);
    let replaced = plan_copies(planner, discordant, task)?;
    let schedule = concordize(schedule, &replaced, planner.facts.mode());
    let decision = ordered.decision(task.origin, task.rules.clone());
    emit(&mut planner.facts, &schedule, decision).map(FoldPlacement::Placed)
}

/// Returns the outermost folds inside the values of a nest.
fn inner_folds(nest: &Nest) -> Vec<Term> {
    let mut folds: Vec<Term> = Vec::new();
    for target in &nest.outputs {
        target.value.each_fold(&mut |term, _| {
            if !folds.contains(term) {
                folds.push(term.clone());
            }
        });
    }
    folds
}

/// Plans the copies for the discordant reads of a task; returns each read with its copy.
fn plan_copies(planner: &mut Planner, reads: Vec<DiscordantRead>, task: &Task) -> Result<ReplacedReads, Error> {
    if reads.is_empty() {
        return Ok(Vec::new());
    }
    planner.with_pending_task(task, |planner| {
        let copied = |discordant: DiscordantRead| {
            let copy = plan_copy(planner, &discordant.read, &discordant.format)?;
            Ok((discordant, copy))
        };
        reads.into_iter().map(copied).collect()
    })
}

/// Returns the name and type of a copy of a read's tensor in another format, and plans the copy if
/// there is none.
pub(crate) fn plan_copy(planner: &mut Planner, read: &Read, format: &Format) -> Result<TypedAlias, Error> {
    let ty = Arc::new(TensorType { format: format.clone(), ..(*read.ty).clone() });
    let copies = &planner.state.copies;
    if let Some((.., alias)) = copies.iter().find(|(t, f, _)| *t == read.tensor && f == format) {
        return Ok((alias.clone(), ty));
    }
    let alias = planner.state.names.fresh(&read.tensor);
    let nest = copy_nest(read, format.clone(), alias.clone());
    plan_task(planner, Task { nest, origin: Origin::Copy, rules: Vec::new() })?;
    planner.state.copies.push((read.tensor.clone(), format.clone(), alias.clone()));
    Ok((alias, ty))
}

/// Plans a query that stores the first of the given folds of the task's nest, together with the
/// other folds that can be joined with it. Replaces the stored folds in the nest by reads of the
/// query's outputs.
fn store_folds(planner: &mut Planner, task: &mut Task, terms: &[Term]) -> Result<(), Error> {
    let (nest, mode) = (&mut task.nest, planner.facts.mode());
    // If every output of the nest is one of these folds and nothing else, the nest is already their
    // joined query, and joining the folds would give the same nest again. Such folds are stored one
    // by one.
    let is_joinable = !nest.outputs.iter().all(|target| target.fold.is_none() && terms.contains(&target.value));
    let mut stored: Option<Nest> = None;
    for term in terms {
        let Node::Fold(fold) = term.node() else { continue };
        // A read of an earlier fold, equal up to field names, may already have replaced this fold.
        if !nest.outputs.iter().any(|target| contains_term(&target.value, term)) {
            continue;
        }
        let mut fold_nest = fold_nest(fold, nest.name(), &nest.sizes, &nest.pins, mode);
        let joined = match &stored {
            None => Some(fold_nest.clone()),
            Some(stored) => is_joinable.then(|| join(stored, &fold_nest, mode)).flatten(),
        };
        let Some(mut joined) = joined else { continue };
        let alias = planner.state.names.fresh(nest.name());
        for last in [&mut fold_nest, &mut joined].into_iter().filter_map(|nest| nest.outputs.last_mut()) {
            last.alias = alias.clone();
        }
        replace_by_read(nest, (term, fold), &fold_nest, mode);
        stored = Some(joined);
    }
    if let Some(nest) = stored {
        let stored = Task { nest, origin: Origin::StoredFold, rules: task.rules.clone() };
        planner.with_pending_task(task, |planner| plan_task(planner, stored))?;
    }
    task.nest = planner.facts.resolve(task.nest.clone());
    Ok(())
}

/// Returns whether `term` occurs in `whole`, also in its subscripts.
fn contains_term(whole: &Term, term: &Term) -> bool {
    let mut found = false;
    whole.replace(
        &mut |t| {
            found |= t == term;
            found.then(|| t.clone())
        },
        FloatMode::default(),
    );
    found
}

/// Replaces a fold, and folds that are equal up to field names, by reads of the tensor that the
/// nest `stored` writes.
fn replace_by_read(nest: &mut Nest, (term, fold): (&Term, &Fold), stored: &Nest, mode: FloatMode) {
    let (alias, shape, fill) = (stored.name().clone(), stored.outputs[0].shape.clone(), fold.init.clone());
    let coordinates = stored_coordinates(stored, fold);
    let format = Format::dense(shape.len());
    let ty = Arc::new(TensorType { shape, dtype: term.dtype(), fill, format });
    let read = Read { tensor: alias, ty, coordinates, outside: None };
    let sizes = nest.sizes.clone();
    let mut replacement = |t: &Term| match t.node() {
        _ if t == term => Some(Term::access(read.clone())),
        Node::Fold(other) => {
            let names = match_folds(fold, other, &sizes, mode)?;
            let with = |f: &Field| ModeCoordinate::field(names.get(f).unwrap_or(f));
            let coordinates = read.coordinates.iter().map(|at| at.substitute(&with, mode)).collect();
            Some(Term::access(Read { coordinates, ..read.clone() }))
        }
        _ => None,
    };
    for target in &mut nest.outputs {
        target.value = target.value.replace(&mut replacement, mode);
    }
}
