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
//! For two lists, a first loop runs while both have entries, so that its rounds need not test each
//! list for exhaustion. This first loop is emitted only if neither list is needed (see below), the
//! body has no loop and may be copied, and the loop does not end early.
//!
//! An access is *needed* if the body has no effect without its entries (an operand of an
//! intersection). The loop ends when a needed access is exhausted. No code is emitted for the
//! coordinates after the entries of a needed access, so code size stays linear in the number of
//! operands. An exhausted access that is not needed has an infinite stop.
//!
//! Among several steppers, needed jumpers lead by leaps: each round moves to the furthest of their
//! entries.
//! ```text
//!     while more {
//!         p = max(stops); seek(p - 1) those with stop < p
//!         loop(i, [p - 1, p), B[stepper := chunk cut to p]); ..
//!     }
//! ```
//! This is correct because all leaders are needed, and the furthest leader has no further entry
//! before `p - 1`. If a leader's chunk is a gap followed by a block, the leaders leap to the
//! furthest begin of a block, and the round ends at the nearest end of a chunk:
//! ```text
//!     while more {
//!         b = max(begins); seek(b) those with stop <= b
//!         p = min(stops); loop(i, [b, p), B[..]); step those..
//!     }
//! ```

use super::{LoopExtent, Looplet, LoopletNest, SequencePhase, Stepper};
use super::{gaps, lead, lower_loop, segments, switch, truncate};
use crate::assembly::build::{and, as_truth, eq, int, local, lt, max, min, not, or, plus, truth};
use crate::assembly::{Expr, Local, Stmt};
use crate::lower::cx::Cx;
use crate::lower::seeded_fault::SeededFault;
use redpoll_logic::{Prim, Scalar};
use std::rc::Rc;

/// An access that steps.
pub(super) struct Walker {
    /// The index of the access's head in the nest.
    pub(super) head: usize,
    pub(super) stepper: Rc<Stepper>,
    /// True if the body has no effect once the access is exhausted.
    pub(super) needed: bool,
    /// True if the access may lead by leaps.
    can_leap: bool,
    /// The end of the current chunk, infinite if the access is exhausted.
    pub(super) stop: Expr,
    /// The current chunk; if the access is exhausted, phases after the first are never reached.
    pub(super) chunk: Looplet,
}

impl Walker {
    /// Returns the first coordinate after the gap with which the current chunk begins; `None` for
    /// chunks without a gap.
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

    /// Loads the current entry, which must exist.
    pub(super) fn load_entry(&mut self, cx: &mut Cx<'_>) {
        cx.extend(self.stepper.current.clone());
        self.stop = self.stepper.stop.clone();
        self.chunk = self.stepper.chunk.clone();
    }

    /// Loads the current entry; if there is none, the chunk and the gap at its beginning have an
    /// infinite end.
    pub(super) fn load_entry_or_infinity(&mut self, cx: &mut Cx<'_>) {
        let (mut load, mut none) = (self.stepper.current.clone(), Vec::new());
        let mut end = |cx: &mut Cx<'_>, stop: &Expr| {
            let (base, offset) = crate::assembly::build::split(stop);
            let end = cx.new_local("stop", Prim::I64);
            load.push(Stmt::Assign(end, base.cloned().unwrap_or_else(|| int(0))));
            none.push(Stmt::Assign(end, int(i64::MAX / 2)));
            plus(&local(end), offset)
        };
        self.stop = end(cx, &self.stepper.stop);
        self.chunk = match &self.stepper.chunk {
            Looplet::Sequence(phases) => {
                let phase = |p: &SequencePhase| SequencePhase {
                    stop: p.stop.as_ref().map(|s| end(cx, s)),
                    body: p.body.clone(),
                };
                Looplet::Sequence(phases.iter().map(phase).collect())
            }
            chunk => chunk.clone(),
        };
        // The code of blocks and runs reads the locals of their entry even where the entry is never
        // reached, so these locals are assigned.
        let spike = matches!(self.chunk, Looplet::Spike { .. });
        let assigned = self.stepper.current.iter().filter_map(|s| match s {
            Stmt::Assign(l, _) if !spike => Some(*l),
            _ => None,
        });
        none.extend(assigned.map(|l| Stmt::Assign(l, Expr::Const(Scalar::zero(cx.locals[l.index()].prim)))));
        cx.push_if(self.stepper.more.clone(), load, none);
    }
}

pub(crate) fn lower(cx: &mut Cx<'_>, nest: &LoopletNest) {
    let mut walkers = Vec::new();
    for (head, h) in nest.heads.iter().enumerate() {
        let (stepper, jumps) = match &h.looplet {
            Looplet::Stepper(s) => (s.clone(), false),
            Looplet::Jumper(s) => (s.clone(), true),
            _ => continue,
        };
        let needed = nest.has_no_effect_with(cx, &[(head, stepper.rest.clone())]);
        let (stop, chunk) = (stepper.stop.clone(), stepper.chunk.clone());
        walkers.push(Walker { head, stepper, needed, can_leap: jumps && needed, stop, chunk });
    }
    for w in &walkers {
        if !cx.prover.le(&nest.extent.lo, &w.stepper.first) && !SeededFault::StartSeek.is_active() {
            w.stepper.seek.clone()(cx, &nest.extent.lo);
        }
    }
    end_at_chunk(cx, nest, &mut walkers);
    if let Some(leader) = lead::leader(cx, nest, &walkers) {
        return lead::lower(cx, nest, walkers, leader);
    }
    if gaps::lower(cx, nest, &mut walkers) {
        return;
    }
    let blocks = walkers.iter().filter(|w| w.is_block() && !w.needed).count();
    let many = blocks > switch::MAX_BRANCHES - usize::from(nest.body.has_loop());
    if walkers.len() > 1 && walkers.iter().any(|w| w.can_leap && w.is_block()) {
        leap_to_blocks(cx, nest, walkers);
    } else if walkers.len() > 1 && walkers.iter().any(|w| w.can_leap) {
        leap(cx, nest, walkers);
    } else if (many || cx.is_copy_limited(&nest.body)) && segments::can_segment(&walkers) {
        segments::lower(cx, nest, walkers);
    } else {
        let parts = 1 + u32::from(!has_no_effect_when_exhausted(cx, nest, &walkers));
        cx.with_copies(parts, |cx| step(cx, nest, walkers));
    }
}

/// Drops the entries of a list after the end of the chunk that the call runs, so that no round
/// compares its coordinate with that end. Nothing after the loop reads the dropped entries. Loops
/// along several lists keep the comparison, because a search for each end would be more code. Code
/// for devices keeps the comparison, because a chunk of a device may have few entries.
fn end_at_chunk(cx: &mut Cx<'_>, nest: &LoopletNest, walkers: &mut [Walker]) {
    let hi = &nest.extent.hi;
    let [walker] = walkers else { return };
    if cx.lengths.is_some() || cx.chunk_end() != Some(hi) || cx.prover.le(&walker.stepper.bound, hi) {
        return;
    }
    if let Some(limit) = walker.stepper.limit.clone() {
        limit(cx, hi);
        walker.stepper = Rc::new(Stepper { bound: hi.clone(), ..(*walker.stepper).clone() });
    }
}

/// Returns whether the body has no effect once all walkers are exhausted.
pub(super) fn has_no_effect_when_exhausted(cx: &Cx<'_>, nest: &LoopletNest, walkers: &[Walker]) -> bool {
    let rest = |w: &Walker| (w.head, w.stepper.rest.clone());
    walkers.iter().any(|w| w.needed) || nest.has_no_effect_with(cx, &walkers.iter().map(rest).collect::<Vec<_>>())
}

fn step(cx: &mut Cx<'_>, nest: &LoopletNest, mut walkers: Vec<Walker>) {
    let LoopExtent { index, lo, hi } = nest.extent.clone();
    let cur = cx.new_local("cur", Prim::I64);
    cx.push(Stmt::Assign(cur, lo.clone()));
    let all_more = |walkers: &[Walker]| walkers.iter().fold(truth(true), |all, w| and(&all, &w.stepper.more));
    let more = match walkers.iter().any(|w| w.needed) {
        true => walkers.iter().filter(|w| w.needed).fold(truth(true), |all, w| and(&all, &w.stepper.more)),
        false => walkers.iter().fold(truth(false), |any, w| or(&any, &w.stepper.more)),
    };
    let alone = walkers.len() == 1;
    if alone && let Some(index) = index {
        cx.request_lanes(index, &more);
    }
    if is_short_merge(cx, nest, &walkers) {
        let body = cx.loop_block(|cx| {
            walkers.iter_mut().for_each(|w| w.load_entry(cx));
            emit_step(cx, nest, &walkers, cur);
        });
        cx.push_steps(index, all_more(&walkers), body);
    }
    let body = cx.loop_block(|cx| {
        for w in &mut walkers {
            if w.needed || alone { w.load_entry(cx) } else { w.load_entry_or_infinity(cx) }
        }
        emit_step(cx, nest, &walkers, cur);
    });
    cx.push_steps(nest.extent.index, more, body);
    if SeededFault::Remainder.is_active() {
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
    cx.unless_exited(nest, |cx| cx.if_below(&local(cur), &hi, |cx| lower_loop(cx, rest)));
    cx.prover.close(scope);
}

/// Returns whether a separate loop merges the lists while all have entries, so that its rounds need
/// not test each list for exhaustion. A separate loop pays for two lists with a short body.
fn is_short_merge(cx: &Cx<'_>, nest: &LoopletNest, walkers: &[Walker]) -> bool {
    let lists = walkers.len() == 2 && walkers.iter().all(|w| !w.needed && matches!(w.chunk, Looplet::Spike { .. }));
    lists && nest.early_exit.is_none() && !nest.body.has_loop() && !cx.is_copy_limited(&nest.body)
}

/// Emits the round that starts at `cur`, for walkers whose entries are loaded, and then their
/// steps.
fn emit_step(cx: &mut Cx<'_>, nest: &LoopletNest, walkers: &[Walker], cur: Local) {
    let LoopExtent { lo, hi, .. } = nest.extent.clone();
    let within = SeededFault::BeyondExtent.is_active() || walkers.iter().all(|w| cx.prover.le(&w.stepper.bound, &hi));
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
    let all = walkers.len() == 1 || SeededFault::StepCondition.is_active();
    let condition = |w: &Walker| if all { truth(true) } else { eq(&w.stop, &p) };
    let steps: Vec<_> = walkers.iter().map(|w| (condition(w), &*w.stepper)).collect();
    match cx.code().last() {
        Some(Stmt::If { other, .. }) if !other.is_empty() => step_at_end(cx.code(), &steps),
        _ => steps.iter().for_each(|(condition, stepper)| cx.extend((stepper.next)(condition))),
    }
    cx.push(Stmt::Assign(cur, p));
}

/// Emits the steps of walkers at the end of code. If the code ends with a branch on one of the step
/// conditions, the steps are emitted on both sides of the branch. A processor that predicts the
/// branch then starts the next round without waiting for the comparison.
fn step_at_end(code: &mut Vec<Stmt>, steps: &[(Expr, &Stepper)]) {
    if let Some(Stmt::If { cond, then, other }) = code.last_mut()
        && let Some(decided) = steps.iter().position(|(condition, _)| condition == cond)
    {
        for (side, value) in [(then, true), (other, false)] {
            let mut steps = steps.to_vec();
            steps[decided].0 = truth(value);
            step_at_end(side, &steps);
        }
        return;
    }
    for (condition, stepper) in steps.iter().filter(|(condition, _)| as_truth(condition) != Some(false)) {
        code.extend((stepper.next)(condition));
    }
}

/// Emits one round over `[cur, p)`, with every walker's chunk cut to `p`.
pub(super) fn round(cx: &mut Cx<'_>, nest: &LoopletNest, walkers: &[Walker], (cur, p): (Expr, Expr)) {
    let LoopExtent { lo, hi, index } = nest.extent.clone();
    for w in walkers {
        cx.prover.assume_le(&p, &w.stop);
        if let (true, Some(begin)) = (w.is_block(), w.begin()) {
            cx.prover.assume_le(&begin, &w.stop);
        }
    }
    cx.prover.assume_le(&plus(&lo, 1), &p);
    cx.prover.assume_le(&p, &hi);
    let mut part = nest.restrict(cx, cur.clone(), p.clone());
    part.extent = LoopExtent { index, lo: cur, hi: p.clone() };
    part.early_exit = None;
    for w in walkers {
        part.heads[w.head].looplet = truncate::looplet(cx, &w.chunk, &w.stop, &p);
    }
    lower_loop(cx, part);
}

fn leap(cx: &mut Cx<'_>, nest: &LoopletNest, mut walkers: Vec<Walker>) {
    let hi = nest.extent.hi.clone();
    let more = walkers.iter().filter(|w| w.needed).fold(truth(true), |all, w| and(&all, &w.stepper.more));
    let within = walkers.iter().any(|w| w.can_leap && cx.prover.le(&w.stepper.bound, &hi));
    let body = cx.loop_block(|cx| {
        for w in walkers.iter_mut().filter(|w| w.can_leap) {
            w.load_entry(cx);
        }
        let mut leaders = walkers.iter().filter(|w| w.can_leap).map(|w| w.stop.clone());
        let first = leaders.next().expect("a walker can leap");
        let furthest = leaders.fold(first, |p, stop| max(&p, &stop));
        // The leaders are about to move: facts that relate `p` to their current cursors would be
        // wrong afterwards.
        let scope = cx.prover.open();
        let p = cx.name("p", &furthest);
        cx.prover.close(scope);
        if !within {
            cx.push_if(lt(&hi, &p), vec![Stmt::Break], Vec::new());
        }
        for w in walkers.iter_mut().filter(|_| !SeededFault::CatchUp.is_active()) {
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

/// Moves a walker that is before `p - 1` to `p - 1`, and loads its entry. Leaves the loop if the
/// walker is needed and has no entry there or later.
fn catch_up(cx: &mut Cx<'_>, w: &mut Walker, p: &Expr) {
    let target = plus(p, -1);
    let (stepper, needed) = (w.stepper.clone(), w.needed);
    let seek = cx.block(|cx| {
        stepper.seek.clone()(cx, &target);
        if needed {
            cx.push_if(not(&stepper.more), vec![Stmt::Break], Vec::new());
        }
        if w.can_leap {
            cx.extend(stepper.current.clone());
        }
    });
    if w.can_leap {
        cx.push_if(lt(&w.stop, p), seek, Vec::new());
        return;
    }
    cx.extend(seek);
    if needed { w.load_entry(cx) } else { w.load_entry_or_infinity(cx) }
}

fn leap_to_blocks(cx: &mut Cx<'_>, nest: &LoopletNest, mut walkers: Vec<Walker>) {
    let LoopExtent { lo, hi, .. } = nest.extent.clone();
    let more = walkers.iter().filter(|w| w.needed).fold(truth(true), |all, w| and(&all, &w.stepper.more));
    let (cur, from) = (cx.new_local("cur", Prim::I64), cx.new_local("from", Prim::I64));
    cx.assign(cur, lo.clone());
    let body = cx.loop_block(|cx| {
        for w in walkers.iter_mut().filter(|w| w.can_leap) {
            w.load_entry(cx);
        }
        let begins = walkers.iter().filter(|w| w.can_leap).filter_map(Walker::begin);
        let furthest = begins.fold(local(cur), |b, begin| max(&b, &begin));
        cx.assign(from, furthest);
        cx.push_if(not(&lt(&local(from), &hi)), vec![Stmt::Break], Vec::new());
        for w in walkers.iter_mut().filter(|_| !SeededFault::CatchUp.is_active()) {
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

/// Returns the looplet of a stepper after its loop: the last chunk if this chunk reaches beyond the
/// extent, and otherwise the run after the last entry.
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
