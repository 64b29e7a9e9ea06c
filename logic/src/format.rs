//! Format descriptors: which levels store a tensor, and how storage modes come from tensor modes.
//!
//! A [`Format`] is a list of levels over *storage modes*, outermost first, a leaf, and one [`StorageMode`] per level
//! that says which coordinate of the tensor the level holds. So CSR is two levels, BCSR four.
//! What is true of a kind of levels stands in [`crate::LevelKind`].

use crate::dtype::DType;
use crate::level::{LevelFormat, LevelKind};
use crate::scalar::Scalar;

/// What is stored below the last level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LeafKind {
    /// One value a position; a struct dtype has one buffer a member.
    Element,
    /// No values: a stored place is `true`, the fill value is `false`.
    Pattern,
}

/// The coordinate that a level holds, in terms of the coordinates `i` of the tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StorageMode {
    /// `i[mode]`
    Whole {
        /// The tensor mode.
        mode: usize,
    },
    /// `i[mode] / block`; its size is rounded up, so the last block may be ragged.
    Outer {
        /// The tensor mode.
        mode: usize,
        /// Places in a block, at least 1.
        block: u64,
    },
    /// `i[mode] % block`
    Inner {
        /// The tensor mode.
        mode: usize,
        /// Places in a block, at least 1.
        block: u64,
    },
    /// `i[mode] - i[by] + shape[by] - 1`: which of the diagonals that run along both modes. All diagonals have places
    /// for all of `i[by]`; those with `i[mode]` out of bounds are padding.
    Skew {
        /// The tensor mode.
        mode: usize,
        /// Another tensor mode, which is stored whole.
        by: usize,
    },
}

impl StorageMode {
    /// The tensor mode it comes from.
    pub fn mode(self) -> usize {
        match self {
            StorageMode::Whole { mode }
            | StorageMode::Outer { mode, .. }
            | StorageMode::Inner { mode, .. }
            | StorageMode::Skew { mode, .. } => mode,
        }
    }

    /// The size of the storage mode for a tensor of that shape.
    pub fn dimension(self, shape: &[u64]) -> u64 {
        match self {
            StorageMode::Whole { mode } => shape[mode],
            StorageMode::Outer { mode, block } => shape[mode].div_ceil(block),
            StorageMode::Inner { block, .. } => block,
            StorageMode::Skew { mode, by } if shape[mode] == 0 || shape[by] == 0 => 0,
            StorageMode::Skew { mode, by } => (shape[mode] - 1).saturating_add(shape[by]),
        }
    }

    /// The coordinate that the level holds for the tensor coordinates `i` of a tensor of that shape.
    pub fn coordinate(self, shape: &[u64], i: &[u64]) -> u64 {
        match self {
            StorageMode::Whole { mode } => i[mode],
            StorageMode::Outer { mode, block } => i[mode] / block,
            StorageMode::Inner { mode, block } => i[mode] % block,
            StorageMode::Skew { mode, by } => i[mode] + (shape[by] - 1 - i[by]),
        }
    }
}

/// How a tensor is stored.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    /// The levels, outermost first.
    pub levels: Vec<LevelFormat>,
    /// The coordinate that each level holds; as long as `levels`. Every tensor mode occurs once whole, or once as
    /// outer and once, further in, as inner with the same block, or once skewed by a mode that is stored whole.
    pub modes: Vec<StorageMode>,
    /// What lies below the last level.
    pub leaf: LeafKind,
}

/// What is known of a tensor without its data.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorType {
    /// The size of each tensor mode.
    pub shape: Vec<u64>,
    /// The type of the values.
    pub dtype: DType,
    /// The value of all places that are not stored.
    pub fill: Scalar,
    /// How it is stored.
    pub format: Format,
}

impl Format {
    /// Levels of the given kinds over the tensor modes in their order.
    pub fn of_kinds(kinds: &[LevelKind], leaf: LeafKind) -> Format {
        let levels = kinds.iter().map(|&k| LevelFormat::new(k)).collect();
        let modes = (0..kinds.len()).map(|mode| StorageMode::Whole { mode }).collect();
        Format { levels, modes, leaf }
    }

    /// All levels dense, row-major.
    pub fn dense(rank: usize) -> Format {
        Format::of_kinds(&vec![LevelKind::Dense; rank], LeafKind::Element)
    }

    /// All levels sparse lists: CSF, and DCSR of a matrix.
    pub fn csf(rank: usize) -> Format {
        Format::of_kinds(&vec![LevelKind::SparseList; rank], LeafKind::Element)
    }

    /// Rows dense, columns a sparse list.
    pub fn csr() -> Format {
        Format::of_kinds(&[LevelKind::Dense, LevelKind::SparseList], LeafKind::Element)
    }

    /// Columns dense, rows a sparse list.
    pub fn csc() -> Format {
        Format::csr().permuted(&[1, 0])
    }

    /// A list of coordinates: a sparse list that is not unique, then singletons of which just the last is unique.
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

    /// All levels dense but the last, which is of that kind.
    pub fn dense_above(kind: LevelKind, rank: usize) -> Format {
        let mut kinds = vec![LevelKind::Dense; rank];
        if let Some(last) = kinds.last_mut() {
            *last = kind;
        }
        Format::of_kinds(&kinds, LeafKind::Element)
    }

    /// Sparse blocks of `rows` x `columns` values, the last ones ragged.
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

    /// All blocks of `rows` x `columns` places, each a list of the coordinates in it (CSB).
    /// Source: Buluc, Fineman, Frigo, Gilbert, Leiserson, "Parallel sparse matrix-vector and matrix-transpose-vector
    /// multiplication using compressed sparse blocks", SPAA 2009.
    pub fn csb(rows: u64, columns: u64) -> Format {
        let dense = LevelFormat::new(LevelKind::Dense);
        let levels = [vec![dense; 2], Format::coo(2).levels].concat();
        Format { levels, ..Format::bcsr(rows, columns) }
    }

    /// A list of the coordinates of dense blocks of so many places of each mode (mode-generic).
    /// Source: Baskaran, Meister, Vasilache, Lethin, "Efficient and scalable computations with sparse tensors", HPEC 2012.
    pub fn mode_generic(block: &[u64]) -> Format {
        let dense = LevelFormat::new(LevelKind::Dense);
        let levels = [Format::coo(block.len()).levels, vec![dense; block.len()]].concat();
        let outer = block.iter().enumerate().map(|(mode, &block)| StorageMode::Outer { mode, block });
        let inner = block.iter().enumerate().map(|(mode, &block)| StorageMode::Inner { mode, block });
        Format { levels, modes: outer.chain(inner).collect(), leaf: LeafKind::Element }
    }

    /// The stored diagonals of a matrix, each with a value for every row (DIA).
    pub fn dia() -> Format {
        let modes = vec![StorageMode::Skew { mode: 1, by: 0 }, StorageMode::Whole { mode: 0 }];
        Format { modes, ..Format::of_kinds(&[LevelKind::SparseList, LevelKind::Dense], LeafKind::Element) }
    }

    /// The same levels over the tensor modes in another order: storage mode `k` holds what `modes[order[k]]` held.
    pub fn permuted(&self, order: &[usize]) -> Format {
        Format { modes: order.iter().map(|&k| self.modes[k]).collect(), ..self.clone() }
    }

    /// The number of tensor modes.
    pub fn rank(&self) -> usize {
        self.modes.iter().map(|m| m.mode() + 1).max().unwrap_or(0)
    }

    /// The sizes of the storage modes for a tensor of that shape.
    pub fn storage_shape(&self, shape: &[u64]) -> Vec<u64> {
        self.modes.iter().map(|m| m.dimension(shape)).collect()
    }
}
