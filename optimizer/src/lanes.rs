//! In how many lanes an innermost loop folds what it meets along a list.
//!
//! An addition of floats waits for the one before; where a walk is long enough, several sums side by side take less time
//! than one, and short walks take more, as their lanes are to be cleared and added up. What is read at random from an array
//! that the caches next to a core do not hold takes more as well, by as much as lanes gain otherwise. So it is for the lengths
//! of fibers and the sizes of arrays to say. The order in which floats are added is the plan's then, whatever engine adds them.
//!
//! Loops over every coordinate have lanes anyway, and merges of lists never.

use crate::config::Choice;
use crate::context::Context;
use crate::cost;
use crate::fit::{Levels, Meeting};
use crate::lines::Places;
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
    match (walk(cx, order, sizes, value), cx.config.choice) {
        (Some(_), Choice::Drawn(seed)) => [1, 2, cost::LANES][seed as usize % 3],
        (Some(walk), Choice::Cheapest) if walk.length >= cost::LANE_WALK && walk.gathered <= cost::LANE_GATHER => {
            cost::LANES
        }
        _ => 1,
    }
}

/// How the innermost loop walks along one list.
struct Walk {
    /// The average number of places of a fiber.
    length: f64,
    /// Bytes of the lines that the list leads to in the arrays that are read at its coordinates.
    gathered: f64,
}

/// The walk of the innermost loop, if that is along one list.
fn walk(cx: &Context, order: &[Field], sizes: &Sizes, value: &Term) -> Option<Walk> {
    let positions = |f: &Field| order.iter().position(|g| g == f);
    let mut lists: Vec<(&Read, usize)> = Vec::new();
    let mut gathered = 0.0;
    let mut others = false;
    outer_accesses(value, &mut |read| {
        let levels = Levels::new(read, sizes, cx.mode());
        if let Some(places) = levels.places(positions, sizes) {
            gathered += lines(&places, order.len() - 1, read);
        }
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
    (!others).then(|| Walk { length: stored(depth + 1) / stored(depth).max(1.0), gathered })
}

/// The bytes of the lines that a loop comes to in an array of places, all others being fixed.
fn lines(places: &[Places], at: usize, read: &Read) -> f64 {
    let bytes = read.ty.dtype.prim().map_or(cost::LINE, |prim| prim.bytes() as f64);
    let apart = if places.last().is_some_and(|level| level.at == Some(at)) { bytes } else { cost::LINE };
    places.iter().find(|level| level.at == Some(at)).map_or(0.0, |level| level.size * apart)
}
