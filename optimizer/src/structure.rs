//! Which structure of its operands the innermost level of an output keeps.
//!
//! Along the innermost loop a value has runs where everything that it is computed of has runs, or does not depend on the
//! loop; and it is stored in blocks, or in one band, where that holds of the operands that decide where it is stored. An
//! output that is written along that loop keeps this structure instead of listing its coordinates, or having all of them.

use crate::context::Context;
use crate::fit::storage_at;
use crate::sizes::Sizes;
use crate::term::{Node, Read, Target, Term};
use redpoll_logic::statistics::Question;
use redpoll_logic::{Field, LevelKind};

/// Runs are kept when they are at least so long, on average.
const SHORTEST_RUN: f64 = 4.0;

/// Where the operands of a term are stored along a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// Everywhere.
    All,
    /// In blocks, or in a band.
    Kept(LevelKind),
    /// Anywhere.
    Any,
}

/// The kind of the innermost level of an output, where its coordinates are those of the innermost loop, that keeps the
/// structure of its operands; the level would have all coordinates, or list `stored` of them for each of those outside.
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

/// How many runs the operands of a value have along a loop for each round of those outside, on average, none where it does
/// not depend on the loop; `None` when it may change within them.
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

/// Where both of two operands are stored.
fn both(a: Pattern, b: Pattern) -> Pattern {
    match (a, b) {
        (Pattern::All, other) | (other, Pattern::All) => other,
        _ => either(a, b),
    }
}

/// Where one of two operands is stored.
fn either(a: Pattern, b: Pattern) -> Pattern {
    match (a, b) {
        (Pattern::Kept(a), Pattern::Kept(b)) if a == b => Pattern::Kept(a),
        (Pattern::Kept(_), Pattern::Kept(_)) => Pattern::Kept(LevelKind::BlockList),
        (Pattern::All, Pattern::All) => Pattern::All,
        _ => Pattern::Any,
    }
}

/// The level of a read whose coordinates are those of a loop, when it is the only one and the innermost one.
fn innermost(cx: &Context, read: &Read, sizes: &Sizes, field: &Field) -> Option<(usize, LevelKind)> {
    let spots = storage_at(&read.at, &read.ty.format, &read.ty.shape, sizes, cx.mode());
    let (last, outer) = spots.split_last()?;
    let alone = last.as_field() == Some(field) && outer.iter().all(|at| !at.has(field));
    alone.then(|| (outer.len(), read.ty.format.levels[outer.len()].kind))
}

/// How many positions a fiber of a level has, on average.
fn fanout(cx: &Context, read: &Read, level: usize) -> f64 {
    let positions = |levels: usize| cx.ask(&read.tensor, &read.ty, Question::Positions(levels)).estimate;
    positions(level + 1) / positions(level).max(1.0)
}
