//! Exchange with Arrow record batches: one column of coordinates for each mode, and a column of
//! values.
//!
//! A struct dtype is one Arrow struct column with the same nesting. Coordinates and values of a COO
//! tensor are shared with the batch without copies, in both directions. Booleans are copied, since
//! Arrow packs them into bits. Mapped values, values with NULLs, coordinates of 8 or 16 bits, and
//! rows that are not sorted and distinct are copied, too.

use super::{Array, Duplicates, Tensor, Triples, Values};
use crate::Error;
use crate::levels::{ArrayClass, array_prim};
use arrow_array::RecordBatch;
use arrow_array::{Array as _, ArrayRef, BooleanArray, StructArray, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields, Schema};
use redpoll_logic::{DType, Format, LeafKind, LevelKind, Prim, Scalar, StorageMode, TensorType};
use std::ops::Range;
use std::sync::Arc;

/// The treatment of an Arrow NULL among values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NullPolicy {
    /// A NULL is an error.
    Error,
    /// A NULL becomes the fill value.
    Fill,
}

/// The options for reading a record batch as a tensor.
pub struct Import<'a> {
    /// The names of the coordinate columns, one for each tensor mode: integers of any width.
    pub coordinates: Vec<String>,
    /// The name of the value column; without one, every row is `true`.
    pub value: Option<String>,
    /// The shape; by default the largest coordinate of each mode plus 1.
    pub shape: Option<Vec<u64>>,
    /// The fill value; by default 0 or false.
    pub fill: Option<Scalar>,
    /// The format.
    pub format: Format,
    /// The treatment of NULLs among the values; NULLs among the coordinates are errors.
    pub nulls: NullPolicy,
    /// The treatment of rows with the same coordinates.
    pub duplicates: Duplicates<'a>,
}

impl<'a> Import<'a> {
    /// Returns the options that read these columns as COO and reject NULLs and duplicates.
    pub fn new(coordinates: &[&str], value: Option<&str>) -> Import<'a> {
        Import {
            coordinates: coordinates.iter().map(ToString::to_string).collect(),
            value: value.map(ToString::to_string),
            shape: None,
            fill: None,
            format: Format::coo(coordinates.len()),
            nulls: NullPolicy::Error,
            duplicates: Duplicates::Error,
        }
    }
}

/// Returns the Arrow type of a primitive.
fn arrow_prim(prim: Prim) -> DataType {
    match prim {
        Prim::Bool => DataType::Boolean,
        Prim::I8 => DataType::Int8,
        Prim::I16 => DataType::Int16,
        Prim::I32 => DataType::Int32,
        Prim::I64 => DataType::Int64,
        Prim::U8 => DataType::UInt8,
        Prim::U16 => DataType::UInt16,
        Prim::U32 => DataType::UInt32,
        Prim::U64 => DataType::UInt64,
        Prim::F32 => DataType::Float32,
        Prim::F64 => DataType::Float64,
    }
}

/// Returns the Arrow type for values of a dtype.
pub fn arrow_type(dtype: &DType) -> DataType {
    match dtype {
        DType::Prim(prim) => arrow_prim(*prim),
        DType::Struct(ty) => {
            DataType::Struct(ty.members.iter().map(|(n, t)| Field::new(n, arrow_type(t), false)).collect())
        }
    }
}

/// Returns the dtype for values of an Arrow column, if there is one.
pub fn dtype_of_arrow(ty: &DataType) -> Option<DType> {
    if let DataType::Struct(fields) = ty {
        let members: Option<Vec<_>> =
            fields.iter().map(|f| Some((f.name().clone(), dtype_of_arrow(f.data_type())?))).collect();
        return members.map(DType::structure);
    }
    Prim::ALL.into_iter().find(|&p| arrow_prim(p) == *ty).map(DType::Prim)
}

impl Tensor {
    /// Returns the stored elements as a record batch: coordinate columns with the given names, one
    /// for each mode, then `value`. The rows are the entries of [`Tensor::to_triples`], in storage
    /// order.
    ///
    /// # Errors
    /// Like [`Tensor::to_triples`]. Also when there is not one name for each mode, when names
    /// repeat, or when a name is `value`.
    pub fn to_record_batch(&self, names: &[&str]) -> Result<RecordBatch, Error> {
        self.fetch()?;
        self.record_batch(names, || match self.coo_columns() {
            Some(columns) => Ok(columns),
            None => Ok(Tensor::triple_columns(self.to_triples()?)),
        })
    }

    /// Returns the first `limit` rows within a range of each mode, like
    /// [`Tensor::to_record_batch`].
    ///
    /// # Errors
    /// Like [`Tensor::to_record_batch`].
    ///
    /// # Panics
    /// If there is not one range for each mode.
    pub fn to_record_batch_within(
        &self,
        names: &[&str],
        ranges: &[Range<u64>],
        limit: usize,
    ) -> Result<RecordBatch, Error> {
        self.fetch()?;
        self.record_batch(names, || Ok(Tensor::triple_columns(self.to_triples_within(ranges, limit)?)))
    }

    fn record_batch(
        &self,
        names: &[&str],
        columns: impl FnOnce() -> Result<(Vec<Array>, Values), Error>,
    ) -> Result<RecordBatch, Error> {
        if names.len() != self.ty.shape.len() {
            let (expected, found) = (self.ty.shape.len(), names.len());
            return Err(Error::InvalidTensor(format!(
                "expected {expected} column names, one for each mode, found {found}"
            )));
        }
        if let Some(name) = names.iter().enumerate().find(|(k, n)| names[..*k].contains(n) || **n == "value") {
            let reason = "the name occurs more than once; choose another".to_string();
            return Err(Error::InvalidColumn { column: name.1.to_string(), reason });
        }
        let (coordinates, values) = columns()?;
        self.check_files()?;
        let mut columns = coordinates.iter().map(export_prim).collect::<Result<Vec<_>, _>>()?;
        columns.push(export(&self.ty.dtype, &mut values.columns().iter())?);
        let names = names.iter().copied().chain(["value"]);
        let fields: Fields = names.zip(&columns).map(|(n, c)| Field::new(n, c.data_type().clone(), false)).collect();
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
    }

    /// Returns the coordinates of each mode and the values of a COO tensor, or `None` for other
    /// formats. The arrays are shared with the tensor, except mapped values, which are copied.
    fn coo_columns(&self) -> Option<(Vec<Array>, Values)> {
        if !is_coo(&self.ty.format) {
            return None;
        }
        let ptr = self.levels[0][0].indices();
        let (start, len) = (ptr.get(0) as usize, (ptr.get(1) - ptr.get(0)) as usize);
        let mut coordinates = vec![None; self.levels.len()];
        for (mode, arrays) in self.ty.format.modes.iter().zip(&self.levels) {
            coordinates[mode.mode()] = arrays.last().map(|idx| idx.slice(start, len));
        }
        let values = match self.ty.format.leaf {
            LeafKind::Pattern => Values::pattern(len),
            LeafKind::Element => {
                let leaf = self.leaf.iter().map(|a| a.slice(start, len).copied()).collect();
                Values::try_new(self.ty.dtype.clone(), leaf)
            }
        };
        Some((coordinates.into_iter().collect::<Option<_>>()?, values.ok()?))
    }

    fn triple_columns(triples: Triples) -> (Vec<Array>, Values) {
        let Triples { shape, coordinates, values } = triples;
        let column =
            |(list, &n): (Vec<u64>, _)| Array::from_indices(array_prim(ArrayClass::Coordinate, n, 0), list.into_iter());
        (coordinates.into_iter().zip(&shape).map(column).collect(), values)
    }

    /// Returns a tensor from the rows of a record batch, and the number of rows that repeat the
    /// coordinates of an earlier row.
    ///
    /// # Errors
    /// Like [`Tensor::from_triples`]. Also when columns are missing, have other types, or contain
    /// negative coordinates or forbidden NULLs.
    pub fn from_record_batch(batch: &RecordBatch, import: Import<'_>) -> Result<(Tensor, usize), Error> {
        let indices =
            import.coordinates.iter().map(|name| import_indices(batch, name)).collect::<Result<Vec<_>, _>>()?;
        let fill_of = |dtype: &DType| import.fill.clone().unwrap_or_else(|| zero_of(dtype));
        let (dtype, fill, values) = match &import.value {
            None => (DType::BOOL, fill_of(&DType::BOOL), Values::pattern(batch.num_rows())?),
            Some(name) => {
                let column = column(batch, name)?;
                let dtype = dtype_of_arrow(column.data_type()).ok_or_else(|| Error::InvalidColumn {
                    column: name.clone(),
                    reason: format!("values cannot have type {}; cast the column to a number", column.data_type()),
                })?;
                let fill = fill_of(&dtype);
                let values = import_values(name, column, &dtype, &fill, import.nulls)?;
                (dtype, fill, values)
            }
        };
        let shape = match import.shape {
            Some(shape) => shape,
            None => indices.iter().map(min_dimension).collect(),
        };
        let ty = Arc::new(TensorType { shape: shape.clone(), dtype, fill, format: import.format });
        ty.validate()?;
        if let Some(tensor) = import_coo(&ty, &indices, &values) {
            return Ok((tensor, 0));
        }
        let lists = indices.iter().map(|a| (0..a.len() as u64).map(|k| a.indices().get(k)).collect());
        let triples = Triples { shape, coordinates: lists.collect(), values };
        Tensor::from_triples(ty, &triples, import.duplicates)
    }
}

/// Returns whether the format is COO: a sparse list and singletons, each for a whole mode.
fn is_coo(format: &Format) -> bool {
    let kinds = format.levels.iter().map(|l| l.kind);
    !format.levels.is_empty()
        && format.modes.iter().all(|m| matches!(m, StorageMode::Whole { .. }))
        && kinds.enumerate().all(|(k, kind)| kind == if k == 0 { LevelKind::SparseList } else { LevelKind::Singleton })
}

/// Returns a tensor that shares the columns, if its format is COO, the rows are sorted and
/// distinct, and the coordinates are in range. With a pattern leaf, all values must also be `true`.
fn import_coo(ty: &Arc<TensorType>, indices: &[Array], values: &Values) -> Option<Tensor> {
    if !is_coo(&ty.format) {
        return None;
    }
    let shares_values = ty.format.leaf == LeafKind::Element;
    if !shares_values && values.columns()[0].bools()?.contains(&0) {
        return None;
    }
    let len = values.len() as u64;
    let ptr = Array::from_indices(array_prim(ArrayClass::Position, 0, len), [0, len].into_iter());
    let mut levels: Vec<Vec<Array>> =
        ty.format.modes.iter().map(|m| indices.get(m.mode()).map(|a| vec![a.clone()])).collect::<Option<_>>()?;
    levels[0].insert(0, ptr);
    let leaf = if shares_values { values.columns().to_vec() } else { Vec::new() };
    Tensor::try_new(ty.clone(), levels, leaf).ok()
}

/// Returns the smallest dimension that fits the coordinates.
fn min_dimension(indices: &Array) -> u64 {
    let all = indices.indices();
    (0..all.len()).map(|k| all.get(k).saturating_add(1)).max().unwrap_or(0)
}

/// Returns the zero of a dtype.
pub(super) fn zero_of(dtype: &DType) -> Scalar {
    let mut parts = dtype.prims().into_iter().map(Scalar::zero);
    Scalar::unflatten(dtype, &mut parts).expect("there is a part for each primitive of the dtype")
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, Error> {
    batch.column_by_name(name).ok_or_else(|| {
        let names: Vec<&str> = batch.schema_ref().fields().iter().map(|f| f.name().as_str()).collect();
        let reason = format!("the column does not exist; the columns are {}", names.join(", "));
        Error::InvalidColumn { column: name.into(), reason }
    })
}

fn null_error(name: &str, column: &dyn arrow_array::Array, hint: &'static str) -> Error {
    let row = (0..column.len()).find(|&row| column.is_null(row)).unwrap_or(0);
    Error::Null { column: name.into(), row, hint }
}

/// Returns a column of coordinates as `u32` or `u64`, shared if it has one of these widths.
fn import_indices(batch: &RecordBatch, name: &str) -> Result<Array, Error> {
    let column = column(batch, name)?;
    if column.null_count() > 0 {
        return Err(null_error(name, column, "coordinates cannot be null; filter such rows"));
    }
    let invalid = |reason| Error::InvalidColumn { column: name.into(), reason };
    let prim = dtype_of_arrow(column.data_type()).and_then(|d| d.prim()).filter(|p| p.is_int());
    let prim = prim.ok_or_else(|| invalid(format!("coordinates must be integers, found {}", column.data_type())))?;
    let array = import_prim(&column.to_data(), prim);
    let negative = |k: &usize| array.scalar(*k).to_i128().is_some_and(|v| v < 0);
    if prim.is_signed()
        && let Some(row) = (0..array.len()).find(negative)
    {
        return Err(invalid(format!("row {row} has the negative coordinate {}", array.scalar(row))));
    }
    Ok(match prim {
        Prim::I32 | Prim::U32 => array.reinterpret(Prim::U32).expect("the widths are equal"),
        Prim::I64 | Prim::U64 => array.reinterpret(Prim::U64).expect("the widths are equal"),
        _ => Array::from_vec((0..array.len()).map(|k| array.scalar(k).to_bits().unwrap_or(0) as u32).collect()),
    })
}

/// Returns the elements of a primitive column, shared except for booleans.
fn import_prim(data: &ArrayData, prim: Prim) -> Array {
    if prim == Prim::Bool {
        return Array::from_bools(BooleanArray::from(data.clone()).values().iter());
    }
    let width = prim.bytes();
    let bytes = data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width);
    Array::new(prim, bytes, data.len()).expect("an Arrow array has enough aligned bytes")
}

pub(super) fn import_values(
    name: &str,
    column: &ArrayRef,
    dtype: &DType,
    fill: &Scalar,
    nulls: NullPolicy,
) -> Result<Values, Error> {
    let mut columns = Vec::new();
    let mut valid = vec![true; column.len()];
    flatten(name, column, nulls, &mut columns, &mut valid)?;
    let values = Values::try_new(dtype.clone(), columns)?;
    if valid.iter().all(|&v| v) {
        return Ok(values);
    }
    if fill.dtype() != *dtype {
        let (expected, found) = (dtype.clone(), fill.dtype());
        return Err(Error::DTypeMismatch { what: "fill value".into(), expected, found });
    }
    let scalars: Vec<Scalar> =
        valid.iter().enumerate().map(|(k, &v)| if v { values.get(k) } else { fill.clone() }).collect();
    Values::from_scalars(dtype.clone(), &scalars)
}

/// Appends the primitive columns of a column, depth first. A NULL, in a primitive or in place of a
/// struct, is an error or makes its row invalid, as `nulls` says.
fn flatten(
    name: &str,
    column: &ArrayRef,
    nulls: NullPolicy,
    columns: &mut Vec<Array>,
    valid: &mut [bool],
) -> Result<(), Error> {
    if column.null_count() > 0 {
        if nulls == NullPolicy::Error {
            return Err(null_error(name, column, "filter such rows, or read them as the fill value"));
        }
        valid.iter_mut().enumerate().for_each(|(row, v)| *v &= column.is_valid(row));
    }
    if let Some(members) = column.as_any().downcast_ref::<StructArray>() {
        return members.columns().iter().try_for_each(|member| flatten(name, member, nulls, columns, valid));
    }
    let prim = dtype_of_arrow(column.data_type()).and_then(|d| d.prim()).expect("the type of the column was checked");
    columns.push(import_prim(&column.to_data(), prim));
    Ok(())
}

/// Returns a primitive array as an Arrow column, shared except for booleans.
fn export_prim(array: &Array) -> Result<ArrayRef, Error> {
    if let Some(bools) = array.bools() {
        return Ok(Arc::new(BooleanArray::from_iter(bools.iter().map(|&b| Some(b != 0)))));
    }
    let buffer: Buffer = array.buffer().clone();
    let data = ArrayData::builder(arrow_prim(array.prim())).len(array.len()).add_buffer(buffer).build()?;
    Ok(make_array(data))
}

/// Returns the next columns of the leaf as one Arrow column of a dtype.
pub(super) fn export(dtype: &DType, columns: &mut dyn Iterator<Item = &Array>) -> Result<ArrayRef, Error> {
    match dtype {
        DType::Prim(_) => export_prim(columns.next().expect("a leaf has a column for each primitive")),
        DType::Struct(ty) => {
            let DataType::Struct(fields) = arrow_type(dtype) else {
                unreachable!("the Arrow type of a struct is a struct")
            };
            let members = ty.members.iter().map(|(_, t)| export(t, columns)).collect::<Result<_, _>>()?;
            Ok(Arc::new(StructArray::try_new(fields, members, None)?))
        }
    }
}
