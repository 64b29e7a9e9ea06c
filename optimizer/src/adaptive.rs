//! Plans whose later queries can be replanned once the sizes of the tensors that the first queries
//! wrote are known.
//!
//! Each query is stored with the remaining work at that point: pending tasks, then whole nests of
//! the plan. Replanning starts from the true numbers of positions of written tensors; pending tasks
//! are planned with these, whole nests are rewritten as well. The old plan of the remaining queries
//! is priced with the same numbers, and is replaced only by a cheaper one.

use crate::config::{Adaptivity, OptimizerConfig};
use crate::context::Context;
use crate::error::Error;
use crate::loop_order::order_loops;
use crate::report::{Adaptation, Decision, Miscount, Origin, Report};
use crate::state::PlanStep;
use crate::term::{Nest, NestKind};
use crate::{algebra, plan_remaining};
use redpoll_logic::physical::{PhysicalPlan, PhysicalQuery};
use redpoll_logic::statistics::{Answer, Statistics};
use redpoll_logic::{Alias, Field, Format};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

/// A physical plan with the state needed to replan its last queries.
#[derive(Clone)]
pub struct AdaptivePlan {
    /// The plan.
    pub physical: PhysicalPlan,
    /// The decisions and their reasons.
    pub report: Report,
    /// The nests of the Logic plan, in order.
    nests: Arc<[Nest]>,
    /// One step per query of the plan; empty if the plan is not to be adapted.
    steps: Vec<PlanStep>,
    /// Source, format and name of each copy.
    copies: Vec<(Alias, Format, Alias)>,
}

/// A tensor that a query has written.
#[derive(Clone, PartialEq, Debug)]
pub struct WrittenTensor {
    /// The tensor's name.
    pub alias: Alias,
    /// The numbers of positions below the levels, outermost first.
    pub positions: Vec<u64>,
}

impl Context<'_> {
    /// Records the remaining work after the last planned query.
    pub(crate) fn record_step(&mut self, nest: Nest, order: Vec<Field>) {
        let (tasks, next_nest, names) = (self.tasks.clone(), self.next_nest, self.names.clone());
        self.steps.push(PlanStep { nest, order, tasks, next_nest, names });
    }
}

impl AdaptivePlan {
    pub(crate) fn new(cx: Context, nests: Arc<[Nest]>, produces: Vec<Alias>) -> AdaptivePlan {
        let facts = cx.facts();
        let Context { inputs, queries, mut report, steps, copies, .. } = cx;
        report.facts.extend(facts);
        report.facts.sort();
        report.facts.dedup();
        let physical = PhysicalPlan { inputs, queries, produces };
        report.add_phase("physical plan", physical.to_string());
        AdaptivePlan { physical, report, nests, steps, copies }
    }

    /// Returns the tensors that adaptation after this query or later may read; the caller must
    /// retain them.
    pub fn needed_tensors(&self, after: usize) -> HashSet<&Alias> {
        let mut needed = HashSet::new();
        if let Some(step) = self.steps.get(after) {
            let tasks = step.tasks.iter().map(|task| &task.nest);
            for nest in tasks.chain(&self.nests[step.next_nest..]) {
                nest.each_access(&mut |read| {
                    needed.insert(&read.tensor);
                });
            }
        }
        needed
    }

    /// Replans the queries after `after`, given all written tensors that are still available.
    /// Returns `None` when that does not pay: the sizes match the estimates, or no other plan is
    /// sufficiently cheaper. The configuration and the statistics of inputs must be those of the
    /// plan.
    ///
    /// # Errors
    /// The errors of [`optimize`](crate::optimize).
    pub fn adapt(
        &self,
        after: usize,
        written: &[WrittenTensor],
        statistics: &Statistics,
        config: &OptimizerConfig,
    ) -> Result<Option<AdaptivePlan>, Error> {
        let Adaptivity::On { factor, min_savings } = config.adaptivity else { return Ok(None) };
        let Some(step) = self.steps.get(after).filter(|_| after + 1 < self.physical.queries.len()) else {
            return Ok(None);
        };
        let miscounts = self.miscounts(after, written, factor);
        if miscounts.is_empty() {
            return Ok(None);
        }
        let old_cost = self.remaining_cost(after, &mut self.context_after(after, written, statistics, config));
        if old_cost < min_savings.0 {
            return Ok(None);
        }
        let mut cx = self.context_after(after, written, statistics, config);
        (cx.tasks, cx.next_nest) = (step.tasks.clone(), step.next_nest);
        plan_remaining(&mut cx, &self.nests, &mut algebra::rewrite)?;
        let new_cost = cx.report.decisions[after + 1..].iter().map(cost_without_copies).sum::<f64>();
        if cx.queries == self.physical.queries || old_cost - new_cost < min_savings.0 {
            return Ok(None);
        }
        cx.report.add_adaptation(Adaptation { query: after, miscounts, old_cost, new_cost });
        Ok(Some(AdaptivePlan::new(cx, self.nests.clone(), self.physical.produces.clone())))
    }

    /// Returns the outputs of a query whose numbers of positions deviate from the estimates by more
    /// than a factor.
    fn miscounts(&self, query: usize, written: &[WrittenTensor], factor: f64) -> Vec<Miscount> {
        let outputs = self.report.decisions[query].outputs.iter();
        let miscount = |output: &crate::OutputDecision| {
            let WrittenTensor { alias, positions } = written.iter().find(|w| w.alias == output.alias)?;
            let deviates = output.positions.iter().zip(positions).any(|(&estimated, &counted)| {
                let (estimated, counted) = (estimated.max(1.0), (counted as f64).max(1.0));
                estimated > factor * counted || counted > factor * estimated
            });
            let (estimated, counted) = (output.positions.clone(), positions.clone());
            deviates.then(|| Miscount { alias: alias.clone(), estimated, counted })
        };
        outputs.filter_map(miscount).collect()
    }

    /// Returns the state after planning a query, with the true sizes of the written tensors.
    fn context_after<'a>(
        &self,
        after: usize,
        written: &[WrittenTensor],
        statistics: &'a Statistics<'a>,
        config: &'a OptimizerConfig,
    ) -> Context<'a> {
        let mut cx = Context::with_names(config, statistics, self.steps[after].names.clone());
        cx.results = Rc::new(self.physical.produces.iter().cloned().collect());
        cx.queries = self.physical.queries[..=after].to_vec();
        cx.steps = self.steps[..=after].to_vec();
        cx.report = self.report.clone();
        cx.report.decisions.truncate(after + 1);
        for output in cx.queries.iter().flat_map(|q| &q.outputs).cloned().collect::<Vec<_>>() {
            if let Some(WrittenTensor { alias, positions }) = written.iter().find(|w| w.alias == output.alias) {
                let counts = positions.iter().copied().map(Answer::exact).collect();
                cx.define(alias.clone(), output.ty, counts, Vec::new());
            }
        }
        let read: HashSet<&Alias> = cx.queries.iter().flat_map(PhysicalQuery::accesses).map(|a| &a.tensor).collect();
        cx.inputs = self.physical.inputs.iter().filter(|(alias, _)| read.contains(alias)).cloned().collect();
        let is_available = |alias: &Alias| written.iter().any(|w| w.alias == *alias);
        cx.copies = self.copies.iter().filter(|(.., copy)| is_available(copy)).cloned().collect();
        cx
    }

    /// Returns the cost of the queries after `after` as planned, with the sizes of the context.
    fn remaining_cost(&self, after: usize, cx: &mut Context) -> f64 {
        let mut cost = 0.0;
        for (step, decision) in self.steps.iter().zip(&self.report.decisions).skip(after + 1) {
            let mut nest = cx.resolve(step.nest.clone());
            nest.pins.push(step.order.clone());
            if nest.kind == NestKind::Query {
                cx.memo.retain_for(&nest.sizes, &nest.pins);
                cost += order_loops(cx, &nest).map_or(f64::INFINITY, |o| o.work.cost());
            }
            for (target, output) in nest.outputs.iter().zip(&decision.outputs) {
                cx.define_output(target, (output.alias.clone(), output.ty.clone()), &nest.sizes);
            }
        }
        cost
    }
}

/// Returns the cost of a query, or 0 for a copy, whose cost is part of the queries that read it.
fn cost_without_copies(decision: &Decision) -> f64 {
    if decision.origin == Origin::Copy { 0.0 } else { decision.cost }
}
