//! Triples: coordinates and values of entries in any order. Readers return them, and tensors are
//! built from them.

use super::assemble::{SortedEntries, assemble};
use super::sort::{SortedCoordinates, sort_entries};
use super::values::Values;
use super::{Array, Tensor};
use crate::Error;
use redpoll_logic::{LeafKind, Op, Prim, Scalar, StorageMode, TensorType};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Entries of a tensor in any order: a coordinate for each mode, and a value.
#[derive(Clone, Debug)]
pub struct Triples {
    /// The size of each tensor mode.
    pub shape: Vec<u64>,
    /// The coordinates of the entries, one list for each tensor mode.
    pub coordinates: Vec<Vec<u64>>,
    /// The values of the entries.
    pub values: Values,
}

/// The treatment of entries with the same coordinates.
#[derive(Clone, Copy, Debug)]
pub enum Duplicates<'a> {
    /// Duplicates are an error.
    Error,
    /// The first entry is kept.
    First,
    /// The last entry is kept.
    Last,
    /// Values are added in order, structs member by member. Integers wrap; booleans are or-ed.
    Add,
    /// Values are folded with an operator, in order from the left.
    Combine(&'a Op),
}

impl Triples {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the coordinates of entry `k`.
    ///
    /// # Panics
    /// If there is no such entry.
    pub fn coordinates_of(&self, k: usize) -> Vec<u64> {
        self.coordinates.iter().map(|c| c[k]).collect()
    }

    /// Checks that each mode has one list of coordinates, that each list has one coordinate for
    /// each value, and that all coordinates are in range.
    ///
    /// # Errors
    /// The first fault found.
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
    /// Returns a tensor of type `ty` with the given entries, and the number of entries that repeat
    /// the coordinates of an earlier entry.
    ///
    /// Entries with the fill value are stored if the last level lists its coordinates. A pattern
    /// leaf stores the entries that are `true`.
    ///
    /// # Errors
    /// When type or triples are invalid or do not match, coordinates repeat under
    /// [`Duplicates::Error`], the operator does not fold values of the dtype, the format cannot
    /// store the entries, or memory is exhausted.
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
            return Err(Error::InvalidTriples(format!("the type has shape {expected:?}, the triples have {found:?}")));
        }
        if ty.dtype != *triples.values.dtype() {
            let (expected, found) = (ty.dtype.clone(), triples.values.dtype().clone());
            return Err(Error::DTypeMismatch { what: "values of the triples".into(), expected, found });
        }
        let (entries, repeated) = sorted_entries(&ty, triples, duplicates, 0)?;
        Ok((assemble(ty, entries)?, repeated))
    }
}

/// Returns the entries in storage order, and the number of duplicates. Duplicates are combined, and
/// entries that a pattern leaf cannot store are dropped. Entries that are equal in all storage
/// modes except the last `in_order` must already be sorted by these last modes.
pub(super) fn sorted_entries<'a>(
    ty: &TensorType,
    triples: &'a Triples,
    duplicates: Duplicates<'_>,
    in_order: usize,
) -> Result<(SortedEntries<'a>, usize), Error> {
    let columns = storage_columns(ty, &triples.coordinates);
    let sorted = sort_entries(columns, &ty.format.storage_shape(&ty.shape), in_order)?;
    from_sorted(ty, sorted, Cow::Borrowed(&triples.values), duplicates)
}

/// Returns the coordinates of each storage mode.
fn storage_columns<'a>(ty: &TensorType, coordinates: &'a [Vec<u64>]) -> Vec<Cow<'a, [u64]>> {
    let column = |mode: &StorageMode| {
        let list = &coordinates[mode.mode()];
        match *mode {
            StorageMode::Whole { .. } => Cow::Borrowed(&list[..]),
            StorageMode::Outer { block, .. } => list.iter().map(|i| i / block).collect(),
            StorageMode::Inner { block, .. } => list.iter().map(|i| i % block).collect(),
            StorageMode::Skew { by, .. } => {
                let last = ty.shape[by].saturating_sub(1);
                list.iter().zip(&coordinates[by]).map(|(i, along)| i + (last - along)).collect()
            }
        }
    };
    ty.format.modes.iter().map(column).collect()
}

/// Combines duplicates among sorted entries, and drops entries that a pattern leaf cannot store.
fn from_sorted<'a>(
    ty: &TensorType,
    mut sorted: SortedCoordinates,
    mut values: Cow<'a, Values>,
    duplicates: Duplicates<'_>,
) -> Result<(SortedEntries<'a>, usize), Error> {
    let groups = duplicate_groups(&sorted.columns, values.len());
    let count = groups.iter().map(|r| r.entries.len() - 1).sum();
    let mut len = values.len() - count;
    if !groups.is_empty() {
        if matches!(duplicates, Duplicates::Error) {
            let storage: Vec<u64> = sorted.columns.iter().map(|c| c[groups[0].entries.start]).collect();
            let mut coordinates = vec![0; ty.shape.len()];
            ty.format.tensor_coordinates(&ty.shape, &storage, &mut coordinates);
            return Err(Error::DuplicateCoordinates { coordinates, count });
        }
        let mut order = sorted.order.take().unwrap_or_else(|| (0..values.len() as u64).collect());
        let combined = combine(&values, &mut order, &groups, duplicates)?;
        sorted.columns.iter_mut().chain([&mut order]).for_each(|list| drop_duplicates(list, &groups));
        match combined {
            None => sorted.order = Some(order),
            Some(combined) => {
                let replaced: Vec<usize> = groups.iter().map(|r| r.index).collect();
                values = Cow::Owned(values.gather_replacing(&order, &replaced, &combined)?);
            }
        }
    }
    if ty.format.leaf == LeafKind::Pattern {
        let at = |k: u64| sorted.order.as_ref().map_or(k, |o| o[k as usize]);
        let bools = values.columns()[0].bools().expect("a pattern has dtype bool");
        let retained: Vec<u64> = (0..len as u64).filter(|&k| bools[at(k) as usize] != 0).collect();
        if retained.len() < len {
            len = retained.len();
            sorted.columns.iter_mut().for_each(|c| *c = retained.iter().map(|&k| c[k as usize]).collect());
            values = Cow::Owned(Values::pattern(len)?);
            sorted.order = None;
        }
    }
    let columns = sorted.columns.into_iter().map(Cow::Owned).collect();
    Ok((SortedEntries { columns, len, order: sorted.order.map(Cow::Owned), values }, count))
}

/// A group of entries with the same coordinates.
struct DuplicateGroup {
    /// The index of the group's coordinates among all distinct coordinates.
    index: usize,
    /// The range of the group among the sorted entries.
    entries: Range<usize>,
}

/// Returns the groups of sorted entries with the same coordinates.
fn duplicate_groups(columns: &[Vec<u64>], n: usize) -> Vec<DuplicateGroup> {
    let same = |k: usize| columns.iter().all(|c| c[k - 1] == c[k]);
    let mut groups: Vec<DuplicateGroup> = Vec::new();
    for (dropped, k) in (1..n).filter(|&k| same(k)).enumerate() {
        match groups.last_mut() {
            Some(last) if last.entries.end == k => last.entries.end += 1,
            _ => groups.push(DuplicateGroup { index: k - 1 - dropped, entries: k - 1..k + 1 }),
        }
    }
    groups
}

/// Drops all elements of each group except the first.
fn drop_duplicates(list: &mut Vec<u64>, groups: &[DuplicateGroup]) {
    let mut retained = list.len();
    for (k, group) in groups.iter().enumerate() {
        if k == 0 {
            retained = group.entries.start + 1;
        }
        let next = groups.get(k + 1).map_or(list.len(), |r| r.entries.start + 1);
        list.copy_within(group.entries.end..next, retained);
        retained += next - group.entries.end;
    }
    list.truncate(retained);
}

/// Returns the combined value of each group. Returns `None` if each group keeps the value of one of
/// its entries; this entry is then the first of the group in `order`.
fn combine(
    values: &Values,
    order: &mut [u64],
    groups: &[DuplicateGroup],
    duplicates: Duplicates<'_>,
) -> Result<Option<Values>, Error> {
    match duplicates {
        Duplicates::Error | Duplicates::First => Ok(None),
        Duplicates::Last => {
            groups.iter().for_each(|r| order[r.entries.start] = order[r.entries.end - 1]);
            Ok(None)
        }
        Duplicates::Add => {
            let indices = || groups.iter().map(|r| order[r.entries.clone()].iter().copied());
            let columns = values.columns().iter().map(|column| sum_groups(column, indices())).collect();
            Values::try_new(values.dtype().clone(), columns).map(Some)
        }
        Duplicates::Combine(op) => {
            let fold = |r: &DuplicateGroup| {
                let mut each = order[r.entries.clone()].iter().map(|&k| values.get(k as usize));
                let first = each.next().expect("a group has two entries or more");
                each.try_fold(first, |sum, value| op.apply(&[sum, value]))
            };
            let scalars = groups.iter().map(fold).collect::<Result<Vec<Scalar>, _>>()?;
            Values::from_scalars(values.dtype().clone(), &scalars).map(Some)
        }
    }
}

/// Returns the sum of each group of elements.
fn sum_groups(column: &Array, groups: impl Iterator<Item = impl Iterator<Item = u64>>) -> Array {
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
