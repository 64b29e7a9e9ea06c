//! Variable elimination: aggregates are pulled out of products, and pushed to the factors that they depend on.
//!
//! The e-graph is the memo of the dynamic program: what is left after some fields have been eliminated is one class,
//! whatever the order. Source: Deeds, Ahrens, Suciu, "Galley: Modern Query Optimization for Sparse Tensor Programs".

use super::{Draft, Opened, Round, Rule, Site, Subject, call};
use crate::algebra::language::{Slot, Use};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, Prim};
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
        equation: "sum(i j, x * y) = sum(j, x * sum(i, y))    i not in x",
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

fn eliminate(site: &mut Site<'_>, node: &Opened) {
    steps(site, node).into_iter().for_each(|(_, draft)| site.propose(draft));
}

/// Every field that can be eliminated from a fold, as a term, with the number of places over which its factors join.
pub(super) fn steps(site: &Site<'_>, node: &Opened) -> Vec<(f64, Draft)> {
    let mut steps = Vec::new();
    let Opened::Fold { op, init, arg, bound } = node else { return steps };
    let Some(identity) = site.identity(op, &init.dtype()) else { return steps };
    for (product, args) in site.calls(arg) {
        for slot in bound {
            let left: Vec<Slot> = bound.iter().copied().filter(|s| s != slot).collect();
            if left.is_empty() && !site.is_free(op, init) {
                continue;
            }
            let inner = |x: Draft| Draft::Fold(op.clone(), identity.clone(), Box::new(x), vec![*slot]);
            if let Some(pushed) = pushed(site, (&product, &args), (op, *slot), &inner) {
                let joined: BTreeSet<Slot> =
                    args.iter().filter(|a| a.has(*slot)).flat_map(|a| a.slots.iter().copied()).collect();
                let places = joined.iter().map(|s| site.size(*s) as f64).product();
                let draft = match left.is_empty() {
                    true => pushed,
                    false => Draft::Fold(op.clone(), init.clone(), Box::new(pushed), left),
                };
                steps.push((places, draft));
            }
        }
    }
    steps
}

/// The product with the fold over a slot around just those arguments that have it.
fn pushed(
    site: &Site<'_>,
    (product, args): (&Op, &[Use]),
    (op, slot): (&Op, Slot),
    fold: &dyn Fn(Draft) -> Draft,
) -> Option<Draft> {
    let with: Vec<usize> = (0..args.len()).filter(|k| args[*k].has(slot)).collect();
    if with.is_empty() || !with.iter().all(|k| site.distributes(product, args, *k, op)) {
        return None;
    }
    if let [only] = with[..] {
        let arg = |(k, a): (usize, &Use)| match k == only {
            true => fold(Draft::Class(a.clone())),
            false => Draft::Class(a.clone()),
        };
        return Some(Draft::Call(product.clone(), args.iter().enumerate().map(arg).collect()));
    }
    let regroups = crate::term::regroups(product, site.dtype(&args[with[0]]), site.mode());
    if with.len() == args.len() || !regroups {
        return None;
    }
    let (inside, outside): (Vec<_>, Vec<_>) = args.iter().cloned().partition(|a| a.has(slot));
    let inside = fold(call(product, inside));
    Some(Draft::Call(product.clone(), outside.into_iter().map(Draft::Class).chain([inside]).collect()))
}
