//! The codes of a domain in the rows of every leaf that has columns of the domain.

use super::columns::{EncodedColumns, union};
use super::domain::Domain;
use super::extent;
use super::leaf::LeafRows;
use crate::claim::{FieldId, GroupedJoin, LeafColumn, NullTreatment};
use crate::columns::{ColumnCodes, RowSource};
use crate::error::Result;
use crate::memory::Allowance;
use datafusion::arrow::array::ArrayRef;
use std::collections::HashMap;
use std::sync::Arc;

/// A domain, with the codes of its columns.
pub(super) struct EncodedDomain {
    pub(super) domain: Domain,
    /// The codes of each field in the rows of a leaf: field, leaf, code of each row.
    pub(super) codes: Vec<(FieldId, usize, Arc<Vec<u64>>)>,
    /// The size in bytes of the domain's values, and of the codes and values of its columns that
    /// the session does not keep.
    pub(super) bytes: usize,
    /// The codes of whole columns of tables, which the session keeps if its limit leaves room.
    pub(super) shared: Vec<Arc<ColumnCodes>>,
    /// Number of tuples of columns that were encoded.
    pub(super) encoded_columns: usize,
}

/// The origin of a column of a leaf.
#[derive(PartialEq, Eq, Hash, Clone)]
enum ColumnOrigin {
    /// A column of an input, which several leaves may read.
    Input(usize, usize),
    /// Any other column, which only its leaf reads.
    Leaf(LeafColumn),
}

/// The codes of a tuple of columns.
enum TupleCodes {
    /// The codes of the leaf's rows only.
    Own(Arc<EncodedColumns>),
    /// The codes of all rows of a table, from which the leaf's rows are selected.
    Shared(Arc<ColumnCodes>, Arc<RowSource>),
}

impl TupleCodes {
    fn encoded(&self) -> &EncodedColumns {
        match self {
            TupleCodes::Own(encoded) => encoded,
            TupleCodes::Shared(codes, _) => &codes.encoded,
        }
    }

    /// Returns the size in bytes, excluding codes that the session keeps.
    fn bytes(&self) -> usize {
        match self {
            TupleCodes::Shared(codes, _) if codes.are_kept() => 0,
            codes => codes.encoded().bytes(),
        }
    }

    fn into_shared(self) -> Option<Arc<ColumnCodes>> {
        match self {
            TupleCodes::Own(_) => None,
            TupleCodes::Shared(codes, _) => Some(codes),
        }
    }

    fn selection(&self) -> Option<&[u32]> {
        match self {
            TupleCodes::Own(_) => None,
            TupleCodes::Shared(_, source) => source.selection(),
        }
    }
}

/// Builds a domain, and the codes of all its columns; leaves that read the same columns share their
/// codes. The codes of whole columns of tables come from the store of the session.
pub(super) fn encode_domain(
    join: &GroupedJoin,
    domain: usize,
    leaves: &[Option<LeafRows>],
    allowance: &Allowance,
) -> Result<EncodedDomain> {
    let fields = || join.fields.iter().enumerate().filter(|(_, f)| f.domain == domain);
    let mut tuple_uses: Vec<(FieldId, usize, NullTreatment, usize)> = Vec::new();
    let mut tuples: Vec<TupleCodes> = Vec::new();
    let mut numbers: HashMap<Vec<ColumnOrigin>, usize> = HashMap::new();
    let (mut encoded_columns, mut bytes) = (0, 0);
    for (field, tuple, nulls) in fields().flat_map(|(k, f)| f.columns.iter().map(move |tuple| (k, tuple, f.nulls))) {
        let Some((leaf, rows)) = tuple.first().and_then(|c| Some((c.leaf, leaves[c.leaf].as_ref()?))) else { continue };
        let origin = |&column: &LeafColumn| match join.input_column(column) {
            Some((input, column)) => ColumnOrigin::Input(input, column),
            None => ColumnOrigin::Leaf(column),
        };
        let key: Vec<ColumnOrigin> = tuple.iter().map(origin).collect();
        if !numbers.contains_key(&key) {
            let (codes, is_new) = encode_tuple(join, rows, tuple, allowance)?;
            encoded_columns += usize::from(is_new);
            bytes += codes.bytes();
            numbers.insert(key.clone(), tuples.len());
            tuples.push(codes);
        }
        tuple_uses.push((field, leaf, nulls, numbers[&key]));
    }
    let domains: Vec<&Domain> = tuples.iter().map(|tuple| &tuple.encoded().domain).collect();
    let rows = tuples.iter().map(|tuple| tuple.encoded().codes.len()).sum();
    let extent = fields().filter_map(|(field, _)| extent(join, field)).max();
    let (union, recodings) = union(&domains, rows, extent)?;
    allowance.reserve("the values", union.bytes())?;
    bytes += union.bytes();
    let mut codes = Vec::new();
    for (tuple, recoding) in tuples.iter().zip(&recodings) {
        let (encoded, selection) = (tuple.encoded(), tuple.selection());
        codes.push(match recoding.is_same() && selection.is_none() {
            true => encoded.codes.clone(),
            false => {
                let size = selection.map_or(encoded.codes.len(), <[u32]>::len) * size_of::<u64>();
                allowance.reserve("the codes", size)?;
                bytes += size;
                Arc::new(recoding.apply(&encoded.codes, selection))
            }
        });
    }
    let mut without_nulls: HashMap<usize, Arc<Vec<u64>>> = HashMap::new();
    let mut field_codes = Vec::new();
    for (field, leaf, nulls, number) in tuple_uses {
        let drops = nulls == NullTreatment::Drop && union.null().is_some();
        let codes = match (drops, without_nulls.get(&number)) {
            (false, _) => codes[number].clone(),
            (true, Some(codes)) => codes.clone(),
            (true, None) => {
                let size = codes[number].len() * size_of::<u64>();
                allowance.reserve("the codes", size)?;
                bytes += size;
                let dropped = Arc::new(union.without_nulls(codes[number].to_vec()));
                without_nulls.insert(number, dropped.clone());
                dropped
            }
        };
        field_codes.push((field, leaf, codes));
    }
    let shared = tuples.into_iter().filter_map(TupleCodes::into_shared).collect();
    Ok(EncodedDomain { domain: union, codes: field_codes, bytes, shared, encoded_columns })
}

/// Returns the codes of a tuple of columns: codes that `rows` already has, codes that the session
/// keeps, or new ones. Also returns whether the columns were encoded for this join.
fn encode_tuple(
    join: &GroupedJoin,
    rows: &LeafRows,
    tuple: &[LeafColumn],
    allowance: &Allowance,
) -> Result<(TupleCodes, bool)> {
    let columns: Vec<usize> = tuple.iter().map(|c| c.column).collect();
    if let Some(encoded) = rows.encoding(&columns) {
        // The columns of an input have codes here only if a computed leaf of this join has needed
        // the codes. So these columns were encoded for this join.
        let is_new = tuple.first().is_some_and(|c| join.input(c.leaf).is_some());
        return Ok((TupleCodes::Own(encoded.clone()), is_new));
    }
    let input_columns: Option<Vec<usize>> =
        tuple.iter().map(|&column| join.input_column(column).map(|(_, of_input)| of_input)).collect();
    if let (Some(source), Some(input_columns)) = (rows.source(), input_columns)
        && let Some(found) = source.codes(&input_columns)?
    {
        if !found.codes.are_kept() {
            allowance.reserve("the codes", found.codes.encoded.bytes())?;
        }
        return Ok((TupleCodes::Shared(found.codes, source.clone()), found.is_new));
    }
    let columns: Vec<ArrayRef> = columns.iter().map(|&c| rows.column(c).clone()).collect();
    allowance.reserve("the codes", rows.len() * size_of::<u64>())?;
    let encoded = EncodedColumns::new(&[columns])?;
    allowance.reserve("the values", encoded.domain.bytes())?;
    Ok((TupleCodes::Own(Arc::new(encoded)), true))
}
