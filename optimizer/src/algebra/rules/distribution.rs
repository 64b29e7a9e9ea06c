//! Products over sums, distributed and factored.

use super::{Draft, Opened, Round, Rule, Site, Subject, call};
use crate::algebra::language::Use;
use crate::term::regroups;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "distribute",
        subject: Subject::Distribution,
        round: Some(Round::Spread),
        equation: "x * (y + z) = x * y + x * z",
        drafts: distribute,
    },
    Rule {
        name: "factor",
        subject: Subject::Distribution,
        round: Some(Round::Spread),
        equation: "x * y + x * z = x * (y + z)",
        drafts: factor,
    },
];

fn distribute(site: &mut Site<'_>, node: &Opened) {
    let Opened::Call { op, args } = node else { return };
    for (at, arg) in args.iter().enumerate() {
        for (sum, parts) in site.calls_of(arg, |sum| sum != op) {
            if parts.len() < 2 || !site.distributes(op, args, at, &sum) {
                continue;
            }
            let same = parts.iter().all(|p| site.dtype(p) == site.dtype(arg));
            let product = |part: &Use| {
                call(op, args.iter().enumerate().map(|(k, a)| if k == at { part.clone() } else { a.clone() }))
            };
            if same {
                site.propose(Draft::Call(sum, parts.iter().map(product).collect()));
            }
        }
    }
}

fn factor(site: &mut Site<'_>, node: &Opened) {
    let Opened::Call { op: sum, args } = node else { return };
    let [first, ..] = &args[..] else { return };
    if args.len() < 2 || !regroups(sum, site.dtype(first), site.mode()) {
        return;
    }
    let products: Vec<_> = args.iter().map(|a| site.calls_of(a, |product| product != sum)).collect();
    for a in 0..args.len() {
        for b in a + 1..args.len() {
            for (product, xs) in &products[a] {
                for (other, ys) in &products[b] {
                    if product == other && xs.len() > 1 && ys.len() > 1 {
                        let others = args.iter().enumerate().filter(|(k, _)| *k != a && *k != b);
                        let others: Vec<Use> = others.map(|(_, u)| u.clone()).collect();
                        common(site, (sum, product), (xs, ys), &others);
                    }
                }
            }
        }
    }
}

/// Factors the common part out of two products in a sum.
fn common(
    site: &mut Site<'_>,
    (sum, product): (&redpoll_logic::op::Op, &redpoll_logic::op::Op),
    (xs, ys): (&[Use], &[Use]),
    others: &[Use],
) {
    let dtype = site.dtype(&xs[0]).clone();
    let fits = regroups(product, &dtype, site.mode()) && (0..2).all(|at| site.distributes(product, xs, at, sum));
    if !fits {
        return;
    }
    let (mut left, mut right, mut shared) = (Vec::new(), ys.to_vec(), Vec::new());
    for x in xs {
        match right.iter().position(|y| y == x) {
            Some(at) => shared.push(right.remove(at)),
            None => left.push(x.clone()),
        }
    }
    if shared.is_empty() || left.is_empty() || right.is_empty() {
        return;
    }
    let rests = Draft::Call(sum.clone(), vec![call(product, left), call(product, right)]);
    let factored = Draft::Call(product.clone(), shared.into_iter().map(Draft::Class).chain([rests]).collect());
    site.propose(match others.is_empty() {
        true => factored,
        false => Draft::Call(sum.clone(), others.iter().cloned().map(Draft::Class).chain([factored]).collect()),
    });
}
