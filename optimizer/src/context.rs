//! What the passes share: configuration, statistics of inputs and of intermediates, names, and what is planned so far.

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
    /// The types of the tensors that queries write.
    types: FxHashMap<Alias, Arc<TensorType>>,
    counts: PositionCounts,
    /// How the stored places of those tensors are spread over the coordinates of each storage mode.
    spread: FxHashMap<Alias, Vec<Option<Marginal>>>,
    /// The paths along which those tensors were made of inputs, where they were.
    paths: FxHashMap<Alias, Vec<Hop>>,
    /// Which places of a tensor those tensors count, where they do.
    counting: FxHashMap<Alias, Marginal>,
    marginals: Rc<Marginals>,
    /// Whether what takes a pass over a tensor is asked for.
    measures: bool,
    pub(crate) measuring: Measuring,
    aliases: HashSet<Alias>,
    /// What the plan produces.
    pub(crate) results: Rc<HashSet<Alias>>,
    /// Source, format and name of each copy.
    pub(crate) copies: Vec<(Alias, Format, Alias)>,
    pub(crate) inputs: Vec<(Alias, Arc<TensorType>)>,
    pub(crate) queries: Vec<PhysicalQuery>,
    pub(crate) report: Report,
    /// The rules behind the nest that is being planned.
    pub(crate) rules: Vec<Rule>,
    pub(crate) memo: Memo,
    /// What is to be planned once what it waits for is stored, the next last.
    pub(crate) waiting: Vec<Waiting>,
    /// What comes near to what was chosen for nests of the plan.
    pub(crate) close: Vec<Close<'a>>,
    /// How many of the plan's nests were begun.
    pub(crate) begun: usize,
    /// One for each query, for plans that may be adapted.
    pub(crate) steps: Vec<Step>,
}

/// What comes near to what was chosen for a nest of the plan.
pub(crate) struct Close<'a> {
    /// What was planned before it.
    pub(crate) begun: Box<Context<'a>>,
    pub(crate) other: Candidate,
    /// What the nest itself costs.
    pub(crate) before: f64,
    /// The graph that it was found in.
    pub(crate) found: String,
}

/// What was found of terms and of folds, as long as their fields have the same sizes.
#[derive(Default)]
pub(crate) struct Memo {
    sizes: RefCell<Sizes>,
    pins: RefCell<Vec<Vec<Field>>>,
    /// The work of folds; depends on the pins.
    work: RefCell<FxHashMap<Placed, Work>>,
    pub(crate) known: Known,
}

/// A fold where it stands.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Placed {
    fold: Fold,
    /// The loops that it is inside of, the fraction of their places that is visited, as bits, and how these are spread; in a
    /// query of its own otherwise.
    inside: Option<(Vec<Field>, u64, BTreeMap<Field, Marginal>)>,
}

impl Memo {
    /// From now on fields have those sizes, and loops keep those orders: what was found under others is forgotten.
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

    /// The work of a fold, counted once.
    pub(crate) fn work(&self, fold: &Fold, inside: Option<(&[Field], &Profile)>, count: impl FnOnce() -> Work) -> Work {
        let inside =
            inside.map(|(prefix, visited)| (prefix.to_vec(), visited.fraction.to_bits(), visited.marginals.clone()));
        let key = Placed { fold: fold.clone(), inside };
        if let Some(known) = self.work.borrow().get(&key) {
            return *known;
        }
        // What would be stored in order to be stored, a scan that an order of loops does not allow, has no end.
        self.work.borrow_mut().insert(key.clone(), Work::IMPOSSIBLE);
        let work = count();
        self.work.borrow_mut().insert(key, work);
        work
    }

    /// Forgets everything.
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

    /// Nothing is planned yet, and those names are taken.
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

    /// The same once more, to plan on in another way. What was found of marginals is shared: it does not depend on plans.
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

    /// The names that are taken.
    pub(crate) fn aliases(&self) -> &HashSet<Alias> {
        &self.aliases
    }

    /// From now on those names are taken, and no others.
    pub(crate) fn take_names(&mut self, names: HashSet<Alias>) {
        self.aliases = names;
    }

    /// Forgets the queries from `from` on, with the copies that they make.
    pub(crate) fn forget(&mut self, from: usize) {
        let written: HashSet<&Alias> = self.queries[..from].iter().flat_map(|q| &q.outputs).map(|o| &o.alias).collect();
        self.copies.retain(|(.., copy)| written.contains(copy));
        self.queries.truncate(from);
        self.report.decisions.truncate(from);
        self.steps.truncate(from);
    }

    /// A name for a tensor or temporary that is not taken.
    pub(crate) fn fresh(&mut self, like: &Alias) -> Alias {
        fresh_alias(&mut self.aliases, like)
    }

    /// The answer to a question on an input or on a tensor that a query writes.
    pub(crate) fn ask(&self, tensor: &Alias, ty: &TensorType, question: Question) -> Answer {
        if self.types.contains_key(tensor) {
            Statistics::new(&self.counts).ask(tensor, ty, question)
        } else if Pass::of_question(question).is_none_or(|passes| self.affords(tensor, ty, &passes)) {
            self.statistics.ask(tensor, ty, question)
        } else {
            self.statistics.assume(tensor, ty, question)
        }
    }

    /// Whether passes over a tensor may be made.
    fn affords(&self, tensor: &Alias, ty: &TensorType, passes: &[Pass]) -> bool {
        self.measures && self.measuring.affords(tensor, ty, self.statistics.stored(tensor, ty).estimate, passes)
    }

    /// How many values the inputs that a nest reads store, all together.
    pub(crate) fn stored(&self, nest: &Nest) -> f64 {
        let mut inputs: Vec<&Read> = Vec::new();
        nest.outputs.iter().for_each(|t| t.value.each_access(&mut |r| inputs.push(r)));
        inputs.sort_by_key(|r| &r.tensor);
        inputs.dedup_by_key(|r| &r.tensor);
        let inputs = inputs.into_iter().filter(|r| !self.types.contains_key(&r.tensor));
        inputs.map(|r| self.statistics.stored(&r.tensor, &r.ty).estimate).sum()
    }

    /// Whether what takes a pass over a tensor is asked for.
    pub(crate) fn measures(&self) -> bool {
        self.measures
    }

    /// From now on what takes a pass over a tensor is asked for as far as [`Measuring`] allows, or not: it must be worth it.
    pub(crate) fn measure(&mut self, measures: bool) {
        if measures != self.measures {
            self.memo.clear();
        }
        self.measures = measures;
    }

    /// All that was asked of inputs, with its truth.
    pub(crate) fn facts(&self) -> Vec<(Alias, Fact, bool)> {
        self.statistics.facts()
    }

    /// Whether something is true of an input.
    pub(crate) fn holds(&self, tensor: &Alias, ty: &TensorType, fact: Fact) -> bool {
        self.affords(tensor, ty, &[Pass::Fact(fact)]) && self.statistics.holds(tensor, ty, fact)
    }

    /// How the stored places of a tensor that a query writes are spread over the coordinates of each storage mode.
    pub(crate) fn written_marginals(&self, tensor: &Alias) -> Option<&[Option<Marginal>]> {
        self.types.contains_key(tensor).then(|| self.spread.get(tensor).map_or(&[][..], Vec::as_slice))
    }

    /// How much more often terms with those marginals of one field meet than if they were spread evenly.
    pub(crate) fn overlap(&self, of: &[Marginal]) -> f64 {
        self.marginals.overlap(of, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    /// The fraction of the places over fields with those marginals that are hit.
    pub(crate) fn hit(&self, throws: Throws, fields: &[Marginal]) -> f64 {
        self.marginals.hit(throws, fields, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    /// The fraction of the pairs of coordinates in which the first one comes first, where something is known of either.
    pub(crate) fn share(&self, pair: &Pair) -> Option<f64> {
        self.marginals.share(pair, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    /// Whether it is known how places are spread that have this marginal.
    pub(crate) fn is_known(&self, marginal: &Marginal) -> bool {
        self.marginals.are_known(marginal, &|tensor, of, mode| self.weights(tensor, of, mode))
    }

    fn weights(&self, tensor: &Alias, of: ModeSet, mode: usize) -> Option<Weights> {
        let (_, ty) = self.inputs.iter().find(|(alias, _)| alias == tensor)?;
        let passes = [Pass::Census(of), Pass::Marginal(of, mode)];
        self.affords(tensor, ty, &passes).then(|| self.statistics.marginal(tensor, ty, of, mode)).flatten()
    }

    /// How many pairs of coordinates a path along inputs connects, if that may be asked.
    pub(crate) fn pairs(&self, path: &[Hop]) -> Option<f64> {
        let affords = |hop: &Hop| {
            let ty = self.inputs.iter().find(|(alias, _)| *alias == hop.tensor).map(|(_, ty)| ty);
            ty.is_some_and(|ty| self.affords(&hop.tensor, ty, &[Pass::Links(hop.from, hop.to)]))
        };
        path.iter().all(affords).then(|| self.statistics.connected(path)).flatten()
    }

    /// The path along which a tensor was made that a query writes; `None` inside where there is none, outside for inputs.
    pub(crate) fn written_path(&self, tensor: &Alias) -> Option<Option<&[Hop]>> {
        self.types.contains_key(tensor).then(|| self.paths.get(tensor).map(Vec::as_slice))
    }

    /// Which places of a tensor one counts that a query writes.
    pub(crate) fn written_count(&self, tensor: &Alias) -> Option<Marginal> {
        self.counting.get(tensor).cloned()
    }

    /// Makes a tensor known that a query writes: the numbers of positions below its levels, and how its places are spread
    /// over the coordinates of its storage modes.
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

    /// Makes the output of a query known under that name and in that type, and gives the numbers of its positions.
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

    /// The nest with the types of earlier queries' results put where they are read; what is no such result is an input.
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
