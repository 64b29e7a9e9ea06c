//! Plans whose later queries can be replanned once the sizes of the tensors that the first queries
//! wrote are known.
//!
//! Each query is stored with the remaining work at that point: nests that wait for stored tensors,
//! then whole nests of the plan. Replanning starts from the true numbers of positions of written
//! tensors; waiting nests are planned with these, whole nests are rewritten as well. The old plan
//! of the remaining queries is priced with the same numbers, and is replaced only by a cheaper one.

use crate::config::{Adaptivity, Config};
use crate::context::Context;
use crate::error::Error;
use crate::loop_order::order_loops;
use crate::report::{Adaptation, Decision, Miscount, Origin, Report, Rule};
use crate::term::{Nest, NestKind};
use crate::{algebra, plan_rest};
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
    steps: Vec<Step>,
    /// Source, format and name of each copy.
    copies: Vec<(Alias, Format, Alias)>,
}

/// A tensor that a query has written.
#[derive(Clone, PartialEq, Debug)]
pub struct Written {
    /// The tensor's name.
    pub alias: Alias,
    /// The numbers of positions below the levels, outermost first.
    pub positions: Vec<u64>,
}

/// A planned query, and the remaining work at that point.
#[derive(Clone)]
pub(crate) struct Step {
    /// The nest that the query computes, before discordant accesses were replaced by copies.
    pub(crate) nest: Nest,
    pub(crate) order: Vec<Field>,
    pub(crate) waiting: Vec<Waiting>,
    /// Number of the plan's nests that had been begun.
    pub(crate) begun: usize,
    /// The names that were taken.
    aliases: HashSet<Alias>,
}

/// A nest that waits for a stored tensor or for its turn.
#[derive(Clone)]
pub(crate) struct Waiting {
    pub(crate) nest: Nest,
    pub(crate) origin: Origin,
    pub(crate) rules: Vec<Rule>,
}

impl From<Nest> for Waiting {
    /// Wraps a nest of the plan.
    fn from(nest: Nest) -> Waiting {
        Waiting { nest, origin: Origin::Plan, rules: Vec::new() }
    }
}

impl Context<'_> {
    /// Records the remaining work after the last planned query.
    pub(crate) fn step(&mut self, nest: Nest, order: Vec<Field>) {
        let (waiting, begun, aliases) = (self.waiting.clone(), self.begun, self.aliases().clone());
        self.steps.push(Step { nest, order, waiting, begun, aliases });
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
        report.phase("physical plan", physical.to_string());
        AdaptivePlan { physical, report, nests, steps, copies }
    }

    /// Returns the tensors that adaptation after this query or later may read; the caller must
    /// retain them.
    pub fn wanted(&self, after: usize) -> HashSet<&Alias> {
        let mut wanted = HashSet::new();
        if let Some(step) = self.steps.get(after) {
            let waiting = step.waiting.iter().map(|w| &w.nest);
            for nest in waiting.chain(&self.nests[step.begun..]) {
                nest.each_access(&mut |read| {
                    wanted.insert(&read.tensor);
                });
            }
        }
        wanted
    }

    /// Replans the queries after `after`, given all written tensors that are still available.
    /// Returns `None` when that does not pay: the sizes match the estimates, or no other plan is
    /// sufficiently cheaper. The configuration and the statistics of inputs must be those of the
    /// plan.
    ///
    /// # Errors
    /// The errors of [`optimize`](crate::optimize).
    pub fn adapted(
        &self,
        after: usize,
        written: &[Written],
        statistics: &Statistics,
        config: &Config,
    ) -> Result<Option<AdaptivePlan>, Error> {
        let Adaptivity::On { factor, worth } = config.adaptivity else { return Ok(None) };
        let Some(step) = self.steps.get(after).filter(|_| after + 1 < self.physical.queries.len()) else {
            return Ok(None);
        };
        let miscounts = self.miscounts(after, written, factor);
        if miscounts.is_empty() {
            return Ok(None);
        }
        let before = self.cost_of_rest(after, &mut self.context(after, written, statistics, config));
        if before < worth.0 {
            return Ok(None);
        }
        let mut cx = self.context(after, written, statistics, config);
        (cx.waiting, cx.begun) = (step.waiting.clone(), step.begun);
        plan_rest(&mut cx, &self.nests, &mut algebra::rewrite)?;
        let cost = cx.report.decisions[after + 1..].iter().map(counted_cost).sum::<f64>();
        if cx.queries == self.physical.queries || before - cost < worth.0 {
            return Ok(None);
        }
        cx.report.adapt(Adaptation { after, miscounts, before, cost });
        Ok(Some(AdaptivePlan::new(cx, self.nests.clone(), self.physical.produces.clone())))
    }

    /// Returns the outputs of a query whose numbers of positions deviate from the estimates by more
    /// than a factor.
    fn miscounts(&self, query: usize, written: &[Written], factor: f64) -> Vec<Miscount> {
        let outputs = self.report.decisions[query].outputs.iter();
        let miscount = |output: &crate::DecidedOutput| {
            let Written { alias, positions } = written.iter().find(|w| w.alias == output.alias)?;
            let off = output.positions.iter().zip(positions).any(|(&estimated, &counted)| {
                let (estimated, counted) = (estimated.max(1.0), (counted as f64).max(1.0));
                estimated > factor * counted || counted > factor * estimated
            });
            let (estimated, counted) = (output.positions.clone(), positions.clone());
            off.then(|| Miscount { alias: alias.clone(), estimated, counted })
        };
        outputs.filter_map(miscount).collect()
    }

    /// Returns the state after planning a query, with the true sizes of the written tensors.
    fn context<'a>(
        &self,
        after: usize,
        written: &[Written],
        statistics: &'a Statistics<'a>,
        config: &'a Config,
    ) -> Context<'a> {
        let mut cx = Context::with_names(config, statistics, self.steps[after].aliases.clone());
        cx.results = Rc::new(self.physical.produces.iter().cloned().collect());
        cx.queries = self.physical.queries[..=after].to_vec();
        cx.steps = self.steps[..=after].to_vec();
        cx.report = self.report.clone();
        cx.report.decisions.truncate(after + 1);
        for output in cx.queries.iter().flat_map(|q| &q.outputs).cloned().collect::<Vec<_>>() {
            if let Some(Written { alias, positions }) = written.iter().find(|w| w.alias == output.alias) {
                let counts = positions.iter().copied().map(Answer::exact).collect();
                cx.define(alias.clone(), output.ty, counts, Vec::new());
            }
        }
        let read: HashSet<&Alias> = cx.queries.iter().flat_map(PhysicalQuery::accesses).map(|a| &a.tensor).collect();
        cx.inputs = self.physical.inputs.iter().filter(|(alias, _)| read.contains(alias)).cloned().collect();
        let at_hand = |alias: &Alias| written.iter().any(|w| w.alias == *alias);
        cx.copies = self.copies.iter().filter(|(.., copy)| at_hand(copy)).cloned().collect();
        cx
    }

    /// Returns the cost of the queries after `after` as planned, with the sizes of the context.
    fn cost_of_rest(&self, after: usize, cx: &mut Context) -> f64 {
        let mut all = 0.0;
        for (step, decision) in self.steps.iter().zip(&self.report.decisions).skip(after + 1) {
            let mut nest = cx.resolve(step.nest.clone());
            nest.pins.push(step.order.clone());
            if nest.kind == NestKind::Query {
                cx.memo.hold(&nest.sizes, &nest.pins);
                all += order_loops(cx, &nest).map_or(f64::INFINITY, |o| o.work.cost());
            }
            for (target, output) in nest.outputs.iter().zip(&decision.outputs) {
                cx.define_output(target, (output.alias.clone(), output.ty.clone()), &nest.sizes);
            }
        }
        all
    }
}

/// Returns the cost of a query, or 0 for a copy, whose cost is part of the queries that read it.
fn counted_cost(decision: &Decision) -> f64 {
    if decision.origin == Origin::Copied { 0.0 } else { decision.cost }
}
