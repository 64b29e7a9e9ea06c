//! Types of tensors, and their formats: the levels that store a tensor, and the mapping from tensor
//! modes to storage modes.
//!
//! A [`Format`] is a list of levels over *storage modes*, outermost first, and a leaf. One
//! [`StorageMode`] per level names the coordinate of the tensor, or the part of it, that the level
//! stores. CSR has two levels, BCSR four. The traits of each kind of level are in
//! [`crate::LevelKind`].

use crate::dtype::DType;
use crate::level::{LevelFormat, LevelKind};
use crate::scalar::Scalar;

/// The storage below the last level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LeafKind {
    /// One value per position; a struct dtype has one buffer per primitive ([`DType::prims`]).
    Element,
    /// No values: a stored coordinate is `true`, the fill value is `false`.
    Pattern,
}

/// The coordinate that a level stores, in terms of the coordinates `i` of the tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StorageMode {
    /// The coordinate `i[mode]`.
    Whole {
        /// Tensor mode.
        mode: usize,
    },
    /// The block number `i[mode] / block`. The dimension is rounded up, so the last block may be
    /// ragged.
    Outer {
        /// Tensor mode.
        mode: usize,
        /// Coordinates per block, at least 1.
        block: u64,
    },
    /// The coordinate within its block, `i[mode] % block`.
    Inner {
        /// Tensor mode.
        mode: usize,
        /// Coordinates per block, at least 1.
        block: u64,
    },
    /// The number of a diagonal, `i[mode] - i[by] + shape[by] - 1`. A diagonal has one place for
    /// each coordinate of `by`; places with `i[mode]` out of bounds are padding.
    Skew {
        /// Tensor mode.
        mode: usize,
        /// Another tensor mode, which is stored whole.
        by: usize,
    },
}

impl StorageMode {
    /// Returns the tensor mode that the storage mode is derived from.
    pub fn mode(self) -> usize {
        match self {
            StorageMode::Whole { mode }
            | StorageMode::Outer { mode, .. }
            | StorageMode::Inner { mode, .. }
            | StorageMode::Skew { mode, .. } => mode,
        }
    }

    /// Returns the dimension of the storage mode, for a tensor of the given shape.
    pub fn dimension(self, shape: &[u64]) -> u64 {
        match self {
            StorageMode::Whole { mode } => shape[mode],
            StorageMode::Outer { mode, block } => shape[mode].div_ceil(block),
            StorageMode::Inner { block, .. } => block,
            StorageMode::Skew { mode, by } if shape[mode] == 0 || shape[by] == 0 => 0,
            StorageMode::Skew { mode, by } => (shape[mode] - 1).saturating_add(shape[by]),
        }
    }

    /// Returns the storage coordinate for the coordinates `i` of a tensor of the given shape.
    pub fn coordinate(self, shape: &[u64], i: &[u64]) -> u64 {
        match self {
            StorageMode::Whole { mode } => i[mode],
            StorageMode::Outer { mode, block } => i[mode] / block,
            StorageMode::Inner { mode, block } => i[mode] % block,
            StorageMode::Skew { mode, by } => i[mode] + (shape[by] - 1 - i[by]),
        }
    }
}

/// The storage format of a tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    /// Levels, outermost first.
    pub levels: Vec<LevelFormat>,
    /// The coordinate that each level stores, one for each of `levels`. Every tensor mode is stored
    /// once: whole, skewed by a mode that is stored whole, or split into an outer part and, at a
    /// deeper level, an inner part with the same block.
    pub modes: Vec<StorageMode>,
    /// Storage below the last level.
    pub leaf: LeafKind,
}

/// The type of a tensor: all that is known without its data.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorType {
    /// Dimension of each tensor mode.
    pub shape: Vec<u64>,
    /// Dtype of the values.
    pub dtype: DType,
    /// Value of all coordinates that are not stored.
    pub fill: Scalar,
    /// Storage format.
    pub format: Format,
}

impl Format {
    /// Creates a format with levels of the given kinds, over the tensor modes in order.
    pub fn of_kinds(kinds: &[LevelKind], leaf: LeafKind) -> Format {
        let levels = kinds.iter().map(|&k| LevelFormat::new(k)).collect();
        let modes = (0..kinds.len()).map(|mode| StorageMode::Whole { mode }).collect();
        Format { levels, modes, leaf }
    }

    /// Returns the format with all levels dense, row-major.
    pub fn dense(rank: usize) -> Format {
        Format::of_kinds(&vec![LevelKind::Dense; rank], LeafKind::Element)
    }

    /// Returns whether all levels are dense. The order of the modes and the leaf do not matter.
    pub fn is_dense(&self) -> bool {
        self.levels.iter().all(|level| level.kind == LevelKind::Dense)
    }

    /// Returns the format with sparse lists at all levels: CSF; for a matrix, DCSR.
    pub fn csf(rank: usize) -> Format {
        Format::of_kinds(&vec![LevelKind::SparseList; rank], LeafKind::Element)
    }

    /// Returns the format with dense rows and a sparse list of columns.
    pub fn csr() -> Format {
        Format::of_kinds(&[LevelKind::Dense, LevelKind::SparseList], LeafKind::Element)
    }

    /// Returns the format with dense columns and a sparse list of rows.
    pub fn csc() -> Format {
        Format::csr().permuted(&[1, 0])
    }

    /// Returns the format that lists coordinates: a sparse list, then singletons. Only the last
    /// level is unique.
    pub fn coo(rank: usize) -> Format {
        let levels = (0..rank)
            .map(|k| LevelFormat {
                kind: if k == 0 { LevelKind::SparseList } else { LevelKind::Singleton },
                ordered: true,
                unique: k + 1 == rank,
            })
            .collect();
        let modes = (0..rank).map(|mode| StorageMode::Whole { mode }).collect();
        Format { levels, modes, leaf: LeafKind::Element }
    }

    /// Returns the format with dense levels above a last level of the given kind.
    pub fn dense_above(kind: LevelKind, rank: usize) -> Format {
        let mut kinds = vec![LevelKind::Dense; rank];
        if let Some(last) = kinds.last_mut() {
            *last = kind;
        }
        Format::of_kinds(&kinds, LeafKind::Element)
    }

    /// Returns the format that lists, for each row of blocks, the stored blocks of `rows` x
    /// `columns` values (BCSR). The last blocks may be ragged.
    pub fn bcsr(rows: u64, columns: u64) -> Format {
        use LevelKind::{Dense, SparseList};
        let kinds = [Dense, SparseList, Dense, Dense];
        let modes = vec![
            StorageMode::Outer { mode: 0, block: rows },
            StorageMode::Outer { mode: 1, block: columns },
            StorageMode::Inner { mode: 0, block: rows },
            StorageMode::Inner { mode: 1, block: columns },
        ];
        Format { modes, ..Format::of_kinds(&kinds, LeafKind::Element) }
    }

    /// Returns the format with a dense grid of blocks of `rows` x `columns` coordinates, each with
    /// a list of its stored coordinates (CSB).
    ///
    /// Source: Buluc, Fineman, Frigo, Gilbert, Leiserson, "Parallel sparse matrix-vector and
    /// matrix-transpose-vector multiplication using compressed sparse blocks", SPAA 2009.
    pub fn csb(rows: u64, columns: u64) -> Format {
        let dense = LevelFormat::new(LevelKind::Dense);
        let levels = [vec![dense; 2], Format::coo(2).levels].concat();
        Format { levels, ..Format::bcsr(rows, columns) }
    }

    /// Returns the mode-generic format: a coordinate list of dense blocks, with the given block
    /// size per mode.
    ///
    /// Source: Baskaran, Meister, Vasilache, Lethin, "Efficient and scalable computations with
    /// sparse tensors", HPEC 2012.
    pub fn mode_generic(block: &[u64]) -> Format {
        let dense = LevelFormat::new(LevelKind::Dense);
        let levels = [Format::coo(block.len()).levels, vec![dense; block.len()]].concat();
        let outer = block.iter().enumerate().map(|(mode, &block)| StorageMode::Outer { mode, block });
        let inner = block.iter().enumerate().map(|(mode, &block)| StorageMode::Inner { mode, block });
        Format { levels, modes: outer.chain(inner).collect(), leaf: LeafKind::Element }
    }

    /// Returns the format that lists the stored diagonals of a matrix, each with a value for every
    /// row (DIA).
    pub fn dia() -> Format {
        let modes = vec![StorageMode::Skew { mode: 1, by: 0 }, StorageMode::Whole { mode: 0 }];
        Format { modes, ..Format::of_kinds(&[LevelKind::SparseList, LevelKind::Dense], LeafKind::Element) }
    }

    /// Reorders the storage modes and keeps the levels: storage mode `k` becomes the former
    /// `modes[order[k]]`.
    pub fn permuted(&self, order: &[usize]) -> Format {
        Format { modes: order.iter().map(|&k| self.modes[k]).collect(), ..self.clone() }
    }

    /// Returns the number of tensor modes.
    pub fn rank(&self) -> usize {
        self.modes.iter().map(|m| m.mode().saturating_add(1)).max().unwrap_or(0)
    }

    /// Returns the dimensions of the storage modes, for a tensor of the given shape.
    pub fn storage_shape(&self, shape: &[u64]) -> Vec<u64> {
        self.modes.iter().map(|m| m.dimension(shape)).collect()
    }
}
