//! The values of a tensor that differ from its fill value, in fibers along some modes or in any
//! order; also the construction of results from such values.

use super::sort::SortOrder;
use super::value::{OrderedValue, match_prim};
use crate::array::error::{ArrayError, Cause};
use crate::array::state::ArrayState;
use crate::array::{Array, Axes};
use crate::error::Error;
use redpoll_logic::{DType, Format, LeafKind, Prim, Scalar, StorageMode, TensorType};
use redpoll_storage::{Duplicates, Tensor, Triples, Values, convert, order_of_numbers};
use std::borrow::Cow;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// The values of a tensor that differ from its fill value, in fibers along some modes. The elements
/// of a fiber have equal coordinates in all other modes. A fiber is omitted if all its elements
/// have the fill value.
pub(super) struct StoredFibers {
    /// The type of the tensor.
    pub(super) ty: Arc<TensorType>,
    /// The tensor, stored in the order of the fibers.
    pub(super) tensor: Tensor,
    /// The modes that select a fiber.
    pub(super) kept: Vec<usize>,
    /// The modes along the fibers.
    along: Vec<usize>,
    /// The number of elements of a fiber, stored or not.
    pub(super) length: u64,
    /// The coordinates of each value, one list for each mode of the tensor. Fibers ascend by their
    /// coordinates, and so do the values within a fiber.
    pub(super) coordinates: Vec<Vec<u64>>,
    /// The index of the first value of each fiber, followed by the total number of values.
    starts: Vec<usize>,
    /// The values.
    values: Values,
}

impl StoredFibers {
    /// Lists the values of a tensor in fibers along the given modes, which must be in ascending
    /// order.
    pub(super) fn of(tensor: &Tensor, along: &[usize]) -> Result<StoredFibers, Error> {
        let ty = tensor.ty().clone();
        let rank = ty.shape.len();
        let kept: Vec<usize> = (0..rank).filter(|mode| !along.contains(mode)).collect();
        let order: Vec<usize> = kept.iter().chain(along).copied().collect();
        let in_order = lists_in_order(&ty.format, &order);
        let tensor = if in_order { tensor.clone() } else { convert(tensor, &Format::csf(rank).permuted(&order))? };
        let Triples { mut coordinates, mut values, .. } = tensor.to_triples()?;
        if let Some(stored) = places_differing(&values, &ty.fill) {
            values = values.gather(&stored)?;
            for list in &mut coordinates {
                *list = stored.iter().map(|place| list[*place as usize]).collect();
            }
        }
        let begins_fiber = |k: &usize| kept.iter().any(|mode| coordinates[*mode][k - 1] != coordinates[*mode][*k]);
        let first = 0..values.len().min(1);
        let starts = first.chain((1..values.len()).filter(begins_fiber)).chain([values.len()]).collect();
        let length = along.iter().fold(1, |n, mode| u64::saturating_mul(n, ty.shape[*mode]));
        Ok(StoredFibers { ty, tensor, kept, along: along.to_vec(), length, coordinates, starts, values })
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

    /// Returns the coordinate of each fiber in one of the kept modes.
    pub(super) fn fiber_coordinates(&self, mode: usize) -> impl Iterator<Item = u64> {
        self.starts[..self.starts.len() - 1].iter().map(move |start| self.coordinates[mode][*start])
    }

    /// Returns the row-major index of each value in its fiber.
    pub(super) fn indices(&self) -> Cow<'_, [u64]> {
        if let &[mode] = &self.along[..] {
            return Cow::Borrowed(&self.coordinates[mode]);
        }
        let mut indices = vec![0; self.values.len()];
        for mode in &self.along {
            let size = self.ty.shape[*mode];
            indices.iter_mut().zip(&self.coordinates[*mode]).for_each(|(index, i)| *index = *index * size + i);
        }
        Cow::Owned(indices)
    }
}

/// The values of a tensor that differ from its fill value, in any order.
pub(super) struct StoredValues<T> {
    /// The values.
    pub(super) values: Vec<T>,
    /// The number of elements that each listed value stands for; `None` if each value stands for
    /// one element.
    pub(super) counts: Option<Vec<u64>>,
    /// The fill value.
    pub(super) fill: T,
    /// The number of elements with the fill value.
    pub(super) unstored: u64,
}

impl<T: OrderedValue> StoredValues<T> {
    /// Lists the values of a tensor of fewer than 2^64 elements.
    pub(super) fn of(tensor: &Tensor) -> Result<StoredValues<T>, Error> {
        let (values, mut counts) = tensor.stored_values()?;
        let fill: T = value_of(&tensor.ty().fill);
        let places = places_differing(&values, &tensor.ty().fill);
        let mut values = T::of_buffer(&values.columns()[0]).expect("the type was matched");
        if let Some(places) = places {
            values = places.iter().map(|place| values[*place as usize]).collect();
            counts = counts.map(|counts| places.iter().map(|place| counts[*place as usize]).collect());
        }
        let stored = counts.as_ref().map_or(values.len() as u64, |counts| counts.iter().sum());
        Ok(StoredValues { values, counts, fill, unstored: tensor.element_count() - stored })
    }

    /// Sorts the values in ascending order, and permutes `counts` in the same way.
    pub(super) fn sort(&mut self) -> Result<(), Error> {
        let Some(counts) = &mut self.counts else {
            SortOrder::Ascending.sort(&mut self.values);
            return Ok(());
        };
        let keys: Vec<u64> = self.values.iter().map(|value| value.key()).collect();
        let mut order = Vec::new();
        order_of_numbers(&keys, &mut order)?;
        self.values = order.iter().map(|place| self.values[*place as usize]).collect();
        *counts = order.iter().map(|place| counts[*place as usize]).collect();
        Ok(())
    }
}

/// Returns whether a format stores its elements in row-major order, with the modes in the given
/// order.
fn lists_in_order(format: &Format, order: &[usize]) -> bool {
    let is_in_order = format.modes.iter().copied().eq(order.iter().map(|mode| StorageMode::Whole { mode: *mode }));
    is_in_order && format.levels.iter().all(|level| level.ordered)
}

/// Returns the primitive type of the values of a tensor; the values must not be structs.
pub(super) fn prim_of(tensor: &Tensor) -> Prim {
    tensor.ty().dtype.prims()[0]
}

/// Returns a scalar in its Rust type.
pub(super) fn value_of<T: OrderedValue>(scalar: &Scalar) -> T {
    let value = Values::repeat(scalar, 1).ok().and_then(|values| T::of_buffer(&values.columns()[0]));
    value.and_then(|values| values.first().copied()).expect("the type was matched")
}

/// The number of values that are compared with the fill value at a time.
const FILL_BLOCK: usize = 1024;

/// Returns the indices of the values that differ from the fill value; `None` if all values differ
/// from it.
fn places_differing(values: &Values, fill: &Scalar) -> Option<Vec<u64>> {
    fn differing<T: OrderedValue>(values: &Values, fill: &Scalar) -> Option<Vec<u64>> {
        let fill: T = value_of(fill);
        let values = T::of_buffer(&values.columns()[0]).expect("the type was matched");
        // Blocks are compared without branches, since most tensors store no fill value.
        let has_fill = |block: &[T]| block.iter().fold(false, |found, value| found | value.equals(fill));
        if !values.chunks(FILL_BLOCK).any(has_fill) {
            return None;
        }
        Some((0..).zip(&values).filter(|(_, value)| !value.equals(fill)).map(|(k, _)| k).collect())
    }
    match_prim!(values.columns()[0].prim(), T => differing::<T>(values, fill))
}

/// Returns a tensor of entries, which may be in any order. The format of the tensor is CSF with the
/// modes in the given order, or dense if `like` is dense.
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

/// Returns a tensor with the structure of another tensor, with `map` applied to each stored value
/// and to the fill value.
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
    /// Computes the array for an operation on ordered values along axes. Returns the tensor and the
    /// modes that the axes select.
    #[track_caller]
    pub(super) fn collect_along(&self, operation: &'static str, axes: &Axes) -> Result<(Tensor, Vec<usize>), Error> {
        let state = self.state()?;
        let location = Location::caller();
        let failure = |cause| ArrayError::at(operation, location, cause);
        let along = axes.resolve(&state).map_err(failure)?;
        let length = along.iter().try_fold(1, |n, mode| u64::checked_mul(n, state.size(*mode)));
        if length.is_none_or(|n| i64::try_from(n).is_err()) {
            let shape = state.shape();
            return Err(failure(Cause::Shape(format!("the fibers of shape {shape:?} have 2^63 or more elements"))));
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
