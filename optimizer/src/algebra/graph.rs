//! The e-graph: inserts terms as classes, analyzes classes, and adds the terms that rules propose.

use super::language::{ClassUse, ENode, FoldId, LeafId, NodeKind, OpId, SlotIndex, Slots};
use crate::term::fill::call_fill;
use crate::term::sizes::Sizes;
use crate::term::{Fold, ModeCoordinate, Node, Term, is_regroupable};
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
pub(super) type AlgebraGraph = EGraph<ENode, Algebra>;

/// Largest number of orders of a multiset's arguments among which the canonical one is searched.
const MAX_ORDERS: usize = 720;

/// The tables that nodes refer to.
pub(super) struct Algebra {
    pub(super) mode: FloatMode,
    leaves: Vec<Leaf>,
    ops: Vec<Op>,
    folds: Vec<FoldKind>,
    /// The symmetric slot pairs of each leaf that was checked.
    pub(super) pairs: FxHashMap<LeafId, Vec<SymmetricSlots>>,
    /// Pairs of leaves in which one leaf, by estimate, filters the other effectively.
    pub(super) filters: Vec<Filter>,
    /// The rule that created each node; the nodes of the inserted terms and of leaves have none.
    pub(super) rules: FxHashMap<ENode, &'static str>,
    /// Number of node visits by rules.
    pub(super) visits: Cell<usize>,
}

/// A leaf `of` that a leaf `by` filters effectively.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Filter {
    pub(super) of: LeafId,
    pub(super) by: LeafId,
    /// Pairs of a slot of `of` and a slot of `by` that stand for the same field.
    pub(super) shared: Vec<(SlotIndex, SlotIndex)>,
}

/// An opaque subplan. Its fields are named after its slots, see [`slot_field`].
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Leaf {
    pub(super) term: Term,
    pub(super) sizes: Vec<u64>,
}

/// Two slots in which a table is symmetric: exchanging them does not change the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SymmetricSlots {
    pub(super) slots: [SlotIndex; 2],
    pub(super) diagonal: Diagonal,
}

/// Values of a table at the coordinates where two slots are equal.
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

/// Properties of a class. Sizes and dtype are equal for all nodes of the class; the fill and
/// `is_full` belong to one of its nodes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ClassProperties {
    /// The size of each slot.
    pub(super) sizes: Vec<u64>,
    pub(super) dtype: DType,
    pub(super) fill: Scalar,
    /// Set when no value of the table counts as the fill.
    pub(super) is_full: bool,
}

/// A term that a rule proposes, over the slots of its context.
#[derive(Clone, Debug)]
pub(super) enum TermDraft {
    Class(ClassUse),
    Literal(Scalar),
    /// The coordinate of a slot.
    Coordinate(SlotIndex),
    /// The first of `values` where the coordinate of slot `above` is greater than that of slot
    /// `below`, else the second one. For equal coordinates, `ties` selects the value.
    Above {
        above: SlotIndex,
        below: SlotIndex,
        ties: Ties,
        values: [Scalar; 2],
    },
    Call(Op, Vec<TermDraft>),
    /// The operator, the initial value, the argument and the reduced slots. A fold over no slots
    /// marks an argument to store; rules that match a node above the fold do not look into such an
    /// argument.
    Fold(Op, Scalar, Box<TermDraft>, Vec<SlotIndex>),
}

/// Side to which a comparison counts equal coordinates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ties {
    Below,
    Above,
}

/// The sizes of the slots of a context, to which further slots can be added.
#[derive(Clone, Debug)]
pub(super) struct SlotScope(pub(super) Vec<u64>);

/// A node whose arguments are expressed in the slots of a context.
#[derive(Clone, Debug)]
pub(super) enum ScopedNode {
    Leaf,
    Call { op: Op, args: Vec<ClassUse> },
    Fold { op: Op, init: Scalar, arg: ClassUse, bound: Vec<SlotIndex> },
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
            visits: Cell::new(0),
        }
    }

    fn count_visit(&self) {
        self.visits.set(self.visits.get() + 1);
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

    fn intern_leaf(&mut self, leaf: Leaf) -> LeafId {
        LeafId(intern(&mut self.leaves, leaf))
    }

    fn intern_op(&mut self, op: &Op) -> OpId {
        OpId(intern(&mut self.ops, op.clone()))
    }

    fn intern_fold(&mut self, fold: FoldKind) -> FoldId {
        FoldId(intern(&mut self.folds, fold))
    }
}

/// Returns the index of an item in a list, appending it if it is new.
fn intern<T: PartialEq>(list: &mut Vec<T>, item: T) -> u32 {
    let at = list.iter().position(|t| *t == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    });
    at as u32
}

impl Analysis<ENode> for Algebra {
    type Data = ClassProperties;

    fn make(graph: &mut AlgebraGraph, node: &ENode, _: Id) -> ClassProperties {
        let args: Vec<ClassUse> = node.args().collect();
        let arg_properties: Vec<&ClassProperties> = args.iter().map(|u| &graph[u.class].data).collect();
        match node.kind {
            NodeKind::Leaf(id) => {
                let Leaf { term, sizes } = graph.analysis.leaf(id);
                ClassProperties {
                    sizes: sizes.clone(),
                    dtype: term.dtype(),
                    fill: term.fill().clone(),
                    is_full: term.is_full(),
                }
            }
            NodeKind::Call(op) | NodeKind::Multiset(op) => {
                let dtypes: Vec<DType> = arg_properties.iter().map(|f| f.dtype.clone()).collect();
                let op = graph.analysis.op(op);
                let signature = op.signature(&dtypes).expect("arguments of a call are cast to its signature");
                let fills = arg_properties.iter().map(|f| (&f.fill, f.is_full));
                let (fill, is_full) = call_fill(op, &signature, fills, graph.analysis.mode);
                let arity = args.iter().flat_map(|u| &u.slots).max().map_or(0, |s| usize::from(*s) + 1);
                ClassProperties {
                    sizes: sizes_of(&args, &arg_properties, arity),
                    dtype: signature.result,
                    fill,
                    is_full,
                }
            }
            NodeKind::Fold(id, arity) => {
                let FoldKind { op, init, bound } = graph.analysis.fold(id);
                let fill = fold_fill_over(op, init, &arg_properties[0].fill, bound, graph.analysis.mode)
                    .unwrap_or_else(|_| init.clone());
                let mut sizes = sizes_of(&args, &arg_properties, usize::from(arity) + bound.len());
                sizes.truncate(usize::from(arity));
                ClassProperties { sizes, dtype: init.dtype(), fill, is_full: arg_properties[0].is_full }
            }
        }
    }

    fn merge(&mut self, a: &mut ClassProperties, b: ClassProperties) -> DidMerge {
        debug_assert_eq!((&a.sizes, &a.dtype), (&b.sizes, &b.dtype), "equal tables have equal fields and values");
        DidMerge(false, false)
    }
}

/// Returns the sizes of the first `slots` slots. The size of a slot is known from the arguments
/// that have the slot; a slot without arguments gets size 0.
fn sizes_of(args: &[ClassUse], arg_properties: &[&ClassProperties], slots: usize) -> Vec<u64> {
    let mut sizes = vec![0; slots];
    for (u, properties) in args.iter().zip(arg_properties) {
        for (slot, size) in u.slots.iter().zip(&properties.sizes) {
            sizes[usize::from(*slot)] = *size;
        }
    }
    sizes
}

/// Returns the distinct fields of a term. The fields of an access come in the order of the modes
/// that they index, whatever their names are.
fn fields_in_order(term: &Term) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    let mut add = |f: &Field| {
        if !fields.contains(f) {
            fields.push(f.clone());
        }
    };
    if let Node::Access(read) = term.node() {
        for at in &read.coordinates {
            match at {
                ModeCoordinate::Subscript(s) => s.form().terms.iter().for_each(|(f, _)| add(f)),
                ModeCoordinate::Value(t) => t.fields().iter().for_each(&mut add),
            }
        }
    }
    term.fields().iter().for_each(add);
    fields
}

/// Returns the field that stands for a slot in the term of a leaf.
pub(super) fn slot_field(slot: usize) -> Field {
    static NAMES: OnceLock<Vec<Field>> = OnceLock::new();
    let names = NAMES.get_or_init(|| (0..=SlotIndex::MAX).map(|slot| Field::from(format!("#{slot}"))).collect());
    names[slot].clone()
}

/// Inserts a term as a class. `names` lists the field of each slot of the context; a field without
/// a slot is appended.
pub(super) fn insert(graph: &mut AlgebraGraph, term: &Term, names: &mut Vec<Field>, sizes: &Sizes) -> ClassUse {
    let mode = graph.analysis.mode;
    let slot = |names: &mut Vec<Field>, field: &Field| {
        names.iter().position(|f| f == field).unwrap_or_else(|| {
            names.push(field.clone());
            names.len() - 1
        }) as SlotIndex
    };
    match term.node() {
        Node::Call(op, args) => {
            let args: Vec<ClassUse> = args.iter().map(|a| insert(graph, a, names, sizes)).collect();
            call(graph, op, args, None)
        }
        Node::Fold(fold) if !fold.is_scan() => {
            let Fold { op, init, arg, fields, .. } = fold;
            let arg = insert(graph, arg, names, sizes);
            let bound: Vec<(SlotIndex, u64)> = fields.iter().map(|f| (slot(names, f), sizes.of(f))).collect();
            self::fold(graph, (op, init), &arg, &bound, None)
        }
        _ => {
            let fields = fields_in_order(term);
            let with = |f: &Field| {
                let at = fields.iter().position(|g| g == f).expect("the substituted field is one of the term's fields");
                ModeCoordinate::field(&slot_field(at))
            };
            let leaf = Leaf { term: term.substitute(&with, mode), sizes: fields.iter().map(|f| sizes.of(f)).collect() };
            let id = graph.analysis.intern_leaf(leaf);
            let class = graph.add(ENode::new(NodeKind::Leaf(id), Vec::new()));
            ClassUse { class, slots: fields.iter().map(|f| slot(names, f)).collect() }
        }
    }
}

/// Returns the node kind of a call: a multiset if the operator can be regrouped.
fn call_kind(graph: &mut AlgebraGraph, op: &Op, args: &[ClassUse]) -> NodeKind {
    let mode = graph.analysis.mode;
    let multiset = args.first().is_some_and(|u| is_regroupable(op, &graph[u.class].data.dtype, mode));
    let id = graph.analysis.intern_op(op);
    if multiset { NodeKind::Multiset(id) } else { NodeKind::Call(id) }
}

/// Adds a call; a multiset of one argument is the argument itself. The slots of a call are numbered
/// by first appearance, after the arguments of a multiset are put into canonical order.
fn call(graph: &mut AlgebraGraph, op: &Op, mut args: Vec<ClassUse>, rule: Option<&'static str>) -> ClassUse {
    let kind = call_kind(graph, op, &args);
    if let (NodeKind::Multiset(_), [only]) = (kind, &args[..]) {
        return only.clone();
    }
    if let NodeKind::Multiset(_) = kind {
        args.iter_mut().for_each(|u| u.class = graph.find(u.class));
        args = canonical_order(args);
    }
    let (slots, args) = number_slots(&args);
    let class = add_with_rule(graph, ENode::new(kind, args), rule);
    ClassUse { class, slots }
}

/// Adds a node, and records the rule if the node is new.
fn add_with_rule(graph: &mut AlgebraGraph, node: ENode, rule: Option<&'static str>) -> Id {
    if let Some(rule) = rule
        && graph.lookup(node.clone()).is_none()
    {
        graph.analysis.rules.insert(node.clone(), rule);
    }
    graph.add(node)
}

/// Numbers slots by first appearance. Returns the slots in this order, and the arguments with each
/// slot replaced by its number.
fn number_slots(args: &[ClassUse]) -> (Slots, Vec<ClassUse>) {
    let mut order = Slots::new();
    for slot in args.iter().flat_map(|u| &u.slots) {
        if !order.contains(slot) {
            order.push(*slot);
        }
    }
    let position = |s: &SlotIndex| order.iter().position(|o| o == s).expect("every slot is numbered") as SlotIndex;
    let args =
        args.iter().map(|u| ClassUse { class: u.class, slots: u.slots.iter().map(position).collect() }).collect();
    (order, args)
}

/// Returns the arguments of a multiset sorted by class. Among the orders of arguments of the same
/// class, chooses the order with the smallest slots, after [`number_slots`]. If there are more than
/// [`MAX_ORDERS`] orders, keeps the sorted one.
fn canonical_order(mut args: Vec<ClassUse>) -> Vec<ClassUse> {
    args.sort();
    let mut groups: Vec<Vec<ClassUse>> = Vec::new();
    for arg in args {
        match groups.last_mut() {
            Some(group) if group[0].class == arg.class => group.push(arg),
            _ => groups.push(vec![arg]),
        }
    }
    let orders = groups.iter().map(|g| (1..=g.len()).product::<usize>()).try_fold(1usize, usize::checked_mul);
    let plain = || groups.iter().flatten().cloned().collect::<Vec<_>>();
    if orders.is_none_or(|n| n == 1 || n > MAX_ORDERS) {
        return plain();
    }
    let mut all: Vec<Vec<ClassUse>> = vec![Vec::new()];
    for group in &groups {
        let mut longer = Vec::new();
        for start in &all {
            permutations(group, &mut start.clone(), &mut longer);
        }
        all = longer;
    }
    let shape = |args: &Vec<ClassUse>| number_slots(args).1;
    all.into_iter().min_by_key(shape).unwrap_or_else(plain)
}

/// Appends to `found` every list that consists of `start` and a permutation of `rest`.
fn permutations(rest: &[ClassUse], start: &mut Vec<ClassUse>, found: &mut Vec<Vec<ClassUse>>) {
    if rest.is_empty() {
        return found.push(start.clone());
    }
    for k in 0..rest.len() {
        let mut remaining = rest.to_vec();
        start.push(remaining.remove(k));
        permutations(&remaining, start, found);
        start.pop();
    }
}

/// Adds a fold. The free slots of the fold keep their order in the argument.
fn fold(
    graph: &mut AlgebraGraph,
    (op, init): (&Op, &Scalar),
    arg: &ClassUse,
    bound: &[(SlotIndex, u64)],
    rule: Option<&'static str>,
) -> ClassUse {
    let free: Slots = arg.slots.iter().copied().filter(|s| bound.iter().all(|(b, _)| b != s)).collect();
    let node = fold_node(graph, (op, init), arg, &free, bound);
    let class = add_with_rule(graph, node, rule);
    ClassUse { class, slots: free }
}

/// Returns the node of a fold whose free slots are `free`, in this order.
fn fold_node(
    graph: &mut AlgebraGraph,
    (op, init): (&Op, &Scalar),
    arg: &ClassUse,
    free: &[SlotIndex],
    bound: &[(SlotIndex, u64)],
) -> ENode {
    // Reduced slots are in the argument's order, followed by the slots that the argument lacks.
    let mut reduced: Vec<(SlotIndex, u64)> = Vec::new();
    reduced.extend(arg.slots.iter().filter_map(|s| bound.iter().find(|(b, _)| b == s)));
    let mut absent: Vec<(SlotIndex, u64)> = bound.iter().filter(|(b, _)| !arg.has(*b)).copied().collect();
    absent.sort_by_key(|(_, size)| *size);
    reduced.extend(absent);
    // If the operator cannot be regrouped, the given order of the reduced slots is the order of the
    // fold and must remain.
    if !is_regroupable(op, &graph[arg.class].data.dtype, graph.analysis.mode) {
        reduced = bound.to_vec();
    }
    let order: Slots = free.iter().copied().chain(reduced.iter().map(|(s, _)| *s)).collect();
    let position =
        |s: &SlotIndex| order.iter().position(|o| o == s).expect("every slot is free or reduced") as SlotIndex;
    let arg = ClassUse { class: arg.class, slots: arg.slots.iter().map(position).collect() };
    let sizes = reduced.iter().map(|(_, size)| *size).collect();
    let id = graph.analysis.intern_fold(FoldKind { op: op.clone(), init: init.clone(), bound: sizes });
    ENode::new(NodeKind::Fold(id, free.len() as SlotIndex), vec![arg])
}

/// Returns a term with one value where a condition is true, else another value.
fn conditional(holds: Term, [value, other]: [Scalar; 2], mode: FloatMode) -> Term {
    let number = |of: i64| cast_to(&Scalar::I64(of), &value.dtype());
    match value == number(1) && other == number(0) {
        true => holds.cast(&value.dtype(), mode),
        false => {
            let args = vec![holds, Term::literal(value), Term::literal(other)];
            Term::call(&Builtin::IfElse.into(), args, mode)
        }
    }
}

/// Adds the nodes of a draft; returns the class of its root.
fn add_draft(graph: &mut AlgebraGraph, draft: &TermDraft, scope: &SlotScope, rule: &'static str) -> ClassUse {
    match draft {
        TermDraft::Class(u) => u.clone(),
        TermDraft::Literal(value) => {
            let id = graph.analysis.intern_leaf(Leaf { term: Term::literal(value.clone()), sizes: Vec::new() });
            ClassUse { class: graph.add(ENode::new(NodeKind::Leaf(id), Vec::new())), slots: Slots::new() }
        }
        TermDraft::Coordinate(slot) => {
            let term = Term::coordinate(Affine::field(slot_field(0)));
            let id = graph.analysis.intern_leaf(Leaf { term, sizes: vec![scope.0[usize::from(*slot)]] });
            ClassUse { class: graph.add(ENode::new(NodeKind::Leaf(id), Vec::new())), slots: smallvec![*slot] }
        }
        TermDraft::Above { above, below, ties, values } => {
            let [above_at, below_at] = [0, 1].map(|slot| Affine::field(slot_field(slot)));
            // The fill of a term that is a coordinate is 0, even with an offset, and `0 > 0` is
            // false. The fill of a mask is therefore its second value, the annihilator.
            let beyond = Affine::constant(i64::from(*ties == Ties::Above));
            let [above_at, below_at] = [above_at.plus(&beyond), below_at].map(Term::coordinate);
            let mode = graph.analysis.mode;
            let holds = Term::call(&Builtin::Gt.into(), vec![above_at, below_at], mode);
            let term = conditional(holds, values.clone(), mode);
            let sizes = [above, below].map(|s| scope.0[usize::from(*s)]).to_vec();
            let id = graph.analysis.intern_leaf(Leaf { term, sizes });
            ClassUse { class: graph.add(ENode::new(NodeKind::Leaf(id), Vec::new())), slots: smallvec![*above, *below] }
        }
        TermDraft::Call(op, args) => {
            let args = args.iter().map(|a| add_draft(graph, a, scope, rule)).collect();
            call(graph, op, args, Some(rule))
        }
        TermDraft::Fold(op, init, arg, bound) => {
            let arg = add_draft(graph, arg, scope, rule);
            let bound: Vec<(SlotIndex, u64)> = bound.iter().map(|s| (*s, scope.0[usize::from(*s)])).collect();
            fold(graph, (op, init), &arg, &bound, Some(rule))
        }
    }
}

/// Adds a draft to a class as an equal node, if the draft has exactly the slots of the class. The
/// slots of the class are the first slots of the context. Returns whether the equality is new.
///
/// A class numbers its slots like the node that created the class, and the canonical numbering of
/// the draft may differ. Therefore the root node of the draft takes the numbering of the class;
/// only the nodes below the root are numbered canonically.
pub(super) fn equate(
    graph: &mut AlgebraGraph,
    class: Id,
    draft: &TermDraft,
    scope: &SlotScope,
    rule: &'static str,
) -> bool {
    let arity = graph[class].data.sizes.len();
    let node = match draft {
        TermDraft::Call(op, args) => {
            let args: Vec<ClassUse> = args.iter().map(|a| add_draft(graph, a, scope, rule)).collect();
            let kind = call_kind(graph, op, &args);
            match (kind, &args[..]) {
                (NodeKind::Multiset(_), [only]) => return unite(graph, class, only),
                _ => ENode::new(kind, args),
            }
        }
        TermDraft::Fold(op, init, arg, bound) => {
            let arg = add_draft(graph, arg, scope, rule);
            let bound: Vec<(SlotIndex, u64)> = bound.iter().map(|s| (*s, scope.0[usize::from(*s)])).collect();
            let free: Vec<SlotIndex> = (0..arity as SlotIndex).collect();
            let is_free = |s: &SlotIndex| bound.iter().any(|(b, _)| b == s) || usize::from(*s) < arity;
            if !arg.slots.iter().all(is_free) || !free.iter().all(|s| arg.has(*s)) {
                return false;
            }
            fold_node(graph, (op, init), &arg, &free, &bound)
        }
        TermDraft::Class(_) | TermDraft::Literal(_) | TermDraft::Coordinate(_) | TermDraft::Above { .. } => {
            let u = add_draft(graph, draft, scope, rule);
            return unite(graph, class, &u);
        }
    };
    let mentioned: BTreeSet<SlotIndex> = match draft {
        TermDraft::Call(..) => node.args().flat_map(|u| u.slots).collect(),
        _ => (0..arity as SlotIndex).collect(),
    };
    if mentioned.len() != arity || mentioned.iter().any(|s| usize::from(*s) >= arity) {
        return false;
    }
    if graph.lookup(node.clone()).is_some_and(|existing| graph.find(existing) == graph.find(class)) {
        return false;
    }
    graph.analysis.rules.entry(node.clone()).or_insert(rule);
    let new = graph.add(node);
    graph.union(class, new)
}

/// Unites a class with another if both have the same slots in the same order; returns whether the
/// equality is new.
fn unite(graph: &mut AlgebraGraph, class: Id, other: &ClassUse) -> bool {
    let same = other.slots.iter().enumerate().all(|(k, s)| k == usize::from(*s));
    same && other.slots.len() == graph[class].data.sizes.len() && graph.union(class, other.class)
}

/// Returns the arguments of a node of the class of `of`, in the slots of the context in which `of`
/// uses the class.
pub(super) fn args_in_scope(graph: &AlgebraGraph, of: &ClassUse, node: &ENode) -> Vec<ClassUse> {
    graph.analysis.count_visit();
    node.args().map(|u| u.within(&of.slots)).collect()
}

impl SlotScope {
    /// Returns the scope of a class's slots.
    pub(super) fn of(graph: &AlgebraGraph, class: Id) -> SlotScope {
        SlotScope(graph[class].data.sizes.clone())
    }

    /// Returns the use of a class in its own scope: every slot of the class is the same slot of the
    /// scope.
    pub(super) fn class_use(&self, class: Id) -> ClassUse {
        ClassUse { class, slots: (0..self.0.len() as SlotIndex).collect() }
    }

    /// Expresses a node of a used class in the slots of this scope. Adds slots for the reduced
    /// slots of a fold.
    pub(super) fn open_node(&mut self, graph: &AlgebraGraph, of: &ClassUse, node: &ENode) -> ScopedNode {
        match node.kind {
            NodeKind::Leaf(_) => ScopedNode::Leaf,
            NodeKind::Call(op) | NodeKind::Multiset(op) => {
                ScopedNode::Call { op: graph.analysis.op(op).clone(), args: args_in_scope(graph, of, node) }
            }
            NodeKind::Fold(id, _) => {
                graph.analysis.count_visit();
                let FoldKind { op, init, bound } = graph.analysis.fold(id).clone();
                let first = self.0.len();
                self.0.extend(&bound);
                let bound: Vec<SlotIndex> = (first..self.0.len()).map(|s| s as SlotIndex).collect();
                let slots: Slots = of.slots.iter().chain(&bound).copied().collect();
                let arg = node.args().next().expect("a fold has an argument").within(&slots);
                ScopedNode::Fold { op, init, arg, bound }
            }
        }
    }
}
