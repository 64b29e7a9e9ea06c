//! Symmetry: an aggregate over symmetric tensors visits each set of coordinates in one order only.
//!
//! Checking symmetry takes a pass over a tensor, so a tensor is checked only where a plan could use
//! its symmetry; a positive answer becomes a fact that the plan relies on. If a diagonal may be
//! stored, a set with equal coordinates has fewer orders than a set of distinct coordinates. Each
//! set is therefore weighted by its number of distinct orders.

mod facts;
mod orient;

use super::aggregates::repeat_term;
use super::{MatchSite, RewriteRule, ScopedNode, Subject, TermDraft};
use crate::algebra::graph::{SymmetricSlots, Ties};
use crate::algebra::language::{ClassUse, SlotIndex};
use crate::term::is_regroupable;
use facts::{annihilates_diagonal, exchangeable_slots};
use orient::orient;
use redpoll_logic::Scalar;
use redpoll_logic::op::{Builtin, Op, RepeatMethod, cast_to};

pub(in crate::algebra) use facts::find_symmetries;

pub(super) const RULES: &[RewriteRule] = &[
    RewriteRule {
        name: "cut-symmetric",
        subject: Subject::Symmetry,
        round: None,
        equation: "sum(i j, x) = 2 * sum(i j, x * (i > j))    x symmetric, empty where i = j",
        drafts: cut,
    },
    RewriteRule {
        name: "cut-symmetric-idempotent",
        subject: Subject::Symmetry,
        round: None,
        equation: "max(i j, x) = max(i j, x * (i >= j))    x symmetric",
        drafts: cut_idempotent,
    },
    RewriteRule {
        name: "weigh-symmetric",
        subject: Subject::Symmetry,
        round: None,
        equation: "sum(i j, x) = sum(i j, x * (i >= j) * (i > j ? 2 : 1))    x symmetric",
        drafts: weigh,
    },
    RewriteRule {
        name: "orient-symmetric",
        subject: Subject::Symmetry,
        round: None,
        equation: "sum(i j k, x(i j) * x(j k) * x(i k)) = 6 * sum(i j k, y(i j) * y(j k) * y(i k))    \
                   y(i j) = x(i j) * (rank(i) < rank(j)), stored; the rank of i is its number of entries in x; x symmetric, \
                   empty where i = j",
        drafts: orient,
    },
];

/// Largest number of fields in a weighted set of coordinates. The weight takes a comparison for
/// each combination of equal neighbors.
const MAX_WEIGHTED_FIELDS: usize = 4;

/// A fold of a product that does not change when some of its slots are exchanged.
struct SymmetricProduct<'n> {
    op: &'n Op,
    init: &'n Scalar,
    bound: &'n [SlotIndex],
    product: Op,
    args: Vec<ClassUse>,
    /// The exchangeable slots.
    slots: Vec<SlotIndex>,
    /// For each slot after the first, the treatment of coordinates that equal the coordinate of the
    /// previous slot: `Ties::Below` if the product is the annihilator at such coordinates, else
    /// `Ties::Above`.
    ties: Vec<Ties>,
    /// The identity and the annihilator of the product.
    values: [Scalar; 2],
}

impl SymmetricProduct<'_> {
    /// Returns whether the product is the annihilator wherever two of the slots are equal.
    fn is_off_diagonal(&self) -> bool {
        self.ties.iter().all(|ties| *ties == Ties::Below)
    }

    /// Folds a draft over the reduced slots.
    fn fold(&self, of: TermDraft) -> TermDraft {
        TermDraft::Fold(self.op.clone(), self.init.clone(), Box::new(of), self.bound.to_vec())
    }

    /// Drafts the fold over all orders of the slots, given the product restricted to one order of
    /// distinct coordinates. `None` if [`repeat_term`] drafts nothing for the operator.
    fn in_all_orders(&self, site: &MatchSite<'_>, of: TermDraft) -> Option<TermDraft> {
        repeat_term(site, self.op, &self.init.dtype(), self.fold(of), Some(self.orders()))
    }

    /// Returns the number of orders of distinct coordinates.
    fn orders(&self) -> i64 {
        (1..=self.slots.len() as i64).product()
    }

    /// Drafts the product restricted to one order of the coordinates.
    fn in_order(&self) -> TermDraft {
        let above = |(pair, ties): (&[SlotIndex], &Ties)| TermDraft::Above {
            above: pair[0],
            below: pair[1],
            ties: *ties,
            values: self.values.clone(),
        };
        let masks = self.slots.windows(2).zip(&self.ties).map(above);
        TermDraft::Call(self.product.clone(), self.args.iter().cloned().map(TermDraft::Class).chain(masks).collect())
    }

    /// Drafts the number of distinct orders of the slots' coordinates, by comparing the slots from
    /// `at` on. The last `run` coordinates up to slot `at` are equal, and `orders` is the number of
    /// orders so far.
    fn weight(&self, at: usize, run: i64, orders: i64) -> TermDraft {
        let number = |n: i64| cast_to(&Scalar::I64(n), &self.init.dtype());
        let Some(ties) = self.ties.get(at) else { return TermDraft::Literal(number(orders)) };
        let (pair, equal) = ([self.slots[at], self.slots[at + 1]], orders / (run + 1));
        let comparison =
            |values: [Scalar; 2]| TermDraft::Above { above: pair[0], below: pair[1], ties: Ties::Below, values };
        match ties {
            Ties::Below => self.weight(at + 1, 1, orders),
            Ties::Above if at + 1 == self.ties.len() => comparison([number(orders), number(equal)]),
            Ties::Above => {
                let both = [self.weight(at + 1, 1, orders), self.weight(at + 1, run + 1, equal)];
                let holds = comparison([Scalar::Bool(true), Scalar::Bool(false)]);
                TermDraft::Call(Builtin::IfElse.into(), [holds].into_iter().chain(both).collect())
            }
        }
    }
}

fn symmetric_products<'n>(site: &MatchSite<'_>, node: &'n ScopedNode) -> Vec<SymmetricProduct<'n>> {
    let ScopedNode::Fold { op, init, arg, bound } = node else { return Vec::new() };
    let is_empty = |pairs: &Vec<SymmetricSlots>| pairs.is_empty();
    if site.graph.analysis.pairs.values().all(is_empty) || !site.can_regroup(op, init) {
        return Vec::new();
    }
    let (mut found, dtype) = (Vec::new(), site.dtype(arg).clone());
    for (product, args) in site.calls(arg) {
        let (one, none) = (product.fold_identity(&dtype, site.mode()), product.annihilator(&dtype, 0, site.mode()));
        let (Some(one), Some(none)) = (one, none) else { continue };
        if !is_regroupable(&product, &dtype, site.mode()) || !op.is_identity(&none, &dtype, 1, site.mode()) {
            continue;
        }
        // The fill of some table must be the annihilator. The product then has its fill wherever
        // this table has its fill, in every order of coordinates.
        if !args.iter().any(|u| *site.fill(u) == none) {
            continue;
        }
        for slots in exchangeable_slots(site, &args, bound) {
            let is_off_diagonal = |pair: &[SlotIndex]| annihilates_diagonal(site, &args, [pair[0], pair[1]], &none);
            let ties =
                slots.windows(2).map(|pair| if is_off_diagonal(pair) { Ties::Below } else { Ties::Above }).collect();
            let (product, args, values) = (product.clone(), args.clone(), [one.clone(), none.clone()]);
            found.push(SymmetricProduct { op, init, bound, product, args, slots, ties, values });
        }
    }
    found
}

fn cut(site: &mut MatchSite<'_>, node: &ScopedNode) {
    for product_fold in symmetric_products(site, node).into_iter().filter(SymmetricProduct::is_off_diagonal) {
        if let Some(all) = product_fold.in_all_orders(site, product_fold.in_order()) {
            site.propose(all);
        }
    }
}

fn cut_idempotent(site: &mut MatchSite<'_>, node: &ScopedNode) {
    for product_fold in
        symmetric_products(site, node).into_iter().filter(|product_fold| !product_fold.is_off_diagonal())
    {
        if product_fold.op.repeat_method(&product_fold.init.dtype(), site.mode()) == Some(RepeatMethod::Idempotent) {
            site.propose(product_fold.fold(product_fold.in_order()));
        }
    }
}

/// Weighs each ordered set of n coordinates by its number of distinct orders: n! divided by k! for
/// every group of k equal coordinates.
fn weigh(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let is_small = |product_fold: &SymmetricProduct<'_>| {
        !product_fold.is_off_diagonal() && product_fold.slots.len() <= MAX_WEIGHTED_FIELDS
    };
    for product_fold in symmetric_products(site, node).into_iter().filter(is_small) {
        if product_fold.op.repeat_method(&product_fold.init.dtype(), site.mode()) == Some(RepeatMethod::Multiply) {
            let weight = product_fold.weight(0, 1, product_fold.orders());
            site.propose(
                product_fold.fold(TermDraft::Call(Builtin::Mul.into(), vec![product_fold.in_order(), weight])),
            );
        }
    }
}
