//! Shares of the memory of a block: which windows of a team begin in it, and with how many elements.
//!
//! A window of a team begins in the memory of its block where that has room for it, and moves to its memory outside once it
//! grows past its share. A window whose length is known and does not fit is outside from the start.

use super::known::Known;
use super::nodes::{Grid, Place};
use crate::assembly::Stmt;

/// Windows begin at multiples of so many bytes, the size of the largest elements.
const ALIGNMENT: usize = 8;
/// Windows of which nothing is known are not worth the move when they have fewer elements.
const FEWEST: usize = 4;

/// For each buffer the elements with which the windows of teams begin in the memory of a block, of which a team has so many
/// bytes; 0 for what is outside from the start. A team lays its windows out in the order of buffers.
pub(crate) fn shares(grid: &Grid, params: &[i64], bytes: usize) -> Vec<usize> {
    let mut shares = vec![0; grid.places.len()];
    let mut known: Vec<(usize, usize)> = Vec::new();
    let mut open = Vec::new();
    for (k, length) in lengths(grid, params).into_iter().enumerate() {
        match length {
            Some(Length::Known(len)) => known.push((len, k)),
            Some(Length::Open(least)) => open.push((least, k)),
            None => {}
        }
    }
    let size = |k: usize, len: usize| bytes_of(grid, k, len);
    // A window of known length is inside as a whole or not at all; short ones come first, so that more of them are.
    known.sort_by_key(|(len, k)| (size(*k, *len), *k));
    let mut left = bytes;
    for (len, k) in known {
        if size(k, len) <= left {
            (shares[k], left) = (len, left - size(k, len));
        }
    }
    // What is known of the others is that lists of one tensor grow together, so they get as many elements each, a power of
    // two as tables of hashes have.
    let mut elements = left.checked_ilog2().map_or(0, |log| 1 << log);
    while elements >= FEWEST {
        let inside = || open.iter().filter(|(least, _)| *least <= elements);
        if inside().map(|(_, k)| size(*k, elements)).fold(0, usize::saturating_add) <= left {
            inside().for_each(|(_, k)| shares[*k] = elements);
            break;
        }
        elements /= 2;
    }
    shares
}

/// The bytes that a team needs for shares.
pub(crate) fn share_bytes(grid: &Grid, shares: &[usize]) -> usize {
    shares.iter().enumerate().map(|(k, len)| bytes_of(grid, k, *len)).sum()
}

fn bytes_of(grid: &Grid, buffer: usize, len: usize) -> usize {
    let size = grid.function.buffers[buffer].prim.bytes();
    len.saturating_mul(size).checked_next_multiple_of(ALIGNMENT).unwrap_or(usize::MAX)
}

/// How long a window gets.
enum Length {
    /// So long.
    Known(usize),
    /// As data wants, but at least so long.
    Open(usize),
}

/// The lengths of the windows of teams that grow or are swapped, as far as parameters alone say them.
fn lengths(grid: &Grid, params: &[i64]) -> Vec<Option<Length>> {
    let known = Known::of(&grid.function, params.iter().copied().map(Some).collect());
    let mut lengths: Vec<Option<Length>> = grid.places.iter().map(|_| None).collect();
    for stmt in &grid.function.body {
        stmt.any(&mut |s| {
            let grown = match s {
                Stmt::Grow { buffer, len } => vec![(*buffer, known.value(len, None))],
                // Each has memory that the other one brings.
                Stmt::Swap(a, b) => vec![(*a, Some(0)), (*b, Some(0))],
                _ => Vec::new(),
            };
            for (buffer, len) in grown.into_iter().filter(|(b, _)| grid.places[b.index()] == Place::Team) {
                let (len, is_open) = (len.map(|len| usize::try_from(len).unwrap_or(0)), len.is_none());
                let length = &mut lengths[buffer.index()];
                let (before, was_open) = match length {
                    None => (0, false),
                    Some(Length::Known(len)) => (*len, false),
                    Some(Length::Open(least)) => (*least, true),
                };
                let len = len.unwrap_or(0).max(before);
                *length = Some(if is_open || was_open { Length::Open(len) } else { Length::Known(len) });
            }
            false
        });
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::{BufferRole, text::parse};
    use crate::grid::{Walks, map_to};

    /// A dense row, a list, a table of which the least length is known, an output.
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
        let places = [[Place::Team; 4].to_vec(), vec![Place::Chunk]].concat();
        let grid = map_to(&function, places, 4, &Walks::none());
        let shares = shares(&grid, params, bytes);
        assert!(share_bytes(&grid, &shares) <= bytes);
        shares
    }

    /// Protects the memory of a block: what does not fit is outside from the start, and nothing gets more than there is.
    #[test]
    fn windows_share_what_a_team_has() {
        let cases: &[(&[i64], usize, [usize; 5])] = &[
            (&[4, 2], 0, [0, 0, 0, 0, 0]),
            // The ends of a list alone.
            (&[4, 2], 8, [0, 0, 0, 2, 0]),
            // The list, which is short at first; the table is long already.
            (&[4, 2], 32, [0, 4, 0, 2, 0]),
            // The row, too.
            (&[4, 2], 88, [8, 4, 0, 2, 0]),
            (&[4, 2], 8 + 64 + 8 * 12, [8, 8, 8, 2, 0]),
            (&[4, 2], 1 << 12, [8, 256, 256, 2, 0]),
            // A row that is too long leaves its place to others.
            (&[1000, 1000], 1 << 12, [0, 256, 256, 2, 0]),
            (&[i64::MAX, 2], 1 << 12, [0, 256, 256, 2, 0]),
        ];
        for (params, bytes, expected) in cases {
            assert_eq!(rows(params, *bytes), expected, "{params:?} {bytes}");
        }
    }
}
