//! Symmetry: an aggregate over symmetric tensors visits each set of coordinates in one order only.
//!
//! Checking symmetry takes a pass over a tensor, so it is asked only where a plan could use it; a
//! positive answer becomes a fact that the plan relies on. If a diagonal may be stored, sets with
//! equal coordinates have fewer orders than others: each set is counted once per distinct order.

mod facts;
mod orient;

use super::aggregates::repeated;
use super::{Draft, Opened, Rule, Site, Subject};
use crate::algebra::graph::{Pair, Ties};
use crate::algebra::language::{Slot, Use};
use crate::term::regroups;
use facts::{alike, apart};
use orient::orient;
use redpoll_logic::Scalar;
use redpoll_logic::op::{Builtin, Op, RepeatMethod, cast_to};

pub(in crate::algebra) use facts::learn;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "cut-symmetric",
        subject: Subject::Symmetry,
        round: None,
        equation: "sum(i j, x) = 2 * sum(i j, x * (i > j))    x symmetric, empty where i = j",
        drafts: cut,
    },
    Rule {
        name: "cut-symmetric-idempotent",
        subject: Subject::Symmetry,
        round: None,
        equation: "max(i j, x) = max(i j, x * (i >= j))    x symmetric",
        drafts: cut_idempotent,
    },
    Rule {
        name: "weigh-symmetric",
        subject: Subject::Symmetry,
        round: None,
        equation: "sum(i j, x) = sum(i j, x * (i >= j) * (i > j ? 2 : 1))    x symmetric",
        drafts: weigh,
    },
    Rule {
        name: "orient-symmetric",
        subject: Subject::Symmetry,
        round: None,
        equation: "sum(i j k, x(i j) * x(j k) * x(i k)) = 6 * sum(i j k, y(i j) * y(j k) * y(i k))    \
                   y(i j) = x(i j) * (rank(i) < rank(j)), stored; ranks by how many places i has in x; x symmetric, empty \
                   where i = j",
        drafts: orient,
    },
];

/// Largest number of fields in a weighted set of coordinates. The weight takes a comparison for
/// each combination of equal neighbors.
const MOST_WEIGHED: usize = 4;

/// A fold of a product that does not change when some of its slots are exchanged.
struct Joined<'n> {
    op: &'n Op,
    init: &'n Scalar,
    bound: &'n [Slot],
    product: Op,
    args: Vec<Use>,
    /// The exchangeable slots.
    slots: Vec<Slot>,
    /// For each slot but the first, whether the product can be other than the annihilator where the
    /// slot equals the previous one (`Ties::Above`).
    ties: Vec<Ties>,
    /// The identity and the annihilator of the product.
    values: [Scalar; 2],
}

impl Joined<'_> {
    /// Returns whether the product is the annihilator wherever two of the slots are equal.
    fn is_apart(&self) -> bool {
        self.ties.iter().all(|ties| *ties == Ties::Below)
    }

    /// Folds a draft over the reduced slots.
    fn fold(&self, of: Draft) -> Draft {
        Draft::Fold(self.op.clone(), self.init.clone(), Box::new(of), self.bound.to_vec())
    }

    /// Folds a draft that has the same value in all orders of the slots, given in one of them.
    fn in_all_orders(&self, site: &Site<'_>, of: Draft) -> Option<Draft> {
        repeated(site, self.op, &self.init.dtype(), self.fold(of), Some(self.orders()))
    }

    /// Returns the number of orders of distinct coordinates.
    fn orders(&self) -> i64 {
        (1..=self.slots.len() as i64).product()
    }

    /// Drafts the product restricted to one order of the coordinates.
    fn in_order(&self) -> Draft {
        let above = |(pair, ties): (&[Slot], &Ties)| Draft::Above {
            above: pair[0],
            below: pair[1],
            ties: *ties,
            values: self.values.clone(),
        };
        let masks = self.slots.windows(2).zip(&self.ties).map(above);
        Draft::Call(self.product.clone(), self.args.iter().cloned().map(Draft::Class).chain(masks).collect())
    }

    /// Drafts the number of distinct orders of the slots' coordinates, by comparing the slots from
    /// `at` on. Before `at`, the last `run` coordinates are equal, and `orders` is the number so
    /// far.
    fn weight(&self, at: usize, run: i64, orders: i64) -> Draft {
        let number = |n: i64| cast_to(&Scalar::I64(n), &self.init.dtype());
        let Some(ties) = self.ties.get(at) else { return Draft::Literal(number(orders)) };
        let (pair, equal) = ([self.slots[at], self.slots[at + 1]], orders / (run + 1));
        let told = |values: [Scalar; 2]| Draft::Above { above: pair[0], below: pair[1], ties: Ties::Below, values };
        match ties {
            Ties::Below => self.weight(at + 1, 1, orders),
            Ties::Above if at + 1 == self.ties.len() => told([number(orders), number(equal)]),
            Ties::Above => {
                let both = [self.weight(at + 1, 1, orders), self.weight(at + 1, run + 1, equal)];
                let holds = told([Scalar::Bool(true), Scalar::Bool(false)]);
                Draft::Call(Builtin::IfElse.into(), [holds].into_iter().chain(both).collect())
            }
        }
    }
}

fn joined<'n>(site: &Site<'_>, node: &'n Opened) -> Vec<Joined<'n>> {
    let Opened::Fold { op, init, arg, bound } = node else { return Vec::new() };
    let none = |pairs: &Vec<Pair>| pairs.is_empty();
    if site.graph.analysis.pairs.values().all(none) || !site.is_free(op, init) {
        return Vec::new();
    }
    let (mut found, dtype) = (Vec::new(), site.dtype(arg).clone());
    for (product, args) in site.calls(arg) {
        let (one, none) = (product.fold_identity(&dtype, site.mode()), product.annihilator(&dtype, 0, site.mode()));
        let (Some(one), Some(none)) = (one, none) else { continue };
        if !regroups(&product, &dtype, site.mode()) || !op.is_identity(&none, &dtype, 1, site.mode()) {
            continue;
        }
        // The fill of some table must be the annihilator, so that the product is fill there in
        // every order of coordinates.
        if !args.iter().any(|u| *site.fill(u) == none) {
            continue;
        }
        for slots in alike(site, &args, bound) {
            let apart = |pair: &[Slot]| apart(site, &args, [pair[0], pair[1]], &none);
            let ties = slots.windows(2).map(|pair| if apart(pair) { Ties::Below } else { Ties::Above }).collect();
            let (product, args, values) = (product.clone(), args.clone(), [one.clone(), none.clone()]);
            found.push(Joined { op, init, bound, product, args, slots, ties, values });
        }
    }
    found
}

fn cut(site: &mut Site<'_>, node: &Opened) {
    for joined in joined(site, node).into_iter().filter(Joined::is_apart) {
        if let Some(all) = joined.in_all_orders(site, joined.in_order()) {
            site.propose(all);
        }
    }
}

fn cut_idempotent(site: &mut Site<'_>, node: &Opened) {
    for joined in joined(site, node).into_iter().filter(|joined| !joined.is_apart()) {
        if joined.op.repeat_method(&joined.init.dtype(), site.mode()) == Some(RepeatMethod::Idempotent) {
            site.propose(joined.fold(joined.in_order()));
        }
    }
}

/// Weighs each ordered set of coordinates by its number of distinct orders: n! divided by k! for
/// every k equal coordinates.
fn weigh(site: &mut Site<'_>, node: &Opened) {
    let few = |joined: &Joined<'_>| !joined.is_apart() && joined.slots.len() <= MOST_WEIGHED;
    for joined in joined(site, node).into_iter().filter(few) {
        if joined.op.repeat_method(&joined.init.dtype(), site.mode()) == Some(RepeatMethod::Multiply) {
            let weight = joined.weight(0, 1, joined.orders());
            site.propose(joined.fold(Draft::Call(Builtin::Mul.into(), vec![joined.in_order(), weight])));
        }
    }
}
