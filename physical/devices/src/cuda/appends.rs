//! Spread loops whose rounds append. The lanes run such a loop in batches of one round per lane.
//!
//! A lane runs its round up to the block that appends, or to a condition that excludes the block,
//! and keeps the stage of its round. The stage is 1 plus the number of `if` statements in which the
//! round has taken the branch towards the block, or 0 for a lane without a round. After the lanes
//! have exchanged which of them append, each lane continues from its stage. If the block is not in
//! an `if`, all rounds append, and the lanes need neither stages nor an exchange.

use super::stmt::TeamWriter;
use crate::grid::{AppendingRounds, Branch, RoundCounter, Stmt};
use redpoll_compiler::assembly::{Expr, Local};
use redpoll_kernels::c::names::{count, end, from, rank, stage};

/// Writes a loop whose rounds append.
pub(super) fn batches(
    w: &mut TeamWriter<'_, '_>,
    var: Local,
    (lo, hi): (&Expr, &Expr),
    counters: &[RoundCounter],
    body: &[Stmt],
) {
    let AppendingRounds { poll, body: rounds, path, growth, appends } = AppendingRounds::of(body, counters);
    let (name, lanes) = (w.local(var), w.dialect.grid.lanes);
    let (first, end, stage, rank, count) = (from(&name), end(&name), stage(&name), rank(&name), count(&name));
    let (lo, hi) = (w.exprs.value(lo), w.exprs.value(hi));
    w.exprs.facts.forget_assigned(body);
    w.exprs.facts.forget(var);
    // These facts hold at each point of a round.
    let facts = w.exprs.facts.clone();
    w.nest(&format!("for (int64_t {first} = {lo}, {end} = {hi}; {first} < {end}; {first} += {lanes})"), |w| {
        poll.into_iter().for_each(|poll| w.block(std::slice::from_ref(poll)));
        w.line(&format!("const int64_t {name} = {first} + (int64_t)lane;"));
        let has_round = format!("{name} < {end}");
        // Without conditions every round of the batch appends.
        let rank = if path.is_empty() {
            w.line(&format!("const int64_t {count} = {end} - {first} < {lanes} ? {end} - {first} : {lanes};"));
            "(int64_t)lane".to_owned()
        } else {
            w.line(&format!("int {stage} = 0;"));
            w.nest(&format!("if ({has_round})"), |w| before_block(w, rounds, &path, (&stage, 1)));
            w.line("}");
            w.line(&format!("int64_t {count};"));
            let appends = format!("{stage} == {}", path.len() + 1);
            w.line(&format!("const int64_t {rank} = rp_rank({appends}, {count}, lane, mask, {lanes});"));
            rank
        };
        let set_counters = |w: &mut TeamWriter<'_, '_>, rank: &str| {
            for RoundCounter { local, by } in counters {
                let name = w.local(*local);
                let times = if *by == 1 { rank.to_owned() } else { format!("{rank} * {by}") };
                w.line(&format!("{name} = {} + {times};", from(&name)));
            }
        };
        for RoundCounter { local, .. } in counters {
            let name = w.local(*local);
            w.line(&format!("const int64_t {} = {name};", from(&name)));
        }
        if !growth.is_empty() {
            let grow = |w: &mut TeamWriter<'_, '_>| {
                set_counters(w, &format!("({count} - 1)"));
                w.block(&growth);
            };
            if path.is_empty() {
                grow(w);
            } else {
                w.nest(&format!("if ({count} > 0)"), grow);
                w.line("}");
            }
        }
        set_counters(w, &rank);
        w.exprs.facts = facts.clone();
        let head = if path.is_empty() { has_round } else { format!("{stage} > 0") };
        w.nest(&format!("if ({head})"), |w| after_block(w, rounds, (&path, &appends), (&stage, 1)));
        w.line("}");
        set_counters(w, &count);
    });
    w.line("}");
    w.exprs.facts = facts;
}

/// Writes the part of a round before the block at the end of `path`. The round is at stage
/// `number`.
fn before_block(w: &mut TeamWriter<'_, '_>, body: &[Stmt], path: &[(usize, Branch)], (stage, number): (&str, usize)) {
    if let Some(((at, branch), path)) = path.split_first() {
        w.block(&body[..*at]);
        let Stmt::If { cond, .. } = &body[*at] else { unreachable!("a path leads through `if` statements") };
        let cond = w.exprs.value(cond);
        let cond = if *branch == Branch::Then { cond } else { format!("!({cond})") };
        // A round that takes the other branch keeps this stage.
        w.line(&format!("{stage} = {number};"));
        w.nest(&format!("if ({cond})"), |w| before_block(w, branch.of(&body[*at]).0, path, (stage, number + 1)));
        w.line("}");
    } else {
        w.line(&format!("{stage} = {number};"));
    }
}

/// Writes the remainder of a round that has reached stage `number` or a later stage.
fn after_block(
    w: &mut TeamWriter<'_, '_>,
    body: &[Stmt],
    (path, appends): (&[(usize, Branch)], &[Stmt]),
    (stage, number): (&str, usize),
) {
    let Some(((at, branch), path)) = path.split_first() else { return w.block(appends) };
    let (inner, other) = branch.of(&body[*at]);
    let facts = w.exprs.facts.clone();
    w.nest(&format!("if ({stage} > {number})"), |w| after_block(w, inner, (path, appends), (stage, number + 1)));
    w.exprs.facts = facts.clone();
    if !other.is_empty() {
        w.nest("} else", |w| w.block(other));
        w.exprs.facts = facts;
    }
    w.line("}");
    w.block(&body[at + 1..]);
}
