//! What the passes share: configuration, statistics of inputs and of intermediates, names, and what is planned so far.

use crate::config::Config;
use crate::normalize::fresh_alias;
use crate::report::Report;
use crate::term::{At, Fold, Nest, Node, Read, Term};
use redpoll_logic::physical::PhysicalQuery;
use redpoll_logic::statistics::{Answer, PositionCounts, Question, Statistics};
use redpoll_logic::{Alias, Field, FloatMode, Format, TensorType};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The state of one optimization.
pub(crate) struct Context<'a> {
    pub(crate) config: &'a Config,
    statistics: &'a Statistics<'a>,
    /// The types of the tensors that queries write.
    types: HashMap<Alias, Arc<TensorType>>,
    counts: PositionCounts,
    aliases: HashSet<Alias>,
    /// Source, format and name of each copy.
    pub(crate) copies: Vec<(Alias, Format, Alias)>,
    pub(crate) inputs: Vec<(Alias, Arc<TensorType>)>,
    pub(crate) queries: Vec<PhysicalQuery>,
    pub(crate) report: Report,
    pub(crate) memo: Memo,
}

/// Costs of folds in the nest that is being planned.
#[derive(Default)]
pub(crate) struct Memo(RefCell<HashMap<MemoKey, (Term, f64)>>);

/// The identity of the fold's argument, its fields and those it goes on along, and where it stands: inside of loops that
/// are visited to a fraction (as bits), or in a query of its own.
type MemoKey = (usize, Vec<Field>, Option<(Vec<Field>, u64)>);

impl Memo {
    /// The cost of a fold, computed once. The memo holds the argument, so its identity stays its own.
    pub(crate) fn cost(&self, fold: &Fold, inside: Option<(&[Field], f64)>, compute: impl FnOnce() -> f64) -> f64 {
        let inside = inside.map(|(prefix, reach)| (prefix.to_vec(), reach.to_bits()));
        let key = (fold.arg.identity(), [&fold.fields[..], &fold.along].concat(), inside);
        if let Some((_, known)) = self.0.borrow().get(&key) {
            return *known;
        }
        // What would be stored in order to be stored, a scan that an order of loops does not allow, has no end.
        self.0.borrow_mut().insert(key.clone(), (fold.arg.clone(), f64::INFINITY));
        let cost = compute();
        self.0.borrow_mut().insert(key, (fold.arg.clone(), cost));
        cost
    }

    /// Forgets everything: other sizes and pins hold from now on.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
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
        Context {
            config,
            statistics,
            types: HashMap::new(),
            counts: PositionCounts::default(),
            aliases,
            copies: Vec::new(),
            inputs: Vec::new(),
            queries: Vec::new(),
            report: Report::default(),
            memo: Memo::default(),
        }
    }

    pub(crate) fn mode(&self) -> FloatMode {
        self.config.float_mode
    }

    /// A name for a tensor or temporary that is not taken.
    pub(crate) fn fresh(&mut self, like: &Alias) -> Alias {
        fresh_alias(&mut self.aliases, like)
    }

    /// The answer to a question on an input or on a tensor that a query writes.
    pub(crate) fn ask(&self, tensor: &Alias, ty: &TensorType, question: Question) -> Answer {
        if self.types.contains_key(tensor) {
            Statistics::new(&self.counts).ask(tensor, ty, question)
        } else {
            self.statistics.ask(tensor, ty, question)
        }
    }

    /// Makes a tensor known that a query writes.
    pub(crate) fn define(&mut self, tensor: Alias, ty: Arc<TensorType>, counts: Vec<Answer>) {
        self.counts.insert(tensor.clone(), counts);
        self.types.insert(tensor, ty);
    }

    /// The nest with the types of earlier queries' results put where they are read; what is no such result is an input.
    pub(crate) fn resolve(&mut self, mut nest: Nest) -> Nest {
        for target in &mut nest.outputs {
            target.value = self.resolve_term(&target.value);
            for at in &mut target.at {
                if let At::Value(t) = at {
                    *at = At::from_value(self.resolve_term(t));
                }
            }
        }
        nest
    }

    fn resolve_term(&mut self, term: &Term) -> Term {
        let mode = self.mode();
        term.replace(
            &mut |t| {
                let Node::Access(read) = t.node() else { return None };
                let ty = match self.types.get(&read.tensor) {
                    Some(ty) => ty.clone(),
                    None => {
                        if !self.inputs.iter().any(|(alias, _)| *alias == read.tensor) {
                            self.inputs.push((read.tensor.clone(), read.ty.clone()));
                        }
                        read.ty.clone()
                    }
                };
                let at = read.at.iter().map(|a| match a {
                    At::Value(t) => At::from_value(self.resolve_term(t)),
                    At::Subscript(_) => a.clone(),
                });
                let at = at.collect();
                Some(Term::access(Read { ty, at, ..read.clone() }))
            },
            mode,
        )
    }
}
