//! Numbers about a whole tensor: how many positions its levels have, how many places differ from the fill, and the sum of all
//! places.

use super::array::{match_width, prim_bits};
use super::{Array, Tensor};
use crate::Error;
use crate::levels::level;
use redpoll_logic::{LeafKind, LevelFormat, Prim, Scalar};
use std::ops::Range;

/// Compares stored values with the fill value, bit by bit, NaN being equal to NaN.
pub(crate) struct FillTest<'a> {
    /// Each primitive: its array, the bits of the fill, and whether these are a NaN.
    columns: Vec<(&'a Array, u64, bool)>,
}

impl<'a> FillTest<'a> {
    /// Compares values in those columns, one a primitive, with that fill value.
    pub(crate) fn new(columns: &'a [Array], fill: &Scalar) -> FillTest<'a> {
        let column = |(array, fill): (_, &Scalar)| (array, prim_bits(fill).1, fill.is_nan());
        FillTest { columns: columns.iter().zip(&fill.flatten()).map(column).collect() }
    }

    /// Whether the value at a position is the fill. A pattern has no columns, and no position with the fill.
    pub(crate) fn is_fill(&self, position: u64) -> bool {
        let k = position as usize;
        let same = |&(array, fill, nan): &(&Array, u64, bool)| array.bits(k) == fill || nan && array.scalar(k).is_nan();
        !self.columns.is_empty() && self.columns.iter().all(same)
    }

    /// The positions below `count` that do not have the fill, ascending.
    pub(crate) fn others(&self, count: u64) -> Vec<u64> {
        let &[(array, fill, false)] = &self.columns[..] else {
            return (0..count).filter(|&position| !self.is_fill(position)).collect();
        };
        match_width!(array.prim(), W => {
            let (words, fill) = (&array.words::<W>()[..count as usize], fill as W);
            let mut found = Vec::new();
            for (first, block) in (0..count).step_by(BLOCK).zip(words.chunks(BLOCK)) {
                // Most blocks have none, and that is found out in a few instructions.
                if block.iter().any(|word| *word != fill) {
                    found.extend((first..).zip(block).filter(|(_, word)| **word != fill).map(|(position, _)| position));
                }
            }
            found
        })
    }
}

/// So many values are looked at together.
const BLOCK: usize = 64;

impl Tensor {
    pub(crate) fn fill_test(&self) -> FillTest<'_> {
        FillTest::new(&self.leaf, &self.ty.fill)
    }

    /// How many values there are: one more than the last leaf position.
    pub(crate) fn positions(&self) -> u64 {
        let levels = self.ty.format.levels.iter().enumerate();
        levels.fold(1, |above, (k, format)| level(format.kind).positions(self.level(k), above))
    }

    /// The numbers of positions below the first 1, 2, .. levels, read off the ends of lists.
    ///
    /// # Errors
    /// As [`Tensor::fetch`].
    pub fn level_positions(&self) -> Result<Vec<u64>, Error> {
        self.fetch_ends()?;
        let below = |above: &mut u64, (k, format): (usize, &LevelFormat)| {
            let entries = level(format.kind).entries(self.level(k), *above);
            *above = entries.end.saturating_sub(entries.start);
            Some(*above)
        };
        Ok(self.ty.format.levels.iter().enumerate().scan(1, below).collect())
    }

    /// The number of leaf positions if these are exactly the stored places of the tensor.
    pub(crate) fn exact_positions(&self) -> Option<usize> {
        let format = &self.ty.format;
        if format.has_padding(&self.ty.shape) {
            return None;
        }
        let mut positions = 1;
        for (k, level_format) in format.levels.iter().enumerate() {
            let entries = level(level_format.kind).entries(self.level(k), positions);
            if !level_format.kind.traits().compact || entries.start != 0 {
                return None;
            }
            positions = entries.end;
        }
        Some(positions as usize)
    }

    /// Calls `visit` with positions of stored places, in any order, and how many places each is that of: those of a run
    /// share one.
    fn for_each_stored_position(&self, mut visit: impl FnMut(u64, u64)) {
        match self.exact_positions() {
            Some(len) => (0..len as u64).for_each(|p| visit(p, 1)),
            None if self.ty.format.has_padding(&self.ty.shape) => self.for_each_stored(|_, p| visit(p, 1)),
            None if self.places() > 0 => self.walk_runs(0, 0..1, 1, &mut visit),
            None => {}
        }
    }

    /// Visits the positions below `fiber`, whose coordinates so far stand for that many places.
    fn walk_runs(&self, depth: usize, fiber: Range<u64>, places: u64, visit: &mut dyn FnMut(u64, u64)) {
        let Some(format) = self.ty.format.levels.get(depth) else { return fiber.for_each(|p| visit(p, places)) };
        let (kind, data) = (level(format.kind), self.level(depth));
        match kind.as_runs() {
            None => kind.for_each(data, fiber, &mut |_, own| self.walk_runs(depth + 1, own, places, visit)),
            Some(runs) => fiber.for_each(|p| {
                runs.for_each_run(data, p, &mut |run, q| {
                    self.walk_runs(depth + 1, q..q + 1, places * (run.end - run.start), visit);
                });
            }),
        }
    }

    /// Calls `visit` with values of stored places in one column of the leaf, in `f64`, and how many places have each.
    fn for_each_stored_f64(&self, array: &Array, mut visit: impl FnMut(f64, u64)) {
        macro_rules! each {
            ($t:ty, $to:expr) => {{
                let words = array.words::<$t>();
                self.for_each_stored_position(|p, n| visit($to(words[p as usize]), n));
            }};
        }
        match array.prim() {
            Prim::Bool | Prim::U8 => each!(u8, f64::from),
            Prim::I8 => each!(i8, f64::from),
            Prim::I16 => each!(i16, f64::from),
            Prim::U16 => each!(u16, f64::from),
            Prim::I32 => each!(i32, f64::from),
            Prim::U32 => each!(u32, f64::from),
            Prim::I64 => each!(i64, |v| v as f64),
            Prim::U64 => each!(u64, |v| v as f64),
            Prim::F32 => each!(f32, f64::from),
            Prim::F64 => each!(f64, |v| v),
        }
    }

    /// The number of stored places, those with the fill value included, padding of ragged blocks not.
    ///
    /// # Errors
    /// As [`Tensor::fetch`].
    pub fn count_stored(&self) -> Result<u64, Error> {
        self.fetch_levels()?;
        Ok(self.stored_here())
    }

    /// As [`Tensor::count_stored`], of levels that are here.
    pub(super) fn stored_here(&self) -> u64 {
        let mut count = 0;
        self.for_each_stored_position(|_, n| count += n);
        count
    }

    /// The number of places whose value differs from the fill value. NaN does not differ from NaN, nor 0.0 from -0.0.
    ///
    /// # Errors
    /// As [`Tensor::fetch`].
    pub fn count_differing_from_fill(&self) -> Result<u64, Error> {
        self.fetch()?;
        let mut count = 0;
        match (&self.ty.fill, &self.leaf[..]) {
            (Scalar::F32(_) | Scalar::F64(_), [array]) => {
                let fill = self.ty.fill.to_f64().expect("a float");
                let differs = |v: f64| v != fill && !(v.is_nan() && fill.is_nan());
                self.for_each_stored_f64(array, |v, n| count += if differs(v) { n } else { 0 });
            }
            _ => {
                let test = self.fill_test();
                self.for_each_stored_position(|p, n| count += if test.is_fill(p) { 0 } else { n });
            }
        }
        Ok(count)
    }

    /// The sum over all places, those with the fill value included, in `f64`; `true` counts 1. `None` for structs.
    ///
    /// # Errors
    /// As [`Tensor::fetch`].
    pub fn sum(&self) -> Result<Option<f64>, Error> {
        self.fetch()?;
        let Some(fill) = self.ty.fill.to_f64() else { return Ok(None) };
        let stored = self.stored_here();
        let values = match (self.ty.format.leaf, &self.leaf[..]) {
            (LeafKind::Element, [array]) => {
                let mut sum = 0.0;
                self.for_each_stored_f64(array, |v, n| sum += v * n as f64);
                sum
            }
            _ => stored as f64,
        };
        let rest = self.places() - stored;
        Ok(Some(if rest == 0 || fill == 0.0 { values } else { values + fill * rest as f64 }))
    }
}
