//! Content of files: the header and the entries that a reader returns, and the tensors to be
//! written.

use crate::compression::Compression;
use crate::file_formats::edge_list::{HeaderGuess, SeparateNames};
use crate::memory::bytes_of;
use crate::{Values, file_formats};
use redpoll_logic::{DType, Format, Prim, Scalar};
use std::fmt;

/// Layout of entries in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Coordinates and a value, entry by entry.
    Coordinate,
    /// All elements.
    Array,
    /// Compressed rows.
    Csr,
    /// Compressed columns.
    Csc,
    /// Compressed rows of dense blocks.
    Bsr {
        /// Number of rows of a block.
        rows: u64,
        /// Number of columns of a block.
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

/// Symmetry of a matrix. A file omits the entries that follow from the symmetry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Symmetry {
    /// No symmetry.
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

/// The header of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Info {
    /// The file format.
    pub file_format: &'static file_formats::FileFormat,
    /// The compression of the file.
    pub compression: Compression,
    /// The layout of the entries.
    pub layout: Layout,
    /// The size of each mode.
    pub shape: Vec<u64>,
    /// The storage format, if the file contains the arrays of a tensor.
    pub storage: Option<Format>,
    /// The type of the values.
    pub dtype: DType,
    /// The fill value: zero, unless the file gives a fill value.
    pub fill: Scalar,
    /// The symmetry by which entries are omitted.
    pub symmetry: Symmetry,
    /// The number of entries in the file. A symmetric matrix has the entries of one triangle;
    /// blocks and diagonals include the padding.
    pub stored: u64,
    /// The guess whether the first record of an edge list is the header. `None` for other formats,
    /// and if the first records or the options decide without a guess.
    pub header_guess: Option<HeaderGuess>,
    /// The names of the columns that are read from an edge list: first the columns of coordinates,
    /// mode by mode, then the column of values. Empty for other formats, and if the file has no
    /// header.
    pub columns: Vec<String>,
    /// Two columns of names in an edge list that are numbered as one set, although they share no
    /// name.
    pub separate_names: Option<SeparateNames>,
    /// True if a comment such as `# dims 3 4` in a text file gives the shape.
    pub has_shape_comment: bool,
}

impl Info {
    /// Returns the header of an uncompressed file that contains entries and omits none of them by
    /// symmetry, with the given layout, shape, number of stored entries and fill value.
    pub(crate) fn of_entries(
        file_format: &'static file_formats::FileFormat,
        layout: Layout,
        (shape, stored): (Vec<u64>, u64),
        fill: Scalar,
    ) -> Info {
        Info {
            file_format,
            compression: Compression::None,
            layout,
            shape,
            storage: None,
            dtype: fill.dtype(),
            fill,
            symmetry: Symmetry::General,
            stored,
            header_guess: None,
            columns: Vec::new(),
            separate_names: None,
            has_shape_comment: false,
        }
    }

    /// Returns the primitive type of the values.
    ///
    /// # Panics
    /// If the values are structs, which only files with the arrays of a tensor can have.
    pub(crate) fn prim(&self) -> Prim {
        self.dtype.prim().expect("files of entries have primitive values")
    }
}

/// The entries of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// Coordinates and a value for each entry, in any order; coordinates may repeat.
    Triples {
        /// One vector per mode, each as long as `values`.
        coordinates: Vec<Vec<u64>>,
        /// The values.
        values: Values,
    },
    /// All elements, row-major.
    Dense(Values),
}

impl Data {
    /// Returns the number of bytes of the entries.
    pub(crate) fn bytes(&self) -> u64 {
        let values = bytes_of(self.values().len(), self.values().prim().bytes());
        let coordinates = match self {
            Data::Triples { coordinates, .. } => coordinates.iter().map(|c| bytes_of(c.len(), 8)).sum(),
            Data::Dense(_) => 0,
        };
        values + coordinates
    }

    /// Returns the values.
    pub fn values(&self) -> &Values {
        match self {
            Data::Triples { values, .. } | Data::Dense(values) => values,
        }
    }
}

/// A tensor to be written to a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Content {
    /// The size of each mode.
    pub shape: Vec<u64>,
    /// The fill value.
    pub fill: Scalar,
    /// The layout closest to the storage of the tensor. A file format without this layout writes
    /// coordinates; a format that stores only dense arrays writes all elements.
    pub layout: Layout,
    /// The entries, without repeated coordinates.
    pub data: Data,
}

impl Content {
    /// Returns the primitive type of the values.
    pub fn prim(&self) -> Prim {
        self.data.values().prim()
    }
}

/// Returns the number of elements of a shape, or `None` if it overflows `u64`.
pub(crate) fn element_count(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d))
}

/// Maximum number of modes of a tensor in a file, the limit of NumPy 2.
pub(crate) const MAX_RANK: usize = 64;

/// Maximum size of a mode: kernels index with `i64`.
pub(crate) const MAX_DIMENSION: u64 = i64::MAX as u64;
