//! Optimizer: turns Logic plans into physical plans.
//!
//! [`optimize`] rewrites the plan in an e-graph and then plans it physically. [`optimize_plain`],
//! the plain path, makes one good physical plan without rewriting.
//!
//! The pipeline, one file per pass:
//!
//! | pass | from | to |
//! |---|---|---|
//! | `normalize` | Logic plan | nests: one query each, maps pushed to the accesses |
//! | `lookup` | nest | nest without the loops that equality masks make lookups |
//! | `merge` | nests | nests; nests over the same loops are merged |
//! | `algebra` | nest | nest with an equal value that costs less |
//! | `split` | nest | candidates with fields split where tensors are stored, or read, in blocks |
//! | `skew` | nest | candidates with fields replaced by diagonals where tensors are stored by diagonals |
//! | `loop_order` | nest | a loop order; `pricing` and `writes` count its work |
//! | `isolate` | nest and order | schedule: each fold at its depth, or in a query of its own |
//! | `concordize` | schedule | schedule whose accesses are all concordant, after copies |
//! | `emit` | schedule | physical query; `formats`, `structure`, `patterns`, `workspace`, `protocols`, `intersection` and `lanes` decide its parts |
//! | `layout` | queries so far | the same queries, in loop orders and formats that are chosen together |
//!
//! Invariants of every physical plan:
//! - Every alias is written once, before it is read; produced aliases are written.
//! - The indices of a query's loops, including those of temporaries, are distinct; an index is used
//!   only inside its loop.
//! - A loop over `Extent::Block` is inside the loop of its outer index; a loop over `Extent::Skew`
//!   is inside the loop of the other index.
//! - Each access and output has one subscript for each storage mode; each access also has one
//!   protocol for each.
//! - A walked or galloped level is bound by a loop inside those of all its outer levels, as an
//!   affine form of the loop's index.
//! - A temporary is listed after the temporaries that it reads.
//! - An output without a fold writes each coordinate at most once; a fold starts from the output's
//!   fill.
//! - Writes into lists and singletons come in order, or a workspace takes them.
//! - The reduced loops of an operator that cannot be regrouped have the order of its aggregate's
//!   fields.

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
mod normalize;
mod patterns;
mod pricing;
mod protocols;
mod report;
mod show;
mod sizes;
mod skew;
mod split;
mod structure;
mod term;
mod unify;
mod windows;
mod work;
mod workspace;
mod writes;

pub use adaptive::{AdaptivePlan, Written};
pub use config::{Adaptivity, Choice, Config, Subject, Subjects, Worth, WrittenOrder};
pub use error::Error;
pub use report::{Adaptation, DecidedOutput, Decision, Miscount, Origin, Phase, Report, Rule};
pub use work::{Event, Work};

use adaptive::Waiting;
use concordize::concordize;
use context::{Close, Context};
use emit::emit;
use isolate::{fold_nest, isolate, root_folds};
use layout::lay_out;
use lookup::use_lookups;
use loop_order::{Ordered, order_loops_below, rough_cost};
use merge::{join, merge_queries};
use normalize::normalize;
use redpoll_logic::physical::PhysicalPlan;
use redpoll_logic::statistics::Statistics;
use redpoll_logic::{Field, FloatMode, Format, Plan, TensorType};
use skew::skew_candidates;
use split::split_candidates;
use std::rc::Rc;
use std::sync::Arc;
use term::{At, Fold, Nest, NestKind, Node, Read, Term};
use unify::renamed;

/// Builds the rule tables in advance, so that the first plan that is rewritten does not pay for
/// them (about 0.1 s).
pub fn warm_up() {
    algebra::warm_up();
}

/// Makes a physical plan by the plain path, without rewriting.
///
/// # Errors
/// The errors of [`optimize`].
pub fn optimize_plain(plan: &Plan, statistics: &Statistics, config: &Config) -> Result<(PhysicalPlan, Report), Error> {
    optimize(plan, statistics, &Config { subjects: Subjects::none(), ..config.clone() })
}

/// Makes a physical plan.
///
/// # Errors
/// Fails when an operator does not fit its arguments, a field has no size, a requested
/// format does not fit its query, or pinned loop orders contradict each other.
pub fn optimize(plan: &Plan, statistics: &Statistics, config: &Config) -> Result<(PhysicalPlan, Report), Error> {
    planned(plan, statistics, config, &mut algebra::rewrite)
}

/// Makes a physical plan whose later queries can be replanned once the output sizes of the earlier
/// queries are measured.
///
/// # Errors
/// The errors of [`optimize`].
pub fn optimize_adaptive(plan: &Plan, statistics: &Statistics, config: &Config) -> Result<AdaptivePlan, Error> {
    plan_nests(plan, statistics, config, &mut algebra::rewrite)
}

/// Function that returns the nests that replace a nest of the plan, given its rough cost.
type Rewrite<'r> = &'r mut dyn FnMut(&mut Context, Nest, f64) -> Vec<Waiting>;

/// Makes a physical plan, with each nest of the plan replaced by `rewrite`.
fn planned(
    plan: &Plan,
    statistics: &Statistics,
    config: &Config,
    rewrite: Rewrite,
) -> Result<(PhysicalPlan, Report), Error> {
    let AdaptivePlan { physical, report, .. } = plan_nests(plan, statistics, config, rewrite)?;
    Ok((physical, report))
}

fn plan_nests(plan: &Plan, statistics: &Statistics, config: &Config, rewrite: Rewrite) -> Result<AdaptivePlan, Error> {
    // Plans are built in the default float mode. A plan that cannot be rebuilt in strict mode keeps
    // the fill values of the default mode.
    let strict = (config.float_mode == FloatMode::StrictIeee).then(|| plan.to_mode(config.float_mode).ok()).flatten();
    let plan = strict.as_ref().unwrap_or(plan);
    let nests = normalize(plan, config)?;
    let nests = nests.into_iter().map(|nest| use_lookups(root_folds(nest), config.float_mode)).collect();
    let nests = merge_queries(nests, config.float_mode);
    let mut cx = Context::new(config, statistics, &nests);
    cx.results = Rc::new(plan.produces.iter().cloned().collect());
    cx.report.phase("logic", plan.to_string());
    cx.report.phase("nests", nests.iter().map(|nest| format!("{nest}\n")).collect());
    let names = cx.aliases().clone();
    plan_rest(&mut cx, &nests, rewrite)?;
    // Terms are compared by estimates that ignore formats; for the runner-up terms, whole plans are
    // compared.
    let mut taken = None;
    for Close { begun: mut again, other, before, found } in std::mem::take(&mut cx.close) {
        // Later candidates were forked from the plan that has just been replaced.
        if taken.is_some_and(|taken| taken != again.begun) {
            break;
        }
        let nest = again.begun;
        let instead = other.take(&mut again, (before, &found));
        again.waiting.extend(instead.into_iter().rev());
        plan_waiting(&mut again, &nests, rewrite)?;
        lay_out(&mut again, 0, names.clone())?;
        if again.report.work().cost() < algebra::GAIN * cx.report.work().cost() {
            (cx, taken) = (*again, Some(nest));
        }
    }
    Ok(AdaptivePlan::new(cx, nests.clone().into(), plan.produces.clone()))
}

/// Plans the waiting nests, then the nests of the plan that are not begun, then the layout.
pub(crate) fn plan_rest(cx: &mut Context, nests: &[Nest], rewrite: Rewrite) -> Result<(), Error> {
    let (first, names) = (cx.queries.len(), cx.aliases().clone());
    plan_waiting(cx, nests, rewrite)?;
    lay_out(cx, first, names)
}

/// Plans the same nests as [`plan_rest`], each query in its own best formats.
fn plan_waiting(cx: &mut Context, nests: &[Nest], rewrite: Rewrite) -> Result<(), Error> {
    let mut measured = cx.measures();
    loop {
        while let Some(Waiting { nest, origin, rules }) = cx.waiting.pop() {
            cx.rules = rules;
            plan_as(cx, nest, origin)?;
        }
        let Some(nest) = nests.get(cx.begun) else { break };
        cx.begun += 1;
        let nest = cx.resolve(nest.clone());
        let rough = measure_for(cx, &nest);
        measured |= cx.measures();
        let instead = if rough >= cx.config.worth.0 { rewrite(cx, nest, rough) } else { vec![nest.into()] };
        cx.waiting.extend(instead.into_iter().rev());
    }
    cx.measure(measured);
    Ok(())
}

/// Measures statistics within the nest's budget; returns a rough cost of its loops.
fn measure_for(cx: &mut Context, nest: &Nest) -> f64 {
    cx.measure(false);
    cx.memo.hold(&nest.sizes, &nest.pins);
    let (rough, worth) = (rough_cost(cx, nest), cx.config.worth);
    cx.measure(rough >= worth.0 && rough >= worth.passes() * cx.stored(nest));
    if !cx.measures() {
        return rough;
    }
    cx.measuring.allow(worth.measuring(rough));
    // Measured skew can raise the cost estimate, and the budget with it.
    let skewed = rough_cost(cx, nest);
    cx.measuring.allow(worth.measuring((skewed - rough).max(0.0)));
    skewed
}

/// Plans one nest, after the queries that the nest needs.
pub(crate) fn plan_nest(cx: &mut Context, nest: Nest) -> Result<(), Error> {
    plan_as(cx, nest, Origin::Plan)
}

fn plan_as(cx: &mut Context, nest: Nest, origin: Origin) -> Result<(), Error> {
    let mut nest = cx.resolve(nest);
    loop {
        cx.memo.hold(&nest.sizes, &nest.pins);
        let split = split_candidates(&nest, cx.mode());
        let candidates = split.iter().flat_map(|nest| skew_candidates(nest, cx.mode()));
        let mut best: Option<(Nest, Ordered)> = None;
        for candidate in candidates {
            let most = best.as_ref().map_or(f64::INFINITY, |(_, ordered)| ordered.work.cost());
            // A fold without a valid order costs infinity.
            let ordered = order_loops_below(cx, &candidate, most).filter(|o| o.work.cost().is_finite());
            best = ordered.map(|ordered| (candidate, ordered)).or(best);
        }
        let (chosen, ordered) = best.ok_or_else(|| Error::NoLoopOrder { query: nest.name().clone() })?;
        let waiting = Waiting { nest, origin, rules: cx.rules.clone() };
        let order = ordered.order.clone();
        let Err(stored) = commit(cx, &chosen, ordered, &waiting)? else {
            cx.step(chosen, order);
            return Ok(());
        };
        nest = chosen;
        store(cx, &mut nest, origin, &stored)?;
    }
}

/// Appends the nest's query, in the given loop order, to the plan, after the copies that the query
/// needs. Returns instead the folds that must be stored first, if there are any.
fn commit(cx: &mut Context, nest: &Nest, ordered: Ordered, waiting: &Waiting) -> Result<Result<(), Vec<Term>>, Error> {
    let schedule = match isolate(cx, &with_formats(nest, &ordered.dense), &ordered.order) {
        Ok(schedule) => schedule,
        Err(stored) => return Ok(Err(stored)),
    };
    let schedule = while_waiting(cx, waiting.clone(), |cx| concordize(cx, schedule))?;
    let origin = if nest.kind == NestKind::Copy { Origin::Copied } else { waiting.origin };
    emit(cx, &schedule, Decision::new(origin, ordered))?;
    Ok(Ok(()))
}

/// Runs `plan` while the nest is on the waiting list.
fn while_waiting<T>(
    cx: &mut Context,
    waiting: Waiting,
    plan: impl FnOnce(&mut Context) -> Result<T, Error>,
) -> Result<T, Error> {
    cx.waiting.push(waiting);
    let planned = plan(cx);
    cx.waiting.pop();
    planned
}

/// Returns the nest with dense formats for the outputs that are cheaper dense.
fn with_formats(nest: &Nest, dense: &[bool]) -> Nest {
    let mut nest = nest.clone();
    for (target, _) in nest.outputs.iter_mut().zip(dense).filter(|(_, dense)| **dense) {
        target.format = Some(Format::dense(target.shape.len()));
    }
    nest
}

/// Plans a query that stores the first of the given folds of the nest, joined with those of the
/// others that have the same loops. Replaces the folds by reads of its outputs.
fn store(cx: &mut Context, nest: &mut Nest, origin: Origin, terms: &[Term]) -> Result<(), Error> {
    let mut stored: Option<Nest> = None;
    for term in terms {
        let Node::Fold(fold) = term.node() else { continue };
        // An earlier fold that is equal up to field names may have replaced this fold already.
        if !nest.outputs.iter().any(|target| has(&target.value, term)) {
            continue;
        }
        let mut inner = fold_nest(cx, fold, nest.name(), &nest.sizes, &nest.pins);
        let together = match &stored {
            None => Some(inner.clone()),
            Some(known) => join(known, &inner, cx.mode()),
        };
        let Some(mut together) = together else { continue };
        let alias = cx.fresh(nest.name());
        for last in [&mut inner, &mut together].into_iter().filter_map(|nest| nest.outputs.last_mut()) {
            last.alias = alias.clone();
        }
        read_instead(cx, nest, term, fold, &inner);
        stored = Some(together);
    }
    let waiting = Waiting { nest: nest.clone(), origin, rules: cx.rules.clone() };
    if let Some(inner) = stored {
        while_waiting(cx, waiting, |cx| plan_as(cx, inner, Origin::Isolated))?;
    }
    *nest = cx.resolve(nest.clone());
    Ok(())
}

/// Returns whether a term occurs in another term, subscripts included.
fn has(within: &Term, term: &Term) -> bool {
    let mut found = false;
    within.replace(
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
fn read_instead(cx: &Context, nest: &mut Nest, term: &Term, fold: &Fold, stored: &Nest) {
    let (alias, shape, fill) = (stored.name().clone(), stored.outputs[0].shape.clone(), fold.init.clone());
    let at = isolate::stored_read(stored, fold);
    let format = Format::dense(shape.len());
    let ty = Arc::new(TensorType { shape, dtype: term.dtype(), fill, format });
    let read = Read { tensor: alias, ty, at, outside: None };
    let (mode, sizes) = (cx.mode(), nest.sizes.clone());
    let mut reading = |t: &Term| match t.node() {
        _ if t == term => Some(Term::access(read.clone())),
        Node::Fold(other) => {
            let names = renamed(fold, other, &sizes, mode)?;
            let with = |f: &Field| At::field(names.get(f).unwrap_or(f));
            let at = read.at.iter().map(|at| at.substitute(&with, mode)).collect();
            Some(Term::access(Read { at, ..read.clone() }))
        }
        _ => None,
    };
    for target in &mut nest.outputs {
        target.value = target.value.replace(&mut reading, mode);
    }
}
