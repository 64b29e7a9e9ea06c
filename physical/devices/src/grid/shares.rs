//! Shares of the memory of a block: the windows of a team that begin in this memory, and the number
//! of elements that each of these windows has there.
//!
//! A window of a team begins in the memory of its block if the window gets a share there, and moves
//! to memory outside of the block once the window outgrows its share. A window without a share is
//! outside from the start.

use super::constants::Constants;
use super::nodes::{Grid, MemorySpace};
use redpoll_compiler::assembly::Stmt;

/// Alignment of windows in bytes, the size of the largest elements.
const ALIGNMENT: usize = 8;
/// Smallest share, in elements, of a window of unknown length; a smaller share is not worth the
/// move.
const MIN_SHARE: usize = 4;

/// Returns, for each buffer, the number of elements that a team's window has room for in the memory
/// of the block; 0 for windows that are outside from the start. A team has `bytes` bytes of this
/// memory, and lays out its windows in the order of the buffers.
pub(crate) fn shares(grid: &Grid, params: &[i64], bytes: usize) -> Vec<usize> {
    let mut shares = vec![0; grid.spaces.len()];
    let mut fixed: Vec<(usize, usize)> = Vec::new();
    let mut unknown = Vec::new();
    for (k, length) in lengths(grid, params).into_iter().enumerate() {
        match length {
            Some(WindowLength::Fixed(len)) => fixed.push((len, k)),
            Some(WindowLength::Unknown(least)) => unknown.push((least, k)),
            None => {}
        }
    }
    let size = |k: usize, len: usize| bytes_of(grid, k, len);
    // A window of fixed length is either entirely in the memory of the block or entirely outside.
    // The shortest windows come first, so that as many as possible fit.
    fixed.sort_by_key(|(len, k)| (size(*k, *len), *k));
    let mut remaining = bytes;
    for (len, k) in fixed {
        if size(k, len) <= remaining {
            (shares[k], remaining) = (len, remaining - size(k, len));
        }
    }
    // Lists of one tensor grow together, so the windows of unknown length get the same number of
    // elements: a power of two, as hash tables have. A window with a larger minimum gets no share.
    let mut elements = remaining.checked_ilog2().map_or(0, |log| 1 << log);
    while elements >= MIN_SHARE {
        let in_block = || unknown.iter().filter(|(least, _)| *least <= elements);
        if in_block().map(|(_, k)| size(*k, elements)).fold(0, usize::saturating_add) <= remaining {
            in_block().for_each(|(_, k)| shares[*k] = elements);
            break;
        }
        elements /= 2;
    }
    shares
}

/// Returns the bytes that a team needs for its shares.
pub(crate) fn share_bytes(grid: &Grid, shares: &[usize]) -> usize {
    shares.iter().enumerate().map(|(k, len)| bytes_of(grid, k, *len)).sum()
}

fn bytes_of(grid: &Grid, buffer: usize, len: usize) -> usize {
    let size = grid.function.buffers[buffer].prim.bytes();
    len.saturating_mul(size).checked_next_multiple_of(ALIGNMENT).unwrap_or(usize::MAX)
}

/// The length of a window.
enum WindowLength {
    /// Exactly this length.
    Fixed(usize),
    /// A length that depends on the data, and is at least this number.
    Unknown(usize),
}

/// Returns the length of each window of a team that grows or is swapped; `None` for other buffers.
/// A length is fixed if the parameters alone determine it.
fn lengths(grid: &Grid, params: &[i64]) -> Vec<Option<WindowLength>> {
    let constants = Constants::of(&grid.function, params.iter().copied().map(Some).collect());
    let mut lengths: Vec<Option<WindowLength>> = grid.spaces.iter().map(|_| None).collect();
    for stmt in &grid.function.body {
        stmt.any(&mut |s| {
            let grown = match s {
                Stmt::Grow { buffer, len } => vec![(*buffer, constants.value(len, None))],
                // A window that is swapped but never grows has a length, too.
                Stmt::Swap(a, b) => vec![(*a, Some(0)), (*b, Some(0))],
                _ => Vec::new(),
            };
            for (buffer, len) in grown.into_iter().filter(|(b, _)| grid.spaces[b.index()] == MemorySpace::Team) {
                let (len, is_unknown) = (len.map(|len| usize::try_from(len).unwrap_or(0)), len.is_none());
                let length = &mut lengths[buffer.index()];
                let (before, was_unknown) = match length {
                    None => (0, false),
                    Some(WindowLength::Fixed(len)) => (*len, false),
                    Some(WindowLength::Unknown(least)) => (*least, true),
                };
                let len = len.unwrap_or(0).max(before);
                *length =
                    Some(if is_unknown || was_unknown { WindowLength::Unknown(len) } else { WindowLength::Fixed(len) });
            }
            false
        });
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Walks, map_to};
    use redpoll_compiler::assembly::{BufferRole, text::parse};

    /// A dense row, a list, a table of a given minimum length, the ends of a list, and an output.
    const ROWS: &str = "\
fn rows($n, $m) {
  owned row: value f64 fill 0.0
  owned list: index u32 fill 0_u32
  owned table: index i64 fill 0
  owned ends: index i32 fill 0_i32
  owned y: value f64 fill 0.0
  local lo: i64 local hi: i64 local k: i64
  chunk lo, hi
  grow row, $n * $m
  grow ends, 2
  grow table, 8
  for k in lo..hi {
    grow list, k + 1
    grow table, k + 1
  }
  grow y, k
}";

    fn rows(params: &[i64], bytes: usize) -> Vec<usize> {
        let function = parse(ROWS).unwrap();
        assert!(function.buffers.iter().all(|decl| decl.role == BufferRole::Owned));
        let spaces = [[MemorySpace::Team; 4].to_vec(), vec![MemorySpace::Chunk]].concat();
        let grid = map_to(&function, spaces, 4, &Walks::none());
        let shares = shares(&grid, params, bytes);
        assert!(share_bytes(&grid, &shares) <= bytes);
        shares
    }

    /// Windows that do not fit are outside from the start, and shares never exceed the memory of
    /// the team.
    #[test]
    fn windows_share_what_a_team_has() {
        let cases: &[(&[i64], usize, [usize; 5])] = &[
            (&[4, 2], 0, [0, 0, 0, 0, 0]),
            // Only the ends of a list fit.
            (&[4, 2], 8, [0, 0, 0, 2, 0]),
            // The list, which is short at first, fits as well; the table is too long.
            (&[4, 2], 32, [0, 4, 0, 2, 0]),
            // The row fits as well.
            (&[4, 2], 88, [8, 4, 0, 2, 0]),
            (&[4, 2], 8 + 64 + 8 * 12, [8, 8, 8, 2, 0]),
            (&[4, 2], 1 << 12, [8, 256, 256, 2, 0]),
            // A row that is too long leaves its bytes to other windows.
            (&[1000, 1000], 1 << 12, [0, 256, 256, 2, 0]),
            (&[i64::MAX, 2], 1 << 12, [0, 256, 256, 2, 0]),
        ];
        for (params, bytes, expected) in cases {
            assert_eq!(rows(params, *bytes), expected, "{params:?} {bytes}");
        }
    }
}
