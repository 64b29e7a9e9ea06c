//! Switch: one of two looplets, by a condition computed before the loop.
//!
//! ```text
//! loop(i, e, B[switch]) = if cond { loop(i, e, B[then]) } else { loop(i, e, B[other]) }
//! ```
//! A side on which the body has no effect is not emitted, so intersections stay small. A switch
//! becomes a *select* if there are more than [`MAX_BRANCHES`] switches that matter on both sides
//! (one less around further loops), or if the statement has been copied often. A select reads the
//! fiber under a presence flag (a leaf reads `present ? val : fill`, an inner fiber is empty), and
//! the body occurs only once.

use super::{Head, Looplet, LoopletNest, lower_loop};
use crate::assembly::build::{and, is_register_only, not};
use crate::assembly::{Expr, Local, Stmt};
use crate::lower::cx::Cx;
use crate::lower::seeded_fault::SeededFault;
use crate::lower::state::{AccessCursor, Fiber};
use redpoll_logic::Scalar;
use std::rc::Rc;

/// Limit on the number of switches for which bodies are copied.
pub(super) const MAX_BRANCHES: usize = 3;

pub(crate) fn lower(cx: &mut Cx<'_>, nest: LoopletNest) {
    let switches: Vec<usize> =
        (0..nest.heads.len()).filter(|&k| matches!(nest.heads[k].looplet, Looplet::Switch { .. })).collect();
    if let Some(check) = switches.iter().copied().find(|&k| is_bounds_check(&nest.heads[k].looplet)) {
        return branch(cx, &nest, check);
    }
    let annihilating = switches.iter().copied().find(|&k| match &nest.heads[k].looplet {
        Looplet::Switch { other, .. } => match &**other {
            Looplet::Run(cursor) => nest.only_fills_with(cx, &[(k, cursor.clone())]),
            _ => false,
        },
        _ => false,
    });
    let many = switches.len() > MAX_BRANCHES - usize::from(nest.body.has_loop());
    match annihilating {
        None if many || cx.is_copy_limited(&nest.body) => select(cx, nest),
        None => cx.with_copies(2, |cx| branch(cx, &nest, switches[0])),
        Some(at) => branch(cx, &nest, at),
    }
}

fn branch(cx: &mut Cx<'_>, nest: &LoopletNest, at: usize) {
    let Looplet::Switch { cond, then, other } = nest.heads[at].looplet.clone() else {
        unreachable!("the head is a switch");
    };
    let cond = cx.name_bool("hit", &cond);
    let (then, other) = if SeededFault::SwitchSides.is_active() { (other, then) } else { (then, other) };
    let is_check = is_bounds_check(&nest.heads[at].looplet);
    let then = cx.block(|cx| {
        if is_check {
            cx.prover.assume(&cond);
        }
        lower_loop(cx, nest.with_looplet(at, (*then).clone()));
    });
    let other = cx.block(|cx| lower_loop(cx, nest.with_looplet(at, (*other).clone())));
    cx.push_if(cond, then, other);
}

/// Returns whether the looplet is a check: the run ends if the condition is false.
fn is_bounds_check(looplet: &Looplet) -> bool {
    match looplet {
        Looplet::Switch { other, .. } => matches!(&**other, Looplet::Run(AccessCursor::Violation(_))),
        _ => false,
    }
}

/// Turns switches between a fiber and its fill value into fibers under a presence flag; others
/// branch.
fn select(cx: &mut Cx<'_>, mut nest: LoopletNest) {
    let mut first_other = None;
    for k in 0..nest.heads.len() {
        if !matches!(nest.heads[k].looplet, Looplet::Switch { .. }) {
            continue;
        }
        match as_flagged_fiber(cx, &nest, k) {
            Some(looplet) => nest.heads[k].looplet = looplet,
            None => first_other = first_other.or(Some(k)),
        }
    }
    match first_other {
        Some(k) => cx.with_copies(2, |cx| branch(cx, &nest, k)),
        None => lower_loop(cx, nest),
    }
}

/// Returns a switch between a fiber and its tensor's fill value as the fiber under a presence flag.
fn as_flagged_fiber(cx: &Cx<'_>, nest: &LoopletNest, head: usize) -> Option<Looplet> {
    let Head { looplet: Looplet::Switch { cond, then, other }, members } = &nest.heads[head] else { return None };
    let AccessCursor::Fill(fill) = cx.fill(nest.state.access(members[0]).tensor?) else { return None };
    if !is_register_only(cond) {
        return None;
    }
    match (is_fill(then, &fill), is_fill(other, &fill)) {
        (_, true) => with_presence(cx, then, cond, &fill),
        (true, false) => with_presence(cx, other, &not(cond), &fill),
        (false, false) => None,
    }
}

/// Returns a looplet that finds a fiber of a tensor with this fill value as one that finds the
/// fiber under a presence flag. Nothing is loaded where the flag is false.
pub(super) fn with_presence(cx: &Cx<'_>, looplet: &Looplet, present: &Expr, fill: &Scalar) -> Option<Looplet> {
    match looplet {
        Looplet::Run(AccessCursor::Fiber(fiber)) => Some(flag_fiber(fiber, present)),
        Looplet::Thunk { preamble, body, epilogue } if epilogue.is_empty() => {
            let preamble = vec![guard_code(cx, present, preamble)];
            let body = Rc::new(with_presence(cx, body, present, fill)?);
            Some(Looplet::Thunk { preamble, body, epilogue: Vec::new() })
        }
        Looplet::Switch { cond, then, other } if is_fill(other, fill) => {
            Some(Looplet::Switch { cond: and(present, cond), then: then.clone(), other: other.clone() })
        }
        Looplet::Lookup(lookup) => {
            let (lookup, present, fill) = (lookup.clone(), present.clone(), fill.clone());
            Some(Looplet::Lookup(Rc::new(move |cx, i| {
                let mut found = None;
                let code = cx.block(|cx| found = Some(lookup(cx, i)));
                let found = found.expect("the block has run");
                if !code.is_empty() {
                    let code = guard_code(cx, &present, &code);
                    cx.push(code);
                }
                with_presence(cx, &found, &present, &fill).unwrap_or_else(|| Looplet::Switch {
                    cond: present.clone(),
                    then: Rc::new(found),
                    other: Rc::new(Looplet::Run(AccessCursor::Fill(fill.clone()))),
                })
            })))
        }
        _ => None,
    }
}

/// Returns code that runs under a condition; the locals that it assigns are zero otherwise.
fn guard_code(cx: &Cx<'_>, cond: &Expr, code: &[Stmt]) -> Stmt {
    fn assigned(code: &[Stmt], found: &mut Vec<Local>) {
        for stmt in code {
            match stmt {
                Stmt::Assign(local, _) if !found.contains(local) => found.push(*local),
                _ => stmt.bodies().into_iter().for_each(|body| assigned(body, found)),
            }
        }
    }
    let mut locals = Vec::new();
    assigned(code, &mut locals);
    let zero = |local: Local| Expr::Const(Scalar::zero(cx.locals[local.0 as usize].prim));
    let other = locals.into_iter().map(|local| Stmt::Assign(local, zero(local))).collect();
    Stmt::If { cond: cond.clone(), then: code.to_vec(), other }
}

fn is_fill(looplet: &Looplet, fill: &Scalar) -> bool {
    matches!(looplet, Looplet::Run(AccessCursor::Fill(value)) if value == fill)
}

/// Returns the fiber under a further presence flag.
fn flag_fiber(fiber: &Fiber, cond: &Expr) -> Looplet {
    let present = match &fiber.present {
        None => cond.clone(),
        Some(outer) => and(outer, cond),
    };
    let present = if SeededFault::SelectPresence.is_active() { None } else { Some(present) };
    Looplet::Run(AccessCursor::Fiber(Fiber { present, ..fiber.clone() }))
}
