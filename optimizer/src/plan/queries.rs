//! Plans the nests of a plan one after the other, and compares the plans with the runners-up.

use super::layout::lay_out;
use super::planner::Planner;
use super::query::plan_task;
use crate::algebra::{MAX_COST_RATIO, Replacement, ReplacementChoice};
use crate::error::Error;
use crate::facts::Facts;
use crate::order::search::{order_loops, rough_cost};
use crate::term::Nest;
use crate::term::names::Names;

/// Largest number of loops whose best order is found before statistics are measured.
const MAX_ORDERED_LOOPS: usize = 5;

/// Function that replaces a nest of the plan. The number is the rough cost of the nest.
pub(crate) type Rewrite<'r> = &'r mut dyn FnMut(&Facts, Nest, f64) -> ReplacementChoice;

/// A replacement of a nest that was not chosen, but may make the whole plan cheaper.
pub(crate) struct RunnerUp<'a> {
    /// The planner before the replacement was chosen.
    planner: Planner<'a>,
    replacement: Replacement,
}

/// Plans the pending tasks and the remaining nests. The formats of each query are chosen for this
/// query alone. Adds the runners-up of nests to `runners_up` if there is a list.
pub(crate) fn plan_queries<'a>(
    planner: &mut Planner<'a>,
    nests: &[Nest],
    rewrite: Rewrite,
    mut runners_up: Option<&mut Vec<RunnerUp<'a>>>,
) -> Result<(), Error> {
    let mut measured = planner.facts.may_measure();
    loop {
        while let Some(task) = planner.state.tasks.pop() {
            plan_task(planner, task)?;
        }
        let Some(nest) = planner.next_nest(nests) else { break };
        let rough = measure_for(&mut planner.facts, &nest);
        measured |= planner.facts.may_measure();
        if rough < planner.facts.config.rewrite_threshold.0 {
            planner.state.tasks.push(nest.into());
            continue;
        }
        let ReplacementChoice { chosen, runners_up: others } = rewrite(&planner.facts, nest, rough);
        if let Some(runners_up) = &mut runners_up {
            runners_up.extend(others.into_iter().map(|replacement| RunnerUp { planner: planner.clone(), replacement }));
        }
        planner.replace_nest(chosen);
    }
    planner.facts.allow_measuring(measured);
    Ok(())
}

/// Allows measuring within the nest's budget if the nest is expensive enough, and otherwise forbids
/// it; returns a rough cost of its loops.
fn measure_for(facts: &mut Facts, nest: &Nest) -> f64 {
    facts.allow_measuring(false);
    facts.memo.retain_for(&nest.sizes, &nest.pins);
    let (rough, threshold) = (rough_cost(facts, nest), facts.config.rewrite_threshold);
    if rough < threshold.0 || rough < threshold.min_measured_ratio() * facts.stored_values(nest) {
        return rough;
    }
    let unmeasured = loop_cost(facts, nest, rough);
    facts.allow_measuring(true);
    facts.add_to_budget(threshold.measuring_budget(unmeasured));
    // Measured skew can raise the cost estimate, and the budget with it.
    let skewed = rough_cost(facts, nest);
    facts.add_to_budget(threshold.measuring_budget(unmeasured * (skewed / rough - 1.0).max(0.0)));
    skewed
}

/// Returns the cost of the best order of a nest's loops if they are few, and otherwise the rough
/// cost. The rough cost is the cost of the greedy order, which may be many times as expensive as
/// the best order.
fn loop_cost(facts: &Facts, nest: &Nest, rough: f64) -> f64 {
    if nest.loops().len() > MAX_ORDERED_LOOPS {
        return rough;
    }
    order_loops(facts, nest).map_or(rough, |ordered| ordered.work.cost())
}

/// Makes the plan again with one runner-up after the other; returns the plan that is kept. `names`
/// are the names in use before the first query.
///
/// The terms of a nest were compared by estimates that ignore formats. The plan with a runner-up
/// replaces the current plan if the new plan costs less than [`MAX_COST_RATIO`] times the current
/// one. The runners-up of later nests are then left out.
pub(crate) fn cheapest_plan<'a>(
    mut planner: Planner<'a>,
    runners_up: Vec<RunnerUp<'a>>,
    (nests, names): (&[Nest], &Names),
    rewrite: Rewrite,
) -> Result<Planner<'a>, Error> {
    let mut replaced = None;
    for RunnerUp { planner: mut other, replacement } in runners_up {
        // The runners-up of later nests continue the plan that has just been replaced.
        if replaced.is_some_and(|nest| nest != other.state.next_nest) {
            break;
        }
        let nest = other.state.next_nest;
        other.replace_nest(replacement);
        plan_queries(&mut other, nests, rewrite, None)?;
        lay_out(&mut other, 0, names)?;
        if other.state.work().cost() < MAX_COST_RATIO * planner.state.work().cost() {
            (planner, replaced) = (other, Some(nest));
        }
    }
    Ok(planner)
}
