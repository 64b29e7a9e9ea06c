//! Chooses the orders of all loops and the formats of all tensors between queries together.
//!
//! Nests are planned one by one: each takes its own best order, stores its outputs as that order
//! prefers, and copies discordant inputs. This pass plans the queries again, together, in an
//! e-graph. A class is a tensor in one format. Its nodes are the ways to obtain it: it is given, a
//! query with some loop order writes it, or it is converted from another format.
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

use crate::adaptive::{Step, Waiting};
use crate::concordize::copied;
use crate::config::{Choice, Subject};
use crate::context::Context;
use crate::error::Error;
use crate::loop_order::order_loops;
use crate::pricing::conversion;
use crate::report::{Decision, Origin, Rule};
use crate::term::{Nest, NestKind};
use crate::work::{Event, Work};
use crate::{commit, plan_as, while_waiting};
use choose::{cheapest, drawn};
use explore::{Kernel, explore};
use redpoll_logic::physical::FormatDisplay;
use redpoll_logic::{Alias, Field, Format};
use std::collections::{HashMap, HashSet};

/// Least format-dependent cost per query for which layouts are explored, in units of the worth;
/// exploring takes one or two milliseconds per query.
const EXPLORING: f64 = 30.0;
/// Least fraction of the plan's cost that a new layout must save. It must also save at least the
/// worth.
const GAIN: f64 = 0.01;

/// A query of the previous plan.
struct Planned {
    step: Step,
    origin: Origin,
    rules: Vec<Rule>,
    /// The formats of its outputs.
    formats: Vec<Format>,
}

impl Planned {
    fn nest(&self) -> &Nest {
        &self.step.nest
    }

    fn order(&self) -> &[Field] {
        &self.step.order
    }
}

/// Plans the queries from `from` on again if formats and orders chosen together cost less. `names`
/// are the names that were taken before these queries.
pub(crate) fn lay_out(cx: &mut Context, from: usize, names: HashSet<Alias>) -> Result<(), Error> {
    let count = (cx.queries.len() - from) as f64;
    if !cx.config.subjects.contains(Subject::Layout) || at_stake(cx, from) < count * EXPLORING * cx.config.worth.0 {
        return Ok(());
    }
    let queries = queries(cx, from);
    let taken = cx.aliases().clone();
    let graph = explore(cx, &queries);
    let before = graph.as_planned();
    let choice = match cx.config.choice {
        Choice::Cheapest => {
            let gains = |before: f64, cost: f64| before - cost >= (GAIN * before).max(cx.config.worth.0);
            cheapest(&graph).filter(|choice| before.is_some_and(|before| gains(before, choice.cost)))
        }
        Choice::Drawn(seed) => drawn(&graph, seed),
    };
    cx.take_names(taken);
    let Some(choice) = choice else { return Ok(()) };
    let kernels: Vec<Kernel> = choice.kernels.iter().map(|k| graph.kernels[*k].clone()).collect();
    let name = |query: &Planned| query.nest().name().clone();
    let considered: HashMap<Alias, _> = queries.iter().map(name).zip((0..).map(|query| graph.orders(query))).collect();
    let before = before.map_or_else(String::new, |cost| format!("cost about {cost:.0} query by query, "));
    let (classes, nodes) = (graph.egraph.number_of_classes(), graph.egraph.total_number_of_nodes());
    let count = format!("; {before}{:.0} together; {nodes} nodes in {classes} classes\n", choice.cost);
    cx.report.phase("layout", tell(&queries, &kernels) + &count);
    plan_again(cx, (from, names), queries, &kernels)?;
    for decision in &mut cx.report.decisions[from..] {
        if let Some(orders) = considered.get(&decision.outputs[0].alias) {
            decision.consider(orders.clone());
        }
    }
    Ok(())
}

/// Formats the queries with their orders and formats as text.
fn tell(queries: &[Planned], kernels: &[Kernel]) -> String {
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
fn at_stake(cx: &Context, from: usize) -> f64 {
    const OF_FORMATS: [Event; 11] = [
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
    works.flat_map(|work| OF_FORMATS.map(|event| work.count(event) * event.price())).sum()
}

/// Returns the queries from `from` on, without copies.
fn queries(cx: &Context, from: usize) -> Vec<Planned> {
    let both = cx.steps[from..].iter().zip(&cx.report.decisions[from..]);
    let both = both.filter(|(step, _)| step.nest.kind == NestKind::Query);
    let planned = |(step, decision): (&Step, &Decision)| Planned {
        step: step.clone(),
        origin: decision.origin,
        rules: decision.rules.clone(),
        formats: decision.outputs.iter().map(|output| output.ty.format.clone()).collect(),
    };
    both.map(planned).collect()
}

/// Plans the queries again, each by its kernel.
fn plan_again(
    cx: &mut Context,
    (from, names): (usize, HashSet<Alias>),
    queries: Vec<Planned>,
    kernels: &[Kernel],
) -> Result<(), Error> {
    let (waiting, begun) = (std::mem::take(&mut cx.waiting), cx.begun);
    cx.forget(from);
    let written = queries.iter().flat_map(|query| &query.nest().outputs).map(|target| target.alias.clone());
    cx.take_names(names.into_iter().chain(written).collect());
    for (Planned { step, origin, rules, .. }, kernel) in queries.into_iter().zip(kernels) {
        (cx.waiting, cx.begun, cx.rules) = (step.waiting.clone(), step.begun, rules);
        let mut nest = cx.resolve(step.nest.clone());
        nest.pins.push(kernel.order.clone());
        for (target, format) in nest.outputs.iter_mut().zip(&kernel.asked) {
            target.format = format.clone().or(target.format.take());
        }
        plan_by(cx, nest, (step, origin), kernel)?;
    }
    (cx.waiting, cx.begun) = (waiting, begun);
    cx.rules.clear();
    Ok(())
}

/// Plans one query by its kernel.
fn plan_by(cx: &mut Context, nest: Nest, (step, origin): (Step, Origin), kernel: &Kernel) -> Result<(), Error> {
    let waits = Waiting { nest: step.nest.clone(), origin, rules: cx.rules.clone() };
    let mut made = Work::NONE;
    let mut layouts = Vec::new();
    for (read, format) in &kernel.reads {
        let mut now = None;
        nest.each_access(&mut |other| {
            if other.tensor == read.tensor && other.at == read.at && other.ty.format != *format {
                now = Some(other.clone());
            }
        });
        let Some(read) = now else { continue };
        let known = cx.copies.len();
        let copy = while_waiting(cx, waits.clone(), |cx| copied(cx, &read, format.clone()))?;
        if cx.copies.len() > known {
            made += conversion(cx, &read);
        }
        layouts.push((read, copy));
    }
    let mode = cx.mode();
    let laid_out = nest
        .clone()
        .reading(&mut |read| layouts.iter().find(|(from, _)| from == read).map(|(_, copy)| copy.clone()), mode);
    cx.memo.hold(&laid_out.sizes, &laid_out.pins);
    let ordered = order_loops(cx, &laid_out).filter(|ordered| ordered.work.cost().is_finite());
    let committed = match ordered {
        Some(mut ordered) => {
            ordered.work += made;
            commit(cx, &laid_out, ordered, &waits)?.is_ok()
        }
        None => false,
    };
    if committed {
        // Adapted plans read the tensors that the plan names, in any format.
        cx.step(step.nest, kernel.order.clone());
        return Ok(());
    }
    // A fold cannot be computed in place by these loops after all.
    plan_as(cx, nest, origin)
}
