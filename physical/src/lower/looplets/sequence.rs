//! Sequence and its phases: the phases of an access one after the other, each cut to the extent.
//!
//! ```text
//! loop(i, [lo, hi), B[sequence]) =
//!     s1 = min(max(stop1, lo), hi)
//!     loop(i, [lo, s1), B[sequence := phase1]); loop(i, [s1, hi), B[phase2, ..])
//! ```
//! Several sequences nest: within a phase of the first, the next one is cut in turn. Their
//! cartesian product arises, and phases that are proved to be empty are never emitted. If that
//! would take too much code, sequences with one stored part after a gap, or between two gaps,
//! become steppers of one entry, which [`super::segments`] lowers together. At a single coordinate,
//! a sequence is a switch.

use super::{Head, Looplet, Nest, Phase, Stepper, lower_loop, segments, switch, truncate};
use crate::assembly::{Expr, Stmt};
use crate::lower::build::{and, as_truth, local, lt, max, min, not, plus, truth};
use crate::lower::cx::Cx;
use crate::lower::seeded::{self, Seeded};
use redpoll_logic::Prim;
use std::rc::Rc;

pub(crate) fn lower(cx: &mut Cx<'_>, nest: &Nest) {
    if cx.prover.eq(&nest.extent.hi, &plus(&nest.extent.lo, 1)) {
        return lower_loop(cx, as_switches(cx, nest));
    }
    if let Some(nest) = as_steppers(cx, nest) {
        return lower_loop(cx, nest);
    }
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
    let mut emitted = false;
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
        let phase = |cx: &mut Cx<'_>| cx.if_below(&lo, &stop, |cx| lower_loop(cx, part));
        emitted |= cx.emits(|cx| {
            cx.copying(parts, |cx| if emitted { cx.unless_left(nest, phase) } else { phase(cx) });
        });
        lo = stop;
    }
}

/// Returns the nest, whose extent is one coordinate, with its sequences as switches.
fn as_switches(cx: &Cx<'_>, nest: &Nest) -> Nest {
    let mut nest = nest.clone();
    let (lo, hi) = (nest.extent.lo.clone(), nest.extent.hi.clone());
    for head in &mut nest.heads {
        if let Looplet::Sequence(phases) = &head.looplet {
            head.looplet = at_coordinate(cx, phases, &lo, &hi);
        }
    }
    nest
}

/// Returns the looplet of phases at the coordinate `lo`; the last phase ends at `hi = lo + 1`.
fn at_coordinate(cx: &Cx<'_>, phases: &[Phase], lo: &Expr, hi: &Expr) -> Looplet {
    let decided = |stop: &Expr| match (cx.prover.lt(lo, stop), cx.prover.le(stop, lo)) {
        (true, _) => truth(true),
        (_, true) => truth(false),
        _ => lt(lo, stop),
    };
    let choose = |cond: Expr, then: Looplet, other: Looplet| match as_truth(&cond) {
        Some(true) => then,
        Some(false) => other,
        None => Looplet::Switch { cond, then: Rc::new(then), other: Rc::new(other) },
    };
    let stop = |p: &Phase| p.stop.as_ref().map_or_else(|| truth(true), decided);
    let body = |p: &Phase| truncate::looplet(cx, &p.body, p.stop.as_ref().unwrap_or(hi), hi);
    if let [before, stored, after] = phases
        && let (Looplet::Run(met), Looplet::Run(left)) = (&before.body, &after.body)
        && met == left
    {
        return choose(and(&not(&stop(before)), &stop(stored)), body(stored), body(after));
    }
    let (last, before) = phases.split_last().expect("a sequence has phases");
    before.iter().rev().fold(body(last), |rest, p| choose(stop(p), body(p), rest))
}

/// Turns sequences of a gap and a stored part, possibly followed by another gap, into steppers, if
/// there are many or the body is crowded.
fn as_steppers(cx: &mut Cx<'_>, nest: &Nest) -> Option<Nest> {
    // An absent fiber reads as the fill value of its tensor, so another value out of bounds is not
    // a gap.
    let multiplies = |at: usize| {
        let Head { looplet: Looplet::Sequence(phases), members } = &nest.heads[at] else { return false };
        let Some(fill) = nest.state.acc(members[0]).tensor.map(|t| cx.fill(t)) else { return false };
        let gap = |p: &Phase| matches!(&p.body, Looplet::Run(met) if *met == fill);
        match &phases[..] {
            [before, stored, behind @ ..] if behind.len() < 2 && gap(before) && behind.iter().all(gap) => {
                segments::finds_fibers(&stored.body) && !nest.vanishes_with(cx, &[(at, fill)])
            }
            _ => false,
        }
    };
    let blocks: Vec<usize> = (0..nest.heads.len()).filter(|&at| multiplies(at)).collect();
    let many = blocks.len() > switch::MOST_BRANCHES - usize::from(nest.body.has_loop());
    if blocks.is_empty() || !(many || cx.is_crowded(&nest.body)) {
        return None;
    }
    let mut nest = nest.clone();
    for at in blocks {
        let Looplet::Sequence(phases) = &nest.heads[at].looplet else { unreachable!("it was one") };
        let stepper = one_entry(cx, phases, &nest.extent.hi);
        nest.heads[at].looplet = Looplet::Stepper(Rc::new(stepper));
    }
    Some(nest)
}

/// Returns a gap and a stored part, which ends at another gap or at `hi`, as a stepper of one
/// entry.
fn one_entry(cx: &mut Cx<'_>, phases: &[Phase], hi: &Expr) -> Stepper {
    let [Phase { stop: Some(begin), body: Looplet::Run(rest) }, stored, ..] = phases else {
        unreachable!("it begins with a gap")
    };
    let stop = stored.stop.as_ref().unwrap_or(hi);
    let left = cx.new_local("left", Prim::Bool);
    cx.assign(left, truth(true));
    let end = stop.clone();
    Stepper {
        more: local(left),
        current: Vec::new(),
        stop: stop.clone(),
        bound: stop.clone(),
        chunk: Looplet::Sequence(vec![
            Phase { stop: Some(begin.clone()), body: Looplet::Run(rest.clone()) },
            Phase { stop: None, body: stored.body.clone() },
        ]),
        next: Rc::new(move |taken| vec![Stmt::Assign(left, and(&local(left), &not(taken)))]),
        seek: Rc::new(move |cx, i| cx.assign(left, lt(i, &end))),
        first: begin.clone(),
        rest: rest.clone(),
    }
}

/// Returns `stop` clamped to `[lo, hi]`, where `lo <= hi`, in a local if it is not cheap.
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
