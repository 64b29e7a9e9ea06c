//! What a file holds: its header facts and its entries, before they are stored in some format.

use crate::compression::Compression;
use crate::memory::bytes_of;
use crate::{Values, file_formats};
use redpoll_logic::{Prim, Scalar};
use std::fmt;

/// How a file lays out its entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Coordinates and a value, entry by entry.
    Coordinate,
    /// Every place.
    Array,
    /// Compressed rows.
    Csr,
    /// Compressed columns.
    Csc,
    /// Compressed rows of dense blocks.
    Bsr {
        /// Rows of a block.
        rows: u64,
        /// Columns of a block.
        columns: u64,
    },
    /// Diagonals.
    Dia,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layout::Coordinate => f.write_str("coordinate"),
            Layout::Array => f.write_str("array"),
            Layout::Csr => f.write_str("csr"),
            Layout::Csc => f.write_str("csc"),
            Layout::Bsr { rows, columns } => write!(f, "bsr {rows}x{columns}"),
            Layout::Dia => f.write_str("dia"),
        }
    }
}

/// Which entries of a matrix follow from others and are left out of its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Symmetry {
    /// None.
    #[default]
    General,
    /// `A[j, i] = A[i, j]`
    Symmetric,
    /// `A[j, i] = -A[i, j]`
    SkewSymmetric,
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Symmetry::General => "general",
            Symmetry::Symmetric => "symmetric",
            Symmetry::SkewSymmetric => "skew-symmetric",
        })
    }
}

/// What the header of a file says.
#[derive(Clone, PartialEq, Debug)]
pub struct Info {
    /// The file format.
    pub file_format: &'static file_formats::FileFormat,
    /// How the file is compressed.
    pub compression: Compression,
    /// How it lays out its entries.
    pub layout: Layout,
    /// The size of each mode.
    pub shape: Vec<u64>,
    /// The type of the values.
    pub dtype: Prim,
    /// The value of places that the file does not hold: zero, save where a PyData/Sparse array says otherwise.
    pub fill: Scalar,
    /// Whether entries are left out that follow from others.
    pub symmetry: Symmetry,
    /// The number of entries that the file itself holds: of a symmetric matrix those of one triangle, of blocks and
    /// diagonals the padding as well.
    pub stored: u64,
}

/// The entries of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// Coordinates and a value for each entry, in any order, possibly with repeated coordinates.
    Triples {
        /// One vector a mode, each as long as `values`.
        coordinates: Vec<Vec<u64>>,
        /// The values.
        values: Values,
    },
    /// Every place, row-major.
    Dense(Values),
}

impl Data {
    /// The bytes that the entries take.
    pub(crate) fn bytes(&self) -> u64 {
        let values = bytes_of(self.values().len(), self.values().prim().bytes());
        let coordinates = match self {
            Data::Triples { coordinates, .. } => coordinates.iter().map(|c| bytes_of(c.len(), 8)).sum(),
            Data::Dense(_) => 0,
        };
        values + coordinates
    }

    /// The values.
    pub fn values(&self) -> &Values {
        match self {
            Data::Triples { values, .. } | Data::Dense(values) => values,
        }
    }
}

/// A tensor on its way into a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Content {
    /// The size of each mode.
    pub shape: Vec<u64>,
    /// The value of places that `data` does not hold.
    pub fill: Scalar,
    /// The layout that is nearest to how the tensor is stored; a file format without it takes coordinates.
    pub layout: Layout,
    /// The entries, without repeated coordinates.
    pub data: Data,
}

impl Content {
    /// The primitive of the values.
    pub fn prim(&self) -> Prim {
        self.data.values().prim()
    }
}

/// The number of places of a tensor of that shape; `None` when more than `u64` counts.
pub(crate) fn places(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d))
}

/// The most modes a tensor in a file may have, which is NumPy's limit.
pub(crate) const MAX_RANK: usize = 64;

/// The largest size of a mode: engines index in `i64`.
pub(crate) const MAX_DIMENSION: u64 = i64::MAX as u64;
