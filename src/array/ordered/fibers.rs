//! The stored values of a tensor, fiber by fiber along some of its modes.

use super::value::{OrderedValue, match_prim};
use crate::array::error::{ArrayError, Cause};
use crate::array::state::ArrayState;
use crate::array::{Array, Axes};
use crate::error::Error;
use redpoll_logic::{DType, Format, LeafKind, Prim, Scalar, TensorType};
use redpoll_storage::{Duplicates, Tensor, Triples, Values, convert};
use std::cmp::Ordering;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// The values of a tensor that differ from its fill value, in fibers along some modes. Fibers
/// without such values are not listed.
pub(super) struct StoredFibers {
    /// The type of the tensor.
    pub(super) ty: Arc<TensorType>,
    /// The modes that select a fiber.
    pub(super) kept: Vec<usize>,
    /// The number of elements of a fiber, stored or not.
    pub(super) length: u64,
    /// The coordinates of each fiber in each of the kept modes.
    pub(super) coordinates: Vec<Vec<u64>>,
    /// The index of the first value of each fiber, then the number of values of all fibers.
    starts: Vec<usize>,
    /// The row-major index of each value in its fiber, ascending.
    pub(super) indices: Vec<u64>,
    /// The values.
    values: Values,
}

impl StoredFibers {
    /// Lists the values of a tensor in fibers along the given modes, which ascend.
    pub(super) fn of(tensor: &Tensor, along: &[usize]) -> Result<StoredFibers, Error> {
        let ty = tensor.ty();
        let rank = ty.shape.len();
        let kept: Vec<usize> = (0..rank).filter(|mode| !along.contains(mode)).collect();
        let order: Vec<usize> = kept.iter().chain(along).copied().collect();
        let triples = convert(tensor, &Format::csf(rank).permuted(&order))?.to_triples()?;
        let length = along.iter().fold(1, |n, mode| u64::saturating_mul(n, ty.shape[*mode]));
        let stored = stored_places(&triples.values, &ty.fill);
        let is_whole = stored.len() == triples.values.len();
        let values = if is_whole { triples.values.clone() } else { triples.values.gather(&stored)? };
        let mut coordinates = triples.coordinates;
        if is_whole && rank == 1 && !along.is_empty() {
            let (starts, indices) = (single_fiber(stored.len()), coordinates.swap_remove(0));
            return Ok(StoredFibers { ty: ty.clone(), coordinates: Vec::new(), kept, length, starts, indices, values });
        }
        let mut fibers = StoredFibers {
            ty: ty.clone(),
            coordinates: vec![Vec::new(); kept.len()],
            kept,
            length,
            starts: Vec::new(),
            indices: Vec::with_capacity(stored.len()),
            values,
        };
        let mut previous = None;
        for (k, place) in stored.iter().map(|place| *place as usize).enumerate() {
            let at = |mode: &usize| coordinates[*mode][place];
            let differs = |previous: usize| fibers.kept.iter().any(|mode| at(mode) != coordinates[*mode][previous]);
            if previous.is_none_or(differs) {
                fibers.starts.push(k);
                fibers.coordinates.iter_mut().zip(&fibers.kept).for_each(|(list, mode)| list.push(at(mode)));
            }
            previous = Some(place);
            fibers.indices.push(along.iter().fold(0, |index, mode| index * ty.shape[*mode] + at(mode)));
        }
        fibers.starts.push(stored.len());
        Ok(fibers)
    }

    /// Returns the primitive type of the values.
    pub(super) fn prim(&self) -> Prim {
        self.values.columns()[0].prim()
    }

    /// Returns the values.
    pub(super) fn values<T: OrderedValue>(&self) -> Vec<T> {
        T::of_buffer(&self.values.columns()[0]).expect("the type was matched")
    }

    /// Returns the fill value.
    pub(super) fn fill<T: OrderedValue>(&self) -> T {
        value_of(&self.ty.fill)
    }

    /// Returns the range of the values of each fiber.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|pair| pair[0]..pair[1])
    }
}

/// Returns the `starts` of `count` values that are all in one fiber. The fiber is listed only if it
/// has values.
fn single_fiber(count: usize) -> Vec<usize> {
    if count == 0 { vec![0] } else { vec![0, count] }
}

/// Returns a scalar in its Rust type.
pub(super) fn value_of<T: OrderedValue>(scalar: &Scalar) -> T {
    let value = Values::repeat(scalar, 1).ok().and_then(|values| T::of_buffer(&values.columns()[0]));
    value.and_then(|values| values.first().copied()).expect("the type was matched")
}

/// Returns the indices of the values that differ from the fill value.
fn stored_places(values: &Values, fill: &Scalar) -> Vec<u64> {
    fn differing<T: OrderedValue>(values: &Values, fill: &Scalar) -> Vec<u64> {
        let fill: T = value_of(fill);
        let values = T::of_buffer(&values.columns()[0]).expect("the type was matched");
        (0..).zip(values).filter(|(_, value)| value.compare(fill) != Ordering::Equal).map(|(k, _)| k).collect()
    }
    match_prim!(values.columns()[0].prim(), T => differing::<T>(values, fill))
}

/// Returns a tensor of entries that ascend in the given order of modes. The tensor is dense if
/// `like` is.
pub(super) fn assemble(
    (shape, fill): (Vec<u64>, Scalar),
    order: &[usize],
    coordinates: Vec<Vec<u64>>,
    values: redpoll_storage::Array,
    like: &Format,
) -> Result<Tensor, Error> {
    let dtype: DType = values.prim().into();
    let values = Values::try_new(dtype.clone(), vec![values])?;
    let format = Format::csf(shape.len()).permuted(order);
    let ty = TensorType { shape: shape.clone(), dtype, fill, format };
    let (tensor, _) = Tensor::from_triples(ty, &Triples { shape, coordinates, values }, Duplicates::Error)?;
    match like.is_dense() {
        true => Ok(convert(&tensor, &Format::dense(order.len()))?),
        false => Ok(tensor),
    }
}

/// Returns a tensor with the structure of another tensor, with `map` applied to each value.
pub(super) fn map_values<T: OrderedValue, U: OrderedValue>(
    tensor: &Tensor,
    map: impl Fn(T) -> U,
) -> Result<Tensor, Error> {
    let format = Format { leaf: LeafKind::Element, ..tensor.ty().format.clone() };
    let tensor = convert(tensor, &format)?;
    let values = T::of_buffer(&tensor.leaf()[0]).expect("the type was matched");
    let fill = map(value_of(&tensor.ty().fill)).into();
    let ty = TensorType { shape: tensor.ty().shape.clone(), dtype: U::PRIM.into(), fill, format };
    let leaf = U::into_buffer(values.into_iter().map(map).collect());
    Ok(Tensor::try_new(ty, tensor.levels().to_vec(), vec![leaf])?)
}

impl Array {
    /// Computes the array for an operation on ordered values along axes. Returns the tensor and its
    /// modes along the axes.
    #[track_caller]
    pub(super) fn collect_along(&self, operation: &'static str, axes: &Axes) -> Result<(Tensor, Vec<usize>), Error> {
        let state = self.state()?;
        let location = Location::caller();
        let failure = |cause| ArrayError::at(operation, location, cause);
        let along = axes.resolve(&state).map_err(failure)?;
        let length = along.iter().try_fold(1, |n, mode| u64::checked_mul(n, state.size(*mode)));
        if length.is_none_or(|n| i64::try_from(n).is_err()) {
            let shape = state.shape();
            return Err(failure(Cause::Shape(format!("the fibers of shape {shape:?} have more than 2^63 elements"))));
        }
        require_order(&state).map_err(failure)?;
        Ok((self.collect()?, along))
    }

    /// Returns the array of a tensor that has the modes of this array. If the modes are named, the
    /// new array has the same names.
    pub(super) fn with_modes_of(&self, tensor: Tensor) -> Result<Array, Error> {
        let array = self.session().array(tensor);
        Ok(match self.names()? {
            Some(names) => array.at(names),
            None => array,
        })
    }
}

/// Rejects structs, which have no order.
fn require_order(state: &ArrayState) -> Result<(), Cause> {
    match state.prim() {
        Some(_) => Ok(()),
        None => Err(Cause::Shape(format!("values of dtype {} have no order", state.expr.info().dtype))),
    }
}
