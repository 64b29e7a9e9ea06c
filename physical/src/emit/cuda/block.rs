//! Blocks: how many threads they have, and what each team has of the memory that a block shares.

use crate::grid::WARP;

/// The threads of a block.
pub(super) const BLOCK: u32 = 128;
/// The warps that a multiprocessor has work for; their windows take memory, so it is not given more.
pub(super) const WARPS: u32 = 16;

/// The memory that blocks share on a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BlockMemory {
    /// The bytes of a multiprocessor.
    pub(super) multiprocessor: usize,
    /// The bytes that a block may have.
    pub(super) block: usize,
}

impl BlockMemory {
    /// The bytes that each team of so many lanes may have, in whole words. All blocks that a multiprocessor has work for take half
    /// of its memory together: the other half is the cache of what teams read.
    pub(super) fn of_team(self, lanes: u32) -> usize {
        let blocks = (WARPS * WARP / BLOCK) as usize;
        let block = (self.multiprocessor / 2 / blocks).min(self.block);
        block / teams(lanes) / 8 * 8
    }
}

/// The teams of a block.
pub(super) fn teams(lanes: u32) -> usize {
    (BLOCK / lanes) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects launches: the driver declines blocks that ask for more memory than they may have.
    #[test]
    fn teams_share_the_memory_of_a_block() {
        // What devices of compute capability 7.5, 8.6 and 9.0 have.
        let small = BlockMemory { multiprocessor: 64 << 10, block: 48 << 10 };
        let middle = BlockMemory { multiprocessor: 100 << 10, block: 48 << 10 };
        let large = BlockMemory { multiprocessor: 228 << 10, block: 48 << 10 };
        let of = |memory: BlockMemory| [1, 16, 32, 128].map(|lanes| memory.of_team(lanes));
        assert_eq!(of(small), [64, 1024, 2048, 8192]);
        assert_eq!(of(middle), [96, 1600, 3200, 12800]);
        assert_eq!(of(large), [224, 3648, 7296, 29184]);
        assert_eq!(of(BlockMemory { multiprocessor: 1 << 20, block: 48 << 10 }), [384, 6144, 12288, 49152]);
        assert_eq!(of(BlockMemory { multiprocessor: 0, block: 0 }), [0; 4]);
    }
}
