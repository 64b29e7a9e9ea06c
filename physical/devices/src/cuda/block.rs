//! Blocks: their number of threads, and the share of each team in the memory of a block.

use crate::grid::{MAX_TEAM_LANES, WARP};

/// Number of threads of a block that several teams share.
pub(super) const BLOCK_THREADS: u32 = 128;
/// Least number of warps per multiprocessor.
const MIN_WARPS: u32 = 16;

/// The number of threads and the memory of a multiprocessor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Multiprocessor {
    /// Number of threads that the multiprocessor can hold.
    pub(super) threads: u32,
    /// Bytes of memory that the blocks on the multiprocessor share.
    pub(super) memory: usize,
    /// Bytes of memory that a block may have.
    pub(super) block_memory: usize,
}

impl Multiprocessor {
    /// Returns the number of warps that launches put on the multiprocessor: half of those that it
    /// can hold, but at least [`MIN_WARPS`]. More warps would need more memory for windows and more
    /// chunks.
    pub(super) fn warps(self) -> u32 {
        (self.threads / WARP / 2).max(MIN_WARPS)
    }

    /// Returns the bytes available to each team of `lanes` lanes, in whole words. All blocks that
    /// run on a multiprocessor together take at most half of its memory; the rest is the cache for
    /// reads.
    pub(super) fn bytes_of_team(self, lanes: u32) -> usize {
        let blocks = (self.warps() * WARP / threads(lanes)) as usize;
        let block = (self.memory / 2 / blocks).min(self.block_memory);
        // The exchange buffer of teams of several warps takes some of the block's memory.
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
        // The threads and the memory of devices of compute capability 7.5, 8.6 and 9.0.
        let new = |threads, memory| Multiprocessor { threads, memory, block_memory: 48 << 10 };
        let (small, middle, large) = (new(1024, 64 << 10), new(1536, 100 << 10), new(2048, 228 << 10));
        let of = |device: Multiprocessor| [1, 16, 32, 64, 256].map(|lanes| device.bytes_of_team(lanes));
        assert_eq!([small, middle, large].map(Multiprocessor::warps), [16, 24, 32]);
        assert_eq!(of(small), [64, 1024, 2048, 2048, 14336]);
        assert_eq!(of(middle), [64, 1064, 2128, 2216, 15016]);
        assert_eq!(of(large), [112, 1824, 3648, 5248, 27136]);
        assert_eq!(of(new(2048, 1 << 20)), [384, 6144, 12288, 30720, 47104]);
        assert_eq!(of(Multiprocessor { threads: 0, memory: 0, block_memory: 0 }), [0; 5]);
    }
}
