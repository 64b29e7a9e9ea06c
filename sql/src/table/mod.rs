//! Tensors as tables: a row for each entry, with a column for each mode, and optionally a column
//! for the value.
//!
//! The entries of a tensor are its stored coordinates. The innermost level may store a coordinate
//! only because it stores a neighbour, as dense levels do. Such a coordinate is no entry if its
//! value is the fill value (as in [`Tensor::to_triples`]).

mod factory;
mod ranges;
mod scan;
mod sink;

pub(crate) use factory::TensorFactory;
pub(crate) use factory::{TensorOptions, open_tensor, remaining_memory};
pub(crate) use ranges::range_of;
#[cfg(feature = "cluster")]
pub(crate) use scan::ScanPart;
pub(crate) use scan::TensorScan;
pub(crate) use sink::tensor_of_rows;
pub(crate) use sink::{TensorFileFactory, TensorSink};

use crate::engine::RunError;
use crate::error::{Error, Result};
use async_trait::async_trait;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Statistics;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use redpoll_logic::{DType, Format, LeafKind, LevelKind, Prim, Scalar, TensorType, plural};
use redpoll_storage::{Tensor, arrow_type, convert};
use scan::statistics;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The default name of the column of values.
const VALUE: &str = "value";

/// The content of a column of a tensor's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TensorColumn {
    /// The coordinate in a mode.
    Mode(usize),
    /// The value.
    Value,
}

/// A range of the coordinates of a mode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ModeRange {
    /// The mode.
    pub mode: usize,
    /// The first coordinate.
    pub low: u64,
    /// The end of the range, exclusive.
    pub high: u64,
}

/// A tensor as a table: a row for each entry, with its coordinates as `BIGINT`. Unless the table
/// omits the values, a row also has the value, in the SQL type of the tensor's dtype. Clones are
/// the same table.
///
/// ```
/// use redpoll_logic::{DType, Format, Scalar, TensorType};
/// use redpoll_storage::{Duplicates, Tensor, Triples, Values};
/// use redpoll_sql::TensorTable;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let format = Format::csf(2);
/// let ty = TensorType { shape: vec![3, 3], dtype: DType::F64, fill: Scalar::F64(0.0), format };
/// let values = Values::from(vec![1.5, 2.5]);
/// let triples = Triples { coordinates: vec![vec![0, 2], vec![1, 2]], shape: vec![3, 3], values };
/// let (tensor, _) = Tensor::from_triples(ty, &triples, Duplicates::Error)?;
/// let names = ["src", "dst", "weight"].map(String::from);
///
/// let database = redpoll::Session::default().database();
/// database.register_table("e", TensorTable::with_columns(tensor, names.to_vec())?)?;
/// let rows = database.sql("SELECT weight FROM e WHERE src = 2").await?.collect().await?;
/// assert_eq!(rows[0].num_rows(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TensorTable(Arc<TensorTableData>);

/// A function that computes a tensor when its entries are needed. The query that needs the entries
/// returns the error of the function.
pub type ComputeFn = Box<dyn Fn() -> Result<Tensor, RunError> + Send + Sync>;

struct TensorTableData {
    /// The dimension of each mode.
    shape: Vec<u64>,
    schema: SchemaRef,
    tensor: OnceLock<Tensor>,
    /// The computation of a lazy tensor.
    compute: Option<ComputeFn>,
    /// The tensor in a format whose innermost level is a list.
    list_tensor: OnceLock<Tensor>,
    /// The coordinates of the entries, as a boolean tensor.
    pattern: OnceLock<Tensor>,
    /// The values, with fill value 0.
    values: OnceLock<Tensor>,
    /// All rows; unset until a scan reads all of them.
    rows: OnceLock<RecordBatch>,
}

impl TensorTable {
    /// Returns the table of a tensor, with columns `i0`, `i1`, .., `value`.
    ///
    /// # Errors
    /// See [`TensorTable::with_columns`].
    pub fn new(tensor: Tensor) -> Result<TensorTable> {
        let names = default_names(tensor.ty().shape.len());
        TensorTable::with_columns(tensor, names)
    }

    /// Returns the table of a tensor with the given names of columns: one for each mode, then
    /// optionally one for the values.
    ///
    /// # Errors
    /// If the number of names does not fit, a name occurs twice, or the values are structs.
    pub fn with_columns(tensor: Tensor, names: Vec<String>) -> Result<TensorTable> {
        let table = TensorTable::of_type(tensor.ty().shape.clone(), &tensor.ty().dtype, names, None)?;
        table.0.tensor.set(tensor).expect("a new table has no tensor");
        Ok(table)
    }

    /// Returns the table of a tensor of the given shape and dtype, which is computed when its
    /// entries are first needed, and then kept. The names are as for [`TensorTable::with_columns`];
    /// without names, the columns are named as by [`TensorTable::new`].
    ///
    /// # Errors
    /// See [`TensorTable::with_columns`].
    pub fn lazy(
        (shape, dtype): (Vec<u64>, DType),
        names: Option<Vec<String>>,
        compute: ComputeFn,
    ) -> Result<TensorTable> {
        let names = names.unwrap_or_else(|| default_names(shape.len()));
        TensorTable::of_type(shape, &dtype, names, Some(compute))
    }

    fn of_type(shape: Vec<u64>, dtype: &DType, names: Vec<String>, compute: Option<ComputeFn>) -> Result<TensorTable> {
        let rank = shape.len();
        let fault = |message: String| Error::Declaration { table: names.join(", "), message };
        if names.len() != rank && names.len() != rank + 1 {
            let found = names.len();
            return Err(fault(format!(
                "expected {rank} {} for a tensor of {rank} {}, and optionally one for the values, found {found}",
                plural(rank as u64, "column name", "column names"),
                plural(rank as u64, "mode", "modes")
            )));
        }
        if let Some(duplicate) = names.iter().enumerate().find(|(k, n)| names[..*k].contains(n)) {
            return Err(fault(format!("column `{}` occurs twice", duplicate.1)));
        }
        let DType::Prim(_) = dtype else {
            return Err(fault(format!("values of dtype {dtype} have no SQL type")));
        };
        let fields: Vec<Field> = names
            .into_iter()
            .enumerate()
            .map(|(k, name)| {
                let ty = if k < rank { DataType::Int64 } else { arrow_type(dtype) };
                Field::new(name, ty, false)
            })
            .collect();
        Ok(TensorTable(Arc::new(TensorTableData {
            shape,
            tensor: OnceLock::new(),
            compute,
            schema: Arc::new(Schema::new(fields)),
            list_tensor: OnceLock::new(),
            pattern: OnceLock::new(),
            values: OnceLock::new(),
            rows: OnceLock::new(),
        })))
    }

    /// Returns the tensor, and computes it at the first call.
    ///
    /// # Errors
    /// If the tensor cannot be computed, or has another shape than declared.
    pub fn tensor(&self) -> Result<&Tensor> {
        get_or_compute(&self.0.tensor, || {
            let compute = self.0.compute.as_ref().expect("a table without a tensor can compute the tensor");
            let tensor = compute()?;
            if tensor.ty().shape != self.0.shape {
                let (found, shape) = (&tensor.ty().shape, &self.0.shape);
                let message = format!("expected a tensor of shape {shape:?}, found shape {found:?}");
                let columns = self.0.schema.fields().iter().map(|field| field.name().as_str());
                return Err(Error::Declaration { table: columns.collect::<Vec<_>>().join(", "), message });
            }
            Ok(tensor)
        })
    }

    /// Returns an upper bound of the number of entries, if the tensor is computed and can be
    /// counted.
    pub(crate) fn max_entries(&self) -> Option<u64> {
        self.0.tensor.get()?.count_stored().ok()
    }

    /// Returns the dimension of each mode.
    pub(crate) fn shape(&self) -> &[u64] {
        &self.0.shape
    }

    /// Returns the content of a column.
    pub(crate) fn column(&self, index: usize) -> TensorColumn {
        if index < self.shape().len() { TensorColumn::Mode(index) } else { TensorColumn::Value }
    }

    /// Returns the tensor in a format whose innermost level is a list, so that its stored
    /// coordinates are the rows.
    pub(crate) fn list_tensor(&self) -> Result<&Tensor> {
        get_or_compute(&self.0.list_tensor, || {
            let tensor = self.tensor()?;
            let format = &tensor.ty().format;
            let is_list = format.levels.split_last().is_some_and(|(last, outer)| {
                last.kind == LevelKind::SparseList
                    && outer.iter().all(|l| matches!(l.kind, LevelKind::SparseList | LevelKind::Dense))
                    && format.levels.iter().all(|l| l.ordered && l.unique)
            });
            Ok(if is_list { tensor.clone() } else { convert(tensor, &Format::csf(self.shape().len()))? })
        })
    }

    /// Returns a boolean tensor that is true at the coordinates of rows. The tensor shares the
    /// arrays of [`TensorTable::list_tensor`].
    pub(crate) fn pattern(&self) -> Result<&Tensor> {
        get_or_compute(&self.0.pattern, || {
            let tensor = self.list_tensor()?;
            let ty = tensor.ty();
            let format = Format { leaf: LeafKind::Pattern, ..ty.format.clone() };
            let ty = TensorType { dtype: DType::BOOL, fill: Scalar::Bool(false), format, shape: ty.shape.clone() };
            Ok(Tensor::try_new(Arc::new(ty), tensor.levels().to_vec(), Vec::new())?)
        })
    }

    /// Returns the values of the rows with fill value 0. The tensor shares the arrays of
    /// [`TensorTable::list_tensor`].
    pub(crate) fn values(&self) -> Result<&Tensor> {
        get_or_compute(&self.0.values, || {
            let tensor = self.list_tensor()?;
            let ty = tensor.ty();
            let prim = ty.dtype.prim().unwrap_or(Prim::Bool);
            let zero = Scalar::zero(prim);
            if ty.fill == zero {
                return Ok(tensor.clone());
            }
            let ty = TensorType { fill: zero, ..TensorType::clone(ty) };
            Ok(Tensor::try_new(Arc::new(ty), tensor.levels().to_vec(), tensor.leaf().to_vec())?)
        })
    }

    /// Returns all rows, and caches them.
    pub(crate) fn rows(&self) -> Result<&RecordBatch> {
        get_or_compute(&self.0.rows, || self.cast_rows(&self.tensor()?.to_record_batch(&as_strs(&self.mode_names()))?))
    }

    /// Returns all rows, if they are cached.
    pub(crate) fn cached_rows(&self) -> Option<&RecordBatch> {
        self.0.rows.get()
    }

    /// Returns the first `limit` rows within `window`, which has a range of coordinates for each
    /// mode.
    pub(crate) fn rows_within(&self, window: &[Range<u64>], limit: usize) -> Result<RecordBatch> {
        let mode_names = self.mode_names();
        self.cast_rows(&self.tensor()?.to_record_batch_within(&as_strs(&mode_names), window, limit)?)
    }

    /// Returns distinct names for the modes, independent of the columns' names.
    fn mode_names(&self) -> Vec<String> {
        (0..self.shape().len()).map(|k| k.to_string()).collect()
    }

    /// Casts coordinates and values to the schema of the table.
    fn cast_rows(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns =
            batch.columns().iter().zip(self.0.schema.fields()).map(|(c, field)| Ok(cast(c, field.data_type())?));
        Ok(RecordBatch::try_new(self.0.schema.clone(), columns.collect::<Result<_>>()?)?)
    }
}

fn as_strs(owned: &[String]) -> Vec<&str> {
    owned.iter().map(String::as_str).collect()
}

/// Returns the value of a cell, and computes the value if the cell is empty. Concurrent calls may
/// each compute the value; the first value stays.
fn get_or_compute<T>(cell: &OnceLock<T>, compute: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = compute()?;
    Ok(cell.get_or_init(|| value))
}

/// Returns the names `i0`, `i1`, .., `value`.
fn default_names(rank: usize) -> Vec<String> {
    (0..rank).map(|k| format!("i{k}")).chain([VALUE.to_string()]).collect()
}

impl fmt::Debug for TensorTableData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorTable").field("shape", &self.shape).field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl PartialEq for TensorTable {
    fn eq(&self, other: &TensorTable) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for TensorTable {}

impl Hash for TensorTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

#[async_trait]
impl TableProvider for TensorTable {
    fn schema(&self) -> SchemaRef {
        self.0.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let ranges = filters.iter().map(|filter| {
            let unknown = || DataFusionError::Internal(format!("`{filter}` is not a range of coordinates"));
            range_of(filter, self).ok_or_else(unknown)
        });
        let ranges = ranges.collect::<DataFusionResult<_>>()?;
        Ok(Arc::new(TensorScan::new(self.clone(), projection, ranges, limit)?))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> DataFusionResult<Vec<TableProviderFilterPushDown>> {
        let of = |filter: &&Expr| match range_of(filter, self) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(of).collect())
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(statistics(self, &[], None))
    }
}
