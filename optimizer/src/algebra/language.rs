//! The nodes of the e-graph: operators over positional fields.
//!
//! A class is a table whose fields are numbered: its *slots*. A node says for every child which slot of its own each
//! slot of the child is, so that subplans that are equal up to the names of their fields are one class. A call has the
//! slots of its children; a fold has its free slots first, then those that it reduces.
//!
//! The arguments of an operator that is associative and commutative are a multiset: they are kept sorted, also when
//! classes are united, so congruence holds for them without rules of commutativity and associativity.

use egg::{Id, Language};
use smallvec::SmallVec;

/// A slot of a class, or of the context in which several classes meet.
pub(super) type Slot = u8;

/// Slots in the order of those of a class.
pub(super) type Slots = SmallVec<[Slot; 16]>;

/// An operator of the graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct OpId(pub(super) u32);

/// A subplan that is not looked into.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct LeafId(pub(super) u32);

/// The operator, start and sizes of a fold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct FoldId(pub(super) u32);

/// What a node is, its children aside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Kind {
    /// A subplan that is not looked into.
    Leaf(LeafId),
    /// An operator on its arguments in order.
    Call(OpId),
    /// An associative and commutative operator on a multiset.
    Multiset(OpId),
    /// A fold, with the number of its free slots.
    Fold(FoldId, Slot),
}

/// A node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct ENode {
    pub(super) kind: Kind,
    children: SmallVec<[Id; 4]>,
    /// For each child the slots of this node that the slots of the child are.
    slots: SmallVec<[Slots; 4]>,
}

/// A class in a context: which slot of the context each of its slots is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Use {
    pub(super) class: Id,
    pub(super) slots: Slots,
}

impl ENode {
    pub(super) fn new(kind: Kind, args: impl IntoIterator<Item = Use>) -> ENode {
        let (children, slots) = args.into_iter().map(|u| (u.class, u.slots)).unzip();
        let mut node = ENode { kind, children, slots };
        node.sort();
        node
    }

    /// The children, in terms of the slots of this node.
    pub(super) fn args(&self) -> impl Iterator<Item = Use> {
        let both = self.children.iter().zip(&self.slots);
        both.map(|(class, slots)| Use { class: *class, slots: slots.clone() })
    }

    fn sort(&mut self) {
        if !matches!(self.kind, Kind::Multiset(_)) || self.children.len() < 2 {
            return;
        }
        let mut args: Vec<Use> = self.args().collect();
        args.sort();
        (self.children, self.slots) = args.into_iter().map(|u| (u.class, u.slots)).unzip();
    }
}

impl Use {
    /// The class in the context of another use, in whose class it has these slots.
    pub(super) fn within(&self, outer: &[Slot]) -> Use {
        Use { class: self.class, slots: self.slots.iter().map(|s| outer[usize::from(*s)]).collect() }
    }

    pub(super) fn has(&self, slot: Slot) -> bool {
        self.slots.contains(&slot)
    }
}

impl Language for ENode {
    type Discriminant = Kind;

    fn discriminant(&self) -> Kind {
        self.kind
    }

    fn matches(&self, other: &ENode) -> bool {
        self.kind == other.kind && self.slots == other.slots
    }

    fn children(&self) -> &[Id] {
        &self.children
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.children
    }

    fn update_children<F: FnMut(Id) -> Id>(&mut self, mut f: F) {
        self.for_each_mut(|id| *id = f(*id));
        self.sort();
    }
}
