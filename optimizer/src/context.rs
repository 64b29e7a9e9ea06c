//! State that the passes share: configuration, statistics of inputs and intermediates, names, and
//! the plan so far.

use crate::adaptive::{Step, Waiting};
use crate::algebra::Candidate;
use crate::config::Config;
use crate::estimate::{Known, Marginal, Marginals, Pair, Profile, Throws};
use crate::formats::{count_positions, spread};
use crate::measuring::{Measuring, Pass};
use crate::normalize::fresh_alias;
use crate::report::{Report, Rule};
use crate::sizes::Sizes;
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
    pub(crate) config: &'a Config,
    statistics: &'a Statistics<'a>,
    /// Types of the tensors that queries write.
    types: FxHashMap<Alias, Arc<TensorType>>,
    counts: PositionCounts,
    /// Marginals of those tensors, per storage mode: the distribution of stored entries over its
    /// coordinates.
    spread: FxHashMap<Alias, Vec<Option<Marginal>>>,
    /// Paths along inputs that produce some of those tensors.
    paths: FxHashMap<Alias, Vec<Hop>>,
    /// Marginals whose counts some of those tensors contain.
    counting: FxHashMap<Alias, Marginal>,
    marginals: Rc<Marginals>,
    /// Set when statistics that take a pass over a tensor may be requested.
    measures: bool,
    pub(crate) measuring: Measuring,
    aliases: HashSet<Alias>,
    /// Outputs that the plan produces.
    pub(crate) results: Rc<HashSet<Alias>>,
    /// Source, format and name of each copy.
    pub(crate) copies: Vec<(Alias, Format, Alias)>,
    pub(crate) inputs: Vec<(Alias, Arc<TensorType>)>,
    pub(crate) queries: Vec<PhysicalQuery>,
    pub(crate) report: Report,
    /// Rules that produced the nest being planned.
    pub(crate) rules: Vec<Rule>,
    pub(crate) memo: Memo,
    /// Stack of nests to plan once the tensors that they wait for are stored; the next one is last.
    pub(crate) waiting: Vec<Waiting>,
    /// Runner-up candidates for nests of the plan.
    pub(crate) close: Vec<Close<'a>>,
    /// Number of the plan's nests that have been begun.
    pub(crate) begun: usize,
    /// One step per query, for plans that may be adapted.
    pub(crate) steps: Vec<Step>,
}

/// A runner-up candidate for a nest of the plan.
pub(crate) struct Close<'a> {
    /// State before the nest was planned.
    pub(crate) begun: Box<Context<'a>>,
    pub(crate) other: Candidate,
    /// Cost of the original nest.
    pub(crate) before: f64,
    /// Size of the e-graph that contained the candidate, for the report.
    pub(crate) found: String,
}

/// Cached results for terms and folds; valid as long as their fields have the same sizes.
#[derive(Default)]
pub(crate) struct Memo {
    sizes: RefCell<Sizes>,
    pins: RefCell<Vec<Vec<Field>>>,
    /// The work of folds; depends on the pins.
    work: RefCell<FxHashMap<Placed, Work>>,
    pub(crate) known: Known,
}

/// A fold in its context.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Placed {
    fold: Fold,
    /// For a fold inside loops: the loops, the fraction of their iterations that run (as bits), and
    /// the marginals of these. `None` for a fold in a query of its own.
    inside: Option<(Vec<Field>, u64, BTreeMap<Field, Marginal>)>,
}

impl Memo {
    /// Sets the sizes of fields and the pinned orders; results that depend on different ones are
    /// dropped.
    pub(crate) fn hold(&self, sizes: &Sizes, pins: &[Vec<Field>]) {
        let mut held = self.sizes.borrow_mut();
        if held.agrees(sizes) {
            held.extend(sizes);
        } else {
            self.clear();
            *held = sizes.clone();
        }
        if *self.pins.borrow() != pins {
            self.work.borrow_mut().clear();
            *self.pins.borrow_mut() = pins.to_vec();
        }
    }

    /// Returns the work of a fold; computed once.
    pub(crate) fn work(&self, fold: &Fold, inside: Option<(&[Field], &Profile)>, count: impl FnOnce() -> Work) -> Work {
        let inside =
            inside.map(|(prefix, visited)| (prefix.to_vec(), visited.fraction.to_bits(), visited.marginals.clone()));
        let key = Placed { fold: fold.clone(), inside };
        if let Some(known) = self.work.borrow().get(&key) {
            return *known;
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
        self.known.clear();
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(config: &'a Config, statistics: &'a Statistics<'a>, nests: &[Nest]) -> Context<'a> {
        let mut aliases: HashSet<Alias> = nests.iter().flat_map(|n| &n.outputs).map(|t| t.alias.clone()).collect();
        for target in nests.iter().flat_map(|n| &n.outputs) {
            target.value.each_access(&mut |r| {
                aliases.insert(r.tensor.clone());
            });
        }
        Context::with_names(config, statistics, aliases)
    }

    /// Returns a context with an empty plan in which the given names are taken.
    pub(crate) fn with_names(
        config: &'a Config,
        statistics: &'a Statistics<'a>,
        aliases: HashSet<Alias>,
    ) -> Context<'a> {
        Context {
            config,
            statistics,
            types: FxHashMap::default(),
            counts: PositionCounts::default(),
            spread: FxHashMap::default(),
            paths: FxHashMap::default(),
            counting: FxHashMap::default(),
            marginals: Rc::default(),
            measures: false,
            measuring: Measuring::default(),
            aliases,
            results: Rc::default(),
            copies: Vec::new(),
            inputs: Vec::new(),
            queries: Vec::new(),
            report: Report::default(),
            rules: Vec::new(),
            memo: Memo::default(),
            waiting: Vec::new(),
            close: Vec::new(),
            begun: 0,
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
            spread: self.spread.clone(),
            paths: self.paths.clone(),
            counting: self.counting.clone(),
            marginals: self.marginals.clone(),
            measures: self.measures,
            measuring: self.measuring.clone(),
            aliases: self.aliases.clone(),
            results: self.results.clone(),
            copies: self.copies.clone(),
            inputs: self.inputs.clone(),
            queries: self.queries.clone(),
            report: self.report.clone(),
            rules: self.rules.clone(),
            memo: Memo::default(),
            waiting: self.waiting.clone(),
            close: Vec::new(),
            begun: self.begun,
            steps: self.steps.clone(),
        }
    }

    pub(crate) fn mode(&self) -> FloatMode {
        self.config.float_mode
    }

    /// Returns the names that are taken.
    pub(crate) fn aliases(&self) -> &HashSet<Alias> {
        &self.aliases
    }

    /// Replaces the set of taken names.
    pub(crate) fn take_names(&mut self, names: HashSet<Alias>) {
        self.aliases = names;
    }

    /// Removes the queries from `from` on, with the copies that they make.
    pub(crate) fn forget(&mut self, from: usize) {
        let written: HashSet<&Alias> = self.queries[..from].iter().flat_map(|q| &q.outputs).map(|o| &o.alias).collect();
        self.copies.retain(|(.., copy)| written.contains(copy));
        self.queries.truncate(from);
        self.report.decisions.truncate(from);
        self.steps.truncate(from);
    }

    /// Returns a new name for a tensor or temporary, and takes it.
    pub(crate) fn fresh(&mut self, like: &Alias) -> Alias {
        fresh_alias(&mut self.aliases, like)
    }

    /// Answers a question on an input or on a tensor that a query writes.
    pub(crate) fn ask(&self, tensor: &Alias, ty: &TensorType, question: Question) -> Answer {
        if self.types.contains_key(tensor) {
            Statistics::new(&self.counts).ask(tensor, ty, question)
        } else if Pass::of_question(question).is_none_or(|passes| self.affords(tensor, ty, &passes)) {
            self.statistics.ask(tensor, ty, question)
        } else {
            self.statistics.derive(tensor, ty, question)
        }
    }

    /// Returns whether passes over a tensor are within the budget.
    fn affords(&self, tensor: &Alias, ty: &TensorType, passes: &[Pass]) -> bool {
        self.measures && self.measuring.affords(tensor, ty, self.statistics.stored_values(tensor, ty).estimate, passes)
    }

    /// Returns the total number of stored values of the inputs that a nest reads.
    pub(crate) fn stored(&self, nest: &Nest) -> f64 {
        let mut inputs: Vec<&Read> = Vec::new();
        nest.outputs.iter().for_each(|t| t.value.each_access(&mut |r| inputs.push(r)));
        inputs.sort_by_key(|r| &r.tensor);
        inputs.dedup_by_key(|r| &r.tensor);
        let inputs = inputs.into_iter().filter(|r| !self.types.contains_key(&r.tensor));
        inputs.map(|r| self.statistics.stored_values(&r.tensor, &r.ty).estimate).sum()
    }

    /// Returns whether statistics that take a pass over a tensor may be requested.
    pub(crate) fn measures(&self) -> bool {
        self.measures
    }

    /// Allows or forbids statistics that take a pass over a tensor, within the budget of
    /// [`Measuring`].
    pub(crate) fn measure(&mut self, measures: bool) {
        if measures != self.measures {
            self.memo.clear();
        }
        self.measures = measures;
    }

    /// Returns all facts that were asked of inputs, with their truth.
    pub(crate) fn facts(&self) -> Vec<(Alias, Fact, bool)> {
        self.statistics.facts()
    }

    /// Returns whether a fact is true of an input.
    pub(crate) fn has_fact(&self, tensor: &Alias, ty: &TensorType, fact: Fact) -> bool {
        self.affords(tensor, ty, &[Pass::Fact(fact)]) && self.statistics.has_fact(tensor, ty, fact)
    }

    /// Returns the marginals of a tensor that a query writes, per storage mode.
    pub(crate) fn written_marginals(&self, tensor: &Alias) -> Option<&[Option<Marginal>]> {
        self.types.contains_key(tensor).then(|| self.spread.get(tensor).map_or(&[][..], Vec::as_slice))
    }

    /// Returns the factor by which terms with these marginals of one field coincide more often than
    /// evenly spread ones.
    pub(crate) fn overlap(&self, of: &[Marginal]) -> f64 {
        self.marginals.overlap(of, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    /// Returns the fraction of coordinates over fields with these marginals that the throws hit.
    pub(crate) fn hit(&self, throws: Throws, fields: &[Marginal]) -> f64 {
        self.marginals.hit(throws, fields, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    /// Returns the fraction of coordinate pairs whose first coordinate is smaller; `None` if no
    /// marginal of either is available.
    pub(crate) fn share(&self, pair: &Pair) -> Option<f64> {
        self.marginals.share(pair, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    /// Returns whether the weights of a marginal are available.
    pub(crate) fn is_known(&self, marginal: &Marginal) -> bool {
        self.marginals.are_known(marginal, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    fn weights(&self, tensor: &Alias, of: ModeSet, mode: usize) -> Option<Weights> {
        let (_, ty) = self.inputs.iter().find(|(alias, _)| alias == tensor)?;
        let passes = [Pass::Census(of), Pass::Marginal(of, mode)];
        self.affords(tensor, ty, &passes).then(|| self.statistics.marginal(tensor, ty, of, mode)).flatten()
    }

    /// Returns the number of coordinate pairs that a path along inputs connects, if the budget
    /// allows the question.
    pub(crate) fn pairs(&self, path: &[Hop]) -> Option<f64> {
        let affords = |hop: &Hop| {
            let ty = self.inputs.iter().find(|(alias, _)| *alias == hop.tensor).map(|(_, ty)| ty);
            ty.is_some_and(|ty| self.affords(&hop.tensor, ty, &[Pass::Links(hop.from, hop.to)]))
        };
        path.iter().all(affords).then(|| self.statistics.connected_pairs(path)).flatten()
    }

    /// Returns the path that produces a tensor written by a query: the inner option is `None` for
    /// tensors without a path, the outer one for inputs.
    pub(crate) fn written_path(&self, tensor: &Alias) -> Option<Option<&[Hop]>> {
        self.types.contains_key(tensor).then(|| self.paths.get(tensor).map(Vec::as_slice))
    }

    /// Returns the marginal whose counts a tensor written by a query contains.
    pub(crate) fn written_count(&self, tensor: &Alias) -> Option<Marginal> {
        self.counting.get(tensor).cloned()
    }

    /// Registers a tensor that a query writes, with the numbers of positions below its levels and
    /// the marginals of its storage modes.
    pub(crate) fn define(
        &mut self,
        tensor: Alias,
        ty: Arc<TensorType>,
        counts: Vec<Answer>,
        spread: Vec<Option<Marginal>>,
    ) {
        self.counts.insert(tensor.clone(), counts);
        self.spread.insert(tensor.clone(), spread);
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
        let spread = spread(self, target, &ty.format, sizes);
        let (path, counted) = (self.path_of(target, sizes), self.counts(target, sizes));
        self.define(alias.clone(), ty, counts.clone(), spread);
        self.paths.extend(path.map(|path| (alias.clone(), path)));
        self.counting.extend(counted.map(|counted| (alias, counted)));
        counts
    }

    /// Updates the types of reads of earlier queries' results; registers all other tensors that the
    /// nest reads as inputs.
    pub(crate) fn resolve(&mut self, nest: Nest) -> Nest {
        let mode = self.mode();
        let typed = &mut |read: &Read| {
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
        nest.reading(typed, mode)
    }
}
