//! Sparse matrices in compressed columns, from tensors of any format.

use crate::context::Reservation;
use crate::dense::zeros;
use crate::real::{Real, cast_array};
use crate::scaling::{Scales, times_power};
use crate::{Context, Error};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use redpoll_logic::{Format, Prim, Scalar, TensorType};
use redpoll_storage::{Array, Tensor, convert_within};

/// The mode that is compressed: the stored coordinates are listed row by row or column by column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compression {
    Rows,
    Columns,
}

/// The stored coordinates of a matrix.
///
/// A matrix in compressed rows has the arrays of its transpose in compressed columns. For faer, the
/// matrix is thus `minor x major` in compressed columns.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) compression: Compression,
    /// The number of rows or columns that are listed.
    pub(super) major: usize,
    /// The size of the other mode.
    pub(super) minor: usize,
    ptr: Array,
    idx: Array,
}

/// A sparse matrix with numbers of type `T`. Its arrays are shared with the tensor where they have
/// the types that faer takes.
pub(super) struct Compressed<T> {
    pub(super) pattern: Pattern,
    values: Array,
    /// The charge for copied values.
    _charge: Option<Reservation>,
    _number: std::marker::PhantomData<T>,
}

impl Pattern {
    /// Returns the pattern as the pattern of a `minor x major` matrix in compressed columns.
    pub(super) fn columns(&self) -> SymbolicSparseColMatRef<'_, u64> {
        SymbolicSparseColMatRef::new_checked(self.minor, self.major, indices(&self.ptr), None, indices(&self.idx))
    }

    /// Returns whether another pattern has the same coordinates.
    pub(super) fn is_same(&self, other: &Pattern) -> bool {
        let sizes = |pattern: &Pattern| (pattern.compression, pattern.major, pattern.minor);
        let same = |left: &Array, right: &Array| indices(left) == indices(right);
        sizes(self) == sizes(other) && same(&self.ptr, &other.ptr) && same(&self.idx, &other.idx)
    }

    /// Returns the number of stored coordinates.
    pub(super) fn entries(&self) -> usize {
        self.idx.len()
    }
}

impl<T: Real> Compressed<T> {
    /// Returns a matrix in the given compression, or in the one that needs the least work.
    ///
    /// # Errors
    /// When the tensor is no matrix of finite real numbers with fill value 0, or memory is
    /// exhausted.
    pub(super) fn of(
        context: &Context,
        function: &'static str,
        tensor: &Tensor,
        compression: Option<Compression>,
    ) -> Result<Compressed<T>, Error> {
        let shape = &tensor.ty().shape;
        let [rows, columns] = shape[..] else {
            return Err(Error::Shape { function, expected: "a matrix", shape: shape.clone() });
        };
        let too_large = |_| Error::TooLarge { function };
        let (rows, columns) = (usize::try_from(rows).map_err(too_large)?, usize::try_from(columns).map_err(too_large)?);
        let tensor = with_zero_fill(function, tensor)?;
        let is_by_rows = tensor.ty().format == Format::csr();
        let default = if is_by_rows { Compression::Rows } else { Compression::Columns };
        let compression = compression.unwrap_or(default);
        let format = if compression == Compression::Rows { Format::csr() } else { Format::csc() };
        let lists = convert_within(&tensor, &format, &context.memory)?;
        lists.fetch()?;
        let ([_, level], [values]) = (lists.levels(), lists.leaf()) else {
            return Err(Error::DType { function, dtype: tensor.ty().dtype.clone() });
        };
        let (major, minor) = if compression == Compression::Rows { (rows, columns) } else { (columns, rows) };
        let (ptr, idx, values) = from_zero(&level[0], &level[1], values);
        let is_shared = values.prim() == T::PRIM;
        let charge = if is_shared { None } else { Some(context.reserve::<T>(values.len())?) };
        let matrix = Compressed {
            pattern: Pattern { compression, major, minor, ptr, idx },
            values: cast_array::<T>(&values),
            _charge: charge,
            _number: Default::default(),
        };
        match matrix.values().iter().all(|value: &T| value.is_number()) {
            true => Ok(matrix),
            false => Err(Error::NotFinite { function, batch: Vec::new() }),
        }
    }

    /// Returns the `minor x major` matrix in compressed columns.
    pub(super) fn columns(&self) -> SparseColMatRef<'_, u64, T> {
        SparseColMatRef::new(self.pattern.columns(), self.values())
    }

    /// Calls a function with the row, the column and the value of each entry of the `minor x major`
    /// matrix.
    pub(super) fn each_entry(&self, visit: &mut dyn FnMut(usize, usize, T)) {
        let (ptr, idx, values) = (indices(&self.pattern.ptr), indices(&self.pattern.idx), self.values());
        for (column, range) in ptr.windows(2).enumerate() {
            for p in range[0] as usize..range[1] as usize {
                visit(idx[p] as usize, column, values[p]);
            }
        }
    }

    /// Returns the `minor x major` matrix with scaled rows and columns.
    ///
    /// # Errors
    /// When memory is exhausted.
    pub(super) fn scaled(
        &self,
        context: &Context,
        function: &'static str,
        scales: &Scales,
    ) -> Result<Compressed<T>, Error> {
        let charge = context.reserve::<T>(self.pattern.entries())?;
        let mut values = zeros::<T>(function, self.pattern.entries())?;
        let mut rest = values.iter_mut();
        self.each_entry(&mut |row, column, value| {
            if let Some(scaled) = rest.next() {
                *scaled = times_power(value, scales.rows[row] + scales.columns[column]);
            }
        });
        Ok(Compressed {
            pattern: self.pattern.clone(),
            values: Array::from_vec(values),
            _charge: Some(charge),
            _number: Default::default(),
        })
    }

    fn values(&self) -> &[T] {
        self.values.as_slice().expect("the values were cast")
    }
}

/// Returns the tensor with fill value 0.
fn with_zero_fill(function: &'static str, tensor: &Tensor) -> Result<Tensor, Error> {
    let ty: &TensorType = tensor.ty();
    let Some(prim) = ty.fill.prim() else {
        return Err(Error::DType { function, dtype: ty.dtype.clone() });
    };
    if ty.fill.to_f64() == Some(0.0) {
        return Ok(tensor.clone());
    }
    // The fill value of a tensor that stores all elements may change.
    let refilled = tensor.with_fill(&Scalar::zero(prim));
    refilled.map_err(|error| match error {
        redpoll_storage::Error::FillInUse(_) => Error::FillValue { function, fill: ty.fill.clone() },
        error => error.into(),
    })
}

/// Returns the arrays of a list level with `u64` elements, and the values, such that the first
/// position is 0.
fn from_zero(ptr: &Array, idx: &Array, values: &Array) -> (Array, Array, Array) {
    let (ptr, idx) = (to_u64(ptr), to_u64(idx));
    let positions = indices(&ptr);
    let first = positions.first().copied().unwrap_or(0);
    let len = (positions.last().copied().unwrap_or(0) - first) as usize;
    let from = first as usize;
    let moved = match first {
        0 => ptr.clone(),
        _ => Array::from_vec(positions.iter().map(|p| p - first).collect()),
    };
    let cut = |array: &Array| if array.len() == len { array.clone() } else { array.slice(from, len) };
    (moved, cut(&idx), cut(values))
}

/// Returns positions or coordinates, which are not negative, as `u64`.
fn to_u64(array: &Array) -> Array {
    let widened = match array.prim() {
        Prim::I64 | Prim::U64 => return array.reinterpret(Prim::U64).expect("the widths are equal"),
        Prim::I32 => array.as_slice::<i32>().map(|values| values.iter().map(|v| *v as u64).collect()),
        Prim::U32 => array.as_slice::<u32>().map(|values| values.iter().map(|v| u64::from(*v)).collect()),
        _ => None,
    };
    let narrow = || (0..array.len()).map(|k| array.bits(k)).collect();
    Array::from_vec(widened.unwrap_or_else(narrow))
}

fn indices(array: &Array) -> &[u64] {
    array.as_slice().expect("the array has `u64` elements")
}
