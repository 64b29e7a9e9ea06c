//! Plans queries again with loop orders and formats that are chosen together.
//!
//! The pass runs only if [`Subject::Layout`] is on and the estimated cost of format-dependent work
//! is high.

use super::planner::Planner;
use super::query::{physical_query, plan_copy, plan_task};
use super::state::PlannedQuery;
use crate::algebra::Task;
use crate::config::Subject;
use crate::error::Error;
use crate::layout::{CandidateKernel, ChosenLayout, LayoutQuery, choose_layout};
use crate::order::pricing::conversion_work;
use crate::order::search::order_loops;
use crate::schedule::isolate::FoldPlacement;
use crate::term::names::Names;
use crate::term::{Nest, NestKind};
use crate::work::{Event, Work};

/// Least average of the format-dependent cost per query for which layouts are explored, in units of
/// the rewrite threshold; exploring takes one or two milliseconds per query.
const MIN_FORMAT_COST: f64 = 30.0;

/// Plans the queries from `from` on again if formats and orders chosen together cost sufficiently
/// less, or are chosen at random. `names` are the names that were in use before these queries.
pub(crate) fn lay_out(planner: &mut Planner, from: usize, names: &Names) -> Result<(), Error> {
    let (config, planned) = (planner.facts.config, &planner.state.planned[from..]);
    let min_cost = planned.len() as f64 * MIN_FORMAT_COST * config.rewrite_threshold.0;
    if !config.subjects.contains(Subject::Layout) || format_dependent_cost(planned) < min_cost {
        return Ok(());
    }
    // Copies are planned with the queries that read them.
    let previous = planned.iter().filter(|planned| planned.step.nest.kind == NestKind::Query);
    let previous: Vec<PlannedQuery> = previous.cloned().collect();
    let queries: Vec<LayoutQuery> = previous.iter().map(layout_query).collect();
    let Some(layout) = choose_layout(&mut planner.facts, planner.state.names.clone(), &queries) else { return Ok(()) };
    let ChosenLayout { kernels, priced_orders, note } = layout;
    planner.report.add_phase("layout", note);
    replan(planner, (from, names), previous, &kernels)?;
    for PlannedQuery { decision, .. } in &mut planner.state.planned[from..] {
        if let Some(orders) = priced_orders.get(&decision.outputs[0].alias) {
            decision.set_priced_orders(orders.clone());
        }
    }
    Ok(())
}

/// Returns the cost, over all queries, of the events whose number depends most on formats.
fn format_dependent_cost(planned: &[PlannedQuery]) -> f64 {
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
    let works = planned.iter().map(|planned| &planned.decision.work);
    works.flat_map(|work| FORMAT_EVENTS.map(|event| work.count(event) * event.price())).sum()
}

fn layout_query(planned: &PlannedQuery) -> LayoutQuery {
    LayoutQuery {
        nest: planned.step.nest.clone(),
        order: planned.step.order.clone(),
        formats: planned.decision.outputs.iter().map(|output| output.ty.format.clone()).collect(),
    }
}

/// Plans each query again with the loop order of its kernel and, if possible, with the kernel's
/// formats.
fn replan(
    planner: &mut Planner,
    (from, names): (usize, &Names),
    queries: Vec<PlannedQuery>,
    kernels: &[CandidateKernel],
) -> Result<(), Error> {
    let (tasks, next_nest) = (std::mem::take(&mut planner.state.tasks), planner.state.next_nest);
    planner.state.truncate(from);
    planner.state.names = names.clone();
    let outputs = queries.iter().flat_map(|query| &query.step.nest.outputs);
    planner.state.names.extend(outputs.map(|target| target.alias.clone()));
    for (PlannedQuery { step, decision, .. }, kernel) in queries.into_iter().zip(kernels) {
        (planner.state.tasks, planner.state.next_nest) = (step.tasks, step.next_nest);
        let mut nest = planner.facts.resolve(step.nest.clone());
        nest.pins.push(kernel.order.clone());
        for (target, format) in nest.outputs.iter_mut().zip(&kernel.requested) {
            target.format = format.clone().or(target.format.take());
        }
        let task = Task { nest: step.nest, origin: decision.origin, rules: decision.rules };
        plan_kernel(planner, nest, task, kernel)?;
    }
    (planner.state.tasks, planner.state.next_nest) = (tasks, next_nest);
    Ok(())
}

/// Plans a query with the loop order and the formats of its kernel. If the formats of the reads
/// allow no finite cost, or require that folds are stored first, plans the query with the present
/// formats of the reads. The task has the nest of the previous plan; `nest` reads the tensors in
/// their present formats.
fn plan_kernel(planner: &mut Planner, nest: Nest, task: Task, kernel: &CandidateKernel) -> Result<(), Error> {
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
        let copy_count = planner.state.copies.len();
        let copy = planner.with_pending_task(&task, |planner| plan_copy(planner, &read, format))?;
        if planner.state.copies.len() > copy_count {
            copy_work += conversion_work(&planner.facts, &read);
        }
        layouts.push((read, copy));
    }
    let mode = planner.facts.mode();
    let laid_out = nest
        .clone()
        .replace_reads(&mut |read| layouts.iter().find(|(from, _)| from == read).map(|(_, copy)| copy.clone()), mode);
    planner.facts.memo.retain_for(&laid_out.sizes, &laid_out.pins);
    let ordered = order_loops(&planner.facts, &laid_out).filter(|ordered| ordered.work.cost().is_finite());
    if let Some(mut ordered) = ordered {
        ordered.work += copy_work;
        if let FoldPlacement::Placed(query) = physical_query(planner, &laid_out, ordered, &task)? {
            // The step keeps `task.nest`, which reads the tensors themselves and not their copies:
            // an adapted plan may find the tensors in other formats.
            planner.state.push(query, task.nest, kernel.order.clone());
            return Ok(());
        }
    }
    // The loops of this kernel have no finite cost, or a fold must be stored first.
    plan_task(planner, Task { nest, ..task })
}
