//! Rules that distribute products over sums, and factor products out of sums.

use super::{MatchSite, RewriteRule, Round, ScopedNode, Subject, TermDraft, call};
use crate::algebra::language::ClassUse;
use crate::term::is_regroupable;
use redpoll_logic::op::Op;

pub(super) const RULES: &[RewriteRule] = &[
    RewriteRule {
        name: "distribute",
        subject: Subject::Distribution,
        round: Some(Round::Spread),
        equation: "x * (y + z) = x * y + x * z",
        drafts: distribute,
    },
    RewriteRule {
        name: "factor",
        subject: Subject::Distribution,
        round: Some(Round::Spread),
        equation: "x * y + x * z = x * (y + z)",
        drafts: factor,
    },
];

fn distribute(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Call { op, args } = node else { return };
    for (at, arg) in args.iter().enumerate() {
        for (sum, parts) in site.calls_of(arg, |sum| sum != op) {
            if parts.len() < 2 || !site.distributes(op, args, at, &sum) {
                continue;
            }
            let has_same_dtype = parts.iter().all(|p| site.dtype(p) == site.dtype(arg));
            let product = |part: &ClassUse| {
                call(op, args.iter().enumerate().map(|(k, a)| if k == at { part.clone() } else { a.clone() }))
            };
            if has_same_dtype {
                site.propose(TermDraft::Call(sum, parts.iter().map(product).collect()));
            }
        }
    }
}

fn factor(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Call { op: sum, args } = node else { return };
    let [first, ..] = &args[..] else { return };
    if args.len() < 2 || !is_regroupable(sum, site.dtype(first), site.mode()) {
        return;
    }
    let products: Vec<_> = args.iter().map(|a| site.calls_of(a, |product| product != sum)).collect();
    for a in 0..args.len() {
        for b in a + 1..args.len() {
            for (product, xs) in &products[a] {
                for (other, ys) in &products[b] {
                    if product == other && xs.len() > 1 && ys.len() > 1 {
                        let others = args.iter().enumerate().filter(|(k, _)| *k != a && *k != b);
                        let others: Vec<ClassUse> = others.map(|(_, u)| u.clone()).collect();
                        factor_common(site, (sum, product), (xs, ys), &others);
                    }
                }
            }
        }
    }
}

/// Factors the common arguments out of two products in a sum.
fn factor_common(
    site: &mut MatchSite<'_>,
    (sum, product): (&Op, &Op),
    (xs, ys): (&[ClassUse], &[ClassUse]),
    others: &[ClassUse],
) {
    let dtype = site.dtype(&xs[0]).clone();
    let fits = is_regroupable(product, &dtype, site.mode()) && (0..2).all(|at| site.distributes(product, xs, at, sum));
    if !fits {
        return;
    }
    let (mut rest, mut other_rest, mut shared) = (Vec::new(), ys.to_vec(), Vec::new());
    for x in xs {
        match other_rest.iter().position(|y| y == x) {
            Some(at) => shared.push(other_rest.remove(at)),
            None => rest.push(x.clone()),
        }
    }
    if shared.is_empty() || rest.is_empty() || other_rest.is_empty() {
        return;
    }
    let rests = TermDraft::Call(sum.clone(), vec![call(product, rest), call(product, other_rest)]);
    let factored = TermDraft::Call(product.clone(), shared.into_iter().map(TermDraft::Class).chain([rests]).collect());
    site.propose(match others.is_empty() {
        true => factored,
        false => TermDraft::Call(sum.clone(), others.iter().cloned().map(TermDraft::Class).chain([factored]).collect()),
    });
}
