//! Aggregates: merged, split, and moved out of independent factors.

use super::{Draft, Opened, Round, Rule, Site, Subject, call};
use crate::term::regroups;
use redpoll_logic::op::{Builtin, Op, RepeatMethod, cast_to};
use redpoll_logic::{DType, Scalar};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "merge-aggregates",
        subject: Subject::Aggregates,
        round: None,
        equation: "sum(i, sum(j, x)) = sum(i j, x)",
        drafts: merge,
    },
    Rule {
        name: "split-aggregate",
        subject: Subject::Aggregates,
        round: Some(Round::Spread),
        equation: "sum(i, x + y) = sum(i, x) + sum(i, y)",
        drafts: split,
    },
    Rule {
        name: "repeat",
        subject: Subject::Aggregates,
        round: None,
        equation: "sum(i, x) = n * x    i not in x",
        drafts: repeat,
    },
    Rule {
        name: "flatten",
        subject: Subject::Aggregates,
        round: None,
        equation: "x + (y + z) = x + y + z",
        drafts: flatten,
    },
];

fn merge(site: &mut Site<'_>, node: &Opened) {
    let Opened::Fold { op, init, arg, bound } = node else { return };
    for inner in site.folds(arg) {
        // A fold that repeats one value is simplified where it is.
        let depends = inner.bound.iter().all(|slot| inner.arg.has(*slot));
        if inner.op == *op && depends && site.is_free(&inner.op, &inner.init) {
            let bound = bound.iter().chain(&inner.bound).copied().collect();
            let merged = Draft::Fold(op.clone(), init.clone(), Box::new(Draft::Class(inner.arg)), bound);
            site.propose_in(inner.scope, merged);
        }
    }
}

fn split(site: &mut Site<'_>, node: &Opened) {
    let Opened::Fold { op, init, arg, bound } = node else { return };
    if bound.is_empty() || !site.is_free(op, init) {
        return;
    }
    for (_, parts) in site.calls_of(arg, |inner| inner == op) {
        if parts.len() > 1 {
            let fold = |x| Draft::Fold(op.clone(), init.clone(), Box::new(Draft::Class(x)), bound.clone());
            site.propose(Draft::Call(op.clone(), parts.into_iter().map(fold).collect()));
        }
    }
}

fn repeat(site: &mut Site<'_>, node: &Opened) {
    let Opened::Fold { op, init, arg, bound } = node else { return };
    let (absent, present): (Vec<_>, Vec<_>) = bound.iter().partition(|slot| !arg.has(**slot));
    if absent.is_empty() || !site.is_free(op, init) {
        return;
    }
    let times = absent.iter().try_fold(1i64, |n, slot| n.checked_mul(i64::try_from(site.size(*slot)).ok()?));
    let dtype = site.dtype(arg).clone();
    let Some(repeated) = repeated(site, op, &dtype, Draft::Class(arg.clone()), times) else { return };
    site.propose(match present.is_empty() {
        true => repeated,
        false => Draft::Fold(op.clone(), init.clone(), Box::new(repeated), present),
    });
}

/// Drafts a term folded with itself `times` times; `None` is a number of times that overflows.
pub(super) fn repeated(site: &Site<'_>, op: &Op, dtype: &DType, once: Draft, times: Option<i64>) -> Option<Draft> {
    match (op.repeat_method(dtype, site.mode())?, times) {
        (RepeatMethod::Idempotent, _) => Some(once),
        (RepeatMethod::Multiply, Some(n)) => {
            let times = Draft::Literal(cast_to(&Scalar::I64(n), dtype));
            Some(Draft::Call(Op::Builtin(Builtin::Mul), vec![once, times]))
        }
        _ => None,
    }
}

fn flatten(site: &mut Site<'_>, node: &Opened) {
    let Opened::Call { op, args } = node else { return };
    for (at, arg) in args.iter().enumerate() {
        if !regroups(op, site.dtype(arg), site.mode()) {
            return;
        }
        for (_, parts) in site.calls_of(arg, |inner| inner == op) {
            // Flattening a class that is a part of itself would not terminate.
            if parts.len() > 1 && parts.iter().all(|p| p.class != arg.class) {
                let others = args.iter().enumerate().filter(|(k, _)| *k != at).map(|(_, a)| a.clone());
                let flat: Vec<_> = others.chain(parts).collect();
                site.propose(call(op, flat));
            }
        }
    }
}
