//! The e-graph: conversion from terms, the analysis of classes, and conversion from drafts of rules
//! to nodes.

use super::language::{ENode, FoldId, Kind, LeafId, OpId, Slot, Slots, Use};
use super::rules::Filter;
use crate::fill::call_fill;
use crate::sizes::Sizes;
use crate::term::{At, Fold, Node, Term, regroups};
use egg::{Analysis, DidMerge, EGraph, Id};
use redpoll_logic::expr::fold_fill_over;
use redpoll_logic::op::{Builtin, Op, cast_to};
use redpoll_logic::{Affine, DType, Field, FloatMode, Scalar};
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// The e-graph of one query.
pub(super) type Graph = EGraph<ENode, Algebra>;

/// Largest number of argument orders that are compared to number slots canonically.
const MOST_ORDERS: usize = 720;

/// The tables that nodes refer to.
pub(super) struct Algebra {
    pub(super) mode: FloatMode,
    leaves: Vec<Leaf>,
    ops: Vec<Op>,
    folds: Vec<FoldKind>,
    /// Symmetric slot pairs of leaves, as far as they were asked for.
    pub(super) pairs: FxHashMap<LeafId, Vec<Pair>>,
    /// Pairs of leaves in which one filters the other, as far as they were estimated.
    pub(super) filters: Vec<Filter>,
    /// The rule that created each node.
    pub(super) rules: FxHashMap<ENode, &'static str>,
    /// Number of node visits by rules.
    pub(super) looks: Cell<usize>,
}

/// An opaque subplan whose fields are named by its slots.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Leaf {
    pub(super) term: Term,
    pub(super) sizes: Vec<u64>,
}

/// Two slots in which a table is symmetric: exchanging them does not change the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    pub(super) slots: [Slot; 2],
    pub(super) diagonal: Diagonal,
}

/// Values of a table where two slots are equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Diagonal {
    /// The fill value.
    Empty,
    /// Any value.
    Stored,
}

/// A fold without its argument.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct FoldKind {
    pub(super) op: Op,
    pub(super) init: Scalar,
    /// The sizes of the reduced slots.
    pub(super) bound: Vec<u64>,
}

/// Properties that all nodes of a class share.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Facts {
    /// The size of each slot.
    pub(super) sizes: Vec<u64>,
    pub(super) dtype: DType,
    pub(super) fill: Scalar,
    /// Set when the fill never occurs.
    full: bool,
}

/// A term that a rule proposes, over the slots of its context.
#[derive(Clone, Debug)]
pub(super) enum Draft {
    Class(Use),
    Literal(Scalar),
    /// The coordinate of a slot.
    Coordinate(Slot),
    /// One value where the coordinate of one slot is above that of another, else a second value.
    Above {
        above: Slot,
        below: Slot,
        ties: Ties,
        values: [Scalar; 2],
    },
    Call(Op, Vec<Draft>),
    /// The operator, the initial value, the argument and the reduced slots. A fold over no slots
    /// stores its argument; rules do not look into it.
    Fold(Op, Scalar, Box<Draft>, Vec<Slot>),
}

/// Treatment of equal coordinates in a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ties {
    Below,
    Above,
}

/// The sizes of the slots of a context, to which further slots can be added.
#[derive(Clone, Debug)]
pub(super) struct Scope(pub(super) Vec<u64>);

/// A node in a context.
#[derive(Clone, Debug)]
pub(super) enum Opened {
    Leaf,
    Call { op: Op, args: Vec<Use> },
    Fold { op: Op, init: Scalar, arg: Use, bound: Vec<Slot> },
}

impl Algebra {
    pub(super) fn new(mode: FloatMode) -> Algebra {
        let (leaves, ops, folds) = (Vec::new(), Vec::new(), Vec::new());
        Algebra {
            mode,
            leaves,
            ops,
            folds,
            pairs: FxHashMap::default(),
            filters: Vec::new(),
            rules: FxHashMap::default(),
            looks: Cell::new(0),
        }
    }

    fn look(&self) {
        self.looks.set(self.looks.get() + 1);
    }

    /// Returns whether some operator satisfies the predicate.
    pub(super) fn has_op(&self, is: impl Fn(&Op) -> bool) -> bool {
        self.ops.iter().any(is)
    }

    pub(super) fn leaf(&self, id: LeafId) -> &Leaf {
        &self.leaves[id.0 as usize]
    }

    /// Iterates over all leaves.
    pub(super) fn leaves(&self) -> impl Iterator<Item = (LeafId, &Leaf)> {
        (0..).map(LeafId).zip(&self.leaves)
    }

    pub(super) fn op(&self, id: OpId) -> &Op {
        &self.ops[id.0 as usize]
    }

    pub(super) fn fold(&self, id: FoldId) -> &FoldKind {
        &self.folds[id.0 as usize]
    }

    fn name_leaf(&mut self, leaf: Leaf) -> LeafId {
        LeafId(number(&mut self.leaves, leaf))
    }

    fn name_op(&mut self, op: &Op) -> OpId {
        OpId(number(&mut self.ops, op.clone()))
    }

    fn name_fold(&mut self, fold: FoldKind) -> FoldId {
        FoldId(number(&mut self.folds, fold))
    }
}

/// Returns the index of an item in a list, appending it if it is new.
fn number<T: PartialEq>(list: &mut Vec<T>, thing: T) -> u32 {
    let at = list.iter().position(|t| *t == thing).unwrap_or_else(|| {
        list.push(thing);
        list.len() - 1
    });
    at as u32
}

impl Analysis<ENode> for Algebra {
    type Data = Facts;

    fn make(graph: &mut Graph, node: &ENode, _: Id) -> Facts {
        let args: Vec<Use> = node.args().collect();
        let facts: Vec<&Facts> = args.iter().map(|u| &graph[u.class].data).collect();
        match node.kind {
            Kind::Leaf(id) => {
                let Leaf { term, sizes } = graph.analysis.leaf(id);
                Facts { sizes: sizes.clone(), dtype: term.dtype(), fill: term.fill().clone(), full: term.is_full() }
            }
            Kind::Call(op) | Kind::Multiset(op) => {
                let dtypes: Vec<DType> = facts.iter().map(|f| f.dtype.clone()).collect();
                let op = graph.analysis.op(op);
                let signature = op.signature(&dtypes).expect("arguments of a call are cast to its signature");
                let fills = facts.iter().map(|f| (&f.fill, f.full));
                let (fill, full) = call_fill(op, &signature, fills, graph.analysis.mode);
                let arity = args.iter().flat_map(|u| &u.slots).max().map_or(0, |s| usize::from(*s) + 1);
                Facts { sizes: sizes_of(&args, &facts, arity), dtype: signature.result, fill, full }
            }
            Kind::Fold(id, arity) => {
                let FoldKind { op, init, bound } = graph.analysis.fold(id);
                let fill = fold_fill_over(op, init, &facts[0].fill, bound, graph.analysis.mode)
                    .unwrap_or_else(|_| init.clone());
                let mut sizes = sizes_of(&args, &facts, usize::from(arity) + bound.len());
                sizes.truncate(usize::from(arity));
                Facts { sizes, dtype: init.dtype(), fill, full: facts[0].full }
            }
        }
    }

    fn merge(&mut self, a: &mut Facts, b: Facts) -> DidMerge {
        debug_assert_eq!((&a.sizes, &a.dtype), (&b.sizes, &b.dtype), "equal tables have equal fields and values");
        DidMerge(false, false)
    }
}

/// Returns the sizes of `slots` slots, taken from the arguments; 0 for slots that no argument has.
fn sizes_of(args: &[Use], facts: &[&Facts], slots: usize) -> Vec<u64> {
    let mut sizes = vec![0; slots];
    for (u, facts) in args.iter().zip(facts) {
        for (slot, size) in u.slots.iter().zip(&facts.sizes) {
            sizes[usize::from(*slot)] = *size;
        }
    }
    sizes
}

/// Returns the distinct fields of a term, in an order that depends on the form of an access but not
/// on the names of its fields.
fn fields_in_order(term: &Term) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    let mut add = |f: &Field| {
        if !fields.contains(f) {
            fields.push(f.clone());
        }
    };
    if let Node::Access(read) = term.node() {
        for at in &read.at {
            match at {
                At::Subscript(s) => s.form().terms.iter().for_each(|(f, _)| add(f)),
                At::Value(t) => t.fields().iter().for_each(&mut add),
            }
        }
    }
    term.fields().iter().for_each(add);
    fields
}

/// Returns the field that names a slot in a leaf.
pub(super) fn slot_field(slot: usize) -> Field {
    static NAMES: OnceLock<Vec<Field>> = OnceLock::new();
    let names = NAMES.get_or_init(|| (0..=Slot::MAX).map(|slot| Field::from(format!("#{slot}"))).collect());
    names[slot].clone()
}

/// Inserts a term as a class; `names` are the fields of the context's slots.
pub(super) fn insert(graph: &mut Graph, term: &Term, names: &mut Vec<Field>, sizes: &Sizes) -> Use {
    let mode = graph.analysis.mode;
    let slot = |names: &mut Vec<Field>, field: &Field| {
        names.iter().position(|f| f == field).unwrap_or_else(|| {
            names.push(field.clone());
            names.len() - 1
        }) as Slot
    };
    match term.node() {
        Node::Call(op, args) => {
            let args: Vec<Use> = args.iter().map(|a| insert(graph, a, names, sizes)).collect();
            call(graph, op, args, None)
        }
        Node::Fold(fold) if !fold.is_scan() => {
            let Fold { op, init, arg, fields, .. } = fold;
            let arg = insert(graph, arg, names, sizes);
            let bound: Vec<(Slot, u64)> = fields.iter().map(|f| (slot(names, f), sizes.of(f))).collect();
            self::fold(graph, (op, init), &arg, &bound, None)
        }
        _ => {
            let fields = fields_in_order(term);
            let with = |f: &Field| {
                let at = fields.iter().position(|g| g == f).expect("it is one of the term's fields");
                At::field(&slot_field(at))
            };
            let leaf = Leaf { term: term.substitute(&with, mode), sizes: fields.iter().map(|f| sizes.of(f)).collect() };
            let id = graph.analysis.name_leaf(leaf);
            let class = graph.add(ENode::new(Kind::Leaf(id), Vec::new()));
            Use { class, slots: fields.iter().map(|f| slot(names, f)).collect() }
        }
    }
}

/// Returns the kind of a call.
fn call_kind(graph: &mut Graph, op: &Op, args: &[Use]) -> Kind {
    let mode = graph.analysis.mode;
    let multiset = args.first().is_some_and(|u| regroups(op, &graph[u.class].data.dtype, mode));
    let id = graph.analysis.name_op(op);
    if multiset { Kind::Multiset(id) } else { Kind::Call(id) }
}

/// Adds a call with canonically numbered slots: by first appearance, in the smallest order of equal
/// arguments.
fn call(graph: &mut Graph, op: &Op, mut args: Vec<Use>, rule: Option<&'static str>) -> Use {
    let kind = call_kind(graph, op, &args);
    if let (Kind::Multiset(_), [only]) = (kind, &args[..]) {
        return only.clone();
    }
    if let Kind::Multiset(_) = kind {
        args.iter_mut().for_each(|u| u.class = graph.find(u.class));
        args = canonical_order(args);
    }
    let (slots, args) = numbered(&args);
    let class = add_by(graph, ENode::new(kind, args), rule);
    Use { class, slots }
}

/// Adds a node, and records the rule if the node is new.
fn add_by(graph: &mut Graph, node: ENode, rule: Option<&'static str>) -> Id {
    if let Some(rule) = rule
        && graph.lookup(node.clone()).is_none()
    {
        graph.analysis.rules.insert(node.clone(), rule);
    }
    graph.add(node)
}

/// Returns the slots in order of first appearance, and the arguments in terms of their positions
/// there.
fn numbered(args: &[Use]) -> (Slots, Vec<Use>) {
    let mut order = Slots::new();
    for slot in args.iter().flat_map(|u| &u.slots) {
        if !order.contains(slot) {
            order.push(*slot);
        }
    }
    let place = |s: &Slot| order.iter().position(|o| o == s).expect("every slot has a place") as Slot;
    let args = args.iter().map(|u| Use { class: u.class, slots: u.slots.iter().map(place).collect() }).collect();
    (order, args)
}

/// Returns the arguments of a multiset sorted by class. Arguments of one class are in the order
/// that makes their slots, numbered by first appearance, smallest.
fn canonical_order(mut args: Vec<Use>) -> Vec<Use> {
    args.sort();
    let mut groups: Vec<Vec<Use>> = Vec::new();
    for arg in args {
        match groups.last_mut() {
            Some(group) if group[0].class == arg.class => group.push(arg),
            _ => groups.push(vec![arg]),
        }
    }
    let orders = groups.iter().map(|g| (1..=g.len()).product::<usize>()).try_fold(1usize, usize::checked_mul);
    let plain = || groups.iter().flatten().cloned().collect::<Vec<_>>();
    if orders.is_none_or(|n| n == 1 || n > MOST_ORDERS) {
        return plain();
    }
    let mut all: Vec<Vec<Use>> = vec![Vec::new()];
    for group in &groups {
        let mut longer = Vec::new();
        for start in &all {
            permutations(group, &mut start.clone(), &mut longer);
        }
        all = longer;
    }
    let shape = |args: &Vec<Use>| numbered(args).1;
    all.into_iter().min_by_key(shape).unwrap_or_else(plain)
}

/// Appends to `found` every permutation of `rest`, after `start`.
fn permutations(rest: &[Use], start: &mut Vec<Use>, found: &mut Vec<Vec<Use>>) {
    if rest.is_empty() {
        return found.push(start.clone());
    }
    for k in 0..rest.len() {
        let mut left = rest.to_vec();
        start.push(left.remove(k));
        permutations(&left, start, found);
        start.pop();
    }
}

/// Adds a fold whose slots are numbered as in its argument.
fn fold(
    graph: &mut Graph,
    (op, init): (&Op, &Scalar),
    arg: &Use,
    bound: &[(Slot, u64)],
    rule: Option<&'static str>,
) -> Use {
    let free: Slots = arg.slots.iter().copied().filter(|s| bound.iter().all(|(b, _)| b != s)).collect();
    let node = fold_node(graph, (op, init), arg, &free, bound);
    let class = add_by(graph, node, rule);
    Use { class, slots: free }
}

/// Returns the node of a fold with these free slots, in this order.
fn fold_node(graph: &mut Graph, (op, init): (&Op, &Scalar), arg: &Use, free: &[Slot], bound: &[(Slot, u64)]) -> ENode {
    // Reduced slots are in the argument's order; slots that the argument does not have come last.
    let mut reduced: Vec<(Slot, u64)> = Vec::new();
    reduced.extend(arg.slots.iter().filter_map(|s| bound.iter().find(|(b, _)| b == s)));
    let mut absent: Vec<(Slot, u64)> = bound.iter().filter(|(b, _)| !arg.has(*b)).copied().collect();
    absent.sort_by_key(|(_, size)| *size);
    reduced.extend(absent);
    // For an operator that cannot be regrouped, the order of the reduced slots is the order of
    // folding.
    if !regroups(op, &graph[arg.class].data.dtype, graph.analysis.mode) {
        reduced = bound.to_vec();
    }
    let order: Slots = free.iter().copied().chain(reduced.iter().map(|(s, _)| *s)).collect();
    let place = |s: &Slot| order.iter().position(|o| o == s).expect("every slot is free or reduced") as Slot;
    let arg = Use { class: arg.class, slots: arg.slots.iter().map(place).collect() };
    let sizes = reduced.iter().map(|(_, size)| *size).collect();
    let id = graph.analysis.name_fold(FoldKind { op: op.clone(), init: init.clone(), bound: sizes });
    ENode::new(Kind::Fold(id, free.len() as Slot), vec![arg])
}

/// Returns a term with one value where a condition is true, else another value.
fn chosen(holds: Term, [value, other]: [Scalar; 2], mode: FloatMode) -> Term {
    let number = |of: i64| cast_to(&Scalar::I64(of), &value.dtype());
    match value == number(1) && other == number(0) {
        true => holds.cast(&value.dtype(), mode),
        false => {
            let args = vec![holds, Term::literal(value), Term::literal(other)];
            Term::call(&Builtin::IfElse.into(), args, mode)
        }
    }
}

/// Adds a draft as a class.
fn add(graph: &mut Graph, draft: &Draft, scope: &Scope, rule: &'static str) -> Use {
    match draft {
        Draft::Class(u) => u.clone(),
        Draft::Literal(value) => {
            let id = graph.analysis.name_leaf(Leaf { term: Term::literal(value.clone()), sizes: Vec::new() });
            Use { class: graph.add(ENode::new(Kind::Leaf(id), Vec::new())), slots: Slots::new() }
        }
        Draft::Coordinate(slot) => {
            let term = Term::coordinate(Affine::field(slot_field(0)));
            let id = graph.analysis.name_leaf(Leaf { term, sizes: vec![scope.0[usize::from(*slot)]] });
            Use { class: graph.add(ENode::new(Kind::Leaf(id), Vec::new())), slots: smallvec![*slot] }
        }
        Draft::Above { above, below, ties, values } => {
            let [above_at, below_at] = [0, 1].map(|slot| Affine::field(slot_field(slot)));
            // With this comparison, the condition is false for the fills of coordinates, so masks
            // have the annihilator as their fill.
            let beyond = Affine::constant(i64::from(*ties == Ties::Above));
            let [above_at, below_at] = [above_at.plus(&beyond), below_at].map(Term::coordinate);
            let mode = graph.analysis.mode;
            let holds = Term::call(&Builtin::Gt.into(), vec![above_at, below_at], mode);
            let term = chosen(holds, values.clone(), mode);
            let sizes = [above, below].map(|s| scope.0[usize::from(*s)]).to_vec();
            let id = graph.analysis.name_leaf(Leaf { term, sizes });
            Use { class: graph.add(ENode::new(Kind::Leaf(id), Vec::new())), slots: smallvec![*above, *below] }
        }
        Draft::Call(op, args) => {
            let args = args.iter().map(|a| add(graph, a, scope, rule)).collect();
            call(graph, op, args, Some(rule))
        }
        Draft::Fold(op, init, arg, bound) => {
            let arg = add(graph, arg, scope, rule);
            let bound: Vec<(Slot, u64)> = bound.iter().map(|s| (*s, scope.0[usize::from(*s)])).collect();
            fold(graph, (op, init), &arg, &bound, Some(rule))
        }
    }
}

/// Makes a draft equal to a class whose slots are the first of the context. Returns whether that is
/// new.
///
/// A class numbers its slots as the node that created it does; a draft may require another
/// numbering. Therefore its root node is numbered as the class is, and its arguments canonically.
pub(super) fn equate(graph: &mut Graph, class: Id, draft: &Draft, scope: &Scope, rule: &'static str) -> bool {
    let arity = graph[class].data.sizes.len();
    let node = match draft {
        Draft::Call(op, args) => {
            let args: Vec<Use> = args.iter().map(|a| add(graph, a, scope, rule)).collect();
            let kind = call_kind(graph, op, &args);
            match (kind, &args[..]) {
                (Kind::Multiset(_), [only]) => return unite(graph, class, only),
                _ => ENode::new(kind, args),
            }
        }
        Draft::Fold(op, init, arg, bound) => {
            let arg = add(graph, arg, scope, rule);
            let bound: Vec<(Slot, u64)> = bound.iter().map(|s| (*s, scope.0[usize::from(*s)])).collect();
            let free: Vec<Slot> = (0..arity as Slot).collect();
            let is_free = |s: &Slot| bound.iter().any(|(b, _)| b == s) || usize::from(*s) < arity;
            if !arg.slots.iter().all(is_free) || !free.iter().all(|s| arg.has(*s)) {
                return false;
            }
            fold_node(graph, (op, init), &arg, &free, &bound)
        }
        Draft::Class(_) | Draft::Literal(_) | Draft::Coordinate(_) | Draft::Above { .. } => {
            let u = add(graph, draft, scope, rule);
            return unite(graph, class, &u);
        }
    };
    let mentioned: BTreeSet<Slot> = match draft {
        Draft::Call(..) => node.args().flat_map(|u| u.slots).collect(),
        _ => (0..arity as Slot).collect(),
    };
    if mentioned.len() != arity || mentioned.iter().any(|s| usize::from(*s) >= arity) {
        return false;
    }
    if graph.lookup(node.clone()).is_some_and(|known| graph.find(known) == graph.find(class)) {
        return false;
    }
    graph.analysis.rules.entry(node.clone()).or_insert(rule);
    let new = graph.add(node);
    graph.union(class, new)
}

/// Unites a class with another that has the same slots in the same order.
fn unite(graph: &mut Graph, class: Id, other: &Use) -> bool {
    let same = other.slots.iter().enumerate().all(|(k, s)| k == usize::from(*s));
    same && other.slots.len() == graph[class].data.sizes.len() && graph.union(class, other.class)
}

/// Returns the arguments of a call in a used class, in the context of the use.
pub(super) fn opened_args(graph: &Graph, of: &Use, node: &ENode) -> Vec<Use> {
    graph.analysis.look();
    node.args().map(|u| u.within(&of.slots)).collect()
}

impl Scope {
    /// Returns the scope of a class's slots.
    pub(super) fn of(graph: &Graph, class: Id) -> Scope {
        Scope(graph[class].data.sizes.clone())
    }

    /// Returns the class in its own scope.
    pub(super) fn whole(&self, class: Id) -> Use {
        Use { class, slots: (0..self.0.len() as Slot).collect() }
    }

    /// Returns a node of a used class in this context; adds slots for the reduced slots of a fold.
    pub(super) fn open(&mut self, graph: &Graph, of: &Use, node: &ENode) -> Opened {
        match node.kind {
            Kind::Leaf(_) => Opened::Leaf,
            Kind::Call(op) | Kind::Multiset(op) => {
                Opened::Call { op: graph.analysis.op(op).clone(), args: opened_args(graph, of, node) }
            }
            Kind::Fold(id, _) => {
                graph.analysis.look();
                let FoldKind { op, init, bound } = graph.analysis.fold(id).clone();
                let first = self.0.len();
                self.0.extend(&bound);
                let bound: Vec<Slot> = (first..self.0.len()).map(|s| s as Slot).collect();
                let slots: Slots = of.slots.iter().chain(&bound).copied().collect();
                let arg = node.args().next().expect("a fold has an argument").within(&slots);
                Opened::Fold { op, init, arg, bound }
            }
        }
    }
}
