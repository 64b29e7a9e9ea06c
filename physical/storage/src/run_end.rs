//! Exchange of run-length vectors with Arrow, as run-end encoded arrays.
//!
//! Both encodings store the exclusive end and the value of each run, so most arrays are shared
//! without copies. Ends of 16 bits are widened, and the ends of a slice are rebased to its start.
//! Mapped arrays are copied. Values with NULLs are copied too, and so are booleans, which Arrow
//! packs into bits.

use super::exchange::{dtype_of_arrow, export, import_values, zero_of};
use super::{Array, NullPolicy, Tensor, convert};
use crate::Error;
use crate::levels::{ArrayClass, array_prim};
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array as _, ArrayRef, PrimitiveArray, RunArray};
use arrow_buffer::ArrowNativeType;
use arrow_buffer::{Buffer, ScalarBuffer};
use redpoll_logic::{Format, LeafKind, LevelKind, Prim, Scalar, TensorType};
use std::sync::Arc;

/// Returns the format of run-length vectors.
fn run_length_format() -> Format {
    Format::of_kinds(&[LevelKind::RunLength], LeafKind::Element)
}

impl Tensor {
    /// Returns a vector as an Arrow run-end encoded array. The arrays of a run-length level are
    /// shared; a vector in another format is converted first.
    ///
    /// # Errors
    /// Those of [`convert`], and when the tensor is not a vector.
    pub fn to_run_array(&self) -> Result<ArrayRef, Error> {
        self.fetch()?;
        if self.ty.shape.len() != 1 {
            let found = self.ty.shape.len();
            return Err(Error::InvalidTensor(format!(
                "a run-end encoded array has one mode, the tensor has {found}; merge its modes first"
            )));
        }
        let tensor = convert(self, &run_length_format())?;
        let (ptr, right) = (tensor.levels[0][0].indices(), &tensor.levels[0][1]);
        let (first, count) = (ptr.get(0) as usize, (ptr.get(1) - ptr.get(0)) as usize);
        // The values are copied if they are mapped: the file may change while the Arrow array is in
        // use.
        let leaf: Vec<Array> = tensor.leaf.iter().map(|a| a.slice(first, count).copied()).collect();
        let values = export(&tensor.ty.dtype, &mut leaf.iter())?;
        let right = right.slice(first, count).copied();
        tensor.check_files()?;
        match right.prim() {
            Prim::I32 => run_array::<Int32Type>(&right, &values),
            _ => run_array::<Int64Type>(&right, &values),
        }
    }

    /// Returns a run-length vector from an Arrow run-end encoded array; the fill value is 0 or
    /// false unless given.
    ///
    /// # Errors
    /// When the array is not run-end encoded, the type of its values has no dtype, its values
    /// contain NULLs that are not allowed, or the fill value has another dtype.
    pub fn from_run_array(
        array: &dyn arrow_array::Array,
        fill: Option<&Scalar>,
        nulls: NullPolicy,
    ) -> Result<Tensor, Error> {
        let any = array.as_any();
        let parts = None
            .or_else(|| any.downcast_ref().map(ends_and_values::<Int16Type>))
            .or_else(|| any.downcast_ref().map(ends_and_values::<Int32Type>))
            .or_else(|| any.downcast_ref().map(ends_and_values::<Int64Type>));
        let invalid = |reason: String| Error::InvalidColumn { column: COLUMN.into(), reason };
        let (right, values) =
            parts.ok_or_else(|| invalid(format!("expected a run-end encoded array, found {}", array.data_type())))?;
        let dtype = dtype_of_arrow(values.data_type())
            .ok_or_else(|| invalid(format!("values cannot have type {}; cast them to numbers", values.data_type())))?;
        let fill = fill.cloned().unwrap_or_else(|| zero_of(&dtype));
        let values = import_values(COLUMN, &values, &dtype, &fill, nulls)?;
        let count = right.len() as u64;
        let ptr = Array::from_indices(array_prim(ArrayClass::Position, 0, count), [0, count].into_iter());
        let ty = TensorType { shape: vec![array.len() as u64], dtype, fill, format: run_length_format() };
        Tensor::try_new(Arc::new(ty), vec![vec![ptr, right]], values.columns().to_vec())
    }
}

/// The name of the array in error messages.
const COLUMN: &str = "values of runs";

/// Returns a run-end encoded array of the given ends and values. The ends have the type `R`.
fn run_array<R: RunEndIndexType>(right: &Array, values: &ArrayRef) -> Result<ArrayRef, Error> {
    let ends = ScalarBuffer::<R::Native>::new(right.buffer().clone(), 0, right.len());
    let ends = PrimitiveArray::<R>::try_new(ends, None)?;
    Ok(Arc::new(RunArray::try_new(&ends, values)?))
}

/// Returns the ends and the values of the runs in an array. If the array is a slice, its runs are
/// cut at the bounds of the slice.
fn ends_and_values<R: RunEndIndexType>(array: &RunArray<R>) -> (Array, ArrayRef) {
    let values = array.values_slice();
    let (offset, len) = (array.offset(), array.len());
    let first = if len == 0 { 0 } else { array.get_start_physical_index() };
    let ends = array.run_ends().values();
    let prim = if R::Native::get_byte_width() == 8 { Prim::I64 } else { Prim::I32 };
    let count = values.len();
    let is_complete = offset == 0 && (count == 0 || ends[count - 1].as_usize() == len);
    if is_complete && R::Native::get_byte_width() == prim.bytes() {
        let buffer: Buffer = array.run_ends().inner().inner().clone();
        if let Some(right) = Array::new(prim, buffer, count) {
            return (right, values);
        }
    }
    let ends = ends[first..first + count].iter().map(|end| (end.as_usize() - offset).min(len) as u64);
    (Array::from_indices(prim, ends), values)
}
