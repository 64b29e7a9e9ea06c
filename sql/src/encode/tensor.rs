//! The tensors of a leaf: rows with the same codes become one entry.

use super::Encoded;
use super::groups::Groups;
use super::limbs::Limb;
use super::shared::Shared;
use crate::claim::{End, FieldId, LeafColumn, LeafId, Number, Region};
use crate::error::Result;
use redpoll_logic::{DType, Format, LeafKind, LevelFormat, LevelKind, Prim, Scalar, StorageMode, TensorType};
use redpoll_physical::storage::{Tensor, Values};
use std::collections::BTreeMap;

/// What an entry of a leaf's tensor holds of the rows with its codes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Payload {
    /// That there is one.
    Exists,
    /// How many there are.
    Count,
    /// The sum of a column.
    Sum(usize, Number),
    /// The sum of a limb of a column.
    Limb(usize, Limb),
    /// The fold of a column over the semiring of the aggregate of that number.
    Folded(usize, usize),
    /// The code of a column's extreme, from 1 on and growing towards that end; 0 where there is no entry.
    Extreme(usize, End),
}

/// A tensor that a program reads.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Request {
    /// The leaf whose rows it is made of.
    pub leaf: LeafId,
    /// Its modes, in the order in which it is stored.
    pub fields: Vec<FieldId>,
    /// What its entries hold.
    pub payload: Payload,
    /// Rows without values in these columns do not count.
    pub valid: Vec<usize>,
}

/// Fields of so many places a row, or of fewer, are levels that find a coordinate at once.
const DENSE_PLACES: u64 = 4;

/// So many places are cheap whatever the number of rows.
const FEW_PLACES: u64 = 1 << 12;

impl Encoded {
    /// The tensor of a leaf's rows.
    ///
    /// # Errors
    /// When a column does not have the type of the payload, or memory is exceeded.
    ///
    /// # Panics
    /// When the leaf is a tensor.
    pub fn tensor<'a>(&'a self, region: &Region, request: &Request, grouped: &mut Grouped<'a>) -> Result<Tensor> {
        let rows = self.rows(request.leaf).expect("the leaf has rows");
        let shape: Vec<u64> = request.fields.iter().map(|&f| self.size(region, f)).collect();
        let key = self.shared(region, &Request { payload: Payload::Exists, ..request.clone() });
        let codes = || request.fields.iter().map(|&f| rows.codes(f)).collect();
        let groups = grouped.0.entry(key).or_insert_with(|| Groups::new(rows, (codes(), &shape), &request.valid));
        let entries = groups.len() as u64;
        let (full, dense) = (is_full(&shape, entries), is_dense(&shape, entries));
        // Where the only level is dense, values stand at their places.
        let size = shape.first().copied().filter(|_| dense && shape.len() == 1);
        let (values, fill) = match request.payload {
            Payload::Exists => (groups.exist(size)?, Scalar::Bool(false)),
            Payload::Count if groups.are_rows() && !shape.is_empty() => (groups.exist(size)?, Scalar::Bool(false)),
            Payload::Count => (groups.counts(size), Scalar::I64(0)),
            Payload::Sum(column, number) => groups.sums(rows.column(column), number, size)?,
            Payload::Limb(column, limb) => (groups.limbs(rows.column(column), limb, size)?, Scalar::I64(0)),
            Payload::Folded(column, aggregate) => {
                let semiring = region.semiring(aggregate).0;
                (groups.folded(rows.column(column), semiring, size)?, semiring.zero())
            }
            Payload::Extreme(column, end) => {
                let extremes = self.extremes(LeafColumn { leaf: request.leaf, column }, end)?;
                (groups.largest(extremes.codes(), size), Scalar::U64(0))
            }
        };
        let format = format(&shape, entries, values.dtype());
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
        self.allowance.take("the tensors", usize::try_from(tensor.bytes()).unwrap_or(usize::MAX))?;
        Ok(tensor)
    }
}

/// Rows that were grouped for one tensor, and serve others of the same fields.
#[derive(Default)]
pub struct Grouped<'a>(BTreeMap<Shared, Groups<'a>>);

/// How so many entries are stored: as an array where they are all there can be, as matrices in tables are; else fields of
/// few places as levels that find a coordinate at once, and others as lists.
pub(super) fn format(shape: &[u64], entries: u64, dtype: &DType) -> Format {
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

/// Whether every place has an entry.
fn is_full(shape: &[u64], entries: u64) -> bool {
    shape.iter().try_fold(1u64, |all, &size| all.checked_mul(size)) == Some(entries)
}

/// Whether the first level has all places of its field.
fn is_dense(shape: &[u64], entries: u64) -> bool {
    shape.first().is_some_and(|&places| places <= FEW_PLACES.max(DENSE_PLACES.saturating_mul(entries)))
}
