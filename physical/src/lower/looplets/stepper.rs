//! Stepper and Jumper: chunks found while going.
//!
//! Steppers move together; each round covers the coordinates up to the nearest end of a chunk:
//! ```text
//! loop(i, [lo, hi), B[steppers]) =
//!     cur = lo; seek(lo)
//!     while more { p = min(stops); loop(i, [cur, p), B[stepper := chunk cut to p]); step those with stop == p; cur = p }
//!     loop(i, [cur, hi), B[stepper := rest])
//! ```
//! An access without which nothing is left to be done (an operand of an intersection) is *needed*: the loop ends when
//! one such runs out, and code size stays linear in the number of operands. An access that is not needed and has run
//! out stands at infinity.
//!
//! Jumpers that are needed lead by leaps:
//! ```text
//!     while more { p = max(stops); seek(p - 1) those behind; loop(i, [p - 1, p), B[stepper := chunk cut to p]); .. }
//! ```
//! since before `p` one of them has nothing.

use super::{Extent, Looplet, Nest, Stepper, lower_loop, segments, truncate};
use crate::assembly::{Expr, Stmt};
use crate::lower::build::{and, eq, int, local, lt, max, min, not, or, plus, truth};
use crate::lower::cx::Cx;
use crate::lower::seeded::{self, Seeded};
use redpoll_logic::Prim;
use std::rc::Rc;

/// An access that steps.
pub(super) struct Walker {
    /// Its place among the heads.
    pub(super) head: usize,
    pub(super) stepper: Rc<Stepper>,
    /// Whether nothing is left to be done once it has run out.
    pub(super) needed: bool,
    /// Whether it may lead by leaps.
    leaps: bool,
    /// The end of its current chunk, infinite if it has run out.
    pub(super) stop: Expr,
}

pub(crate) fn lower(cx: &mut Cx<'_>, nest: &Nest) {
    let mut walkers = Vec::new();
    for (head, h) in nest.heads.iter().enumerate() {
        let (stepper, jumps) = match &h.looplet {
            Looplet::Stepper(s) => (s.clone(), false),
            Looplet::Jumper(s) => (s.clone(), true),
            _ => continue,
        };
        let needed = nest.vanishes_with(cx, &[(head, stepper.rest.clone())]);
        let stop = stepper.stop.clone();
        walkers.push(Walker { head, stepper, needed, leaps: jumps && needed, stop });
    }
    for w in &walkers {
        if !cx.prover.le(&nest.extent.lo, &w.stepper.first) && !seeded::is(Seeded::StartSeek) {
            w.stepper.seek.clone()(cx, &nest.extent.lo);
        }
    }
    if walkers.len() > 1 && walkers.iter().any(|w| w.leaps) {
        leap(cx, nest, walkers);
    } else if cx.is_crowded(&nest.body) && segments::applies(&walkers) {
        segments::lower(cx, nest, walkers);
    } else {
        let parts = 1 + u32::from(!ends_when_all_run_out(cx, nest, &walkers));
        cx.copying(parts, |cx| step(cx, nest, walkers));
    }
}

/// Whether nothing is left to be done once all walkers have run out.
fn ends_when_all_run_out(cx: &Cx<'_>, nest: &Nest, walkers: &[Walker]) -> bool {
    let met = |w: &Walker| (w.head, w.stepper.rest.clone());
    walkers.iter().any(|w| w.needed) || nest.vanishes_with(cx, &walkers.iter().map(met).collect::<Vec<_>>())
}

fn step(cx: &mut Cx<'_>, nest: &Nest, mut walkers: Vec<Walker>) {
    let Extent { lo, hi, .. } = nest.extent.clone();
    let cur = cx.new_local("cur", Prim::I64);
    cx.push(Stmt::Assign(cur, lo.clone()));
    let more = match walkers.iter().any(|w| w.needed) {
        true => walkers.iter().filter(|w| w.needed).fold(truth(true), |all, w| and(&all, &w.stepper.more)),
        false => walkers.iter().fold(truth(false), |any, w| or(&any, &w.stepper.more)),
    };
    let alone = walkers.len() == 1;
    let within = seeded::is(Seeded::BeyondExtent) || walkers.iter().all(|w| cx.prover.le(&w.stepper.bound, &hi));
    let body = cx.loop_block(|cx| {
        for w in &mut walkers {
            w.stop = if w.needed || alone { find(cx, &w.stepper) } else { find_or_infinity(cx, &w.stepper) };
        }
        let first = walkers.iter().skip(1).fold(walkers[0].stop.clone(), |p, w| min(&p, &w.stop));
        let p = cx.name("p", &first);
        if !within {
            cx.push_if(lt(&hi, &p), vec![Stmt::Break], Vec::new());
        }
        let scope = cx.prover.open();
        cx.prover.assume_le(&lo, &local(cur));
        cx.prover.assume_le(&plus(&local(cur), 1), &p);
        round(cx, nest, &walkers, (local(cur), p.clone()));
        cx.prover.close(scope);
        cx.end_round(nest, &p);
        for w in &walkers {
            let taken = if alone || seeded::is(Seeded::StepAll) { truth(true) } else { eq(&w.stop, &p) };
            cx.extend((w.stepper.next)(&taken));
        }
        cx.push(Stmt::Assign(cur, p));
    });
    cx.push(Stmt::While { cond: more, body });
    if seeded::is(Seeded::Remainder) {
        return;
    }
    let mut rest = nest.clone();
    rest.extent.lo = local(cur);
    for w in &walkers {
        rest.heads[w.head].looplet = remainder(cx, &w.stepper, &hi);
    }
    let scope = cx.prover.open();
    cx.prover.assume_le(&lo, &local(cur));
    cx.prover.assume_le(&local(cur), &hi);
    cx.unless_left(nest, |cx| cx.if_below(&local(cur), &hi, |cx| lower_loop(cx, rest)));
    cx.prover.close(scope);
}

/// One round over `[cur, p)`, every walker's chunk cut to `p`.
fn round(cx: &mut Cx<'_>, nest: &Nest, walkers: &[Walker], (cur, p): (Expr, Expr)) {
    let Extent { lo, hi, index } = nest.extent.clone();
    for w in walkers {
        cx.prover.assume_le(&p, &w.stop);
    }
    cx.prover.assume_le(&plus(&lo, 1), &p);
    cx.prover.assume_le(&p, &hi);
    let mut part = nest.over(cx, cur.clone(), p.clone());
    part.extent = Extent { index, lo: cur, hi: p.clone() };
    part.until = None;
    for w in walkers {
        part.heads[w.head].looplet = truncate::looplet(cx, &w.stepper.chunk, &w.stop, &p);
    }
    lower_loop(cx, part);
}

fn leap(cx: &mut Cx<'_>, nest: &Nest, mut walkers: Vec<Walker>) {
    let hi = nest.extent.hi.clone();
    let more = walkers.iter().filter(|w| w.needed).fold(truth(true), |all, w| and(&all, &w.stepper.more));
    let within = walkers.iter().any(|w| w.leaps && cx.prover.le(&w.stepper.bound, &hi));
    let body = cx.loop_block(|cx| {
        for w in walkers.iter_mut().filter(|w| w.leaps) {
            w.stop = find(cx, &w.stepper);
        }
        let mut leaders = walkers.iter().filter(|w| w.leaps).map(|w| w.stop.clone());
        let first = leaders.next().expect("some walker leaps");
        let furthest = leaders.fold(first, |p, stop| max(&p, &stop));
        // The leaders are about to move: what `p` is in terms of where they stand now must not be believed then.
        let scope = cx.prover.open();
        let p = cx.name("p", &furthest);
        cx.prover.close(scope);
        if !within {
            cx.push_if(lt(&hi, &p), vec![Stmt::Break], Vec::new());
        }
        for w in walkers.iter_mut().filter(|_| !seeded::is(Seeded::CatchUp)) {
            catch_up(cx, w, &p);
        }
        let scope = cx.prover.open();
        round(cx, nest, &walkers, (plus(&p, -1), p.clone()));
        cx.prover.close(scope);
        cx.end_round(nest, &p);
        for w in &walkers {
            cx.extend((w.stepper.next)(&eq(&w.stop, &p)));
        }
    });
    cx.push(Stmt::While { cond: more, body });
}

/// Moves a walker that stands before `p - 1` there, and finds out where it stands then.
fn catch_up(cx: &mut Cx<'_>, w: &mut Walker, p: &Expr) {
    let target = plus(p, -1);
    let (stepper, needed) = (w.stepper.clone(), w.needed);
    let seek = cx.block(|cx| {
        stepper.seek.clone()(cx, &target);
        if needed {
            cx.push_if(not(&stepper.more), vec![Stmt::Break], Vec::new());
        }
        if w.leaps {
            cx.extend(stepper.current.clone());
        }
    });
    if w.leaps {
        cx.push_if(lt(&w.stop, p), seek, Vec::new());
        return;
    }
    cx.extend(seek);
    w.stop = if needed { find(cx, &stepper) } else { find_or_infinity(cx, &stepper) };
}

/// Finds out about the current entry, of which there is one.
fn find(cx: &mut Cx<'_>, stepper: &Stepper) -> Expr {
    cx.extend(stepper.current.clone());
    stepper.stop.clone()
}

/// Finds out about the current entry; the end of its chunk is infinite if there is none.
pub(super) fn find_or_infinity(cx: &mut Cx<'_>, stepper: &Stepper) -> Expr {
    let (base, offset) = crate::lower::build::split(&stepper.stop);
    let stop = cx.new_local("stop", Prim::I64);
    let mut found = stepper.current.clone();
    found.push(Stmt::Assign(stop, base.cloned().unwrap_or_else(|| int(0))));
    let infinite = Stmt::Assign(stop, int(i64::MAX / 2));
    cx.push_if(stepper.more.clone(), found, vec![infinite]);
    plus(&local(stop), offset)
}

/// What a stepper is after its loop: its last chunk if that reaches beyond the extent, else the rest.
fn remainder(cx: &Cx<'_>, stepper: &Stepper, hi: &Expr) -> Looplet {
    let rest = Looplet::Run(stepper.rest.clone());
    if cx.prover.le(&stepper.bound, hi) || matches!(stepper.chunk, Looplet::Spike { .. }) {
        return rest;
    }
    let chunk = Looplet::Thunk {
        preamble: stepper.current.clone(),
        body: Rc::new(truncate::looplet(cx, &stepper.chunk, &stepper.stop, hi)),
        epilogue: Vec::new(),
    };
    Looplet::Switch { cond: stepper.more.clone(), then: Rc::new(chunk), other: Rc::new(rest) }
}
