//! Encoding of rows as tensors: values of fields become codes, and rows with equal codes are folded
//! to one entry.
//!
//! Codes grow with the values and are the same for all fields of a domain, so joins and comparisons
//! of values are joins and comparisons of codes. A row whose value can join nothing, such as a
//! NULL in the key of an inner join, gets the code [`MISSING`] and is left out.

mod bounds;
mod codes;
mod columns;
mod combinations;
mod domain;
mod extremes;
mod groups;
mod integers;
mod leaf;
mod limbs;
mod magnitude;
mod order;
mod outer;
mod shared;
mod tensor;

pub use columns::EncodedColumns;
pub use domain::{Domain, MISSING};
pub use extremes::{ExtremeCodes, Extremum};
pub(crate) use integers::is_integers;
pub use leaf::LeafRows;
pub use limbs::Limb;
pub use shared::SharedRequest;
pub use tensor::{ColumnFold, GroupCache, Payload, TensorRequest};

use crate::claim::{FieldId, GroupedJoin, LeafColumn, LeafSource};
use crate::columns::{ColumnCodes, InputRows};
use crate::error::{FallbackReason, Result};
use crate::memory::Allowance;
use crate::table::TensorColumn;
use codes::encode_domain;
use combinations::add_computed_rows;
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

/// The encoded rows of a join's leaves, and the domains of its fields.
#[derive(Debug)]
pub struct EncodedJoin {
    /// The domains by their ids, `RegionField::domain`.
    domains: BTreeMap<usize, Domain>,
    /// The rows of each leaf; `None` for tensors.
    leaves: Vec<Option<LeafRows>>,
    /// The codes of columns whose minimum or maximum was computed.
    extremes: Mutex<BTreeMap<(LeafColumn, Extremum), Arc<ExtremeCodes>>>,
    /// The upper bound of the number of rows of the join; unset until it is first needed.
    max_rows: OnceLock<u128>,
    /// The size in bytes of the inputs' rows, of the domains, and of the codes that the session
    /// does not keep. Rows that outer joins and computed leaves add are not counted.
    bytes: usize,
    allowance: Allowance,
    /// The codes of whole columns of tables, which the session keeps if its limit leaves room.
    shared: Vec<Arc<ColumnCodes>>,
    /// Number of columns that were encoded for this join.
    encoded_columns: usize,
}

impl EncodedJoin {
    /// Encodes the rows of a join's inputs, whose memory is already reserved in the allowance.
    ///
    /// # Errors
    /// If the rows must be left to DataFusion, Arrow refuses a computation, or the allowance is
    /// exhausted.
    pub fn new(join: &GroupedJoin, inputs: &[InputRows], allowance: &Allowance) -> Result<EncodedJoin> {
        let mut leaves: Vec<Option<LeafRows>> = Vec::new();
        for leaf in &join.leaves {
            leaves.push(match &leaf.source {
                LeafSource::Input { input, columns } => Some(LeafRows::of_input(&inputs[*input], columns)?),
                LeafSource::Tensor { .. } | LeafSource::Computed(_) => None,
            });
        }
        outer::add_outer_rows(join, &mut leaves, allowance)?;
        add_computed_rows(join, &mut leaves, allowance)?;
        let has_nulls = |c: &&LeafColumn| leaves[c.leaf].as_ref().is_some_and(|rows| rows.has_nulls(c.column));
        if let Some(column) = join.non_null.iter().find(has_nulls) {
            return Err(FallbackReason::Null { column: join.column(*column).name.clone() }.into());
        }
        for column in &join.float_keys {
            if leaves[column.leaf].as_ref().is_some_and(|rows| has_irregular_floats(rows.column(column.column))) {
                let values = format!("the group key `{}`", join.column(*column).name);
                return Err(FallbackReason::Irregular { values }.into());
            }
        }
        let mut bytes = inputs.iter().map(InputRows::bytes).sum();
        let (mut shared, mut encoded_columns) = (Vec::new(), 0);
        let mut domains = BTreeMap::new();
        for domain in join.fields.iter().map(|f| f.domain) {
            if domains.contains_key(&domain) {
                continue;
            }
            let encoded = encode_domain(join, domain, &leaves, allowance)?;
            for (field, leaf, codes) in encoded.codes {
                leaves[leaf].as_mut().expect("only leaves with rows have codes").add_codes(field, codes);
            }
            bytes += encoded.bytes;
            shared.extend(encoded.shared);
            encoded_columns += encoded.encoded_columns;
            domains.insert(domain, encoded.domain);
        }
        Ok(EncodedJoin {
            domains,
            leaves,
            extremes: Mutex::default(),
            max_rows: OnceLock::new(),
            bytes,
            allowance: allowance.clone(),
            shared,
            encoded_columns,
        })
    }

    /// Returns the domain of a field.
    pub fn domain(&self, join: &GroupedJoin, field: FieldId) -> &Domain {
        &self.domains[&join.fields[field].domain]
    }

    /// Returns the dimension of a field: the smallest dimension of its tensors' modes, or the
    /// number of codes of its domain if it has no tensors.
    pub fn size(&self, join: &GroupedJoin, field: FieldId) -> u64 {
        extent(join, field).unwrap_or_else(|| self.domain(join, field).size())
    }

    /// Returns the rows of a leaf; `None` for tensors.
    pub fn rows(&self, leaf: usize) -> Option<&LeafRows> {
        self.leaves[leaf].as_ref()
    }

    /// Returns whether a column has a NULL.
    pub fn has_nulls(&self, column: LeafColumn) -> bool {
        self.rows(column.leaf).is_some_and(|rows| rows.has_nulls(column.column))
    }

    /// Returns the number of columns that were encoded for this join, and the number of columns
    /// whose codes come from whole columns of tables.
    pub(crate) fn column_counts(&self) -> (usize, usize) {
        (self.encoded_columns, self.shared.len())
    }

    /// Returns the size of the encoded rows in bytes, excluding codes that the session keeps.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Returns whether a column has a NaN or a negative zero, or is no column of floats.
fn has_irregular_floats(column: &ArrayRef) -> bool {
    let is_irregular = |value: f64| value.is_nan() || value == 0.0 && value.is_sign_negative();
    match column.data_type() {
        DataType::Float64 => column.as_primitive::<Float64Type>().iter().flatten().any(is_irregular),
        DataType::Float32 => column.as_primitive::<Float32Type>().iter().flatten().any(|v| is_irregular(v.into())),
        _ => true,
    }
}

/// A join with its encoded rows.
#[derive(Clone, Copy)]
pub(crate) struct EncodedRows<'a> {
    /// The join.
    pub(crate) join: &'a GroupedJoin,
    /// The encoded rows of the join's leaves.
    pub(crate) encoded: &'a EncodedJoin,
}

impl EncodedRows<'_> {
    /// Returns the given columns that have a NULL.
    pub(crate) fn with_nulls(self, columns: &[LeafColumn]) -> Vec<LeafColumn> {
        columns.iter().copied().filter(|&column| self.encoded.has_nulls(column)).collect()
    }
}

/// Returns the smallest dimension of the tensor modes of a field; `None` if the field has no
/// tensors.
fn extent(join: &GroupedJoin, field: FieldId) -> Option<u64> {
    let columns = join.fields[field].columns.iter().flatten();
    let sizes = columns.filter_map(|column| {
        let (table, columns) = join.tensor(column.leaf)?;
        match columns[column.column] {
            TensorColumn::Mode(mode) => Some(table.shape()[mode]),
            TensorColumn::Value => None,
        }
    });
    sizes.min()
}
