//! Chooses the level kind that the innermost level of an output inherits from the operands.
//!
//! Along the innermost loop, a value has runs if each operand has runs or does not depend on the
//! loop. A value has blocks, or one band, if the operands that determine its stored coordinates
//! have blocks or bands. An output without a fold that is written along the innermost loop inherits
//! this structure, instead of listing its coordinates or storing all of them.

use crate::access::fit::storage_coordinates;
use crate::facts::Facts;
use crate::term::sizes::Sizes;
use crate::term::{Node, Read, Target, Term};
use redpoll_logic::statistics::Question;
use redpoll_logic::{Field, LevelKind};

/// Least average length of runs at which an output inherits the runs.
const MIN_RUN_LENGTH: f64 = 4.0;

/// The pattern of a term's stored coordinates along a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryPattern {
    /// All coordinates.
    All,
    /// Blocks or a band.
    Structured(LevelKind),
    /// Arbitrary coordinates.
    Any,
}

/// Returns the kind that an output's innermost level inherits from the operands, if any. The level
/// stores the coordinates of the innermost loop, which is over `field`. Without inheritance, the
/// level lists `stored` coordinates per fiber, or is dense if `stored` is `None`.
pub(crate) fn inherited_kind(
    facts: &Facts,
    target: &Target,
    sizes: &Sizes,
    field: &Field,
    stored: Option<f64>,
) -> Option<LevelKind> {
    if target.fold.is_some() {
        return None;
    }
    let are_long = |runs: f64| runs > 0.0 && runs * MIN_RUN_LENGTH <= stored.unwrap_or(sizes.of(field) as f64);
    if run_count(facts, &target.value, sizes, field).is_some_and(are_long) {
        return Some(if stored.is_some() { LevelKind::SparseRunLength } else { LevelKind::RunLength });
    }
    match (stored, facts.skips_fill(target).then(|| entry_pattern(facts, &target.value, sizes, field))) {
        (Some(_), Some(EntryPattern::Structured(kind))) => Some(kind),
        _ => None,
    }
}

/// Returns the average number of runs per fiber along the loop over `field`, summed over a value's
/// operands. Returns 0 if the value does not depend on the loop, and `None` if an operand that
/// depends on the loop has no runs.
pub(crate) fn run_count(facts: &Facts, term: &Term, sizes: &Sizes, field: &Field) -> Option<f64> {
    match term.node() {
        _ if !term.fields().contains(field) => Some(0.0),
        Node::Access(read) => {
            let (depth, kind) = innermost(facts, read, sizes, field)?;
            kind.traits().runs.then(|| fanout(facts, read, depth))
        }
        Node::Call(_, args) => args.iter().map(|arg| run_count(facts, arg, sizes, field)).sum(),
        Node::Literal | Node::Coordinate(_) | Node::Fold(_) | Node::Temporary(..) => None,
    }
}

fn entry_pattern(facts: &Facts, term: &Term, sizes: &Sizes, field: &Field) -> EntryPattern {
    match term.node() {
        _ if !term.fields().contains(field) => EntryPattern::All,
        Node::Access(_) if term.is_full() => EntryPattern::All,
        Node::Access(read) => match innermost(facts, read, sizes, field) {
            Some((_, kind @ (LevelKind::Band | LevelKind::BlockList))) => EntryPattern::Structured(kind),
            _ => EntryPattern::Any,
        },
        Node::Call(_, args) => {
            let each = |k: usize| entry_pattern(facts, &args[k], sizes, field);
            let deciding = facts.deciding_args(term);
            match deciding.is_empty() {
                true => (0..args.len()).map(each).reduce(unite).unwrap_or(EntryPattern::Any),
                false => deciding.iter().copied().map(each).reduce(intersect).unwrap_or(EntryPattern::Any),
            }
        }
        Node::Literal | Node::Coordinate(_) | Node::Fold(_) | Node::Temporary(..) => EntryPattern::Any,
    }
}

/// Returns the pattern of the coordinates at which both of two operands are stored.
fn intersect(a: EntryPattern, b: EntryPattern) -> EntryPattern {
    match (a, b) {
        (EntryPattern::All, other) | (other, EntryPattern::All) => other,
        _ => unite(a, b),
    }
}

/// Returns the pattern of the coordinates at which at least one of two operands is stored.
fn unite(a: EntryPattern, b: EntryPattern) -> EntryPattern {
    match (a, b) {
        (EntryPattern::Structured(a), EntryPattern::Structured(b)) if a == b => EntryPattern::Structured(a),
        (EntryPattern::Structured(_), EntryPattern::Structured(_)) => EntryPattern::Structured(LevelKind::BlockList),
        (EntryPattern::All, EntryPattern::All) => EntryPattern::All,
        _ => EntryPattern::Any,
    }
}

/// Returns the innermost level of a read, if this level and no other has the coordinates of the
/// loop over `field`.
fn innermost(facts: &Facts, read: &Read, sizes: &Sizes, field: &Field) -> Option<(usize, LevelKind)> {
    let coordinates = storage_coordinates(&read.coordinates, &read.ty.format, &read.ty.shape, sizes, facts.mode());
    let (last, outer) = coordinates.split_last()?;
    let is_sole_level = last.as_field() == Some(field) && outer.iter().all(|at| !at.has(field));
    is_sole_level.then(|| (outer.len(), read.ty.format.levels[outer.len()].kind))
}

/// Returns the average number of positions per fiber of a level.
fn fanout(facts: &Facts, read: &Read, level: usize) -> f64 {
    let positions = |levels: usize| facts.ask(&read.tensor, &read.ty, Question::Positions(levels)).estimate;
    positions(level + 1) / positions(level).max(1.0)
}
