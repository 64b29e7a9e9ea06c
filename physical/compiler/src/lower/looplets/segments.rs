//! Segments: a loop along steppers of spikes, blocks or runs, whose body is emitted once.
//!
//! The rule of [`super::stepper`] emits the body before, at and after the entries, simplified for
//! each case, so nested loops multiply the number of copies. If a statement has been copied often
//! (`LoweringOptions::max_copies`), or many steppers have blocks, the loop iterates over *segments*
//! instead. A segment is a gap between entries, the coordinate of a single entry, or a range of
//! coordinates between two adjacent begins or ends of blocks.
//! ```text
//! loop(i, [lo, hi), B[steppers]) =
//!     cur = lo; seek(lo)
//!     while cur < hi {
//!         p = min(stops); end = if cur < p - 1 { min(p - 1, hi) } else { p }
//!         loop(i, [cur, end), B[stepper := entry if stop == end, else fill])
//!         step those with stop == end; cur = end
//!     }
//! ```
//! The coordinates of a block are `begin..stop`. With blocks, `end` is the nearest `begin` or
//! `stop` after `cur`, but at most `hi`, and an entry is used if `begin <= cur`. A run that starts
//! where the previous run ends has no `begin`; the current run always contains `cur`. The body runs
//! at the same coordinates, in the same order, as under the rule of [`super::stepper`]. Where that
//! rule removes the terms that a fill value annihilates, this loop tests at run time whether fibers
//! are present.

use super::stepper::{Walker, has_no_effect_when_exhausted};
use super::switch::FlaggedAccess;
use super::{LoopExtent, Looplet, LoopletNest, lower_loop};
use crate::assembly::build::{eq, le, local, lt, min, or, plus, select, truth};
use crate::assembly::{Expr, Local, Stmt};
use crate::lower::cx::Cx;
use crate::lower::seeded_fault::SeededFault;
use crate::lower::state::AccessCursor;
use redpoll_logic::Prim;

/// Returns whether the rule applies: all walkers have only the fill value between entries, all
/// entries are fibers or lookups, and no walker is needed.
pub(super) fn can_segment(walkers: &[Walker]) -> bool {
    let fits = |w: &Walker| match (&w.stepper.chunk, &w.stepper.rest) {
        (Looplet::Spike { body: AccessCursor::Fill(body), tail }, AccessCursor::Fill(rest)) => {
            body == rest && is_fiber_or_lookup(tail)
        }
        (Looplet::Sequence(phases), AccessCursor::Fill(rest)) => match &phases[..] {
            [gap, block] => {
                matches!(&gap.body, Looplet::Run(AccessCursor::Fill(fill)) if fill == rest)
                    && is_fiber_or_lookup(&block.body)
            }
            _ => false,
        },
        (Looplet::Run(AccessCursor::Fiber(_)), AccessCursor::Fill(_)) => true,
        _ => false,
    };
    walkers.iter().all(|w| !w.needed && fits(w))
}

/// Returns whether the looplet is a fiber, or looks one up.
pub(super) fn is_fiber_or_lookup(tail: &Looplet) -> bool {
    match tail {
        Looplet::Run(AccessCursor::Fiber(_)) | Looplet::Lookup(_) => true,
        Looplet::Thunk { body, epilogue, .. } => epilogue.is_empty() && is_fiber_or_lookup(body),
        _ => false,
    }
}

pub(super) fn lower(cx: &mut Cx<'_>, nest: &LoopletNest, mut walkers: Vec<Walker>) {
    let LoopExtent { lo, hi, index } = nest.extent.clone();
    let (cur, end) = (cx.new_local("cur", Prim::I64), cx.new_local("end", Prim::I64));
    cx.assign(cur, lo.clone());
    let (from, to) = (local(cur), local(end));
    let skips_gaps = has_no_effect_when_exhausted(cx, nest, &walkers);
    let body = cx.loop_block(|cx| {
        for w in &mut walkers {
            w.load_entry_or_infinity(cx);
        }
        let spikes = walkers.iter().all(|w| matches!(w.chunk, Looplet::Spike { .. }));
        if spikes {
            end_at_spikes(cx, &walkers, &hi, (&from, end));
        } else {
            end_at_blocks(cx, &walkers, &hi, (&from, end));
        }
        let mut part = nest.restrict(cx, from.clone(), to.clone());
        part.extent = LoopExtent { index, lo: from.clone(), hi: to.clone() };
        part.early_exit = None;
        let mut any = truth(false);
        for w in &walkers {
            let present = cx.new_local("present", Prim::Bool);
            let is_present = match w.begin() {
                Some(_) if spikes => eq(&w.stop, &to),
                Some(begin) => le(&begin, &from),
                None => w.stepper.more.clone(),
            };
            cx.assign(present, is_present);
            part.heads[w.head].looplet = entry_looplet(cx, nest, w, (&plus(&to, -1), &local(present)));
            any = or(&any, &local(present));
        }
        let scope = cx.prover.open();
        cx.prover.assume_le(&lo, &from);
        cx.prover.assume_le(&plus(&from, 1), &to);
        cx.prover.assume_le(&to, &hi);
        let round = cx.block(|cx| lower_loop(cx, part));
        cx.prover.close(scope);
        if skips_gaps {
            cx.push_if(any, round, Vec::new());
        } else {
            cx.extend(round);
        }
        cx.end_round(nest, &to);
        for w in &walkers {
            cx.extend((w.stepper.next)(&eq(&w.stop, &to)));
        }
        cx.assign(cur, to.clone());
    });
    cx.push_steps(index, lt(&from, &hi), body);
}

/// Sets the end of the segment that starts at `from`, if all entries are single coordinates.
fn end_at_spikes(cx: &mut Cx<'_>, walkers: &[Walker], hi: &Expr, (from, end): (&Expr, Local)) {
    let nearest = walkers.iter().skip(1).fold(walkers[0].stop.clone(), |p, w| min(&p, &w.stop));
    // Facts that relate `p` to the cursors would be wrong once the walkers move.
    let scope = cx.prover.open();
    let p = cx.name("p", &nearest);
    cx.prover.close(scope);
    cx.assign(end, p.clone());
    let gap = vec![Stmt::Assign(end, min(&plus(&p, -1), hi))];
    if !SeededFault::SegmentGap.is_active() {
        cx.push_if(lt(from, &plus(&p, -1)), gap, Vec::new());
    }
}

/// Sets the end of the segment that starts at `from`: the nearest start or end of an entry, or
/// `hi`.
fn end_at_blocks(cx: &mut Cx<'_>, walkers: &[Walker], hi: &Expr, (from, end): (&Expr, Local)) {
    cx.assign(end, hi.clone());
    for w in walkers {
        let nearest = match w.begin() {
            Some(begin) if !SeededFault::SegmentBlock.is_active() => select(&lt(from, &begin), &begin, &w.stop),
            _ => w.stop.clone(),
        };
        cx.assign(end, min(&local(end), &nearest));
    }
}

/// Returns the looplet of a walker's current entry under the flag `present`. `coordinate` is the
/// coordinate of the entry, if the entry is a single coordinate.
fn entry_looplet(cx: &mut Cx<'_>, nest: &LoopletNest, w: &Walker, (coordinate, present): (&Expr, &Expr)) -> Looplet {
    let access = nest.state.access(nest.heads[w.head].members[0]);
    let (_, fiber) = access.next_subscript().expect("a walker resolves a subscript");
    let fill = w.stepper.rest.clone();
    let access = FlaggedAccess { fiber, fill: fill.clone() };
    let flagged = |cx: &mut Cx<'_>, found: &Looplet| {
        access.present_if(cx, found, present, &fill).expect("the entry of a list is a fiber")
    };
    match &w.chunk {
        Looplet::Sequence(phases) => flagged(cx, &phases[1].body),
        Looplet::Spike { tail, .. } => match flagged(cx, tail) {
            Looplet::Lookup(lookup) => lookup(cx, coordinate),
            found => found,
        },
        run => flagged(cx, run),
    }
}
