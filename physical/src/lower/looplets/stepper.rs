//! Stepper and Jumper: chunks found during iteration.
//!
//! Steppers move together; each round covers the coordinates up to the nearest end of a chunk:
//! ```text
//! loop(i, [lo, hi), B[steppers]) =
//!     cur = lo; seek(lo)
//!     while more {
//!         p = min(stops); loop(i, [cur, p), B[stepper := chunk cut to p])
//!         step those with stop == p; cur = p
//!     }
//!     loop(i, [cur, hi), B[stepper := rest])
//! ```
//! Two lists, neither of which is needed, first have a loop that runs while both have entries and
//! need not test for exhaustion in each round.
//!
//! An access is *needed* if the body has no effect without its entries (an operand of an
//! intersection). The loop ends when a needed access is exhausted, and code size stays linear in
//! the number of operands. An exhausted access that is not needed has an infinite stop.
//!
//! Needed jumpers lead by leaps:
//! ```text
//!     while more {
//!         p = max(stops); seek(p - 1) those behind
//!         loop(i, [p - 1, p), B[stepper := chunk cut to p]); ..
//!     }
//! ```
//! This is correct because one of them has no entry before `p`. If a leader's chunk is a gap
//! followed by a block, the leaders leap to the furthest begin of a block, and the round covers the
//! rest of all blocks there:
//! ```text
//!     while more {
//!         b = max(begins); seek(b) those that end there
//!         p = min(stops); loop(i, [b, p), B[..]); step those..
//!     }
//! ```

use super::{Extent, Looplet, Nest, Phase, Stepper, lead, lower_loop, segments, switch, truncate};
use crate::assembly::{Expr, Local, Stmt};
use crate::lower::build::{and, as_truth, eq, int, local, lt, max, min, not, or, plus, truth};
use crate::lower::cx::Cx;
use crate::lower::seeded::{self, Seeded};
use redpoll_logic::{Prim, Scalar};
use std::rc::Rc;

/// An access that steps.
pub(super) struct Walker {
    /// The index of its head in the nest.
    pub(super) head: usize,
    pub(super) stepper: Rc<Stepper>,
    /// True if the body has no effect once the access is exhausted.
    pub(super) needed: bool,
    /// True if the access may lead by leaps.
    leaps: bool,
    /// The end of its current chunk, infinite if the access is exhausted.
    pub(super) stop: Expr,
    /// The current chunk; if the access is exhausted, phases after the first are never reached.
    pub(super) chunk: Looplet,
}

impl Walker {
    /// Returns the first coordinate of the entry in the current chunk, after a gap.
    pub(super) fn begin(&self) -> Option<Expr> {
        match &self.chunk {
            Looplet::Spike { .. } => Some(plus(&self.stop, -1)),
            Looplet::Sequence(phases) => phases[0].stop.clone(),
            _ => None,
        }
    }

    fn is_block(&self) -> bool {
        matches!(self.chunk, Looplet::Sequence(_))
    }

    /// Loads the current entry, which exists.
    pub(super) fn find(&mut self, cx: &mut Cx<'_>) {
        cx.extend(self.stepper.current.clone());
        self.stop = self.stepper.stop.clone();
        self.chunk = self.stepper.chunk.clone();
    }

    /// Loads the current entry; if there is none, the chunk is an infinite gap.
    pub(super) fn find_or_infinity(&mut self, cx: &mut Cx<'_>) {
        let (mut found, mut none) = (self.stepper.current.clone(), Vec::new());
        let mut end = |cx: &mut Cx<'_>, stop: &Expr| {
            let (base, offset) = crate::lower::build::split(stop);
            let end = cx.new_local("stop", Prim::I64);
            found.push(Stmt::Assign(end, base.cloned().unwrap_or_else(|| int(0))));
            none.push(Stmt::Assign(end, int(i64::MAX / 2)));
            plus(&local(end), offset)
        };
        self.stop = end(cx, &self.stepper.stop);
        self.chunk = match &self.stepper.chunk {
            Looplet::Sequence(phases) => {
                let phase = |p: &Phase| Phase { stop: p.stop.as_ref().map(|s| end(cx, s)), body: p.body.clone() };
                Looplet::Sequence(phases.iter().map(phase).collect())
            }
            chunk => chunk.clone(),
        };
        // Code of blocks and runs that are never reached reads the locals of their entry, which
        // must be assigned.
        let spike = matches!(self.chunk, Looplet::Spike { .. });
        let assigned = self.stepper.current.iter().filter_map(|s| match s {
            Stmt::Assign(l, _) if !spike => Some(*l),
            _ => None,
        });
        none.extend(assigned.map(|l| Stmt::Assign(l, Expr::Const(Scalar::zero(cx.locals[l.index()].prim)))));
        cx.push_if(self.stepper.more.clone(), found, none);
    }
}

pub(crate) fn lower(cx: &mut Cx<'_>, nest: &Nest) {
    let mut walkers = Vec::new();
    for (head, h) in nest.heads.iter().enumerate() {
        let (stepper, jumps) = match &h.looplet {
            Looplet::Stepper(s) => (s.clone(), false),
            Looplet::Jumper(s) => (s.clone(), true),
            _ => continue,
        };
        let needed = nest.ends_with(cx, &[(head, stepper.rest.clone())]);
        let (stop, chunk) = (stepper.stop.clone(), stepper.chunk.clone());
        walkers.push(Walker { head, stepper, needed, leaps: jumps && needed, stop, chunk });
    }
    for w in &walkers {
        if !cx.prover.le(&nest.extent.lo, &w.stepper.first) && !seeded::is(Seeded::StartSeek) {
            w.stepper.seek.clone()(cx, &nest.extent.lo);
        }
    }
    if let Some(leader) = lead::leader(cx, nest, &walkers) {
        return lead::lower(cx, nest, walkers, leader);
    }
    let blocks = walkers.iter().filter(|w| w.is_block() && !w.needed).count();
    let many = blocks > switch::MOST_BRANCHES - usize::from(nest.body.has_loop());
    if walkers.len() > 1 && walkers.iter().any(|w| w.leaps && w.is_block()) {
        leap_to_blocks(cx, nest, walkers);
    } else if walkers.len() > 1 && walkers.iter().any(|w| w.leaps) {
        leap(cx, nest, walkers);
    } else if (many || cx.is_crowded(&nest.body)) && segments::applies(&walkers) {
        segments::lower(cx, nest, walkers);
    } else {
        let parts = 1 + u32::from(!ends_when_all_run_out(cx, nest, &walkers));
        cx.copying(parts, |cx| step(cx, nest, walkers));
    }
}

/// Returns whether the body has no effect once all walkers are exhausted.
pub(super) fn ends_when_all_run_out(cx: &Cx<'_>, nest: &Nest, walkers: &[Walker]) -> bool {
    let met = |w: &Walker| (w.head, w.stepper.rest.clone());
    walkers.iter().any(|w| w.needed) || nest.ends_with(cx, &walkers.iter().map(met).collect::<Vec<_>>())
}

fn step(cx: &mut Cx<'_>, nest: &Nest, mut walkers: Vec<Walker>) {
    let Extent { index, lo, hi } = nest.extent.clone();
    let cur = cx.new_local("cur", Prim::I64);
    cx.push(Stmt::Assign(cur, lo.clone()));
    let all_have_more = |walkers: &[Walker]| walkers.iter().fold(truth(true), |all, w| and(&all, &w.stepper.more));
    let more = match walkers.iter().any(|w| w.needed) {
        true => walkers.iter().filter(|w| w.needed).fold(truth(true), |all, w| and(&all, &w.stepper.more)),
        false => walkers.iter().fold(truth(false), |any, w| or(&any, &w.stepper.more)),
    };
    let alone = walkers.len() == 1;
    if alone && let Some(index) = index {
        cx.ask_for_lanes(index, &more);
    }
    if is_short_merge(cx, nest, &walkers) {
        let body = cx.loop_block(|cx| {
            walkers.iter_mut().for_each(|w| w.find(cx));
            step_once(cx, nest, &walkers, cur);
        });
        cx.push_steps(index, all_have_more(&walkers), body);
    }
    let body = cx.loop_block(|cx| {
        for w in &mut walkers {
            if w.needed || alone { w.find(cx) } else { w.find_or_infinity(cx) }
        }
        step_once(cx, nest, &walkers, cur);
    });
    cx.push_steps(nest.extent.index, more, body);
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

/// Returns whether lists are merged by a separate loop that runs while all have entries, without
/// testing each in each round. This pays for two lists with a short body.
fn is_short_merge(cx: &Cx<'_>, nest: &Nest, walkers: &[Walker]) -> bool {
    let lists = walkers.len() == 2 && walkers.iter().all(|w| !w.needed && matches!(w.chunk, Looplet::Spike { .. }));
    lists && nest.until.is_none() && !nest.body.has_loop() && !cx.is_crowded(&nest.body)
}

/// Emits a round from `cur` on of walkers whose entries are loaded, and their steps.
fn step_once(cx: &mut Cx<'_>, nest: &Nest, walkers: &[Walker], cur: Local) {
    let Extent { lo, hi, .. } = nest.extent.clone();
    let within = seeded::is(Seeded::BeyondExtent) || walkers.iter().all(|w| cx.prover.le(&w.stepper.bound, &hi));
    let first = walkers.iter().skip(1).fold(walkers[0].stop.clone(), |p, w| min(&p, &w.stop));
    let p = cx.name("p", &first);
    if !within {
        cx.push_if(lt(&hi, &p), vec![Stmt::Break], Vec::new());
    }
    let scope = cx.prover.open();
    cx.prover.assume_le(&lo, &local(cur));
    cx.prover.assume_le(&plus(&local(cur), 1), &p);
    round(cx, nest, walkers, (local(cur), p.clone()));
    cx.prover.close(scope);
    cx.end_round(nest, &p);
    let all = walkers.len() == 1 || seeded::is(Seeded::StepAll);
    let taken = |w: &Walker| if all { truth(true) } else { eq(&w.stop, &p) };
    let steps: Vec<_> = walkers.iter().map(|w| (taken(w), &*w.stepper)).collect();
    match cx.code().last() {
        Some(Stmt::If { other, .. }) if !other.is_empty() => step_at_end(cx.code(), &steps),
        _ => steps.iter().for_each(|(taken, stepper)| cx.extend((stepper.next)(taken))),
    }
    cx.push(Stmt::Assign(cur, p));
}

/// Emits the steps of walkers at the end of code. If the code ends with a branch on one of the step
/// conditions, the steps are emitted on both sides of the branch. A processor that predicts the
/// branch then starts the next round without waiting for the comparison.
fn step_at_end(code: &mut Vec<Stmt>, steps: &[(Expr, &Stepper)]) {
    if let Some(Stmt::If { cond, then, other }) = code.last_mut()
        && let Some(decided) = steps.iter().position(|(taken, _)| taken == cond)
    {
        for (side, known) in [(then, true), (other, false)] {
            let mut steps = steps.to_vec();
            steps[decided].0 = truth(known);
            step_at_end(side, &steps);
        }
        return;
    }
    for (taken, stepper) in steps.iter().filter(|(taken, _)| as_truth(taken) != Some(false)) {
        code.extend((stepper.next)(taken));
    }
}

/// Emits one round over `[cur, p)`, with every walker's chunk cut to `p`.
pub(super) fn round(cx: &mut Cx<'_>, nest: &Nest, walkers: &[Walker], (cur, p): (Expr, Expr)) {
    let Extent { lo, hi, index } = nest.extent.clone();
    for w in walkers {
        cx.prover.assume_le(&p, &w.stop);
        if let (true, Some(begin)) = (w.is_block(), w.begin()) {
            cx.prover.assume_le(&begin, &w.stop);
        }
    }
    cx.prover.assume_le(&plus(&lo, 1), &p);
    cx.prover.assume_le(&p, &hi);
    let mut part = nest.over(cx, cur.clone(), p.clone());
    part.extent = Extent { index, lo: cur, hi: p.clone() };
    part.until = None;
    for w in walkers {
        part.heads[w.head].looplet = truncate::looplet(cx, &w.chunk, &w.stop, &p);
    }
    lower_loop(cx, part);
}

fn leap(cx: &mut Cx<'_>, nest: &Nest, mut walkers: Vec<Walker>) {
    let hi = nest.extent.hi.clone();
    let more = walkers.iter().filter(|w| w.needed).fold(truth(true), |all, w| and(&all, &w.stepper.more));
    let within = walkers.iter().any(|w| w.leaps && cx.prover.le(&w.stepper.bound, &hi));
    let body = cx.loop_block(|cx| {
        for w in walkers.iter_mut().filter(|w| w.leaps) {
            w.find(cx);
        }
        let mut leaders = walkers.iter().filter(|w| w.leaps).map(|w| w.stop.clone());
        let first = leaders.next().expect("some walker leaps");
        let furthest = leaders.fold(first, |p, stop| max(&p, &stop));
        // The leaders are about to move: facts that relate `p` to their current cursors would be
        // wrong afterwards.
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
    cx.push_steps(nest.extent.index, more, body);
}

/// Moves a walker that is before `p - 1` there, and loads its entry.
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
    if needed { w.find(cx) } else { w.find_or_infinity(cx) }
}

fn leap_to_blocks(cx: &mut Cx<'_>, nest: &Nest, mut walkers: Vec<Walker>) {
    let Extent { lo, hi, .. } = nest.extent.clone();
    let more = walkers.iter().filter(|w| w.needed).fold(truth(true), |all, w| and(&all, &w.stepper.more));
    let (cur, from) = (cx.new_local("cur", Prim::I64), cx.new_local("from", Prim::I64));
    cx.assign(cur, lo.clone());
    let body = cx.loop_block(|cx| {
        for w in walkers.iter_mut().filter(|w| w.leaps) {
            w.find(cx);
        }
        let begins = walkers.iter().filter(|w| w.leaps).filter_map(Walker::begin);
        let furthest = begins.fold(local(cur), |b, begin| max(&b, &begin));
        cx.assign(from, furthest);
        cx.push_if(not(&lt(&local(from), &hi)), vec![Stmt::Break], Vec::new());
        for w in walkers.iter_mut().filter(|_| !seeded::is(Seeded::CatchUp)) {
            catch_up(cx, w, &plus(&local(from), 1));
        }
        let nearest = walkers.iter().fold(hi.clone(), |p, w| min(&p, &w.stop));
        let scope = cx.prover.open();
        let p = cx.name("p", &nearest);
        cx.prover.assume_le(&lo, &local(from));
        cx.prover.assume_le(&plus(&local(from), 1), &p);
        round(cx, nest, &walkers, (local(from), p.clone()));
        cx.prover.close(scope);
        cx.end_round(nest, &p);
        for w in &walkers {
            cx.extend((w.stepper.next)(&eq(&w.stop, &p)));
        }
        cx.push(Stmt::Assign(cur, p));
    });
    cx.push_steps(nest.extent.index, more, body);
}

/// Returns the looplet of a stepper after its loop: its last chunk if that reaches beyond the
/// extent, and otherwise the rest.
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
