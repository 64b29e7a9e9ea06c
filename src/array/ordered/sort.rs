//! Sorts along an axis.

use super::fibers::{StoredFibers, assemble};
use super::value::{OrderedValue, match_prim, sorted_places};
use crate::array::{Array, ArrayError, Axes, Index};
use crate::error::Error;
use redpoll_logic::op::Builtin;
use redpoll_logic::{DType, Expr, Format, LeafKind, LevelKind, Prim, Scalar, TensorType};
use redpoll_storage::{Array as Buffer, Duplicates, Tensor, Triples, Values};
use std::cmp::Ordering;

/// The order of a sort. NaN is last in both orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SortOrder {
    /// The smallest value first.
    #[default]
    Ascending,
    /// The largest value first.
    Descending,
}

impl SortOrder {
    fn compare<T: OrderedValue>(self, a: T, b: T) -> Ordering {
        match self {
            SortOrder::Descending if !a.is_nan() && !b.is_nan() => b.compare(a),
            _ => a.compare(b),
        }
    }

    /// Returns a number for a value, such that the numbers ascend in the order of the sort. The
    /// number of NaN is the largest.
    pub(super) fn key<T: OrderedValue>(self, value: T) -> u64 {
        match self {
            SortOrder::Descending if !value.is_nan() => !value.key(),
            _ => value.key(),
        }
    }

    /// Sorts values; equal ones in any order.
    pub(super) fn sort<T: OrderedValue>(self, values: &mut [T]) {
        let mut numbers = values.len();
        for k in (0..values.len()).rev().filter(|_| T::PRIM.is_float()) {
            if values[k].is_nan() {
                numbers -= 1;
                values.swap(k, numbers);
            }
        }
        T::sort_numbers(&mut values[..numbers], self);
    }
}

impl Array {
    /// Sorts the values along an axis. The result of a sparse array is sparse: the values before
    /// the fill value are stored at the first coordinates, and the values after the fill value at
    /// the last. The method is not lazy.
    ///
    /// ```
    /// use redpoll::prelude::*;
    ///
    /// let session = Session::default();
    /// let a = session.dense([2, 3], [3, 0, -1, 2, 5, 4]);
    /// assert_eq!(a.sort(1, SortOrder::Ascending)?.to_vec::<i32>()?, [-1, 0, 3, 2, 4, 5]);
    /// let far = session.triples([1 << 40], Format::csf(1), [([7], 2.0), ([1 << 39], -1.0)]);
    /// let sorted = far.sort(0, SortOrder::Descending)?;
    /// assert_eq!(sorted.entries::<f64>()?, [(vec![0], 2.0), (vec![(1 << 40) - 1], -1.0)]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`]; also if there is no such axis, or the values are structs.
    #[track_caller]
    pub fn sort(&self, axis: impl Into<Axes>, order: SortOrder) -> Result<Array, Error> {
        let (fibers, mode, tensor) = self.fibers_of_axis("sort", &axis.into())?;
        let (indices, values) = match_prim!(fibers.prim(), T => sorted::<T>(&fibers, order));
        let mut coordinates = repeat_coordinates(&fibers);
        coordinates.insert(mode, indices);
        let ty = (fibers.ty.shape.clone(), fibers.ty.fill.clone());
        self.with_modes_of(assemble(ty, &mode_order(&fibers, mode), coordinates, values, &tensor.ty().format)?)
    }

    /// Returns the coordinates that sort the values along an axis: `a.take_along_axis` with these
    /// coordinates is `a.sort`. Equal values stay in their order. For a sparse array, a few runs of
    /// offsets are stored, which are added to the coordinates of the sorted array. The values are
    /// sorted at once; only this addition is lazy.
    ///
    /// ```
    /// use redpoll::prelude::*;
    ///
    /// let session = Session::default();
    /// let a = session.vector([3.0, 1.0, 2.0]);
    /// assert_eq!(a.argsort(0, SortOrder::Ascending)?.to_vec::<i64>()?, [1, 2, 0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::sort`].
    #[track_caller]
    pub fn argsort(&self, axis: impl Into<Axes>, order: SortOrder) -> Result<Array, Error> {
        let (fibers, mode, _) = self.fibers_of_axis("argsort", &axis.into())?;
        let runs = match_prim!(fibers.prim(), T => offsets::<T>(&fibers, order));
        let offsets = self.with_modes_of(run_tensor(&fibers, mode, runs)?)?;
        Ok(offsets.derive("argsort", |state| {
            let coordinate = Expr::coordinate(state.fields()[mode].clone());
            Ok(state.with_expr(Expr::mapjoin(Builtin::Add, [state.expr.clone(), coordinate])?))
        }))
    }

    /// Returns the `k` largest values along an axis in descending order, and their coordinates. Of
    /// equal values, the first ones are returned. The values are sorted at once.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let (values, coordinates) = session.vector([3, 9, 4]).top_k(2, 0)?;
    /// assert_eq!(values.to_vec::<i32>()?, [9, 4]);
    /// assert_eq!(coordinates.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::sort`]; also if the axis has fewer than `k` coordinates.
    #[track_caller]
    pub fn top_k(&self, k: u64, axis: i64) -> Result<(Array, Array), Error> {
        let (mode, size) = self.mode_of("top_k", axis)?;
        if size < k {
            let message = format!("axis {axis} has {size} coordinates, fewer than {k}");
            return Err(ArrayError::shape("top_k", message));
        }
        let first = |array: Array| {
            let whole = (0..mode).map(|_| Index::from(..));
            array.slice(whole.chain([Index::from(..k as i64)]))
        };
        let stored = self.session().array(self.collect()?);
        let values = stored.sort(axis, SortOrder::Descending)?;
        Ok((first(values), first(stored.argsort(axis, SortOrder::Descending)?)))
    }

    /// Computes the array, and lists its values along an axis. Also returns the mode and the
    /// tensor.
    #[track_caller]
    fn fibers_of_axis(&self, operation: &'static str, axis: &Axes) -> Result<(StoredFibers, usize, Tensor), Error> {
        let (tensor, along) = self.collect_along(operation, axis)?;
        let &[mode] = &along[..] else {
            return Err(ArrayError::shape(operation, format!("expected one axis, found {}", along.len())));
        };
        Ok((StoredFibers::of(&tensor, &along)?, mode, tensor))
    }
}

/// Returns the order of the modes in which fibers along a mode are stored.
fn mode_order(fibers: &StoredFibers, mode: usize) -> Vec<usize> {
    fibers.kept.iter().copied().chain([mode]).collect()
}

/// Returns the coordinates of the fiber of each value, in each of the kept modes.
fn repeat_coordinates(fibers: &StoredFibers) -> Vec<Vec<u64>> {
    let repeat = |list: &Vec<u64>| {
        let each = list.iter().zip(fibers.ranges());
        each.flat_map(|(i, range)| std::iter::repeat_n(*i, range.len())).collect()
    };
    fibers.coordinates.iter().map(repeat).collect()
}

/// Returns the values of each fiber in order, and their indices in the sorted fiber.
fn sorted<T: OrderedValue>(fibers: &StoredFibers, order: SortOrder) -> (Vec<u64>, Buffer) {
    let (mut values, fill) = (fibers.values::<T>(), fibers.fill::<T>());
    let mut indices = Vec::with_capacity(values.len());
    for range in fibers.ranges() {
        let fiber = &mut values[range];
        order.sort(fiber);
        let before = fiber.partition_point(|value| order.compare(*value, fill) == Ordering::Less) as u64;
        let after = fibers.length - (fiber.len() as u64 - before);
        indices.extend((0..before).chain(after..fibers.length));
    }
    (indices, T::into_buffer(values))
}

/// Runs of equal numbers, fiber by fiber.
#[derive(Default)]
struct Runs {
    /// The number of runs up to the end of each fiber.
    ends: Vec<u64>,
    left: Vec<u64>,
    right: Vec<u64>,
    values: Vec<i64>,
}

impl Runs {
    /// Appends a run to the current fiber, unless the run is empty or its value is 0.
    fn push(&mut self, run: std::ops::Range<u64>, value: i64) {
        if value == 0 || run.is_empty() {
            return;
        }
        let first = self.ends.last().map_or(0, |end| *end as usize);
        if self.values.len() > first && self.right.last() == Some(&run.start) && self.values.last() == Some(&value) {
            *self.right.last_mut().expect("there is a run") = run.end;
            return;
        }
        self.left.push(run.start);
        self.right.push(run.end);
        self.values.push(value);
    }

    fn end_fiber(&mut self) {
        self.ends.push(self.values.len() as u64);
    }
}

/// Returns the offsets in each sorted fiber. The offset at a place is the index that the value at
/// the place had before the sort, minus the place.
fn offsets<T: OrderedValue>(fibers: &StoredFibers, order: SortOrder) -> Runs {
    let (values, fill) = (fibers.values::<T>(), fibers.fill::<T>());
    let mut runs = Runs::default();
    for range in fibers.ranges() {
        // Values of one fiber are listed by ascending index.
        let sorted = sorted_places(&values[range.clone()], range.start, order);
        let before = sorted.partition_point(|place| place.key() < order.key(fill));
        let (head, tail) = sorted.split_at(before);
        let mut place = 0;
        let push_value = |runs: &mut Runs, place: &mut u64, k: usize| {
            runs.push(*place..*place + 1, fibers.indices[k] as i64 - *place as i64);
            *place += 1;
        };
        head.iter().for_each(|k| push_value(&mut runs, &mut place, k.place()));
        // The elements with the fill value have the indices between the stored ones.
        let mut next = 0;
        for stored in fibers.indices[range].iter().copied().chain([fibers.length]) {
            let count = stored - next;
            runs.push(place..place + count, next as i64 - place as i64);
            place += count;
            next = stored + 1;
        }
        tail.iter().for_each(|k| push_value(&mut runs, &mut place, k.place()));
        runs.end_fiber();
    }
    runs
}

/// Returns a tensor that stores runs along a mode, with fill value 0. Its shape is that of the
/// tensor of the fibers.
fn run_tensor(fibers: &StoredFibers, mode: usize, runs: Runs) -> Result<Tensor, Error> {
    let kept_shape: Vec<u64> = fibers.kept.iter().map(|kept| fibers.ty.shape[*kept]).collect();
    let rank = kept_shape.len();
    // The levels above the runs are those of the pattern of fibers.
    let (levels, ends) = if rank == 0 {
        (Vec::new(), vec![runs.ends.last().copied().unwrap_or(0)])
    } else {
        let format = Format { leaf: LeafKind::Pattern, ..Format::csf(rank) };
        let ty = TensorType { shape: kept_shape.clone(), dtype: DType::BOOL, fill: Scalar::Bool(false), format };
        let values = Values::pattern(runs.ends.len())?;
        let triples = Triples { shape: kept_shape, coordinates: fibers.coordinates.clone(), values };
        let (pattern, _) = Tensor::from_triples(ty, &triples, Duplicates::Error)?;
        (pattern.levels().to_vec(), runs.ends)
    };
    let run_level = vec![
        Buffer::from_indices(Prim::I64, [0].into_iter().chain(ends)),
        Buffer::from_indices(Prim::U64, runs.left.into_iter()),
        Buffer::from_indices(Prim::I64, runs.right.into_iter()),
    ];
    let kinds: Vec<LevelKind> =
        std::iter::repeat_n(LevelKind::SparseList, rank).chain([LevelKind::SparseRunLength]).collect();
    let format = Format::of_kinds(&kinds, LeafKind::Element).permuted(&mode_order(fibers, mode));
    let ty = TensorType { shape: fibers.ty.shape.clone(), dtype: DType::I64, fill: Scalar::I64(0), format };
    let levels = levels.into_iter().chain([run_level]).collect();
    Ok(Tensor::try_new(ty, levels, vec![Buffer::from_vec(runs.values)])?)
}
