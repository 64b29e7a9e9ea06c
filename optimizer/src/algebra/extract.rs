//! Extraction picks one node per class, and several terms for the root; the caller prices these
//! terms and decides.
//!
//! The cost of a class is the cost of the folds in its term, plus 1 per inner node. Each fold runs
//! its own loops, which evaluate the calls in its body and read leaves and stored folds. Rounds are
//! estimated from the class of the fold's argument, not from the chosen term.
//!
//! A fold's cost depends only on its node and its children's classes, so the choice is a dynamic
//! program over classes. The program is iterated until nothing changes, or for [`MAX_ROUNDS`]
//! rounds, because classes can contain each other. The best terms of the root are planned, with
//! shared subterms counted once, and the cheapest one is chosen. If there are few terms, all of
//! them are listed instead, and planned in order of cost for as long as planning is cheap relative
//! to the query.

use super::graph::{AlgebraGraph, FoldKind, slot_field};
use super::language::{ENode, LeafId, NodeKind};
use super::names::{FieldPool, GeneratedFields};
use crate::config::Choice;
use crate::facts::Facts;
use crate::term::sizes::Sizes;
use crate::term::{Fold, ModeCoordinate, Term};
use crate::work::Event;
use crate::work::cost::price;
use egg::{Id, Language};
use redpoll_logic::{Field, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// Largest number of rounds of the dynamic program.
const MAX_ROUNDS: usize = 12;
/// Largest number of a fold's loops whose orders are searched exhaustively; longer orders are built
/// greedily.
const EXHAUSTIVE_LOOPS: usize = 4;
/// Largest ratio of [`Extraction::count_terms`] to the allowed number of terms; above this ratio,
/// the terms are not listed.
const MAX_COUNT_RATIO: f64 = 20.0;

/// Returns the price of the body of a fold's innermost loop, per round: a step along a list, a
/// round and a fold.
fn body_price() -> f64 {
    price(Event::WalkList) + price(Event::Round) + price(Event::Fold)
}

/// Returns the price of a round of a loop, apart from its body.
fn prefix_price() -> f64 {
    price(Event::Round) + price(Event::WalkList)
}

/// The choice of a node for each class.
pub(super) struct Extraction<'g, 'c> {
    graph: &'g AlgebraGraph,
    facts: &'g Facts<'c>,
    best: FxHashMap<Id, NodeChoice>,
    /// For each class, the root node of a term of the least depth.
    simplest: FxHashMap<Id, NodeChoice>,
    /// The terms of the nodes in `simplest`, built on demand; estimates of a plain term hold for
    /// its whole class.
    plain_terms: FxHashMap<Id, Option<Rc<PlainTerm>>>,
    loop_costs: FxHashMap<Id, f64>,
    body_rounds: FxHashMap<Id, f64>,
    storing_costs: FxHashMap<Id, f64>,
    /// Leaves over given fields.
    leaves: RefCell<FxHashMap<(Id, Vec<Field>), Term>>,
    /// Plain terms over given fields; plain terms of a class are subterms of many others.
    plain_terms_over: RefCell<FxHashMap<(Id, Vec<Field>), Term>>,
    generated: GeneratedFields,
    /// The sizes of the fields of all plain terms.
    plain_sizes: Sizes,
    /// Costs of nodes without their children, by class and node index.
    own_costs: FxHashMap<(Id, usize), Option<f64>>,
}

/// The term of the simplest nodes, which represents its class in estimates.
struct PlainTerm {
    term: Term,
    /// The fields of the slots of the class; fields of one name have one size in all plain terms.
    fields: Vec<Field>,
}

/// The choice for a class.
#[derive(Clone)]
struct NodeChoice {
    node: ENode,
    /// Cost of the value: 0 for a leaf. Any other node costs 1 plus the costs of its distinct
    /// children; a fold also costs its computation, and storing and reading its result.
    cost: f64,
    /// Round in which the node was chosen.
    round: usize,
}

/// A term extracted from the graph.
pub(super) struct ExtractedTerm {
    pub(super) term: Term,
    /// The sizes of the term's fields, including the fields of its folds.
    pub(super) sizes: Sizes,
    /// The rules that created the nodes of the term, without duplicates.
    pub(super) rules: Vec<&'static str>,
}

/// Names for the fields of folds.
struct FieldNames<'n> {
    /// Unused names of the plan.
    pool: FieldPool,
    generated: &'n GeneratedFields,
    /// Set for the names of a plain term.
    is_plain: bool,
    /// Number of generated names.
    count: usize,
    extracted: ExtractedTerm,
}

/// The node of each class of a term, as an index into the nodes of the class.
pub(super) type NodeChoices = Vec<(Id, usize)>;

impl<'g, 'c> Extraction<'g, 'c> {
    /// Returns an extraction without choices.
    pub(super) fn new(graph: &'g AlgebraGraph, facts: &'g Facts<'c>) -> Extraction<'g, 'c> {
        // Schemas are ids of classes, and other classes of an earlier graph had the same ids.
        facts.memo.estimates.drop_schemas();
        let mut extraction = Extraction {
            graph,
            facts,
            best: FxHashMap::default(),
            simplest: FxHashMap::default(),
            plain_terms: FxHashMap::default(),
            loop_costs: FxHashMap::default(),
            body_rounds: FxHashMap::default(),
            storing_costs: FxHashMap::default(),
            leaves: RefCell::default(),
            plain_terms_over: RefCell::default(),
            generated: GeneratedFields::default(),
            plain_sizes: Sizes::default(),
            own_costs: FxHashMap::default(),
        };
        extraction.find_simplest();
        extraction
    }

    /// Chooses a node for every class, and orders the loops of the folds chosen for `root`.
    ///
    /// Ordering many loops is slow, and most folds with many loops are not chosen. Such folds are
    /// first priced by their innermost loop alone, a lower bound. When a fold chosen for the root
    /// or a class below it has only this bound, its loops are ordered and the choice is repeated.
    pub(super) fn choose(&mut self, root: Id) {
        let classes = self.classes();
        loop {
            self.best = self.simplest.clone();
            for round in 1..=MAX_ROUNDS {
                if classes.iter().filter(|class| self.improve(**class, round)).count() == 0 {
                    break;
                }
            }
            if self.unordered_bodies(root).into_iter().filter(|body| self.order_loops(*body).is_some()).count() == 0 {
                break;
            }
        }
    }

    /// Returns the bodies of the folds chosen for a class and its descendants, without those whose
    /// loops are ordered already.
    fn unordered_bodies(&self, root: Id) -> Vec<Id> {
        let (mut seen, mut pending, mut found) = (FxHashSet::default(), vec![self.graph.find(root)], Vec::new());
        while let Some(class) = pending.pop() {
            let Some(chosen) = self.best.get(&class).filter(|_| seen.insert(class)) else { continue };
            pending.extend(chosen.node.children().iter().map(|c| self.graph.find(*c)));
            let body = chosen.node.children().first().filter(|_| matches!(chosen.node.kind, NodeKind::Fold(..)));
            found.extend(body.map(|body| self.graph.find(*body)).filter(|body| !self.loop_costs.contains_key(body)));
        }
        found
    }

    fn classes(&self) -> Vec<Id> {
        let mut classes: Vec<Id> = self.graph.classes().map(|c| c.id).collect();
        classes.sort();
        classes
    }

    /// Returns the estimated cost of the choice for a class.
    pub(super) fn estimate(&self, class: Id) -> f64 {
        self.best.get(&self.graph.find(class)).map_or(f64::INFINITY, |choice| choice.cost)
    }

    /// Returns the terms of a class that have an estimate below `limit`, each with its estimate,
    /// cheapest first. `None` if there are more than `max_count` of them, or too many to list.
    pub(super) fn terms(&mut self, class: Id, max_count: usize, limit: f64) -> Option<Vec<(f64, NodeChoices)>> {
        // Counting by listing would be slow when there are too many terms.
        if self.count_terms(class, &mut FxHashMap::default()) > MAX_COUNT_RATIO * max_count as f64 {
            return None;
        }
        let mut found = Vec::new();
        self.own_costs.clear();
        let is_complete =
            self.extend_choices(vec![class], (&mut Vec::new(), 0.0, limit), &mut |choices: &NodeChoices, cost| {
                found.push((cost, choices.clone()));
                found.len() <= max_count
            });
        found.sort_by(|(a, m), (b, n)| a.total_cmp(b).then_with(|| m.cmp(n)));
        is_complete.then_some(found)
    }

    /// Returns an estimate of the number of terms of a class, in which repeated uses of a class
    /// count independently.
    fn count_terms(&self, class: Id, counts: &mut FxHashMap<Id, f64>) -> f64 {
        let class = self.graph.find(class);
        if let Some(count) = counts.get(&class) {
            return *count;
        }
        // Cyclic terms are infinite and do not count.
        counts.insert(class, 0.0);
        let below = |node: &ENode, counts: &mut _| {
            node.children().iter().map(|c| self.count_terms(*c, counts)).product::<f64>()
        };
        let count = self.graph[class].iter().map(|node| below(node, counts)).sum();
        counts.insert(class, count);
        count
    }

    /// Extends choices of cost `cost` by a node for each class in `pending` and its descendants, in
    /// all ways that cost less than `limit`. Calls `visit` with each result; stops and returns
    /// false when `visit` returns false.
    fn extend_choices(
        &mut self,
        mut pending: Vec<Id>,
        (choices, cost, limit): (&mut NodeChoices, f64, f64),
        visit: &mut dyn FnMut(&NodeChoices, f64) -> bool,
    ) -> bool {
        let Some(class) = pending.pop().map(|id| self.graph.find(id)) else { return visit(choices, cost) };
        if choices.iter().any(|(chosen, _)| *chosen == class) {
            return self.extend_choices(pending, (choices, cost, limit), visit);
        }
        for (number, node) in self.graph[class].iter().enumerate() {
            let own = match self.own_costs.get(&(class, number)) {
                Some(cached) => *cached,
                None => {
                    let own = self.own_cost(class, node, limit);
                    self.own_costs.insert((class, number), own);
                    own
                }
            };
            let Some(own) = own.filter(|own| cost + own < limit) else { continue };
            choices.push((class, number));
            let pending = [&pending[..], node.children()].concat();
            let continues = self.extend_choices(pending, (choices, cost + own, limit), visit);
            choices.pop();
            if !continues {
                return false;
            }
        }
        true
    }

    /// Returns whether a term of these nodes stores a subterm that could be computed where it is
    /// read.
    pub(super) fn has_stored_subterms(&self, choices: &NodeChoices) -> bool {
        let stores = |node: &ENode| match node.kind {
            NodeKind::Fold(id, _) => self.graph.analysis.fold(id).bound.is_empty(),
            _ => false,
        };
        choices.iter().any(|(class, number)| stores(&self.graph[*class].nodes[*number]))
    }

    /// Returns the fold of a class with the fewest reduced fields, but at least one.
    pub(super) fn smallest_fold(&self, class: Id) -> Option<&ENode> {
        let bound = |node: &&ENode| match node.kind {
            NodeKind::Fold(id, _) => Some(self.graph.analysis.fold(id).bound.len()).filter(|count| *count > 0),
            _ => None,
        };
        let nodes = self.graph[self.graph.find(class)].iter().filter(|node| bound(node).is_some());
        nodes.min_by_key(bound)
    }

    /// Sets the choice to exactly these nodes.
    pub(super) fn set_choices(&mut self, choices: &NodeChoices) {
        let choice = |(class, number): &(Id, usize)| {
            (*class, NodeChoice { node: self.graph[*class].nodes[*number].clone(), cost: 0.0, round: 0 })
        };
        self.best = choices.iter().map(choice).collect();
    }

    /// Returns the nodes of a class that have a cost, with their costs, cheapest first.
    pub(super) fn priced_nodes(&mut self, class: Id) -> Vec<(f64, ENode)> {
        let class = self.graph.find(class);
        let nodes: Vec<ENode> = self.graph[class].iter().cloned().collect();
        let mut priced: Vec<(f64, ENode)> =
            nodes.into_iter().filter_map(|n| Some((self.node_cost(class, &n, f64::INFINITY)?, n))).collect();
        priced.sort_by(|(a, m), (b, n)| a.total_cmp(b).then_with(|| m.cmp(n)));
        priced
    }

    /// Finds the simplest node of every class.
    fn find_simplest(&mut self) {
        // Classes with leaves come first, then classes of calls and folds of these, and so on.
        let mut pending = self.classes();
        while !pending.is_empty() {
            let has_term = |id: &Id| self.simplest.contains_key(&self.graph.find(*id));
            let simplest_node = |class: &Id| {
                let node = self.graph[*class].iter().filter(|n| n.children().iter().all(has_term)).min();
                node.map(|n| (*class, n.clone()))
            };
            let found: Vec<(Id, ENode)> = pending.iter().filter_map(simplest_node).collect();
            if found.is_empty() {
                break;
            }
            for (class, node) in found {
                self.simplest.insert(class, NodeChoice { node, cost: f64::INFINITY, round: 0 });
            }
            pending.retain(|class| !self.simplest.contains_key(class));
        }
    }

    /// Returns the plain term of a class.
    fn plain_term(&mut self, class: Id) -> Option<Rc<PlainTerm>> {
        if let Some(cached) = self.plain_terms.get(&class) {
            return cached.clone();
        }
        let sizes = self.graph[class].data.sizes.iter();
        let fields: Vec<Field> = sizes.enumerate().map(|(slot, size)| self.generated.slot(slot, *size)).collect();
        let names = FieldNames::new(FieldPool::default(), &self.generated, true);
        let found = self.term_of(&self.simplest, class, None, &fields, names);
        let plain = found.map(|ExtractedTerm { term, sizes, .. }| {
            sizes.each(&mut |field, size| self.plain_sizes.insert(field.clone(), size));
            Rc::new(PlainTerm { term, fields })
        });
        self.plain_terms.insert(class, plain.clone());
        plain
    }

    /// Updates the choice of a class if a cheaper node exists; returns whether the choice changed.
    fn improve(&mut self, class: Id, round: usize) -> bool {
        let mut has_changed = false;
        let graph = self.graph;
        for node in graph[class].iter() {
            let chosen = |c: &Id| self.best.get(&graph.find(*c)).map_or(0, |choice| choice.round);
            // No child has changed since this node was priced in the previous round.
            if round > 1 && node.children().iter().all(|c| chosen(c) + 1 < round) {
                continue;
            }
            let best = self.best.get(&class).map_or(f64::INFINITY, |choice| choice.cost);
            if let Some(cost) = self.node_cost(class, node, best).filter(|cost| *cost < best) {
                self.best.insert(class, NodeChoice { node: node.clone(), cost, round });
                has_changed = true;
            }
        }
        has_changed
    }

    /// Returns the cost of a node with the choices for its children, as in [`NodeChoice::cost`].
    /// `None` if a class has no term, or if a lower bound of the cost reaches `limit`.
    fn node_cost(&mut self, class: Id, node: &ENode, limit: f64) -> Option<f64> {
        let mut children: Vec<Id> = node.children().iter().map(|c| self.graph.find(*c)).collect();
        children.sort();
        children.dedup();
        let inputs: Option<Vec<f64>> = children.iter().map(|c| Some(self.best.get(c)?.cost)).collect();
        // A node costs more than its children, so that no class is cheapest through itself.
        let inputs: f64 = inputs?.iter().sum::<f64>() + 1.0;
        match node.kind {
            NodeKind::Leaf(_) => Some(0.0),
            _ if let Choice::Random(seed) = self.facts.config.choice => Some(inputs + random_cost(seed, node)),
            NodeKind::Call(_) | NodeKind::Multiset(_) => Some(inputs),
            NodeKind::Fold(..) => Some(inputs + self.own_cost(class, node, limit - inputs)?),
        }
    }

    /// Returns the cost of a node without its children: the cost of computing and storing a fold,
    /// or 0 for another node. `None` if a class has no term, or a lower bound reaches `limit`.
    fn own_cost(&mut self, class: Id, node: &ENode, limit: f64) -> Option<f64> {
        let NodeKind::Fold(..) = node.kind else { return Some(0.0) };
        let body = self.graph.find(*node.children().first()?);
        let storing = price(Event::Query) + self.storing_cost(class)?;
        if storing >= limit {
            return None;
        }
        Some(storing + self.loop_cost(body, limit - storing)?)
    }

    /// Returns the rounds of the innermost loop of a fold with this body.
    fn rounds(&mut self, body: Id) -> Option<f64> {
        if let Some(cached) = self.body_rounds.get(&body) {
            return Some(*cached);
        }
        let plain = self.plain_term(body)?;
        let coordinate_count: f64 = self.graph[body].data.sizes.iter().map(|n| *n as f64).product();
        let rounds = coordinate_count * self.facts.support(&plain.term, &self.plain_sizes, &|_| true);
        self.body_rounds.insert(body, rounds);
        Some(rounds)
    }

    /// Returns the cost of storing and reading a class once, sparse or dense, whichever is cheaper.
    fn storing_cost(&mut self, class: Id) -> Option<f64> {
        if let Some(cached) = self.storing_costs.get(&class) {
            return Some(*cached);
        }
        let plain = self.plain_term(class)?;
        let coordinate_count: f64 = self.graph[class].data.sizes.iter().map(|n| *n as f64).product();
        let stored = coordinate_count * self.facts.filled_fraction(&plain.term, &self.plain_sizes);
        let sparse = stored * (price(Event::WriteMap) + price(Event::Flush) + price(Event::WalkList));
        let dense = coordinate_count * (price(Event::Clear) + price(Event::WriteDense) + price(Event::FollowDense));
        self.storing_costs.insert(class, sparse.min(dense));
        Some(sparse.min(dense))
    }

    /// Returns the cost of the rounds of all prefixes of the best loop order of a fold with this
    /// body. If there are many loops and no order yet, only the innermost loop counts. `None` if
    /// the body has no term, or if the innermost loop costs `limit` or more.
    fn loop_cost(&mut self, body: Id, limit: f64) -> Option<f64> {
        if let Some(cached) = self.loop_costs.get(&body) {
            return Some(*cached);
        }
        let innermost = (body_price() + prefix_price()) * self.rounds(body)?;
        if innermost >= limit {
            return None;
        }
        let has_many_loops = self.graph[body].data.sizes.len() > EXHAUSTIVE_LOOPS;
        if has_many_loops { Some(innermost) } else { self.order_loops(body) }
    }

    /// Returns the cost of a fold's loops in their best order, or in the greedy order if there are
    /// many loops.
    fn order_loops(&mut self, body: Id) -> Option<f64> {
        let plain = self.plain_term(body)?;
        let (PlainTerm { term, fields }, sizes) = (&*plain, &self.plain_sizes);
        let rounds = |set: u64| {
            let bound = |f: &Field| fields.iter().position(|g| g == f).is_some_and(|k| set >> k & 1 == 1);
            let coordinate_count: f64 = fields.iter().filter(|f| bound(f)).map(|f| sizes.of(f) as f64).product();
            coordinate_count * self.facts.support(term, sizes, &bound)
        };
        let order = if fields.len() <= EXHAUSTIVE_LOOPS { exhaustive } else { greedy };
        let best = order(fields.len(), &rounds);
        let cost = prefix_price() * best + body_price() * self.rounds(body)?;
        self.loop_costs.insert(body, cost);
        Some(cost)
    }

    /// Returns the term of a class over the given fields, built from the chosen nodes, with `top`
    /// as its root if `top` is given. Fields of folds take names of their size from the pool while
    /// the pool has such names. `None` if the nodes form a cycle, or if a class has no choice.
    pub(super) fn term(
        &self,
        class: Id,
        top: Option<&ENode>,
        fields: &[Field],
        pool: FieldPool,
    ) -> Option<ExtractedTerm> {
        self.term_of(&self.best, class, top, fields, FieldNames::new(pool, &self.generated, false))
    }

    fn term_of(
        &self,
        chosen: &FxHashMap<Id, NodeChoice>,
        class: Id,
        top: Option<&ENode>,
        fields: &[Field],
        mut names: FieldNames<'_>,
    ) -> Option<ExtractedTerm> {
        for (field, size) in fields.iter().zip(&self.graph[class].data.sizes) {
            names.extracted.sizes.insert(field.clone(), *size);
        }
        let term = self.build(chosen, (class, top), fields, &mut names, &mut Vec::new())?;
        Some(ExtractedTerm { term, ..names.extracted })
    }

    fn build(
        &self,
        chosen: &FxHashMap<Id, NodeChoice>,
        (class, node): (Id, Option<&ENode>),
        fields: &[Field],
        names: &mut FieldNames<'_>,
        path: &mut Vec<Id>,
    ) -> Option<Term> {
        let class = self.graph.find(class);
        if path.contains(&class) {
            return None;
        }
        let key = names.is_plain.then(|| (class, fields.to_vec()));
        if let Some(key) = key.as_ref().filter(|_| node.is_none())
            && let Some(cached) = self.plain_terms_over.borrow().get(key)
        {
            return Some(cached.clone());
        }
        let node = match node {
            Some(node) => node,
            None => &chosen.get(&class)?.node,
        };
        let mode = self.facts.mode();
        if let Some(rule) = self.graph.analysis.rules.get(node)
            && !names.extracted.rules.contains(rule)
        {
            names.extracted.rules.push(rule);
        }
        path.push(class);
        let mut over = fields.to_vec();
        let bound = match node.kind {
            NodeKind::Fold(id, _) => {
                let sizes = &self.graph.analysis.fold(id).bound;
                let bound: Vec<Field> = sizes.iter().map(|size| names.fresh_field(*size)).collect();
                over.extend(bound.iter().cloned());
                bound
            }
            _ => Vec::new(),
        };
        let args = node.args().map(|u| {
            let fields: Vec<Field> = u.slots.iter().map(|s| over[usize::from(*s)].clone()).collect();
            self.build(chosen, (u.class, None), &fields, names, path)
        });
        let args: Option<Vec<Term>> = args.collect();
        path.pop();
        let mut args = args?;
        let term = match node.kind {
            NodeKind::Leaf(id) => self.leaf(class, id, fields),
            NodeKind::Call(op) | NodeKind::Multiset(op) => Term::call(self.graph.analysis.op(op), args, mode),
            NodeKind::Fold(id, _) => {
                let FoldKind { op, init, .. } = self.graph.analysis.fold(id).clone();
                let arg = args.pop().expect("a fold has an argument");
                let fill = self.graph[class].data.fill.clone();
                Term::fold(Fold { op, init, arg, fields: bound, along: Vec::new() }, fill, mode)
            }
        };
        if let Some(key) = key {
            if fields.len() <= 64 {
                self.facts.memo.estimates.register_instance(&term, class.into(), fields);
            }
            self.plain_terms_over.borrow_mut().insert(key, term.clone());
        }
        Some(term)
    }
}

impl Extraction<'_, '_> {
    /// Returns a leaf over fields; equal calls return one shared term.
    fn leaf(&self, class: Id, id: LeafId, fields: &[Field]) -> Term {
        let key = (class, fields.to_vec());
        if let Some(cached) = self.leaves.borrow().get(&key) {
            return cached.clone();
        }
        let slot = |f: &Field| (0..fields.len()).find(|k| slot_field(*k) == *f);
        let with = |f: &Field| ModeCoordinate::field(&fields[slot(f).expect("a leaf has the fields of its slots")]);
        let term = self.graph.analysis.leaf(id).term.substitute(&with, self.facts.mode());
        self.leaves.borrow_mut().insert(key, term.clone());
        term
    }
}

impl<'n> FieldNames<'n> {
    fn new(pool: FieldPool, generated: &'n GeneratedFields, is_plain: bool) -> FieldNames<'n> {
        let term = Term::literal(Scalar::Bool(false));
        let extracted = ExtractedTerm { term, sizes: Sizes::default(), rules: Vec::new() };
        FieldNames { pool, generated, is_plain, count: 0, extracted }
    }

    fn fresh_field(&mut self, size: u64) -> Field {
        let field = match self.pool.names.iter().position(|(_, of)| *of == size) {
            Some(at) => self.pool.names.remove(at).0,
            None => loop {
                self.count += 1;
                let field = match self.is_plain {
                    true => self.generated.bound(self.count, size),
                    false => self.generated.numbered(self.count),
                };
                if !self.pool.reserved.contains(&field) {
                    break field;
                }
            },
        };
        self.extracted.sizes.insert(field.clone(), size);
        field
    }
}

/// Returns the random cost of a node.
fn random_cost(seed: u64, node: &ENode) -> f64 {
    let mut hasher = DefaultHasher::new();
    (seed, node).hash(&mut hasher);
    (hasher.finish() % 1000) as f64
}

/// Returns the sum of rounds over all prefixes of the order for which this sum is least.
fn exhaustive(count: usize, rounds: &dyn Fn(u64) -> f64) -> f64 {
    let mut lowest: BTreeMap<u64, f64> = BTreeMap::from([(0, 0.0)]);
    for set in 1..1u64 << count {
        let before = (0..count).filter(|k| set >> k & 1 == 1).map(|k| lowest[&(set & !(1 << k))]);
        let before = before.fold(f64::INFINITY, f64::min);
        lowest.insert(set, before + rounds(set));
    }
    lowest[&((1 << count) - 1)]
}

/// Returns the sum of rounds over all prefixes of the greedy order, which always appends the loop
/// with the fewest rounds.
fn greedy(count: usize, rounds: &dyn Fn(u64) -> f64) -> f64 {
    let (mut set, mut sum) = (0u64, 0.0);
    for _ in 0..count {
        let next = (0..count).filter(|k| set >> k & 1 == 0).map(|k| (rounds(set | 1 << k), k));
        let Some((lowest, k)) = next.min_by(|(a, _), (b, _)| a.total_cmp(b)) else { break };
        (set, sum) = (set | 1 << k, sum + lowest);
    }
    sum
}
