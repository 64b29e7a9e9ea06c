//! Variable elimination: aggregates are pulled out of products, and pushed to the factors that
//! depend on their fields. A third rule turns the cast of a conjunction into a product of casts,
//! which the other rules can then use.
//!
//! The e-graph is the memo of the dynamic program: the terms that remain after eliminating a set of
//! fields in different orders are in one class. Source: Deeds, Ahrens, Suciu, "Galley: Modern Query
//! Optimization for Sparse Tensor Programs".

use super::{MatchSite, RewriteRule, Round, ScopedNode, Subject, TermDraft, call};
use crate::algebra::language::{ClassUse, SlotIndex};
use crate::term::is_regroupable;
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, Prim, Scalar};
use std::collections::BTreeSet;

pub(super) const RULES: &[RewriteRule] = &[
    RewriteRule {
        name: "pull-aggregate",
        subject: Subject::Elimination,
        round: Some(Round::Gather),
        equation: "x * sum(i, y) = sum(i, x * y)    i not in x",
        drafts: pull,
    },
    RewriteRule {
        name: "eliminate",
        subject: Subject::Elimination,
        round: Some(Round::Spread),
        equation: "sum(i j k, x * y) = sum(j, sum(i, x) * sum(k, y))    i not in y, k not in x",
        drafts: eliminate,
    },
    RewriteRule {
        name: "cast-product",
        subject: Subject::Elimination,
        round: None,
        equation: "number(x and y) = number(x) * number(y)",
        drafts: cast_product,
    },
];

fn cast_product(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Call { op: cast @ Op::Builtin(Builtin::Cast(prim)), args } = node else { return };
    let [of] = &args[..] else { return };
    if *prim == Prim::Bool || *site.dtype(of) != DType::BOOL {
        return;
    }
    for (product, parts) in site.calls(of) {
        let is_and = matches!(product, Op::Builtin(Builtin::And | Builtin::Mul | Builtin::Min | Builtin::BitAnd));
        if is_and && parts.len() > 1 && parts.iter().all(|p| *site.dtype(p) == DType::BOOL) {
            let numbers = parts.into_iter().map(|p| call(cast, [p])).collect();
            site.propose(TermDraft::Call(Op::Builtin(Builtin::Mul), numbers));
        }
    }
}

fn pull(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Call { op, args } = node else { return };
    for (at, arg) in args.iter().enumerate() {
        for inner in site.folds(arg) {
            if site.can_regroup(&inner.op, &inner.init) && site.distributes(op, args, at, &inner.op) {
                let args = args.iter().enumerate().map(|(k, a)| if k == at { inner.arg.clone() } else { a.clone() });
                let pulled = TermDraft::Fold(inner.op, inner.init, Box::new(call(op, args)), inner.bound);
                site.propose_in(inner.scope, pulled);
            }
        }
    }
}

/// A fold whose operator can be regrouped. Folds of parts of its argument start from `identity`.
struct FreeFold<'n> {
    op: &'n Op,
    init: &'n Scalar,
    identity: Scalar,
    bound: &'n [SlotIndex],
}

impl<'n> FreeFold<'n> {
    /// Returns the fold of a node, with its argument.
    fn of(site: &MatchSite<'_>, node: &'n ScopedNode) -> Option<(FreeFold<'n>, &'n ClassUse)> {
        let ScopedNode::Fold { op, init, arg, bound } = node else { return None };
        if bound.is_empty() {
            return None;
        }
        let identity = site.identity(op, &init.dtype())?;
        Some((FreeFold { op, init, identity, bound }, arg))
    }

    /// Folds a part over some slots.
    fn part(&self, part: TermDraft, slots: Vec<SlotIndex>) -> TermDraft {
        TermDraft::Fold(self.op.clone(), self.identity.clone(), Box::new(part), slots)
    }

    /// Folds the remaining term over some slots, starting from the initial value of the whole fold.
    fn rest(&self, arg: TermDraft, slots: Vec<SlotIndex>) -> TermDraft {
        TermDraft::Fold(self.op.clone(), self.init.clone(), Box::new(arg), slots)
    }
}

/// Proposes terms that eliminate the reduced fields of a fold over a product. Parts of the product
/// that share no reduced field become folds of their own. If the reduced fields join all factors,
/// each reduced field in turn is the last to be eliminated. The other reduced fields then split the
/// factors into parts that share only free fields and the last field, and each part becomes a fold
/// of its own. So eliminations that commute are found once. If the factors cannot be regrouped, as
/// in `x / y`, fields are eliminated one by one.
fn eliminate(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let Some((fold, arg)) = FreeFold::of(site, node) else { return };
    for (product, args) in site.calls(arg) {
        let can_group = is_regroupable(&product, site.dtype(&args[0]), site.mode())
            && (0..args.len()).all(|at| site.distributes(&product, &args, at, fold.op));
        if !can_group {
            for (_, draft) in elimination_steps_in(site, &fold, &product, &args) {
                site.propose(draft);
            }
            continue;
        }
        if !fold.bound.iter().all(|s| args.iter().any(|u| u.has(*s))) {
            continue;
        }
        let all_parts = join_parts(&args, fold.bound);
        if all_parts.len() > 1 {
            if site.can_regroup(fold.op, fold.init) {
                site.propose(fold_parts(&fold, &product, all_parts));
            }
            continue;
        }
        for last in fold.bound.iter().filter(|_| fold.bound.len() > 1) {
            let others: Vec<SlotIndex> = fold.bound.iter().copied().filter(|s| s != last).collect();
            let inner = fold_parts(&fold, &product, join_parts(&args, &others));
            site.propose(fold.rest(inner, vec![*last]));
        }
    }
}

/// Groups the factors of a product by the slots of `over` that join them; a factor without these
/// slots is a group of its own.
fn join_parts(args: &[ClassUse], over: &[SlotIndex]) -> Vec<(Vec<SlotIndex>, Vec<ClassUse>)> {
    let mut parts: Vec<(Vec<SlotIndex>, Vec<ClassUse>)> = Vec::new();
    for arg in args {
        let own: Vec<SlotIndex> = over.iter().copied().filter(|s| arg.has(*s)).collect();
        let (connected, mut rest): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|(slots, _)| slots.iter().any(|s| own.contains(s)));
        let mut joined = (own, Vec::new());
        for (slots, factors) in connected {
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
fn fold_parts(fold: &FreeFold<'_>, product: &Op, parts: Vec<(Vec<SlotIndex>, Vec<ClassUse>)>) -> TermDraft {
    let part = |(slots, mut factors): (Vec<SlotIndex>, Vec<ClassUse>)| {
        let inside = if factors.len() == 1 { TermDraft::Class(factors.remove(0)) } else { call(product, factors) };
        if slots.is_empty() { inside } else { fold.part(inside, slots) }
    };
    let mut parts: Vec<TermDraft> = parts.into_iter().map(part).collect();
    if parts.len() == 1 { parts.remove(0) } else { TermDraft::Call(product.clone(), parts) }
}

/// Returns the eliminations of a fold, one for each field that can be eliminated. Each has the
/// number of coordinates over which the factors with the field are joined, and the resulting term.
pub(super) fn elimination_steps(site: &MatchSite<'_>, node: &ScopedNode) -> Vec<(f64, TermDraft)> {
    let Some((fold, arg)) = FreeFold::of(site, node) else { return Vec::new() };
    site.calls(arg).iter().flat_map(|(product, args)| elimination_steps_in(site, &fold, product, args)).collect()
}

/// Returns the same as [`elimination_steps`] for one product in the fold.
fn elimination_steps_in(
    site: &MatchSite<'_>,
    fold: &FreeFold<'_>,
    product: &Op,
    args: &[ClassUse],
) -> Vec<(f64, TermDraft)> {
    let step = |slot: &SlotIndex| {
        let remaining: Vec<SlotIndex> = fold.bound.iter().copied().filter(|s| s != slot).collect();
        if remaining.is_empty() && !site.can_regroup(fold.op, fold.init) {
            return None;
        }
        let pushed = push_fold(site, (product, args), fold, *slot)?;
        let joined: BTreeSet<SlotIndex> =
            args.iter().filter(|a| a.has(*slot)).flat_map(|a| a.slots.iter().copied()).collect();
        let coordinate_count = joined.iter().map(|s| site.size(*s) as f64).product();
        Some((coordinate_count, if remaining.is_empty() { pushed } else { fold.rest(pushed, remaining) }))
    };
    fold.bound.iter().filter_map(step).collect()
}

/// Pushes the fold over a slot to the arguments that have the slot. `None` in three cases: no
/// argument has the slot; the product does not distribute over the fold; or several arguments have
/// the slot, and the product cannot be regrouped or has no other arguments.
fn push_fold(
    site: &MatchSite<'_>,
    (product, args): (&Op, &[ClassUse]),
    fold: &FreeFold<'_>,
    slot: SlotIndex,
) -> Option<TermDraft> {
    let with: Vec<usize> = (0..args.len()).filter(|k| args[*k].has(slot)).collect();
    if with.is_empty() || !with.iter().all(|k| site.distributes(product, args, *k, fold.op)) {
        return None;
    }
    if let [only] = with[..] {
        let arg = |(k, a): (usize, &ClassUse)| match k == only {
            true => fold.part(TermDraft::Class(a.clone()), vec![slot]),
            false => TermDraft::Class(a.clone()),
        };
        return Some(TermDraft::Call(product.clone(), args.iter().enumerate().map(arg).collect()));
    }
    if with.len() == args.len() || !is_regroupable(product, site.dtype(&args[with[0]]), site.mode()) {
        return None;
    }
    let (inside, outside): (Vec<_>, Vec<_>) = args.iter().cloned().partition(|a| a.has(slot));
    let inside = fold.part(call(product, inside), vec![slot]);
    Some(TermDraft::Call(product.clone(), outside.into_iter().map(TermDraft::Class).chain([inside]).collect()))
}
