//! Chooses the orders of all loops and the formats of all tensors between queries together.
//!
//! Nests are planned one by one: each takes its own best order, stores its outputs as that order
//! prefers, and copies discordant inputs. This pass plans the queries again, together, in an
//! e-graph. A class is a tensor in one format. Its nodes are its sources: an input of the plan, a
//! query with some loop order that writes it, or a conversion from another format.
//!
//! The inputs of a query's node are classes in turn, so that two queries share a conversion, and a
//! query may write the format that its reader prefers. [`explore`] adds the nodes, and [`choose`]
//! picks the cheapest combination of one order per query, which never costs more than the previous
//! plan. Then the queries are planned again with this choice. (The physical properties of Graefe's
//! Cascades, in an e-graph.)
//!
//! The pass runs when the estimated cost of format-dependent work is high enough to pay for it.

mod choose;
mod explore;
mod graph;
#[cfg(test)]
mod tests;

use crate::concordize::plan_copy;
use crate::config::{Choice, Subject};
use crate::context::Context;
use crate::error::Error;
use crate::isolate::FoldPlacement;
use crate::loop_order::order_loops;
use crate::names::Names;
use crate::pricing::conversion_work;
use crate::report::{AppliedRule, Decision, Origin};
use crate::state::{PlanStep, Task};
use crate::term::{Nest, NestKind};
use crate::work::{Event, Work};
use crate::{commit, plan_task, with_pending_task};
use choose::{cheapest, random};
use explore::{CandidateKernel, explore};
use redpoll_logic::physical::FormatDisplay;
use redpoll_logic::{Alias, Field, Format};
use std::collections::HashMap;

/// Least format-dependent cost per query for which layouts are explored, in units of the
/// rewrite threshold; exploring takes one or two milliseconds per query.
const MIN_FORMAT_COST: f64 = 30.0;
/// Least fraction of the plan's cost that a new layout must save. It must also save at least the
/// rewrite threshold.
const MIN_GAIN: f64 = 0.01;

/// A query of the previous plan.
struct LayoutQuery {
    step: PlanStep,
    origin: Origin,
    rules: Vec<AppliedRule>,
    /// The formats of its outputs.
    formats: Vec<Format>,
}

impl LayoutQuery {
    fn nest(&self) -> &Nest {
        &self.step.nest
    }

    fn order(&self) -> &[Field] {
        &self.step.order
    }
}

/// Plans the queries from `from` on again if formats and orders chosen together cost less. `names`
/// are the names that were in use before these queries.
pub(crate) fn lay_out(cx: &mut Context, from: usize, names: Names) -> Result<(), Error> {
    let count = (cx.queries.len() - from) as f64;
    if !cx.config.subjects.contains(Subject::Layout)
        || format_dependent_cost(cx, from) < count * MIN_FORMAT_COST * cx.config.rewrite_threshold.0
    {
        return Ok(());
    }
    let queries = previous_queries(cx, from);
    let current_names = cx.names.clone();
    let graph = explore(cx, &queries);
    let old_cost = graph.previous_cost();
    let choice = match cx.config.choice {
        Choice::Cheapest => {
            let pays =
                |old_cost: f64, cost: f64| old_cost - cost >= (MIN_GAIN * old_cost).max(cx.config.rewrite_threshold.0);
            cheapest(&graph).filter(|choice| old_cost.is_some_and(|old_cost| pays(old_cost, choice.cost)))
        }
        Choice::Random(seed) => random(&graph, seed),
    };
    cx.names = current_names;
    let Some(choice) = choice else { return Ok(()) };
    let kernels: Vec<CandidateKernel> = choice.kernels.iter().map(|k| graph.kernels[*k].clone()).collect();
    let name = |query: &LayoutQuery| query.nest().name().clone();
    let priced_orders: HashMap<Alias, _> =
        queries.iter().map(name).zip((0..).map(|query| graph.orders(query))).collect();
    let old_cost = old_cost.map_or_else(String::new, |cost| format!("{cost:.0} planned separately, "));
    let (classes, nodes) = (graph.egraph.number_of_classes(), graph.egraph.total_number_of_nodes());
    let count =
        format!("; estimated cost {old_cost}{:.0} planned together; {nodes} nodes in {classes} classes\n", choice.cost);
    cx.report.add_phase("layout", describe(&queries, &kernels) + &count);
    replan(cx, (from, names), queries, &kernels)?;
    for decision in &mut cx.report.decisions[from..] {
        if let Some(orders) = priced_orders.get(&decision.outputs[0].alias) {
            decision.set_priced_orders(orders.clone());
        }
    }
    Ok(())
}

/// Formats the queries with their orders and formats as text.
fn describe(queries: &[LayoutQuery], kernels: &[CandidateKernel]) -> String {
    let mut text = String::new();
    for (query, kernel) in queries.iter().zip(kernels) {
        let loops: Vec<&str> = kernel.order.iter().map(Field::as_str).collect();
        let formats: Vec<String> = kernel.formats.iter().map(|f| FormatDisplay(f).to_string()).collect();
        text += &format!("{}: loops {}, stored as {}\n", query.nest().name(), loops.join(" "), formats.join(", "));
        for (read, format) in &kernel.reads {
            text += &format!("  reads {} as {}\n", read.tensor, FormatDisplay(format));
        }
    }
    text
}

/// Returns the cost of events that depend on formats in the queries from `from` on.
fn format_dependent_cost(cx: &Context, from: usize) -> f64 {
    const FORMAT_EVENTS: [Event; 11] = [
        Event::Reorder,
        Event::Search,
        Event::FollowHash,
        Event::Gallop,
        Event::NearMiss,
        Event::FarMiss,
        Event::WriteHash,
        Event::WriteMap,
        Event::Sort,
        Event::SortHash,
        Event::Flush,
    ];
    let works = cx.report.decisions[from..].iter().map(|decision| &decision.work);
    works.flat_map(|work| FORMAT_EVENTS.map(|event| work.count(event) * event.price())).sum()
}

/// Returns the queries from `from` on, without copies.
fn previous_queries(cx: &Context, from: usize) -> Vec<LayoutQuery> {
    let both = cx.steps[from..].iter().zip(&cx.report.decisions[from..]);
    let both = both.filter(|(step, _)| step.nest.kind == NestKind::Query);
    let query = |(step, decision): (&PlanStep, &Decision)| LayoutQuery {
        step: step.clone(),
        origin: decision.origin,
        rules: decision.rules.clone(),
        formats: decision.outputs.iter().map(|output| output.ty.format.clone()).collect(),
    };
    both.map(query).collect()
}

/// Plans the queries again, each by its kernel.
fn replan(
    cx: &mut Context,
    (from, names): (usize, Names),
    queries: Vec<LayoutQuery>,
    kernels: &[CandidateKernel],
) -> Result<(), Error> {
    let (tasks, next_nest) = (std::mem::take(&mut cx.tasks), cx.next_nest);
    cx.remove_queries(from);
    let written = queries.iter().flat_map(|query| &query.nest().outputs).map(|target| target.alias.clone());
    cx.names = names;
    cx.names.extend(written);
    for (LayoutQuery { step, origin, rules, .. }, kernel) in queries.into_iter().zip(kernels) {
        (cx.tasks, cx.next_nest) = (step.tasks.clone(), step.next_nest);
        let mut nest = cx.resolve(step.nest.clone());
        nest.pins.push(kernel.order.clone());
        for (target, format) in nest.outputs.iter_mut().zip(&kernel.requested) {
            target.format = format.clone().or(target.format.take());
        }
        let task = Task { nest: step.nest, origin, rules };
        plan_kernel(cx, nest, task, kernel)?;
    }
    (cx.tasks, cx.next_nest) = (tasks, next_nest);
    Ok(())
}

/// Plans a query by its kernel. The task has the nest of the previous plan; `nest` reads the tensors
/// that are stored now.
fn plan_kernel(cx: &mut Context, nest: Nest, task: Task, kernel: &CandidateKernel) -> Result<(), Error> {
    let mut copy_work = Work::NONE;
    let mut layouts = Vec::new();
    for (read, format) in &kernel.reads {
        let mut current = None;
        nest.each_access(&mut |other| {
            if other.tensor == read.tensor && other.coordinates == read.coordinates && other.ty.format != *format {
                current = Some(other.clone());
            }
        });
        let Some(read) = current else { continue };
        let copy_count = cx.copies.len();
        let copy = with_pending_task(cx, task.clone(), |cx| plan_copy(cx, &read, format.clone()))?;
        if cx.copies.len() > copy_count {
            copy_work += conversion_work(cx, &read);
        }
        layouts.push((read, copy));
    }
    let mode = cx.mode();
    let laid_out = nest
        .clone()
        .replace_reads(&mut |read| layouts.iter().find(|(from, _)| from == read).map(|(_, copy)| copy.clone()), mode);
    cx.memo.retain_for(&laid_out.sizes, &laid_out.pins);
    let ordered = order_loops(cx, &laid_out).filter(|ordered| ordered.work.cost().is_finite());
    let is_committed = match ordered {
        Some(mut ordered) => {
            ordered.work += copy_work;
            matches!(commit(cx, &laid_out, ordered, &task)?, FoldPlacement::Placed(()))
        }
        None => false,
    };
    if is_committed {
        // Adapted plans read the tensors that the plan names, in any format.
        cx.record_step(task.nest, kernel.order.clone());
        return Ok(());
    }
    // These loops cannot compute a fold in place.
    plan_task(cx, Task { nest, ..task })
}
