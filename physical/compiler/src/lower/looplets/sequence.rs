//! Sequence (with its phases): lowers the phases of an access one after the other, each cut to the
//! extent.
//!
//! ```text
//! loop(i, [lo, hi), B[sequence]) =
//!     s1 = min(max(stop1, lo), hi)
//!     loop(i, [lo, s1), B[sequence := phase1]); loop(i, [s1, hi), B[phase2, ..])
//! ```
//! Several sequences nest: within each phase of the first sequence, the next sequence is cut in
//! turn. The code has every combination of phases, except combinations that are proved to be empty,
//! or in which the body has no effect. If that would be too much code, sequences with one stored
//! part after a gap, or between two gaps, become steppers of one entry, which [`super::segments`]
//! can lower together. At a single coordinate, a sequence is a switch.

use super::{Head, Looplet, LoopletNest, SequencePhase, Stepper, lower_loop, segments, switch, truncate};
use crate::assembly::build::{and, as_truth, local, lt, max, min, not, plus, truth};
use crate::assembly::{Expr, Stmt};
use crate::lower::cx::Cx;
use crate::lower::seeded_fault::SeededFault;
use redpoll_logic::Prim;
use std::rc::Rc;

pub(crate) fn lower(cx: &mut Cx<'_>, nest: &LoopletNest) {
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
        .expect("the nest has a sequence");
    let hi = nest.extent.hi.clone();
    let mut lo = nest.extent.lo.clone();
    let only_fills =
        |p: &SequencePhase| matches!(&p.body, Looplet::Run(c) if nest.only_fills_with(cx, &[(at, c.clone())]));
    let parts = phases.iter().filter(|p| !only_fills(p)).count() as u32;
    let mut emitted = false;
    // The end of the previous phase, which may be out of the extent. This end is at most `lo` if
    // the current phase is not empty.
    let mut before: Option<Expr> = None;
    for phase in phases {
        let stop = match &phase.stop {
            Some(stop) if SeededFault::PhaseStop.is_active() => clamp(cx, &plus(stop, 1), &lo, &hi),
            Some(stop) => clamp(cx, stop, &lo, &hi),
            None if SeededFault::LastPhase.is_active() => lo.clone(),
            None => hi.clone(),
        };
        let body = truncate::looplet(cx, &phase.body, phase.stop.as_ref().unwrap_or(&hi), &stop);
        let part = nest.restrict(cx, lo.clone(), stop.clone()).with_looplet(at, body);
        // The ends become facts, because other sequences may end their phases at the same
        // coordinates.
        let (begin, end) = (before, phase.stop.clone());
        let emit = |cx: &mut Cx<'_>| {
            cx.if_below(&lo, &stop, |cx| {
                let scope = cx.prover.open();
                begin.iter().for_each(|begin| cx.prover.assume_le(begin, &lo));
                end.iter().for_each(|end| cx.prover.assume_le(&stop, end));
                lower_loop(cx, part);
                cx.prover.close(scope);
            });
        };
        emitted |= cx.emits_code(|cx| {
            cx.with_copies(parts, |cx| if emitted { cx.unless_exited(nest, emit) } else { emit(cx) });
        });
        (before, lo) = (phase.stop, stop);
    }
}

/// Returns the nest, whose extent is one coordinate, with its sequences as switches.
fn as_switches(cx: &Cx<'_>, nest: &LoopletNest) -> LoopletNest {
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
fn at_coordinate(cx: &Cx<'_>, phases: &[SequencePhase], lo: &Expr, hi: &Expr) -> Looplet {
    let is_before = |stop: &Expr| match (cx.prover.lt(lo, stop), cx.prover.le(stop, lo)) {
        (true, _) => truth(true),
        (_, true) => truth(false),
        _ => lt(lo, stop),
    };
    let choose = |cond: Expr, then: Looplet, other: Looplet| match as_truth(&cond) {
        Some(true) => then,
        Some(false) => other,
        None => Looplet::Switch { cond, then: Rc::new(then), other: Rc::new(other) },
    };
    let stop = |p: &SequencePhase| p.stop.as_ref().map_or_else(|| truth(true), is_before);
    let body = |p: &SequencePhase| truncate::looplet(cx, &p.body, p.stop.as_ref().unwrap_or(hi), hi);
    if let [before, stored, after] = phases
        && let (Looplet::Run(first), Looplet::Run(last)) = (&before.body, &after.body)
        && first == last
    {
        return choose(and(&not(&stop(before)), &stop(stored)), body(stored), body(after));
    }
    let (last, before) = phases.split_last().expect("a sequence has phases");
    before.iter().rev().fold(body(last), |rest, p| choose(stop(p), body(p), rest))
}

/// Turns sequences of a gap and a stored part, possibly followed by another gap, into steppers, if
/// there are many such sequences or the body must not be copied further.
fn as_steppers(cx: &mut Cx<'_>, nest: &LoopletNest) -> Option<LoopletNest> {
    // An absent fiber reads as the fill value of its tensor, so a phase with another value, such as
    // one that is read out of bounds, is not a gap.
    let is_stored_part = |at: usize| {
        let Head { looplet: Looplet::Sequence(phases), members } = &nest.heads[at] else { return false };
        let Some(fill) = nest.state.access(members[0]).tensor.map(|t| cx.fill(t)) else { return false };
        let gap = |p: &SequencePhase| matches!(&p.body, Looplet::Run(cursor) if *cursor == fill);
        match &phases[..] {
            [before, stored, after @ ..] if after.len() < 2 && gap(before) && after.iter().all(gap) => {
                segments::is_fiber_or_lookup(&stored.body) && !nest.only_fills_with(cx, &[(at, fill)])
            }
            _ => false,
        }
    };
    let blocks: Vec<usize> = (0..nest.heads.len()).filter(|&at| is_stored_part(at)).collect();
    let many = blocks.len() > switch::MAX_BRANCHES - usize::from(nest.body.has_loop());
    if blocks.is_empty() || !(many || cx.is_copy_limited(&nest.body)) {
        return None;
    }
    let mut nest = nest.clone();
    for at in blocks {
        let Looplet::Sequence(phases) = &nest.heads[at].looplet else { unreachable!("the head is a sequence") };
        let stepper = single_entry_stepper(cx, phases, &nest.extent.hi);
        nest.heads[at].looplet = Looplet::Stepper(Rc::new(stepper));
    }
    Some(nest)
}

/// Returns a gap and a stored part, which ends at another gap or at `hi`, as a stepper of one
/// entry.
fn single_entry_stepper(cx: &mut Cx<'_>, phases: &[SequencePhase], hi: &Expr) -> Stepper {
    let [SequencePhase { stop: Some(begin), body: Looplet::Run(rest) }, stored, ..] = phases else {
        unreachable!("the sequence begins with a gap")
    };
    let stop = stored.stop.as_ref().unwrap_or(hi);
    let pending = cx.new_local("pending", Prim::Bool);
    cx.assign(pending, truth(true));
    let end = stop.clone();
    Stepper {
        more: local(pending),
        current: Vec::new(),
        stop: stop.clone(),
        bound: stop.clone(),
        chunk: Looplet::Sequence(vec![
            SequencePhase { stop: Some(begin.clone()), body: Looplet::Run(rest.clone()) },
            SequencePhase { stop: None, body: stored.body.clone() },
        ]),
        next: Rc::new(move |condition| vec![Stmt::Assign(pending, and(&local(pending), &not(condition)))]),
        seek: Rc::new(move |cx, i| cx.assign(pending, lt(i, &end))),
        first: begin.clone(),
        rest: rest.clone(),
        entries: None,
        limit: None,
    }
}

/// Returns `stop` clamped to `[lo, hi]`, where `lo <= hi`, in a local if the clamped expression is
/// not cheap.
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
