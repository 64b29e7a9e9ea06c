//! Sorts along an axis.

use super::fibers::StoredFibers;
use super::value::{OrderedValue, match_prim};
use crate::array::{Array, ArrayError, Axes};
use crate::error::Error;
use redpoll_logic::op::Builtin;
use redpoll_logic::{DType, Expr, Format, LeafKind, LevelKind, Prim, Scalar, TensorType};
use redpoll_storage::{Array as Buffer, Duplicates, Tensor, Triples, Values, convert, order_of_numbers};
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

    /// Moves the first `limit` values in this order to the start of `values`, sorted, and returns
    /// them.
    fn sort_first<T: OrderedValue>(self, values: &mut [T], limit: u64) -> &mut [T] {
        let first = match usize::try_from(limit) {
            Ok(limit) if limit < values.len() => {
                values.select_nth_unstable_by(limit, |a, b| self.compare(*a, *b));
                &mut values[..limit]
            }
            _ => values,
        };
        self.sort(first);
        first
    }

    /// Sorts values. The order of equal values is unspecified.
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
    /// Sorts the values along an axis. The result of a sparse array is sparse. Values that precede
    /// the fill value in the order are stored at the first coordinates, values that follow the fill
    /// value at the last coordinates. The method is not lazy.
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
    /// The errors of [`Array::collect`]; also if `axis` is not one axis of the array, the axis has
    /// 2^63 or more coordinates, or the values are structs.
    #[track_caller]
    pub fn sort(&self, axis: impl Into<Axes>, order: SortOrder) -> Result<Array, Error> {
        let sorted = self.sorted_along("sort", &axis.into(), order)?;
        self.with_modes_of(sorted.values()?)
    }

    /// Returns the coordinates that sort the values along an axis: `a.take_along_axis` with these
    /// coordinates is `a.sort`. Equal values stay in their order. The values are sorted
    /// immediately, and the result is stored as runs of offsets. Only the addition of the offsets
    /// to the coordinates of the sorted array is lazy.
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
        let sorted = self.sorted_along("argsort", &axis.into(), order)?;
        self.coordinates_of("argsort", &sorted)
    }

    /// Returns the `k` largest values along an axis in descending order, and their coordinates. Of
    /// equal values, the values with the smallest coordinates are returned; NaN comes after all
    /// other values. Only the returned values are sorted; the sort is not lazy.
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
    /// The errors of [`Array::sort`]; also if the axis has fewer than `k` coordinates, or the modes
    /// are named.
    #[track_caller]
    pub fn top_k(&self, k: u64, axis: i64) -> Result<(Array, Array), Error> {
        let (_, size) = self.mode_of("top_k", axis)?;
        if size < k {
            let message = format!("axis {axis} has {size} coordinates, fewer than {k}");
            return Err(ArrayError::shape("top_k", message));
        }
        let sorted = self.sorted_along("top_k", &axis.into(), SortOrder::Descending)?;
        let first = SortedFibers { limit: k, ..sorted };
        Ok((self.with_modes_of(first.values()?)?, self.coordinates_of("top_k", &first)?))
    }

    /// Computes the array, and splits its stored values into fibers along an axis.
    #[track_caller]
    fn sorted_along(&self, operation: &'static str, axis: &Axes, order: SortOrder) -> Result<SortedFibers, Error> {
        let (tensor, along) = self.collect_along(operation, axis)?;
        let &[mode] = &along[..] else {
            return Err(ArrayError::shape(operation, format!("expected one axis, found {}", along.len())));
        };
        let fibers = StoredFibers::of(&tensor, &along)?;
        Ok(SortedFibers { limit: fibers.length, fibers, mode, order, format: tensor.ty().format.clone() })
    }

    /// Returns the coordinates that the sorted values had before the sort.
    fn coordinates_of(&self, operation: &'static str, sorted: &SortedFibers) -> Result<Array, Error> {
        let offsets = self.with_modes_of(sorted.offsets()?)?;
        Ok(offsets.derive(operation, |state| {
            let coordinate = Expr::coordinate(state.fields()[sorted.mode].clone());
            Ok(state.with_expr(Expr::mapjoin(Builtin::Add, [state.expr.clone(), coordinate])?))
        }))
    }
}

/// Fibers to sort, and the order of the sort.
struct SortedFibers {
    fibers: StoredFibers,
    /// The mode along which the fibers run.
    mode: usize,
    order: SortOrder,
    /// Number of elements that are returned from the start of each sorted fiber.
    limit: u64,
    /// The format of the array.
    format: Format,
}

impl SortedFibers {
    /// Returns the shape of the results.
    fn shape(&self) -> Vec<u64> {
        let mut shape = self.fibers.ty.shape.clone();
        shape[self.mode] = self.limit;
        shape
    }

    /// Returns the modes in the storage order of the fibers.
    fn mode_order(&self) -> Vec<usize> {
        self.fibers.kept.iter().copied().chain([self.mode]).collect()
    }

    /// Returns the sorted values.
    fn values(&self) -> Result<Tensor, Error> {
        let Sorted { counts, places, values } = match_prim!(self.fibers.prim(), T => self.sort::<T>());
        let stored_coordinates = |mode: &usize| {
            let each = self.fibers.fiber_coordinates(*mode).zip(&counts);
            each.filter(|(_, count)| **count > 0).map(|(i, _)| i).collect()
        };
        let mut levels = self.levels_of_fibers(self.fibers.kept.iter().map(stored_coordinates).collect())?;
        let ends = counts.iter().filter(|count| **count > 0).scan(0, |end, count| {
            *end += *count as u64;
            Some(*end)
        });
        // A vector has one fiber, even if it stores no value.
        let ends = if self.fibers.kept.is_empty() { vec![places.len() as u64] } else { ends.collect() };
        levels.push(vec![
            Buffer::from_indices(Prim::I64, [0].into_iter().chain(ends)),
            Buffer::from_indices(Prim::U64, places.into_iter()),
        ]);
        let (shape, fill) = (self.shape(), self.fibers.ty.fill.clone());
        let format = Format::csf(shape.len()).permuted(&self.mode_order());
        let rank = shape.len();
        let tensor =
            Tensor::try_new(TensorType { shape, dtype: values.prim().into(), fill, format }, levels, vec![values])?;
        Ok(if self.format.is_dense() { convert(&tensor, &Format::dense(rank))? } else { tensor })
    }

    /// Sorts the stored values of each fiber, drops the values beyond the limit, and finds the
    /// coordinate of each retained value in the sorted fiber.
    fn sort<T: OrderedValue>(&self) -> Sorted {
        let (mut values, fill) = (self.fibers.values::<T>(), self.fibers.fill::<T>());
        let (mut counts, mut places, mut retained) = (Vec::new(), Vec::with_capacity(values.len()), 0);
        for range in self.fibers.ranges() {
            let unstored = self.fibers.length - range.len() as u64;
            let first = self.order.sort_first(&mut values[range.clone()], self.limit);
            let before = first.partition_point(|value| self.order.compare(*value, fill) == Ordering::Less) as u64;
            let after = (before + unstored)..(first.len() as u64 + unstored).min(self.limit.max(before + unstored));
            let count = before as usize + after.clone().count();
            places.extend((0..before).chain(after));
            values.copy_within(range.start..range.start + count, retained);
            retained += count;
            counts.push(count);
        }
        values.truncate(retained);
        Sorted { counts, places, values: T::into_buffer(values) }
    }

    /// Returns the offset of each value of the sorted fibers: its coordinate before the sort minus
    /// its coordinate after the sort.
    fn offsets(&self) -> Result<Tensor, Error> {
        let runs = match_prim!(self.fibers.prim(), T => self.offset_runs::<T>()?);
        self.run_tensor(runs)
    }

    fn offset_runs<T: OrderedValue>(&self) -> Result<Runs, Error> {
        let keys: Vec<u64> = self.fibers.values::<T>().into_iter().map(|value| self.order.key(value)).collect();
        let (fill, all_indices) = (self.order.key(self.fibers.fill::<T>()), self.fibers.indices());
        // Each value and each gap between values is at most one run.
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let most = self.fibers.ranges().map(|range| (2 * range.len() + 1).min(limit)).sum();
        let (mut runs, mut sorted) = (Runs::with_capacity(most), Vec::new());
        for range in self.fibers.ranges() {
            // Values of one fiber are listed by ascending index.
            let (keys, indices) = (&keys[range.clone()], &all_indices[range]);
            first_places(keys, self.limit, &mut sorted)?;
            let before = sorted.partition_point(|k| keys[*k as usize] < fill);
            let (head, tail) = sorted.split_at(before);
            let mut place = 0;
            let push_value = |runs: &mut Runs, place: &mut u64, k: u64| {
                runs.push(*place..*place + 1, indices[k as usize] as i64 - *place as i64);
                *place += 1;
            };
            head.iter().for_each(|k| push_value(&mut runs, &mut place, *k));
            // The elements with the fill value are at the indices that are not stored.
            let mut next = 0;
            for stored in indices.iter().copied().chain([self.fibers.length]) {
                if place == self.limit {
                    break;
                }
                let count = (stored - next).min(self.limit - place);
                runs.push(place..place + count, next as i64 - place as i64);
                place += count;
                next = stored + 1;
            }
            let rest = (self.limit - place).min(tail.len() as u64);
            tail[..rest as usize].iter().for_each(|k| push_value(&mut runs, &mut place, *k));
            runs.end_fiber();
        }
        Ok(runs)
    }

    /// Returns the levels that list the fibers with stored values. `coordinates` has one list for
    /// each mode that selects a fiber, and the fibers must be sorted. For a vector, which is a
    /// single fiber, there are no such levels.
    fn levels_of_fibers(&self, coordinates: Vec<Vec<u64>>) -> Result<Vec<Vec<Buffer>>, Error> {
        let Some(first) = coordinates.first() else { return Ok(Vec::new()) };
        let shape: Vec<u64> = self.fibers.kept.iter().map(|mode| self.fibers.ty.shape[*mode]).collect();
        let format = Format { leaf: LeafKind::Pattern, ..Format::csf(shape.len()) };
        let ty = TensorType { shape: shape.clone(), dtype: DType::BOOL, fill: Scalar::Bool(false), format };
        let values = Values::pattern(first.len())?;
        let triples = Triples { shape, coordinates, values };
        let (pattern, _) = Tensor::from_triples(ty, &triples, Duplicates::Error)?;
        Ok(pattern.levels().to_vec())
    }

    /// Returns a tensor with the given runs along the sorted mode, and fill value 0.
    fn run_tensor(&self, runs: Runs) -> Result<Tensor, Error> {
        let kept = &self.fibers.kept;
        let rank = kept.len();
        let coordinates = kept.iter().map(|mode| self.fibers.fiber_coordinates(*mode).collect()).collect();
        let levels = self.levels_of_fibers(coordinates)?;
        let ends = if kept.is_empty() { vec![runs.ends.last().copied().unwrap_or(0)] } else { runs.ends };
        let run_level = vec![
            Buffer::from_indices(Prim::I64, [0].into_iter().chain(ends)),
            Buffer::from_indices(Prim::U64, runs.left.into_iter()),
            Buffer::from_indices(Prim::I64, runs.right.into_iter()),
        ];
        let kinds: Vec<LevelKind> =
            std::iter::repeat_n(LevelKind::SparseList, rank).chain([LevelKind::SparseRunLength]).collect();
        let format = Format::of_kinds(&kinds, LeafKind::Element).permuted(&self.mode_order());
        let ty = TensorType { shape: self.shape(), dtype: DType::I64, fill: Scalar::I64(0), format };
        let levels = levels.into_iter().chain([run_level]).collect();
        Ok(Tensor::try_new(ty, levels, vec![Buffer::from_vec(runs.values)])?)
    }
}

/// The first stored values of sorted fibers.
struct Sorted {
    /// The number of values of each fiber.
    counts: Vec<usize>,
    /// The coordinate of each value in its sorted fiber.
    places: Vec<u64>,
    values: Buffer,
}

/// Runs of equal numbers, fiber by fiber.
struct Runs {
    /// The number of runs up to the end of each fiber.
    ends: Vec<u64>,
    left: Vec<u64>,
    right: Vec<u64>,
    values: Vec<i64>,
}

impl Runs {
    /// Returns an empty list with capacity for the given number of runs.
    fn with_capacity(runs: usize) -> Runs {
        let (left, right, values) = (Vec::with_capacity(runs), Vec::with_capacity(runs), Vec::with_capacity(runs));
        Runs { ends: Vec::new(), left, right, values }
    }

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

/// Sets `order` to the indices of the `limit` smallest keys, sorted by key. Indices of equal keys
/// ascend.
fn first_places(keys: &[u64], limit: u64, order: &mut Vec<u64>) -> Result<(), Error> {
    let limit = match usize::try_from(limit) {
        Ok(limit) if limit < keys.len() => limit,
        _ => return Ok(order_of_numbers(keys, order)?),
    };
    // The key at index `limit` of the sorted keys.
    let bound = *keys.to_vec().select_nth_unstable(limit).1;
    let places_of = |is_chosen: fn(&u64, &u64) -> bool| {
        (0..).zip(keys).filter(move |(_, key)| is_chosen(key, &bound)).map(|(place, _)| place)
    };
    order.clear();
    order.extend(places_of(|key, bound| key < bound));
    order.extend(places_of(|key, bound| key == bound).take(limit - order.len()));
    order.sort_by_key(|place| keys[*place as usize]);
    Ok(())
}
