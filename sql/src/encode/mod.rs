//! From rows to tensors: values of fields become codes, rows with the same codes are folded.
//!
//! Codes keep the order of values and are the same for all fields of a domain, so that joins and comparisons of values are
//! joins and comparisons of codes. A row whose value can join nothing, a NULL among those, has no code and is left out.

mod domain;
mod extremes;
mod integers;
mod leaf;
mod limbs;
mod tensor;

pub use domain::{Domain, MISSING};
pub use extremes::Extremes;
pub use leaf::LeafRows;
pub use limbs::Limb;
pub use tensor::{Payload, Request};

use crate::claim::{End, FieldId, LeafColumn, Nulls, Region, Source, TensorColumn};
use crate::error::Result;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::record_batch::RecordBatch;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The rows of a region's leaves with the domains of its fields.
#[derive(Debug)]
pub struct Encoded {
    /// The domain of each field's number of a domain.
    domains: BTreeMap<usize, Domain>,
    /// The rows of each leaf; `None` for tensors that are bound as they are.
    leaves: Vec<Option<LeafRows>>,
    /// The codes of columns whose extremes were asked for.
    extremes: Mutex<BTreeMap<(LeafColumn, End), Arc<Extremes>>>,
}

impl Encoded {
    /// Encodes the rows of each input of a region.
    ///
    /// # Errors
    /// When a tensor cannot be read, or Arrow refuses a computation.
    pub fn new(region: &Region, inputs: &[RecordBatch]) -> Result<Encoded> {
        let mut leaves: Vec<Option<LeafRows>> = Vec::new();
        for leaf in &region.leaves {
            leaves.push(match leaf.source {
                Source::Input(input) => Some(LeafRows::new(inputs[input].clone())),
                Source::Tensor { .. } => None,
            });
        }
        let mut domains = BTreeMap::new();
        for domain in region.fields.iter().map(|f| f.domain) {
            if domains.contains_key(&domain) {
                continue;
            }
            let (made, codes) = domain_of(region, domain, &leaves)?;
            for (field, leaf, codes) in codes {
                leaves[leaf].as_mut().expect("codes are of rows").add_codes(field, codes);
            }
            domains.insert(domain, made);
        }
        Ok(Encoded { domains, leaves, extremes: Mutex::default() })
    }

    /// The domain of a field.
    pub fn domain(&self, region: &Region, field: FieldId) -> &Domain {
        &self.domains[&region.fields[field].domain]
    }

    /// The rows of a leaf, unless it is a tensor.
    pub fn rows(&self, leaf: usize) -> Option<&LeafRows> {
        self.leaves[leaf].as_ref()
    }

    /// Whether a column has a NULL.
    pub fn has_nulls(&self, column: LeafColumn) -> bool {
        self.rows(column.leaf).is_some_and(|rows| rows.column(column.column).null_count() > 0)
    }

    /// The bytes of the encoded rows.
    pub fn bytes(&self) -> usize {
        self.leaves.iter().flatten().map(LeafRows::bytes).sum::<usize>()
            + self.domains.values().map(Domain::bytes).sum::<usize>()
    }
}

/// The codes of a field in the rows of a leaf.
type FieldCodes = (FieldId, usize, Vec<u64>);

/// A domain, and the codes of all its columns.
fn domain_of(region: &Region, domain: usize, leaves: &[Option<LeafRows>]) -> Result<(Domain, Vec<FieldCodes>)> {
    let mut places = Vec::new();
    let mut tuples: Vec<Vec<ArrayRef>> = Vec::new();
    let mut extent: Option<u64> = None;
    let fields = region.fields.iter().enumerate().filter(|(_, f)| f.domain == domain);
    for (field, tuple, nulls) in fields.flat_map(|(k, f)| f.columns.iter().map(move |tuple| (k, tuple, f.nulls))) {
        let Some(first) = tuple.first() else { continue };
        match (&leaves[first.leaf], region.tensor(first.leaf)) {
            (Some(rows), _) => {
                tuples.push(tuple.iter().map(|c| rows.column(c.column).clone()).collect());
                places.push((field, first.leaf, nulls));
            }
            (None, Some((table, columns))) => {
                if let TensorColumn::Mode(mode) = columns[first.column] {
                    let size = table.shape()[mode];
                    extent = Some(extent.map_or(size, |e| e.min(size)));
                }
            }
            (None, None) => {}
        }
    }
    let (made, codes) = Domain::new(&tuples, extent)?;
    let codes = places.into_iter().zip(codes).map(|((field, leaf, nulls), codes)| {
        let codes = match nulls {
            Nulls::Keep => codes,
            Nulls::Drop => made.without_nulls(codes),
        };
        (field, leaf, codes)
    });
    let codes = codes.collect();
    Ok((made, codes))
}
