//! Totals of a tensor: numbers of positions, of stored elements and of elements that differ from
//! the fill value, and the sum of all elements.

use super::array::{match_width, prim_bits};
use super::{Array, Tensor};
use crate::Error;
use crate::levels::level;
use redpoll_logic::{LeafKind, LevelFormat, Prim, Scalar};
use std::ops::Range;

/// A bitwise comparison of stored values with the fill value, in which NaN equals NaN.
pub(crate) struct FillTest<'a> {
    /// For each primitive: its array, the bits of the fill value, and whether the fill value is
    /// NaN.
    columns: Vec<(&'a Array, u64, bool)>,
}

impl<'a> FillTest<'a> {
    /// Prepares the comparison of values in `columns`, one for each primitive, with a fill value.
    pub(crate) fn new(columns: &'a [Array], fill: &Scalar) -> FillTest<'a> {
        let column = |(array, fill): (_, &Scalar)| (array, prim_bits(fill).1, fill.is_nan());
        FillTest { columns: columns.iter().zip(&fill.flatten()).map(column).collect() }
    }

    /// Returns whether the value at a position is the fill value; always false for a pattern, which
    /// has no columns.
    pub(crate) fn is_fill(&self, position: u64) -> bool {
        let k = position as usize;
        let same = |&(array, fill, nan): &(&Array, u64, bool)| array.bits(k) == fill || nan && array.scalar(k).is_nan();
        !self.columns.is_empty() && self.columns.iter().all(same)
    }

    /// Returns the positions below `count` whose values are not the fill value, ascending.
    pub(crate) fn positions_differing(&self, count: u64) -> Vec<u64> {
        let &[(array, fill, false)] = &self.columns[..] else {
            return (0..count).filter(|&position| !self.is_fill(position)).collect();
        };
        match_width!(array.prim(), W => {
            let (words, fill) = (&array.words::<W>()[..count as usize], fill as W);
            let mut found = Vec::new();
            for (first, block) in (0..count).step_by(BLOCK).zip(words.chunks(BLOCK)) {
                // Most blocks have only fill values. This test recognizes such a block in a few
                // instructions.
                if block.iter().any(|word| *word != fill) {
                    found.extend((first..).zip(block).filter(|(_, word)| **word != fill).map(|(position, _)| position));
                }
            }
            found
        })
    }
}

/// Number of values tested at once.
const BLOCK: usize = 64;

impl Tensor {
    pub(crate) fn fill_test(&self) -> FillTest<'_> {
        FillTest::new(&self.leaf, &self.ty.fill)
    }

    /// Returns one more than the last leaf position.
    pub fn positions(&self) -> u64 {
        let levels = self.ty.format.levels.iter().enumerate();
        levels.fold(1, |above, (k, format)| level(format.kind).positions(self.level(k), above))
    }

    /// Returns the number of entries of each level, outermost first, as
    /// [`Level::entries`](crate::levels::Level::entries) defines entries. For most level kinds, the
    /// function reads only the ends of lists.
    ///
    /// # Errors
    /// Those of [`Tensor::fetch`].
    pub fn level_positions(&self) -> Result<Vec<u64>, Error> {
        self.fetch_ends()?;
        let below = |above: &mut u64, (k, format): (usize, &LevelFormat)| {
            let entries = level(format.kind).entries(self.level(k), *above);
            *above = entries.end.saturating_sub(entries.start);
            Some(*above)
        };
        Ok(self.ty.format.levels.iter().enumerate().scan(1, below).collect())
    }

    /// Returns the number of leaf positions, if these correspond one to one to the stored elements.
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

    /// Calls `visit` with each position of stored elements, in any order, and the number of
    /// elements at that position. The elements of a run share one position. In a format with
    /// padding, the elements of a run are visited one by one.
    pub(crate) fn for_each_stored_position(&self, mut visit: impl FnMut(u64, u64)) {
        match self.exact_positions() {
            Some(len) => (0..len as u64).for_each(|p| visit(p, 1)),
            None if self.ty.format.has_padding(&self.ty.shape) => self.for_each_stored(|_, p| visit(p, 1)),
            None if self.element_count() > 0 => self.walk_runs(0, 0..1, 1, &mut visit),
            None => {}
        }
    }

    /// Visits the leaf positions below the positions `fiber`. Each position of `fiber` stands for
    /// `elements` combinations of outer coordinates.
    fn walk_runs(&self, depth: usize, fiber: Range<u64>, elements: u64, visit: &mut dyn FnMut(u64, u64)) {
        let Some(format) = self.ty.format.levels.get(depth) else { return fiber.for_each(|p| visit(p, elements)) };
        let (kind, data) = (level(format.kind), self.level(depth));
        match kind.as_runs() {
            None => kind.for_each(data, fiber, &mut |_, own| self.walk_runs(depth + 1, own, elements, visit)),
            Some(runs) => fiber.for_each(|p| {
                runs.for_each_run(data, p, &mut |run, q| {
                    self.walk_runs(depth + 1, q..q + 1, elements * (run.end - run.start), visit);
                });
            }),
        }
    }

    /// Calls `visit` with each stored value in one column of the leaf, as `f64`, and the number of
    /// elements that share it.
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

    /// Returns the number of stored elements, including those with the fill value but not padding.
    ///
    /// # Errors
    /// Those of [`Tensor::fetch`].
    pub fn count_stored(&self) -> Result<u64, Error> {
        self.fetch_levels()?;
        Ok(self.count_stored_on_host())
    }

    /// Returns [`Tensor::count_stored`] for a tensor whose levels are on the host.
    pub(super) fn count_stored_on_host(&self) -> u64 {
        let mut count = 0;
        self.for_each_stored_position(|_, n| count += n);
        count
    }

    /// Returns the number of elements that differ from the fill value. NaN equals NaN, and 0.0
    /// equals -0.0 unless in a struct.
    ///
    /// # Errors
    /// Those of [`Tensor::fetch`] and [`Tensor::check_files`].
    pub fn count_differing_from_fill(&self) -> Result<u64, Error> {
        self.fetch()?;
        let mut count = 0;
        match (&self.ty.fill, &self.leaf[..]) {
            (Scalar::F32(_) | Scalar::F64(_), [array]) => {
                let fill = self.ty.fill.to_f64().expect("the fill value is a float");
                let differs = |v: f64| v != fill && !(v.is_nan() && fill.is_nan());
                self.for_each_stored_f64(array, |v, n| count += if differs(v) { n } else { 0 });
            }
            _ => {
                let test = self.fill_test();
                self.for_each_stored_position(|p, n| count += if test.is_fill(p) { 0 } else { n });
            }
        }
        self.check_files()?;
        Ok(count)
    }

    /// Returns the sum of all elements, including those that are not stored, as `f64`; `true`
    /// counts as 1. `None` for structs.
    ///
    /// # Errors
    /// Those of [`Tensor::fetch`] and [`Tensor::check_files`].
    pub fn sum(&self) -> Result<Option<f64>, Error> {
        self.fetch()?;
        let Some(fill) = self.ty.fill.to_f64() else { return Ok(None) };
        let stored = self.count_stored_on_host();
        let values = match (self.ty.format.leaf, &self.leaf[..]) {
            (LeafKind::Element, [array]) => {
                let mut sum = 0.0;
                self.for_each_stored_f64(array, |v, n| sum += v * n as f64);
                sum
            }
            _ => stored as f64,
        };
        self.check_files()?;
        let rest = self.element_count() - stored;
        Ok(Some(if rest == 0 || fill == 0.0 { values } else { values + fill * rest as f64 }))
    }

    /// Returns the exact sum of all elements of a tensor of integers or booleans, including those
    /// that are not stored; `true` counts as 1. `None` for other dtypes, and for a sum of more than
    /// 127 bits.
    ///
    /// # Errors
    /// Those of [`Tensor::fetch`] and [`Tensor::check_files`].
    pub fn integer_sum(&self) -> Result<Option<i128>, Error> {
        self.fetch()?;
        let Some(fill) = self.ty.fill.to_i128() else { return Ok(None) };
        let rest = self.element_count() - self.count_stored_on_host();
        let mut sum = fill.checked_mul(rest.into());
        let mut add = |v: i128, n: u64| {
            sum = sum.and_then(|sum| sum.checked_add(v.checked_mul(n.into())?));
        };
        match (self.ty.format.leaf, &self.leaf[..]) {
            (LeafKind::Element, [array]) => self.for_each_stored_position(|p, n| {
                add(array.scalar(p as usize).to_i128().expect("the values have the dtype of the fill value"), n);
            }),
            _ => self.for_each_stored_position(|_, n| add(1, n)),
        }
        self.check_files()?;
        Ok(sum)
    }
}
