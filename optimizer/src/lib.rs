//! From Logic plans to physical plans.
//!
//! [`optimize`] rewrites what is computed, in an e-graph, and makes a physical plan of it; [`optimize_plain`], the plain
//! path, makes one good physical plan without rewriting.
//!
//! Its pipeline, one file a pass:
//!
//! | pass | from | to |
//! |---|---|---|
//! | `normalize` | Logic plan | nests: one query each, maps pushed to the accesses |
//! | `lookup` | nest | nest without the loops that equality masks decide |
//! | `merge` | nests | nests, those over the same loops merged |
//! | `algebra` | nest | nest with an equal value that costs less |
//! | `split` | nest | candidates, fields split where tensors are stored, or read, in blocks |
//! | `skew` | nest | candidates, fields replaced by diagonals where tensors are stored by diagonals |
//! | `loop_order` | nest | an order of its loops; `pricing` and `writes` count its work |
//! | `isolate` | nest and order | schedule: folds put where they are computed, or queries of their own |
//! | `concordize` | schedule | schedule whose accesses all fit, copies made before |
//! | `emit` | schedule | physical query; `formats`, `structure`, `patterns`, `workspace`, `protocols`, `intersection` and `lanes` decide for it |
//! | `layout` | queries so far | the same queries, in orders and formats that are chosen together |
//!
//! What holds of every physical plan it makes:
//! - Every alias is written once, before it is read; produced aliases are written.
//! - The indices of a query's loops, those of temporaries included, are distinct; an index is used inside its loop only.
//! - A loop over `Extent::Block` is inside the loop of its outer index, one over `Extent::Skew` inside that of the other.
//! - Each access and output has one subscript, and each access one protocol, for each storage mode.
//! - A walked or galloped level is bound by a loop further in than all levels outside of it, as an affine form of its
//!   index.
//! - Temporaries are listed after those that they read.
//! - An output without a fold writes each place at most once; a fold starts from the output's fill.
//! - Writes into lists and singletons come in order, or a workspace takes them.
//! - The reduced loops of an operator that cannot be regrouped have the order of its aggregate's fields.

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

/// Does beforehand what the first plan that is rewritten would wait for, about a tenth of a second.
pub fn warm_up() {
    algebra::warm_up();
}

/// Makes a physical plan by the plain path: what is computed is not rewritten.
///
/// # Errors
/// As [`optimize`].
pub fn optimize_plain(plan: &Plan, statistics: &Statistics, config: &Config) -> Result<(PhysicalPlan, Report), Error> {
    optimize(plan, statistics, &Config { subjects: Subjects::none(), ..config.clone() })
}

/// Makes a physical plan.
///
/// # Errors
/// When an operator does not fit, a field has no size, a requested format does not fit its query, or pinned loop orders
/// contradict each other.
pub fn optimize(plan: &Plan, statistics: &Statistics, config: &Config) -> Result<(PhysicalPlan, Report), Error> {
    planned(plan, statistics, config, &mut algebra::rewrite)
}

/// Makes a physical plan of which the rest can be planned anew once it is known what its first queries have written.
///
/// # Errors
/// As [`optimize`].
pub fn optimize_adaptive(plan: &Plan, statistics: &Statistics, config: &Config) -> Result<AdaptivePlan, Error> {
    plan_nests(plan, statistics, config, &mut algebra::rewrite)
}

/// What gives nests that stand for one of the plan, of which it is told what it costs about.
type Rewrite<'r> = &'r mut dyn FnMut(&mut Context, Nest, f64) -> Vec<Waiting>;

/// Makes a physical plan of nests that `rewrite` gives for those of the plan.
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
    // Plans are built in the default mode; where one cannot be had in another, it has the fill values of the default mode.
    let strict = (config.float_mode == FloatMode::StrictIeee).then(|| plan.in_mode(config.float_mode).ok()).flatten();
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
    // Terms are held against each other by estimates to which formats do not matter; of those that come near, the whole
    // plans are.
    let mut taken = None;
    for Close { begun: mut again, other, before, found } in std::mem::take(&mut cx.close) {
        // What comes later was found behind what was chosen first.
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

/// Plans the nests that wait, and those of the plan that were not begun.
pub(crate) fn plan_rest(cx: &mut Context, nests: &[Nest], rewrite: Rewrite) -> Result<(), Error> {
    let (first, names) = (cx.queries.len(), cx.aliases().clone());
    plan_waiting(cx, nests, rewrite)?;
    lay_out(cx, first, names)
}

/// The same, in the formats that each query has by itself.
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

/// Has as much measured for a nest as it is worth, and gives what its loops cost about.
fn measure_for(cx: &mut Context, nest: &Nest) -> f64 {
    cx.measure(false);
    cx.memo.hold(&nest.sizes, &nest.pins);
    let (rough, worth) = (rough_cost(cx, nest), cx.config.worth);
    cx.measure(rough >= worth.0 && rough >= worth.passes() * cx.stored(nest));
    if !cx.measures() {
        return rough;
    }
    cx.measuring.allow(worth.measuring(rough));
    // Where a few coordinates have most places, that is known first, and a query costs more.
    let skewed = rough_cost(cx, nest);
    cx.measuring.allow(worth.measuring((skewed - rough).max(0.0)));
    skewed
}

/// Plans one nest, after the queries that it needs.
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
            // A fold that has no order costs infinity.
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

/// Appends the query of a nest in that order of its loops to the plan, after the copies that it needs; unless it has folds
/// that have to be stored before, which are given instead.
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

/// Plans what a nest needs while it waits.
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

/// The nest whose outputs that are better dense are.
fn with_formats(nest: &Nest, dense: &[bool]) -> Nest {
    let mut nest = nest.clone();
    for (target, _) in nest.outputs.iter_mut().zip(dense).filter(|(_, dense)| **dense) {
        target.format = Some(Format::dense(target.shape.len()));
    }
    nest
}

/// Gives the first of some folds of the nest a query of its own, together with those of the others that go through the same
/// loops, and reads their results instead.
fn store(cx: &mut Context, nest: &mut Nest, origin: Origin, terms: &[Term]) -> Result<(), Error> {
    let mut stored: Option<Nest> = None;
    for term in terms {
        let Node::Fold(fold) = term.node() else { continue };
        // Another one may have been it up to the names of fields, and is read by now.
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

/// Whether a term stands in another one, outside of subscripts or in them.
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

/// Reads what a nest stores in place of the fold that it is of, also where that stands with other fields.
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
