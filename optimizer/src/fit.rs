//! Fits accesses to loop orders: decides which levels are walked, which are followed, and which are
//! discordant.
//!
//! A level is *bound* at the position of the innermost loop that its subscript depends on. It can
//! be walked, with any stride and in either direction, when it is bound inside every outer level.
//! It can be followed (looked up) when all outer levels are bound no later and its kind supports
//! lookups. Dense levels may be bound in any order. All other levels are *discordant* and need a
//! copy.

use crate::lines::Places;
use crate::sizes::Sizes;
use crate::term::{At, NestKind, Read, Term};
use redpoll_logic::op::Builtin;
use redpoll_logic::{Affine, Field, FloatMode, Format, LevelFormat, LevelKind, Lookup, Scalar, StorageMode, Subscript};
use std::rc::Rc;

/// The way in which a loop order uses a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meeting {
    /// A level whose coordinates drive the loop that binds it, or are read along with the loop.
    Walk,
    /// A level whose coordinate is given when the level is reached.
    Follow,
    /// A level that cannot be used in this order.
    Discordant,
}

/// The position of a field's loop; `None` while it has none.
pub(crate) type Positions<'a> = dyn Fn(&Field) -> Option<usize> + 'a;

/// Returns the coordinate of each storage mode.
pub(crate) fn storage_at(at: &[At], format: &Format, shape: &[u64], sizes: &Sizes, mode: FloatMode) -> Vec<At> {
    format
        .modes
        .iter()
        .map(|&m| match m {
            StorageMode::Whole { mode: k } => at[k].clone(),
            StorageMode::Outer { mode: k, block } => piece(&at[k], block, Piece::Outer, sizes, mode),
            StorageMode::Inner { mode: k, block } => piece(&at[k], block, Piece::Inner, sizes, mode),
            StorageMode::Skew { mode: k, by } => diagonal(&at[k], &at[by], shape[by], mode),
        })
        .collect()
}

/// Returns `at - along + length - 1`.
fn diagonal(at: &At, along: &At, length: u64, mode: FloatMode) -> At {
    let last = length.saturating_sub(1) as i64;
    if let (Some(a), Some(b)) = (at.as_affine(), along.as_affine()) {
        return At::Subscript(Subscript::Affine(a.plus(&b.times(-1)).plus(&Affine::constant(last))));
    }
    let difference = Term::call(&Builtin::Sub.into(), vec![at.value(mode), along.value(mode)], mode);
    let shifted = Term::call(&Builtin::Add.into(), vec![difference, Term::literal(Scalar::I64(last))], mode);
    At::from_value(shifted)
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
            At::from_value(Term::integer(op, other.value(mode), size, mode))
        }
    }
}

/// The levels of an access and the fields of their subscripts.
pub(crate) struct Levels {
    levels: Vec<Spot>,
    /// Set when no order fits, because the padding of a ragged block is within the bounds of its
    /// level.
    padded: bool,
}

/// A level of an access.
struct Spot {
    level: LevelFormat,
    fields: Vec<Field>,
    /// The terms, when the subscript is affine.
    terms: Option<Vec<(Field, i64)>>,
    /// Set for a part of a form that is not split. Its coordinates would be looked up one by one,
    /// whereas a copy can be walked.
    part: bool,
}

impl Levels {
    pub(crate) fn new(read: &Read, sizes: &Sizes, mode: FloatMode) -> Levels {
        let format = &read.ty.format;
        let blocked = format.modes.iter().any(|m| !matches!(m, StorageMode::Whole { .. }));
        let spots = storage_at(&read.at, format, &read.ty.shape, sizes, mode);
        let spot = |(at, level): (At, &LevelFormat)| Spot {
            level: *level,
            fields: at.fields().into_iter().collect(),
            terms: at.as_affine().map(|form| form.terms.clone()),
            part: matches!(at, At::Subscript(Subscript::Outer(..) | Subscript::Inner(..))),
        };
        let levels = spots.into_iter().zip(&format.levels).map(spot).collect();
        Levels { levels, padded: blocked && read.outside.is_some() }
    }

    /// Returns the use of each level. Levels whose loops have no position yet count as bound inside
    /// all others. The access of a copy also walks unordered levels.
    pub(crate) fn fit(&self, positions: &Positions, kind: NestKind) -> Vec<Meeting> {
        if self.padded {
            return vec![Meeting::Discordant; self.levels.len()];
        }
        let mut outside: Option<Bound> = Some(Bound::Constant);
        let meet = |spot: &Spot| {
            let bound = spot.bound(positions);
            let meeting = spot.meet(bound, outside, kind);
            outside = outside.zip(bound).map(|(o, b)| o.max(b));
            meeting
        };
        self.levels.iter().map(meet).collect()
    }

    /// Returns the number of outermost levels that the outermost loops bind one by one, in order.
    /// Each iteration of these loops reads a separate part of the tensor.
    pub(crate) fn in_step(&self, positions: &Positions) -> usize {
        let bound = |spot: &Spot| spot.fields.iter().map(positions).try_fold(None, |most, p| Some(most.max(Some(p?))));
        (0..self.levels.len()).find(|k| bound(&self.levels[*k]) != Some(Some(*k))).unwrap_or(self.levels.len())
    }

    /// Returns the coordinates of the levels, if all levels are dense and each subscript has at
    /// most one field.
    pub(crate) fn places(&self, at: impl Fn(&Field) -> Option<usize>, sizes: &Sizes) -> Option<Rc<[Places]>> {
        let of = |spot: &Spot| match &spot.fields[..] {
            _ if spot.level.kind != LevelKind::Dense => None,
            [] => Some(Places { at: None, size: 1.0 }),
            [field] => Some(Places { at: at(field), size: sizes.of(field) as f64 }),
            _ => None,
        };
        self.levels.iter().map(of).collect()
    }

    /// Iterates over the kinds of levels, each with the number of loops that determine its fiber
    /// and coordinate; `None` if not all loops are placed.
    pub(crate) fn resolved(&self, positions: &Positions) -> impl Iterator<Item = (LevelKind, Option<usize>)> {
        self.levels.iter().scan(Some(0), move |known, spot| {
            let bound = spot.fields.iter().map(positions).try_fold(0, |b, p| Some(b.max(p? + 1)));
            *known = known.zip(bound).map(|(a, b)| a.max(b));
            Some((spot.level.kind, *known))
        })
    }
}

/// Returns the use of each level of an access.
pub(crate) fn fit(read: &Read, sizes: &Sizes, positions: &Positions, kind: NestKind, mode: FloatMode) -> Vec<Meeting> {
    Levels::new(read, sizes, mode).fit(positions, kind)
}

/// The loop that binds a subscript.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Bound {
    Constant,
    Loop(usize),
}

impl Spot {
    /// Returns the binding loop; `None` if some loop has no position yet.
    fn bound(&self, positions: &Positions) -> Option<Bound> {
        let mut bounds = self.fields.iter().map(|f| positions(f).map(Bound::Loop));
        bounds.try_fold(Bound::Constant, |bound, f| Some(bound.max(f?)))
    }

    fn meet(&self, bound: Option<Bound>, outside: Option<Bound>, kind: NestKind) -> Meeting {
        // `later`: all outer levels are bound strictly before this one.
        let later = match (bound, outside) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(b), Some(o)) => b > o,
        };
        // Strides of any length, forward or backward.
        let steps = self.terms.as_ref().is_some_and(|terms| !terms.is_empty());
        if self.level.kind == LevelKind::Dense {
            return if later && steps { Meeting::Walk } else { Meeting::Follow };
        }
        if later && steps && (self.level.ordered || kind == NestKind::Copy) {
            return Meeting::Walk;
        }
        let same = bound.is_some() && bound == outside;
        match self.level.lookup() {
            Lookup::Direct => Meeting::Follow,
            Lookup::Search => {
                let looked_up = later || same || bound == Some(Bound::Constant);
                if looked_up && !self.part { Meeting::Follow } else { Meeting::Discordant }
            }
            Lookup::Unsupported => Meeting::Discordant,
        }
    }
}
