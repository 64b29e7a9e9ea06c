//! Sequence and its phases: the phases of one access one after the other, each cut to the extent.
//!
//! ```text
//! loop(i, [lo, hi), B[sequence]) =
//!     s1 = min(max(stop1, lo), hi); loop(i, [lo, s1), B[sequence := phase1]); loop(i, [s1, hi), B[phase2, ..])
//! ```
//! Several sequences nest: within a phase of the first, the next one is cut in turn, so their cartesian product arises
//! and phases that are empty for sure are never emitted.

use super::{Looplet, Nest, Phase, lower_loop, truncate};
use crate::assembly::Expr;
use crate::lower::build::{max, min, plus};
use crate::lower::cx::Cx;
use crate::lower::seeded::{self, Seeded};

pub(crate) fn lower(cx: &mut Cx<'_>, nest: &Nest) {
    let (at, phases) = nest
        .heads
        .iter()
        .enumerate()
        .find_map(|(at, h)| match &h.looplet {
            Looplet::Sequence(phases) => Some((at, phases.clone())),
            _ => None,
        })
        .expect("the rule is chosen for a sequence");
    let hi = nest.extent.hi.clone();
    let mut lo = nest.extent.lo.clone();
    let vanishes = |p: &Phase| matches!(&p.body, Looplet::Run(c) if nest.vanishes_with(cx, &[(at, c.clone())]));
    let parts = phases.iter().filter(|p| !vanishes(p)).count() as u32;
    for phase in phases {
        let stop = match &phase.stop {
            Some(stop) if seeded::is(Seeded::PhaseStop) => clamp(cx, &plus(stop, 1), &lo, &hi),
            Some(stop) => clamp(cx, stop, &lo, &hi),
            None if seeded::is(Seeded::LastPhase) => lo.clone(),
            None => hi.clone(),
        };
        let natural = phase.stop.as_ref().unwrap_or(&hi);
        let body = truncate::looplet(cx, &phase.body, natural, &stop);
        let part = nest.over(cx, lo.clone(), stop.clone()).with(at, body);
        cx.copying(parts, |cx| cx.unless_left(nest, |cx| cx.if_below(&lo, &stop, |cx| lower_loop(cx, part))));
        lo = stop;
    }
}

/// `stop` within `[lo, hi]`, which holds `lo <= hi`, named if it is not cheap.
fn clamp(cx: &mut Cx<'_>, stop: &Expr, lo: &Expr, hi: &Expr) -> Expr {
    let mut clamped = stop.clone();
    if cx.prover.le(&clamped, lo) {
        return lo.clone();
    }
    if cx.prover.le(hi, &clamped) {
        return hi.clone();
    }
    if !cx.prover.le(&clamped, hi) {
        clamped = min(&clamped, hi);
    }
    if !cx.prover.le(lo, &clamped) {
        clamped = max(&clamped, lo);
    }
    let named = cx.name("stop", &clamped);
    cx.prover.assume_le(lo, &named);
    cx.prover.assume_le(&named, hi);
    named
}
