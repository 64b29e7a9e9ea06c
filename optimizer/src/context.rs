//! State that the passes share: configuration, statistics of inputs and intermediates, names, and
//! the plan so far.

use crate::config::OptimizerConfig;
use crate::estimate::{EstimateCache, FieldPair, Marginal, MarginalCache, SupportProfile, Throws};
use crate::formats::{count_positions, output_marginals};
use crate::measuring::{MeasuringBudget, StatisticsPass};
use crate::names::Names;
use crate::report::Report;
use crate::sizes::Sizes;
use crate::state::{PlanStep, Task};
use crate::term::{Fold, Nest, Read, Target};
use crate::work::Work;
use redpoll_logic::physical::PhysicalQuery;
use redpoll_logic::statistics::{Answer, Fact, Hop, ModeSet, PositionCounts, Question, Statistics, Weights};
use redpoll_logic::{Alias, Field, FloatMode, Format, TensorType};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// The state of one optimization.
pub(crate) struct Context<'a> {
    pub(crate) config: &'a OptimizerConfig,
    statistics: &'a Statistics<'a>,
    /// Types of the tensors that queries write.
    types: FxHashMap<Alias, Arc<TensorType>>,
    counts: PositionCounts,
    /// Marginals of those tensors, per storage mode: the distribution of stored entries over its
    /// coordinates.
    mode_marginals: FxHashMap<Alias, Vec<Option<Marginal>>>,
    /// Paths along inputs that produce some of those tensors.
    paths: FxHashMap<Alias, Vec<Hop>>,
    /// Marginals whose counts some of those tensors contain.
    counted_marginals: FxHashMap<Alias, Marginal>,
    marginal_cache: Rc<MarginalCache>,
    /// Set when statistics that take a pass over a tensor may be requested.
    may_measure: bool,
    pub(crate) budget: MeasuringBudget,
    pub(crate) names: Names,
    /// Outputs that the plan produces.
    pub(crate) results: Rc<HashSet<Alias>>,
    /// Source, format and name of each copy.
    pub(crate) copies: Vec<(Alias, Format, Alias)>,
    pub(crate) inputs: Vec<(Alias, Arc<TensorType>)>,
    pub(crate) queries: Vec<PhysicalQuery>,
    pub(crate) report: Report,
    pub(crate) memo: TermMemo,
    /// Stack of pending tasks; the next one is last.
    pub(crate) tasks: Vec<Task>,
    /// Index of the first nest of the plan that is not planned yet.
    pub(crate) next_nest: usize,
    /// One step per query, for plans that may be adapted.
    pub(crate) steps: Vec<PlanStep>,
}

/// Cached results for terms and folds; valid as long as their fields have the same sizes.
#[derive(Default)]
pub(crate) struct TermMemo {
    sizes: RefCell<Sizes>,
    pins: RefCell<Vec<Vec<Field>>>,
    /// The work of folds; depends on the pins.
    work: RefCell<FxHashMap<FoldKey, Work>>,
    pub(crate) estimates: EstimateCache,
}

/// A fold in its context.
#[derive(Clone, PartialEq, Eq, Hash)]
struct FoldKey {
    fold: Fold,
    /// For a fold inside loops: the loops, the fraction of their iterations that run (as bits), and
    /// the marginals of these. `None` for a fold in a query of its own.
    inside: Option<(Vec<Field>, u64, BTreeMap<Field, Marginal>)>,
}

impl TermMemo {
    /// Retains the results for these sizes of fields and these pinned orders; drops all others.
    pub(crate) fn retain_for(&self, sizes: &Sizes, pins: &[Vec<Field>]) {
        let mut known_sizes = self.sizes.borrow_mut();
        if known_sizes.agrees_with(sizes) {
            known_sizes.extend(sizes);
        } else {
            self.clear();
            *known_sizes = sizes.clone();
        }
        if *self.pins.borrow() != pins {
            self.work.borrow_mut().clear();
            *self.pins.borrow_mut() = pins.to_vec();
        }
    }

    /// Returns the work of a fold; computed once.
    pub(crate) fn fold_work(
        &self,
        fold: &Fold,
        inside: Option<(&[Field], &SupportProfile)>,
        count: impl FnOnce() -> Work,
    ) -> Work {
        let inside =
            inside.map(|(prefix, visited)| (prefix.to_vec(), visited.fraction.to_bits(), visited.marginals.clone()));
        let key = FoldKey { fold: fold.clone(), inside };
        if let Some(cached) = self.work.borrow().get(&key) {
            return *cached;
        }
        // Storing a fold can require storing the same fold, if it is a scan that no loop order
        // allows. Such recursion ends here, with infinite cost.
        self.work.borrow_mut().insert(key.clone(), Work::IMPOSSIBLE);
        let work = count();
        self.work.borrow_mut().insert(key, work);
        work
    }

    /// Drops all results.
    pub(crate) fn clear(&self) {
        self.work.borrow_mut().clear();
        self.estimates.clear();
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(config: &'a OptimizerConfig, statistics: &'a Statistics<'a>, nests: &[Nest]) -> Context<'a> {
        let mut names: Names = nests.iter().flat_map(|n| &n.outputs).map(|t| t.alias.clone()).collect();
        for target in nests.iter().flat_map(|n| &n.outputs) {
            target.value.each_access(&mut |r| {
                names.insert(r.tensor.clone());
            });
        }
        Context::with_names(config, statistics, names)
    }

    /// Returns a context with an empty plan in which the given names are in use.
    pub(crate) fn with_names(config: &'a OptimizerConfig, statistics: &'a Statistics<'a>, names: Names) -> Context<'a> {
        Context {
            config,
            statistics,
            types: FxHashMap::default(),
            counts: PositionCounts::default(),
            mode_marginals: FxHashMap::default(),
            paths: FxHashMap::default(),
            counted_marginals: FxHashMap::default(),
            marginal_cache: Rc::default(),
            may_measure: false,
            budget: MeasuringBudget::default(),
            names,
            results: Rc::default(),
            copies: Vec::new(),
            inputs: Vec::new(),
            queries: Vec::new(),
            report: Report::default(),
            memo: TermMemo::default(),
            tasks: Vec::new(),
            next_nest: 0,
            steps: Vec::new(),
        }
    }

    /// Returns a copy in which planning can continue differently. Results on marginals are shared,
    /// because these do not depend on plans.
    pub(crate) fn fork(&self) -> Context<'a> {
        Context {
            config: self.config,
            statistics: self.statistics,
            types: self.types.clone(),
            counts: self.counts.clone(),
            mode_marginals: self.mode_marginals.clone(),
            paths: self.paths.clone(),
            counted_marginals: self.counted_marginals.clone(),
            marginal_cache: self.marginal_cache.clone(),
            may_measure: self.may_measure,
            budget: self.budget.clone(),
            names: self.names.clone(),
            results: self.results.clone(),
            copies: self.copies.clone(),
            inputs: self.inputs.clone(),
            queries: self.queries.clone(),
            report: self.report.clone(),
            memo: TermMemo::default(),
            tasks: self.tasks.clone(),
            next_nest: self.next_nest,
            steps: self.steps.clone(),
        }
    }

    pub(crate) fn mode(&self) -> FloatMode {
        self.config.float_mode
    }

    /// Removes the queries from `from` on, with the copies that they make.
    pub(crate) fn remove_queries(&mut self, from: usize) {
        let written: HashSet<&Alias> = self.queries[..from].iter().flat_map(|q| &q.outputs).map(|o| &o.alias).collect();
        self.copies.retain(|(.., copy)| written.contains(copy));
        self.queries.truncate(from);
        self.report.decisions.truncate(from);
        self.steps.truncate(from);
    }

    /// Answers a question on an input or on a tensor that a query writes.
    pub(crate) fn ask(&self, tensor: &Alias, ty: &TensorType, question: Question) -> Answer {
        if self.types.contains_key(tensor) {
            Statistics::new(&self.counts).ask(tensor, ty, question)
        } else if StatisticsPass::of_question(question).is_none_or(|passes| self.pay_for(tensor, ty, &passes)) {
            self.statistics.ask(tensor, ty, question)
        } else {
            self.statistics.derive(tensor, ty, question)
        }
    }

    /// Pays for passes over a tensor; returns whether the budget suffices.
    fn pay_for(&self, tensor: &Alias, ty: &TensorType, passes: &[StatisticsPass]) -> bool {
        self.may_measure && self.budget.try_pay(tensor, ty, self.statistics.stored_values(tensor, ty).estimate, passes)
    }

    /// Returns the total number of stored values of the inputs that a nest reads.
    pub(crate) fn stored_values(&self, nest: &Nest) -> f64 {
        let mut inputs: Vec<&Read> = Vec::new();
        nest.outputs.iter().for_each(|t| t.value.each_access(&mut |r| inputs.push(r)));
        inputs.sort_by_key(|r| &r.tensor);
        inputs.dedup_by_key(|r| &r.tensor);
        let inputs = inputs.into_iter().filter(|r| !self.types.contains_key(&r.tensor));
        inputs.map(|r| self.statistics.stored_values(&r.tensor, &r.ty).estimate).sum()
    }

    /// Returns whether statistics that take a pass over a tensor may be requested.
    pub(crate) fn may_measure(&self) -> bool {
        self.may_measure
    }

    /// Allows or forbids statistics that take a pass over a tensor, within the budget of
    /// [`MeasuringBudget`].
    pub(crate) fn allow_measuring(&mut self, may_measure: bool) {
        if may_measure != self.may_measure {
            self.memo.clear();
        }
        self.may_measure = may_measure;
    }

    /// Returns all facts that were asked of inputs, with their truth.
    pub(crate) fn facts(&self) -> Vec<(Alias, Fact, bool)> {
        self.statistics.facts()
    }

    /// Returns whether a fact is true of an input.
    pub(crate) fn has_fact(&self, tensor: &Alias, ty: &TensorType, fact: Fact) -> bool {
        self.pay_for(tensor, ty, &[StatisticsPass::Fact(fact)]) && self.statistics.has_fact(tensor, ty, fact)
    }

    /// Returns the marginals of a tensor that a query writes, per storage mode.
    pub(crate) fn written_marginals(&self, tensor: &Alias) -> Option<&[Option<Marginal>]> {
        self.types.contains_key(tensor).then(|| self.mode_marginals.get(tensor).map_or(&[][..], Vec::as_slice))
    }

    /// Returns the factor by which terms with these marginals of one field coincide more often than
    /// evenly spread ones.
    pub(crate) fn overlap(&self, of: &[Marginal]) -> f64 {
        self.marginal_cache.overlap(of, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    /// Returns the fraction of coordinates over fields with these marginals that the throws hit.
    pub(crate) fn hit_fraction(&self, throws: Throws, fields: &[Marginal]) -> f64 {
        self.marginal_cache.hit_fraction(throws, fields, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    /// Returns the fraction of coordinate pairs whose first coordinate is smaller; `None` if no
    /// marginal of either is available.
    pub(crate) fn ordered_fraction(&self, pair: &FieldPair) -> Option<f64> {
        self.marginal_cache.ordered_fraction(pair, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    /// Returns whether the weights of a marginal are available.
    pub(crate) fn has_weights(&self, marginal: &Marginal) -> bool {
        self.marginal_cache.has_weights(marginal, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    fn weights(&self, tensor: &Alias, of: ModeSet, mode: usize) -> Option<Weights> {
        let (_, ty) = self.inputs.iter().find(|(alias, _)| alias == tensor)?;
        let passes = [StatisticsPass::Census(of), StatisticsPass::Marginal(of, mode)];
        self.pay_for(tensor, ty, &passes).then(|| self.statistics.marginal(tensor, ty, of, mode)).flatten()
    }

    /// Returns the number of coordinate pairs that a path along inputs connects, if the budget
    /// allows the question.
    pub(crate) fn connected_pairs(&self, path: &[Hop]) -> Option<f64> {
        let can_pay = |hop: &Hop| {
            let ty = self.inputs.iter().find(|(alias, _)| *alias == hop.tensor).map(|(_, ty)| ty);
            ty.is_some_and(|ty| self.pay_for(&hop.tensor, ty, &[StatisticsPass::Links(hop.from, hop.to)]))
        };
        path.iter().all(can_pay).then(|| self.statistics.connected_pairs(path)).flatten()
    }

    /// Returns the path that produces a tensor written by a query: the inner option is `None` for
    /// tensors without a path, the outer one for inputs.
    pub(crate) fn written_path(&self, tensor: &Alias) -> Option<Option<&[Hop]>> {
        self.types.contains_key(tensor).then(|| self.paths.get(tensor).map(Vec::as_slice))
    }

    /// Returns the marginal whose counts a tensor written by a query contains.
    pub(crate) fn counted_marginal(&self, tensor: &Alias) -> Option<Marginal> {
        self.counted_marginals.get(tensor).cloned()
    }

    /// Registers a tensor that a query writes, with the numbers of positions below its levels and
    /// the marginals of its storage modes.
    pub(crate) fn define(
        &mut self,
        tensor: Alias,
        ty: Arc<TensorType>,
        counts: Vec<Answer>,
        marginals: Vec<Option<Marginal>>,
    ) {
        self.counts.insert(tensor.clone(), counts);
        self.mode_marginals.insert(tensor.clone(), marginals);
        if self.types.insert(tensor, ty).is_some() {
            self.memo.clear();
        }
    }

    /// Registers the output of a query under a name and type; returns the numbers of its positions.
    pub(crate) fn define_output(
        &mut self,
        target: &Target,
        (alias, ty): (Alias, Arc<TensorType>),
        sizes: &Sizes,
    ) -> Vec<Answer> {
        let counts = count_positions(self, target, &ty.format, sizes);
        let marginals = output_marginals(self, target, &ty.format, sizes);
        let (path, counted) = (self.path_of(target, sizes), self.output_count_marginal(target, sizes));
        self.define(alias.clone(), ty, counts.clone(), marginals);
        self.paths.extend(path.map(|path| (alias.clone(), path)));
        self.counted_marginals.extend(counted.map(|counted| (alias, counted)));
        counts
    }

    /// Updates the types of reads of earlier queries' results; registers all other tensors that the
    /// nest reads as inputs.
    pub(crate) fn resolve(&mut self, nest: Nest) -> Nest {
        let mode = self.mode();
        let resolved = &mut |read: &Read| {
            let ty = match self.types.get(&read.tensor) {
                Some(ty) => ty.clone(),
                None => {
                    if !self.inputs.iter().any(|(alias, _)| *alias == read.tensor) {
                        self.inputs.push((read.tensor.clone(), read.ty.clone()));
                    }
                    read.ty.clone()
                }
            };
            Some((read.tensor.clone(), ty))
        };
        nest.replace_reads(resolved, mode)
    }
}
