//! In how many lanes an innermost loop folds what it meets along a list.
//!
//! An addition of floats waits for the one before; where a walk is long enough, several sums side by side take less time
//! than one, and short walks take more, as their lanes are to be cleared and added up. So it is for the lengths of fibers to
//! say. The order in which floats are added is the plan's then, whatever engine adds them.
//!
//! Loops over every coordinate have lanes anyway, and merges of lists never.

use crate::config::Choice;
use crate::context::Context;
use crate::cost;
use crate::fit::{Levels, Meeting};
use crate::loop_order::outer_accesses;
use crate::sizes::Sizes;
use crate::term::{NestKind, Read, Term, regroups};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::statistics::Question;
use redpoll_logic::{Field, LevelKind, Prim};

/// The lanes of the innermost loop of an order that does nothing but fold a value by an operator into one place.
pub(crate) fn lanes(cx: &Context, order: &[Field], sizes: &Sizes, (op, value): (&Op, &Term)) -> u8 {
    let waits = [Builtin::Add, Builtin::Mul, Builtin::Min, Builtin::Max].iter().any(|one| *op == (*one).into());
    let is_float = value.dtype().prim().is_some_and(Prim::is_float);
    if !waits || !is_float || !regroups(op, &value.dtype(), cx.mode()) {
        return 1;
    }
    match (walked(cx, order, sizes, value), cx.config.choice) {
        (Some(_), Choice::Drawn(seed)) => [1, 2, cost::LANES][seed as usize % 3],
        (Some(length), Choice::Cheapest) if length >= cost::LANE_WALK => cost::LANES,
        _ => 1,
    }
}

/// The average number of places that the innermost loop walks along, if that is along one list.
fn walked(cx: &Context, order: &[Field], sizes: &Sizes, value: &Term) -> Option<f64> {
    let positions = |f: &Field| order.iter().position(|g| g == f);
    let mut lists: Vec<(&Read, usize)> = Vec::new();
    let mut others = false;
    outer_accesses(value, &mut |read| {
        let levels = Levels::new(read, sizes, cx.mode());
        let meetings = levels.fit(&positions, NestKind::Query);
        for (depth, ((kind, known), meeting)) in levels.resolved(&positions).zip(meetings).enumerate() {
            if known != Some(order.len()) || kind == LevelKind::Dense || lists.contains(&(read, depth)) {
                continue;
            }
            match (meeting, kind) {
                (Meeting::Walk, LevelKind::SparseList) => lists.push((read, depth)),
                _ => others = true,
            }
        }
    });
    let [(read, depth)] = lists[..] else { return None };
    let stored = |levels: usize| cx.ask(&read.tensor, &read.ty, Question::Positions(levels)).estimate;
    (!others).then(|| stored(depth + 1) / stored(depth).max(1.0))
}
