//! Blocks: how many threads they have, and what each team has of the memory that a block shares.

use crate::grid::{MOST_LANES, WARP};

/// The threads of a block that several teams share.
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
        let blocks = (WARPS * WARP / threads(lanes)) as usize;
        let block = (self.multiprocessor / 2 / blocks).min(self.block);
        // What the lanes of several warps show each other takes some of it.
        let shown = if lanes > WARP { 8 * MOST_LANES as usize } else { 0 };
        block.saturating_sub(shown) / teams(lanes) / 8 * 8
    }
}

/// The threads of a block of teams of so many lanes: a team of several warps has a block of its own.
pub(super) fn threads(lanes: u32) -> u32 {
    if lanes > WARP { lanes } else { BLOCK }
}

/// The teams of a block.
pub(super) fn teams(lanes: u32) -> usize {
    (threads(lanes) / lanes) as usize
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
        let of = |memory: BlockMemory| [1, 16, 32, 64, 256].map(|lanes| memory.of_team(lanes));
        assert_eq!(of(small), [64, 1024, 2048, 2048, 14336]);
        assert_eq!(of(middle), [96, 1600, 3200, 4352, 23552]);
        assert_eq!(of(large), [224, 3648, 7296, 12544, 47104]);
        assert_eq!(of(BlockMemory { multiprocessor: 1 << 20, block: 48 << 10 }), [384, 6144, 12288, 47104, 47104]);
        assert_eq!(of(BlockMemory { multiprocessor: 0, block: 0 }), [0; 5]);
    }
}
