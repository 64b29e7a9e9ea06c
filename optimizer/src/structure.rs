//! Chooses the structure of operands that the innermost level of an output keeps.
//!
//! Along the innermost loop, a value has runs if each operand has runs or does not depend on the
//! loop. It has blocks, or one band, if the operands that decide its stored coordinates do. An
//! output that is written along that loop keeps this structure instead of listing its coordinates
//! or storing all of them.

use crate::context::Context;
use crate::fit::storage_at;
use crate::sizes::Sizes;
use crate::term::{Node, Read, Target, Term};
use redpoll_logic::statistics::Question;
use redpoll_logic::{Field, LevelKind};

/// Least average length for which runs are kept.
const SHORTEST_RUN: f64 = 4.0;

/// The stored coordinates of a term's operands along a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// All coordinates.
    All,
    /// Blocks or a band.
    Kept(LevelKind),
    /// Arbitrary coordinates.
    Any,
}

/// Returns the kind of an output's innermost level that keeps the structure of its operands, if
/// that level has the innermost loop's coordinates. Otherwise the level would list `stored`
/// coordinates per fiber, or be dense for `None`.
pub(crate) fn kept(
    cx: &Context,
    target: &Target,
    sizes: &Sizes,
    field: &Field,
    stored: Option<f64>,
) -> Option<LevelKind> {
    if target.fold.is_some() {
        return None;
    }
    let long = |runs: f64| runs > 0.0 && runs * SHORTEST_RUN <= stored.unwrap_or(sizes.of(field) as f64);
    if runs(cx, &target.value, sizes, field).is_some_and(long) {
        return Some(if stored.is_some() { LevelKind::SparseRunLength } else { LevelKind::RunLength });
    }
    match (stored, cx.skips(target).then(|| pattern(cx, &target.value, sizes, field))) {
        (Some(_), Some(Pattern::Kept(kind))) => Some(kind),
        _ => None,
    }
}

/// Returns the average number of runs of a value's operands along a loop, per round of the loops
/// outside: 0 if the value does not depend on the loop, `None` if the value may change within the
/// runs.
pub(crate) fn runs(cx: &Context, term: &Term, sizes: &Sizes, field: &Field) -> Option<f64> {
    match term.node() {
        _ if !term.fields().contains(field) => Some(0.0),
        Node::Access(read) => {
            let (depth, kind) = innermost(cx, read, sizes, field)?;
            kind.traits().runs.then(|| fanout(cx, read, depth))
        }
        Node::Call(_, args) => args.iter().map(|arg| runs(cx, arg, sizes, field)).sum(),
        Node::Literal | Node::Coordinate(_) | Node::Fold(_) | Node::Temporary(..) => None,
    }
}

fn pattern(cx: &Context, term: &Term, sizes: &Sizes, field: &Field) -> Pattern {
    match term.node() {
        _ if !term.fields().contains(field) => Pattern::All,
        Node::Access(_) if term.is_full() => Pattern::All,
        Node::Access(read) => match innermost(cx, read, sizes, field) {
            Some((_, kind @ (LevelKind::Band | LevelKind::BlockList))) => Pattern::Kept(kind),
            _ => Pattern::Any,
        },
        Node::Call(_, args) => {
            let each = |k: usize| pattern(cx, &args[k], sizes, field);
            let joined = cx.deciding(term);
            match joined.is_empty() {
                true => (0..args.len()).map(each).reduce(either).unwrap_or(Pattern::Any),
                false => joined.iter().copied().map(each).reduce(both).unwrap_or(Pattern::Any),
            }
        }
        Node::Literal | Node::Coordinate(_) | Node::Fold(_) | Node::Temporary(..) => Pattern::Any,
    }
}

/// Returns the stored coordinates of an intersection of two operands.
fn both(a: Pattern, b: Pattern) -> Pattern {
    match (a, b) {
        (Pattern::All, other) | (other, Pattern::All) => other,
        _ => either(a, b),
    }
}

/// Returns the stored coordinates of a union of two operands.
fn either(a: Pattern, b: Pattern) -> Pattern {
    match (a, b) {
        (Pattern::Kept(a), Pattern::Kept(b)) if a == b => Pattern::Kept(a),
        (Pattern::Kept(_), Pattern::Kept(_)) => Pattern::Kept(LevelKind::BlockList),
        (Pattern::All, Pattern::All) => Pattern::All,
        _ => Pattern::Any,
    }
}

/// Returns the level of a read that has a loop's coordinates, if it is the only such level and the
/// innermost one.
fn innermost(cx: &Context, read: &Read, sizes: &Sizes, field: &Field) -> Option<(usize, LevelKind)> {
    let spots = storage_at(&read.at, &read.ty.format, &read.ty.shape, sizes, cx.mode());
    let (last, outer) = spots.split_last()?;
    let alone = last.as_field() == Some(field) && outer.iter().all(|at| !at.has(field));
    alone.then(|| (outer.len(), read.ty.format.levels[outer.len()].kind))
}

/// Returns the average number of positions of a fiber of a level.
fn fanout(cx: &Context, read: &Read, level: usize) -> f64 {
    let positions = |levels: usize| cx.ask(&read.tensor, &read.ty, Question::Positions(levels)).estimate;
    positions(level + 1) / positions(level).max(1.0)
}
