//! Triples: coordinates and values of entries in any order, what readers produce and tensors are made from.

use super::assemble::{Entries, assemble};
use super::sort::{Sorted, sort_entries};
use super::values::Values;
use super::{Array, Tensor};
use crate::Error;
use redpoll_logic::{DType, LeafKind, Prim, Scalar, StorageMode, TensorType};
use std::borrow::Cow;
use std::sync::Arc;

/// Entries of a tensor in any order: a coordinate for each mode, and a value.
#[derive(Clone, Debug)]
pub struct Triples {
    /// The size of each tensor mode.
    pub shape: Vec<u64>,
    /// The coordinates of the entries, one list for each tensor mode.
    pub coordinates: Vec<Vec<u64>>,
    /// Their values.
    pub values: Values,
}

/// What becomes of entries at the same place.
pub enum Duplicates<'a> {
    /// They are an error.
    Error,
    /// The first one counts.
    First,
    /// The last one counts.
    Last,
    /// Their values are added up in order, member by member in structs: integers wrap, booleans are or-ed.
    Add,
    /// Their values are combined in order from the left.
    Combine(&'a mut dyn FnMut(&Scalar, &Scalar) -> Scalar),
}

impl Triples {
    /// The number of entries.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The coordinates of entry `k`.
    ///
    /// # Panics
    /// When there is none.
    pub fn place(&self, k: usize) -> Vec<u64> {
        self.coordinates.iter().map(|c| c[k]).collect()
    }

    /// Checks that there is a list of coordinates for each mode, of as many entries as there are values, in range.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), Error> {
        if self.coordinates.len() != self.shape.len() {
            return Err(Error::InvalidTriples(format!(
                "the shape has {} modes, but there are {} lists of coordinates",
                self.shape.len(),
                self.coordinates.len()
            )));
        }
        for (mode, (list, &dimension)) in self.coordinates.iter().zip(&self.shape).enumerate() {
            if list.len() != self.len() {
                return Err(Error::InvalidTriples(format!(
                    "mode {mode} has {} coordinates, but there are {} values",
                    list.len(),
                    self.len()
                )));
            }
            if let Some(entry) = list.iter().position(|&i| i >= dimension) {
                return Err(Error::CoordinateOutOfRange { entry, mode, coordinate: list[entry], dimension });
            }
        }
        Ok(())
    }
}

impl Tensor {
    /// A tensor of type `ty` with the given entries, and the number of entries beyond one a place.
    ///
    /// Entries with the fill value are stored where a level lists its coordinates; a pattern leaf stores entries that
    /// are `true`.
    ///
    /// # Errors
    /// When type or triples are invalid or do not agree, places repeat under [`Duplicates::Error`], a combining
    /// function changes the dtype, or the memory is exceeded.
    pub fn from_triples(
        ty: impl Into<Arc<TensorType>>,
        triples: &Triples,
        duplicates: Duplicates<'_>,
    ) -> Result<(Tensor, usize), Error> {
        let ty = ty.into();
        ty.validate()?;
        triples.validate()?;
        if ty.shape != triples.shape {
            let (expected, found) = (&ty.shape, &triples.shape);
            return Err(Error::InvalidTriples(format!("the type has shape {expected:?}, the triples {found:?}")));
        }
        if ty.dtype != *triples.values.dtype() {
            let (expected, found) = (ty.dtype.clone(), triples.values.dtype().clone());
            return Err(Error::DTypeMismatch { what: "values of the triples".into(), expected, found });
        }
        let columns = storage_columns(&ty, &triples.coordinates);
        let sorted = sort_entries(columns, &ty.format.storage_shape(&ty.shape))?;
        from_sorted(ty, sorted, Cow::Borrowed(&triples.values), duplicates)
    }
}

/// The coordinates of each storage mode.
fn storage_columns<'a>(ty: &TensorType, coordinates: &'a [Vec<u64>]) -> Vec<Cow<'a, [u64]>> {
    let column = |mode: &StorageMode| {
        let list = &coordinates[mode.mode()];
        match *mode {
            StorageMode::Whole { .. } => Cow::Borrowed(&list[..]),
            StorageMode::Outer { block, .. } => list.iter().map(|i| i / block).collect(),
            StorageMode::Inner { block, .. } => list.iter().map(|i| i % block).collect(),
        }
    };
    ty.format.modes.iter().map(column).collect()
}

/// Combines duplicates among sorted entries, drops what a pattern leaf cannot hold, and assembles.
fn from_sorted(
    ty: Arc<TensorType>,
    mut sorted: Sorted,
    mut values: Cow<'_, Values>,
    duplicates: Duplicates<'_>,
) -> Result<(Tensor, usize), Error> {
    let n = values.len();
    let starts = place_starts(&sorted.columns, n);
    let count = n - starts.as_ref().map_or(n, Vec::len);
    if let Some(starts) = starts {
        let order = sorted.order.take();
        let combined = combine(&values, order.as_deref(), &starts, duplicates, || {
            let first = starts.windows(2).find(|w| w[1] - w[0] > 1).map_or(starts[starts.len() - 1], |w| w[0]);
            let storage: Vec<u64> = sorted.columns.iter().map(|c| c[first as usize]).collect();
            let mut place = vec![0; ty.shape.len()];
            ty.format.place(&storage, &mut place);
            Error::DuplicateCoordinates { place, count }
        })?;
        values = Cow::Owned(combined);
        keep(&mut sorted.columns, &starts);
    }
    if ty.format.leaf == LeafKind::Pattern {
        let at = |k: u64| sorted.order.as_ref().map_or(k, |o| o[k as usize]);
        let bools = values.columns()[0].bools().expect("a pattern has dtype bool");
        let kept: Vec<u64> = (0..values.len() as u64).filter(|&k| bools[at(k) as usize] != 0).collect();
        if kept.len() < values.len() {
            keep(&mut sorted.columns, &kept);
            values = Cow::Owned(Values::pattern(kept.len())?);
            sorted.order = None;
        }
    }
    let entries =
        Entries { columns: &sorted.columns, len: values.len(), order: sorted.order.as_deref(), values: &values };
    Ok((assemble(ty, &entries)?, count))
}

/// Keeps the given entries.
fn keep(columns: &mut [Vec<u64>], kept: &[u64]) {
    for column in columns {
        *column = kept.iter().map(|&k| column[k as usize]).collect();
    }
}

/// The first entry of each place among sorted entries; `None` when no place repeats.
fn place_starts(columns: &[Vec<u64>], n: usize) -> Option<Vec<u64>> {
    let same = |k: usize| columns.iter().all(|c| c[k - 1] == c[k]);
    (1..n).any(same).then(|| (0..n).filter(|&k| k == 0 || !same(k)).map(|k| k as u64).collect())
}

/// The values of places that begin at `starts` among sorted entries.
fn combine(
    values: &Values,
    order: Option<&[u64]>,
    starts: &[u64],
    duplicates: Duplicates<'_>,
    error: impl FnOnce() -> Error,
) -> Result<Values, Error> {
    let at = |k: u64| order.map_or(k, |o| o[k as usize]);
    let ends = || starts.iter().skip(1).copied().chain([values.len() as u64]);
    match duplicates {
        Duplicates::Error => Err(error()),
        Duplicates::First => values.gather(&starts.iter().map(|&k| at(k)).collect::<Vec<_>>()),
        Duplicates::Last => values.gather(&ends().map(|end| at(end - 1)).collect::<Vec<_>>()),
        Duplicates::Add => {
            let places = || starts.iter().copied().zip(ends());
            let add = |column: &Array| add_up(column, places().map(|(lo, hi)| (lo..hi).map(at)));
            Values::try_new(values.dtype().clone(), values.columns().iter().map(add).collect())
        }
        Duplicates::Combine(op) => {
            let dtype: &DType = values.dtype();
            let places = starts.iter().copied().zip(ends());
            let fold = |(lo, hi): (u64, u64)| {
                let first = values.get(at(lo) as usize);
                (lo + 1..hi).fold(first, |sum, k| op(&sum, &values.get(at(k) as usize)))
            };
            Values::from_scalars(dtype.clone(), &places.map(fold).collect::<Vec<_>>())
        }
    }
}

/// The sum of each group of elements.
fn add_up(column: &Array, groups: impl Iterator<Item = impl Iterator<Item = u64>>) -> Array {
    macro_rules! add {
        ($t:ty, $plus:expr) => {{
            let all: &[$t] = column.as_slice().expect("the type was matched");
            let plus: fn($t, $t) -> $t = $plus;
            Array::from_vec(groups.map(|g| g.map(|k| all[k as usize]).reduce(plus).unwrap_or_default()).collect())
        }};
    }
    match column.prim() {
        Prim::Bool => {
            let all = column.bools().expect("the type was matched");
            Array::from_bools(groups.map(|mut g| g.any(|k| all[k as usize] != 0)))
        }
        Prim::I8 => add!(i8, i8::wrapping_add),
        Prim::I16 => add!(i16, i16::wrapping_add),
        Prim::I32 => add!(i32, i32::wrapping_add),
        Prim::I64 => add!(i64, i64::wrapping_add),
        Prim::U8 => add!(u8, u8::wrapping_add),
        Prim::U16 => add!(u16, u16::wrapping_add),
        Prim::U32 => add!(u32, u32::wrapping_add),
        Prim::U64 => add!(u64, u64::wrapping_add),
        Prim::F32 => add!(f32, |a, b| a + b),
        Prim::F64 => add!(f64, |a, b| a + b),
    }
}
