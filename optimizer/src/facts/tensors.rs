//! Knowledge about tensors: statistics of inputs, and estimates or true sizes of the tensors that
//! queries write.
//!
//! The passes ask [`Facts`]. Four events add knowledge: a nest reads an input for the first time,
//! an output is planned or tried in another format, measuring is allowed, and the true sizes of a
//! written tensor become known.

use crate::config::OptimizerConfig;
use crate::facts::estimate::{FieldPair, Marginal, MarginalCache, Throws};
use crate::facts::measuring::{MeasuringBudget, StatisticsPass};
use crate::facts::memo::TermMemo;
use crate::term::{Nest, Read};
use redpoll_logic::statistics::{Answer, Fact, Hop, ModeSet, PositionCounts, Question, Statistics, Weights};
use redpoll_logic::{Alias, FloatMode, TensorType};
use rustc_hash::FxHashMap;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

/// Facts about the tensors of a plan, with the configuration of the optimizer.
///
/// A clone starts with an empty memo, has a copy of the measuring budget, and shares the cache of
/// evaluated marginals.
#[derive(Clone)]
pub(crate) struct Facts<'a> {
    pub(crate) config: &'a OptimizerConfig,
    statistics: &'a Statistics<'a>,
    /// Outputs that the plan produces.
    results: Rc<HashSet<Alias>>,
    /// The tensors that no query writes, in the order in which nests first read them.
    inputs: Vec<(Alias, Arc<TensorType>)>,
    /// Types of the tensors that queries write, also in formats that were only tried.
    types: FxHashMap<Alias, Arc<TensorType>>,
    counts: PositionCounts,
    /// Marginals of the tensors in `types`, per storage mode: the distribution of stored entries
    /// over the mode's coordinates.
    mode_marginals: FxHashMap<Alias, Vec<Option<Marginal>>>,
    /// Paths along inputs that produce some of the tensors in `types`.
    paths: FxHashMap<Alias, Vec<Hop>>,
    /// For some of the tensors in `types`, the marginal whose counts are the values of the tensor,
    /// such as the row lengths of a matrix.
    counted_marginals: FxHashMap<Alias, Marginal>,
    marginal_cache: Rc<MarginalCache>,
    /// Set when statistics that take a pass over a tensor may be requested.
    may_measure: bool,
    budget: MeasuringBudget,
    pub(crate) memo: TermMemo,
}

/// Facts about a tensor that a query writes.
#[derive(Default)]
pub(crate) struct WrittenTensorFacts {
    /// The numbers of positions below the levels, outermost first.
    pub(crate) counts: Vec<Answer>,
    /// The marginals of the storage modes.
    pub(crate) marginals: Vec<Option<Marginal>>,
    /// The path along inputs that produces the tensor, if there is one.
    pub(crate) path: Option<Vec<Hop>>,
    /// The marginal whose counts are the values of the tensor, if there is one.
    pub(crate) counted_marginal: Option<Marginal>,
}

impl<'a> Facts<'a> {
    /// Returns the facts before any nest is planned. `inputs` are the tensors that were read so
    /// far.
    pub(crate) fn new(
        config: &'a OptimizerConfig,
        statistics: &'a Statistics<'a>,
        results: &[Alias],
        inputs: Vec<(Alias, Arc<TensorType>)>,
    ) -> Facts<'a> {
        Facts {
            config,
            statistics,
            results: Rc::new(results.iter().cloned().collect()),
            inputs,
            types: FxHashMap::default(),
            counts: PositionCounts::default(),
            mode_marginals: FxHashMap::default(),
            paths: FxHashMap::default(),
            counted_marginals: FxHashMap::default(),
            marginal_cache: Rc::default(),
            may_measure: false,
            budget: MeasuringBudget::default(),
            memo: TermMemo::default(),
        }
    }

    /// Returns the float mode, which decides the laws that hold for floats.
    pub(crate) fn mode(&self) -> FloatMode {
        self.config.float_mode
    }

    /// Returns whether the plan produces the tensor.
    pub(crate) fn is_result(&self, tensor: &Alias) -> bool {
        self.results.contains(tensor)
    }

    /// Returns the tensors that no query writes, in the order in which nests first read them.
    pub(crate) fn inputs(&self) -> &[(Alias, Arc<TensorType>)] {
        &self.inputs
    }

    /// Answers a question on an input or on a tensor that a query writes. The answer for an input
    /// is derived from its type and position counts if the question takes a pass that is not paid
    /// for.
    pub(crate) fn ask(&self, tensor: &Alias, ty: &TensorType, question: Question) -> Answer {
        if self.types.contains_key(tensor) {
            Statistics::new(&self.counts).ask(tensor, ty, question)
        } else if StatisticsPass::of_question(question).is_none_or(|passes| self.pay_for(tensor, ty, &passes)) {
            self.statistics.ask(tensor, ty, question)
        } else {
            self.statistics.derive(tensor, ty, question)
        }
    }

    /// Pays for passes over a tensor; returns whether measuring is allowed and the budget suffices.
    fn pay_for(&self, tensor: &Alias, ty: &TensorType, passes: &[StatisticsPass]) -> bool {
        self.may_measure && self.budget.try_pay(tensor, ty, self.statistics.stored_values(tensor, ty).estimate, passes)
    }

    /// Adds steps to the budget of measuring.
    pub(crate) fn add_to_budget(&self, steps: f64) {
        self.budget.add(steps);
    }

    /// Returns the total number of stored values of the inputs that the values of a nest read.
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

    /// Returns all facts that were checked, with their truth values. Facts whose check was not paid
    /// for are not among them.
    pub(crate) fn asked_facts(&self) -> Vec<(Alias, Fact, bool)> {
        self.statistics.facts()
    }

    /// Returns whether a fact is true of an input. Returns false if this is unknown, because the
    /// statistics do not answer, measuring is not allowed, or the budget does not pay for the
    /// check.
    pub(crate) fn has_fact(&self, tensor: &Alias, ty: &TensorType, fact: Fact) -> bool {
        self.pay_for(tensor, ty, &[StatisticsPass::Fact(fact)]) && self.statistics.has_fact(tensor, ty, fact)
    }

    /// Returns the marginals of a tensor that a query writes, per storage mode; `None` for inputs.
    pub(crate) fn written_marginals(&self, tensor: &Alias) -> Option<&[Option<Marginal>]> {
        self.types.contains_key(tensor).then(|| self.mode_marginals.get(tensor).map_or(&[][..], Vec::as_slice))
    }

    /// Returns the number of matches of terms with these marginals of one field, relative to the
    /// number for evenly spread entries.
    pub(crate) fn overlap(&self, of: &[Marginal]) -> f64 {
        self.marginal_cache.overlap(of, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    /// Returns the fraction of coordinates over fields with these marginals that the throws hit.
    pub(crate) fn hit_fraction(&self, throws: Throws, fields: &[Marginal]) -> f64 {
        self.marginal_cache.hit_fraction(throws, fields, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    /// Returns the fraction of pairs of entries in which the coordinate of the first field precedes
    /// that of the second; `None` if neither field has an available marginal.
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

    /// Returns the number of coordinate pairs that a path along inputs connects. `None` if a tensor
    /// of the path is not an input, if the budget does not pay for the passes, or if the statistics
    /// do not know the number.
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

    /// Returns the marginal whose counts are the values of a tensor that a query writes, if there
    /// is one.
    pub(crate) fn counted_marginal(&self, tensor: &Alias) -> Option<Marginal> {
        self.counted_marginals.get(tensor).cloned()
    }

    /// Registers a tensor that a query writes. A repeated registration replaces the type, the
    /// counts and the marginals, and clears the memo. It retains the path and the counted marginal
    /// unless `written` has new ones.
    pub(crate) fn define(&mut self, tensor: Alias, ty: Arc<TensorType>, written: WrittenTensorFacts) {
        let WrittenTensorFacts { counts, marginals, path, counted_marginal } = written;
        self.counts.insert(tensor.clone(), counts);
        self.mode_marginals.insert(tensor.clone(), marginals);
        self.paths.extend(path.map(|path| (tensor.clone(), path)));
        self.counted_marginals.extend(counted_marginal.map(|counted| (tensor.clone(), counted)));
        if self.types.insert(tensor, ty).is_some() {
            self.memo.clear();
        }
    }

    /// Updates the types of reads of earlier queries' results; adds to the inputs all other tensors
    /// that the nest reads.
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
