//! Tensors as tables: a row for each entry, with a column for each mode and one for the value.
//!
//! The entries of a tensor are its stored places; where its innermost level stores places because of their neighbours, as
//! dense levels do, those that hold the fill value are none (as in [`Tensor::to_triples`]).

mod factory;
mod sink;

pub(crate) use factory::TensorFactory;
pub(crate) use factory::open;
pub(crate) use sink::entries;
pub(crate) use sink::{TensorFiles, TensorSink};

use crate::claim::TensorColumn;
use crate::error::{Error, Result};
use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Int64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use redpoll_logic::{DType, Format, LeafKind, LevelKind, Prim, Scalar, TensorType};
use redpoll_physical::storage::{Tensor, arrow_type, convert};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// The name of the column of values unless another is asked for.
const VALUE: &str = "value";

/// A tensor as a table. Clones are the same table.
#[derive(Clone, Debug)]
pub struct TensorTable(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tensor: Tensor,
    schema: SchemaRef,
    /// The tensor in a format that lists its entries.
    listed: OnceLock<Tensor>,
    /// The places of the entries alone.
    pattern: OnceLock<Tensor>,
    /// The values, with 0 where there is no entry.
    values: OnceLock<Tensor>,
    /// All rows.
    rows: OnceLock<RecordBatch>,
}

impl TensorTable {
    /// The table of a tensor, its modes called `i0`, `i1`, .., its values `value`.
    ///
    /// # Errors
    /// As [`TensorTable::with_columns`].
    pub fn new(tensor: Tensor) -> Result<TensorTable> {
        let modes = (0..tensor.ty().shape.len()).map(|k| format!("i{k}"));
        TensorTable::with_columns(tensor, modes.chain([VALUE.to_string()]).collect())
    }

    /// The table of a tensor with those names of columns: one for each mode, then one for the values, if they are wanted.
    ///
    /// # Errors
    /// When there are too few or too many names, or the values are structs.
    pub fn with_columns(tensor: Tensor, names: Vec<String>) -> Result<TensorTable> {
        let rank = tensor.ty().shape.len();
        let fault = |what: String| Error::Declaration { table: names.join(", "), what };
        if names.len() != rank && names.len() != rank + 1 {
            let found = names.len();
            return Err(fault(format!("a tensor of {rank} modes has {rank} columns and one of values, found {found}")));
        }
        if let Some(twice) = names.iter().enumerate().find(|(k, n)| names[..*k].contains(n)) {
            return Err(fault(format!("the column `{}` occurs twice", twice.1)));
        }
        let DType::Prim(_) = tensor.ty().dtype else {
            return Err(fault(format!("values of dtype {} have no SQL type", tensor.ty().dtype)));
        };
        let fields: Vec<Field> = names
            .into_iter()
            .enumerate()
            .map(|(k, name)| {
                let ty = if k < rank { DataType::Int64 } else { arrow_type(&tensor.ty().dtype) };
                Field::new(name, ty, false)
            })
            .collect();
        Ok(TensorTable(Arc::new(Inner {
            tensor,
            schema: Arc::new(Schema::new(fields)),
            listed: OnceLock::new(),
            pattern: OnceLock::new(),
            values: OnceLock::new(),
            rows: OnceLock::new(),
        })))
    }

    /// The tensor.
    pub fn tensor(&self) -> &Tensor {
        &self.0.tensor
    }

    /// The size of each mode.
    pub(crate) fn shape(&self) -> &[u64] {
        &self.0.tensor.ty().shape
    }

    /// What a column of the table is.
    pub(crate) fn column(&self, index: usize) -> TensorColumn {
        if index < self.shape().len() { TensorColumn::Mode(index) } else { TensorColumn::Value }
    }

    /// The tensor in a format whose innermost level lists coordinates, so that what is stored is what has a row.
    pub(crate) fn listed(&self) -> Result<&Tensor> {
        computed(&self.0.listed, || {
            let format = &self.0.tensor.ty().format;
            let lists = format.levels.split_last().is_some_and(|(last, outer)| {
                last.kind == LevelKind::SparseList
                    && outer.iter().all(|l| matches!(l.kind, LevelKind::SparseList | LevelKind::Dense))
                    && format.levels.iter().all(|l| l.ordered && l.unique)
            });
            Ok(if lists { self.0.tensor.clone() } else { convert(&self.0.tensor, &Format::csf(self.shape().len()))? })
        })
    }

    /// The places of the rows: `true` where there is one. It shares the arrays of the tensor.
    pub(crate) fn pattern(&self) -> Result<&Tensor> {
        computed(&self.0.pattern, || {
            let listed = self.listed()?;
            let ty = listed.ty();
            let format = Format { leaf: LeafKind::Pattern, ..ty.format.clone() };
            let ty = TensorType { dtype: DType::BOOL, fill: Scalar::Bool(false), format, shape: ty.shape.clone() };
            Ok(Tensor::try_new(Arc::new(ty), listed.levels().to_vec(), Vec::new())?)
        })
    }

    /// The values, with the fill value 0, where there is no row. It shares the arrays of the tensor.
    pub(crate) fn values(&self) -> Result<&Tensor> {
        computed(&self.0.values, || {
            let listed = self.listed()?;
            let ty = listed.ty();
            let prim = ty.dtype.prim().unwrap_or(Prim::Bool);
            let zero = Scalar::zero(prim);
            if ty.fill == zero {
                return Ok(listed.clone());
            }
            let ty = TensorType { fill: zero, ..TensorType::clone(ty) };
            Ok(Tensor::try_new(Arc::new(ty), listed.levels().to_vec(), listed.leaf().to_vec())?)
        })
    }

    /// All rows.
    pub(crate) fn rows(&self) -> Result<&RecordBatch> {
        computed(&self.0.rows, || {
            let rank = self.shape().len();
            let names: Vec<String> = (0..rank).map(|k| k.to_string()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let batch = self.0.tensor.to_record_batch(&names)?;
            let wanted = self.0.schema.fields().len();
            let columns = batch.columns()[..wanted].iter().enumerate().map(|(k, column)| match k < rank {
                true => as_i64(column),
                false => Ok(column.clone()),
            });
            Ok(RecordBatch::try_new(self.0.schema.clone(), columns.collect::<Result<_>>()?)?)
        })
    }
}

fn as_i64(column: &ArrayRef) -> Result<ArrayRef> {
    let column = datafusion::arrow::compute::cast(column, &DataType::Int64)?;
    debug_assert!(column.as_any().is::<Int64Array>());
    Ok(column)
}

/// What a cell holds, computed at the first time.
fn computed<T>(cell: &OnceLock<T>, compute: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = compute()?;
    Ok(cell.get_or_init(|| value))
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
        _: &[Expr],
        _: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let rows = self.rows()?.clone();
        Ok(MemorySourceConfig::try_new_exec(&[vec![rows]], self.schema(), projection.cloned())?)
    }

    fn statistics(&self) -> Option<Statistics> {
        let rows = self.0.rows.get().map(RecordBatch::num_rows);
        let rows = rows.map_or_else(
            || Precision::Inexact(usize::try_from(self.0.tensor.count_stored()).unwrap_or(usize::MAX)),
            Precision::Exact,
        );
        let column = |k: usize| {
            let mut column = ColumnStatistics { null_count: Precision::Exact(0), ..ColumnStatistics::default() };
            if let Some(&size) = self.shape().get(k) {
                let last = i64::try_from(size).unwrap_or(i64::MAX).saturating_sub(1);
                column.min_value = Precision::Inexact(ScalarValue::Int64(Some(0)));
                column.max_value = Precision::Inexact(ScalarValue::Int64(Some(last)));
            }
            column
        };
        let column_statistics = (0..self.0.schema.fields().len()).map(column).collect();
        Some(Statistics { num_rows: rows, total_byte_size: Precision::Absent, column_statistics })
    }
}
