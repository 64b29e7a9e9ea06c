//! Segments: steppers of spikes, blocks or runs with the body of the loop emitted once.
//!
//! The rule of [`super::stepper`] emits the body before, at and after the entries, simplified for
//! each case, so nested loops multiply their copies. Once a statement has been copied often
//! (`Options::most_copies`), its loops iterate over *segments* instead. A segment is a gap between
//! entries, the coordinate of a single entry, or a range of coordinates between adjacent ends of
//! blocks.
//! ```text
//! loop(i, [lo, hi), B[steppers]) =
//!     cur = lo; seek(lo)
//!     while cur < hi {
//!         p = min(stops); end = if cur < p - 1 { min(p - 1, hi) } else { p }
//!         loop(i, [cur, end), B[stepper := entry if stop == end, else fill])
//!         step those with stop == end; cur = end
//!     }
//! ```
//! With blocks, whose coordinates are `begin..stop`, `end` is the nearest `begin` or `stop` after
//! `cur`, and `begin <= cur` decides whether the entry is used. A run that directly follows another
//! one begins before `cur`. This rule runs the same rounds as the other one. The terms that a fill
//! value would have annihilated are decided at run time, by the presence of fibers.

use super::stepper::{Walker, ends_when_all_run_out};
use super::switch::present_if;
use super::{Extent, Looplet, Nest, lower_loop};
use crate::assembly::{Expr, Local, Stmt};
use crate::lower::build::{eq, le, local, lt, min, or, plus, select, truth};
use crate::lower::cx::Cx;
use crate::lower::seeded::{self, Seeded};
use crate::lower::state::Cursor;
use redpoll_logic::Prim;

/// Returns whether the rule applies: all walkers have only the fill value between entries, and none
/// is needed.
pub(super) fn applies(walkers: &[Walker]) -> bool {
    let fits = |w: &Walker| match (&w.stepper.chunk, &w.stepper.rest) {
        (Looplet::Spike { body: Cursor::Fill(body), tail }, Cursor::Fill(rest)) => body == rest && finds_fibers(tail),
        (Looplet::Sequence(phases), Cursor::Fill(rest)) => match &phases[..] {
            [gap, block] => {
                matches!(&gap.body, Looplet::Run(Cursor::Fill(fill)) if fill == rest) && finds_fibers(&block.body)
            }
            _ => false,
        },
        (Looplet::Run(Cursor::Fiber(_)), Cursor::Fill(_)) => true,
        _ => false,
    };
    walkers.iter().all(|w| !w.needed && fits(w))
}

/// Returns whether the looplet is a fiber, or looks one up.
pub(super) fn finds_fibers(tail: &Looplet) -> bool {
    match tail {
        Looplet::Run(Cursor::Fiber(_)) | Looplet::Lookup(_) => true,
        Looplet::Thunk { body, epilogue, .. } => epilogue.is_empty() && finds_fibers(body),
        _ => false,
    }
}

pub(super) fn lower(cx: &mut Cx<'_>, nest: &Nest, mut walkers: Vec<Walker>) {
    let Extent { lo, hi, index } = nest.extent.clone();
    let (cur, end) = (cx.new_local("cur", Prim::I64), cx.new_local("end", Prim::I64));
    cx.assign(cur, lo.clone());
    let (from, to) = (local(cur), local(end));
    let nothing_in_gaps = ends_when_all_run_out(cx, nest, &walkers);
    let body = cx.loop_block(|cx| {
        for w in &mut walkers {
            w.find_or_infinity(cx);
        }
        let spikes = walkers.iter().all(|w| matches!(w.chunk, Looplet::Spike { .. }));
        if spikes {
            end_at_spikes(cx, &walkers, &hi, (&from, end));
        } else {
            end_at_blocks(cx, &walkers, &hi, (&from, end));
        }
        let mut part = nest.over(cx, from.clone(), to.clone());
        part.extent = Extent { index, lo: from.clone(), hi: to.clone() };
        part.until = None;
        let mut any = truth(false);
        for w in &walkers {
            let here = cx.new_local("here", Prim::Bool);
            let stands = match w.begin() {
                Some(_) if spikes => eq(&w.stop, &to),
                Some(begin) => le(&begin, &from),
                None => w.stepper.more.clone(),
            };
            cx.assign(here, stands);
            part.heads[w.head].looplet = entry(cx, w, &plus(&to, -1), &local(here));
            any = or(&any, &local(here));
        }
        let scope = cx.prover.open();
        cx.prover.assume_le(&lo, &from);
        cx.prover.assume_le(&plus(&from, 1), &to);
        cx.prover.assume_le(&to, &hi);
        let round = cx.block(|cx| lower_loop(cx, part));
        cx.prover.close(scope);
        if nothing_in_gaps {
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
    if !seeded::is(Seeded::SegmentGap) {
        cx.push_if(lt(from, &plus(&p, -1)), gap, Vec::new());
    }
}

/// Sets the end of the segment that starts at `from`: the nearest start or end of an entry.
fn end_at_blocks(cx: &mut Cx<'_>, walkers: &[Walker], hi: &Expr, (from, end): (&Expr, Local)) {
    cx.assign(end, hi.clone());
    for w in walkers {
        let nearest = match w.begin() {
            Some(begin) if !seeded::is(Seeded::SegmentBlock) => select(&lt(from, &begin), &begin, &w.stop),
            _ => w.stop.clone(),
        };
        cx.assign(end, min(&local(end), &nearest));
    }
}

/// Returns the looplet of a walker's current entry, which is present if `here`. `coordinate` is
/// that of a single entry.
fn entry(cx: &mut Cx<'_>, w: &Walker, coordinate: &Expr, here: &Expr) -> Looplet {
    let Cursor::Fill(fill) = &w.stepper.rest else { unreachable!("the rule applies") };
    let present = |cx: &Cx<'_>, found: &Looplet| {
        present_if(cx, found, here, fill).expect("what lists its entries finds a fiber at each")
    };
    match &w.chunk {
        Looplet::Sequence(phases) => present(cx, &phases[1].body),
        Looplet::Spike { tail, .. } => match present(cx, tail) {
            Looplet::Lookup(lookup) => lookup(cx, coordinate),
            found => found,
        },
        run => present(cx, run),
    }
}
