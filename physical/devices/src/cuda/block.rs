//! Blocks: their number of threads, and the share of each team in the memory of a block.

use crate::grid::{MAX_TEAM_LANES, WARP};

/// Number of threads of a block that several teams share.
pub(super) const BLOCK_THREADS: u32 = 128;
/// Number of warps per multiprocessor. More warps would need more memory for windows.
pub(super) const WARPS_PER_MULTIPROCESSOR: u32 = 16;

/// The memory that blocks of a device share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BlockMemory {
    /// Bytes of a multiprocessor.
    pub(super) multiprocessor: usize,
    /// Bytes that a block may have.
    pub(super) block: usize,
}

impl BlockMemory {
    /// Returns the bytes available to each team of `lanes` lanes, in whole words. All blocks that
    /// run on a multiprocessor together take half of its memory; the other half is the cache for
    /// reads.
    pub(super) fn bytes_of_team(self, lanes: u32) -> usize {
        let blocks = (WARPS_PER_MULTIPROCESSOR * WARP / threads(lanes)) as usize;
        let block = (self.multiprocessor / 2 / blocks).min(self.block);
        // The exchange buffer of teams of several warps takes some of it.
        let exchange = if lanes > WARP { 8 * MAX_TEAM_LANES as usize } else { 0 };
        block.saturating_sub(exchange) / teams(lanes) / 8 * 8
    }
}

/// Returns the number of threads of a block of teams of `lanes` lanes: a team of several warps is a
/// block of its own.
pub(super) fn threads(lanes: u32) -> u32 {
    if lanes > WARP { lanes } else { BLOCK_THREADS }
}

/// Returns the number of teams of a block.
pub(super) fn teams(lanes: u32) -> usize {
    (threads(lanes) / lanes) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares stay within the memory of a block; the driver rejects blocks that ask for more.
    #[test]
    fn teams_share_the_memory_of_a_block() {
        // The memory of devices of compute capability 7.5, 8.6 and 9.0.
        let small = BlockMemory { multiprocessor: 64 << 10, block: 48 << 10 };
        let middle = BlockMemory { multiprocessor: 100 << 10, block: 48 << 10 };
        let large = BlockMemory { multiprocessor: 228 << 10, block: 48 << 10 };
        let of = |memory: BlockMemory| [1, 16, 32, 64, 256].map(|lanes| memory.bytes_of_team(lanes));
        assert_eq!(of(small), [64, 1024, 2048, 2048, 14336]);
        assert_eq!(of(middle), [96, 1600, 3200, 4352, 23552]);
        assert_eq!(of(large), [224, 3648, 7296, 12544, 47104]);
        assert_eq!(of(BlockMemory { multiprocessor: 1 << 20, block: 48 << 10 }), [384, 6144, 12288, 47104, 47104]);
        assert_eq!(of(BlockMemory { multiprocessor: 0, block: 0 }), [0; 5]);
    }
}
