//! Sequence and its phases: the phases of one access one after the other, each cut to the extent.
//!
//! ```text
//! loop(i, [lo, hi), B[sequence]) =
//!     s1 = min(max(stop1, lo), hi); loop(i, [lo, s1), B[sequence := phase1]); loop(i, [s1, hi), B[phase2, ..])
//! ```
//! Several sequences nest: within a phase of the first, the next one is cut in turn, so their cartesian product arises
//! and phases that are empty for sure are never emitted. Where that would be too much code, those that have one thing
//! between two runs of the fill value become steppers of one entry, which [`super::segments`] lowers together.

use super::{Looplet, Nest, Phase, Stepper, lower_loop, segments, switch, truncate};
use crate::assembly::{Expr, Stmt};
use crate::lower::build::{and, local, lt, max, min, not, plus, truth};
use crate::lower::cx::Cx;
use crate::lower::seeded::{self, Seeded};
use crate::lower::state::Cursor;
use redpoll_logic::Prim;
use std::rc::Rc;

pub(crate) fn lower(cx: &mut Cx<'_>, nest: &Nest) {
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

/// The nest with its sequences of a gap, something stored and a gap as steppers, if they are many or the body is crowded.
fn as_steppers(cx: &mut Cx<'_>, nest: &Nest) -> Option<Nest> {
    let multiplies = |at: usize| match &nest.heads[at].looplet {
        Looplet::Sequence(phases) => match &phases[..] {
            [Phase { body: Looplet::Run(before), .. }, stored, Phase { body: Looplet::Run(after), .. }] => {
                let fits = before == after && matches!(before, Cursor::Fill(_)) && segments::finds_fibers(&stored.body);
                fits && !nest.vanishes_with(cx, &[(at, before.clone())])
            }
            _ => false,
        },
        _ => false,
    };
    let bands: Vec<usize> = (0..nest.heads.len()).filter(|&at| multiplies(at)).collect();
    let many = bands.len() > switch::MOST_BRANCHES - usize::from(nest.body.has_loop());
    if bands.is_empty() || !(many || cx.is_crowded(&nest.body)) {
        return None;
    }
    let mut nest = nest.clone();
    for at in bands {
        let Looplet::Sequence(phases) = &nest.heads[at].looplet else { unreachable!("it was one") };
        let stepper = one_entry(cx, phases);
        nest.heads[at].looplet = Looplet::Stepper(Rc::new(stepper));
    }
    Some(nest)
}

/// A gap, something stored and a gap as a stepper of one entry.
fn one_entry(cx: &mut Cx<'_>, phases: &[Phase]) -> Stepper {
    let [gap, stored, Phase { body: Looplet::Run(rest), .. }] = phases else { unreachable!("it has three phases") };
    let (Some(begin), Some(stop)) = (&gap.stop, &stored.stop) else { unreachable!("the last phase alone has no end") };
    let left = cx.new_local("left", Prim::Bool);
    cx.assign(left, truth(true));
    let end = stop.clone();
    Stepper {
        more: local(left),
        current: Vec::new(),
        stop: stop.clone(),
        bound: stop.clone(),
        chunk: Looplet::Sequence(vec![gap.clone(), Phase { stop: None, body: stored.body.clone() }]),
        next: Rc::new(move |taken| vec![Stmt::Assign(left, and(&local(left), &not(taken)))]),
        seek: Rc::new(move |cx, i| cx.assign(left, lt(i, &end))),
        first: begin.clone(),
        rest: rest.clone(),
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
