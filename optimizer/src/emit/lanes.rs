//! Chooses the number of lanes in which an innermost loop folds along a list.
//!
//! A float addition waits for the previous one. On long walks, several partial sums side by side
//! are faster than one; on short walks, clearing and combining the lanes costs more. With random
//! reads from more than [`cost::LANE_GATHER`] bytes, lanes cost at least as much as they gain. So
//! the choice depends on the lengths of fibers and the sizes of arrays. The plan then defines the
//! order in which floats are folded, for every engine.
//!
//! Folds along loops over every coordinate get their lanes from the compiler, and merges of lists
//! have none.

use crate::access::fit::{AccessLevels, DenseExtent, LevelUse};
use crate::config::Choice;
use crate::facts::Facts;
use crate::term::sizes::Sizes;
use crate::term::{NestKind, Read, Term, is_regroupable};
use crate::work::cost;
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::statistics::Question;
use redpoll_logic::{Field, LevelKind, Prim};

/// Returns the number of lanes of the innermost loop of an order. The loop must only fold one
/// value, by the given operator, into a scalar.
pub(crate) fn lanes(facts: &Facts, order: &[Field], sizes: &Sizes, (op, value): (&Op, &Term)) -> u8 {
    let is_sequential = [Builtin::Add, Builtin::Mul, Builtin::Min, Builtin::Max].iter().any(|one| *op == (*one).into());
    let is_float = value.dtype().prim().is_some_and(Prim::is_float);
    if !is_sequential || !is_float || !is_regroupable(op, &value.dtype(), facts.mode()) {
        return 1;
    }
    match (innermost_walk(facts, order, sizes, value), facts.config.choice) {
        (Some(_), Choice::Random(seed)) => [1, 2, cost::LANES][seed as usize % 3],
        (Some(walk), Choice::Cheapest)
            if walk.length >= cost::LANE_WALK && walk.gathered_bytes <= cost::LANE_GATHER =>
        {
            cost::LANES
        }
        _ => 1,
    }
}

/// The walk of the innermost loop along one list.
struct ListWalk {
    /// The average number of entries of a fiber.
    length: f64,
    /// Bytes of the cache lines that the list reaches in arrays read at its coordinates.
    gathered_bytes: f64,
}

/// Returns the walk of the innermost loop, if the loop runs along one sparse list and all
/// other levels that it reads are dense.
fn innermost_walk(facts: &Facts, order: &[Field], sizes: &Sizes, value: &Term) -> Option<ListWalk> {
    let positions = |f: &Field| order.iter().position(|g| g == f);
    let mut lists: Vec<(&Read, usize)> = Vec::new();
    let mut gathered_bytes = 0.0;
    let mut has_others = false;
    value.each_outer_access(&mut |read| {
        let levels = AccessLevels::new(read, sizes, facts.mode());
        if let Some(extents) = levels.dense_extents(positions, sizes) {
            gathered_bytes += line_bytes(&extents, order.len() - 1, read);
        }
        let uses = levels.fit(&positions, NestKind::Query);
        for (depth, ((kind, binding_depth), level_use)) in levels.binding_depths(&positions).zip(uses).enumerate() {
            if binding_depth != Some(order.len()) || kind == LevelKind::Dense || lists.contains(&(read, depth)) {
                continue;
            }
            match (level_use, kind) {
                (LevelUse::Walk, LevelKind::SparseList) => lists.push((read, depth)),
                _ => has_others = true,
            }
        }
    });
    let [(read, depth)] = lists[..] else { return None };
    let stored = |levels: usize| facts.ask(&read.tensor, &read.ty, Question::Positions(levels)).estimate;
    (!has_others).then(|| ListWalk { length: stored(depth + 1) / stored(depth).max(1.0), gathered_bytes })
}

/// Returns the bytes of the cache lines that a loop reaches in an array while the other coordinates
/// are fixed.
fn line_bytes(extents: &[DenseExtent], loop_depth: usize, read: &Read) -> f64 {
    let bytes = read.ty.dtype.prim().map_or(cost::LINE, |prim| prim.bytes() as f64);
    let stride =
        if extents.last().is_some_and(|level| level.loop_depth == Some(loop_depth)) { bytes } else { cost::LINE };
    extents.iter().find(|level| level.loop_depth == Some(loop_depth)).map_or(0.0, |level| level.size * stride)
}
