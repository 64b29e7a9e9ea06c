//! Partitions of the stored elements of a tensor. The elements are cut at coordinates into blocks
//! of about the same number of elements.

use super::array::{filled_vec, reserved_vec};
use super::{Array, PositionCounter, Tensor};
use crate::Error;
use crate::levels::{ArrayClass, array_prim, level, lower_bound};
use redpoll_logic::{DType, Format, LeafKind, LevelFormat, LevelKind, Prim, Scalar, StorageMode, TensorType};
use std::ops::Range;

/// A partition of a sequence into blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockPartition {
    /// Blocks of this size; the last one may be smaller.
    Of(u64),
    /// This many blocks, as equal as possible.
    Into(u64),
}

/// The modes along which the stored elements of a tensor are cut into blocks, and the partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredBlocks {
    /// The storage modes that are cut as if they were one mode. Each fiber of these modes is cut
    /// separately. An element is a position of the innermost level.
    pub modes: Range<usize>,
    /// The partition of the stored elements of each fiber. Elements with equal coordinates in
    /// `modes` belong to one block, so blocks of a given size may be larger.
    pub blocks: BlockPartition,
}

/// The bounds of blocks as tensors, for kernels that read them.
pub struct BlockBounds {
    /// The first round of each block, and the end of the last block: see
    /// [`StoredBlocks::begins_type`].
    pub begins: Tensor,
    /// The number of blocks of each fiber, unless the partition gives this number: see
    /// [`StoredBlocks::counts_type`].
    pub counts: Option<Tensor>,
}

impl StoredBlocks {
    /// Returns the number of rounds of a loop over the modes, which is the product of their
    /// dimensions; `None` if the number is `i64::MAX` or more.
    pub fn rounds(&self, of: &TensorType) -> Option<u64> {
        let sizes = of.format.storage_shape(&of.shape);
        let rounds = sizes[self.modes.clone()].iter().try_fold(1u64, |all, n| all.checked_mul(*n))?;
        i64::try_from(rounds).is_ok_and(|n| n < i64::MAX).then_some(rounds)
    }

    /// Returns the type of the tensor with the first round of each block. Its levels are the levels
    /// above the modes, and one level whose coordinates are the numbers of the blocks. A round is
    /// the linear index of the coordinates in the modes. The fill value is the number of rounds,
    /// which is the end of the last block. All bounds of a fiber that is not stored are the fill
    /// value, so its blocks are empty. Returns `None` if there are too many rounds or blocks.
    pub fn begins_type(&self, of: &TensorType) -> Option<TensorType> {
        let rounds = self.rounds(of)?;
        let (kind, size) = match self.blocks {
            BlockPartition::Into(blocks) => (LevelKind::Dense, blocks.checked_add(1)?),
            BlockPartition::Of(_) => (LevelKind::Band, rounds.max(1) + 1),
        };
        Some(self.fiber_type(of, Some((kind, size)), rounds as i64))
    }

    /// Returns the type of the tensor with the number of blocks of each fiber; `None` if the
    /// partition gives this number.
    pub fn counts_type(&self, of: &TensorType) -> Option<TensorType> {
        matches!(self.blocks, BlockPartition::Of(_)).then(|| self.fiber_type(of, None, 1))
    }

    /// Returns the type of a tensor with integers for each fiber.
    fn fiber_type(&self, of: &TensorType, below: Option<(LevelKind, u64)>, fill: i64) -> TensorType {
        let mut levels = of.format.levels[..self.modes.start].to_vec();
        let mut shape = of.format.storage_shape(&of.shape)[..self.modes.start].to_vec();
        if let Some((kind, size)) = below {
            levels.push(LevelFormat::new(kind));
            shape.push(size);
        }
        let modes = (0..levels.len()).map(|mode| StorageMode::Whole { mode }).collect();
        let format = Format { levels, modes, leaf: LeafKind::Element };
        TensorType { shape, dtype: DType::Prim(Prim::I64), fill: Scalar::I64(fill), format }
    }
}

impl Tensor {
    /// Returns the bounds of blocks of the stored elements. Blocks may be empty if their number is
    /// given, or if their fiber has no elements.
    ///
    /// # Errors
    /// [`Error::TooLarge`] when the bounds do not fit in memory.
    ///
    /// # Panics
    /// When the tensor does not have the modes, or there are too many rounds or blocks: see
    /// [`StoredBlocks::begins_type`].
    pub fn block_bounds(&self, stored: &StoredBlocks) -> Result<BlockBounds, Error> {
        let begins_type = stored.begins_type(self.ty()).expect("the rounds can be counted");
        let rounds = stored.rounds(self.ty()).expect("the rounds can be counted");
        let above = stored.modes.start;
        let fibers = (0..above).fold(1, |parents, k| {
            let data = self.level(k);
            level(data.format.kind).positions(data, parents)
        });
        let cutter = FiberCutter::new(self, stored.modes.clone(), rounds);
        let levels = self.levels()[..above].to_vec();
        let tensor = |ty: TensorType, below: Option<Vec<Array>>, values: Vec<i64>| {
            let levels = levels.iter().cloned().chain(below).collect();
            Tensor::new_unchecked(ty.into(), levels, vec![Array::from_vec(values)])
        };
        match stored.blocks {
            BlockPartition::Into(blocks) => {
                let len = fibers.saturating_mul(blocks.saturating_add(1));
                let mut begins = reserved_vec(usize::try_from(len).unwrap_or(usize::MAX))?;
                (0..fibers).for_each(|fiber| cutter.cut_into(fiber, blocks, &mut begins));
                Ok(BlockBounds { begins: tensor(begins_type, Some(Vec::new()), begins), counts: None })
            }
            BlockPartition::Of(size) => {
                let (mut ends, mut lasts) = (filled_vec(0u64, fibers + 1)?, filled_vec(0u64, fibers)?);
                let (mut counts, mut begins) = (filled_vec(0i64, fibers)?, Vec::new());
                for fiber in 0..fibers as usize {
                    let before = begins.len();
                    cutter.cut_by_size(fiber as u64, size, &mut begins);
                    let count = begins.len() - before;
                    (ends[fiber + 1], lasts[fiber], counts[fiber]) =
                        (begins.len() as u64, count as u64 - 1, count as i64);
                }
                let (dimension, all) = (begins_type.shape[above], begins.len() as u64);
                let idx = Array::from_indices(array_prim(ArrayClass::Coordinate, dimension, all), lasts.into_iter());
                let ofs = Array::from_indices(array_prim(ArrayClass::Position, dimension, all), ends.into_iter());
                let counts_type = stored.counts_type(self.ty()).expect("blocks are counted");
                let counts = tensor(counts_type, None, counts);
                Ok(BlockBounds { begins: tensor(begins_type, Some(vec![idx, ofs]), begins), counts: Some(counts) })
            }
        }
    }
}

/// A search for the rounds at which the stored elements of fibers are cut.
struct FiberCutter<'a> {
    counter: PositionCounter<'a>,
    /// The dimensions of the modes that are cut.
    sizes: Vec<u64>,
    rounds: u64,
}

impl<'a> FiberCutter<'a> {
    fn new(tensor: &'a Tensor, modes: Range<usize>, rounds: u64) -> FiberCutter<'a> {
        let sizes = modes.clone().map(|k| tensor.level(k).dimension).collect();
        FiberCutter { counter: PositionCounter::of_fibers(tensor, modes), sizes, rounds }
    }

    /// Returns the number of stored elements of a fiber before a round, plus a constant that
    /// depends on the fiber only.
    fn count_before(&self, fiber: u64, mut round: u64) -> u64 {
        let mut coordinates = vec![0; self.sizes.len()];
        for (k, size) in self.sizes.iter().enumerate().skip(1).rev() {
            coordinates[k] = round % size.max(&1);
            round /= size.max(&1);
        }
        coordinates[0] = round;
        self.counter.count_before_in(fiber, &coordinates)
    }

    /// Cuts a fiber into `blocks` blocks with equal shares. Appends the first round of each block,
    /// and the number of rounds.
    fn cut_into(&self, fiber: u64, blocks: u64, begins: &mut Vec<i64>) {
        let first = self.count_before(fiber, 0);
        let total = self.count_before(fiber, self.rounds) - first;
        let mut last = 0;
        begins.push(0);
        for k in 1..=blocks {
            let share = (u128::from(total) * u128::from(k) / u128::from(blocks.max(1))) as u64;
            last = match k == blocks {
                true => self.rounds,
                false => lower_bound(last..self.rounds, |n| self.count_before(fiber, n) - first < share),
            };
            begins.push(last as i64);
        }
    }

    /// Cuts a fiber into blocks of at most `size` elements, or of a single round. Appends the first
    /// round of each block.
    fn cut_by_size(&self, fiber: u64, size: u64, begins: &mut Vec<i64>) {
        let mut begin = 0;
        loop {
            begins.push(begin as i64);
            let first = self.count_before(fiber, begin);
            let fits = |n: u64| self.count_before(fiber, n + 1) - first <= size;
            begin = lower_bound((begin + 1).min(self.rounds)..self.rounds, fits);
            if begin == self.rounds {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Duplicates, Triples, Values};
    use redpoll_logic::text::parse_format;

    fn tensor(shape: &[u64], format: &str, coordinates: Vec<Vec<u64>>) -> Tensor {
        let format = parse_format(format, shape.len()).unwrap();
        let ty = TensorType { shape: shape.to_vec(), dtype: DType::Prim(Prim::F64), fill: Scalar::F64(0.0), format };
        let values = Values::from(vec![1.0; coordinates[0].len()]);
        let triples = Triples { shape: shape.to_vec(), coordinates, values };
        Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap().0
    }

    fn matrix(format: &str) -> Tensor {
        tensor(&[4, 6], format, vec![vec![0, 0, 0, 0, 0, 2, 3, 3], vec![0, 1, 2, 4, 5, 3, 0, 5]])
    }

    fn integers(tensor: &Tensor) -> Vec<i64> {
        tensor.to_dense_scalars().unwrap().iter().map(|v| v.to_i128().unwrap() as i64).collect()
    }

    fn bounds(tensor: &Tensor, modes: Range<usize>, blocks: BlockPartition) -> Vec<i64> {
        integers(&tensor.block_bounds(&StoredBlocks { modes, blocks }).unwrap().begins)
    }

    /// Blocks are balanced: exactly if cuts may lie within rows, and otherwise as closely as whole
    /// rows or columns allow.
    #[test]
    fn blocks_have_equal_shares_of_stored_elements() {
        let into = BlockPartition::Into;
        for format in ["csr", "dcsr"] {
            assert_eq!(bounds(&matrix(format), 0..1, into(2)), [0, 1, 4], "{format}");
            assert_eq!(bounds(&matrix(format), 0..2, into(2)), [0, 5, 24], "{format}");
            assert_eq!(bounds(&matrix(format), 0..2, into(4)), [0, 2, 5, 16, 24], "{format}");
            assert_eq!(bounds(&matrix(format), 0..1, into(1)), [0, 4], "{format}");
        }
        assert_eq!(bounds(&matrix("dense"), 0..2, into(2)), [0, 12, 24]);
        assert_eq!(bounds(&matrix("csc"), 0..1, into(3)), [0, 1, 4, 6]);
        for format in ["coo", "dense", "csr"] {
            let bounds = bounds(&matrix(format), 0..2, into(7));
            assert!(bounds.is_sorted() && bounds[0] == 0 && bounds[7] == 24, "{format}: {bounds:?}");
        }
    }

    /// Each stored row is cut separately; the bounds of a row that is not stored are fill values.
    #[test]
    fn fibers_are_cut_by_themselves() {
        let row = |bounds: &[i64], n: usize| bounds[n * 3..(n + 1) * 3].to_vec();
        for format in ["csr", "dcsr"] {
            let bounds = bounds(&matrix(format), 1..2, BlockPartition::Into(2));
            assert_eq!((row(&bounds, 0), row(&bounds, 2)), (vec![0, 2, 6], vec![0, 0, 6]), "{format}");
            assert_eq!(row(&bounds, 3), [0, 1, 6], "{format}");
        }
        assert_eq!(bounds(&matrix("dcsr"), 1..2, BlockPartition::Into(2))[3..6], [6, 6, 6], "the fill value");
        for format in ["csr", "dcsr"] {
            let stored = StoredBlocks { modes: 1..2, blocks: BlockPartition::Of(2) };
            let found = matrix(format).block_bounds(&stored).unwrap();
            assert_eq!(integers(found.counts.as_ref().unwrap()), [3, 1, 1, 1], "{format}");
            assert_eq!(integers(&found.begins)[..4], [0, 2, 5, 6], "{format}");
        }
    }

    /// Blocks of a given size are as long as possible, and a round is never cut.
    #[test]
    fn blocks_of_a_size_are_filled() {
        let of = |modes: Range<usize>, size| {
            let found = matrix("csr").block_bounds(&StoredBlocks { modes, blocks: BlockPartition::Of(size) }).unwrap();
            let count = integers(found.counts.as_ref().unwrap())[0] as usize;
            integers(&found.begins)[..=count].to_vec()
        };
        assert_eq!(of(0..1, 2), [0, 1, 3, 4]);
        assert_eq!(of(0..1, 100), [0, 4]);
        assert_eq!(of(0..2, 3), [0, 4, 18, 24]);
        assert_eq!(of(0..2, 1), [0, 1, 2, 4, 5, 15, 18, 23, 24]);
    }

    #[test]
    fn tensors_without_elements_are_one_block() {
        for shape in [[0, 6], [4, 0], [4, 6]] {
            for format in ["csr", "coo", "dense"] {
                let empty = tensor(&shape, format, vec![Vec::new(), Vec::new()]);
                let found = empty.block_bounds(&StoredBlocks { modes: 0..2, blocks: BlockPartition::Of(3) }).unwrap();
                let rounds = shape.iter().product::<u64>() as i64;
                if format != "dense" {
                    assert_eq!(integers(found.counts.as_ref().unwrap()), [1]);
                }
                assert_eq!(integers(&found.begins)[0], 0);
                assert_eq!(bounds(&empty, 0..2, BlockPartition::Into(1)), [0, rounds]);
            }
        }
    }
}
