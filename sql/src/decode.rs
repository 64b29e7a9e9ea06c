//! Decodes the results of a program as the rows of a region.

use crate::claim::GroupedJoin;
use crate::encode::EncodedJoin;
use crate::error::Result;
use crate::program::{RegionFolds, RegionProgram};
use crate::results::{FoldValues, NumberBuffer};
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use redpoll_logic::Scalar;
use redpoll_storage::{Tensor, Triples};
use std::cmp::Ordering;
use std::sync::Arc;

/// Returns the rows of a region from the outputs of its program.
///
/// # Errors
/// If Arrow refuses a computation, a result cannot be read, or only DataFusion can compute a
/// column, such as a mean of decimals that does not fit its type.
pub(crate) fn decode(
    join: &GroupedJoin,
    encoded: &EncodedJoin,
    (folds, program): (&RegionFolds, &RegionProgram),
    outputs: &[Tensor],
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let fields = join.group_fields();
    let results =
        outputs.iter().zip(&program.modes).map(|(tensor, modes)| GroupEntries::new(tensor, modes, fields.len()));
    let mut results: Vec<GroupEntries> = results.collect::<Result<_>>()?;
    // The order of rows is arbitrary, so results are sorted only if their lists of groups differ.
    if !results.iter().all(|result| result.has_codes_of(&results[0])) {
        results.iter_mut().for_each(GroupEntries::sort);
    } else if let Some(present) = folds.presence.and_then(|presence| results[presence.index()].nonzero_indices()) {
        results.iter_mut().for_each(|result| result.select(&present));
    }
    let groups = match folds.presence {
        Some(presence) => results[presence.index()].nonzero_groups(),
        None => GroupEntries { codes: Arc::default(), values: NumberBuffer::U64(vec![1].into()), fill: Scalar::U64(0) },
    };
    let aligned: Vec<NumberBuffer> = results.iter().map(|result| result.values_at(&groups)).collect();
    let mut columns = Vec::new();
    let decoded: Vec<Vec<ArrayRef>> = fields
        .iter()
        .zip(groups.codes.iter())
        .map(|(&field, codes)| encoded.domain(join, field).decode(codes))
        .collect::<Result<_>>()?;
    for group in &join.groups {
        let index =
            fields.iter().position(|&f| f == group.field).expect("the field of a group column is a group field");
        columns.push(decoded[index][group.part].clone());
    }
    let values = FoldValues { folds: &aligned, groups: groups.values.len(), encoded };
    for column in &folds.columns {
        columns.push(column.column(&values, schema.field(columns.len()).data_type())?);
    }
    let columns = columns.iter().zip(schema.fields()).map(|(c, field)| Ok(cast(c, field.data_type())?));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(groups.values.len()));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

/// The entries of a result: the codes of its groups, one list per group field, and the values.
/// Results with the same groups may share the codes.
struct GroupEntries {
    codes: Arc<Vec<Vec<u64>>>,
    values: NumberBuffer,
    /// The value at coordinates without an entry.
    fill: Scalar,
}

impl GroupEntries {
    /// Returns the entries of a tensor in storage order; `modes` has the group field of each mode
    /// of the tensor, and `rank` is the number of group fields.
    fn new(tensor: &Tensor, modes: &[usize], rank: usize) -> Result<GroupEntries> {
        let Triples { coordinates, values, .. } = tensor.to_triples()?;
        let mut codes = vec![Vec::new(); rank];
        modes.iter().zip(coordinates).for_each(|(&mode, list)| codes[mode] = list);
        Ok(GroupEntries { values: NumberBuffer::of(&values), codes: Arc::new(codes), fill: tensor.ty().fill.clone() })
    }

    fn has_codes_of(&self, other: &GroupEntries) -> bool {
        Arc::ptr_eq(&self.codes, &other.codes) || self.codes == other.codes
    }

    /// Sorts the entries lexicographically by their codes.
    fn sort(&mut self) {
        let compare = |a: usize, b: usize| lexicographic(&self.codes, a, &self.codes, b);
        if (1..self.values.len()).all(|k| compare(k - 1, k) == Ordering::Less) {
            return;
        }
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_unstable_by(|&a, &b| compare(a, b));
        self.select(&order);
    }

    /// Keeps the entries with the given indices, in the given order.
    fn select(&mut self, order: &[usize]) {
        self.codes = Arc::new(self.codes.iter().map(|list| order.iter().map(|&k| list[k]).collect()).collect());
        self.values = self.values.select(order);
    }

    /// Returns the indices of the entries that are not 0; `None` if no entry is 0.
    fn nonzero_indices(&self) -> Option<Vec<usize>> {
        let all = 0..self.values.len();
        (!all.clone().all(|k| self.values.is_nonzero(k))).then(|| all.filter(|&k| self.values.is_nonzero(k)).collect())
    }

    /// Returns the entries that are not 0, with the value 1.
    fn nonzero_groups(&self) -> GroupEntries {
        let mut groups = GroupEntries { codes: self.codes.clone(), values: self.values.clone(), fill: Scalar::U64(0) };
        if let Some(indices) = self.nonzero_indices() {
            groups.select(&indices);
        }
        groups.values = NumberBuffer::U64(vec![1; groups.values.len()].into());
        groups
    }

    /// Returns the values at the coordinates of `groups`, and the fill value where there is no
    /// entry. If the lists of coordinates differ, both lists must be in lexicographic order.
    fn values_at(&self, groups: &GroupEntries) -> NumberBuffer {
        if self.values.len() == groups.values.len() && self.has_codes_of(groups) {
            return self.values.clone();
        }
        let mut next = 0;
        let indices = (0..groups.values.len()).map(|k| {
            while next < self.values.len() {
                match lexicographic(&self.codes, next, &groups.codes, k) {
                    Ordering::Less => next += 1,
                    Ordering::Equal => return Some(next),
                    Ordering::Greater => return None,
                }
            }
            None
        });
        let indices: Vec<Option<usize>> = indices.collect();
        let bits = self.fill.to_bits().unwrap_or_default();
        macro_rules! pick {
            ($variant:ident, $values:expr, $fill:expr) => {
                NumberBuffer::$variant(indices.iter().map(|k| k.map_or($fill, |k| $values[k])).collect())
            };
        }
        match &self.values {
            NumberBuffer::I64(values) => pick!(I64, values, bits as i64),
            NumberBuffer::U64(values) => pick!(U64, values, bits),
            NumberBuffer::F64(values) => pick!(F64, values, f64::from_bits(bits)),
        }
    }
}

fn lexicographic(a: &[Vec<u64>], i: usize, b: &[Vec<u64>], j: usize) -> Ordering {
    let each = a.iter().zip(b).map(|(a, b)| a[i].cmp(&b[j]));
    each.fold(Ordering::Equal, Ordering::then)
}
