//! Leads: intersections whose rounds do not depend on each other, for machines whose lanes share
//! the rounds.
//!
//! One of the needed lists (see [`super::stepper`]) leads. For each entry of the leader, the other
//! steppers are searched from the position at which the loop starts. Each round uses its own copies
//! of the cursors, so that no round depends on an earlier one:
//! ```text
//! loop(i, [lo, hi), B[steppers]) =
//!     seek(lo)
//!     for entries of the leader before hi {
//!         p = stop; own cursors = cursors of the others; seek(p - 1)
//!         loop(i, [p - 1, p), B[stepper := chunk cut to p])
//!     }
//! ```
//! The leader is a list whose pattern an output shares, if there is such a list, so that each round
//! writes its own positions. Otherwise, the leader is the list that is shortest on average. If the
//! extent ends within the list, the code searches for the end first, so that no round has to leave
//! the loop.

use super::stepper::{Walker, round};
use super::{LoopExtent, Looplet, LoopletNest};
use crate::assembly::build::{eq, local, lt, plus, truth};
use crate::assembly::{CompareOp, Expr, Local, Stmt};
use crate::lower::cx::Cx;
use crate::lower::seeded_fault::SeededFault;
use crate::lower::state::AccessCursor;
use redpoll_logic::Prim;
use std::collections::HashSet;

/// Average number of entries below which a list does not lead: such a list has too little work for
/// several lanes.
const MIN_LENGTH: f64 = 2.0;

/// Returns the number of the walker that leads, and its cursor. Returns `None` in four cases:
/// rounds need not be independent, the loop may end early, no walker can lead, or the only walker
/// ends within the extent. In the last case, the rounds are independent without a leader.
pub(super) fn leader(cx: &Cx<'_>, nest: &LoopletNest, walkers: &[Walker]) -> Option<(usize, Local)> {
    let lengths = cx.lengths.filter(|_| nest.early_exit.is_none())?;
    let ends_within = |w: &Walker| cx.prover.le(&w.stepper.bound, &nest.extent.hi);
    if let [one] = walkers
        && ends_within(one)
    {
        return None;
    }
    let lists = walkers.iter().enumerate().filter_map(|(at, w)| {
        let cursor = cursor_of_list(w).filter(|_| w.needed)?;
        let acc = nest.state.access(nest.heads[w.head].members[0]);
        let (_, fiber) = acc.next_subscript()?;
        let length = *lengths.get(&(cx.levels_of(acc.tensor?), fiber.level))?;
        let writes = nest.heads[w.head].members.iter().any(|id| nest.state.access(*id).writes);
        (length >= MIN_LENGTH).then_some((at, cursor, writes, length))
    });
    let by_priority =
        |a: &(usize, Local, bool, f64), b: &(usize, Local, bool, f64)| b.2.cmp(&a.2).then(a.3.total_cmp(&b.3));
    lists.min_by(by_priority).map(|(at, cursor, ..)| (at, cursor))
}

/// Returns the cursor of a stepper that iterates over a list entry by entry, with only the fill
/// value between entries.
fn cursor_of_list(w: &Walker) -> Option<Local> {
    let Expr::Compare(CompareOp::Lt, cursor, _) = &w.stepper.more else { return None };
    let Expr::Local(cursor) = **cursor else { return None };
    let steps = (w.stepper.next)(&truth(true)) == [Stmt::Assign(cursor, plus(&local(cursor), 1))];
    (steps && is_list(w)).then_some(cursor)
}

/// Returns whether a stepper has single entries, with only the fill value between and after them.
fn is_list(w: &Walker) -> bool {
    matches!(&w.stepper.chunk, Looplet::Spike { body: body @ AccessCursor::Fill(_), .. } if *body == w.stepper.rest)
}

/// Emits the loop of the leader.
pub(super) fn lower(cx: &mut Cx<'_>, nest: &LoopletNest, mut walkers: Vec<Walker>, (leader, cursor): (usize, Local)) {
    let LoopExtent { lo, hi, .. } = nest.extent.clone();
    let lead = walkers.remove(leader);
    let last = match (&lead.stepper.more, cx.prover.le(&lead.stepper.bound, &hi) || SeededFault::LeadEnd.is_active()) {
        (Expr::Compare(_, _, end), true) => (**end).clone(),
        _ => list_end(cx, &lead, cursor, &hi),
    };
    let copies: Vec<(Local, Local)> =
        walkers.iter().flat_map(cursors).map(|cursor| (cursor, copy_local(cx, cursor))).collect();
    let mut body = cx.loop_block(|cx| {
        let mut lead = lead;
        lead.load_entry(cx);
        let p = lead.stop.clone();
        cx.prover.assume_le(&plus(&lo, 1), &p);
        cx.prover.assume_le(&p, &hi);
        search(cx, nest, vec![lead], walkers, &p);
        cx.push(Stmt::Assign(cursor, plus(&local(cursor), 1)));
    });
    let of_round = |l: Local| copies.iter().find(|(cursor, _)| *cursor == l).map_or(l, |(_, copy)| *copy);
    body.iter_mut().for_each(|s| s.rename(&of_round));
    body.splice(0..0, copies.iter().map(|(cursor, copy)| Stmt::Assign(*copy, local(*cursor))));
    cx.push(Stmt::While { cond: lt(&local(cursor), &last), body });
}

/// Emits a search among the entries of a list, and returns the end of the entries before `hi`.
fn list_end(cx: &mut Cx<'_>, lead: &Walker, cursor: Local, hi: &Expr) -> Expr {
    let (from, last) = (cx.new_local("from", Prim::I64), cx.new_local("last", Prim::I64));
    cx.assign(from, local(cursor));
    (lead.stepper.seek)(cx, hi);
    cx.assign(last, local(cursor));
    cx.assign(cursor, local(from));
    local(last)
}

/// Returns a new local of the same name and type.
fn copy_local(cx: &mut Cx<'_>, of: Local) -> Local {
    cx.locals.push(cx.locals[of.index()].clone());
    Local(cx.locals.len() as u32 - 1)
}

/// Returns the cursors of a stepper: the locals that `next` changes and that decide whether there
/// are more entries.
fn cursors(w: &Walker) -> Vec<Local> {
    let mut assigned = HashSet::new();
    (w.stepper.next)(&truth(true)).iter().for_each(|s| {
        s.for_each_assigned(&mut |l| {
            assigned.insert(l);
        });
    });
    let mut cursors: Vec<Local> = assigned.into_iter().filter(|l| w.stepper.more.mentions(*l)).collect();
    cursors.sort_unstable();
    cursors
}

/// Searches the remaining walkers for the coordinate before `p`, then emits the round.
fn search(cx: &mut Cx<'_>, nest: &LoopletNest, mut found: Vec<Walker>, mut others: Vec<Walker>, p: &Expr) {
    if others.is_empty() {
        return round(cx, nest, &found, (plus(p, -1), p.clone()));
    }
    let mut walker = others.remove(0);
    (walker.stepper.seek.clone())(cx, &plus(p, -1));
    if !walker.needed {
        walker.load_entry_or_infinity(cx);
        found.push(walker);
        return search(cx, nest, found, others, p);
    }
    let more = walker.stepper.more.clone();
    let with_entry = cx.block(|cx| {
        walker.load_entry(cx);
        let (is_entry, stop) = (is_list(&walker), walker.stop.clone());
        found.push(walker);
        if !is_entry {
            return search(cx, nest, found, others, p);
        }
        // If the list has no entry at this coordinate, the body has no effect.
        let matched = cx.block(|cx| {
            cx.prover.assume_eq(&stop, p);
            search(cx, nest, found, others, p);
        });
        let is_match = if SeededFault::LeadEntry.is_active() { truth(true) } else { eq(&stop, p) };
        cx.push_if(is_match, matched, Vec::new());
    });
    cx.push_if(more, with_entry, Vec::new());
}
