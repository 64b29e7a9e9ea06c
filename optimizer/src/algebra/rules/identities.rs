//! Identities: redundant arguments, and arguments that undo each other.
//!
//! Constants are folded when terms are built; these laws apply to all equal classes, however their
//! terms are written.

use super::{Draft, Opened, Rule, Site, Subject, call};
use crate::algebra::language::Use;
use crate::term::regroups;
use redpoll_logic::Scalar;
use redpoll_logic::op::Op;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "idempotent",
        subject: Subject::Identities,
        round: None,
        equation: "min(x, x, y) = min(x, y)",
        drafts: once,
    },
    Rule { name: "inverse", subject: Subject::Identities, round: None, equation: "(x + y) - y = x", drafts: undone },
];

fn once(site: &mut Site<'_>, node: &Opened) {
    let Opened::Call { op, args } = node else { return };
    let Some(dtype) = args.first().map(|a| site.dtype(a)) else { return };
    if !regroups(op, dtype, site.mode()) || !op.is_idempotent(dtype, site.mode()) {
        return;
    }
    let mut kept: Vec<Use> = Vec::new();
    for arg in args {
        if !kept.contains(arg) {
            kept.push(arg.clone());
        }
    }
    if kept.len() < args.len() {
        site.propose(product(op, kept));
    }
}

fn undone(site: &mut Site<'_>, node: &Opened) {
    let Opened::Call { op, args } = node else { return };
    let Some(dtype) = args.first().map(|a| site.dtype(a).clone()) else { return };
    if args.iter().any(|a| *site.dtype(a) != dtype) {
        return;
    }
    let mode = site.mode();
    let undoes = |inner: &Op| inner.inverse(&dtype, mode).as_ref() == Some(op);
    if !site.graph.analysis.has_op(undoes) {
        return;
    }
    let places: Vec<(usize, usize)> = match regroups(op, &dtype, site.mode()) {
        true => (0..args.len()).flat_map(|a| (0..args.len()).map(move |b| (a, b))).filter(|(a, b)| a != b).collect(),
        false if args.len() == 2 => vec![(0, 1)],
        false => return,
    };
    for (done, undoing) in places {
        for (inner, parts) in site.calls_of(&args[done], undoes) {
            if parts.iter().any(|p| *site.dtype(p) != dtype) {
                continue;
            }
            let first = if regroups(&inner, &dtype, site.mode()) { 0 } else { parts.len() - 1 };
            let Some(at) = (first..parts.len()).find(|k| parts[*k] == args[undoing]) else { continue };
            let rest: Vec<Use> = parts.iter().enumerate().filter(|(k, _)| *k != at).map(|(_, p)| p.clone()).collect();
            if !fills_agree(site, (op, &args[undoing]), (&inner, &parts), &rest) {
                continue;
            }
            let left = args.iter().enumerate().filter(|(k, _)| *k != done && *k != undoing).map(|(_, a)| a.clone());
            let left: Vec<Draft> = left.map(Draft::Class).chain([product(&inner, rest)]).collect();
            site.propose(match <[Draft; 1]>::try_from(left) {
                Ok([only]) => only,
                Err(left) => Draft::Call(op.clone(), left),
            });
        }
    }
}

/// Returns whether the fills are restored as well: `0 * 0 / 0` is not 0.
fn fills_agree(site: &Site<'_>, (outer, y): (&Op, &Use), (inner, parts): (&Op, &[Use]), rest: &[Use]) -> bool {
    let of = |uses: &[Use]| match uses {
        [only] => Some(site.fill(only).clone()),
        _ => inner.apply(&uses.iter().map(|u| site.fill(u).clone()).collect::<Vec<Scalar>>()).ok(),
    };
    let undone = of(parts).and_then(|done| outer.apply(&[done, site.fill(y).clone()]).ok());
    undone.is_some() && undone == of(rest)
}

/// Drafts the operator on classes, or the class alone if there is one.
fn product(op: &Op, mut of: Vec<Use>) -> Draft {
    if of.len() == 1 { Draft::Class(of.remove(0)) } else { call(op, of) }
}
