//! How an access fits an order of loops: which of its levels are walked, which followed, and which are out of order.
//!
//! A level is *bound* at the position of the innermost loop that its subscript depends on. A level can be walked when
//! it is bound further in than every level outside of it; it can be followed (looked up) when everything outside of it
//! is bound no later, if its kind supports that. Dense levels may be bound in any order. What is neither is
//! *discordant* and needs a copy.

use crate::term::{At, Read, Sizes};
use redpoll_logic::op::Builtin;
use redpoll_logic::{Affine, Field, FloatMode, Format, LevelFormat, LevelKind, StorageMode, Subscript};

/// How a level is met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meeting {
    /// Its coordinates drive the loop that binds it, or go along with it.
    Walk,
    /// Its coordinate is known when it is met.
    Follow,
    /// It cannot be met in this order.
    Discordant,
}

/// The position of the loop of a field; `None` while it has none.
pub(crate) type Positions<'a> = dyn Fn(&Field) -> Option<usize> + 'a;

/// The coordinate of each storage mode.
pub(crate) fn storage_at(at: &[At], format: &Format, sizes: &Sizes, mode: FloatMode) -> Vec<At> {
    format
        .modes
        .iter()
        .map(|&m| match m {
            StorageMode::Whole { mode: k } => at[k].clone(),
            StorageMode::Outer { mode: k, block } => piece(&at[k], block, Piece::Outer, sizes, mode),
            StorageMode::Inner { mode: k, block } => piece(&at[k], block, Piece::Inner, sizes, mode),
        })
        .collect()
}

#[derive(Clone, Copy)]
enum Piece {
    Outer,
    Inner,
}

fn piece(at: &At, block: u64, piece: Piece, sizes: &Sizes, mode: FloatMode) -> At {
    let size = block as i64;
    match at {
        At::Subscript(Subscript::Affine(form)) if form.terms.is_empty() => {
            let constant = match piece {
                Piece::Outer => form.constant.div_euclid(size),
                Piece::Inner => form.constant.rem_euclid(size),
            };
            At::Subscript(Subscript::Affine(Affine::constant(constant)))
        }
        At::Subscript(Subscript::Affine(form)) => match (sizes.as_split(form), piece) {
            (Some((outer, _, b)), Piece::Outer) if b == block => At::field(outer),
            (Some((_, inner, b)), Piece::Inner) if b == block => At::field(inner),
            (_, Piece::Outer) => At::Subscript(Subscript::Outer(form.clone(), block)),
            (_, Piece::Inner) => At::Subscript(Subscript::Inner(form.clone(), block)),
        },
        other => {
            let op = match piece {
                Piece::Outer => Builtin::FloorDiv,
                Piece::Inner => Builtin::Rem,
            };
            At::from_value(crate::term::Term::integer(op, other.value(mode), size, mode))
        }
    }
}

/// How each level of an access is met; levels whose loops have no position yet count as bound inside of all others.
pub(crate) fn fit(read: &Read, sizes: &Sizes, positions: &Positions, copy: bool, mode: FloatMode) -> Vec<Meeting> {
    let format = &read.ty.format;
    let blocked = format.modes.iter().any(|m| !matches!(m, StorageMode::Whole { .. }));
    if blocked && read.outside.is_some() {
        // The padding of a ragged block is not out of bounds of its level.
        return vec![Meeting::Discordant; format.levels.len()];
    }
    let spots = storage_at(&read.at, format, sizes, mode);
    let mut outside: Option<Bound> = Some(Bound::Constant);
    spots
        .iter()
        .zip(&format.levels)
        .map(|(at, level)| {
            let bound = bind(at, positions);
            let meeting = meet(at, level, bound, outside, positions, copy);
            outside = outside.max(bound).filter(|_| outside.is_some() && bound.is_some());
            meeting
        })
        .collect()
}

/// Where a subscript is bound.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Bound {
    Constant,
    Loop(usize),
}

/// `None`: not yet.
fn bind(at: &At, positions: &Positions) -> Option<Bound> {
    at.fields().iter().map(|f| positions(f).map(Bound::Loop)).try_fold(Bound::Constant, |bound, f| Some(bound.max(f?)))
}

fn meet(
    at: &At,
    level: &LevelFormat,
    bound: Option<Bound>,
    outside: Option<Bound>,
    positions: &Positions,
    copy: bool,
) -> Meeting {
    // Whether everything outside is bound strictly before.
    let later = match (bound, outside) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(b), Some(o)) => b > o,
    };
    let steps_by_one = at.as_affine().is_some_and(|form| {
        let innermost = form.terms.iter().max_by_key(|(f, _)| positions(f).unwrap_or(usize::MAX));
        innermost.is_some_and(|(_, c)| *c == 1)
    });
    if level.kind == LevelKind::Dense {
        return if later && steps_by_one { Meeting::Walk } else { Meeting::Follow };
    }
    if later && steps_by_one && (level.ordered || copy) {
        return Meeting::Walk;
    }
    let same = bound.is_some() && bound == outside;
    match level.kind {
        LevelKind::Hash | LevelKind::ByteMap => Meeting::Follow,
        LevelKind::SparseList if level.ordered && level.unique => {
            let looked_up = later || same || bound == Some(Bound::Constant);
            // Coordinates in blocks would be looked up one by one where a copy walks.
            let blocks = matches!(at, At::Subscript(Subscript::Outer(..) | Subscript::Inner(..)));
            if looked_up && !blocks { Meeting::Follow } else { Meeting::Discordant }
        }
        _ => Meeting::Discordant,
    }
}
