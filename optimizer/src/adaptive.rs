//! Plans of which the rest can be planned anew once it is known what their first queries have written.
//!
//! With each query is kept what was still to be planned after it: nests that wait for tensors which are stored for them,
//! then whole nests of the plan. Tensors that were written are given with the numbers of positions that they have; nests
//! that wait are planned with these, whole ones are rewritten with them, too. The estimated cost of the queries that were
//! planned before is estimated anew beside: what was planned is left only for something that costs less.

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

/// A physical plan with what is needed to plan its last queries anew.
#[derive(Clone)]
pub struct AdaptivePlan {
    /// The plan.
    pub physical: PhysicalPlan,
    /// What was decided, and why.
    pub report: Report,
    /// The nests of the Logic plan, in order.
    nests: Arc<[Nest]>,
    /// One for each query of the plan; none where it is not to be adapted.
    steps: Vec<Step>,
    /// Source, format and name of each copy.
    copies: Vec<(Alias, Format, Alias)>,
}

/// A tensor that a query has written.
#[derive(Clone, PartialEq, Debug)]
pub struct Written {
    /// Its name.
    pub alias: Alias,
    /// The numbers of positions below its levels, outermost first.
    pub positions: Vec<u64>,
}

/// A query that was planned, and what was still to be planned then.
#[derive(Clone)]
pub(crate) struct Step {
    /// What the query computes, before copies were put in place of what does not fit its loops.
    pub(crate) nest: Nest,
    pub(crate) order: Vec<Field>,
    pub(crate) waiting: Vec<Waiting>,
    /// How many of the plan's nests were begun.
    pub(crate) begun: usize,
    /// The names that were taken.
    aliases: HashSet<Alias>,
}

/// A nest that waits for a tensor which is stored for it, or for its turn.
#[derive(Clone)]
pub(crate) struct Waiting {
    pub(crate) nest: Nest,
    pub(crate) origin: Origin,
    pub(crate) rules: Vec<Rule>,
}

impl From<Nest> for Waiting {
    /// A nest of the plan, as it is.
    fn from(nest: Nest) -> Waiting {
        Waiting { nest, origin: Origin::Plan, rules: Vec::new() }
    }
}

impl Context<'_> {
    /// Keeps what is still to be planned after the query that was planned last.
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

    /// The tensors that may be read when the plan is adapted after a query or later: they are to be kept until then.
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

    /// The plan with its queries after `after` planned anew, given all written tensors that are still at hand; `None` when
    /// that does not pay: the query has written about what was expected, or nothing else costs so much less. The
    /// configuration and the statistics of inputs are to be those of the plan.
    ///
    /// # Errors
    /// As [`optimize`](crate::optimize).
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

    /// The outputs of a query that have more or fewer positions than was expected, by more than a factor.
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

    /// What was known once a query had been planned, with what was written counted.
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

    /// What the queries after `after` cost as they are planned, by what is known now.
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

/// The cost of a query; what copies cost is in that of the queries that they are made for.
fn counted_cost(decision: &Decision) -> f64 {
    if decision.origin == Origin::Copied { 0.0 } else { decision.cost }
}
