//! Plans whose later queries can be replanned after the first queries have run, with the true sizes
//! of the tensors that the first queries have written.
//!
//! Each planned query is kept with the work that remained after the query: the pending tasks, then
//! the nests of the plan whose planning had not begun. Replanning starts from the true numbers of
//! positions of written tensors. The tasks and nests are planned with these numbers, and the nests
//! are also rewritten. The old plan of the remaining queries is priced with the same numbers, and
//! is replaced only by a plan that is cheaper by the required savings.

use super::layout::lay_out;
use super::planner::Planner;
use super::queries::plan_queries;
use super::state::{PlanState, PlanStep, PlannedQuery};
use crate::algebra;
use crate::config::{Adaptivity, OptimizerConfig};
use crate::error::Error;
use crate::facts::{Facts, WrittenTensorFacts};
use crate::order::search::order_loops;
use crate::output::formats::define_output;
use crate::report::{Adaptation, Miscount, OutputDecision, Report, total_cost};
use crate::term::{Nest, NestKind};
use redpoll_logic::physical::{PhysicalPlan, PhysicalQuery};
use redpoll_logic::statistics::{Answer, Statistics};
use redpoll_logic::{Alias, Format, Parameter};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// A physical plan with the state needed to replan its last queries.
///
/// # Examples
/// The product T turns out to store 12 values instead of about two million, so the rest of the plan
/// multiplies T with C first, instead of C with D:
/// ```
/// use redpoll_logic::statistics::{Answer, PositionCounts, Statistics};
/// use redpoll_logic::text::{Catalog, parse};
/// use redpoll_logic::{DType, Format, Scalar, TensorType};
/// use redpoll_optimizer::{OptimizerConfig, WrittenTensor, optimize_adaptive};
///
/// let n = 20_000;
/// let matrix = |columns: u64, format: Format| TensorType {
///     shape: vec![n, columns],
///     dtype: DType::F64,
///     fill: Scalar::F64(0.0),
///     format,
/// };
/// let sparse = ["A", "B", "C"].into_iter().map(|name| (name, matrix(n, Format::csr())));
/// let mut inputs: Catalog = sparse.collect();
/// inputs.insert("D", matrix(10, Format::dense(2)));
/// let mut counts = PositionCounts::default();
/// for (name, row_length) in [("A", 10), ("B", 10), ("C", 100)] {
///     counts.insert(name.into(), vec![Answer::exact(n), Answer::exact(row_length * n)]);
/// }
/// let text = "(plan
///     (query T (reformat csr (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)))
///     (query R (aggregate + 0 (mapjoin * (table T i j) (table C j k) (table D k l)) j k))
///     (produces T R))";
/// let plan = parse(text, &inputs)?;
/// let (statistics, config) = (Statistics::new(&counts), OptimizerConfig::default());
/// let planned = optimize_adaptive(&plan, &statistics, &config)?;
///
/// // The query that writes T has run.
/// let after = planned.report.decisions.iter().position(|d| d.outputs[0].alias.as_str() == "T");
/// let after = after.ok_or("a query writes T")?;
/// let written = [WrittenTensor { alias: "T".into(), positions: vec![n, 12] }];
/// let adapted = planned.adapt(after, &written, &statistics, &config)?.ok_or("a cheaper plan")?;
/// assert_eq!(adapted.physical.queries[..=after], planned.physical.queries[..=after]);
/// let adaptation = &adapted.report.adaptations[0];
/// assert!(adaptation.query == after && adaptation.new_cost < adaptation.old_cost);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct AdaptivePlan {
    /// The plan.
    pub physical: Arc<PhysicalPlan>,
    /// The decisions and their reasons.
    pub report: Report,
    /// The nests of the Logic plan, in order.
    nests: Arc<[Nest]>,
    /// One step per query of the plan.
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

impl AdaptivePlan {
    /// Returns the plan that the planner has made.
    pub(crate) fn new(planner: Planner, nests: Arc<[Nest]>, produces: Vec<Alias>) -> AdaptivePlan {
        let Planner { facts, state, mut report } = planner;
        report.facts.extend(facts.asked_facts());
        report.facts.sort();
        report.facts.dedup();
        let (mut queries, mut steps) = (Vec::new(), Vec::new());
        for PlannedQuery { query, decision, step } in state.planned {
            queries.push(query);
            report.decisions.push(decision);
            steps.push(step);
        }
        let mut physical = PhysicalPlan { inputs: facts.inputs().to_vec(), queries, produces };
        let parameters: BTreeSet<Alias> = physical.parameters().into_iter().map(|p| p.input.clone()).collect();
        let is_read = |input: &Alias| facts.inputs().iter().any(|(alias, _)| alias == input);
        let ty = Arc::new(Parameter::input_type());
        physical.inputs.extend(parameters.into_iter().filter(|input| !is_read(input)).map(|input| (input, ty.clone())));
        let physical = Arc::new(physical);
        report.add_phase("physical plan", physical.clone());
        AdaptivePlan { physical, report, nests, steps, copies: state.copies }
    }

    /// Returns the tensors that replanned queries may read, if the plan is adapted after the query
    /// with this index or after a later query. The caller must retain these tensors. If the plan
    /// has no query with this index, returns only the inputs of parameters.
    pub fn needed_tensors(&self, after: usize) -> HashSet<&Alias> {
        let parameters = self.physical.parameters();
        let mut needed: HashSet<&Alias> = parameters.into_iter().map(|parameter| &parameter.input).collect();
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

    /// Replans the queries after the query with index `after`. `written` must list all written
    /// tensors that are still available. The configuration and the statistics of inputs must be the
    /// same as for the original plan. Returns `None` in four cases: no query follows,
    /// [`OptimizerConfig::adaptivity`] is off, the sizes of the query's outputs match the
    /// estimates, or no other plan is sufficiently cheaper.
    ///
    /// # Errors
    /// Returns the errors of [`optimize`](crate::optimize()).
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
        let old_cost = self.remaining_cost(after, &mut self.planner_after(after, written, statistics, config).facts);
        if old_cost < min_savings.0 {
            return Ok(None);
        }
        let mut planner = self.planner_after(after, written, statistics, config);
        (planner.state.tasks, planner.state.next_nest) = (step.tasks.clone(), step.next_nest);
        let names = planner.state.names.clone();
        plan_queries(&mut planner, &self.nests, &mut algebra::rewrite, None)?;
        lay_out(&mut planner, after + 1, &names)?;
        let planned = &planner.state.planned;
        let new_cost = total_cost(planned[after + 1..].iter().map(|planned| &planned.decision));
        let is_unchanged = planned.iter().map(|planned| &planned.query).eq(&self.physical.queries);
        if is_unchanged || old_cost - new_cost < min_savings.0 {
            return Ok(None);
        }
        planner.report.add_adaptation(Adaptation { query: after, miscounts, old_cost, new_cost });
        Ok(Some(AdaptivePlan::new(planner, self.nests.clone(), self.physical.produces.clone())))
    }

    /// Returns the outputs of a query whose numbers of positions deviate from the estimates by more
    /// than the factor `factor`. A number below 1 counts as 1.
    fn miscounts(&self, query: usize, written: &[WrittenTensor], factor: f64) -> Vec<Miscount> {
        let outputs = self.report.decisions[query].outputs.iter();
        let miscount = |output: &OutputDecision| {
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

    /// Returns a planner that has planned the queries up to `after`, with the true sizes of the
    /// written tensors. The caller sets the pending tasks and the next nest.
    fn planner_after<'a>(
        &self,
        after: usize,
        written: &[WrittenTensor],
        statistics: &'a Statistics<'a>,
        config: &'a OptimizerConfig,
    ) -> Planner<'a> {
        let PhysicalPlan { inputs, queries, produces } = &*self.physical;
        let queries = &queries[..=after];
        let read: HashSet<&Alias> = queries.iter().flat_map(PhysicalQuery::accesses).map(|a| &a.tensor).collect();
        let inputs = inputs.iter().filter(|(alias, _)| read.contains(alias)).cloned().collect();
        let mut facts = Facts::new(config, statistics, produces, inputs);
        for output in queries.iter().flat_map(|query| &query.outputs) {
            if let Some(WrittenTensor { alias, positions }) = written.iter().find(|w| w.alias == output.alias) {
                let counts = positions.iter().copied().map(Answer::exact).collect();
                let exact = WrittenTensorFacts { counts, ..WrittenTensorFacts::default() };
                facts.define(alias.clone(), output.ty.clone(), exact);
            }
        }
        let mut report = self.report.clone();
        let decisions = std::mem::take(&mut report.decisions);
        let planned = queries.iter().cloned().zip(decisions).zip(self.steps.iter().cloned());
        let planned = planned.map(|((query, decision), step)| PlannedQuery { query, decision, step });
        let is_available = |alias: &Alias| written.iter().any(|w| w.alias == *alias);
        let state = PlanState {
            names: self.steps[after].names.clone(),
            copies: self.copies.iter().filter(|(.., copy)| is_available(copy)).cloned().collect(),
            planned: planned.collect(),
            ..PlanState::default()
        };
        Planner { facts, state, report }
    }

    /// Returns the cost of the planned queries after `after`, with the sizes in `facts`.
    fn remaining_cost(&self, after: usize, facts: &mut Facts) -> f64 {
        let mut cost = 0.0;
        for (step, decision) in self.steps.iter().zip(&self.report.decisions).skip(after + 1) {
            let mut nest = facts.resolve(step.nest.clone());
            nest.pins.push(step.order.clone());
            if nest.kind == NestKind::Query {
                facts.memo.retain_for(&nest.sizes, &nest.pins);
                cost += order_loops(facts, &nest).map_or(f64::INFINITY, |o| o.work.cost());
            }
            for (target, output) in nest.outputs.iter().zip(&decision.outputs) {
                define_output(facts, target, (output.alias.clone(), output.ty.clone()), &nest.sizes);
            }
        }
        cost
    }
}
