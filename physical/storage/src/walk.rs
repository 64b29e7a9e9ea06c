//! Iteration over the elements of tensors, level by level, for all code outside kernels. Kernels
//! are faster.

use super::summary::FillTest;
use super::values::{gather, scalar_at};
use super::{Array, Tensor, Triples, Values};
use crate::Error;
use crate::levels::level;
use redpoll_logic::{Format, LeafKind, LevelKind, Scalar, StorageMode, TensorType};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

impl Tensor {
    /// Calls `visit(coordinates, position)` for each stored element of the tensor, in storage
    /// order. Stored elements may have the fill value: dense levels, for example, store all
    /// coordinates of their fibers. Padding is left out.
    pub fn for_each_stored(&self, mut visit: impl FnMut(&[u64], u64)) {
        let shape = &self.ty.shape;
        if self.ty.format.has_padding(shape) {
            self.for_each_position(|coordinates, p| {
                if coordinates.iter().zip(shape).all(|(i, n)| i < n) {
                    visit(coordinates, p);
                }
            });
        } else {
            self.for_each_position(visit);
        }
    }

    /// Calls `visit` like [`Tensor::for_each_stored`], including padding.
    pub(crate) fn for_each_position(&self, mut visit: impl FnMut(&[u64], u64)) {
        if self.element_count() == 0 {
            // A full level above an empty mode takes no memory, whatever its dimension. Iteration
            // over such a level could be arbitrarily long.
            return;
        }
        let format = &self.ty.format;
        let mut coordinates = vec![0; self.ty.shape.len()];
        let mut storage = vec![0; format.levels.len()];
        self.walk(0, 0..1, &mut storage, &mut |storage, p| {
            format.tensor_coordinates(&self.ty.shape, storage, &mut coordinates);
            visit(&coordinates, p);
        });
    }

    /// Calls `visit(coordinates, position)` for each stored element within a range of each mode, in
    /// storage order, until `visit` breaks. Dense levels and ordered sparse lists skip fibers
    /// outside the ranges of modes that are stored whole.
    ///
    /// # Panics
    /// If there is not one range for each mode.
    pub fn for_each_stored_within(
        &self,
        ranges: &[Range<u64>],
        mut visit: impl FnMut(&[u64], u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (shape, format) = (&self.ty.shape, &self.ty.format);
        assert_eq!(ranges.len(), shape.len(), "a range for each mode");
        if self.element_count() == 0 || ranges.iter().any(Range::is_empty) {
            return ControlFlow::Continue(());
        }
        let of_level = |(k, mode): (usize, &StorageMode)| match mode {
            StorageMode::Whole { mode } => ranges[*mode].start..ranges[*mode].end.min(shape[*mode]),
            _ => 0..self.level(k).dimension,
        };
        let within: Vec<Range<u64>> = format.modes.iter().enumerate().map(of_level).collect();
        let mut coordinates = vec![0; shape.len()];
        let mut storage = vec![0; format.levels.len()];
        self.walk_within(0, 0..1, (&within, &mut storage), &mut |storage, p| {
            format.tensor_coordinates(shape, storage, &mut coordinates);
            let inside = coordinates.iter().zip(ranges).zip(shape).all(|((i, range), n)| i < n && range.contains(i));
            if inside { visit(&coordinates, p) } else { ControlFlow::Continue(()) }
        })
    }

    fn walk_within(
        &self,
        depth: usize,
        fiber: Range<u64>,
        (within, storage): (&[Range<u64>], &mut [u64]),
        visit: &mut dyn FnMut(&[u64], u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(format) = self.ty.format.levels.get(depth) else {
            return fiber.into_iter().try_for_each(|p| visit(storage, p));
        };
        let range = within[depth].clone();
        level(format.kind).for_each_within(self.level(depth), fiber, range, &mut |i, positions| {
            storage[depth] = i;
            self.walk_within(depth + 1, positions, (within, storage), visit)
        })
    }

    pub(super) fn walk(
        &self,
        depth: usize,
        fiber: Range<u64>,
        storage: &mut [u64],
        visit: &mut dyn FnMut(&[u64], u64),
    ) {
        // The last level is unique, so `positions` is one position, except in tensors that are not
        // validated yet.
        self.walk_levels(depth, fiber, storage, &mut |storage, positions| positions.for_each(|p| visit(storage, p)));
    }

    /// Visits the stored coordinates of the levels `depth..storage.len()` below the positions
    /// `fiber`. Each call `visit(coordinates, positions)` gets one coordinate for each level from
    /// the first on, and the positions that belong to these coordinates. The first `depth`
    /// coordinates are those in `storage`.
    pub(super) fn walk_levels(
        &self,
        depth: usize,
        fiber: Range<u64>,
        storage: &mut [u64],
        visit: &mut dyn FnMut(&[u64], Range<u64>),
    ) {
        if depth == storage.len() {
            return visit(storage, fiber);
        }
        let kind = level(self.ty.format.levels[depth].kind);
        kind.for_each(self.level(depth), fiber, &mut |i, positions| {
            storage[depth] = i;
            self.walk_levels(depth + 1, positions, storage, visit);
        });
    }

    /// Returns the value at a position of the last level.
    ///
    /// # Panics
    /// If the leaf has values, but none at this position.
    pub fn value_at(&self, position: u64) -> Scalar {
        match self.ty.format.leaf {
            LeafKind::Pattern => Scalar::Bool(true),
            LeafKind::Element => scalar_at(&self.ty.dtype, &self.leaf, position as usize),
        }
    }

    /// Returns the value at the given coordinates.
    ///
    /// # Errors
    /// Those of [`Tensor::fetch`] and [`Tensor::check_files`], and when the number of coordinates
    /// is wrong, or they are outside the shape.
    pub fn get(&self, coordinates: &[u64]) -> Result<Scalar, Error> {
        self.fetch()?;
        let shape = &self.ty.shape;
        if coordinates.len() != shape.len() {
            let (found, expected) = (coordinates.len(), shape.len());
            return Err(Error::InvalidCoordinates(format!(
                "an element of the tensor has {expected} coordinates, found {found}"
            )));
        }
        if let Some(mode) = (0..coordinates.len()).find(|&m| coordinates[m] >= shape[m]) {
            let (coordinate, dimension) = (coordinates[mode], shape[mode]);
            return Err(Error::InvalidCoordinates(format!(
                "coordinate {coordinate} of mode {mode} is out of range, its dimension is {dimension}"
            )));
        }
        let storage: Vec<u64> =
            self.ty.format.modes.iter().map(|m| m.coordinate(&self.ty.shape, coordinates)).collect();
        let value = self.find(0, 0..1, &storage).map_or_else(|| self.ty.fill.clone(), |p| self.value_at(p));
        self.check_files()?;
        Ok(value)
    }

    /// Returns the leaf position of storage coordinates, if they are stored.
    fn find(&self, depth: usize, fiber: Range<u64>, storage: &[u64]) -> Option<u64> {
        let Some(format) = self.ty.format.levels.get(depth) else { return Some(fiber.start) };
        let (kind, data) = (level(format.kind), self.level(depth));
        if format.ordered || format.unique {
            return self.find(depth + 1, kind.locate(data, fiber, storage[depth])?, storage);
        }
        let mut found = None;
        kind.for_each(data, fiber, &mut |i, positions| {
            if i == storage[depth] && found.is_none() {
                found = self.find(depth + 1, positions, storage);
            }
        });
        found
    }

    /// Returns whether the last level lists its coordinates. If it does, a stored fill value is
    /// intentional.
    pub(crate) fn is_listed(&self) -> bool {
        self.ty.format.levels.last().is_some_and(|l| l.kind.traits().explicit)
    }

    /// Returns the stored elements and their values, in storage order.
    ///
    /// If the last level is dense, a band or run-length, or the tensor has rank 0, elements with
    /// the fill value are left out. Last levels of other kinds list their coordinates, so fill
    /// values were stored explicitly and are kept.
    ///
    /// # Errors
    /// Those of [`Tensor::fetch`] and [`Tensor::check_files`], and when memory is exhausted.
    pub fn to_triples(&self) -> Result<Triples, Error> {
        self.fetch()?;
        let skip = (!self.is_listed()).then(|| self.fill_test());
        self.stored_triples(skip.as_ref())
    }

    /// Returns the stored elements. If `skip` is given, elements with the fill value are left out.
    pub(crate) fn stored_triples(&self, skip: Option<&FillTest<'_>>) -> Result<Triples, Error> {
        self.triples_of(match skip {
            None => self.stored_entries(),
            Some(fill) => self.entries_differing_from(fill),
        })
    }

    /// Returns the first `limit` elements within a range of each mode, like [`Tensor::to_triples`].
    ///
    /// # Errors
    /// Those of [`Tensor::fetch`] and [`Tensor::check_files`], and when memory is exhausted.
    ///
    /// # Panics
    /// If there is not one range for each mode.
    pub fn to_triples_within(&self, ranges: &[Range<u64>], limit: usize) -> Result<Triples, Error> {
        self.fetch()?;
        let skip = (!self.is_listed()).then(|| self.fill_test());
        let mut coordinates = vec![Vec::new(); self.ty.shape.len()];
        let mut positions = Vec::new();
        let _ = self.for_each_stored_within(ranges, |element, p| {
            if positions.len() == limit {
                return ControlFlow::Break(());
            }
            if skip.as_ref().is_none_or(|fill| !fill.is_fill(p)) {
                coordinates.iter_mut().zip(element).for_each(|(list, &i)| list.push(i));
                positions.push(p);
            }
            ControlFlow::Continue(())
        });
        self.triples_of((coordinates, positions))
    }

    /// Returns triples from coordinates by tensor mode and the values at the given positions.
    fn triples_of(&self, (coordinates, positions): (Vec<Vec<u64>>, Vec<u64>)) -> Result<Triples, Error> {
        let values = self.values_at(&positions)?;
        self.check_files()?;
        Ok(Triples { shape: self.ty.shape.clone(), coordinates, values })
    }

    /// Returns the values at the given leaf positions.
    pub(crate) fn values_at(&self, positions: &[u64]) -> Result<Values, Error> {
        if positions.iter().zip(0..).all(|(&p, k)| p == k) {
            return self.first_values(positions.len());
        }
        match self.ty.format.leaf {
            LeafKind::Pattern => Values::pattern(positions.len()),
            LeafKind::Element => {
                let columns = self.leaf.iter().map(|a| gather(a, positions)).collect::<Result<_, _>>()?;
                Values::try_new(self.ty.dtype.clone(), columns)
            }
        }
    }

    /// Returns the values at the first `len` leaf positions.
    fn first_values(&self, len: usize) -> Result<Values, Error> {
        match self.ty.format.leaf {
            LeafKind::Pattern => Values::pattern(len),
            LeafKind::Element => {
                let columns = self.leaf.iter().map(|a| a.slice(0, len).copied()).collect();
                Values::try_new(self.ty.dtype.clone(), columns)
            }
        }
    }

    /// Returns the values at the positions of stored elements, in any order. Also returns the
    /// number of elements that share each value, if some value has several elements, as in runs. A
    /// format with padding may repeat the value of a run. Fill values are included where they are
    /// stored.
    ///
    /// # Errors
    /// Those of [`Tensor::fetch`] and [`Tensor::check_files`], and when memory is exhausted.
    pub fn stored_values(&self) -> Result<(Values, Option<Vec<u64>>), Error> {
        self.fetch()?;
        let stored = match self.exact_positions() {
            Some(len) => (self.first_values(len)?, None),
            None => {
                let (mut positions, mut counts) = (Vec::new(), Vec::new());
                self.for_each_stored_position(|p, n| {
                    positions.push(p);
                    counts.push(n);
                });
                let has_runs = counts.iter().any(|n| *n != 1);
                (self.values_at(&positions)?, has_runs.then_some(counts))
            }
        };
        self.check_files()?;
        Ok(stored)
    }

    /// Returns a tensor that stores other values at the coordinates of this tensor. `values` has
    /// one value for each stored element, in the order of positions, which in a hash table is the
    /// order of insertion. Returns `None` if the number of values is not the number of stored
    /// elements, or if positions do not match the stored elements one to one.
    ///
    /// # Errors
    /// Those of [`Tensor::fetch`], and when the fill value has another dtype than the values.
    pub fn with_values(&self, values: &Array, fill: Scalar) -> Result<Option<Tensor>, Error> {
        self.fetch()?;
        if self.exact_positions() != Some(values.len()) {
            return Ok(None);
        }
        let format = Format { leaf: LeafKind::Element, ..self.ty.format.clone() };
        let ty = TensorType { shape: self.ty.shape.clone(), dtype: values.prim().into(), fill, format };
        ty.validate()?;
        Ok(Some(Tensor::new_unchecked(Arc::new(ty), self.levels.clone(), vec![values.clone()])))
    }

    /// Returns the coordinates by tensor mode, and the positions, of the stored elements whose
    /// positions `is_included` accepts. The elements are read one by one, in storage order.
    fn entries_where(&self, is_included: impl Fn(u64) -> bool) -> (Vec<Vec<u64>>, Vec<u64>) {
        let mut coordinates = vec![Vec::new(); self.ty.shape.len()];
        let mut positions = Vec::new();
        self.for_each_stored(|element, p| {
            if is_included(p) {
                coordinates.iter_mut().zip(element).for_each(|(list, &i)| list.push(i));
                positions.push(p);
            }
        });
        (coordinates, positions)
    }

    /// Returns the elements that differ from the fill value, like [`Tensor::entries_where`]. In a
    /// dense tensor, the values are scanned first.
    fn entries_differing_from(&self, fill: &FillTest<'_>) -> (Vec<Vec<u64>>, Vec<u64>) {
        let (format, shape) = (&self.ty.format, &self.ty.shape);
        let all_whole = format.modes.iter().all(|mode| matches!(mode, StorageMode::Whole { .. }));
        if !all_whole || !format.is_dense() {
            return self.entries_where(|p| !fill.is_fill(p));
        }
        let positions = fill.positions_differing(self.element_count());
        let mut coordinates = vec![Vec::new(); shape.len()];
        let mut fibers = positions.clone();
        for mode in format.modes.iter().rev() {
            let size = shape[mode.mode()];
            // Positions ascend, and so do the fibers that contain them.
            let (mut fiber, mut first) = (0, 0);
            let coordinate = |position: &mut u64| {
                while *position - first >= size {
                    (fiber, first) = (fiber + 1, first + size);
                }
                std::mem::replace(position, fiber) - first
            };
            coordinates[mode.mode()] = fibers.iter_mut().map(coordinate).collect();
        }
        (coordinates, positions)
    }

    /// Returns the coordinates by tensor mode and the positions of the stored elements, in storage
    /// order. If modes are stored whole, each level is read in one pass over its arrays.
    fn stored_entries(&self) -> (Vec<Vec<u64>>, Vec<u64>) {
        let Format { levels, modes, .. } = &self.ty.format;
        if !modes.iter().all(|mode| matches!(mode, StorageMode::Whole { .. })) || self.element_count() == 0 {
            return self.entries_where(|_| true);
        }
        if let Some(entries) = self.coordinate_list() {
            return entries;
        }
        let mut coordinates = vec![Vec::new(); self.ty.shape.len()];
        let mut fibers: Vec<Range<u64>> = std::iter::once(0..1).collect();
        for (depth, (format, mode)) in levels.iter().zip(modes).enumerate() {
            let (kind, data) = (level(format.kind), self.level(depth));
            let (mut column, mut below, mut counts) = (Vec::new(), Vec::new(), Vec::with_capacity(fibers.len()));
            for fiber in fibers {
                let before = column.len();
                kind.for_each(data, fiber, &mut |i, positions| {
                    column.push(i);
                    below.push(positions);
                });
                counts.push(column.len() - before);
            }
            for outer in &modes[..depth] {
                let list = &mut coordinates[outer.mode()];
                let each = list.iter().zip(&counts).flat_map(|(&i, &count)| std::iter::repeat_n(i, count));
                *list = each.collect();
            }
            coordinates[mode.mode()] = column;
            fibers = below;
        }
        // The last level is unique, so each range is one position.
        (coordinates, fibers.into_iter().map(|fiber| fiber.start).collect())
    }

    /// Returns the entries of a tensor whose levels are one list and singletons below it, as in
    /// COO: the arrays of these levels are the coordinates. Returns `None` for other formats.
    fn coordinate_list(&self) -> Option<(Vec<Vec<u64>>, Vec<u64>)> {
        let Format { levels, modes, .. } = &self.ty.format;
        let (first, rest) = levels.split_first()?;
        if first.kind != LevelKind::SparseList || rest.iter().any(|level| level.kind != LevelKind::Singleton) {
            return None;
        }
        let ptr = self.level(0).arrays[0].indices();
        let positions = ptr.get(0)..ptr.get(1);
        let mut coordinates = vec![Vec::new(); self.ty.shape.len()];
        for (depth, mode) in modes.iter().enumerate() {
            let idx = self.level(depth).arrays.last().expect("a list has coordinates").indices();
            coordinates[mode.mode()] = idx.to_vec(positions.clone());
        }
        Some((coordinates, positions.collect()))
    }

    /// Returns the value of every element, row-major.
    ///
    /// # Errors
    /// Those of [`Tensor::fetch`] and [`Tensor::check_files`], and when memory is exhausted.
    pub fn to_dense_scalars(&self) -> Result<Vec<Scalar>, Error> {
        self.fetch()?;
        let shape = &self.ty.shape;
        let mut dense = super::filled_vec(self.ty.fill.clone(), self.element_count())?;
        self.for_each_stored(|coordinates, p| {
            let at = coordinates.iter().zip(shape).fold(0, |at, (i, n)| at * n + i);
            dense[at as usize] = self.value_at(p);
        });
        self.check_files()?;
        Ok(dense)
    }

    /// Returns the number of elements, stored or not, saturated at `u64::MAX`.
    pub fn element_count(&self) -> u64 {
        if self.ty.shape.contains(&0) {
            return 0;
        }
        self.ty.shape.iter().fold(1, |n, &d| n.saturating_mul(d))
    }
}
