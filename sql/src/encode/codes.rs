//! The codes of a domain, in the rows of every leaf that has columns of it.

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
    /// The size of the codes and of the domain's values in bytes, without those that are shared.
    pub(super) bytes: usize,
    /// The codes of whole columns that the session keeps.
    pub(super) shared: Vec<Arc<ColumnCodes>>,
    /// Number of tuples of columns that were encoded.
    pub(super) encoded_columns: usize,
}

/// The input columns of a tuple of leaf columns.
type InputTuple = Vec<Option<(usize, usize)>>;

/// The codes of a tuple of columns.
enum TupleCodes {
    /// The codes of the rows alone.
    Own(EncodedColumns),
    /// The codes of all rows of a table, of which the rows are a selection.
    Shared(Arc<ColumnCodes>, Arc<RowSource>),
}

impl TupleCodes {
    fn encoded(&self) -> &EncodedColumns {
        match self {
            TupleCodes::Own(encoded) => encoded,
            TupleCodes::Shared(codes, _) => &codes.encoded,
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
/// codes. The codes of whole columns of tables are those that the session keeps.
pub(super) fn encode_domain(
    join: &GroupedJoin,
    domain: usize,
    leaves: &[Option<LeafRows>],
    allowance: &Allowance,
) -> Result<EncodedDomain> {
    // Conditions are computed for all combinations of values, so values without rows cost time.
    let of_conditions = |field: FieldId| join.conditions.iter().any(|condition| condition.fields.contains(&field));
    let fields = || join.fields.iter().enumerate().filter(|(_, f)| f.domain == domain);
    let shares = !fields().any(|(field, _)| of_conditions(field));
    let mut tuple_uses: Vec<(FieldId, usize, NullTreatment, usize)> = Vec::new();
    let mut tuples: Vec<TupleCodes> = Vec::new();
    let mut numbers: HashMap<InputTuple, usize> = HashMap::new();
    let (mut shared, mut encoded_columns, mut bytes) = (Vec::new(), 0, 0);
    for (field, tuple, nulls) in fields().flat_map(|(k, f)| f.columns.iter().map(move |tuple| (k, tuple, f.nulls))) {
        let Some((leaf, rows)) = tuple.first().and_then(|c| Some((c.leaf, leaves[c.leaf].as_ref()?))) else { continue };
        let key: InputTuple = tuple.iter().map(|&c: &LeafColumn| join.input_column(c)).collect();
        if !numbers.contains_key(&key) {
            let input_columns: Vec<usize> = key.iter().flatten().map(|&(_, column)| column).collect();
            let source = rows.source().filter(|_| shares && input_columns.len() == tuple.len());
            let codes = source.map(|source| Ok::<_, crate::error::Error>((source.codes(&input_columns)?, source)));
            let codes = match codes.transpose()? {
                Some((Some(found), source)) => {
                    encoded_columns += usize::from(found.is_new);
                    if !found.codes.are_kept() {
                        allowance.reserve("the codes", found.codes.encoded.bytes())?;
                        bytes += found.codes.encoded.bytes();
                    }
                    shared.push(found.codes.clone());
                    TupleCodes::Shared(found.codes, source.clone())
                }
                _ => {
                    let columns: Vec<ArrayRef> = tuple.iter().map(|c| rows.column(c.column).clone()).collect();
                    allowance.reserve("the codes", rows.len() * size_of::<u64>())?;
                    let encoded = EncodedColumns::new(&[columns])?;
                    allowance.reserve("the values", encoded.domain.bytes())?;
                    encoded_columns += 1;
                    bytes += encoded.bytes();
                    TupleCodes::Own(encoded)
                }
            };
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
    Ok(EncodedDomain { domain: union, codes: field_codes, bytes, shared, encoded_columns })
}
