//! Extraction: picks one node per class, and several terms for the root; the planner prices these
//! and decides.
//!
//! The cost of a class is estimated by kernels. A kernel is a fold: it runs the loops of the fold's
//! argument, evaluates the calls in its body, and reads leaves and stored folds. The rounds of its
//! loops are estimated from the class of its argument, so they do not depend on the chosen term.
//!
//! A kernel's cost depends only on its node and its children's classes, so the choice is a dynamic
//! program over classes. It is iterated until nothing changes, because classes can contain each
//! other. The best terms of the root are planned, with shared subterms counted once, and the
//! cheapest one is chosen. If there are few terms, all of them are listed instead, and planned in
//! order of cost for as long as planning is cheap relative to the query.

use super::graph::{FoldKind, Graph, slot_field};
use super::language::{ENode, Kind, LeafId};
use super::names::MadeFields;
use crate::config::Choice;
use crate::context::Context;
use crate::cost::price;
use crate::sizes::Sizes;
use crate::term::{At, Fold, Term};
use crate::work::Event;
use egg::{Id, Language};
use redpoll_logic::{Field, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// Largest number of rounds of the dynamic program.
const MOST_ROUNDS: usize = 12;
/// Largest number of a kernel's loops whose orders are searched exhaustively; longer orders are
/// built greedily.
const EXHAUSTIVE_LOOPS: usize = 4;
/// Largest ratio of [`Extraction::count`] to the number of terms allowed for which the terms are
/// listed.
const SHARING: f64 = 20.0;

/// Returns the price of a round of a kernel's innermost loop, apart from its loop step: a list is
/// walked and a value folded.
fn body_price() -> f64 {
    price(Event::WalkList) + price(Event::Round) + price(Event::Fold)
}

/// Returns the price of a round of a loop.
fn prefix_price() -> f64 {
    price(Event::Round) + price(Event::WalkList)
}

/// The choice of a node for each class.
pub(super) struct Extraction<'g, 'c> {
    graph: &'g Graph,
    cx: &'g Context<'c>,
    best: FxHashMap<Id, Chosen>,
    /// For each class, the node of a term with the least nesting of folds.
    simplest: FxHashMap<Id, Chosen>,
    /// The terms of these nodes, built on demand; estimates of a plain term hold for its whole
    /// class.
    plain: FxHashMap<Id, Option<Rc<Plain>>>,
    loops: FxHashMap<Id, f64>,
    rounds: FxHashMap<Id, f64>,
    storing: FxHashMap<Id, f64>,
    /// Leaves over given fields.
    leaves: RefCell<FxHashMap<(Id, Vec<Field>), Term>>,
    /// Plain terms over given fields; plain terms of a class are subterms of many others.
    plain_over: RefCell<FxHashMap<(Id, Vec<Field>), Term>>,
    made: MadeFields,
    /// The sizes of the fields of all plain terms.
    plain_sizes: Sizes,
    /// Costs of nodes without their children, by class and node index.
    owns: FxHashMap<(Id, usize), Option<f64>>,
}

/// A term that represents its class.
struct Plain {
    term: Term,
    /// The fields of the slots of the class; fields of one name have one size in all plain terms.
    fields: Vec<Field>,
}

/// The choice for a class.
#[derive(Clone)]
struct Chosen {
    node: ENode,
    /// Cost of reading the value. A fold is computed, stored and read; other nodes cost as much as
    /// their folds.
    cost: f64,
    /// Round in which the node was chosen.
    round: usize,
}

/// A term extracted from the graph.
pub(super) struct Extracted {
    pub(super) term: Term,
    /// The sizes of its fields, including those of its folds.
    pub(super) sizes: Sizes,
    /// The rules that created its nodes, without duplicates.
    pub(super) rules: Vec<&'static str>,
}

/// The names of a plan's fields.
#[derive(Clone, Default)]
pub(super) struct Pool {
    /// The names available for fields of folds, with their sizes.
    pub(super) names: Vec<(Field, u64)>,
    /// Names that no other field may have.
    pub(super) reserved: Vec<Field>,
}

/// Names for the fields of folds.
struct Names<'n> {
    /// Unused names of the plan.
    pool: Pool,
    made: &'n MadeFields,
    /// Set for the names of a plain term.
    plain: bool,
    taken: usize,
    extracted: Extracted,
}

/// A node for each class of a term, by its index in the class.
pub(super) type Choices = Vec<(Id, usize)>;

impl<'g, 'c> Extraction<'g, 'c> {
    /// Returns an extraction without choices.
    pub(super) fn new(graph: &'g Graph, cx: &'g Context<'c>) -> Extraction<'g, 'c> {
        // Classes of another graph have the same ids.
        cx.memo.known.forget_schemas();
        let mut extraction = Extraction {
            graph,
            cx,
            best: FxHashMap::default(),
            simplest: FxHashMap::default(),
            plain: FxHashMap::default(),
            loops: FxHashMap::default(),
            rounds: FxHashMap::default(),
            storing: FxHashMap::default(),
            leaves: RefCell::default(),
            plain_over: RefCell::default(),
            made: MadeFields::default(),
            plain_sizes: Sizes::default(),
            owns: FxHashMap::default(),
        };
        extraction.simplify();
        extraction
    }

    /// Chooses a node for every class that a term of `root` can contain.
    ///
    /// Ordering many loops is slow, and most kernels with many loops are not chosen. Such kernels
    /// are first priced by their innermost loop alone, a lower bound. When a kernel chosen for the
    /// root has only this bound, its loops are ordered and the choice is repeated.
    pub(super) fn choose(&mut self, root: Id) {
        let classes = self.classes();
        loop {
            self.best = self.simplest.clone();
            for round in 1..=MOST_ROUNDS {
                if classes.iter().filter(|class| self.improve(**class, round)).count() == 0 {
                    break;
                }
            }
            if self.vague(root).into_iter().filter(|body| self.order(*body).is_some()).count() == 0 {
                break;
            }
        }
    }

    /// Returns the bodies of the kernels chosen for a class and its descendants whose loops are not
    /// ordered yet.
    fn vague(&self, root: Id) -> Vec<Id> {
        let (mut seen, mut left, mut found) = (FxHashSet::default(), vec![self.graph.find(root)], Vec::new());
        while let Some(class) = left.pop() {
            let Some(chosen) = self.best.get(&class).filter(|_| seen.insert(class)) else { continue };
            left.extend(chosen.node.children().iter().map(|c| self.graph.find(*c)));
            let body = chosen.node.children().first().filter(|_| matches!(chosen.node.kind, Kind::Fold(..)));
            found.extend(body.map(|body| self.graph.find(*body)).filter(|body| !self.loops.contains_key(body)));
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

    /// Returns every term of a class whose estimate is below `limit`, with its estimate, cheapest
    /// first; `None` if there are more than `most`.
    pub(super) fn terms(&mut self, class: Id, most: usize, limit: f64) -> Option<Vec<(f64, Choices)>> {
        // Counting by listing would be slow when there are too many terms.
        if self.count(class, &mut FxHashMap::default()) > SHARING * most as f64 {
            return None;
        }
        let mut found = Vec::new();
        self.owns.clear();
        let all = self.extend(vec![class], (&mut Vec::new(), 0.0, limit), &mut |choices: &Choices, cost| {
            found.push((cost, choices.clone()));
            found.len() <= most
        });
        found.sort_by(|(a, m), (b, n)| a.total_cmp(b).then_with(|| m.cmp(n)));
        all.then_some(found)
    }

    /// Returns an upper bound of the number of terms of a class, in which repeated uses of a class
    /// count independently.
    fn count(&self, class: Id, known: &mut FxHashMap<Id, f64>) -> f64 {
        let class = self.graph.find(class);
        if let Some(count) = known.get(&class) {
            return *count;
        }
        // Cyclic terms are infinite and are not listed.
        known.insert(class, 0.0);
        let below =
            |node: &ENode, known: &mut _| node.children().iter().map(|c| self.count(*c, known)).product::<f64>();
        let count = self.graph[class].iter().map(|node| below(node, known)).sum();
        known.insert(class, count);
        count
    }

    /// Extends choices of cost `cost` by a node for each class in `left` and its descendants, as
    /// long as the cost is below `limit` and `visit` returns true.
    fn extend(
        &mut self,
        mut left: Vec<Id>,
        (choices, cost, limit): (&mut Choices, f64, f64),
        visit: &mut dyn FnMut(&Choices, f64) -> bool,
    ) -> bool {
        let Some(class) = left.pop().map(|id| self.graph.find(id)) else { return visit(choices, cost) };
        if choices.iter().any(|(known, _)| *known == class) {
            return self.extend(left, (choices, cost, limit), visit);
        }
        for (number, node) in self.graph[class].iter().enumerate() {
            let own = match self.owns.get(&(class, number)) {
                Some(known) => *known,
                None => {
                    let own = self.own(class, node, limit);
                    self.owns.insert((class, number), own);
                    own
                }
            };
            let Some(own) = own.filter(|own| cost + own < limit) else { continue };
            choices.push((class, number));
            let left = [&left[..], node.children()].concat();
            let goes_on = self.extend(left, (choices, cost + own, limit), visit);
            choices.pop();
            if !goes_on {
                return false;
            }
        }
        true
    }

    /// Returns whether a term of these nodes stores a subterm that could be computed where it is
    /// read.
    pub(super) fn stores(&self, choices: &Choices) -> bool {
        let stores = |node: &ENode| match node.kind {
            Kind::Fold(id, _) => self.graph.analysis.fold(id).bound.is_empty(),
            _ => false,
        };
        choices.iter().any(|(class, number)| stores(&self.graph[*class].nodes[*number]))
    }

    /// Returns the fold of a class with the fewest reduced fields.
    pub(super) fn folding_fewest(&self, class: Id) -> Option<&ENode> {
        let bound = |node: &&ENode| match node.kind {
            Kind::Fold(id, _) => Some(self.graph.analysis.fold(id).bound.len()).filter(|count| *count > 0),
            _ => None,
        };
        let nodes = self.graph[self.graph.find(class)].iter().filter(|node| bound(node).is_some());
        nodes.min_by_key(bound)
    }

    /// Sets the choice to exactly these nodes.
    pub(super) fn take(&mut self, choices: &Choices) {
        let choice = |(class, number): &(Id, usize)| {
            (*class, Chosen { node: self.graph[*class].nodes[*number].clone(), cost: 0.0, round: 0 })
        };
        self.best = choices.iter().map(choice).collect();
    }

    /// Returns the nodes of a class with their costs, cheapest first.
    pub(super) fn nodes(&mut self, class: Id) -> Vec<(f64, ENode)> {
        let class = self.graph.find(class);
        let nodes: Vec<ENode> = self.graph[class].iter().cloned().collect();
        let mut priced: Vec<(f64, ENode)> =
            nodes.into_iter().filter_map(|n| Some((self.cost(class, &n, f64::INFINITY)?, n))).collect();
        priced.sort_by(|(a, m), (b, n)| a.total_cmp(b).then_with(|| m.cmp(n)));
        priced
    }

    /// Finds the simplest node of every class.
    fn simplify(&mut self) {
        // Classes with leaves come first, then classes of calls and folds of these, and so on.
        let mut left = self.classes();
        while !left.is_empty() {
            let known = |id: &Id| self.simplest.contains_key(&self.graph.find(*id));
            let ready = |class: &Id| {
                let node = self.graph[*class].iter().filter(|n| n.children().iter().all(known)).min();
                node.map(|n| (*class, n.clone()))
            };
            let found: Vec<(Id, ENode)> = left.iter().filter_map(ready).collect();
            if found.is_empty() {
                break;
            }
            for (class, node) in found {
                self.simplest.insert(class, Chosen { node, cost: f64::INFINITY, round: 0 });
            }
            left.retain(|class| !self.simplest.contains_key(class));
        }
    }

    /// Returns the plain term of a class.
    fn plain(&mut self, class: Id) -> Option<Rc<Plain>> {
        if let Some(known) = self.plain.get(&class) {
            return known.clone();
        }
        let sizes = self.graph[class].data.sizes.iter();
        let fields: Vec<Field> = sizes.enumerate().map(|(slot, size)| self.made.slot(slot, *size)).collect();
        let names = Names::new(Pool::default(), &self.made, true);
        let found = self.term_of(&self.simplest, class, None, &fields, names);
        let plain = found.map(|Extracted { term, sizes, .. }| {
            sizes.each(&mut |field, size| self.plain_sizes.insert(field.clone(), size));
            Rc::new(Plain { term, fields })
        });
        self.plain.insert(class, plain.clone());
        plain
    }

    /// Updates the choice of a class if a cheaper node exists; returns whether it changed.
    fn improve(&mut self, class: Id, round: usize) -> bool {
        let mut changed = false;
        let graph = self.graph;
        for node in graph[class].iter() {
            let chosen = |c: &Id| self.best.get(&graph.find(*c)).map_or(0, |choice| choice.round);
            // No child has changed since this node was priced in the previous round.
            if round > 1 && node.children().iter().all(|c| chosen(c) + 1 < round) {
                continue;
            }
            let best = self.best.get(&class).map_or(f64::INFINITY, |choice| choice.cost);
            if let Some(cost) = self.cost(class, node, best).filter(|cost| *cost < best) {
                self.best.insert(class, Chosen { node: node.clone(), cost, round });
                changed = true;
            }
        }
        changed
    }

    /// Returns the cost of reading a node of a class, if it is less than `most` and all children
    /// have choices.
    fn cost(&mut self, class: Id, node: &ENode, most: f64) -> Option<f64> {
        let mut children: Vec<Id> = node.children().iter().map(|c| self.graph.find(*c)).collect();
        children.sort();
        children.dedup();
        let inputs: Option<Vec<f64>> = children.iter().map(|c| Some(self.best.get(c)?.cost)).collect();
        // Each node has a positive cost, so that no class is cheapest through itself.
        let inputs: f64 = inputs?.iter().sum::<f64>() + 1.0;
        match node.kind {
            Kind::Leaf(_) => Some(0.0),
            _ if let Choice::Drawn(seed) = self.cx.config.choice => Some(inputs + drawn(seed, node)),
            Kind::Call(_) | Kind::Multiset(_) => Some(inputs),
            Kind::Fold(..) => Some(inputs + self.own(class, node, most - inputs)?),
        }
    }

    /// Returns the cost of a node without its children, for a fold that of computing and storing
    /// it, if less than `most`.
    fn own(&mut self, class: Id, node: &ENode, most: f64) -> Option<f64> {
        let Kind::Fold(..) = node.kind else { return Some(0.0) };
        let body = self.graph.find(*node.children().first()?);
        let least = price(Event::Query) + self.storing(class)?;
        if least >= most {
            return None;
        }
        Some(least + self.loops(body, most - least)?)
    }

    /// Returns the rounds of the innermost loop of a kernel with this body.
    fn rounds(&mut self, body: Id) -> Option<f64> {
        if let Some(known) = self.rounds.get(&body) {
            return Some(*known);
        }
        let plain = self.plain(body)?;
        let places: f64 = self.graph[body].data.sizes.iter().map(|n| *n as f64).product();
        let rounds = places * self.cx.support(&plain.term, &self.plain_sizes, &|_| true);
        self.rounds.insert(body, rounds);
        Some(rounds)
    }

    /// Returns the cost of storing a class in its cheaper format and reading it once.
    fn storing(&mut self, class: Id) -> Option<f64> {
        if let Some(known) = self.storing.get(&class) {
            return Some(*known);
        }
        let plain = self.plain(class)?;
        let places: f64 = self.graph[class].data.sizes.iter().map(|n| *n as f64).product();
        let stored = places * self.cx.filled(&plain.term, &self.plain_sizes);
        let sparse = stored * (price(Event::WriteMap) + price(Event::Flush) + price(Event::WalkList));
        let dense = places * (price(Event::Clear) + price(Event::WriteDense) + price(Event::FollowDense));
        self.storing.insert(class, sparse.min(dense));
        Some(sparse.min(dense))
    }

    /// Returns the cost of the loops of a kernel with this body, if less than `most`: the rounds of
    /// all prefixes of their best order. If there are many loops and no order yet, only the
    /// innermost loop counts.
    fn loops(&mut self, body: Id, most: f64) -> Option<f64> {
        if let Some(known) = self.loops.get(&body) {
            return Some(*known);
        }
        let innermost = (body_price() + prefix_price()) * self.rounds(body)?;
        if innermost >= most {
            return None;
        }
        let many = self.graph[body].data.sizes.len() > EXHAUSTIVE_LOOPS;
        if many { Some(innermost) } else { self.order(body) }
    }

    /// Returns the cost of a kernel's loops in their best order.
    fn order(&mut self, body: Id) -> Option<f64> {
        let plain = self.plain(body)?;
        let (Plain { term, fields }, sizes) = (&*plain, &self.plain_sizes);
        let rounds = |set: u64| {
            let bound = |f: &Field| fields.iter().position(|g| g == f).is_some_and(|k| set >> k & 1 == 1);
            let places: f64 = fields.iter().filter(|f| bound(f)).map(|f| sizes.of(f) as f64).product();
            places * self.cx.support(term, sizes, &bound)
        };
        let order = if fields.len() <= EXHAUSTIVE_LOOPS { exhaustive } else { greedy };
        let best = order(fields.len(), &rounds);
        let cost = prefix_price() * best + body_price() * self.rounds(body)?;
        self.loops.insert(body, cost);
        Some(cost)
    }

    /// Returns the term of a class over the given fields, built from the chosen nodes with `top` as
    /// its root. Fields of folds take names of their size from the pool while there are any.
    pub(super) fn term(&self, class: Id, top: Option<&ENode>, fields: &[Field], pool: Pool) -> Option<Extracted> {
        self.term_of(&self.best, class, top, fields, Names::new(pool, &self.made, false))
    }

    fn term_of(
        &self,
        chosen: &FxHashMap<Id, Chosen>,
        class: Id,
        top: Option<&ENode>,
        fields: &[Field],
        mut names: Names<'_>,
    ) -> Option<Extracted> {
        for (field, size) in fields.iter().zip(&self.graph[class].data.sizes) {
            names.extracted.sizes.insert(field.clone(), *size);
        }
        let term = self.build(chosen, (class, top), fields, &mut names, &mut Vec::new())?;
        Some(Extracted { term, ..names.extracted })
    }

    fn build(
        &self,
        chosen: &FxHashMap<Id, Chosen>,
        (class, node): (Id, Option<&ENode>),
        fields: &[Field],
        names: &mut Names<'_>,
        path: &mut Vec<Id>,
    ) -> Option<Term> {
        let class = self.graph.find(class);
        if path.contains(&class) {
            return None;
        }
        let key = names.plain.then(|| (class, fields.to_vec()));
        if let Some(key) = key.as_ref().filter(|_| node.is_none())
            && let Some(known) = self.plain_over.borrow().get(key)
        {
            return Some(known.clone());
        }
        let node = match node {
            Some(node) => node,
            None => &chosen.get(&class)?.node,
        };
        let mode = self.cx.mode();
        if let Some(rule) = self.graph.analysis.rules.get(node)
            && !names.extracted.rules.contains(rule)
        {
            names.extracted.rules.push(rule);
        }
        path.push(class);
        let mut over = fields.to_vec();
        let bound = match node.kind {
            Kind::Fold(id, _) => {
                let sizes = &self.graph.analysis.fold(id).bound;
                let bound: Vec<Field> = sizes.iter().map(|size| names.fresh(*size)).collect();
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
            Kind::Leaf(id) => self.leaf(class, id, fields),
            Kind::Call(op) | Kind::Multiset(op) => Term::call(self.graph.analysis.op(op), args, mode),
            Kind::Fold(id, _) => {
                let FoldKind { op, init, .. } = self.graph.analysis.fold(id).clone();
                let arg = args.pop().expect("a fold has an argument");
                let fill = self.graph[class].data.fill.clone();
                Term::fold(Fold { op, init, arg, fields: bound, along: Vec::new() }, fill, mode)
            }
        };
        if let Some(key) = key {
            if fields.len() <= 64 {
                self.cx.memo.known.instance(&term, class.into(), fields);
            }
            self.plain_over.borrow_mut().insert(key, term.clone());
        }
        Some(term)
    }
}

impl Extraction<'_, '_> {
    /// Returns a leaf over fields; equal calls return one shared term.
    fn leaf(&self, class: Id, id: LeafId, fields: &[Field]) -> Term {
        let key = (class, fields.to_vec());
        if let Some(known) = self.leaves.borrow().get(&key) {
            return known.clone();
        }
        let place = |f: &Field| (0..fields.len()).find(|k| slot_field(*k) == *f);
        let with = |f: &Field| At::field(&fields[place(f).expect("a leaf has the fields of its slots")]);
        let term = self.graph.analysis.leaf(id).term.substitute(&with, self.cx.mode());
        self.leaves.borrow_mut().insert(key, term.clone());
        term
    }
}

impl<'n> Names<'n> {
    fn new(pool: Pool, made: &'n MadeFields, plain: bool) -> Names<'n> {
        let term = Term::literal(Scalar::Bool(false));
        let extracted = Extracted { term, sizes: Sizes::default(), rules: Vec::new() };
        Names { pool, made, plain, taken: 0, extracted }
    }

    fn fresh(&mut self, size: u64) -> Field {
        let field = match self.pool.names.iter().position(|(_, of)| *of == size) {
            Some(at) => self.pool.names.remove(at).0,
            None => loop {
                self.taken += 1;
                let field = match self.plain {
                    true => self.made.bound(self.taken, size),
                    false => self.made.further(self.taken),
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
fn drawn(seed: u64, node: &ENode) -> f64 {
    let mut hasher = DefaultHasher::new();
    (seed, node).hash(&mut hasher);
    (hasher.finish() % 1000) as f64
}

/// Returns the least sum of rounds over all prefixes of an order, over all orders.
fn exhaustive(count: usize, rounds: &dyn Fn(u64) -> f64) -> f64 {
    let mut least: BTreeMap<u64, f64> = BTreeMap::from([(0, 0.0)]);
    for set in 1..1u64 << count {
        let before = (0..count).filter(|k| set >> k & 1 == 1).map(|k| least[&(set & !(1 << k))]);
        let before = before.fold(f64::INFINITY, f64::min);
        least.insert(set, before + rounds(set));
    }
    least[&((1 << count) - 1)]
}

/// Returns the sum of rounds over all prefixes of the greedy order, in which every next loop has
/// the fewest.
fn greedy(count: usize, rounds: &dyn Fn(u64) -> f64) -> f64 {
    let (mut set, mut sum) = (0u64, 0.0);
    for _ in 0..count {
        let next = (0..count).filter(|k| set >> k & 1 == 0).map(|k| (rounds(set | 1 << k), k));
        let Some((least, k)) = next.min_by(|(a, _), (b, _)| a.total_cmp(b)) else { break };
        (set, sum) = (set | 1 << k, sum + least);
    }
    sum
}
