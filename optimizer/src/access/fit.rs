//! Fits accesses to loop orders: decides which levels are walked, which are followed, and which are
//! discordant.
//!
//! A level is *bound* at the position of the innermost loop that its subscript depends on. A level
//! can be walked, with any stride and in either direction, when it is ordered (or the nest only
//! copies a tensor), has an affine subscript with a field, and is bound inside every outer level. A
//! level with direct lookup, such as a dense level or a hash table, can be followed (looked up) in
//! any order. A level that must be searched can be followed when all outer levels are bound no
//! later than this level, or when its subscript is constant. The exception is a quotient or
//! remainder that is not a field of a split: the level is then not searched. All other levels are
//! *discordant*, and so are all levels of a padded access (`AccessLevels::is_padded`): the access
//! needs a copy of the tensor.

use crate::term::sizes::Sizes;
use crate::term::{ModeCoordinate, NestKind, Read, Term};
use redpoll_logic::op::Builtin;
use redpoll_logic::{Affine, Field, FloatMode, Format, LevelFormat, LevelKind, Lookup, Scalar, StorageMode, Subscript};
use std::rc::Rc;

/// The use of a level by a loop order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LevelUse {
    /// A level whose coordinates drive the loop that binds it, or are read along with the loop.
    Walk,
    /// A level that is looked up, because its coordinate is known when the loops reach the level.
    Follow,
    /// A level that cannot be used in this order.
    Discordant,
}

/// The coordinates of a dense level.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct DenseExtent {
    /// Number of loops outside the loop that binds the level; `None` if no loop binds the level
    /// yet, or if the subscript is constant.
    pub(crate) loop_depth: Option<usize>,
    /// Largest number of coordinates that the loop visits.
    pub(crate) size: f64,
}

/// Function that returns the position of a field's loop; `None` while the loop has no position.
pub(crate) type Positions<'a> = dyn Fn(&Field) -> Option<usize> + 'a;

/// Returns the coordinate of each storage mode.
pub(crate) fn storage_coordinates(
    at: &[ModeCoordinate],
    format: &Format,
    shape: &[u64],
    sizes: &Sizes,
    mode: FloatMode,
) -> Vec<ModeCoordinate> {
    format
        .modes
        .iter()
        .map(|&m| match m {
            StorageMode::Whole { mode: k } => at[k].clone(),
            StorageMode::Outer { mode: k, block } => block_part(&at[k], block, BlockPart::Outer, sizes, mode),
            StorageMode::Inner { mode: k, block } => block_part(&at[k], block, BlockPart::Inner, sizes, mode),
            StorageMode::Skew { mode: k, by } => diagonal(&at[k], &at[by], shape[by], mode),
        })
        .collect()
}

/// Returns `at - along + length - 1`.
fn diagonal(at: &ModeCoordinate, along: &ModeCoordinate, length: u64, mode: FloatMode) -> ModeCoordinate {
    let last = length.saturating_sub(1) as i64;
    if let (Some(a), Some(b)) = (at.as_affine(), along.as_affine()) {
        return ModeCoordinate::Subscript(Subscript::Affine(a.plus(&b.times(-1)).plus(&Affine::constant(last))));
    }
    let difference = Term::call(&Builtin::Sub.into(), vec![at.value(mode), along.value(mode)], mode);
    let shifted = Term::call(&Builtin::Add.into(), vec![difference, Term::literal(Scalar::I64(last))], mode);
    ModeCoordinate::from_value(shifted)
}

#[derive(Clone, Copy)]
enum BlockPart {
    Outer,
    Inner,
}

fn block_part(at: &ModeCoordinate, block: u64, part: BlockPart, sizes: &Sizes, mode: FloatMode) -> ModeCoordinate {
    let size = block as i64;
    match at {
        ModeCoordinate::Subscript(Subscript::Affine(form)) => match (form.as_constant(), sizes.as_split(form), part) {
            (Some(constant), ..) => {
                let constant = match part {
                    BlockPart::Outer => constant.div_euclid(size),
                    BlockPart::Inner => constant.rem_euclid(size),
                };
                ModeCoordinate::Subscript(Subscript::Affine(Affine::constant(constant)))
            }
            (_, Some((outer, _, b)), BlockPart::Outer) if b == block => ModeCoordinate::field(outer),
            (_, Some((_, inner, b)), BlockPart::Inner) if b == block => ModeCoordinate::field(inner),
            (.., BlockPart::Outer) => ModeCoordinate::Subscript(Subscript::Outer(form.clone(), block)),
            (.., BlockPart::Inner) => ModeCoordinate::Subscript(Subscript::Inner(form.clone(), block)),
        },
        other => {
            let op = match part {
                BlockPart::Outer => Builtin::FloorDiv,
                BlockPart::Inner => Builtin::Rem,
            };
            ModeCoordinate::from_value(Term::integer(op, other.value(mode), size, mode))
        }
    }
}

/// The levels of an access and the fields of their subscripts.
pub(crate) struct AccessLevels {
    levels: Vec<AccessLevel>,
    /// Set if no loop order fits: some mode is stored in parts or skewed, and the read may be out
    /// of bounds. A coordinate can then be out of the bounds of the tensor, but within those of its
    /// level, such as in the padding of a ragged block.
    is_padded: bool,
}

/// A level of an access.
struct AccessLevel {
    format: LevelFormat,
    fields: Vec<Field>,
    /// The terms of an affine subscript; `None` for other subscripts.
    terms: Option<Vec<(Field, i64)>>,
    /// Set if the subscript is a quotient or remainder that is not a field of a split. A level that
    /// must be searched is then discordant, because walking a copy is cheaper than one search per
    /// coordinate.
    is_unsplit_part: bool,
}

impl AccessLevels {
    pub(crate) fn new(read: &Read, sizes: &Sizes, mode: FloatMode) -> AccessLevels {
        let format = &read.ty.format;
        let blocked = format.modes.iter().any(|m| !matches!(m, StorageMode::Whole { .. }));
        let coordinates = storage_coordinates(&read.coordinates, format, &read.ty.shape, sizes, mode);
        let level = |(at, format): (ModeCoordinate, &LevelFormat)| AccessLevel {
            format: *format,
            fields: at.fields().into_iter().collect(),
            terms: at.as_affine().map(|form| form.terms.clone()),
            is_unsplit_part: matches!(at, ModeCoordinate::Subscript(Subscript::Outer(..) | Subscript::Inner(..))),
        };
        let levels = coordinates.into_iter().zip(&format.levels).map(level).collect();
        AccessLevels { levels, is_padded: blocked && read.outside.is_some() }
    }

    /// Returns the use of each level. Levels whose loops have no position yet count as bound inside
    /// all others. The access of a copy also walks unordered levels.
    pub(crate) fn fit(&self, positions: &Positions, kind: NestKind) -> Vec<LevelUse> {
        if self.is_padded {
            return vec![LevelUse::Discordant; self.levels.len()];
        }
        let mut outside: Option<BindingLoop> = Some(BindingLoop::Constant);
        let fit_level = |level: &AccessLevel| {
            let bound = level.binding_loop(positions);
            let level_use = level.level_use(bound, outside, kind);
            outside = outside.zip(bound).map(|(o, b)| o.max(b));
            level_use
        };
        self.levels.iter().map(fit_level).collect()
    }

    /// Returns the number of outermost levels that the outermost loops bind one by one, in order.
    /// Each iteration of these loops reads a separate part of the tensor, unless a subscript
    /// repeats coordinates, as a quotient does.
    pub(crate) fn aligned_levels(&self, positions: &Positions) -> usize {
        let bound =
            |level: &AccessLevel| level.fields.iter().map(positions).try_fold(None, |last, p| Some(last.max(Some(p?))));
        (0..self.levels.len()).find(|k| bound(&self.levels[*k]) != Some(Some(*k))).unwrap_or(self.levels.len())
    }

    /// Returns the coordinates of the levels, if all levels are dense and each subscript has at
    /// most one field.
    pub(crate) fn dense_extents(
        &self,
        loop_depth: impl Fn(&Field) -> Option<usize>,
        sizes: &Sizes,
    ) -> Option<Rc<[DenseExtent]>> {
        let of = |level: &AccessLevel| match &level.fields[..] {
            _ if level.format.kind != LevelKind::Dense => None,
            [] => Some(DenseExtent { loop_depth: None, size: 1.0 }),
            [field] => Some(DenseExtent { loop_depth: loop_depth(field), size: sizes.of(field) as f64 }),
            _ => None,
        };
        self.levels.iter().map(of).collect()
    }

    /// Iterates over the levels: the kind of each level, and the number of outermost loops that
    /// determine its fiber and coordinate. The number is `None` if one of these loops has no
    /// position yet.
    pub(crate) fn binding_depths(&self, positions: &Positions) -> impl Iterator<Item = (LevelKind, Option<usize>)> {
        self.levels.iter().scan(Some(0), move |depth, level| {
            let bound = level.fields.iter().map(positions).try_fold(0, |b, p| Some(b.max(p? + 1)));
            *depth = depth.zip(bound).map(|(a, b)| a.max(b));
            Some((level.format.kind, *depth))
        })
    }
}

/// Returns the use of each level of an access.
pub(crate) fn fit(read: &Read, sizes: &Sizes, positions: &Positions, kind: NestKind, mode: FloatMode) -> Vec<LevelUse> {
    AccessLevels::new(read, sizes, mode).fit(positions, kind)
}

/// The loop that binds a subscript.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum BindingLoop {
    Constant,
    Loop(usize),
}

impl AccessLevel {
    /// Returns the binding loop; `None` if some loop has no position yet.
    fn binding_loop(&self, positions: &Positions) -> Option<BindingLoop> {
        let mut bounds = self.fields.iter().map(|f| positions(f).map(BindingLoop::Loop));
        bounds.try_fold(BindingLoop::Constant, |bound, f| Some(bound.max(f?)))
    }

    fn level_use(&self, bound: Option<BindingLoop>, outside: Option<BindingLoop>, kind: NestKind) -> LevelUse {
        // `is_later`: all outer levels are bound strictly before this level.
        let is_later = match (bound, outside) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(b), Some(o)) => b > o,
        };
        // Any stride can be walked, forward or backward.
        let is_affine = self.terms.as_ref().is_some_and(|terms| !terms.is_empty());
        if self.format.kind == LevelKind::Dense {
            return if is_later && is_affine { LevelUse::Walk } else { LevelUse::Follow };
        }
        if is_later && is_affine && (self.format.ordered || kind == NestKind::Copy) {
            return LevelUse::Walk;
        }
        let same = bound.is_some() && bound == outside;
        match self.format.lookup() {
            Lookup::Direct => LevelUse::Follow,
            Lookup::Search => {
                let can_look_up = is_later || same || bound == Some(BindingLoop::Constant);
                if can_look_up && !self.is_unsplit_part { LevelUse::Follow } else { LevelUse::Discordant }
            }
            Lookup::Unsupported => LevelUse::Discordant,
        }
    }
}
