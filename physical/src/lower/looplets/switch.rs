//! Switch: one of two looplets, by a condition known before the loop.
//!
//! ```text
//! loop(i, e, B[switch]) = if cond { loop(i, e, B[then]) } else { loop(i, e, B[other]) }
//! ```
//! A side on which nothing is left to be done is not emitted, so intersections stay small. With more than
//! [`MOST_BRANCHES`] switches that all matter on both sides, or one less around further loops, or in a statement that
//! has been copied often, each becomes a *select*: the fiber is read under a presence flag (a leaf reads
//! `present ? val : fill`, an inner fiber is empty), and the body stands only once.

use super::{Looplet, Nest, lower_loop};
use crate::assembly::Expr;
use crate::lower::build::{and, is_register_only, not};
use crate::lower::cx::Cx;
use crate::lower::seeded::{self, Seeded};
use crate::lower::state::{Cursor, Fiber};

/// With more switches than this, bodies are not copied for each case.
const MOST_BRANCHES: usize = 3;

pub(crate) fn lower(cx: &mut Cx<'_>, nest: Nest) {
    let switches: Vec<usize> =
        (0..nest.heads.len()).filter(|&k| matches!(nest.heads[k].looplet, Looplet::Switch { .. })).collect();
    let annihilating = switches.iter().copied().find(|&k| match &nest.heads[k].looplet {
        Looplet::Switch { other, .. } => match &**other {
            Looplet::Run(cursor) => nest.vanishes_with(cx, &[(k, cursor.clone())]),
            _ => false,
        },
        _ => false,
    });
    let many = switches.len() > MOST_BRANCHES - usize::from(nest.body.has_loop());
    match annihilating {
        None if many || cx.is_crowded(&nest.body) => select(cx, nest),
        None => cx.copying(2, |cx| branch(cx, &nest, switches[0])),
        Some(at) => branch(cx, &nest, at),
    }
}

fn branch(cx: &mut Cx<'_>, nest: &Nest, at: usize) {
    let Looplet::Switch { cond, then, other } = nest.heads[at].looplet.clone() else {
        unreachable!("the head is a switch");
    };
    let cond = cx.name_bool("hit", &cond);
    let (then, other) = if seeded::is(Seeded::SwitchSides) { (other, then) } else { (then, other) };
    let then = cx.block(|cx| lower_loop(cx, nest.with(at, (*then).clone())));
    let other = cx.block(|cx| lower_loop(cx, nest.with(at, (*other).clone())));
    cx.push_if(cond, then, other);
}

/// Turns the switches between a fiber and its fill value into fibers under a presence flag; others branch.
fn select(cx: &mut Cx<'_>, mut nest: Nest) {
    let mut first_other = None;
    for (k, head) in nest.heads.iter_mut().enumerate() {
        let Looplet::Switch { cond, then, other } = &head.looplet else { continue };
        match flagged(cond, then, other) {
            Some(looplet) => head.looplet = looplet,
            None => first_other = first_other.or(Some(k)),
        }
    }
    match first_other {
        Some(k) => cx.copying(2, |cx| branch(cx, &nest, k)),
        None => lower_loop(cx, nest),
    }
}

fn flagged(cond: &Expr, then: &Looplet, other: &Looplet) -> Option<Looplet> {
    let (Looplet::Run(hit), Looplet::Run(miss)) = (then, other) else { return None };
    if !is_register_only(cond) {
        return None;
    }
    match (hit, miss) {
        (Cursor::Fiber(fiber), Cursor::Fill(_)) => Some(flag(fiber, cond)),
        (Cursor::Fill(_), Cursor::Fiber(fiber)) => Some(flag(fiber, &not(cond))),
        _ => None,
    }
}

/// The fiber under a further presence flag.
pub(super) fn flag(fiber: &Fiber, cond: &Expr) -> Looplet {
    let present = match &fiber.present {
        None => cond.clone(),
        Some(outer) => and(outer, cond),
    };
    let present = if seeded::is(Seeded::SelectPresence) { None } else { Some(present) };
    Looplet::Run(Cursor::Fiber(Fiber { present, ..fiber.clone() }))
}
