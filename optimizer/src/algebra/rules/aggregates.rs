//! Rules that merge aggregates, split aggregates, and replace the aggregate of a repeated value by
//! the value or a multiple of it. A fourth rule flattens nested calls of one operator.

use super::{MatchSite, RewriteRule, Round, ScopedNode, Subject, TermDraft, call};
use crate::term::is_regroupable;
use redpoll_logic::op::{Builtin, Op, RepeatMethod, cast_to};
use redpoll_logic::{DType, Scalar};

pub(super) const RULES: &[RewriteRule] = &[
    RewriteRule {
        name: "merge-aggregates",
        subject: Subject::Aggregates,
        round: None,
        equation: "sum(i, sum(j, x)) = sum(i j, x)",
        drafts: merge,
    },
    RewriteRule {
        name: "split-aggregate",
        subject: Subject::Aggregates,
        round: Some(Round::Spread),
        equation: "sum(i, x + y) = sum(i, x) + sum(i, y)",
        drafts: split,
    },
    RewriteRule {
        name: "repeat",
        subject: Subject::Aggregates,
        round: None,
        equation: "sum(i, x) = n * x    i not in x",
        drafts: repeat,
    },
    RewriteRule {
        name: "flatten",
        subject: Subject::Aggregates,
        round: None,
        equation: "x + (y + z) = x + y + z",
        drafts: flatten,
    },
];

fn merge(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Fold { op, init, arg, bound } = node else { return };
    // A fold over no slots only stores its argument.
    if bound.is_empty() {
        return;
    }
    for inner in site.folds(arg) {
        // The rule `repeat` handles folds over slots that their arguments lack.
        let depends_on_all = inner.bound.iter().all(|slot| inner.arg.has(*slot));
        if inner.op == *op && depends_on_all && site.can_regroup(&inner.op, &inner.init) {
            let bound = bound.iter().chain(&inner.bound).copied().collect();
            let merged = TermDraft::Fold(op.clone(), init.clone(), Box::new(TermDraft::Class(inner.arg)), bound);
            site.propose_in(inner.scope, merged);
        }
    }
}

fn split(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Fold { op, init, arg, bound } = node else { return };
    if bound.is_empty() || !site.can_regroup(op, init) {
        return;
    }
    for (_, parts) in site.calls_of(arg, |inner| inner == op) {
        if parts.len() > 1 {
            let fold = |x| TermDraft::Fold(op.clone(), init.clone(), Box::new(TermDraft::Class(x)), bound.clone());
            site.propose(TermDraft::Call(op.clone(), parts.into_iter().map(fold).collect()));
        }
    }
}

fn repeat(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Fold { op, init, arg, bound } = node else { return };
    let (absent, present): (Vec<_>, Vec<_>) = bound.iter().partition(|slot| !arg.has(**slot));
    if absent.is_empty() || !site.can_regroup(op, init) {
        return;
    }
    let times = absent.iter().try_fold(1i64, |n, slot| n.checked_mul(i64::try_from(site.size(*slot)).ok()?));
    let dtype = site.dtype(arg).clone();
    let Some(repeated) = repeat_term(site, op, &dtype, TermDraft::Class(arg.clone()), times) else { return };
    site.propose(match present.is_empty() {
        true => repeated,
        false => TermDraft::Fold(op.clone(), init.clone(), Box::new(repeated), present),
    });
}

/// Drafts the fold of `times` copies of a term, if the result is the term or a multiple of the
/// term. `times` is `None` if the number of copies overflows.
pub(super) fn repeat_term(
    site: &MatchSite<'_>,
    op: &Op,
    dtype: &DType,
    once: TermDraft,
    times: Option<i64>,
) -> Option<TermDraft> {
    match (op.repeat_method(dtype, site.mode())?, times) {
        (RepeatMethod::Idempotent, _) => Some(once),
        (RepeatMethod::Multiply, Some(n)) => {
            let times = TermDraft::Literal(cast_to(&Scalar::I64(n), dtype));
            Some(TermDraft::Call(Op::Builtin(Builtin::Mul), vec![once, times]))
        }
        _ => None,
    }
}

fn flatten(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Call { op, args } = node else { return };
    for (at, arg) in args.iter().enumerate() {
        if !is_regroupable(op, site.dtype(arg), site.mode()) {
            return;
        }
        for (_, parts) in site.calls_of(arg, |inner| inner == op) {
            // Flattening a class that is an argument of itself would not terminate.
            if parts.len() > 1 && parts.iter().all(|p| p.class != arg.class) {
                let others = args.iter().enumerate().filter(|(k, _)| *k != at).map(|(_, a)| a.clone());
                let flat: Vec<_> = others.chain(parts).collect();
                site.propose(call(op, flat));
            }
        }
    }
}
