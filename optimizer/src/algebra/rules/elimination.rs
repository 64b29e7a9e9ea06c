//! Variable elimination: aggregates are pulled out of products, and pushed to the factors that
//! depend on their fields.
//!
//! The e-graph is the memo of the dynamic program: the rest after eliminating a set of fields is
//! one class, whatever the order. Source: Deeds, Ahrens, Suciu, "Galley: Modern Query Optimization
//! for Sparse Tensor Programs".

use super::{Draft, Opened, Round, Rule, Site, Subject, call};
use crate::algebra::language::{Slot, Use};
use crate::term::regroups;
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, Prim, Scalar};
use std::collections::BTreeSet;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "pull-aggregate",
        subject: Subject::Elimination,
        round: Some(Round::Gather),
        equation: "x * sum(i, y) = sum(i, x * y)    i not in x",
        drafts: pull,
    },
    Rule {
        name: "eliminate",
        subject: Subject::Elimination,
        round: Some(Round::Spread),
        equation: "sum(i j k, x * y) = sum(j, sum(i, x) * sum(k, y))    i not in y, k not in x",
        drafts: eliminate,
    },
    Rule {
        name: "cast-product",
        subject: Subject::Elimination,
        round: None,
        equation: "number(x and y) = number(x) * number(y)",
        drafts: cast_product,
    },
];

fn cast_product(site: &mut Site<'_>, node: &Opened) {
    let Opened::Call { op: cast @ Op::Builtin(Builtin::Cast(prim)), args } = node else { return };
    let [of] = &args[..] else { return };
    if *prim == Prim::Bool || *site.dtype(of) != DType::BOOL {
        return;
    }
    for (product, parts) in site.calls(of) {
        let and = matches!(product, Op::Builtin(Builtin::And | Builtin::Mul | Builtin::Min | Builtin::BitAnd));
        if and && parts.len() > 1 && parts.iter().all(|p| *site.dtype(p) == DType::BOOL) {
            let numbers = parts.into_iter().map(|p| call(cast, [p])).collect();
            site.propose(Draft::Call(Op::Builtin(Builtin::Mul), numbers));
        }
    }
}

fn pull(site: &mut Site<'_>, node: &Opened) {
    let Opened::Call { op, args } = node else { return };
    for (at, arg) in args.iter().enumerate() {
        for inner in site.folds(arg) {
            if site.is_free(&inner.op, &inner.init) && site.distributes(op, args, at, &inner.op) {
                let args = args.iter().enumerate().map(|(k, a)| if k == at { inner.arg.clone() } else { a.clone() });
                let pulled = Draft::Fold(inner.op, inner.init, Box::new(call(op, args)), inner.bound);
                site.propose_in(inner.scope, pulled);
            }
        }
    }
}

/// A fold that can be regrouped, with the initial value of its parts.
struct Folding<'n> {
    op: &'n Op,
    init: &'n Scalar,
    identity: Scalar,
    bound: &'n [Slot],
}

impl<'n> Folding<'n> {
    /// Returns the fold of a node, with its argument.
    fn of(site: &Site<'_>, node: &'n Opened) -> Option<(Folding<'n>, &'n Use)> {
        let Opened::Fold { op, init, arg, bound } = node else { return None };
        if bound.is_empty() {
            return None;
        }
        let identity = site.identity(op, &init.dtype())?;
        Some((Folding { op, init, identity, bound }, arg))
    }

    /// Folds a part over some slots.
    fn part(&self, part: Draft, slots: Vec<Slot>) -> Draft {
        Draft::Fold(self.op.clone(), self.identity.clone(), Box::new(part), slots)
    }

    /// Folds the rest over some slots.
    fn rest(&self, arg: Draft, slots: Vec<Slot>) -> Draft {
        Draft::Fold(self.op.clone(), self.init.clone(), Box::new(arg), slots)
    }
}

/// Chooses one reduced field as the last to eliminate. The other fields split the factors into
/// parts that share only free fields and the last one; each part becomes a fold of its own. So
/// eliminations that commute are found once. In a product with ordered arguments, such as `x / y`,
/// fields are eliminated one by one.
fn eliminate(site: &mut Site<'_>, node: &Opened) {
    let Some((fold, arg)) = Folding::of(site, node) else { return };
    for (product, args) in site.calls(arg) {
        let joins = regroups(&product, site.dtype(&args[0]), site.mode())
            && (0..args.len()).all(|at| site.distributes(&product, &args, at, fold.op));
        if !joins {
            for (_, draft) in steps_in(site, &fold, &product, &args) {
                site.propose(draft);
            }
            continue;
        }
        if !fold.bound.iter().all(|s| args.iter().any(|u| u.has(*s))) {
            continue;
        }
        let whole = parts(&args, fold.bound);
        if whole.len() > 1 {
            if site.is_free(fold.op, fold.init) {
                site.propose(folded(&fold, &product, whole));
            }
            continue;
        }
        for last in fold.bound.iter().filter(|_| fold.bound.len() > 1) {
            let others: Vec<Slot> = fold.bound.iter().copied().filter(|s| s != last).collect();
            let inner = folded(&fold, &product, parts(&args, &others));
            site.propose(fold.rest(inner, vec![*last]));
        }
    }
}

/// Groups the factors of a product by the slots of `over` that join them; a factor without these
/// slots is a group of its own.
fn parts(args: &[Use], over: &[Slot]) -> Vec<(Vec<Slot>, Vec<Use>)> {
    let mut parts: Vec<(Vec<Slot>, Vec<Use>)> = Vec::new();
    for arg in args {
        let own: Vec<Slot> = over.iter().copied().filter(|s| arg.has(*s)).collect();
        let (met, mut rest): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|(slots, _)| slots.iter().any(|s| own.contains(s)));
        let mut joined = (own, Vec::new());
        for (slots, factors) in met {
            joined.0.extend(slots);
            joined.1.extend(factors);
        }
        joined.0.sort_unstable();
        joined.0.dedup();
        joined.1.push(arg.clone());
        rest.push(joined);
        parts = rest;
    }
    parts
}

/// Drafts the product of parts, each folded over its own slots.
fn folded(fold: &Folding<'_>, product: &Op, parts: Vec<(Vec<Slot>, Vec<Use>)>) -> Draft {
    let part = |(slots, mut factors): (Vec<Slot>, Vec<Use>)| {
        let inside = if factors.len() == 1 { Draft::Class(factors.remove(0)) } else { call(product, factors) };
        if slots.is_empty() { inside } else { fold.part(inside, slots) }
    };
    let mut parts: Vec<Draft> = parts.into_iter().map(part).collect();
    if parts.len() == 1 { parts.remove(0) } else { Draft::Call(product.clone(), parts) }
}

/// Returns, for every field that can be eliminated from a fold, the number of coordinates over
/// which its factors join, and the resulting term.
pub(super) fn steps(site: &Site<'_>, node: &Opened) -> Vec<(f64, Draft)> {
    let Some((fold, arg)) = Folding::of(site, node) else { return Vec::new() };
    site.calls(arg).iter().flat_map(|(product, args)| steps_in(site, &fold, product, args)).collect()
}

/// Returns the same as [`steps`] for one product in the fold.
fn steps_in(site: &Site<'_>, fold: &Folding<'_>, product: &Op, args: &[Use]) -> Vec<(f64, Draft)> {
    let step = |slot: &Slot| {
        let left: Vec<Slot> = fold.bound.iter().copied().filter(|s| s != slot).collect();
        if left.is_empty() && !site.is_free(fold.op, fold.init) {
            return None;
        }
        let pushed = pushed(site, (product, args), fold, *slot)?;
        let joined: BTreeSet<Slot> =
            args.iter().filter(|a| a.has(*slot)).flat_map(|a| a.slots.iter().copied()).collect();
        let places = joined.iter().map(|s| site.size(*s) as f64).product();
        Some((places, if left.is_empty() { pushed } else { fold.rest(pushed, left) }))
    };
    fold.bound.iter().filter_map(step).collect()
}

/// Pushes the fold over a slot to the arguments that have the slot.
fn pushed(site: &Site<'_>, (product, args): (&Op, &[Use]), fold: &Folding<'_>, slot: Slot) -> Option<Draft> {
    let with: Vec<usize> = (0..args.len()).filter(|k| args[*k].has(slot)).collect();
    if with.is_empty() || !with.iter().all(|k| site.distributes(product, args, *k, fold.op)) {
        return None;
    }
    if let [only] = with[..] {
        let arg = |(k, a): (usize, &Use)| match k == only {
            true => fold.part(Draft::Class(a.clone()), vec![slot]),
            false => Draft::Class(a.clone()),
        };
        return Some(Draft::Call(product.clone(), args.iter().enumerate().map(arg).collect()));
    }
    if with.len() == args.len() || !regroups(product, site.dtype(&args[with[0]]), site.mode()) {
        return None;
    }
    let (inside, outside): (Vec<_>, Vec<_>) = args.iter().cloned().partition(|a| a.has(slot));
    let inside = fold.part(call(product, inside), vec![slot]);
    Some(Draft::Call(product.clone(), outside.into_iter().map(Draft::Class).chain([inside]).collect()))
}
