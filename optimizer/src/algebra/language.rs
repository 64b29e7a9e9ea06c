//! The nodes of the e-graph: operators over positional fields.
//!
//! A class is a table with numbered fields, its *slots*. For every child, a node maps the slots of
//! the child to the slots of the node. Subplans that are equal up to field names are therefore one
//! class. A call has the slots of its children; a fold has its free slots first, then its reduced
//! ones.
//!
//! The arguments of an associative and commutative operator are a multiset. The arguments are kept
//! sorted, also after classes are united. So commutativity needs no rule, and associativity needs
//! only the rule `flatten`.

use egg::{Id, Language};
use smallvec::SmallVec;

/// A slot of a class, or of the context in which several classes are combined.
pub(super) type SlotIndex = u8;

/// Slots of a context, in the order of a class's slots.
pub(super) type Slots = SmallVec<[SlotIndex; 16]>;

/// Index of an operator in the graph's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct OpId(pub(super) u32);

/// Index of a leaf, an opaque subplan, in the graph's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct LeafId(pub(super) u32);

/// Index of the operator, initial value and sizes of a fold in the graph's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct FoldId(pub(super) u32);

/// A node without its children.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum NodeKind {
    /// An opaque subplan.
    Leaf(LeafId),
    /// An operator on ordered arguments.
    Call(OpId),
    /// An associative and commutative operator on a multiset.
    Multiset(OpId),
    /// A fold, with the number of its free slots.
    Fold(FoldId, SlotIndex),
}

/// A node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct ENode {
    pub(super) kind: NodeKind,
    children: SmallVec<[Id; 4]>,
    /// For each child, the slots of this node that the child's slots map to.
    slots: SmallVec<[Slots; 4]>,
}

/// A class in a context, with the context's slot for each slot of the class.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct ClassUse {
    pub(super) class: Id,
    pub(super) slots: Slots,
}

impl ENode {
    pub(super) fn new(kind: NodeKind, args: impl IntoIterator<Item = ClassUse>) -> ENode {
        let (children, slots) = args.into_iter().map(|u| (u.class, u.slots)).unzip();
        let mut node = ENode { kind, children, slots };
        node.sort();
        node
    }

    /// Iterates over the children, in terms of the slots of this node.
    pub(super) fn args(&self) -> impl Iterator<Item = ClassUse> {
        let both = self.children.iter().zip(&self.slots);
        both.map(|(class, slots)| ClassUse { class: *class, slots: slots.clone() })
    }

    fn sort(&mut self) {
        if !matches!(self.kind, NodeKind::Multiset(_)) || self.children.len() < 2 {
            return;
        }
        let mut args: Vec<ClassUse> = self.args().collect();
        args.sort();
        (self.children, self.slots) = args.into_iter().map(|u| (u.class, u.slots)).unzip();
    }
}

impl ClassUse {
    /// Returns the class in an outer context, given the outer slot of each slot of its current
    /// context.
    pub(super) fn within(&self, outer: &[SlotIndex]) -> ClassUse {
        ClassUse { class: self.class, slots: self.slots.iter().map(|s| outer[usize::from(*s)]).collect() }
    }

    pub(super) fn has(&self, slot: SlotIndex) -> bool {
        self.slots.contains(&slot)
    }
}

impl Language for ENode {
    type Discriminant = NodeKind;

    fn discriminant(&self) -> NodeKind {
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
