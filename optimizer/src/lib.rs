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
//! | `loop_order` | nest | an order of its loops |
//! | `isolate` | nest and order | schedule: folds put where they are computed, or queries of their own |
//! | `concordize` | schedule | schedule whose accesses all fit, copies made before |
//! | `emit` | schedule | physical query; `formats`, `workspace` and `protocols` decide for it |
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

mod algebra;
mod concordize;
mod config;
mod context;
mod cost;
mod divide;
mod emit;
mod error;
mod estimate;
mod fit;
mod formats;
mod isolate;
mod lookup;
mod loop_order;
mod merge;
mod normalize;
mod protocols;
mod report;
mod show;
mod sizes;
mod skew;
mod split;
mod term;
mod unify;
mod workspace;

pub use config::{Config, Subject, Subjects, Worth, WrittenOrder};
pub use error::Error;
pub use report::{DecidedOutput, Decision, Origin, Phase, Report};

use concordize::concordize;
use context::Context;
use emit::emit;
use isolate::{fold_nest, isolate, root_folds};
use lookup::use_lookups;
use loop_order::order_loops;
use merge::merge_queries;
use normalize::normalize;
use redpoll_logic::physical::PhysicalPlan;
use redpoll_logic::statistics::Statistics;
use redpoll_logic::{Field, Format, Plan, TensorType};
use skew::skew_candidates;
use split::split_candidates;
use std::sync::Arc;
use term::{At, Nest, NestKind, Node, Read, Term};
use unify::renamed;

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

/// Makes a physical plan of nests that `rewrite` gives for those of the plan.
fn planned(
    plan: &Plan,
    statistics: &Statistics,
    config: &Config,
    rewrite: &mut dyn FnMut(&mut Context, Nest) -> Nest,
) -> Result<(PhysicalPlan, Report), Error> {
    let nests = normalize(plan, config)?;
    let nests = nests.into_iter().map(|nest| use_lookups(root_folds(nest), config.float_mode)).collect();
    let nests = merge_queries(nests, config.float_mode);
    let mut cx = Context::new(config, statistics, &nests);
    cx.report.phase("logic", plan.to_string());
    cx.report.phase("nests", nests.iter().map(|nest| format!("{nest}\n")).collect());
    for nest in nests {
        let nest = cx.resolve(nest);
        let nest = rewrite(&mut cx, nest);
        plan_nest(&mut cx, nest)?;
    }
    let Context { inputs, queries, mut report, .. } = cx;
    let physical = PhysicalPlan { inputs, queries, produces: plan.produces.clone() };
    report.phase("physical plan", physical.to_string());
    Ok((physical, report))
}

/// Plans one nest, after the queries that it needs.
pub(crate) fn plan_nest(cx: &mut Context, nest: Nest) -> Result<(), Error> {
    plan_as(cx, nest, Origin::Plan)
}

fn plan_as(cx: &mut Context, nest: Nest, origin: Origin) -> Result<(), Error> {
    let mut nest = cx.resolve(nest);
    loop {
        cx.memo.clear();
        let split = split_candidates(&nest, cx.mode());
        let candidates = split.iter().flat_map(|nest| skew_candidates(nest, cx.mode()));
        // A fold that has no order costs infinity.
        let order = |n| order_loops(cx, &n).filter(|o| o.cost.is_finite()).map(|o| (n, o));
        let ordered = candidates.filter_map(order);
        let best = ordered.min_by(|(_, a), (_, b)| a.cost.total_cmp(&b.cost));
        let (chosen, ordered) = best.ok_or_else(|| Error::NoLoopOrder { query: nest.name().clone() })?;
        let stored = match isolate(cx, &chosen, &ordered.order) {
            Ok(schedule) => {
                let schedule = concordize(cx, schedule)?;
                let origin = if nest.kind == NestKind::Copy { Origin::Copied } else { origin };
                return emit(cx, &schedule, Decision::new(origin, ordered.order, ordered.cost, ordered.considered));
            }
            Err(stored) => stored,
        };
        nest = chosen;
        store(cx, &mut nest, &stored)?;
    }
}

/// Gives a fold of the nest a query of its own, and reads its result instead.
fn store(cx: &mut Context, nest: &mut Nest, term: &Term) -> Result<(), Error> {
    let Node::Fold(fold) = term.node() else { return Ok(()) };
    let alias = cx.fresh(nest.name());
    let inner = fold_nest(cx, fold, &alias, &nest.sizes, &nest.pins);
    let (shape, fill) = (inner.outputs[0].shape.clone(), fold.init.clone());
    let at = isolate::stored_read(&inner, fold);
    plan_as(cx, inner, Origin::Isolated)?;
    let format = Format::dense(shape.len());
    let ty = Arc::new(TensorType { shape, dtype: term.dtype(), fill, format });
    let read = Read { tensor: alias, ty, at, outside: None };
    let (mode, sizes) = (cx.mode(), nest.sizes.clone());
    // Where the same fold stands with other fields, its result is read at those.
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
    *nest = cx.resolve(nest.clone());
    Ok(())
}
