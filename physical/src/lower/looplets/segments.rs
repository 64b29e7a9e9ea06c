//! Segments: steppers of spikes with the body of the loop emitted once.
//!
//! The rule of [`super::stepper`] emits the body before, at and after the entries, with what is known there; nested in
//! each other such loops multiply their copies. Once a statement has been copied often (`Options::most_copies`),
//! its loops go from end to end of *segments* instead: a gap between entries, or one coordinate at which an entry stands.
//! ```text
//! loop(i, [lo, hi), B[steppers]) =
//!     cur = lo; seek(lo)
//!     while cur < hi {
//!         p = min(stops); end = if cur < p - 1 { min(p - 1, hi) } else { p }
//!         loop(i, [cur, end), B[stepper := entry if stop == end, else fill])
//!         step those with stop == end; cur = end
//!     }
//! ```
//! It does the rounds that the entries ask for, as the other rule does; only what a fill value would have annihilated is
//! decided as it runs, by the presence of fibers.

use super::stepper::{Walker, find_or_infinity};
use super::switch::present_if;
use super::{Extent, Looplet, Nest, lower_loop};
use crate::assembly::{Expr, Stmt};
use crate::lower::build::{eq, local, lt, min, plus};
use crate::lower::cx::Cx;
use crate::lower::seeded::{self, Seeded};
use crate::lower::state::Cursor;
use redpoll_logic::Prim;

/// Whether the rule applies: between entries there is nothing but the fill value, and all walkers are of this kind.
pub(super) fn applies(walkers: &[Walker]) -> bool {
    let fits = |w: &Walker| match (&w.stepper.chunk, &w.stepper.rest) {
        (Looplet::Spike { body: Cursor::Fill(body), tail }, Cursor::Fill(rest)) => body == rest && finds_fibers(tail),
        _ => false,
    };
    walkers.iter().all(|w| !w.needed && fits(w))
}

fn finds_fibers(tail: &Looplet) -> bool {
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
    let body = cx.loop_block(|cx| {
        for w in &mut walkers {
            w.stop = find_or_infinity(cx, &w.stepper);
        }
        let nearest = walkers.iter().skip(1).fold(walkers[0].stop.clone(), |p, w| min(&p, &w.stop));
        // What `p` is in terms of where the walkers stand must not be believed once they move.
        let scope = cx.prover.open();
        let p = cx.name("p", &nearest);
        cx.prover.close(scope);
        cx.assign(end, p.clone());
        let gap = vec![Stmt::Assign(end, min(&plus(&p, -1), &hi))];
        if !seeded::is(Seeded::SegmentGap) {
            cx.push_if(lt(&from, &plus(&p, -1)), gap, Vec::new());
        }
        let mut part = nest.over(cx, from.clone(), to.clone());
        part.extent = Extent { index, lo: from.clone(), hi: to.clone() };
        part.until = None;
        let mut taken = Vec::new();
        for w in &walkers {
            let here = cx.new_local("here", Prim::Bool);
            cx.assign(here, eq(&w.stop, &to));
            part.heads[w.head].looplet = entry(cx, w, &plus(&to, -1), &local(here));
            taken.push(local(here));
        }
        let scope = cx.prover.open();
        cx.prover.assume_le(&lo, &from);
        cx.prover.assume_le(&plus(&from, 1), &to);
        cx.prover.assume_le(&to, &hi);
        lower_loop(cx, part);
        cx.prover.close(scope);
        cx.end_round(nest, &to);
        for (w, taken) in walkers.iter().zip(&taken) {
            cx.extend((w.stepper.next)(taken));
        }
        cx.assign(cur, to.clone());
    });
    cx.push(Stmt::While { cond: lt(&from, &hi), body });
}

/// What a walker's current entry, which stands at `coordinate`, is if it is `here`.
fn entry(cx: &mut Cx<'_>, w: &Walker, coordinate: &Expr, here: &Expr) -> Looplet {
    let (Looplet::Spike { tail, .. }, Cursor::Fill(fill)) = (&w.stepper.chunk, &w.stepper.rest) else {
        unreachable!("the rule applies")
    };
    match present_if(cx, tail, here, fill).expect("what lists its entries finds a fiber at each") {
        Looplet::Lookup(lookup) => lookup(cx, coordinate),
        found => found,
    }
}
