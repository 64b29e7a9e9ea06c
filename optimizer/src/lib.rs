//! Optimizer: turns Logic plans into physical plans.
//!
//! [`optimize`] rewrites the plan in an e-graph and then makes a physical plan. [`optimize_plain`]
//! takes the plain path: it makes a physical plan without rewriting.
//!
//! The pipeline, one file per pass:
//!
//! | pass | from | to |
//! |---|---|---|
//! | `normalize` | Logic plan | nests: one query each, maps pushed to the accesses |
//! | `lookup` | nest | nest in which lookups replace the loops that equality masks decide |
//! | `merge` | nests | nests; those with the same loops over the same tensors are merged |
//! | `algebra` | nest | nest with an equal value that costs less |
//! | `split` | nest | candidate nests: fields are split into blocks where tensors are stored or read in blocks |
//! | `skew` | nest | candidate nests: fields are replaced by diagonals where tensors are stored by diagonals |
//! | `loop_order` | nest | a loop order; `pricing` and `writes` count its work |
//! | `isolate` | nest and order | schedule: each fold at its depth, or in a query of its own |
//! | `concordize` | schedule | schedule whose accesses are all concordant, after copies |
//! | `emit` | schedule | physical query; `formats`, `structure`, `patterns`, `workspace`, `protocols`, `intersection` and `lanes` decide its parts |
//! | `layout` | planned queries | the same queries, with loop orders and formats chosen together |
//!
//! Invariants of every physical plan:
//! - Every alias is written once, before it is read; produced aliases are written.
//! - The indices of a query's loops, including those of temporaries, are distinct; an index is used
//!   only inside its loop.
//! - A loop over `Extent::Block` is inside the loop of its outer index; a loop over `Extent::Skew`
//!   is inside the loop of the other index.
//! - Each access and output has one subscript for each storage mode; each access also has one
//!   protocol for each storage mode.
//! - The coordinate of a walked or galloped level is an affine form of a loop's index. This loop is
//!   inside the loops that bind the outer levels.
//! - A temporary is listed after the temporaries that it reads.
//! - An output without a fold writes each coordinate at most once; a fold starts from the output's
//!   fill.
//! - Writes into lists and singletons come in order, or go into a workspace first.
//! - If the operator of an aggregate cannot be regrouped, its reduced loops have the order of the
//!   aggregate's fields.

#![forbid(unsafe_code)]

mod adaptive;
mod algebra;
mod concordize;
mod config;
mod context;
mod cost;
mod divide;
mod emit;
mod error;
mod estimate;
mod fill;
mod fit;
mod folds;
mod formats;
mod intersection;
mod isolate;
mod lanes;
mod layout;
mod lines;
mod lookup;
mod loop_order;
mod measuring;
mod merge;
mod names;
mod normalize;
mod patterns;
mod pricing;
mod protocols;
mod report;
mod show;
mod sizes;
mod skew;
mod split;
mod state;
mod structure;
mod term;
mod unify;
mod windows;
mod work;
mod workspace;
mod writes;

pub use adaptive::{AdaptivePlan, WrittenTensor};
pub use config::{Adaptivity, Choice, CostThreshold, OptimizerConfig, ReorderPolicy, Subject, Subjects};
pub use error::Error;
pub use report::{Adaptation, AppliedRule, Decision, Miscount, Origin, OutputDecision, PhaseReport, Report};
pub use work::{Event, Work};

use algebra::{Rewriting, Rewritten};
use concordize::concordize;
use context::Context;
use emit::emit;
use folds::{fold_nest, move_root_folds, stored_coordinates};
use isolate::{FoldPlacement, isolate};
use layout::lay_out;
use lookup::use_lookups;
use loop_order::{PricedOrder, order_loops_below, rough_cost};
use merge::{join, merge_queries};
use normalize::normalize;
use redpoll_logic::physical::PhysicalPlan;
use redpoll_logic::statistics::Statistics;
use redpoll_logic::{Field, FloatMode, Format, Plan, TensorType};
use skew::skew_candidates;
use split::split_candidates;
use state::Task;
use std::rc::Rc;
use std::sync::Arc;
use term::{Fold, ModeCoordinate, Nest, NestKind, Node, Read, Term};
use unify::match_folds;

/// Builds the rule tables in advance, so that the first plan that is rewritten does not pay for
/// them (about 0.1 s).
pub fn warm_up() {
    algebra::warm_up();
}

/// Makes a physical plan by the plain path, without rewriting.
///
/// # Errors
/// The errors of [`optimize`].
pub fn optimize_plain(
    plan: &Plan,
    statistics: &Statistics,
    config: &OptimizerConfig,
) -> Result<(PhysicalPlan, Report), Error> {
    optimize(plan, statistics, &OptimizerConfig { subjects: Subjects::none(), ..config.clone() })
}

/// Makes a physical plan.
///
/// # Errors
/// Fails when an operator does not fit its arguments, a field has no size, a requested
/// format does not fit its query, or pinned loop orders contradict each other.
pub fn optimize(
    plan: &Plan,
    statistics: &Statistics,
    config: &OptimizerConfig,
) -> Result<(PhysicalPlan, Report), Error> {
    plan_with_rewrite(plan, statistics, config, &mut algebra::rewrite)
}

/// Makes a physical plan that can be adapted: after its first queries have run, the remaining ones
/// can be planned again with the measured sizes.
///
/// # Errors
/// The errors of [`optimize`].
pub fn optimize_adaptive(
    plan: &Plan,
    statistics: &Statistics,
    config: &OptimizerConfig,
) -> Result<AdaptivePlan, Error> {
    plan_nests(plan, statistics, config, &mut algebra::rewrite)
}

/// Function that replaces a nest of the plan. The number is the rough cost of the nest.
type Rewrite<'r> = &'r mut dyn FnMut(&Context, Nest, f64) -> Rewritten;

/// A replacement of a nest that is nearly as cheap as the chosen one.
struct RunnerUp<'a> {
    /// The state before the replacement was chosen.
    fork: Context<'a>,
    rewriting: Rewriting,
}

/// Makes a physical plan. `rewrite` replaces the nests whose rough cost reaches the threshold.
fn plan_with_rewrite(
    plan: &Plan,
    statistics: &Statistics,
    config: &OptimizerConfig,
    rewrite: Rewrite,
) -> Result<(PhysicalPlan, Report), Error> {
    let AdaptivePlan { physical, report, .. } = plan_nests(plan, statistics, config, rewrite)?;
    Ok((physical, report))
}

fn plan_nests(
    plan: &Plan,
    statistics: &Statistics,
    config: &OptimizerConfig,
    rewrite: Rewrite,
) -> Result<AdaptivePlan, Error> {
    // Plans are built in the default float mode. A plan that cannot be rebuilt in strict mode keeps
    // the fill values of the default mode.
    let strict = (config.float_mode == FloatMode::StrictIeee).then(|| plan.to_mode(config.float_mode).ok()).flatten();
    let plan = strict.as_ref().unwrap_or(plan);
    let nests = normalize(plan, config)?;
    let nests = nests.into_iter().map(|nest| use_lookups(move_root_folds(nest), config.float_mode)).collect();
    let nests = merge_queries(nests, config.float_mode);
    let mut cx = Context::new(config, statistics, &nests);
    cx.results = Rc::new(plan.produces.iter().cloned().collect());
    cx.report.add_phase("logic", plan.to_string());
    cx.report.add_phase("nests", nests.iter().map(|nest| format!("{nest}\n")).collect());
    let names = cx.names.clone();
    let mut runners_up = Vec::new();
    plan_tasks(&mut cx, &nests, rewrite, Some(&mut runners_up))?;
    lay_out(&mut cx, 0, names.clone())?;
    // The terms of a nest were compared by estimates that ignore formats. The whole plan is now
    // made with each runner-up, and replaces the current plan if it costs less.
    let mut replaced = None;
    for RunnerUp { fork: mut other, rewriting } in runners_up {
        // The runners-up of later nests are forks of the plan that has just been replaced.
        if replaced.is_some_and(|nest| nest != other.next_nest) {
            break;
        }
        let nest = other.next_nest;
        take_rewriting(&mut other, rewriting);
        plan_tasks(&mut other, &nests, rewrite, None)?;
        lay_out(&mut other, 0, names.clone())?;
        if other.report.work().cost() < algebra::MAX_COST_RATIO * cx.report.work().cost() {
            (cx, replaced) = (other, Some(nest));
        }
    }
    Ok(AdaptivePlan::new(cx, nests.clone().into(), plan.produces.clone()))
}

/// Plans the pending tasks and the remaining nests of the plan, and then chooses the layout.
pub(crate) fn plan_remaining(cx: &mut Context, nests: &[Nest], rewrite: Rewrite) -> Result<(), Error> {
    let (first, names) = (cx.queries.len(), cx.names.clone());
    plan_tasks(cx, nests, rewrite, None)?;
    lay_out(cx, first, names)
}

/// Plans the pending tasks and the remaining nests. The formats of each query are chosen for this
/// query alone. Adds the runners-up of nests to `runners_up` if there is a list.
fn plan_tasks<'a>(
    cx: &mut Context<'a>,
    nests: &[Nest],
    rewrite: Rewrite,
    mut runners_up: Option<&mut Vec<RunnerUp<'a>>>,
) -> Result<(), Error> {
    let mut measured = cx.may_measure();
    loop {
        while let Some(task) = cx.tasks.pop() {
            plan_task(cx, task)?;
        }
        let Some(nest) = nests.get(cx.next_nest) else { break };
        cx.next_nest += 1;
        let nest = cx.resolve(nest.clone());
        let rough = measure_for(cx, &nest);
        measured |= cx.may_measure();
        if rough < cx.config.rewrite_threshold.0 {
            cx.tasks.push(nest.into());
            continue;
        }
        let Rewritten { chosen, runners_up: others } = rewrite(cx, nest, rough);
        if let Some(runners_up) = &mut runners_up {
            runners_up.extend(others.into_iter().map(|rewriting| RunnerUp { fork: cx.fork(), rewriting }));
        }
        take_rewriting(cx, chosen);
    }
    cx.allow_measuring(measured);
    Ok(())
}

/// Adds the replacement of a nest to the pending tasks and to the report.
fn take_rewriting(cx: &mut Context, Rewriting { tasks, note }: Rewriting) {
    if let Some(note) = note {
        cx.report.add_phase("algebra", note);
    }
    cx.tasks.extend(tasks.into_iter().rev());
}

/// Measures statistics within the nest's budget; returns a rough cost of its loops.
fn measure_for(cx: &mut Context, nest: &Nest) -> f64 {
    cx.allow_measuring(false);
    cx.memo.retain_for(&nest.sizes, &nest.pins);
    let (rough, threshold) = (rough_cost(cx, nest), cx.config.rewrite_threshold);
    cx.allow_measuring(rough >= threshold.0 && rough >= threshold.min_measured_ratio() * cx.stored_values(nest));
    if !cx.may_measure() {
        return rough;
    }
    cx.budget.add(threshold.measuring_budget(rough));
    // Measured skew can raise the cost estimate, and the budget with it.
    let skewed = rough_cost(cx, nest);
    cx.budget.add(threshold.measuring_budget((skewed - rough).max(0.0)));
    skewed
}

/// Plans the query of one nest, after the queries that it needs.
pub(crate) fn plan_task(cx: &mut Context, mut task: Task) -> Result<(), Error> {
    task.nest = cx.resolve(task.nest);
    loop {
        let (nest, ordered) = cheapest_order(cx, &task.nest)?;
        let order = ordered.order.clone();
        match commit(cx, &nest, ordered, &task)? {
            FoldPlacement::Placed(()) => {
                cx.record_step(nest, order);
                return Ok(());
            }
            FoldPlacement::StoreFirst(folds) => {
                task.nest = nest;
                store_folds(cx, &mut task, &folds)?;
            }
        }
    }
}

/// Returns the cheapest loop order of a nest or of the nests that split its fields or replace them
/// by diagonals, together with that nest.
fn cheapest_order(cx: &Context, nest: &Nest) -> Result<(Nest, PricedOrder), Error> {
    cx.memo.retain_for(&nest.sizes, &nest.pins);
    let split = split_candidates(nest, cx.mode());
    let candidates = split.iter().flat_map(|nest| skew_candidates(nest, cx.mode()));
    let mut best: Option<(Nest, PricedOrder)> = None;
    for candidate in candidates {
        let limit = best.as_ref().map_or(f64::INFINITY, |(_, ordered)| ordered.work.cost());
        // A fold without a valid order costs infinity.
        let ordered = order_loops_below(cx, &candidate, limit).filter(|o| o.work.cost().is_finite());
        best = ordered.map(|ordered| (candidate, ordered)).or(best);
    }
    best.ok_or_else(|| Error::NoLoopOrder { query: nest.name().clone() })
}

/// Appends the nest's query, in the given loop order, to the plan, after the copies that the query
/// needs. Appends nothing if folds must be stored first.
fn commit(cx: &mut Context, nest: &Nest, ordered: PricedOrder, task: &Task) -> Result<FoldPlacement<()>, Error> {
    let schedule = match isolate(cx, &with_dense_outputs(nest, &ordered.dense), &ordered.order) {
        FoldPlacement::Placed(schedule) => schedule,
        FoldPlacement::StoreFirst(folds) => return Ok(FoldPlacement::StoreFirst(folds)),
    };
    let schedule = with_pending_task(cx, task.clone(), |cx| concordize(cx, schedule))?;
    let (origin, rules) = match nest.kind {
        NestKind::Copy => (Origin::Copy, Vec::new()),
        NestKind::Query => (task.origin, task.rules.clone()),
    };
    emit(cx, &schedule, ordered.decision(origin, rules))?;
    Ok(FoldPlacement::Placed(()))
}

/// Runs `plan` while the task is on the stack of pending tasks.
fn with_pending_task<T>(
    cx: &mut Context,
    task: Task,
    plan: impl FnOnce(&mut Context) -> Result<T, Error>,
) -> Result<T, Error> {
    cx.tasks.push(task);
    let planned = plan(cx);
    cx.tasks.pop();
    planned
}

/// Returns the nest with dense formats for the outputs that are cheaper dense.
fn with_dense_outputs(nest: &Nest, dense: &[bool]) -> Nest {
    let mut nest = nest.clone();
    for (target, _) in nest.outputs.iter_mut().zip(dense).filter(|(_, dense)| **dense) {
        target.format = Some(Format::dense(target.shape.len()));
    }
    nest
}

/// Plans a query that stores the first of the given folds of the task's nest, together with the other
/// folds that can be joined with it. Replaces the stored folds in the nest by reads of the query's
/// outputs.
fn store_folds(cx: &mut Context, task: &mut Task, terms: &[Term]) -> Result<(), Error> {
    let nest = &mut task.nest;
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
        let mut inner = fold_nest(fold, nest.name(), &nest.sizes, &nest.pins, cx.mode());
        let joined = match &stored {
            None => Some(inner.clone()),
            Some(stored) => is_joinable.then(|| join(stored, &inner, cx.mode())).flatten(),
        };
        let Some(mut joined) = joined else { continue };
        let alias = cx.names.fresh(nest.name());
        for last in [&mut inner, &mut joined].into_iter().filter_map(|nest| nest.outputs.last_mut()) {
            last.alias = alias.clone();
        }
        replace_by_read(cx, nest, term, fold, &inner);
        stored = Some(joined);
    }
    if let Some(nest) = stored {
        let stored = Task { nest, origin: Origin::StoredFold, rules: task.rules.clone() };
        with_pending_task(cx, task.clone(), |cx| plan_task(cx, stored))?;
    }
    task.nest = cx.resolve(task.nest.clone());
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
        redpoll_logic::FloatMode::default(),
    );
    found
}

/// Replaces a fold, and folds that are equal up to field names, by reads of the tensor that the
/// nest `stored` writes.
fn replace_by_read(cx: &Context, nest: &mut Nest, term: &Term, fold: &Fold, stored: &Nest) {
    let (alias, shape, fill) = (stored.name().clone(), stored.outputs[0].shape.clone(), fold.init.clone());
    let coordinates = stored_coordinates(stored, fold);
    let format = Format::dense(shape.len());
    let ty = Arc::new(TensorType { shape, dtype: term.dtype(), fill, format });
    let read = Read { tensor: alias, ty, coordinates, outside: None };
    let (mode, sizes) = (cx.mode(), nest.sizes.clone());
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
