//! Functions whose windows grow from round to round; the last buffer has the results.

/// All of the functions.
pub(crate) const ALL: [&str; 4] = [GROWING, STORED, SWAPPED, SORTED];

/// Number of rounds to run, enough for windows to outgrow small shares of the memory of a block.
pub(crate) const ROUNDS: usize = 40;

/// A window that grows from round to round, and is read right after its growth. Later chunks
/// continue with its contents.
pub(crate) const GROWING: &str = "\
fn growing($n) {
  owned w: value i64 fill 7
  owned y: value i64 fill 0
  local lo: i64 local hi: i64 local k: i64 local v: i64
  chunk lo, hi
  v = 1
  for k in lo..hi {
    grow w, k + 1
    v = v + (w[k >> 1] * 3)
    w[k] = v
    v = v + w[k]
  }
  y[lo] = v
}";

/// A window that grows right after a store.
pub(crate) const STORED: &str = "\
fn stored($n) {
  owned w: value i64 fill 7
  owned y: value i64 fill 0
  local lo: i64 local hi: i64 local k: i64
  chunk lo, hi
  for k in lo..hi {
    grow w, k + 1
    w[k] = k
  }
  y[lo] = w[lo]
}";

/// Two windows that grow to different lengths and are swapped in each round.
pub(crate) const SWAPPED: &str = "\
fn swapped($n) {
  owned a: value i64 fill 7
  owned b: value i64 fill 7
  owned y: value i64 fill 0
  local lo: i64 local hi: i64 local k: i64 local v: i64
  chunk lo, hi
  v = 1
  for k in lo..hi {
    grow a, k + 1
    grow b, (k >> 1) + 1
    v = (v + a[k >> 1]) + (b[k >> 2] * 5)
    a[k] = v
    b[k >> 2] = k
    swap a, b
  }
  y[lo] = v
}";

/// A window that is sorted in each round: at first in the memory of its block, and outside of that
/// memory once the window has outgrown its share.
pub(crate) const SORTED: &str = "\
fn sorted($n) {
  owned w: index i64 fill 0
  owned y: value i64 fill 0
  local lo: i64 local hi: i64 local k: i64 local v: i64
  chunk lo, hi
  v = 0
  for k in lo..hi {
    grow w, k + 1
    w[k] = (k * 7) & 15
    sort w in 0..(k + 1)
    v = (v * 3) + w[k >> 1]
  }
  y[lo] = v
}";
