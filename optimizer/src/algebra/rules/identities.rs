//! Identities: rules that remove redundant arguments, and arguments that cancel each other.
//!
//! The construction of terms already folds constants. The rules here compare arguments by class, so
//! they also find equal arguments whose terms differ.

use super::{MatchSite, RewriteRule, ScopedNode, Subject, TermDraft, call};
use crate::algebra::language::ClassUse;
use crate::term::is_regroupable;
use redpoll_logic::Scalar;
use redpoll_logic::op::Op;

pub(super) const RULES: &[RewriteRule] = &[
    RewriteRule {
        name: "idempotent",
        subject: Subject::Identities,
        round: None,
        equation: "min(x, x, y) = min(x, y)",
        drafts: remove_repeats,
    },
    RewriteRule {
        name: "inverse",
        subject: Subject::Identities,
        round: None,
        equation: "(x + y) - y = x",
        drafts: cancel_inverse,
    },
];

fn remove_repeats(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Call { op, args } = node else { return };
    let Some(dtype) = args.first().map(|a| site.dtype(a)) else { return };
    if !is_regroupable(op, dtype, site.mode()) || !op.is_idempotent(dtype, site.mode()) {
        return;
    }
    let mut distinct: Vec<ClassUse> = Vec::new();
    for arg in args {
        if !distinct.contains(arg) {
            distinct.push(arg.clone());
        }
    }
    if distinct.len() < args.len() {
        site.propose(call_or_class(op, distinct));
    }
}

fn cancel_inverse(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Call { op, args } = node else { return };
    let Some(dtype) = args.first().map(|a| site.dtype(a).clone()) else { return };
    if args.iter().any(|a| *site.dtype(a) != dtype) {
        return;
    }
    let mode = site.mode();
    let is_inverse = |inner: &Op| inner.inverse(&dtype, mode).as_ref() == Some(op);
    if !site.graph.analysis.has_op(is_inverse) {
        return;
    }
    let candidates: Vec<(usize, usize)> = match is_regroupable(op, &dtype, site.mode()) {
        true => (0..args.len()).flat_map(|a| (0..args.len()).map(move |b| (a, b))).filter(|(a, b)| a != b).collect(),
        false if args.len() == 2 => vec![(0, 1)],
        false => return,
    };
    for (inner_at, inverse_at) in candidates {
        for (inner, parts) in site.calls_of(&args[inner_at], is_inverse) {
            if parts.iter().any(|p| *site.dtype(p) != dtype) {
                continue;
            }
            let first = if is_regroupable(&inner, &dtype, site.mode()) { 0 } else { parts.len() - 1 };
            let Some(at) = (first..parts.len()).find(|k| parts[*k] == args[inverse_at]) else { continue };
            let rest: Vec<ClassUse> =
                parts.iter().enumerate().filter(|(k, _)| *k != at).map(|(_, p)| p.clone()).collect();
            if !fills_agree(site, (op, &args[inverse_at]), (&inner, &parts), &rest) {
                continue;
            }
            let others =
                args.iter().enumerate().filter(|(k, _)| *k != inner_at && *k != inverse_at).map(|(_, a)| a.clone());
            let remaining: Vec<TermDraft> = others.map(TermDraft::Class).chain([call_or_class(&inner, rest)]).collect();
            site.propose(match <[TermDraft; 1]>::try_from(remaining) {
                Ok([only]) => only,
                Err(remaining) => TermDraft::Call(op.clone(), remaining),
            });
        }
    }
}

/// Returns whether the shortened term has the fill value of the original term. Both fill values are
/// evaluated in strict mode. If the fill values of `x` and `y` are 0, those of `x * y / y` and `x`
/// differ, because `0 * 0 / 0` is NaN.
fn fills_agree(
    site: &MatchSite<'_>,
    (outer, y): (&Op, &ClassUse),
    (inner, parts): (&Op, &[ClassUse]),
    rest: &[ClassUse],
) -> bool {
    let of = |uses: &[ClassUse]| match uses {
        [only] => Some(site.fill(only).clone()),
        _ => inner.apply(&uses.iter().map(|u| site.fill(u).clone()).collect::<Vec<Scalar>>()).ok(),
    };
    let restored = of(parts).and_then(|fill| outer.apply(&[fill, site.fill(y).clone()]).ok());
    restored.is_some() && restored == of(rest)
}

/// Drafts the operator on the classes, or the class alone if there is only one.
fn call_or_class(op: &Op, mut of: Vec<ClassUse>) -> TermDraft {
    if of.len() == 1 { TermDraft::Class(of.remove(0)) } else { call(op, of) }
}
