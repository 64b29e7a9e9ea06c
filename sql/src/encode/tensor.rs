//! The tensors of a leaf: rows with equal codes become one entry.

use super::EncodedJoin;
use super::extremes::Extremum;
use super::groups::Groups;
use super::limbs::Limb;
use super::shared::SharedRequest;
use crate::claim::{FieldId, GroupedJoin, LeafColumn, LeafId};
use crate::error::Result;
use crate::number::Number;
use crate::semiring::Semiring;
use redpoll_logic::{DType, Format, LeafKind, LevelFormat, LevelKind, Prim, Scalar, StorageMode, TensorType};
use redpoll_storage::{Tensor, Values};
use std::collections::HashMap;

/// The value of an entry, computed from the rows that have the entry's codes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Payload {
    /// True.
    Presence,
    /// The number of rows. In a tensor with modes, the number is stored as true if no two rows have
    /// the same codes.
    Count,
    /// A fold of a column.
    Column {
        /// The index of the column in the leaf.
        column: usize,
        /// The fold of the column's values.
        fold: ColumnFold,
    },
}

/// A fold of the values of a column in rows with equal codes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ColumnFold {
    /// The sum.
    Sum(Number),
    /// The sum of a limb.
    Limb(Limb),
    /// The fold over a semiring.
    Semiring(Semiring),
    /// The code of the minimum or maximum ([`ExtremeCodes`](super::ExtremeCodes)); the fill value
    /// is 0.
    Extreme(Extremum),
}

/// A request for a tensor that a program reads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorRequest {
    /// The leaf of the rows.
    pub leaf: LeafId,
    /// The modes, in storage order.
    pub fields: Vec<FieldId>,
    /// The values of entries.
    pub payload: Payload,
    /// The columns that must not be NULL: a row with a NULL in one of these columns does not count.
    pub valid: Vec<usize>,
}

/// Number of coordinates per entry up to which the first level is dense.
const DENSE_RATIO: u64 = 4;

/// Number of coordinates up to which the first level is dense for any number of entries.
const SMALL_DIMENSION: u64 = 1 << 12;

impl EncodedJoin {
    /// Returns the tensor of a leaf's rows.
    ///
    /// # Errors
    /// If a column does not have the type of the payload, Arrow refuses a computation, or the
    /// allowance is exhausted.
    ///
    /// # Panics
    /// If the leaf is a tensor.
    pub fn tensor<'a>(
        &'a self,
        join: &GroupedJoin,
        request: &TensorRequest,
        group_cache: &mut GroupCache<'a>,
    ) -> Result<Tensor> {
        let rows = self.rows(request.leaf).expect("the leaf has rows");
        let shape: Vec<u64> = request.fields.iter().map(|&f| self.size(join, f)).collect();
        let key = self.shared_request(join, &TensorRequest { payload: Payload::Presence, ..request.clone() });
        let codes = || request.fields.iter().map(|&f| rows.codes(f)).collect();
        let groups = group_cache.0.entry(key).or_insert_with(|| Groups::new(rows, (codes(), &shape), &request.valid));
        let entries = groups.len() as u64;
        let (full, dense) = (is_full(&shape, entries), is_dense(&shape, entries));
        // If the only level is dense, values are stored at their coordinates.
        let size = shape.first().copied().filter(|_| dense && shape.len() == 1);
        let (values, fill) = match &request.payload {
            Payload::Presence => (groups.presence(size)?, Scalar::Bool(false)),
            Payload::Count if groups.has_single_rows() && !shape.is_empty() => {
                (groups.presence(size)?, Scalar::Bool(false))
            }
            Payload::Count => (groups.counts(size), Scalar::I64(0)),
            Payload::Column { column, fold } => {
                let values = rows.column(*column);
                match fold {
                    ColumnFold::Sum(number) => groups.sums(values, *number, size)?,
                    ColumnFold::Limb(limb) => (groups.limbs(values, *limb, size)?, Scalar::I64(0)),
                    ColumnFold::Semiring(semiring) => (groups.semiring_folds(values, semiring, size)?, semiring.zero()),
                    ColumnFold::Extreme(extremum) => {
                        let column = LeafColumn { leaf: request.leaf, column: *column };
                        (groups.largest_codes(self.extremes(column, *extremum)?.codes(), size), Scalar::U64(0))
                    }
                }
            }
        };
        let format = tensor_format(&shape, entries, values.dtype());
        let leaf = format.leaf;
        let ty = TensorType { shape: shape.clone(), dtype: values.dtype().clone(), fill, format };
        let tensor = if shape.is_empty() {
            let values = if entries == 0 {
                Values::from_scalars(ty.dtype.clone(), std::slice::from_ref(&ty.fill))?
            } else {
                values
            };
            Tensor::from_dense(ty, &values)?
        } else {
            let values = if leaf == LeafKind::Pattern { Vec::new() } else { values.columns().to_vec() };
            let levels = if full { vec![Vec::new(); shape.len()] } else { groups.levels(&shape, dense).to_vec() };
            Tensor::try_new(ty, levels, values)?
        };
        self.allowance.reserve("the tensors", usize::try_from(tensor.bytes()).unwrap_or(usize::MAX))?;
        Ok(tensor)
    }
}

/// The groups of rows, shared by tensors over the same fields.
#[derive(Default)]
pub struct GroupCache<'a>(HashMap<SharedRequest, Groups<'a>>);

/// Returns the format of a tensor with a number of entries. All levels are dense if every
/// coordinate has an entry, such as in a table of all elements of a matrix. Otherwise the first
/// level is dense if it has few coordinates, in total or per entry, and the other levels are lists.
fn tensor_format(shape: &[u64], entries: u64, dtype: &DType) -> Format {
    let (rank, full) = (shape.len(), is_full(shape, entries));
    let kind = |k: usize| match k {
        0 if is_dense(shape, entries) => LevelKind::Dense,
        _ if full => LevelKind::Dense,
        _ => LevelKind::SparseList,
    };
    let levels: Vec<LevelFormat> = (0..rank).map(|k| LevelFormat::new(kind(k))).collect();
    let lists = levels.last().is_some_and(|level| level.kind == LevelKind::SparseList);
    let pattern = lists && *dtype == DType::Prim(Prim::Bool);
    let leaf = if pattern { LeafKind::Pattern } else { LeafKind::Element };
    Format { levels, modes: (0..rank).map(|mode| StorageMode::Whole { mode }).collect(), leaf }
}

/// Returns whether every coordinate has an entry.
fn is_full(shape: &[u64], entries: u64) -> bool {
    shape.iter().try_fold(1u64, |all, &size| all.checked_mul(size)) == Some(entries)
}

/// Returns whether the first level is dense.
fn is_dense(shape: &[u64], entries: u64) -> bool {
    shape.first().is_some_and(|&size| size <= SMALL_DIMENSION.max(DENSE_RATIO.saturating_mul(entries)))
}
