//! The codes of a domain, in the rows of every leaf that has columns of it.

use super::domain::Domain;
use super::extent;
use super::leaf::LeafRows;
use crate::claim::{FieldId, GroupedJoin, LeafColumn, NullTreatment};
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
    /// The size of the codes and of the domain's values in bytes.
    pub(super) bytes: usize,
}

/// The input columns of a tuple of leaf columns.
type InputTuple = Vec<Option<(usize, usize)>>;

/// Builds a domain, and the codes of all its columns; leaves that read the same columns share their
/// codes.
pub(super) fn encode_domain(
    join: &GroupedJoin,
    domain: usize,
    leaves: &[Option<LeafRows>],
    allowance: &Allowance,
) -> Result<EncodedDomain> {
    let mut tuple_uses: Vec<(FieldId, usize, NullTreatment, usize)> = Vec::new();
    let mut tuples: Vec<Vec<ArrayRef>> = Vec::new();
    let mut numbers: HashMap<InputTuple, usize> = HashMap::new();
    let fields = || join.fields.iter().enumerate().filter(|(_, f)| f.domain == domain);
    for (field, tuple, nulls) in fields().flat_map(|(k, f)| f.columns.iter().map(move |tuple| (k, tuple, f.nulls))) {
        let Some((leaf, rows)) = tuple.first().and_then(|c| Some((c.leaf, leaves[c.leaf].as_ref()?))) else { continue };
        let key = tuple.iter().map(|&c: &LeafColumn| join.input_column(c)).collect();
        let number = *numbers.entry(key).or_insert_with(|| {
            tuples.push(tuple.iter().map(|c| rows.column(c.column).clone()).collect());
            tuples.len() - 1
        });
        tuple_uses.push((field, leaf, nulls, number));
    }
    let rows: usize = tuples.iter().filter_map(|tuple| tuple.first()).map(|column| column.len()).sum();
    allowance.reserve("the codes", rows * size_of::<u64>())?;
    let (encoded, codes) = Domain::new(&tuples, fields().filter_map(|(field, _)| extent(join, field)).max())?;
    allowance.reserve("the values", encoded.bytes())?;
    let mut bytes = rows * size_of::<u64>() + encoded.bytes();
    let codes: Vec<Arc<Vec<u64>>> = codes.into_iter().map(Arc::new).collect();
    let mut without_nulls: HashMap<usize, Arc<Vec<u64>>> = HashMap::new();
    let mut field_codes = Vec::new();
    for (field, leaf, nulls, number) in tuple_uses {
        let drops = nulls == NullTreatment::Drop && encoded.null().is_some();
        let codes = match (drops, without_nulls.get(&number)) {
            (false, _) => codes[number].clone(),
            (true, Some(codes)) => codes.clone(),
            (true, None) => {
                let size = codes[number].len() * size_of::<u64>();
                allowance.reserve("the codes", size)?;
                bytes += size;
                let dropped = Arc::new(encoded.without_nulls(codes[number].to_vec()));
                without_nulls.insert(number, dropped.clone());
                dropped
            }
        };
        field_codes.push((field, leaf, codes));
    }
    Ok(EncodedDomain { domain: encoded, codes: field_codes, bytes })
}
